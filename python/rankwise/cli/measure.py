"""``rankwise measure``: this machine's links measured, raw samples kept, models fitted, the profile written."""

from __future__ import annotations

from rankwise.api.profiles import Campaign
from rankwise.cli.base import Json, show, verb


@verb(
    "measure",
    """rankwise measure -o machine.json
    rankwise measure latency --seconds 5
    rankwise measure bandwidth -o machine.json
    rankwise measure pingpong --hosts node1,node2 --background 2 -o machine.json
    rankwise measure all-pairs --hosts n[01-16] -o machine.json
    rankwise measure fft3d -o machine.json --ranks 1,2
    rankwise measure pack -o machine.json""",
)
def measure(asked: Campaign, as_json: Json = False) -> None:
    """Measure how long messages take on this machine, for each class of link that it offers.

    Every raw sample is kept beside the profile (machine.samples.jsonl for machine.json). Ctrl-C loses nothing: go on
    with --resume. What is no ping-pong is added to the profile that is there.
    """
    from rankwise.api.profiles import measure as ask

    show(ask(asked), as_json)
