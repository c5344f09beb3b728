"""The ledger: off by default, append-only, without host names; what it says follows what was kept."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from rankwise.api import kept as api
from rankwise.engines.ledger import Where, held, keep_comparisons, keep_rows, machine_of, read
from rankwise.errors import InputError
from rankwise.papers.werner2023_study import ping_pong_profile
from rankwise.workloads.base import Row, Span
from rankwise.workloads.comparison import Comparison
from rankwise.workloads.exchange import Asked, make_cases
from verbs import Rankwise


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
    keep_rows("predict", "m", _rows("model", [1, 2, 3, 4]), Where(None))
    assert list(tmp_path.iterdir()) == []


def test_errors_coverage_and_regret_by_group(ledger: Path) -> None:
    # shift 10 B, shift 1 kB, comb 10 B, comb 1 kB; at 1 kB comb is predicted to be fastest, and shift is.
    keep_comparisons("m", _compared([1.0, 3.0, 2.0, 2.0], [1.05, 2.0, 4.0, 2.5]))
    overall, *algorithms = held(read(ledger)[0], "algorithm")
    assert overall.predictions == 4 and overall.median_error == pytest.approx((0.2 + 0.5) / 2)
    assert overall.inside == pytest.approx(1 / 4) and overall.questions == 2
    assert overall.regret == pytest.approx((0 + 0.25) / 2)
    by_name = {one.group: one for one in algorithms}
    assert by_name["comb"].regret == pytest.approx(0.25) and by_name["shift"].regret == 0
    assert {one.group for one in held(read(ledger)[0], "size")} == {"all", "10", "1000"}
    keep_comparisons("m", _compared([1.0] * 4, [1.0] * 4))
    assert held(read(ledger)[0], "mode")[0].predictions == 8
    assert held(read(ledger)[0], "mode")[0].median_error < overall.median_error


def test_rows_of_the_model_meet_simulated_ones_of_the_same_machine_profile_and_placement(ledger: Path) -> None:
    keep_rows("predict", "m", _rows("model", [1, 2, 3, 4]), Where(None))
    keep_rows("simulate", "other", _rows("simgrid", [1, 2, 3, 4]), Where(None))
    keep_rows("simulate", "m", _rows("simgrid", [1, 2, 3, 4]), Where(None, 2))
    keep_rows("simulate", "m", _rows("simgrid", [1, 2, 3, 4]), Where(ping_pong_profile()))
    assert read(ledger) == ([], [])  # another machine, more ranks a node, another profile
    keep_rows("simulate", "m", _rows("simgrid", [2, 2, 3, 4]), Where(None))
    pairs, _ = read(ledger)
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
    with pytest.raises(InputError, match="is no ledger: line 1 is no record"):
        read(ledger)
    monkeypatch.setenv("RANKWISE_LEDGER", str(ledger / "below a file"))
    capsys.readouterr()
    keep_rows("predict", "m", _rows("model", [1, 2, 3, 4]), Where(None))  # what was predicted is not lost for it
    assert "cannot be written" in capsys.readouterr().err


def test_a_question_asked_twice_is_no_loss_against_itself(ledger: Path) -> None:
    for slower in (1.0, 1.3, 0.9):  # the machine drifts
        keep_comparisons("m", _compared([1.0, 2.0, 2.0, 3.0], [slower * time for time in (1.0, 2.0, 2.0, 3.0)]))
    overall = held(read(ledger)[0], "algorithm")[0]
    assert overall.predictions == 12 and overall.questions == 2 and overall.regret == 0


def test_what_takes_no_time_is_not_kept(ledger: Path) -> None:
    keep_rows("predict", "m", _rows("model", [0, 0, 0, 4]), Where(None))
    keep_comparisons("m", _compared([0, 1, 1, 1], [1, 1, 1, 1]))
    assert len(ledger.read_text().splitlines()) == 4 and len(read(ledger)[0]) == 3


@pytest.mark.parametrize(
    "damage", [b'{"record": "pair", "mach', b"\xff\xfe\x00", b"[1]", b'{"record": "row"}', b"NaN", b"[" * 9999]
)
def test_a_damaged_line_is_left_out_and_told(ledger: Path, damage: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    keep_comparisons("m", _compared([1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 2.0, 3.0]))
    ledger.write_bytes(ledger.read_bytes() + damage)  # cut off: what follows has a line of its own
    keep_comparisons("m", _compared([1.0, 2.0, 2.0, 3.0], [1.0, 2.0, 2.0, 3.0]))
    pairs, damaged = read(ledger)
    assert len(pairs) == 8 and damaged == [5]
    assert api.ledger(ledger).to_dict()["damaged_lines"] == [5] and "line 5" in capsys.readouterr().err


def test_many_append_at_once(ledger: Path) -> None:
    code = (
        "import sys; sys.path.append('..'); import test_ledger as t; from rankwise.engines.ledger import *\n"
        "for i in range(20): keep_comparisons('m', t._compared([1.0] * 4, [1.0] * 4))"
    )
    started = [subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parent) for _ in range(2)]
    assert [process.wait() for process in started] == [0, 0]
    assert len(read(ledger)[0]) == 160 and read(ledger)[1] == []


def test_a_full_disk_leaves_no_half_line(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_comparisons("m", _compared([1.0] * 4, [1.0] * 4))
    kept = ledger.read_bytes()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(kept) + 100, before[1]))
    try:
        keep_comparisons("m", _compared([1.0] * 4, [1.0] * 4))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ledger.read_bytes() == kept and "cannot be written" in capsys.readouterr().err


def test_the_verb(ledger: Path, rankwise: Rankwise) -> None:
    profile = ping_pong_profile()
    profile.save(Path("machine.json"))
    asked = "--algorithm shift,comb --mode isend --cutoff 1 --bytes 10,1000"
    assert rankwise(f"predict exchange {asked}").code == 0
    kept = ledger.read_text().splitlines()
    assert len(kept) == 4
    assert rankwise(f"ledger {ledger}").code == 2  # nothing to hold them against
    keep_comparisons("m", _compared([1.0, 3.0, 2.0, 2.0], [1.05, 2.0, 4.0, 2.5]))
    assert ledger.read_text().splitlines()[:4] == kept
    result = rankwise("ledger --by algorithm,machine")
    assert result.code == 0 and result.out.startswith("4 predictions were off by 35.0% in the median; 25% of 4 lay within")
    groups = rankwise(f"ledger {ledger} --json").json["groups"]
    assert {group["by"] for group in groups} == {"algorithm", "mode", "size", "machine"}
    assert rankwise(f"ledger {ledger} --by colour").code == 2
