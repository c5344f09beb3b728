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
    NodeMap,
    can_draw,
    colour_nodes,
    cost_picture,
    node_map_picture,
    node_palette,
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
def test_the_drawn_rectangles_cover_every_cell_once_in_its_colour(data: st.DataObject, rows: int, columns: int) -> None:
    nodes = data.draw(st.lists(st.integers(0, 4), min_size=rows * columns, max_size=rows * columns))
    cells = np.array(nodes).reshape(1, rows, columns)
    drawn = NodeMap(cells, colour_nodes(cells))
    palette = node_palette(8)
    painted = np.full((rows, columns), -1)
    for colour, path in re.findall(r'<path fill="(#\w+)"[^>]* d="([^"]*)"', drawn.svg(0, 0, 5)):
        for left, top, width, height in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-\d+z", path):
            part = painted[int(top) : int(top) + int(height), int(left) : int(left) + int(width)]
            assert part.size == int(width) * int(height)
            assert (part == -1).all()
            part[:] = palette.index(colour)
    assert painted.tolist() == [[drawn.colours[node] for node in row] for row in cells[0].tolist()]


def test_lines_run_between_different_nodes_only() -> None:
    cells = np.array([[[0, 0, 1], [2, 0, 1]]])
    svg = NodeMap(cells, colour_nodes(cells)).svg(0, 0, 10)
    lines = re.search(r'vector-effect="non-scaling-stroke" d="([^"]*)"', svg)
    assert lines is not None
    assert sorted(re.findall(r"M\d+ \d+[hv]\d+", lines[1])) == ["M0 0h3", "M0 1h1", "M1 1v1", "M2 0v2"]


def test_a_map_of_every_mapping_with_its_scores(mappings: list[MappingInstance]) -> None:
    for i, instance in enumerate(mappings):
        svg = node_map_picture(instance, f"nodes-{i}")
        assert len(svg) < 150_000
        for result in instance.results:
            assert f">{result.algorithm}</text>" in svg
            assert f"J_sum {result.j_sum}   J_max {result.j_max}" in svg


def test_a_grid_of_three_axes_is_drawn_in_slices() -> None:
    (instance,) = mappings_from_record(sample_figures.mapping_record_3d(), "map.json")
    svg = node_map_picture(instance, "nodes")
    assert svg.count('<g transform="translate(') == 2 * 6
    assert shown_part(instance) == "the first 6x6x4 cells of 8x6x4"


def test_large_grids_are_cut_and_say_so() -> None:
    blocked = {"blocked": [i // 200 for i in range(200 * 120)]}
    record = sample_figures.instance((200, 120), 200, "component", [(1, 0), (-1, 0)], blocked)
    (instance,) = mappings_from_record(record, "map.json")
    assert shown_part(instance) == "the first 96x96 cells of 200x120"
    assert len(node_map_picture(instance, "nodes")) < 150_000


@pytest.mark.parametrize("grid", [(12,), (1, 1), (1, 12), (12, 1)])
def test_thin_grids_are_drawn(grid: tuple[int, ...]) -> None:
    count = int(np.prod(grid))
    ppn = 3 if count % 3 == 0 else 1
    offsets = [tuple(int(i == 0) for i in range(len(grid)))]
    record = sample_figures.instance(grid, ppn, "1,0", offsets, {"blocked": [i // ppn for i in range(count)]})
    (instance,) = mappings_from_record(record, "map.json")
    assert shown_part(instance) is None
    assert "<path" in node_map_picture(instance, "nodes")


def test_what_cannot_be_drawn() -> None:
    record = sample_figures.instance((2, 2, 2, 2), 4, "moore:1", [(1, 0, 0, 0)], {"blocked": [i // 4 for i in range(16)]})
    (four_axes,) = mappings_from_record(record, "map.json")
    assert not can_draw(four_axes)
    with pytest.raises(ValueError, match="no map"):
        node_map_picture(four_axes, "nodes")


def test_costs_are_relative_to_blocked(mappings: list[MappingInstance]) -> None:
    svg = cost_picture(mappings)
    assert svg is not None
    best = mappings[0].best
    blocked = mappings[0].blocked
    assert blocked is not None
    assert f">{100 * best.j_sum / blocked.j_sum:.0f} %</text>" in svg
    assert "nearest-neighbor-with-hops" in svg


def test_no_cost_picture_without_edges_between_nodes() -> None:
    record = sample_figures.instance((2, 2), 4, "component", [(1, 0), (-1, 0)], {"blocked": [0, 0, 0, 0]})
    assert cost_picture(mappings_from_record(record, "map.json")) is None
