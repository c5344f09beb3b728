"""Benchmarks still start: what they import is there, and each says how it is used."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# All in one process, which imports numpy and the like once.
HELP = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
for script in sys.argv[2:]:
    sys.argv = [script, "--help"]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if not end.code:
            continue
    sys.exit(f"{script} knows no --help")
"""


def test_every_benchmark_says_how_it_is_used(tmp_path: Path) -> None:
    scripts = [path for path in sorted(BENCHMARKS.glob("*.py")) if 'if __name__ == "__main__"' in path.read_text()]
    command = [sys.executable, "-c", HELP, BENCHMARKS, *scripts]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage: ") == len(scripts) > 30
