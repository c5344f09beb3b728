"""``rankwise report``: one HTML file, readable offline, of what was measured, predicted and mapped."""

from __future__ import annotations

from rankwise.api.reporting import Sources
from rankwise.cli.base import Json, print_json, verb


@verb(
    "report",
    """
    rankwise report -o rankwise-report.html
    rankwise report last-week.json today.json -o before-after.html
    """,
)
def report(asked: Sources, as_json: Json = False) -> None:
    """Write one HTML file with pictures: the machine's messages, predictions beside measurements, node maps.

    Sections without figures name the command that makes them.
    """
    from rankwise.api.reporting import report as ask

    found = ask(asked)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found.path)
