"""``rankwise try`` on the command line: what it says where there is nothing to try, and for input that does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwise.observe.record import write_record
from synthetic_events import Op, recorded
from verbs import Rankwise, Refused


@pytest.fixture(autouse=True)
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("mpiexec", "echo HYDRA build details:\necho Version: 5.0.2\n"), ("app", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def _record(nodes: list[int]) -> None:
    """Ranks of a ring send 1000 B to the right."""
    ranks = len(nodes)
    once: list[list[Op]] = [[("send", (rank + 1) % ranks, 1, 1000), ("recv", (rank - 1) % ranks, 1)] for rank in range(ranks)]
    write_record(Path("app.comm"), recorded(once, nodes))


@pytest.mark.parametrize(
    ("nodes", "why"), [([0] * 4, "on one node"), ([0, 0, 1, 1], "no placement was found that is at least 1 % better")]
)
def test_nothing_to_try_is_an_answer(rankwise: Rankwise, nodes: list[int], why: str) -> None:
    _record(nodes)
    done = rankwise("try app.comm -- mpiexec -n 4 app")
    assert done.code == 0 and done.out.startswith("✓ Nothing to try: ") and why in done.out
    record = rankwise("try app.comm --json -- mpiexec -n 4 app").json
    assert (record["verdict"], record["pairs"], record["ratio"]) == ("no gain", 0, None)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("-- mpiexec -n 8 app", "has 4 ranks and the command starts 8"),
        ("-- mpiexec -n 4 ./gone", "./gone: no such file, so nothing was run: correct its path"),
        ("-- mpiexec -n 4 gone", "gone: not an executable file, or not on PATH, so nothing was run"),
        ("--pairs 1 -- mpiexec app", "out of range"),
        ("--hosts x,y,z,v,w -- mpiexec app", "at most one a rank"),
        ("--topology none.conf -- mpiexec app", "none.conf is no file"),
        ("--levels switch:3 -- mpiexec app", "does not divide"),
        ("--placement nowhere -- mpiexec app", "does not exist"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(refused: Refused, monkeypatch: pytest.MonkeyPatch, words: str, why: str) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "n1")
    _record([0, 1, 0, 1])
    assert why in refused(f"try app.comm {words}")


def test_a_program_that_is_on_the_nodes_only_is_started(rankwise: Rankwise) -> None:
    _record([0, 0, 0, 0])
    assert rankwise("try app.comm -- mpiexec -n 4 /scratch/app").out.startswith("✓ Nothing to try: ")
