"""``rankwise measure``: this machine's links measured, raw samples kept, models fitted, the profile written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.api.profiles import Campaign
from rankwise.cli.base import Json, print_json, tell, verb
from rankwise.cli.table import Table
from rankwise.units import format_bandwidth, format_size

if TYPE_CHECKING:
    from rankwise.api.profiles import Machine
    from rankwise.machine.packing import Packing


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
    from rankwise.api.all_pairs import StreamTimes
    from rankwise.api.profiles import Added, Machine
    from rankwise.api.profiles import measure as ask

    found = ask(asked)
    if isinstance(found, StreamTimes):
        from rankwise.cli.slow_nodes import show_streams

        show_streams(found, as_json)
    elif as_json:
        print_json(found.to_dict())
    elif isinstance(found, Machine):
        _show(found)
    elif isinstance(found, Added) and asked.what == "pack":
        show_packing(found.found)
    elif isinstance(found, Added):
        from rankwise.cli.fft_rates import show_rates

        show_rates(found.found)
        tell(f"profile: {asked.output}; next: rankwise predict fft3d --profile {asked.output}")


def _show(found: Machine) -> None:
    from rankwise.cli.link_words import link_in_words, links_table, shared_table
    from rankwise.machine.shared import Shared
    from rankwise.measure.session import samples_path_of

    profile, path = found.profile, found.path
    print(found.conclusion)
    links_table(profile).show()
    for name, link in profile.links.items():
        for line in link_in_words(link):
            print(f"{name}: {line}")
    if profile.shared != Shared():
        shared_table(profile.shared).show()
    for note in profile.notes():
        tell(f"note: {note}")
    tell(f"profile: {path}; samples: {samples_path_of(path)}; next: rankwise profile show {path}")


def show_packing(packing: Packing) -> None:
    """Print what packing takes."""
    table = Table("message", *(f"rows of {rows} B" for rows in packing.curves))
    for size, _ in next(iter(packing.curves.values())):
        table.add_row(format_size(size), *(format_bandwidth(size / packing.time_s(size, rows)) for rows in packing.curves))
    table.show()
