"""The table of peers: what cannot be measured is listed, and figures of a busy machine are marked as not valid."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers.py"


def test_missing_peers_are_listed_and_a_busy_machine_is_named(tmp_path: Path) -> None:
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        done = subprocess.run(
            [sys.executable, PEERS, "--only", "exchange", "--output", "peers.md"],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        for one in spinning:
            one.kill()
            one.wait()
    page = (tmp_path / "peers.md").read_text()
    assert done.returncode == 6, done.stderr
    assert "Not valid: other programs took" in page and "0 rows, 0 of them lost" in page
    assert "- exchange (MPI): build/benchmarks/tests/cpp/exchange_direct is not built" in page


def test_a_comparison_that_is_not_there_is_a_usage_error_and_no_page_is_written(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, PEERS, "--only", "exchange,fft9", "--output", "peers.md"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "--only 'fft9' is no comparison: choose from ping-pong, exchange, halo" in done.stderr
    assert not (tmp_path / "peers.md").exists()


def test_a_lost_row_comes_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PEERS.parent))
    import peers

    fft = next(one for one in peers.COMPARISONS if one.name == "fft")
    rows = [
        {"what": what, "peer": fft.peer, "ratio": ratio, "low": ratio - 0.1, "high": ratio + 0.1, "command": fft.command,
         "why_lost": fft.reason(what)}
        for what, ratio in (("FFT of 32^3 on 1 rank", 1.2), ("FFT of 64^3 on 1 rank", 1.3), ("FFT of 128^3 on 1 rank", 0.7))
    ]  # fmt: skip
    page = peers.table(rows, [], 0.0, 2)
    reasons = page.split("Why rows were lost")[1].split("Measured by")[0]
    assert "- FFT of 32^3 on 1 rank: FFTW-MPI leaves axes 0 and 1 exchanged" in reasons
    assert "- FFT of 64^3 on 1 rank: the reason is not known." in reasons and "128^3" not in reasons
    assert "Why rows were lost" not in peers.table(rows[2:], [], 0.0, 2)
