"""The mapping library: published scores, properties on random input, what it refuses."""

from __future__ import annotations

import csv
import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise import _core
from rankwise.errors import InputError
from rankwise.mapping import How, algorithm_names, map_grid

PUBLISHED = Path(__file__).parents[2] / "data" / "hunold2020_scores.csv"
IDS_OF_ALL = ["blocked", "hyperplane", "kd-tree", "stencil-strips", "nodecart", "refined"]


def test_all_432_instances_of_the_paper_and_its_two_throughput_grids_have_the_published_scores() -> None:
    with PUBLISHED.open() as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    published: dict[tuple[str, ...], dict[str, tuple[int, int]]] = {}
    for row in rows:
        instance = (row["grid"], row["nodes"], row["ranks_per_node"], row["stencil"])
        published.setdefault(instance, {})[row["algorithm"]] = (int(row["j_sum"]), int(row["j_max"]))
    assert len(published) == 438
    for (grid, nodes, ranks_per_node, stencil), scores in published.items():
        dims = [int(size) for size in grid.split("x")]
        mappings = map_grid(dims, [int(ranks_per_node)] * int(nodes), stencil, algorithms=list(scores))
        assert {result.algorithm: (result.j_sum, result.j_max) for result in mappings.results} == scores


def j_sum_and_max(dims: list[int], periodic: list[bool], offsets: list[list[int]], node_of_cell: list[int]) -> tuple[int, int]:
    """Score a map straight from the definition."""
    node_at = dict(zip(itertools.product(*map(range, dims)), node_of_cell, strict=True))
    leaving: Counter[int] = Counter()
    for cell, node in node_at.items():
        for offset in offsets:
            moved = [c + step for c, step in zip(cell, offset, strict=True)]
            target = tuple(c % size if wraps else c for c, size, wraps in zip(moved, dims, periodic, strict=True))
            leaving[node] += node_at.get(target, node) != node
    return leaving.total(), max(leaving.values())


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[int], list[int], list[list[int]], list[bool]]:
    """A grid of 1 to 6 axes, node sizes that fill it, offsets, periodic flags."""
    dims: list[int] = []
    for _ in range(draw(st.integers(1, 6))):
        dims.append(draw(st.integers(1, max(1, min(17, 240 // math.prod(dims))))))
    cells = math.prod(dims)
    if draw(st.booleans()):
        size = draw(st.sampled_from([n for n in range(1, cells + 1) if cells % n == 0]))
        nodes = [size] * (cells // size)
    else:
        cuts = draw(st.sets(st.integers(1, cells - 1), max_size=8)) if cells > 1 else set()
        nodes = [b - a for a, b in itertools.pairwise([0, *sorted(cuts), cells])]
    offset = st.lists(st.integers(-4, 4), min_size=len(dims), max_size=len(dims)).filter(any)
    offsets = draw(st.lists(offset, min_size=1, max_size=5, unique_by=tuple))
    return dims, nodes, offsets, draw(st.lists(st.booleans(), min_size=len(dims), max_size=len(dims)))


@given(problems())
def test_every_map_fills_the_nodes_exactly_and_has_the_score_it_says(
    problem: tuple[list[int], list[int], list[list[int]], list[bool]],
) -> None:
    dims, nodes, offsets, periodic = problem
    mappings = map_grid(dims, nodes, offsets, periodic, ["all"], how=How(effort_s=2e-4))
    assert {result.algorithm for result in mappings.results} >= {"blocked", "kd-tree", "stencil-strips", "refined"}
    assert len(mappings.results) + len(mappings.skipped) == len(IDS_OF_ALL)
    assert not mappings.skipped or len(set(nodes)) > 1
    node_of_rank = np.repeat(np.arange(len(nodes)), nodes)
    for result in mappings.results:
        assert result.node_of_cell is not None
        assert result.node_of_cell.dtype == np.int32
        assert (np.bincount(result.node_of_cell, minlength=len(nodes)) == nodes).all()
        assert mappings.bound <= result.j_sum
        assert (result.j_sum, result.j_max) == j_sum_and_max(dims, periodic, offsets, result.node_of_cell.tolist())
        if result.algorithm == "refined":  # which has no effort to give one rank of it
            continue
        core = _core.Problem(dims, nodes, offsets)
        cell_of_rank = core.map_ranks(result.algorithm)
        assert sorted(cell_of_rank) == list(range(math.prod(dims)))
        assert (result.node_of_cell[cell_of_rank] == node_of_rank).all()
        for rank in {0, len(cell_of_rank) // 2, len(cell_of_rank) - 1}:
            assert core.cell_of_rank(result.algorithm, rank) == cell_of_rank[rank]


def test_blocked_on_the_paper_s_grid() -> None:
    result = map_grid([50, 48], [48] * 50, "nearest-neighbor", algorithms=["blocked"]).best
    assert (result.j_sum, result.j_max) == (4704, 96)
    assert result.node_of_cell is not None
    assert (result.node_of_cell == np.arange(2400) // 48).all()


def test_all_runs_each_algorithm_once_and_readings_only_when_named() -> None:
    mappings = map_grid([4, 4], [4] * 4, "nearest-neighbor")
    assert [result.algorithm for result in mappings.results] == IDS_OF_ALL
    named = map_grid([4, 4], [4] * 4, "nearest-neighbor", algorithms=["stencil-strips:code", "all", "blocked"])
    assert [result.algorithm for result in named.results] == ["stencil-strips:code", *IDS_OF_ALL]
    assert set(algorithm_names()) == {*IDS_OF_ALL, "stencil-strips:code", "stencil-strips:paper", "random", "auto", "graph"}


def test_what_cannot_handle_unequal_nodes_is_skipped_with_its_reason_or_refused_where_named() -> None:
    mappings = map_grid([4, 4], [7, 6, 3], "nearest-neighbor")
    assert [result.algorithm for result in mappings.results] == ["blocked", "kd-tree", "stencil-strips", "refined"]
    assert [skipped.algorithm for skipped in mappings.skipped] == ["hyperplane", "nodecart"]
    assert "divides the 16 ranks" in mappings.skipped[0].reason
    assert "equal size" in mappings.skipped[1].reason
    with pytest.raises(InputError, match="nodecart needs nodes of equal size"):
        map_grid([4, 4], [7, 6, 3], "nearest-neighbor", algorithms=["all", "nodecart"])


def test_the_json_holds_what_other_programs_rely_on() -> None:
    mappings = map_grid([2, 3], [3, 3], [[1, 0], [-1, 0]], [True, False], ["blocked"])
    record = mappings.to_dict()
    seconds = record["results"][0].pop("seconds")
    assert 0 < seconds < 1
    assert record == {
        "grid": [2, 3],
        "nodes": [3, 3],
        "stencil": "1,0;-1,0",
        "periodic": [True, False],
        "weights": [1, 1],
        "objective": "j_sum",
        "bound": 4,
        "bound_kind": "isoperimetric",
        "optimum": None,
        "message_bytes": 8,
        "levels": [],
        "recommended": "blocked",
        "notes": [],
        "results": [
            {
                "algorithm": "blocked",
                "j_sum": 12,
                "j_max": 6,
                "bytes_between_nodes": 96,
                "time_s": None,
                "time_lo_s": None,
                "time_hi_s": None,
                "busiest": None,
                "levels": [
                    {"level": "node", "edges": 12, "bytes": 96},
                    {"level": "core", "edges": 0, "bytes": 0},
                ],
                "node_of_cell": [0, 0, 0, 1, 1, 1],
                "gap": 2.0,
                "optimal": False,
            }
        ],
        "skipped": [],
    }
    bare = map_grid([2, 3], [3, 3], "component", algorithms=["blocked"], how=How(keep_maps=False))
    assert "node_of_cell" not in bare.to_dict()["results"][0]


@pytest.mark.parametrize(
    ("grid", "nodes", "stencil", "periodic", "algorithms", "says"),
    [
        ([], [1], "nearest-neighbor", None, ["all"], "axes"),
        ([4, 4], [], "nearest-neighbor", None, ["all"], "no node"),
        ([4, 0], [4], "nearest-neighbor", None, ["all"], "grid axis 0 is out of range"),
        ([4, 4], [17, -1], "nearest-neighbor", None, ["all"], "node size -1 is out of range"),
        ([10**30], [1], "nearest-neighbor", None, ["all"], "2\\^45"),
        ([2**31, 2**31], [2**45], "nearest-neighbor", None, ["all"], "so that both are equal"),
        ([4, 4], [5, 5, 5], "nearest-neighbor", None, ["all"], "16 cells but the nodes hold 15 ranks"),
        ([2, 2], [1] * 5, "nearest-neighbor", None, ["all"], "5 nodes for 4 ranks"),
        ([4, 4], [8, 8], "1,0,0", None, ["all"], "3 components but the grid has 2 axes"),
        ([4, 4], [8, 8], [[1, 0, 0]], None, ["all"], "3 components but the grid has 2 axes"),
        ([4, 4], [8, 8], [[10**30, 0]], None, ["all"], "too far"),
        ([4, 4], [8, 8], [], None, ["all"], "no offset"),
        ([4, 4], [8, 8], "\udcff", None, ["all"], "is unknown"),
        ([4, 4], [8, 8], "nearest-neighbor", [True], ["all"], "1 periodic flags"),
        ([4, 4], [8, 8], "nearest-neighbor", None, ["kd_tree"], "did you mean kd-tree"),
        ([4, 4], [8, 8], "nearest-neighbor", None, ["?"], "take all, or some of blocked"),
        ([4, 4], [8, 8], "nearest-neighbor", None, [], "no mapping algorithm"),
        ([2**22, 2**23], [2**44, 2**44], "nearest-neighbor", None, ["all"], "2\\^31 - 1 ranks that MPI can number"),
        ([2**16, 2**15], [2**30, 2**30], "nearest-neighbor", None, ["all"], "allow 64-bit ranks"),
    ],
)  # fmt: skip
def test_input_that_does_not_fit_is_refused(
    grid: list[int],
    nodes: list[int],
    stencil: str | list[list[int]],
    periodic: list[bool] | None,
    algorithms: list[str],
    says: str,
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        map_grid(grid, nodes, stencil, periodic, algorithms)
    assert "\n" not in str(caught.value)


def test_more_ranks_than_the_machine_can_hold_are_refused_before_the_work() -> None:
    with pytest.raises(InputError, match="GiB"):
        map_grid([2**22, 2**23], [2**44, 2**44], "nearest-neighbor", how=How(int64=True))


def test_the_core_refuses_a_rank_that_does_not_exist() -> None:
    for rank in (-1, 16):
        with pytest.raises(ValueError, match=f"rank {rank} does not exist"):
            _core.Problem([4, 4], [8, 8], [[1, 0]]).cell_of_rank("blocked", rank)


def test_the_core_refuses_maps_of_another_size() -> None:
    with pytest.raises(ValueError, match="3 entries but the grid has 4 cells"):
        _core.Problem([2, 2], [4], [[1, 0]]).score(np.zeros(3, dtype=np.int32))


@pytest.mark.parametrize(
    ("grid", "ranks_per_node", "stencil", "j_sum"),
    [
        ([32, 24], 24, "2,0;-2,0;0,2;0,-2", 416),
        ([48, 36], 36, "1,1;-1,-1", 0),
        ([50, 30], 25, "1,1;-1,-1", 58),
    ],
)
def test_offsets_that_leave_cells_out_are_mapped_coset_by_coset(
    grid: list[int], ranks_per_node: int, stencil: str, j_sum: int
) -> None:
    nodes = [ranks_per_node] * (math.prod(grid) // ranks_per_node)
    assert map_grid(grid, nodes, stencil, algorithms=["auto"]).best.j_sum == j_sum


def test_groups_that_talk_go_whole_to_nodes_of_any_size() -> None:
    stencil = "1,1,1,1;-1,-1,-1,-1;1,1,1,-1;-1,-1,-1,1"
    assert map_grid([4, 5, 5, 7], [25] * 4 + [24] * 25, stencil, algorithms=["auto"]).best.j_sum == 0
    wrapped = map_grid([10, 8, 6, 6], [16] * 180, "1,1,1,1;-1,-1,-1,-1", [False, True, False, False], ["auto"])
    assert wrapped.best.j_sum == 0
