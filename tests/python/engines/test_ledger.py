"""The ledger: off by default, append-only, without host names; what it says follows what was kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankwise.engines.ledger import held, keep_comparisons, keep_rows, machine_of, read
from rankwise.errors import InputError
from rankwise.papers.werner2023 import ping_pong_profile
from rankwise.workloads.base import Row, Span
from rankwise.workloads.comparison import Comparison
from rankwise.workloads.exchange import Asked, make_cases


def _rows(engine: str, times: list[float], width: float = 0.1) -> list[Row]:
    cases = make_cases(Asked(["shift", "comb"], ["isend"], [1], [10, 1000]), [4], [True])
    return [
        Row.of(engine, case, Span(t, t * (1 - width), t * (1 + width)), 1, 1, True, ())
        for case, t in zip(cases, times, strict=True)
    ]


def _compared(predicted: list[float], measured: list[float]) -> list[Comparison]:
    rows = zip(_rows("model", predicted), _rows("real", measured), strict=True)
    return [Comparison(one, other, None) for one, other in rows]


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ledger.jsonl"
    monkeypatch.setenv("RANKWISE_LEDGER", str(path))
    return path


def test_nothing_is_kept_without_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKWISE_LEDGER", raising=False)
    monkeypatch.chdir(tmp_path)
    keep_rows("predict", "m", _rows("model", [1, 2, 3, 4]))
    assert list(tmp_path.iterdir()) == []


def test_errors_coverage_and_regret_by_group(ledger: Path) -> None:
    # shift 10 B, shift 1 kB, comb 10 B, comb 1 kB; at 1 kB comb is predicted to be fastest, and shift is.
    keep_comparisons("m", _compared([1.0, 3.0, 2.0, 2.0], [1.05, 2.0, 4.0, 2.5]))
    overall, *algorithms = held(read(ledger), "algorithm")
    assert overall.predictions == 4 and overall.median_error == pytest.approx((0.2 + 0.5) / 2)
    assert overall.inside == pytest.approx(1 / 4) and overall.questions == 2
    assert overall.regret == pytest.approx((0 + 0.25) / 2)
    by_name = {one.group: one for one in algorithms}
    assert by_name["comb"].regret == pytest.approx(0.25) and by_name["shift"].regret == 0
    assert {one.group for one in held(read(ledger), "size")} == {"all", "10", "1000"}
    keep_comparisons("m", _compared([1.0] * 4, [1.0] * 4))
    assert held(read(ledger), "mode")[0].predictions == 8
    assert held(read(ledger), "mode")[0].median_error < overall.median_error


def test_rows_of_the_model_meet_simulated_ones_of_the_same_machine(ledger: Path) -> None:
    keep_rows("predict", "m", _rows("model", [1, 2, 3, 4]))
    keep_rows("simulate", "other", _rows("simgrid", [1, 2, 3, 4]))
    assert read(ledger) == []
    keep_rows("simulate", "m", _rows("simgrid", [2, 2, 3, 4]))
    pairs = read(ledger)
    assert len(pairs) == 4 and sorted(pair.error for pair in pairs) == [-0.5, 0, 0, 0]


def test_host_names_only_when_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = ping_pong_profile()
    assert "JURECA" not in machine_of(profile)
    monkeypatch.setenv("RANKWISE_LEDGER_HOSTS", "1")
    assert "JURECA" in machine_of(profile)


def test_a_ledger_that_cannot_be_used_is_told(
    ledger: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.write_text('{"record": "pair", "machine": "m"}\n')
    with pytest.raises(InputError, match="line 1 is no record"):
        read(ledger)
    monkeypatch.setenv("RANKWISE_LEDGER", str(tmp_path / "no" / "folder"))
    capsys.readouterr()
    keep_rows("predict", "m", _rows("model", [1, 2, 3, 4]))  # what was predicted is not lost for it
    assert "cannot be written" in capsys.readouterr().err


def test_the_verb(ledger: Path, rankwise: Callable[..., Any]) -> None:
    profile = ping_pong_profile()
    profile.save(Path("machine.json"))
    asked = ("--algorithm", "shift,comb", "--mode", "isend", "--cutoff", "1", "--bytes", "10,1000")
    assert rankwise("predict", "exchange", *asked).code == 0
    kept = ledger.read_text().splitlines()
    assert len(kept) == 4
    assert rankwise("ledger", str(ledger)).code == 2  # nothing to hold them against
    keep_comparisons("m", _compared([1.0, 3.0, 2.0, 2.0], [1.05, 2.0, 4.0, 2.5]))
    assert ledger.read_text().splitlines()[:4] == kept
    result = rankwise("ledger", "--by", "algorithm,machine")
    assert result.code == 0 and result.out.startswith("4 predictions were off by 35.0% in the median; 25% of 4 lay within")
    groups = rankwise("ledger", str(ledger), "--json").json["groups"]
    assert {group["by"] for group in groups} == {"algorithm", "mode", "size", "machine"}
    assert rankwise("ledger", str(ledger), "--by", "colour").code == 2
