"""The published tables, their effects found by rule, and the same from profiles that are measured here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise.errors import InputError
from rankwise.launch.mpi import Mpi
from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.models.curve import curve_from_table
from rankwise.papers.wagner2024 import BANDWIDTH, fit, measured, published, reproduce, tables
from rankwise.papers.wagner2024_effects import Series, constant_up_to, drop_of, growth_exponent, saturation_of
from verbs import Rankwise


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return reproduce().figures.to_dict()


def _of(record: dict[str, Any], link: str) -> dict[str, Any]:
    (one,) = [placement for placement in record["placements"] if placement["link"] == link]
    return one


def test_table_3_is_as_printed(record: dict[str, Any]) -> None:
    rows = {row["message_bytes"]: row for row in _of(record, "same-socket")["rows"]}
    assert len(rows) == 24
    assert rows[0]["latency_s"] == pytest.approx(0.16e-6) and rows[0]["bandwidth_bytes_per_s"] is None
    assert rows[16384]["bandwidth_bytes_per_s"] == pytest.approx(6486.81e6)
    assert rows[4194304]["latency_sigma_s"] == pytest.approx(11.75e-6)
    assert _of(record, "other-node")["rows"][-1]["bandwidth_sigma_bytes_per_s"] == pytest.approx(0.03e6)
    (printed,) = (row for row in tables().single[1].rows() if row.message_bytes == 8192)
    assert (printed.latency_s, printed.bandwidth_bytes_per_s) == (pytest.approx(2.62e-6), pytest.approx(5539.04e6))


def test_alpha_and_beta_rise_with_distance(record: dict[str, Any]) -> None:
    alphas = [placement["alpha_s"] for placement in record["placements"]]
    assert alphas == sorted(alphas)
    for placement in record["placements"]:
        assert placement["alpha_ci_s"][0] <= placement["alpha_s"] <= placement["alpha_ci_s"][1]
        assert placement["beta_ci_s_per_byte"][0] <= placement["beta_s_per_byte"] <= placement["beta_ci_s_per_byte"][1]
    # Large messages between nodes: 4 MiB took 1243.28 us more than nothing.
    assert 1 / _of(record, "other-node")["beta_s_per_byte"] == pytest.approx(4194304 / 1243.28e-6, rel=0.02)


def _synthetic(alpha_s: float, beta: float, sigma: float) -> Series:
    sizes = np.array([0, *(2**k for k in range(23))])
    latency = alpha_s + beta * sizes
    bandwidth = np.where(sizes > 0, sizes / (alpha_s / 20 + beta * sizes), np.nan)
    return Series("same-socket", 10, sizes, latency, sigma * latency, bandwidth, sigma * bandwidth)


def test_the_rules_on_tables_whose_truth_is_known() -> None:
    series = _synthetic(1e-6, 1e-10, 0.01)
    assert constant_up_to(series) == 512  # 10 % of alpha are 1000 B
    assert drop_of(series) is None
    assert growth_exponent(series, 1 << 20) == pytest.approx(1, abs=0.01)
    saturated_from, plateau = saturation_of(series) or (0, 0.0)
    assert plateau == pytest.approx(1e10, rel=0.01) and saturated_from == 8192  # 90 %: m = 9 alpha / 20 beta
    fitted = fit(series)
    assert fitted.line.segments[0].alpha_s == pytest.approx(1e-6) and fitted.pieces.segments[
        -1
    ].beta_s_per_byte == pytest.approx(1e-10)
    slower = series.bandwidth.copy()
    slower[(series.sizes >= 4096) & (series.sizes < 65536)] *= 0.5
    drop = drop_of(replace(series, bandwidth=slower))
    assert drop is not None and (drop.peak_bytes, drop.bottom_bytes) == (2048, 4096)
    # Within the noise it is no drop.
    assert drop_of(replace(series, bandwidth=slower, bandwidth_sigma=0.3 * slower)) is None


@pytest.mark.mpi
def test_the_same_tables_measured_here(rankwise: Rankwise, mpi: Mpi) -> None:
    asked = "--sizes 0,8,1000,4kB,30kB,100kB --launches 1 --seconds 20 --precision 0.9 --links same-socket"
    for run in (1, 2):
        done = rankwise(f"measure bandwidth -o runs/task-{run}/m.json {asked}")
        assert done.code in (0, 6), done.err
    result = rankwise("reproduce wagner2024 --measured runs -o out --json").answer
    (ours,) = result["measured"]
    assert (ours["link"], ours["runs"]) == ("same-socket", 2)
    tables = [json.loads(Path(f"runs/task-{run}/m.json").read_text())["links"]["same-socket"] for run in (1, 2)]
    times = [next(row["time_s"] for row in table["table"] if row["size_bytes"] == 1000) for table in tables]
    row = next(row for row in ours["rows"] if row["message_bytes"] == 1000)
    assert row["latency_s"] == pytest.approx(np.mean(times)) and row["latency_sigma_s"] == pytest.approx(np.std(times, ddof=1))
    assert "measured here" in Path("out/wagner2024.html").read_text()
    assert {"out/wagner2024-our-latency.svg", "out/wagner2024-ours-same-socket.csv"} <= set(result["files"])


def _run(path: Path, links: dict[str, bool], shift: float = 1.0) -> None:
    """Write the profile of a run: its placements, and whether each has the bandwidth too."""
    points = tuple(Point(size, t := shift * (1e-6 + size * 1e-9), t, t, 10) for size in (0, 8, 1000, 10_000, 100_000))
    streams = tuple(Point(p.size_bytes, p.time_s / 2, p.time_s / 2, p.time_s / 2, 10) for p in points if p.size_bytes)
    profile = Profile(
        {"hostname": "n1", "cpu_model": "x", "cores": 4},
        {
            name: Link(curve_from_table(points, "median"), {BANDWIDTH: curve_from_table(streams, "median")} if whole else {})
            for name, whole in links.items()
        },
        "",
        {},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    profile.save(path)


def test_runs_that_lack_a_part_are_named_and_the_others_used(tmp_path: Path) -> None:
    both = {"same-socket": True, "other-node": True}
    _run(tmp_path / "task-1/m.json", both)
    _run(tmp_path / "task-2/m.json", both, 1.1)
    _run(tmp_path / "task-3/m.json", {"same-socket": True, "other-node": False}, 1.2)
    (tmp_path / "task-4").mkdir()
    (tmp_path / "task-5").mkdir()
    (tmp_path / "task-5/m.json").write_text('{"schema"')
    series, lacking = measured([tmp_path])
    assert [(one.name, one.runs) for one in series] == [("same-socket", 3), ("other-node", 2)]
    told = "; ".join(lacking)
    assert (
        "task-3/m.json has no bandwidth between nodes" in told and "task-4 has no profile" in told and "task-5/m.json" in told
    )
    assert "the others were used" in reproduce([tmp_path]).answer[-1]
    (tmp_path / "task-2/m.json").unlink()
    series, lacking = measured([tmp_path])
    assert [one.name for one in series] == ["same-socket"] and "nodes are left out: 1 run(s)" in "; ".join(lacking)


def test_inside_an_allocation_the_command_that_measures_is_another(monkeypatch: pytest.MonkeyPatch, rankwise: Rankwise) -> None:
    assert "slurm submit measure bandwidth" in reproduce().next_command
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    said = rankwise("reproduce wagner2024")
    assert (
        "to measure the same here: for run in 1 2 3 4 5 6 7 8 9 10; do rankwise measure bandwidth -o ten/run-$run.json"
        in said.err
    )


def test_one_run_has_no_spread(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a spread needs two runs"):
        measured([tmp_path])


def test_published_series_have_ten_runs() -> None:
    assert [(series.name, series.runs) for series in published()] == [
        ("same-socket", 10),
        ("other-socket", 10),
        ("other-node", 10),
    ]
