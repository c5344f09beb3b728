"""``rankwise quick``: from nothing to a measured, modelled, mapped and reported machine in under a minute."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, print_json, verb
from rankwise.cli.table import Table
from rankwise.units import format_percent

if TYPE_CHECKING:
    from rankwise.mapping import Mappings


@verb(
    "quick",
    """
rankwise quick
rankwise quick --json --directory here
""",
)
def quick(
    directory: Annotated[Path, typer.Option(help="Where the profile, the samples and the report go.")] = Path("."),
    seconds: Annotated[float, typer.Option(help="Time to spend on ping-pong samples, in seconds.")] = 12.0,
    as_json: Json = False,
) -> None:
    """Measure this machine, model it, run a real exchange, map a grid, and write it all into one HTML file.

    Under a minute on two cores. Every step is a verb of its own: doctor, measure, profile show, predict, run and
    validate exchange, map, report.
    """
    from rankwise.api.reporting import GRID, NODES, PPN
    from rankwise.api.reporting import quick as ask

    found = ask(directory, seconds)
    if as_json:
        print_json(found.to_dict())
        return
    from rankwise.api.examining import verdict
    from rankwise.cli.link_words import links_table
    from rankwise.cli.rows import show_validation

    record, profile = found.report.to_dict(), found.report.inputs.profile
    assert profile is not None
    print(f"\n{record['headline']}")
    print(record["why"])
    print(verdict(found.findings).partition(" Next:")[0])
    links_table(profile).show()
    print()
    show_validation(found.validation)
    print()
    _show_mappings(found.mappings)
    print(f"\nreport: {found.report.path}")
    grid = "x".join(map(str, GRID))
    print(
        f"next: rankwise map --grid {grid} --nodes {NODES} --ppn {PPN} --stencil nearest-neighbor   (with your grid and nodes)"
    )


def _show_mappings(mapped: Sequence[Mappings]) -> None:
    table = Table("stencil", "algorithm", "J_sum", "against blocked", "J_max")
    for instance in mapped:
        blocked = next(result.j_sum for result in instance.results if result.algorithm == "blocked")
        best = min(result.j_sum for result in instance.results)
        for result in instance.results:
            star = " *" if result.j_sum == best else ""
            table.add_row(
                instance.stencil,
                result.algorithm + star,
                str(result.j_sum),
                format_percent(result.j_sum / blocked - 1),
                str(result.j_max),
            )
    table.show()
    print("J_sum: messages between nodes in total; J_max: of the node that sends most; * fewest")
