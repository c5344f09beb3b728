"""Where a program calls MPI: functions, files and lines, held against the program's own text."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.python.observe.conftest import Build, Start

from rankwise.observe.call_sites import (
    MAX_CALLS,
    MAX_SITES,
    MODULE,
    NO_SITE,
    SITE,
    _function,
    build_id_of,
    call_sites,
    merged_sites,
    named,
    site_lines,
)
from rankwise.observe.record import read_record
from rankwise.observe.start import observe


def expected_sites(source: str, ranks: int) -> dict[tuple[str, str, int], int]:
    """Return how many calls the marks of the source promise, by call, function and line."""
    marks = re.compile(r"(MPI_\w+)(?:\(.*(?:/\*|!))? from ([\w.<>]+) (\d+)")
    text = Path(__file__).with_name(source).read_text()
    found = ((number, marks.search(line)) for number, line in enumerate(text.splitlines(), 1))
    return {(mark[1], mark[2], number): ranks * int(mark[3]) for number, mark in found if mark}


def observed(program: Path, words: list[str], tmp_path: Path) -> Any:
    code, record = observe([*words, str(program)], tmp_path / "sites.comm")
    assert code == 0
    assert record is not None
    found = read_record(tmp_path / "sites.comm")
    named(found.header, limit_s=60)
    return found


def system(*words: object) -> object:
    return pytest.param(*words, marks=pytest.mark.system_mpi)


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("kind", "source", "flags"),
    [
        *(("pip", "call_sites.c", ("-g", level)) for level in ("-O0", "-O3")),
        system("openmpi", "call_sites.c", ("-g", "-O2", "-no-pie")),
        *(
            system(kind, "call_sites.F90", ("-g", "-O2", "-fallow-argument-mismatch", *module))
            for kind in ("mpich", "openmpi")
            for module in ((), ("-DMODULE=mpi",), ("-DMODULE=mpi_f08", "-DTYPED"))
        ),
        system("intel", "call_sites.F90", ("-g", "-fallow-argument-mismatch")),
    ],
)
def test_calls_have_the_function_and_line_of_the_source(
    kind: str, source: str, flags: tuple[str, ...], build: Build, start: Start, tmp_path: Path
) -> None:
    record = observed(build(kind, source, *flags), start(kind, 2), tmp_path)
    sites = {(site["call"], site["function"], site["line"]): site for site in call_sites(record.header)}
    wanted = expected_sites(source, 2)
    assert len(wanted) >= 4
    assert {place: sites[place]["calls"] for place in wanted} == wanted
    assert {Path(site["file"]).name for site in sites.values()} == {source}
    assert all(site["ranks"] == 2 and site["seconds"] >= site["most_seconds"] for site in sites.values())
    # Each event knows its site, whose call is its own.
    for rank, events in record.events.items():
        of_sites = [record.header["sites"][number]["call"] for number in record.sites[rank]]
        assert of_sites == [record.header["calls"][number] for number in events["call"]]
    # Calls and time by site add up to those by call.
    for column, counts in enumerate(record.call_counts.sum(axis=0)):
        here = [site for site in call_sites(record.header) if site["call"] == record.header["calls"][column]]
        assert sum(site["calls"] for site in here) == counts
        assert sum(site["seconds"] for site in here) == pytest.approx(
            record.call_ns[:, column].sum() * 1e-9, rel=1e-6, abs=1e-8
        )


@pytest.mark.mpi
def test_calls_from_python_have_the_innermost_frame_outside_mpi4py(start: Start, tmp_path: Path) -> None:
    """Also those that mpi4py makes of one, and those of a comprehension, which has a frame of its own before 3.12."""
    pytest.importorskip("mpi4py")
    program = Path(__file__).with_name("call_sites.py")
    record = observed(program, [*start("pip", 2), sys.executable], tmp_path)
    sites = {
        (site["call"], site["function"].removesuffix(".<locals>.<listcomp>"), site["line"]): site["calls"]
        for site in call_sites(record.header)
        if site["file"] == str(program)
    }
    wanted = expected_sites("call_sites.py", 2)
    assert len(wanted) == 5 and sites == wanted


@pytest.mark.mpi
@pytest.mark.parametrize("flags", [(), ("-rdynamic",)])
def test_a_stripped_program_has_places_in_its_file_and_a_new_one_has_no_wrong_names(
    flags: tuple[str, ...], build: Build, start: Start, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    shutil.copy(build("pip", "call_sites.c", "-g", "-O0", *flags), program)
    subprocess.run(["strip", program], check=True)
    record = observed(program, start("pip", 2), tmp_path)
    # Of a program that exports its functions main alone is known; the static ones are none that lie before them.
    functions = {None, "main"} if flags else {None}
    assert {site["function"] for site in call_sites(record.header)} == functions
    shown = site_lines(record.header, sum(site["seconds"] for site in call_sites(record.header)), most=9)
    assert any(re.match(r" *\d+%  MPI_\w+: program\+0x[0-9a-f]+", line) for line in shown)
    # Another program takes its place: the old places are not looked up in it.
    shutil.copy(build("pip", "call_sites.c", "-g", "-O3"), program)
    named(record.header, limit_s=60)
    assert {site["function"] for site in call_sites(record.header)} == functions


@pytest.mark.mpi
def test_more_sites_than_there_are_lines_are_counted_all_the_same(build: Build, start: Start, tmp_path: Path) -> None:
    calls = 6000
    source = tmp_path / "many.c"
    probes = "\n".join("MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);" for _ in range(calls))
    source.write_text(
        f"#include <mpi.h>\nint main(void) {{ int flag; MPI_Init(0, 0);\n{probes}\nMPI_Finalize(); return 0; }}\n"
    )
    record = observed(build("pip", str(source), "-O0"), start("pip", 1), tmp_path)
    column = record.header["calls"].index("MPI_Iprobe")
    assert record.call_counts[:, column].sum() == calls
    assert 3000 < len(record.header["sites"]) <= MAX_SITES
    assert "rank 0 called MPI from more than 3072 call sites: further ones are counted together" in record.header["notes"]


def lines_of(places: list[tuple[int, int, int, int]]) -> np.ndarray[Any, Any]:
    """Return lines of a rank: (number, address, offset, ticks), all of call 7 and module 1, called twice and timed once."""
    lines = np.zeros(MAX_CALLS + MAX_SITES, SITE)
    for number, address, offset, ticks in places:
        lines[number] = (address, offset, 2, 1, ticks, 7, 1, number, 0)
    return lines


def test_sites_are_alike_wherever_their_module_lies_in_memory() -> None:
    modules = np.array([(2, b"\x12\x34".ljust(20, b"\0"), b"/bin/program")], MODULE)
    first = lines_of([(300, 0x5000_1000, 0x1000, 10), (301, 0x5000_2000, 0x2000, 5)])
    second = lines_of([(900, 0x7000_1000, 0x1000, 30)])
    names = [f"MPI_{i}" for i in range(MAX_CALLS)]
    sites, files, numbers, places = merged_sites({0: (first, modules, 1e9), 4: (second, modules, 1e9)}, names)
    assert files == [{"path": "/bin/program", "build_id": "1234"}]
    assert [(s["offset"], s["calls"], s["ranks"], s["seconds"], s["most_rank"]) for s in sites] == [
        (0x1000, 4, 2, 80.0, 4),
        (0x2000, 2, 1, 10.0, 0),
    ]
    assert (numbers[0][300], numbers[0][301], numbers[4][900], numbers[4][300]) == (0, 1, 0, NO_SITE)


def test_a_file_that_is_no_program_has_no_build_id(tmp_path: Path) -> None:
    for content in (b"", b"\x7fELF\x02", b"\x7fELF\x02" + b"\xff" * 59, b"#!/bin/sh\n"):
        path = tmp_path / "file"
        path.write_bytes(content)
        assert build_id_of(path) is None


@pytest.mark.parametrize(
    ("name", "file", "function"),
    [
        ("__clover_module_MOD_clover_exchange", "clover.f90", "clover_module::clover_exchange"),
        ("__plib_module_MOD_testsome", "??", "plib_module::testsome"),
        ("_QMclover_modulePclover_sum", "clover.f90", "clover_module::clover_sum"),  # flang
        ("clover_module_mp_clover_sum_", "clover.F90", "clover_module::clover_sum"),  # Intel
        ("a_mp_b_", "a.c", "a_mp_b_"),
        ("gop_", "comm_mpi.f", "gop"),
        ("main", "main.c", "main"),
        ("Parallel::globalSum(int&)", "Parallel.cc", "Parallel::globalSum"),
        ("void Mesh::parallelScatter<double2>(double2 const*, double2*)", "Mesh.cc", "Mesh::parallelScatter<double2>"),
        ("std::vector<int, std::allocator<int> > grid::sums<2u>(int (*)(int))", "g.cc", "grid::sums<2u>"),
        ("(anonymous namespace)::Halo::wait(bool) const", "h.cc", "Halo::wait"),
        ("Halo::operator()(int) const", "h.cc", "Halo::operator"),
        ("main::{lambda(int)#1}::operator()(int) const", "h.cc", "main"),
        ("solve(int)::{lambda(double)#2}::operator()(double) const", "h.cc", "solve"),
        ("void apply_operator<double>(double*)", "h.cc", "apply_operator<double>"),
    ],
)
def test_functions_have_the_names_that_the_source_gives_them(name: str, file: str, function: str) -> None:
    assert _function(name, file) == function
