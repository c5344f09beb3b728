"""All pictures of the report, and the one that sums them up; each is a function from figures to a text of SVG."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.machine.profile import LINK_CLASSES, Profile
from rankwise.report.curves import bandwidth_picture, draw_latency, latency_picture
from rankwise.report.exchanges import draw_pairs, exchange_groups, exchange_picture
from rankwise.report.inputs import MappingInstance
from rankwise.report.nodemaps import can_draw, cost_picture, node_map_group, node_map_picture
from rankwise.report.style import drawing, new_figure, svg_element, svg_group
from rankwise.report.words import answer, headline
from rankwise.workloads.comparison import Validation

__all__ = [
    "bandwidth_picture",
    "cost_picture",
    "exchange_groups",
    "exchange_picture",
    "latency_picture",
    "node_map_picture",
    "summary_picture",
]

_CHARTS_PT, _MAPS_PT, _HEIGHT_PT, _TOP_PT = 405.0, 232.0, 205.0, 8.0


def summary_picture(profile: Profile, validation: Validation, mappings: Sequence[MappingInstance]) -> str:
    """Draw one picture with a panel each for messages, an exchange and a mapping before and after; white background.

    The link class is the nearest one, the exchange the one that the report's answer names, the mapping the first
    instance that saves messages. Raises ValueError when no instance holds the maps of blocked and of another mapping.
    """
    row = headline(validation)
    group = next(group for group in exchange_groups(validation.comparisons) if row in group)
    pairs = [other for other in group if other.exchange.mode == row.exchange.mode]
    link_class = next(name for name in LINK_CLASSES if name in profile.links)
    instance = _first_saving(mappings)
    grid = "x".join(map(str, instance.grid))
    with drawing():
        figure = new_figure(_CHARTS_PT, _HEIGHT_PT)
        figure.set_layout_engine("constrained", w_pad=6 / 72)
        left, right = figure.subplots(1, 2)
        draw_latency(left, profile.links[link_class].send, room_pt=135)
        left.set_ylim(top=100 * left.get_ylim()[1])
        left.set_title(f"a message, {link_class}", loc="left", pad=16)
        draw_pairs(right, pairs, room_pt=135)
        right.set_title(f"{row.exchange.algorithm}, {row.exchange.mode}, {row.exchange.ranks} ranks", loc="left", pad=16)
        right.set_ylabel("time of one exchange")
        right.legend(loc="upper left")
        right.set_ylim(0, 1.25 * right.get_ylim()[1])
        charts = svg_group(figure, "summary")
    before_after = [result for result in instance.results if result in (instance.blocked, instance.best)]
    maps, _ = node_map_group(instance, before_after, _MAPS_PT, f"{grid} grid, {len(instance.nodes)} nodes, {instance.stencil}")
    width = _CHARTS_PT + _MAPS_PT + 26
    height = _HEIGHT_PT + 2 * _TOP_PT
    body = (
        f'<rect width="{width:g}" height="{height:g}" rx="6" fill="#ffffff"/>'
        f'<g transform="translate(8 {_TOP_PT:g})">{charts}</g>'
        f'<g transform="translate({_CHARTS_PT + 18:g} {_TOP_PT + 4:g})">{maps}</g>'
    )
    words = " ".join(answer(profile, validation, [instance]))
    return svg_element("summary", "What rankwise measured, predicted and mapped", words, width, height, body)


def _first_saving(mappings: Sequence[MappingInstance]) -> MappingInstance:
    for item in mappings:
        ends = (item.blocked, item.best)
        if can_draw(item) and item.blocked != item.best and all(end and end.node_of_cell for end in ends):
            return item
    raise ValueError("no instance holds the node maps of blocked and of a better mapping")
