"""Write the pictures of the documentation from the figures that ``rankwise quick`` left in this folder.

    python docs/make_images.py [FOLDER]

reads machine.json, validate.json and map.json here and writes first-light.svg to FOLDER (default: docs/images).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.files import write_whole
from rankwise.machine.profile import LINK_CLASSES, Profile
from rankwise.report.chart import Chart
from rankwise.report.exchanges import exchange_groups, exchange_picture
from rankwise.report.inputs import MappingInstance, load_mappings, load_validation
from rankwise.report.links import links_picture
from rankwise.report.nodemaps import can_draw, node_map_picture
from rankwise.report.words import headline
from rankwise.workloads.comparison import Validation

_APART = ("x", "y", "color", "strokeDash", "shape", "size", "opacity", "xOffset")


def main() -> None:
    """Write the pictures; exits with one line when an input is missing or holds no drawable map."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    try:
        picture = summary_picture(
            Profile.load(Path("machine.json")),
            load_validation(Path("validate.json")),
            load_mappings(Path("map.json")),
        )
    except (RankwiseError, ValueError) as error:
        sys.exit(f"make_images: {error}")
    target = folder / "first-light.svg"
    write_whole(target, picture.file(1040))
    print(target)


def summary_picture(profile: Profile, validation: Validation, mappings: Sequence[MappingInstance]) -> Chart:
    """Draw a panel each for messages, the exchange that the report names, and the first mapping that saves messages.

    Raises ValueError when no instance holds the maps of blocked and of another mapping.
    """
    row = headline(validation)
    group = next(group for group in exchange_groups(validation.comparisons) if row in group)
    pairs = exchange_picture([other for other in group if other.exchange.mode == row.exchange.mode], "pairs")
    links = links_picture({name: profile.links[name] for name in LINK_CLASSES if name in profile.links})
    instance = _first_saving(mappings)
    maps = node_map_picture(instance, "maps", [r for r in instance.results if r in (instance.blocked, instance.best)])
    (exchange,) = pairs.panels
    panels = [
        {**links.panels[0], "height": 210},
        {**exchange, "title": f"{row.exchange.algorithm}, {row.exchange.mode}", "height": 210},
    ]
    panels += [{**panel, "height": 210} for panel in maps.panels]
    words = " ".join(chart.description for chart in (links, pairs, maps))
    base = {"resolve": {"scale": dict.fromkeys(_APART, "independent"), "legend": dict.fromkeys(_APART[2:5], "independent")}}
    return Chart(
        "summary", "What rankwise measured, predicted and mapped", words, panels, (), base, least_px=200, legend_px=400
    )


def _first_saving(mappings: Sequence[MappingInstance]) -> MappingInstance:
    for item in mappings:
        ends = (item.blocked, item.best)
        if can_draw(item) and item.blocked != item.best and all(end and end.node_of_cell for end in ends):
            return item
    raise ValueError("no instance holds the node maps of blocked and of a better mapping")


if __name__ == "__main__":
    main()
