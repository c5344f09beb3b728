"""What 'make mutants' runs finds a planted gap in the tests of a toy."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[1] / "mutants"

TOY = """
def price(count: int) -> float:
    return 2.0 * count if count > 10 else 3.0 * count
"""
# Nobody asks what ten cost.
TESTS = """
import toy


def test_price():
    assert toy.price(20) == 40.0 and toy.price(5) == 15.0
"""
ASKED = """
import json, pathlib, sys
import run

root = pathlib.Path(sys.argv[1])
chosen, left, every = run.measure(run.PythonPart("toy", {"toy": root / "toy.py"}, ["test_toy.py"], root, preload=[]), 0)
print(json.dumps([len(chosen), every, [mutant.name for mutant in left]]))
"""


def test_a_gap_in_the_tests_of_a_toy_is_found(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "test_toy.py").write_text(TESTS)
    words = [sys.executable, "-c", ASKED, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=SCRIPTS, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    ran, every, left = json.loads(done.stdout)
    line = "toy.py: return 2.0 * count if count > 10 else 3.0 * count: "
    assert (ran, every) == (7, 7)
    assert sorted(left) == [line + "10 one more", line + "Gt to GtE in count > 10"]
