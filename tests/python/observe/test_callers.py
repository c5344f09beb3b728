"""Who called the functions that call MPI."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.observe.conftest import Build, Start
from tests.python.observe.test_call_sites import observed

from rankwise.observe.call_sites import call_sites
from rankwise.observe.callers import CHAIN, Caller, add_callers, callers_of, callers_text, telling_caller
from rankwise.observe.record import read_record
from rankwise.observe.wait_causes import place_of


def slow_caller(record: Any, main: str) -> Caller:
    """The caller with three quarters of the wrapper's time; the other has the rest; step calls both."""
    (site,) = (site for site in call_sites(record.header) if site["call"] == "MPI_Recv")
    assert site["function"] == "pass_on"
    callers = {caller.functions: caller for caller in site["callers"]}
    assert set(callers) == {("slow", "step", main), ("quick", "step", main)}
    assert callers["slow", "step", main].share == pytest.approx(0.75, abs=0.08)
    assert sum(caller.share for caller in callers.values()) == pytest.approx(1)
    return callers["slow", "step", main]


@pytest.mark.mpi
@pytest.mark.parametrize(("kind", "flags"), [("pip", ("-O0",)), ("pip", ("-g", "-O2")), ("openmpi", ("-O2", "-no-pie"))])
def test_callers_of_a_wrapper_have_their_shares_of_its_time(
    kind: str, flags: tuple[str, ...], build: Build, start: Start, tmp_path: Path
) -> None:
    record = observed(build(kind, "callers.c", *flags), start(kind, 2), tmp_path)
    slow = slow_caller(record, "main")
    assert slow.places[0].startswith("callers.c:") == ("-g" in flags)
    # Of a site that no sampled instant has met, all that is known is who called first.
    (sent,) = (site for site in call_sites(record.header) if site["call"] == "MPI_Send")
    assert {caller.functions[1:] for caller in sent["callers"]} == {("step", "main")}


@pytest.mark.mpi
def test_callers_in_python_are_frames_of_python(start: Start, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    program = Path(__file__).with_name("callers.py")
    record = observed(program, [*start("pip", 2), sys.executable], tmp_path)
    places, lines = slow_caller(record, "<module>").places[1:], program.read_text().splitlines()
    assert [lines[int(place.partition("callers.py:")[2]) - 1].strip() for place in places] == ["slow()", "step()"]


@pytest.mark.mpi
def test_callers_in_a_python_that_a_program_loads_late(
    build: Build, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi4py = pytest.importorskip("mpi4py")
    library = Path(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"))
    if not library.is_file():
        pytest.skip(f"no {library}: python3-dev has it")
    (tmp_path / "embedded.py").write_text(
        "from mpi4py import MPI\ndef wrapper():\n    MPI.COMM_WORLD.Barrier()\ndef step():\n    wrapper()\n"
        "for _ in range(3):\n    step()\n"
    )
    monkeypatch.setenv("EMBEDDED_LIBRARY", str(library))
    folders = [str(Path(mpi4py.__file__).parents[1]), str(tmp_path)]
    monkeypatch.setenv("EMBEDDED_CODE", f"import sys; sys.path[:0] = {folders!r}; import embedded")
    record = observed(build("pip", "embeds.c", "-O1", "-ldl"), start("pip", 2), tmp_path)
    (site,) = (site for site in call_sites(record.header) if site["function"] == "wrapper")
    assert (site["call"], site["line"], site["calls"]) == ("MPI_Barrier", 3, 6)
    assert {caller.functions[:2] for caller in site["callers"]} == {("step", "<module>")}


def test_callers_of_a_real_library_of_wrappers() -> None:
    """OpenFOAM's conjugate gradients add up more often than its smoothers, all by one function."""
    record = read_record(Path(__file__).parent / "programs" / "icofoam.comm")
    (sums,) = (site for site in call_sites(record.header) if site["call"] == "MPI_Allreduce" and site["calls"] > 2000)
    assert sums["function"] == "Foam::reduce"
    assert callers_text(sums["callers"]).startswith("called by Foam::PCG::scalarSolve")


def chains(*lines: tuple[int, int, list[int]]) -> np.ndarray[Any, Any]:
    """Chains of a site's number, samples, and callers."""
    found = np.zeros(len(lines), CHAIN)
    for i, (site, samples, callers) in enumerate(lines):
        found[i]["key"], found[i]["site"], found[i]["samples"], found[i]["callers"] = i + 1, site, samples, len(callers)
        found[i]["caller"][: len(callers)] = callers
    return found


def test_chains_of_ranks_are_added_wherever_their_modules_stand() -> None:
    """Of rank 0 the library is module 2, of rank 3 module 1; a caller of no module is kept; what calls main is not."""
    sites: list[dict[str, Any]] = [{}, {}]
    of_number = np.array([7, 1, 0])
    frames = add_callers(
        sites, ["program", "library", "/lib/libc.so.6"],
        {
            0: (
                chains((1, 5, [2 << 48 | 0x10, 1 << 48 | 0x20, 3 << 48 | 0x90, 4]), (2, 1, [0x30]), (9, 1, [])),
                [0, 1, 2], of_number,
            ),
            3: (
                chains((1, 4, [1 << 48 | 0x10, 2 << 48 | 0x20]), (1, 6, [1 << 48 | 0x11])),
                [1, 0], of_number,
            ),
        },
    )  # fmt: skip
    assert frames == [
        {"module": 1, "offset": 0x10}, {"module": 0, "offset": 0x20}, {"module": None, "offset": 0x30},
        {"module": 1, "offset": 0x11},
    ]  # fmt: skip
    assert sites[1]["callers"] == [{"samples": 9, "frames": [0, 1]}, {"samples": 6, "frames": [3]}]
    assert sites[0]["callers"] == [{"samples": 1, "frames": [2]}]


def test_chains_end_at_main() -> None:
    modules = [{"path": "/a/program"}]
    frames = [
        {"module": 0, "offset": 1, "function": "solve", "file": "/a/solve.c", "line": 7},
        {"module": 0, "offset": 2, "function": "main"},
        {"module": 0, "offset": 3, "function": "_start"},
        {"module": 0, "offset": 4},
        {"module": None, "offset": 5},
    ]
    header = {"modules": modules, "frames": frames}
    every = [{"samples": 3, "frames": [0, 1, 2]}, {"samples": 1, "frames": [3, 4]}, {"samples": 0, "frames": []}]
    assert callers_of(header, every) == [
        Caller(0.75, ("solve", "main"), ("solve.c:7", "program+0x2")),
        Caller(0.25, (None, None), ("program+0x4", "unknown code+0x5")),
    ]
    assert callers_of(header, []) == []
    unsampled = callers_of(header, [{"samples": 0, "frames": [0]}, {"samples": 0, "frames": [1]}])
    assert [caller.share for caller in unsampled] == [0, 0]


def caller(share: float, *functions: str | None) -> Caller:
    return Caller(share, functions, ("",) * len(functions))


@pytest.mark.parametrize(
    ("callers", "text"),
    [
        ([caller(0.6, "a", "main"), caller(0.3, "b"), caller(0.06, "c"), caller(0.04, "d")], "called by a 60 %, b 30 %, c 6 %"),
        ([caller(0.5, "sum", "a"), caller(0.5, "sum", "b")], "called by a 50 %, b 50 %"),  # where they differ
        ([caller(0.4, "a<int>", "x"), caller(0.4, "a<double>", "y"), caller(0.2, "b")], "called by a 80 %, b 20 %"),
        ([caller(1, "a", "b", "c", "main")], "called by a, itself by b"),
        ([caller(1, "a", "main")], "called by a"),
        ([caller(0, "a", "main")], "first called by a"),
        ([caller(1, "main")], ""),
        ([caller(1, None, "a"), caller(0, None)], "called by a"),
        ([caller(0.7, None), caller(0.3, "a")], "called by a 30 %"),
        ([], ""),
        ([caller(1, "A::B<C<int>, double>::a_function_whose_name_is_long", "main")], "called by a_function_whose_name_is_long"),
        ([caller(1, "a_function_whose_name_is_longer_than_that")], "called by a_function_whose_name_is_lo..."),
    ],
)
def test_the_nearest_callers_that_differ_are_shown(callers: list[Caller], text: str) -> None:
    assert callers_text(callers) == text


@pytest.mark.parametrize(
    ("function", "callers", "told"),
    [
        ("sum", [caller(0.6, "a", "main"), caller(0.4, "b")], "a"),
        ("sum", [caller(0.6, "pass_on", "a"), caller(0.4, "pass_on", "b")], "a"),
        ("exchange", [caller(1, "step", "main")], ""),  # no wrapper
        ("exchange", [caller(1, "main")], ""),
        ("sum", [caller(0, "a"), caller(0, "b")], ""),  # not sampled: any may be the most frequent
        (None, [caller(1, "step", "main")], "step"),
        (None, [caller(0.6, "pass_on", "a"), caller(0.4, "pass_on", "b")], "pass_on"),
        (None, [caller(0.7, None), caller(0.3, "a")], "a"),
        (None, [], ""),
    ],
)
def test_who_tells_more_than_a_wrapper(function: str | None, callers: list[Caller], told: str) -> None:
    assert telling_caller(function, callers) == told


def test_calls_of_a_wrapper_have_its_caller_but_are_the_same_place_in_every_run() -> None:
    record = read_record(Path(__file__).parent / "programs" / "icofoam.comm")
    number = next(i for i, site in enumerate(record.header["sites"]) if site["call"] == "MPI_Allreduce")
    place = place_of(record, number)
    assert place.place == "MPI_Allreduce: Foam::reduce (libPstream.so)" and place.caller == "Foam::PCG::scalarSolve"
    assert str(place) == f"{place.place}, called by Foam::PCG::scalarSolve"
    assert place.to_dict()["caller"] == "Foam::PCG::scalarSolve"
    record.header["sites"][number]["callers"] = []
    assert str(place_of(record, number)) == place.place and "caller" not in place_of(record, number).to_dict()
