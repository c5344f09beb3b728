"""The table of peers: what cannot be measured is listed, and figures of a busy machine are marked as not valid."""

import os
import subprocess
import sys
from pathlib import Path

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
