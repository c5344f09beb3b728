"""Programs whose halo is exchanged by themselves and by rankwise, by turns: lines of the port, bytes, times, the same bits.

    python benchmarks/halo_ports.py $HOME/rankwise --clone                                   # sources by git; none is kept
    python benchmarks/halo_ports.py $HOME/rankwise --comd FOLDER --only comd atoms
    python benchmarks/halo_ports.py PREFIX --clone --mpi "mpicc.openmpi mpifort.openmpi mpiexec.openmpi --oversubscribe"

CoMD (atoms; what EAM forces need), miniGhost (both modes, faces and diagonals), CloverLeaf, and an exchange of atoms forward
and reverse as LAMMPS has it, written by hand (ports/atoms_by_hand.c). PREFIX: where rankwise is installed, with the MPI of
--mpi (the compilers for C and Fortran and what starts ranks). Ports are files of ours in benchmarks/ports, put in the place of
one function by the linker; of a program's sources nothing is changed.

Bits: a digest of all that the program's reductions give is the same with its own exchange, with ours and by turns. Bytes and
messages of a step, to other ranks, as `rankwise observe` counts them. Time: of calls that alternate (own, ours, ours, own) in
one run, each begun together on all ranks, the slowest rank's; the median of the ratios ours/own with its 95 % interval. Exit 1
where a digest differs, a port has more lines than 60 or sends more bytes (to three digits), or a ratio is beyond doubt above
its bar.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
import sources
from harness import AS_ROOT, ended, keep_row, load, median, options

from rankwise.observe.record import read_record
from rankwise.units import format_time

_PORTS = Path(__file__).parent / "ports"
_PROGRAMS = ("comd", "minighost", "cloverleaf")
_MOST_LINES = 60
_WARM_UP = 4  # pairs that are left out
# A name that MPI 3 removed, and miniGhost uses.
_MPI_3 = """#include <mpi.h>
#undef MPI_Errhandler_set
#define MPI_Errhandler_set MPI_Comm_set_errhandler
"""
_CLOVER = """*clover
 state 1 density=0.2 energy 1.0
 state 2 density=1.0 energy=2.5 geometry=rectangle xmin=0.0 xmax=5.0 ymin=0.0 ymax=2.0
 x_cells=CELLS
 y_cells=CELLS
 xmin=0.0
 ymin=0.0
 xmax=10.0
 ymax=10.0
 initial_timestep=0.04
 timestep_rise=1.5
 max_timestep=0.04
 end_step=STEPS
 summary_frequency=5
*endclover
"""


@dataclass
class Case:
    """A run: a port, ranks, and the words behind the program for so many steps; bars: of time and bytes, ours over own."""

    name: str
    port: str
    ranks: int
    words: Callable[[int], str]
    steps: int = 200
    time: float = 1.0
    bytes: float = 1.0
    deck: str = ""


@dataclass
class Port:
    """How the program of a port is built: its exchange's symbol, our files, and what paired.c must know."""

    program: str
    exchange: str
    files: list[str]
    defines: list[str] = field(default_factory=list)
    wraps: tuple[str, ...] = ()  # further functions


PORTS = {
    "comd": Port("comd", "haloExchange", ["comd.c"], ["-DKIND=(uintptr_t)a", "-DONLY=0"]),
    "comd-forces": Port("comd", "haloExchange", ["comd_forces.c"], ["-DKIND=(uintptr_t)a", "-DONLY=1"],
                        ("initForceHaloExchange",)),
    "atoms": Port("", "exchange", ["atoms.c"], ["-DKIND=*(int*)b", "-DROUND=*(int*)a"]),
    "cloverleaf": Port("cloverleaf", "__clover_module_MOD_clover_exchange", ["cloverleaf.f90"],
                       ["-DFORTRAN", "-DKIND=mixed(*(int*)b, *(void**)a, 60)"]),
    **{f"minighost-{mode}": Port("minighost", f"__mg_{mode}_mod_MOD_mg_{mode}", ["minighost.f90"], ["-DFORTRAN"])
       for mode in ("bspma", "svaf", "bspma_diags", "svaf_diags")},
}  # fmt: skip


def _cases() -> list[Case]:
    def comd(grid: str, cells: str, more: str = "") -> Callable[[int], str]:
        i, j, k = grid.split("x")
        x, y, z = cells.split("x")
        return lambda steps: f"-i {i} -j {j} -k {k} -x {x} -y {y} -z {z} -N {steps} -n {steps} {more}"

    def minighost(grid: str, stencil: int, method: int) -> Callable[[int], str]:
        x, y, z = grid.split("x")
        of = f"--scaling 2 --nx 32 --ny 32 --nz 32 --num_vars 5 --percent_sum 100 --stencil {stencil} --comm_method {method}"
        return lambda steps: f"{of} --npx {x} --npy {y} --npz {z} --num_tsteps {steps} --error_tol 0"

    eam = "-e -d POTS"
    found = [
        Case("CoMD, 11,200 atoms", "comd", 2, comd("1x1x2", "14x10x20"), 400, bytes=0.65),
        Case("CoMD, 89,600 atoms", "comd", 2, comd("1x1x2", "28x20x40"), 100, time=0.6),
        Case("CoMD, 10,976 atoms", "comd", 4, comd("1x2x2", "14x14x14"), 400),
        Case("CoMD, 32,000 atoms", "comd", 4, comd("1x2x2", "20x20x20"), 160),
        Case("CoMD's EAM forces, 11,200", "comd-forces", 2, comd("1x1x2", "14x10x20", eam), 100),
        Case("CoMD's EAM forces, 10,976", "comd-forces", 4, comd("1x2x2", "14x14x14", eam), 100),
    ]
    for ranks, grid in ((2, "1x1x2"), (4, "1x2x2")):
        for mode, method in (("bspma", 10), ("svaf", 11)):
            for stencil, suffix in ((23, ""), (24, "_diags")):
                name = f"miniGhost {mode.upper()}, {'27' if suffix else '7'} points"
                found.append(Case(name, f"minighost-{mode}{suffix}", ranks, minighost(grid, stencil, method), 100))
        found.append(Case("CloverLeaf, 240x240", "cloverleaf", ranks, lambda _: "", 60, deck=_CLOVER.replace("CELLS", "240")))
        found.append(Case("atoms, 2,000 a rank", "atoms", ranks, lambda steps: f"2000 {steps} 10", 40))
        found.append(Case("atoms, 20,000 a rank", "atoms", ranks, lambda steps: f"20000 {steps} 10", 20))
    return found


def lines_of(path: Path) -> int:
    """Lines that are neither empty nor comment alone."""
    text = re.sub(r"^\s*/\*.*?\*/\s*$", "", path.read_text(), flags=re.S | re.M) if path.suffix == ".c" else path.read_text()
    return sum(bool(line.strip()) and not line.lstrip().startswith("!") for line in text.splitlines())


def in_order(files: list[Path]) -> list[Path]:
    """Fortran sources, those of a module before those that use it."""
    makes, uses = {}, {}
    for path in files:
        text = path.read_text(errors="replace").lower()
        makes.update(dict.fromkeys(re.findall(r"^\s*module +(\w+)\s*$", text, re.M), path))
        uses[path] = re.findall(r"^\s*use +(\w+)", text, re.M)
    before = {path: {makes[name] for name in uses[path] if name in makes} - {path} for path in files}
    return list(TopologicalSorter(before).static_order())


class Bench:
    """Programs are built in a folder with an installed rankwise and the compilers and launcher of its MPI."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self.folder, self.prefix = folder, given.prefix.resolve()
        self.cc, self.fc, *self.launch = given.mpi.split()
        self.sources = {name: sources.folder_of(name, given, folder) for name in _PROGRAMS}

    def has(self, port: Port) -> bool:
        return not port.program or self.sources[port.program] is not None

    def compiled(self, name: str, port: Port) -> Path:
        folder = self.folder / name
        program = folder / "program"
        if program.exists():
            return program
        folder.mkdir()
        include = [f"-I{self.prefix}/include", f"-I{_PORTS}"]
        ours = [_PORTS / file for file in port.files]
        reductions = ("mpi_allreduce_", "mpi_reduce_") if "-DFORTRAN" in port.defines else ("MPI_Allreduce",)
        library = [f"-L{self.prefix}/lib", "-lrankwise", f"-Wl,-rpath,{self.prefix}/lib", "-lm"]
        wrap = [f"-Wl,--wrap={symbol}" for symbol in (port.exchange, *port.wraps, *reductions)]
        c = [self.cc, "-w", "-std=gnu11", "-O2", *include]
        self._run(folder, [*c, f"-DEXCHANGE={port.exchange}", *port.defines, "-c", _PORTS / "paired.c"])
        if port.program in ("comd", ""):
            files, flags = self._c_sources(port, folder)
            self._run(folder, [*c, *flags, *files, *ours, "paired.o", *wrap, *library, "-o", program])
            return program
        files, flags, c_files = self._fortran_sources(port)
        (folder / "mpi_3.h").write_text(_MPI_3)
        self._run(folder, [*c, "-include", "mpi_3.h", *flags, "-c", *c_files])
        free = ("-ffree-form", "-ffree-line-length-none", "-fallow-argument-mismatch")
        fortran = [self.fc, "-w", "-O2", *free, f"-I{self.prefix}/include/rankwise/fortran", *flags]
        self._run(folder, [*fortran, "-c", *in_order(files), *ours])
        self._run(folder, [self.fc, *sorted(folder.glob("*.o")), *wrap, "-lrankwise_fortran", *library, "-o", program])
        return program

    def _c_sources(self, port: Port, folder: Path) -> tuple[list[Path], list[str]]:
        if port.program == "comd":
            place = self.sources["comd"]
            assert place is not None
            files, flags = sources.comd(place, folder)
            return files, [*flags, f"-I{place / 'src-mpi'}"]
        return [_PORTS / "atoms_main.c", _PORTS / "atoms_by_hand.c"], []

    def _fortran_sources(self, port: Port) -> tuple[list[Path], list[str], list[Path]]:
        place = self.sources[port.program]
        assert place is not None
        if port.program == "minighost":
            # Drivers and prints that its own makefiles leave out, too.
            files = [
                path for path in (place / "ref").glob("*.F") if not re.search(r"MAIN|\.ORIG|\.PRINTS|_H5PART|_MPIIO", path.name)
            ]
            return sorted(files), ["-D_MG_MPI", "-D_MG_REAL8", "-D_MG_INT4", "-Df2c_"], [place / "ref" / "main.c"]
        files = sorted([*place.glob("*.f90"), *place.glob("kernels/*.f90")])
        return files, [], sorted([*place.glob("*.c"), *place.glob("kernels/*.c")])

    def _run(self, folder: Path, command: list[Any]) -> None:
        done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(str(word) for word in command[:3])} ...: {done.stderr[:2000]}")

    def run(self, case: Case, which: str, steps: int, observe: str = "") -> dict[str, Any]:
        program = self.compiled(case.port, PORTS[case.port])
        pots = self.sources["comd"] / "pots" if self.sources["comd"] else ""
        words = [*self.launch, "-n", str(case.ranks), str(program), *case.words(steps).replace("POTS", str(pots)).split()]
        if observe:
            words = [sys.executable, "-m", "rankwise", "observe", "-o", observe, "--", *words]
        if case.deck:
            (program.parent / "clover.in").write_text(case.deck.replace("STEPS", str(steps)))
        report = program.parent / f"{which}.json"
        environment = {"PORT": which, "PORT_REPORT": str(report), **AS_ROOT}
        done = subprocess.run(words, cwd=program.parent, env=os.environ | environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: {(done.stderr or done.stdout)[-2000:]}")
        return dict(json.loads(report.read_text()))

    def sent(self, case: Case, which: str) -> tuple[float, float]:
        """Messages and bytes of a step, of all ranks to others: of some steps less those of fewer."""
        found = []
        for steps in (4, 12):
            path = self.folder / f"{which}-{steps}.comm"
            self.run(case, which, steps, observe=str(path))
            record = read_record(path)
            others = record.peer != np.repeat(np.arange(record.ranks), np.diff(record.pointer))
            found.append((int(record.messages[others].sum()), int(record.bytes[others].sum())))
        return (found[1][0] - found[0][0]) / 8, (found[1][1] - found[0][1]) / 8


def ratios_of(report: dict[str, Any]) -> tuple[Any, list[float]]:
    """Return ours over own of each pair of calls, and the sums of the medians."""
    ratios, medians = [], np.zeros(2)
    for own_s, ours_s in report["kinds"]:
        pairs = np.array([own_s[: len(ours_s)], ours_s[: len(own_s)]])[:, _WARM_UP:]
        if pairs.shape[1] == 0:
            continue
        ratios.append(pairs[1] / pairs[0])
        medians += np.median(pairs, axis=1) * pairs.shape[1]
    calls = sum(len(of) for of in ratios)
    return np.concatenate(ratios), [float(median) / calls for median in medians]


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("prefix", type=Path, help="where rankwise is installed")
    parser.add_argument("--mpi", default="mpicc mpifort mpiexec", help="compilers for C and Fortran, launcher with its options")
    sources.add_arguments(parser, _PROGRAMS)
    parser.add_argument("--only", nargs="*", default=list(PORTS), help=f"ports: {', '.join(PORTS)}")
    parser.add_argument("--ranks", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--no-times", action="store_true", help="bits and bytes alone")
    parser.add_argument("--no-bytes", action="store_true", help="bits and times alone")
    given = parser.parse_args()
    print(f"{load()}; {given.mpi}; rankwise in {given.prefix}")
    columns = "{:<27} {:>5} {:>5} {:>5}  {:>13}  {:>23}  {:>17}  {}"
    print(columns.format("own and ours:", "ranks", "lines", "bits", "messages", "kB a step", "time", "ratio"), flush=True)
    missed = []
    with tempfile.TemporaryDirectory() as made:
        bench = Bench(given, Path(made))
        for case in _cases():
            if case.port not in given.only or case.ranks not in given.ranks or not bench.has(PORTS[case.port]):
                continue
            lines = sum(lines_of(_PORTS / file) for file in PORTS[case.port].files)
            short = {which: bench.run(case, which, 10)["digest"] for which in ("own", "ours", "turns")}
            same = len(set(short.values())) == 1
            failed, counts, times = not same or lines > _MOST_LINES, ("", ""), ("", "")
            if not given.no_bytes:
                (own_messages, own_bytes), (messages, sent) = bench.sent(case, "own"), bench.sent(case, "ours")
                volumes = f"{own_bytes / 1e3:.1f} {sent / 1e3:8.1f} {sent / own_bytes:6.3f}"
                counts = (f"{own_messages:.1f} {messages:6.1f}", volumes)
                failed |= round(sent / own_bytes, 3) > case.bytes
            if not given.no_times:
                ratios, medians = ratios_of(bench.run(case, "turns", case.steps))
                of_all = median(ratios)
                own, ours = map(format_time, medians)
                times = (f"{own} {ours:>8}", str(of_all))
                own_exchange = "the program's own exchange" if PORTS[case.port].program else "MPI by hand, as in LAMMPS"
                keep_row(f"halo of {case.name}, {case.ranks} ranks", own_exchange, of_all)
                failed |= of_all.low > case.time
            row = columns.format(case.name, case.ranks, lines, "same" if same else "OTHER", *counts, *times)
            print(row + ("  MISSED" if failed else ""), flush=True)
            missed += [case.name] * failed
    return ended(missed, between="; ")


if __name__ == "__main__":
    sys.exit(main())
