"""A program that runs or hangs: who waits where for whom, and which ranks wait for each other."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.python.observe.conftest import Build, Start

from rankwise import live
from rankwise.api.observing import Live
from rankwise.errors import InputError
from rankwise.observe.live import LiveRank, hang_of
from rankwise.observe.record import read_record
from rankwise.observe.start import observe
from verbs import Rankwise, Refused

HANGS = Path(__file__).parent / "hangs.c"


def waits(rank: int, *others: int, of_any: bool = False, state: str = "waits") -> LiveRank:
    return LiveRank(rank, state, "MPI_Recv", None, None, None, 1.0, others, of_any, "", "")


def ranks_of(*ranks: LiveRank) -> tuple[int, ...] | None:
    found = hang_of(ranks)
    return None if found is None else found.ranks


def test_who_waits_for_ever_is_told_from_who_waits() -> None:
    runs, ended = waits(0, state="runs"), waits(0, state="ended")
    assert ranks_of(runs, waits(1, 0), waits(2, 1)) is None
    assert ranks_of(runs, waits(1, 2), waits(2, 1), waits(3, 1)) == (1, 2)
    assert ranks_of(runs, waits(1, 0, 2), waits(2, 1)) == (1, 2)  # one of what it needs never comes
    assert ranks_of(runs, waits(1, 0, 2, of_any=True), waits(2, 1)) is None
    assert ranks_of(ended, waits(1, 0, 2, of_any=True), waits(2, 1)) == (1, 2)
    assert ranks_of(ended, waits(1, 0), waits(2, 1)) == (1, 2)
    assert ranks_of(runs, waits(1), waits(2, 1)) is None  # for whom is not known
    alone = hang_of((runs, waits(1, 1)))
    assert alone is not None and alone.why == "rank 1 waits for itself"


@contextmanager
def running(words: list[str], record: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "rankwise", "observe", "-o", str(record), "--", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def awaited(record: Path, wanted: Callable[[Live], bool]) -> Live:
    """Look until the ranks wait as they should, two minutes at most."""
    for _ in range(600):
        try:
            if wanted(found := live(record)):
                return found
        except InputError:
            pass
        time.sleep(0.2)
    raise AssertionError("the ranks do not wait as they should")


@pytest.mark.parametrize(
    ("mode", "ranks", "why", "line", "others"),
    [
        ("wait", (0, 2), "ranks 0, 2 wait for each other", "MPI_Wait(", (2,)),
        (
            "collectives",
            (0, 1),
            "wait for each other in different collectives, MPI_Barrier and MPI_Bcast",
            "MPI_Barrier(",
            (1, 2),
        ),
        ("gone", (1, 2), "ranks 1-2 wait for rank 0, which has ended", "", ()),
    ],
)
def test_a_deadlock_is_named(
    build: Build, start: Start, mode: str, ranks: tuple[int, ...], why: str, line: str, others: tuple[int, ...], tmp_path: Path
) -> None:  # fmt: skip
    program = build("pip", "hangs.c", "-g")
    with running([*start("pip", 3), str(program), mode, "120"], tmp_path / "app.comm"):
        found = awaited(tmp_path / "app.comm", lambda of: of.deadlock is not None and of.deadlock.ranks == ranks)
    assert found.deadlock is not None and found.deadlock.ranks == ranks and why in found.deadlock.why
    (said,) = (note for note in read_record(tmp_path / "app.comm").header["notes"] if "deadlock: " in note)
    assert why in said and "hangs.c:" in said  # the record has it, too, of a program that was ended meanwhile
    first = found.ranks[0]
    assert first.waits_for == others
    if line:
        assert line in HANGS.read_text().splitlines()[(first.line or 0) - 1] and first.seconds >= 0.5
    else:
        assert first.state == "ended" and found.ranks[1].whom == "from rank 0 tag 3"


def test_a_rank_that_computes_makes_no_deadlock(
    build: Build, start: Start, rankwise: Rankwise, refused: Refused, tmp_path: Path
) -> None:
    program = build("pip", "hangs.c", "-g")
    with running([*start("pip", 2), str(program), "computes", "120"], tmp_path / "app.comm"):
        awaited(tmp_path / "app.comm", lambda of: any(one.waits_for for one in of.ranks))
        shown = rankwise("observe show app.comm --live")
        as_json = rankwise("observe show app.comm --live --json").json
    assert shown.code == 0 and shown.out.startswith("! 1 of 2 ranks wait in MPI, rank 1 for ")
    assert (as_json["deadlock"], as_json["ranks"][1]["waits_for"], as_json["ranks"][0]["state"]) == (None, [0], "runs")
    (said,) = (note for note in read_record(tmp_path / "app.comm").header["notes"] if "half a second before the end" in note)
    assert re.search(r"the end, 1 of 2 ranks waited in MPI; rank 1 for .* in MPI_Barrier, one_computes, hangs.c:\d+", said)
    assert "no program runs whose record is none.comm" in refused("observe show none.comm --live")


def test_a_rank_that_waits_for_one_that_aborts_is_in_no_deadlock(build: Build, start: Start, tmp_path: Path) -> None:
    _, record = observe([*start("pip", 2), str(build("pip", "hangs.c", "-g")), "aborts", "60"], tmp_path / "app.comm")
    assert record is not None and not any("deadlock" in note for note in record.header["notes"])
    assert any("1 of 2 ranks waited in MPI; rank 1 for" in note for note in record.header["notes"])
