"""What stands around 'make quick' and 'make test': prerequisites named before anything is built, what became of all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _said(*command: str | Path, **environment: str) -> tuple[int, str]:
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_what_is_missing_or_too_old_is_named_in_one_line(tmp_path: Path) -> None:
    prerequisites = ROOT / "packaging" / "prerequisites.sh"
    assert _said(prerequisites, PYTHON=sys.executable) == (0, "")
    assert _said(prerequisites, "nonsense") == (2, "usage: prerequisites.sh [optional|packages]\n")
    code, said = _said(prerequisites, PYTHON=sys.executable, CXX="/nowhere/c++")
    assert code == 1 and said.count("\n") == 1 and "missing: a C++ compiler; install with: apt-get install g++ " in said
    (old := tmp_path / "c++").write_text(
        '#!/bin/sh\n[ "$1" = -dumpversion ] && echo 11 && exit\necho "error: too old" >&2; exit 1\n'
    )
    old.chmod(0o755)
    code, said = _said(prerequisites, PYTHON=sys.executable, CXX=str(old))
    assert code == 1 and f"newer; {old} is 11)" in said and said.count("\n") == 1


def test_the_line_of_the_readme_has_what_is_looked_for() -> None:
    (line,) = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("apt-get install")]
    assert set(line.split()[2:]) == {"g++", "cmake", "make", "python3-dev", "python3-venv", "git"}


def test_a_test_that_ran_in_one_pass_was_not_skipped(tmp_path: Path) -> None:
    skip = '<testcase classname="a" name="{}"><skipped message="no {}"/></testcase>'
    passed = '<testcase classname="a" name="x"/><testcase classname="a" name="y"/>'
    (first := tmp_path / "first.xml").write_text(f"<testsuite>{passed}{skip.format('s', 'SimGrid')}</testsuite>")
    (second := tmp_path / "second.xml").write_text(
        f"<testsuite>{skip.format('x', 'FFTW')}{skip.format('s', 'SimGrid')}</testsuite>"
    )
    summary = (sys.executable, ROOT / "tests" / "summary.py")
    assert _said(*summary, first, second) == (0, "skipped 1: no SimGrid\n2 passed, 0 failed, 1 skipped\n")
    code, said = _said(*summary, "--all-run", first, second)
    assert code == 1 and "SKIPPED everywhere: a::s\n" in said
    (ctest := tmp_path / "ctest.xml").write_text(
        '<testsuite><testcase name="n" classname="n" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
        f"<system-out>no tc here\n</system-out></testcase>{passed}</testsuite>"
    )
    assert _said(*summary, ctest) == (0, "skipped 1: no tc here\n2 passed, 0 failed, 1 skipped\n")
    code, said = _said(*summary, first, tmp_path / "third.xml")
    assert code == 1 and "third.xml was not written" in said and said.endswith("2 passed, 1 failed, 1 skipped\n")


def test_what_failed_beside_others_and_passes_alone_has_passed(tmp_path: Path) -> None:
    fail = '<testcase classname="a" name="{}"><failure message="late"/></testcase>'
    (first := tmp_path / "pytest-ranks.xml").write_text(f"<testsuite>{fail.format('x')}{fail.format('y')}</testsuite>")
    again = tmp_path / "pytest-again.xml"
    summary = (sys.executable, ROOT / "tests" / "summary.py")
    assert _said(*summary, "--repeat", first, again) == (0, "")
    assert _said(*summary, first, again)[0] == 1
    again.write_text(f'<testsuite><testcase classname="a" name="x"/>{fail.format("y")}</testsuite>')
    code, said = _said(*summary, again, first)
    assert code == 1 and "passed alone, failed beside others: a::x: late\n" in said and "FAILED a::y: late\n" in said
    first.write_text("<testsuite>" + "".join(fail.format(i) for i in range(11)) + "</testsuite>")
    assert _said(*summary, "--repeat", first)[0] == 1  # so many do not fail because others run
    first.write_text('<testsuite><testcase classname="a" name="x"/></testsuite>')
    assert _said(*summary, "--repeat", first)[0] == 1


def test_the_compiler_is_asked_for_before_anything_is_compiled() -> None:
    words = "import sys; sys.modules['rankwise._core'] = None; from rankwise.launch.installed import asked_compiler as a; a()"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
