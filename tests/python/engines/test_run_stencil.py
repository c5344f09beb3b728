"""``rankwise run stencil``: the statistics of the paper, the cells of the ranks, and real exchanges."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rankwise.engines.run_stencil import Summary, cells_of_ranks, instantiate, is_outlier, ratio_interval


def test_outliers_are_those_beyond_the_whiskers_of_a_box_plot() -> None:
    from matplotlib.cbook import boxplot_stats

    times = np.random.default_rng(1).lognormal(size=200)
    (box,) = boxplot_stats(times, whis=1.5)
    assert sorted(times[is_outlier(times)]) == pytest.approx(sorted(box["fliers"]))
    assert not is_outlier(np.full(50, 3.0)).any()


def test_mean_and_interval_are_students() -> None:
    times = np.random.default_rng(2).normal(5, 1, 40)
    found = Summary.of(times)
    expected = scipy.stats.ttest_1samp(times, 0).confidence_interval(0.95)
    assert found.mean_s == pytest.approx(times.mean())
    assert found.mean_ci_s == pytest.approx((expected.low, expected.high))
    assert found.median_ci_s[0] <= found.median_s <= found.median_ci_s[1]


def test_a_ratio_of_medians_has_an_interval_that_covers_it() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(100):
        value, low, high = ratio_interval(rng.normal(2, 0.2, 60), rng.normal(1, 0.1, 60))
        assert low <= value <= high
        covered += low <= 2 <= high
    assert covered >= 85


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.randoms())
def test_every_rank_gets_a_cell_of_its_node(node_of_rank: list[int], random: Any) -> None:
    node_of_cell = random.sample(node_of_rank, len(node_of_rank))
    cells = cells_of_ranks(node_of_cell, node_of_rank)
    assert sorted(cells) == list(range(len(node_of_rank)))
    assert [node_of_cell[cell] for cell in cells] == node_of_rank


def test_every_algorithm_is_timed_for_every_rank() -> None:
    found = {one.algorithm: one for one in instantiate([8, 6], [12] * 4, "nearest-neighbor", ["all"])}
    assert {"hyperplane", "kd-tree", "stencil-strips", "nodecart", "refined"} <= set(found)
    assert all(0 < one.median_s <= one.slowest_s for one in found.values())
    assert found["kd-tree"].ranks == 48
    assert found["refined"].ranks == 1  # one rank searches for all
    assert "nodecart" not in {one.algorithm for one in instantiate([8, 6], [24, 12, 12], "component", ["all"])}


@pytest.mark.mpi
def test_real_ranks_exchange_and_every_byte_is_checked(rankwise: Callable[..., Any]) -> None:
    result = rankwise("run", "stencil", "--grid", "2x2", "--bytes", "64,1000", "--repetitions", "20",
                      "--algorithm", "blocked,kd-tree", "--json")  # fmt: skip
    assert result.code == 0, result.err
    rows = result.json["rows"]
    assert [(row["mapping"], row["message_bytes"]) for row in rows] == [
        ("blocked", 64), ("kd-tree", 64), ("blocked", 1000), ("kd-tree", 1000)
    ]  # fmt: skip
    for row in rows:
        assert row["verified"] is True
        assert row["all"]["repetitions"] == 20 == row["without_outliers"]["repetitions"] + row["outliers"]
        assert row["time_s"] == row["all"]["median_s"] > 0
        low, high = row["speedup_ci"]
        assert low <= row["speedup_over_blocked"] <= high
        assert (row["nodes"], row["j_sum"], row["messages"]) == (1, 0, 8)
        assert any("one node" in note for note in row["notes"])
    assert rows[0]["speedup_over_blocked"] == 1
    records = [json.loads(line) for line in Path("stencil.samples.jsonl").read_text().splitlines()]
    assert [record["record"] for record in records] == ["campaign", *["samples"] * 4, "complete"]
    assert np.median(records[1]["time_s"]) == rows[0]["time_s"]


def test_wrong_use_is_told(rankwise: Callable[..., Any]) -> None:
    for arguments, words in [
        (["--grid", "2x2", "--nodes", "2"], "--nodes, --ppn and --node-sizes go with --instantiation"),
        (["--grid", "2x2", "--instantiation"], "the nodes are missing"),
        (["--grid", "2x2", "--instantiation", "--nodes", "2", "--ppn", "2", "--algorithm", "best"], "best"),
        (["--grid", "2x2", "--stencil", "moore:x"], "moore"),
        (["--grid", "2y2"], "--grid"),
    ]:
        result = rankwise("run", "stencil", *arguments)
        assert result.code == 2, result.err
        assert words in result.err


def test_a_table_of_instantiation(rankwise: Callable[..., Any]) -> None:
    result = rankwise("run", "stencil", "--grid", "8x6", "--nodes", "4", "--ppn", "12", "--instantiation")
    assert result.code == 0, result.err
    assert "slowest rank" in result.out and "hyperplane" in result.out
