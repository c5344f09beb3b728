"""Node maps: colours that keep touching nodes apart, rectangles that cover every cell once, honest cuts."""

from __future__ import annotations

import re
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sample_figures
from rankwise.report.inputs import MappingInstance, mappings_from_record
from rankwise.report.nodemaps import (
    NODE_COLOURS,
    borders_of,
    can_draw,
    colour_nodes,
    cost_picture,
    node_map_picture,
    node_palette,
    rectangles_of,
    shown_part,
)


def lightness(colour: str) -> float:
    """CIE L* of an sRGB colour, from 0 (black) to 100 (white)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def touching(cells: np.ndarray) -> set[tuple[int, int]]:
    """Pairs of nodes that touch along an axis, or over a corner in the plane of the last two axes."""
    pairs = set()
    steps = [step for step in product((-1, 0, 1), repeat=cells.ndim) if any(step)]
    for place in np.ndindex(cells.shape):
        for step in steps:
            in_plane = not any(step[:-2])
            if sum(map(abs, step)) > 1 and not in_plane:
                continue
            other = tuple(x + dx for x, dx in zip(place, step, strict=True))
            if all(0 <= x < size for x, size in zip(other, cells.shape, strict=True)) and cells[place] != cells[other]:
                pairs.add((int(cells[place]), int(cells[other])))
    return pairs


shapes = st.lists(st.integers(1, 6), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(st.data(), shapes)
def test_touching_nodes_never_share_a_colour(data: st.DataObject, shape: list[int]) -> None:
    count = int(np.prod(shape))
    nodes = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    cells = np.array(nodes).reshape(shape)
    colours = colour_nodes(cells)
    assert set(colours) == set(nodes)
    assert all(colours[one] != colours[other] for one, other in touching(cells))


def test_compact_mappings_need_few_colours() -> None:
    for algorithm, node_of_cell in sample_figures.maps_2d(50, 48, 48).items():
        colours = colour_nodes(np.array(node_of_cell).reshape(50, 48))
        if algorithm != "random":
            assert max(colours.values()) < 6, algorithm


def test_colours_differ_in_lightness_and_never_repeat() -> None:
    for one, other in combinations(map(lightness, NODE_COLOURS), 2):
        assert abs(one - other) > 6
    for one, other in combinations(map(lightness, NODE_COLOURS[:4]), 2):
        assert abs(one - other) > 10
    palette = node_palette(300)
    assert len(set(palette)) == 300
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in palette)
    assert node_palette(2) == list(NODE_COLOURS[:2])


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 9), st.integers(1, 9))
def test_the_drawn_rectangles_cover_every_cell_once(data: st.DataObject, rows: int, columns: int) -> None:
    nodes = data.draw(st.lists(st.integers(0, 4), min_size=rows * columns, max_size=rows * columns))
    cells = np.array(nodes).reshape(rows, columns)
    painted = np.full((rows, columns), -1)
    for node, x, y, width, height in rectangles_of(cells.tolist()):
        part = painted[y : y + height, x : x + width]
        assert part.size == width * height and (part == -1).all()
        part[:] = node
    assert painted.tolist() == cells.tolist()


def test_lines_run_between_different_nodes_and_around() -> None:
    lines = borders_of([[0, 0, 1], [2, 0, 1]], 2, 3)
    assert lines[:-4] == [(0, 1, 1, 1), (1, 1, 1, 2), (2, 0, 2, 2)]
    assert lines[-4:] == [(0, 0, 3, 0), (0, 2, 3, 2), (0, 0, 0, 2), (3, 0, 3, 2)]


def test_a_map_of_every_mapping_says_nodes_ranks_and_messages(mappings: list[MappingInstance]) -> None:
    instance = mappings[0]
    chart = node_map_picture(instance, "nodes")
    svg = chart.file()
    assert len(svg) < 600_000
    for result in instance.results:
        assert f">{result.algorithm}</text>" in svg
        assert f"{result.j_sum} messages between nodes, {result.j_max} of the busiest" in svg
    assert len(chart.stops) == 50 * len(instance.results)
    assert chart.stops[0] == "blocked, node 0: 48 ranks, of cells 0–47; 48 messages to other nodes"
    leaving = [int(re.findall(r"(\d+) messages? to other nodes", words)[0]) for words in chart.stops]
    for i, result in enumerate(instance.results):
        assert sum(leaving[50 * i : 50 * i + 50]) == result.j_sum
        assert max(leaving[50 * i : 50 * i + 50]) == result.j_max
    numbers = re.findall(r">(\d{1,2})</text>", svg)
    assert set(map(int, numbers)) <= set(range(50)) and len(numbers) > 50


def test_messages_beyond_the_grid_leave_no_node() -> None:
    result = {"algorithm": "blocked", "j_sum": 1, "j_max": 1, "seconds": 0.0, "node_of_cell": [0, 0, 1]}
    record = {"grid": [3], "nodes": [2, 1], "stencil": "1;4", "results": [result]}
    (instance,) = mappings_from_record(record, "map.json")
    assert node_map_picture(instance, "nodes").stops[0] == "blocked, node 0: 2 ranks, of cells 0–1; 1 message to other nodes"


def test_a_grid_of_three_axes_is_drawn_in_slices() -> None:
    (instance,) = mappings_from_record(sample_figures.mapping_record_3d(), "map.json")
    chart = node_map_picture(instance, "nodes")
    drawn = chart.panels[1]["layer"][0]["data"]["values"]
    assert sum((row["x2"] - row["x"]) * (row["y2"] - row["y"]) for row in drawn) == 6 * 6 * 4
    assert max(row["x2"] for row in drawn) == 6 * 4 + 5  # a gap between slices
    assert shown_part(instance) == "the first 6x6x4 cells of 8x6x4"
    assert shown_part(instance) in chart.file()


def test_large_grids_are_cut_and_say_so() -> None:
    blocked = {"blocked": [i // 200 for i in range(200 * 120)]}
    record = sample_figures.instance((200, 120), 200, "component", [(1, 0), (-1, 0)], blocked)
    (instance,) = mappings_from_record(record, "map.json")
    assert shown_part(instance) == "the first 96x96 cells of 200x120"
    assert len(node_map_picture(instance, "nodes").file()) < 150_000


@pytest.mark.parametrize("grid", [(12,), (1, 1), (1, 12), (12, 1)])
def test_thin_grids_are_drawn(grid: tuple[int, ...]) -> None:
    count = int(np.prod(grid))
    ppn = 3 if count % 3 == 0 else 1
    offsets = [tuple(int(i == 0) for i in range(len(grid)))]
    record = sample_figures.instance(grid, ppn, "1,0", offsets, {"blocked": [i // ppn for i in range(count)]})
    (instance,) = mappings_from_record(record, "map.json")
    assert shown_part(instance) is None
    assert "<path" in node_map_picture(instance, "nodes").svg()


def test_what_cannot_be_drawn() -> None:
    record = sample_figures.instance((2, 2, 2, 2), 4, "moore:1", [(1, 0, 0, 0)], {"blocked": [i // 4 for i in range(16)]})
    (four_axes,) = mappings_from_record(record, "map.json")
    assert not can_draw(four_axes)
    with pytest.raises(ValueError, match="no map"):
        node_map_picture(four_axes, "nodes")


def test_costs_are_relative_to_blocked(mappings: list[MappingInstance]) -> None:
    chart = cost_picture(mappings)
    assert chart is not None
    best, blocked = mappings[0].best, mappings[0].blocked
    assert blocked is not None
    assert any(f"J_sum {best.j_sum} ({100 * best.j_sum / blocked.j_sum:.1f} % of blocked)" in words for words in chart.stops)
    assert "nearest-neighbor-with-hops" in chart.svg()


def test_no_cost_picture_without_edges_between_nodes() -> None:
    record = sample_figures.instance((2, 2), 4, "component", [(1, 0), (-1, 0)], {"blocked": [0, 0, 0, 0]})
    assert cost_picture(mappings_from_record(record, "map.json")) is None
