"""Parts of transforms that are timed on demand and kept: intervals of a further launch, files, and what is timed at all."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from breadth import TIMES
from rankwise.cache import knowledge_folder
from rankwise.engines import fft_lengths
from rankwise.engines.fft_lengths import Launch, Lengths
from rankwise.engines.predict import predict_rows
from rankwise.machine.discover import discover
from rankwise.machine.profile import Profile
from rankwise.measure.imports import import_profile
from rankwise.workloads.fft3d_case import TIMED, FftCase


def launch(total_s: float, rng: np.random.Generator, minute: int = 0) -> Launch:
    """Return a launch whose transforms differ by 1 %, a quarter of each in every term."""
    times = [float(one) / 4 for one in total_s * rng.lognormal(0.0, 0.01, 20)]
    created = f"2026-01-01T00:{minute:02}:00+00:00"
    return Launch(created, "fftw-3", dict.fromkeys(("compute", "shuffle", "exchange", "imbalance"), times))


def kept(lengths: int, turns: list[int], within: float, between: float, rng: np.random.Generator) -> Lengths:
    """Return lengths with so many launches each turn, five minutes apart, which all lengths share."""
    found = Lengths(None)
    for turn, launches in enumerate(turns):
        minute = float(rng.lognormal(0.0, between))
        for key in range(lengths):
            for _ in range(launches):
                total_s = 1e-3 * (1 + key) * minute * float(rng.lognormal(0.0, within))
                found.add(str(key), launch(total_s, rng, 5 * turn))
    return found


@pytest.mark.parametrize("lengths", [3, 12])
@pytest.mark.parametrize(("turns", "between"), [([3], 0.1), ([3, 1, 1, 1], 0.16), ([3, 1, 1, 1], 0.0)])
def test_further_launches_lie_in_the_interval(lengths: int, turns: list[int], between: float) -> None:
    """At least 93 % of 3,200 launches of other minutes: of minutes as expected, of worse ones that were seen, and of none."""
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(40 * TIMES):
        found = kept(lengths, turns, 0.08, between, rng)
        for key in range(2):
            low, high = found.ingredients(str(key)).span.ends_s
            later = 1e-3 * (1 + key) * rng.lognormal(0.0, between, 40) * rng.lognormal(0.0, 0.08, 40)
            inside.extend((low <= later) & (later <= high))
    assert np.mean(inside) >= 0.93


def test_minutes_that_agree_make_the_interval_narrower() -> None:
    rng = np.random.default_rng(4)
    widths = []
    for turns in ([3], [3, 1], [3, 1, 1, 1]):
        span = kept(5, turns, 0.01, 0.01, rng).ingredients("0").span
        assert span.hi_s is not None
        widths.append(math.log(span.hi_s / span.time_s))
    assert widths == pytest.approx([0.347, 0.240, 0.166], abs=0.012)


def test_no_interval_is_of_zero_width_and_parts_are_the_whole() -> None:
    rng = np.random.default_rng(2)
    one = kept(1, [1], 0.0, 0.0, rng).ingredients("0")  # nothing is known of other launches
    assert one.span.lo_s is not None and one.span.hi_s is not None
    assert (
        one.span.hi_s / one.span.time_s
        == pytest.approx(1.3, rel=0.01)
        == pytest.approx(one.span.time_s / one.span.lo_s, rel=0.01)
    )
    alike = kept(60, [3], 0.0, 0.0, rng).ingredients("7")
    low, high = alike.span.ends_s
    assert low <= alike.span.time_s / 1.03 and high >= alike.span.time_s * 1.03
    assert sum(alike.times_s.values()) == pytest.approx(alike.span.time_s)


def test_what_is_kept_is_found_again_and_what_is_not_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fft" / "lengths.json"
    Lengths(path).add("key", launch(1e-3, np.random.default_rng(3)))
    again = Lengths(path)
    assert again.ingredients("key").span.time_s == pytest.approx(1e-3, rel=0.02)
    for text in ("", "[]", '{"lengths": {"key": [{}]}}', path.read_text().replace("0.000", "-0.000")):
        path.write_text(text)
        assert Lengths(path).launches == {}
        assert "timed again" in capsys.readouterr().err


def test_the_folder_is_the_users_or_the_one_that_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANKWISE_FFT_KNOWLEDGE", str(tmp_path))
    assert knowledge_folder() == tmp_path
    monkeypatch.setenv("RANKWISE_FFT_KNOWLEDGE", "")
    assert knowledge_folder() is None
    monkeypatch.delenv("RANKWISE_FFT_KNOWLEDGE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = knowledge_folder()
    assert folder is not None and folder.parent == tmp_path / "rankwise" and folder.name.startswith("fft-")


def test_a_later_question_adds_a_launch_up_to_six() -> None:
    rng = np.random.default_rng(1)
    lengths = kept(1, [3], 0.1, 0.0, rng)
    [key] = lengths.launches
    then = datetime(2026, 1, 1, tzinfo=UTC)
    assert not lengths.is_due(key, then + timedelta(seconds=59)) and lengths.is_due(key, then + timedelta(seconds=61))
    assert not lengths.is_due("another", then + timedelta(hours=1))
    for _ in range(3):
        lengths.add(key, launch(1.0, rng))
    assert not lengths.is_due(key, then + timedelta(hours=1))


def profile_of_here() -> Profile:
    table = Path(__file__).parents[2] / "data" / "werner2023_pingpong.csv"
    topology = discover()
    machine = {"cpu_model": topology.cpu_model, "cores": topology.core_count}
    return replace(import_profile([table], "other-node", "table", 64, None), machine=machine)


@pytest.mark.mpi
def test_local_work_is_timed_once_and_exchanges_are_the_judges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RANKWISE_FFT_KNOWLEDGE", str(tmp_path))
    monkeypatch.setattr(fft_lengths, "SECONDS", 0.02)
    case = FftCase((12, 10, 8), (4, 1), planning="estimate", reading=TIMED)
    [first] = predict_rows(profile_of_here(), [case])
    [again] = predict_rows(profile_of_here(), [case])
    assert first.to_dict() == again.to_dict()
    assert first.time_lo_s is not None and first.time_lo_s < first.time_s < (first.time_hi_s or 0.0)
    parts = sum(span.time_s for span in first.parts.values()) + first.figures["terms"]["imbalance_s"]
    assert first.time_s == pytest.approx(parts) and "exchanges are the cost model's" in first.notes
    # In slices and by other messages the local work is the same.
    slices, pairwise = predict_rows(profile_of_here(), [replace(case, chunks=8), replace(case, method="pairwise")])
    assert slices.parts["compute"] == pairwise.parts["compute"] == first.parts["compute"]
    assert len(json.loads((tmp_path / "lengths.json").read_text())["lengths"]) == 1
    assert math.isfinite(slices.time_s) and pairwise.parts["exchange"].time_s > 0
