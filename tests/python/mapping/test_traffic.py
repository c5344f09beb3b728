"""Placing any program's traffic: exact sums, exact node sizes, what is best where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from rankwise.errors import InputError
from rankwise.mapping import How
from rankwise.mapping.levels import Above, Inner
from rankwise.mapping.mapper import StepTime
from rankwise.mapping.traffic import Traffic, cyclic, place_traffic, read_graph, traffic_of
from rankwise.observe.record import Record

Nodes: TypeAlias = NDArray[np.int32]


def _torus(dims: tuple[int, ...], sent: tuple[int, ...], messages: int = 10) -> Traffic:
    """Each rank sends to both neighbours along each axis of a periodic grid, row-major."""
    ranks = np.arange(int(np.prod(dims))).reshape(dims)
    parts = [(ranks, np.roll(ranks, step, axis), np.full(dims, size)) for axis, size in enumerate(sent) for step in (1, -1)]
    triples = tuple(np.concatenate([part[i].ravel() for part in parts]) for i in range(3))
    return Traffic.of_pairs("torus", ranks.size, triples, np.full(triples[0].size, messages))


def test_a_placement_is_scored_by_the_bytes_between_nodes() -> None:
    # Rank 0 sends 70 B to 1 and 5 B to 2; rank 3 sends 9 B to 0 and 1000 B to itself.
    traffic = Traffic.of_pairs("four", 4, ([0, 0, 3, 3, 0], [1, 2, 0, 3, 1], [30, 5, 9, 1000, 40]))
    assert traffic.pointer.tolist() == [0, 2, 2, 2, 3] and traffic.bytes.tolist() == [70, 5, 9]
    assert traffic.score(np.array([0, 0, 1, 1], np.int32)) == (14, 9)
    assert traffic.score(np.array([0, 1, 0, 1], np.int32)) == (79, 70)


@pytest.mark.parametrize("seed", range(3))
def test_a_hidden_grid_is_placed_as_well_as_its_blocks(seed: int) -> None:
    """4x4x4 on eight nodes of eight: 2x2x2 blocks cut half of all edges, whatever the ranks are called."""
    plain = _torus((4, 4, 4), (100, 100, 100))
    names = np.random.default_rng(seed).permutation(64)
    hidden = Traffic.of_pairs("hidden", 64, (names[plain.source], names[plain.peer], plain.bytes))
    found = place_traffic(hidden, [8] * 8, how=How(steps=36_000_000)).results
    refined = next(result for result in found if result.algorithm == "refined")
    assert refined.node_of_cell is not None and np.bincount(refined.node_of_cell).tolist() == [8] * 8
    assert refined.j_sum == hidden.bytes.sum() // 2 and refined.j_max == refined.j_sum // 8


def test_nodes_may_hold_different_numbers_of_ranks() -> None:
    found = place_traffic(_torus((3, 4), (5, 50)), [7, 2, 3]).results
    for result in found:
        assert result.node_of_cell is not None and np.bincount(result.node_of_cell).tolist() == [7, 2, 3]
    assert cyclic([3, 1, 2]).tolist() == [0, 1, 2, 0, 2, 0]


def test_levels_below_the_node_and_switches_above_are_filled() -> None:
    traffic = _torus((4, 4), (10, 1000))
    how = How(levels=[Inner("socket", 2)], above=[Above("switch", (0, 0, 1, 1), 2)])
    best = place_traffic(traffic, [4] * 4, how=how).best
    assert best.node_of_cell is not None and np.bincount(best.parts["socket"]).tolist() == [2] * 8
    assert (best.parts["socket"] // 2 == best.node_of_cell).all()
    assert sum(level.bytes for level in best.levels) == traffic.bytes.sum()
    assert best.levels[0].bytes == best.j_sum == 16 * 2 * 10


@pytest.mark.parametrize("above", [(), (Above("switch", (0, 0, 1, 1), 5),)])
def test_the_objective_reaches_the_search(above: tuple[Above, ...]) -> None:
    drawn = np.random.default_rng(3)
    pairs = (drawn.integers(0, 32, 300), drawn.integers(0, 32, 300), drawn.pareto(1, 300) * 100)
    traffic = Traffic.of_pairs("random", 32, pairs)

    def found(objective: str) -> tuple[int, int]:
        (result,) = place_traffic(traffic, [8] * 4, ["refined"], How(objective=objective, above=above, steps=200_000)).results
        return result.cost, result.j_max

    (cost, j_max), (cost_of_least, least) = found("j_sum"), found("j_max")
    assert cost < cost_of_least and least < j_max


def test_messages_of_gigabytes_are_placed_too() -> None:
    traffic = _torus((2, 8), (1, 2**50))
    best = place_traffic(traffic, [8, 8]).best
    assert best.j_sum == 2 * 16


@pytest.mark.parametrize(("cyclic_s", "best"), [(0.92, "blocked"), (1.08, "blocked"), (0.8, "cyclic")])
def test_more_bytes_must_gain_more_time_than_the_judge_errs_by(cyclic_s: float, best: str) -> None:
    traffic = _torus((4, 4), (10, 12))
    dealt = cyclic([4] * 4)

    def price(_: Traffic, nodes: Nodes, parts: Mapping[str, Nodes]) -> StepTime:
        time_s = cyclic_s if (nodes == dealt).all() else 1.0
        return StepTime(time_s, 0.5 * time_s, 2 * time_s, "card-out", time_s, 0, (0.92 * time_s, 1.09 * time_s))

    mappings = place_traffic(traffic, [4] * 4, ["cyclic", "blocked"], How(price=price))
    assert [result.j_sum for result in mappings.results] == [384, 320] and mappings.best.algorithm == best


def test_what_was_fetched_counts_as_sent_and_rounds_are_those_of_the_heavy_pairs() -> None:
    none = np.full(2, -1, np.int32)
    edges = np.array([0, 1, 2]), np.array([1, 0], np.uint32), np.array([40, 0], np.uint64), np.array([4000, 0], np.uint64)
    record = Record(
        {"calls": []}, 2, ("a",), none, none, none, *edges, np.array([0, 7], np.uint64), np.zeros((2, 32), np.uint32)
    )
    traffic = traffic_of(record, "app.comm")
    assert traffic.bytes.tolist() == [4000, 7] and traffic.node_of_rank is None
    assert traffic.rounds == 40 and traffic.step_bytes.tolist() == [100, 1]
    with pytest.raises(InputError, match="does not tell where"):
        place_traffic(traffic, [1, 1], ["observed"])


MATRIX = "%%MatrixMarket matrix coordinate integer general\n% a comment\n3 3 2\n1 2 70\n3 1 5\n"
METIS = "% a comment\n3 2 011\n9 2 70 3 5\n9 1 70\n9 1 5\n"


def test_graphs_are_read(tmp_path: Path) -> None:
    (tmp_path / "m").write_text(MATRIX)
    found = read_graph(tmp_path / "m")
    assert (found.source.tolist(), found.peer.tolist(), found.bytes.tolist()) == ([0, 2], [1, 0], [70, 5])
    (tmp_path / "m").write_text(MATRIX.replace("general", "symmetric"))
    assert read_graph(tmp_path / "m").bytes.tolist() == [70, 5, 70, 5]
    (tmp_path / "g").write_text(METIS)
    assert read_graph(tmp_path / "g").bytes.tolist() == [70, 5, 70, 5]
    (tmp_path / "g").write_text("3 2\n2 3\n1\n1\n")
    assert read_graph(tmp_path / "g").bytes.tolist() == [1, 1, 1, 1]
    (tmp_path / "c").write_text("0,70,0\n0,0,0\n5,0,0\n")
    found = read_graph(tmp_path / "c")
    assert (found.source.tolist(), found.peer.tolist(), found.bytes.tolist()) == ([0, 2], [1, 0], [70, 5])
    (tmp_path / "lone").write_text("3 0\n\n\n\n")  # vertices without edges
    assert read_graph(tmp_path / "lone").ranks == 3


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "empty"), ("hello\n", "line 1"), ("a b\n", "line 1: 'a'"),
        (MATRIX.replace("3 1 5", "4 1 5"), "line 5: rank 4 does not"), (MATRIX.replace("70", "nan"), "line 4: "),
        (MATRIX.replace("70", "-7"), "line 4: .*negative"), (MATRIX.replace("70", "7.5"), "line 4: .*whole"),
        (MATRIX.replace("3 1 5", "3 3 5"), "line 5: rank 3 sends to itself"), (MATRIX.replace("3 3 2", "3 3 9"), "line 5: .*9"),
        (MATRIX.replace("3 3 2", "3 4 2"), "line 3: .*square"), (MATRIX.replace("3 1 5", "3 1"), "line 5: 2 words"),
        (METIS.replace("3 2 011", "3 5 011"), "promises 5"), (METIS.replace("9 1 5", "9 1"), "line 5: .*no weight"),
        (METIS.replace("70", "-1"), "line 3: .*negative"), (METIS.replace("3 2", "0 0"), "line 2: 0 ranks"),
        (METIS.replace("9 1 5\n", ""), "line 4: .*2 vertices"), (METIS.replace("9 1 5", "9 2 5"), "line 5: .*both ends"),
        (METIS.replace("9 1 5", "9 3 5"), "line 5: .*itself"), (METIS.replace("9 1 5", "9 1 6"), "same at both"),
        (METIS + "9 1 5\n", "line 6"),
        ("0,1\n1\n", "line 2: 1 columns"), ("0,1\n,0\n", "line 2: .*column 1"), ("0,1\n1,2\n", "line 2: .*itself"),
        ("0,1.5\n1,0\n", "line 1: .*whole"),
    ],
)  # fmt: skip
def test_a_graph_that_is_none_is_refused_in_one_line(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "graph").write_text(text)
    with pytest.raises(InputError, match=where) as caught:
        read_graph(tmp_path / "graph")
    assert "\n" not in str(caught.value) and "--graph" in str(caught.value)
