"""How right a recorded step is on another network: against SimGrid running the same unmodified programs there.

    python benchmarks/what_if.py --clone [--ranks 16,32,64] [--only comd,lulesh]   # SimGrid, git; some minutes

Each program is linked with what_if/record.c, which lists its calls in SMPI's time, and recorded on nodes of 10 us and 1
Gbit/s, one rank a node. From that record its step is predicted on four networks, with 1 and 4 ranks a node (3 of 27), and
compared with the median step of a recording there. Between calls each rank sleeps, for its computing, 50 or 500 us, ranks
differing by up to 10 %. Sends below 64 KiB are eager, in SMPI and in the cost model. The simulator knows links and what they
share, no more, so the cost model is asked for the same machine (Machine.alone()). Targets: median within 1 %, 95th percentile
within 3 %; exit 1 where one is missed. A program without a step is counted apart.

SimGrid 3.32, 16 ranks (27 of LULESH) and 32, CoMD, LULESH, HPCCG, miniAMR, PRK's stencil, transpose and p2p, transposes in
pencils, a halo: 264 answers, median 0.01 %, 95th percentile 2.5 %, largest 13 % (CoMD with 50 us, whose steps differ from each
other). Simulated over predicted: 0.99 to 1.04 hold 95 %. A master with workers takes steps of other lengths from network to
network: no comparison.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sources
from harness import Table, compiled, options

from rankwise import _core
from rankwise.engines.platform import Platform, parse_network
from rankwise.engines.what_if import PlacedStep
from rankwise.factors import balanced_grid
from rankwise.launch.smpi import _OPTIONS, SimGrid, find_simgrid
from rankwise.observe.phases import phased
from rankwise.observe.record import EVENT, Record, record_of_events
from rankwise.observe.steps import common_steps

HERE = Path(__file__).parent / "what_if"
CALLS = ("Isend Irecv Send Recv Sendrecv Wait Waitall Waitany Barrier Bcast Reduce Allreduce Alltoall").split()
LATENCY_S, BYTES_PER_S = 1e-5, 1.25e8
NETWORKS = {"as recorded": (1.0, 1.0), "half latency, twice bandwidth": (0.5, 2.0), "twice latency": (2.0, 1.0),
            "a tenth of latency, ten times bandwidth": (0.1, 10.0)}  # fmt: skip
# SMPI's collectives are those that the record's library, MPICH, selects for these sizes and ranks.
LIBRARY = "MPICH Version: 5.0.1"
_COLLECTIVES = {"alltoall": "basic_linear", "barrier": "ompi_bruck", "bcast": "binomial_tree", "reduce": "binomial"}


@dataclass(frozen=True)
class Program:
    """A program's binary, and its arguments for some ranks (None: it cannot run with so many)."""

    name: str
    binary: Path

    def words(self, ranks: int) -> list[str] | None:
        x, y, z = sorted(balanced_grid(ranks, 3), reverse=True)
        if self.name == "comd":
            return f"-N 24 -i {x} -j {y} -k {z} -x {6 * x} -y {6 * y} -z {6 * z}".split()
        if self.name == "lulesh":
            return "-s 5 -i 24".split() if round(ranks ** (1 / 3)) ** 3 == ranks else None
        if self.name == "hpccg":
            return "10 10 10".split()
        if self.name == "prk-transpose":
            return f"24 {8 * ranks}".split()
        if self.name == "prk-p2p":
            return f"24 {8 * ranks} 24".split()
        if self.name == "prk-stencil":
            return "24 480".split()
        if self.name == "miniamr":
            return (
                f"--num_refine 0 --num_tsteps 24 --stages_per_ts 1 --num_vars 8 --comm_vars 8 --npx {x} --npy {y} --npz {z} "
                "--init_x 1 --init_y 1 --init_z 1 --nx 6 --ny 6 --nz 6 --checksum_freq 0"
            ).split()
        return []


def machine_of(latency: float, bandwidth: float) -> _core.Machine:
    """Return nodes whose network has a latency and a bandwidth of so many times the recorded one's."""
    wire = {"send": [(0, LATENCY_S * latency, 1 / (BYTES_PER_S * bandwidth))], "rendezvous": [(0, 65536.0, 0.0)]}
    inside = {"send": [(0, 5e-7, 1 / 4e9)], "rendezvous": [(0, 65536.0, 0.0)]}
    return _core.Machine({"same-socket": inside, "other-node": wire}, {"card": {"bytes_per_s": BYTES_PER_S * bandwidth}})


def recording(folder: Path, name: str, files: Sequence[Path], flags: Sequence[str] = ()) -> Path:
    """Compile a program that lists its calls."""
    compiled(HERE / "record.c", folder / "record.o", "smpicc", "-c")
    compiler = "smpicxx" if files[0].suffix in (".cc", ".cpp") else "smpicc"
    linked = (*map(str, files[1:]), str(folder / "record.o"), "-Wl,-Bsymbolic", "-lm")
    return compiled(files[0], folder / name, compiler, *flags, *linked)


def built(asked: argparse.Namespace, folder: Path) -> Iterator[Program]:
    """Compile the programs whose sources are there."""

    def linked(name: str, files: Sequence[Path], flags: Sequence[str] = ()) -> Program:
        return Program(name, recording(folder, name, files, flags))

    for name in ("comd", "lulesh", "hpccg", "miniamr", "prk"):
        source = sources.folder_of(name, asked, folder)
        if source is None:
            continue
        if name == "comd":
            yield linked(name, *sources.comd(source, folder))
        elif name == "lulesh":
            yield linked(name, sorted(source.glob("lulesh*.cc")), ["-DUSE_MPI=1"])
        elif name == "hpccg":
            yield linked(name, sorted(source.glob("*.cpp")), ["-DUSING_MPI"])
        elif name == "miniamr":
            yield linked(name, sorted((source / "ref").glob("*.c")), [])
        else:
            common = [source / "common" / "MPI_bail_out.c", source / "common" / "wtime.c"]
            flags = ["-DRADIUS=2", "-DDOUBLE=1", "-DSTAR=1", "-DLOOPGEN=0", '-DPRKVERSION="1"', f"-I{source / 'include'}"]
            for of, file in (("stencil", "Stencil/stencil"), ("transpose", "Transpose/transpose"), ("p2p", "Synch_p2p/p2p")):
                yield linked(f"prk-{of}", [source / "MPI1" / f"{file}.c", *common], [*flags, f"-I{source / 'common'}"])
    yield linked("pencils", [HERE / "programs.c"], ["-DPROGRAM=pencils"])
    yield linked("halo", [HERE / "programs.c"], ["-DPROGRAM=halo"])
    yield linked("master", [HERE / "programs.c"], ["-DPROGRAM=master"])


def recorded(
    simgrid: SimGrid, program: Program, ranks: int, each: int, factors: tuple[float, float], compute_ns: int
) -> Record:
    """Return what SMPI records of a program on a network."""
    words = program.words(ranks)
    assert words is not None
    placement = _core.Placement.blocked(ranks, each)
    platform = Platform("bench", parse_network("crossbar", None, placement.nodes), 1, machine_of(*factors))
    hosts = [platform.host(*placement.location(rank)[:2]) for rank in range(ranks)]
    # SMPI's allreduce in two levels never ends on other numbers of nodes than powers of two.
    two_levels = each > 1 and placement.nodes & (placement.nodes - 1) == 0
    names = _COLLECTIVES | {"allreduce": "smp_rdb" if two_levels else "rdb"}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "platform").write_text(platform.text())
        (folder / "hosts").write_text("".join(f"{host}\n" for host in hosts))
        own = [word for word in _OPTIONS if word not in ("-no-privatize", "--cfg=contexts/stack-size:256")]
        command = [
            str(simgrid.smpirun), *own, *(f"--cfg=smpi/{kind}:{name}" for kind, name in names.items()),
            "--cfg=smpi/send-is-detached-thresh:65536", "--cfg=smpi/async-small-thresh:65536",
            "-platform", str(simgrid.platforms), "-hostfile", str(folder / "hosts"),
            "-np", str(ranks), str(program.binary), *words,
        ]  # fmt: skip
        environment = os.environ | {
            "RANKWISE_PLATFORM": str(folder / "platform"), "RECORD_DIR": scratch, "RECORD_COMPUTE_NS": str(compute_ns),
        }  # fmt: skip
        done = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, text=True, timeout=300, check=False)
        files = [folder / str(rank) for rank in range(ranks)]
        if not all(file.is_file() for file in files):
            raise RuntimeError(f"{program.name} at {ranks} ranks: {(done.stderr or done.stdout)[-600:]}")
        events = {rank: np.fromfile(file, EVENT) for rank, file in enumerate(files)}
    return record_of(events, [placement.node(rank) for rank in range(ranks)])


def record_of(events: dict[int, np.ndarray], nodes: Sequence[int]) -> Record:
    """Return a record of events alone; a communicator's number is its place among all."""
    ranks, hosts = len(events), max(nodes) + 1
    numbers = sorted({0, *(int(number) for of_rank in events.values() for number in np.unique(of_rank["comm"]))})
    members = {number: [rank for rank in range(ranks) if (events[rank]["comm"] == number).any()] for number in numbers}
    for of_rank in events.values():
        of_rank["comm"] = np.searchsorted(numbers, of_rank["comm"])
    header = {
        "calls": [f"MPI_{name}" for name in CALLS], "mpi": LIBRARY, "cores_of_host": [ranks] * hosts,
        "communicators": [{"size": len(members[number]) if number else ranks, "ranks": members[number] if number else None}
                          for number in numbers],
    }  # fmt: skip
    return record_of_events(events, header, [f"n{node}" for node in range(hosts)], nodes)


def main() -> int:
    parser = options(__doc__)
    sources.add_arguments(parser, ("comd", "lulesh", "hpccg", "miniamr", "prk"))
    parser.add_argument("--ranks", default="16,27,32")
    parser.add_argument("--only", default="", help="programs, separated by commas")
    parser.add_argument("--compute-us", default="50,500", help="what a rank computes between calls")
    asked = parser.parse_args()
    simgrid, table, errors, refused = find_simgrid(), Table(), {}, []
    with tempfile.TemporaryDirectory() as name:
        for program in built(asked, Path(name)):
            if asked.only and program.name not in asked.only.split(","):
                continue
            for ranks in map(int, asked.ranks.split(",")):
                if ranks == 27 and program.name != "lulesh":
                    continue
                if program.words(ranks) is None:
                    continue
                for compute_us in map(float, asked.compute_us.split(",")):
                    what = f"{program.name}, {ranks} ranks, {compute_us:g} us"
                    try:
                        found = compared(simgrid, program, ranks, round(1000 * compute_us))
                    except RuntimeError as error:
                        refused.append(what)
                        print(f"{what}: {error}", flush=True)
                        continue
                    if found is None:
                        refused.append(what)
                        print(f"{what}: no step found", flush=True)
                        continue
                    errors[what] = found
                    print(f"{what}: " + ", ".join(f"{100 * error:+.2f}" for error in found), flush=True)
    ordered = [error for what, found in errors.items() if not what.startswith("master") for error in found]
    table.title(f"{len(ordered)} answers of programs that receive from named sources; {len(refused)} without a step")
    table.errors(ordered, (50, 1), (95, 3), (100, None))
    ratios = 1 / (1 + np.array(ordered))
    table.row("simulated / predicted, 2.5th percentile", float(np.percentile(ratios, 2.5)), unit="")
    table.row("simulated / predicted, 97.5th percentile", float(np.percentile(ratios, 97.5)), unit="")
    return 1 if table.missed else 0


def compared(simgrid: SimGrid, program: Program, ranks: int, compute_ns: int) -> list[float] | None:
    """Return predicted / simulated - 1 on each network, with 1 and 4 ranks a node; None where no step is found."""
    record = recorded(simgrid, program, ranks, 1, (1.0, 1.0), compute_ns)
    steps = common_steps(record.events)
    if steps is None:
        return None
    step = phased(record.events, steps, record)
    errors = []
    for factors in NETWORKS.values():
        for each in (1, 4 if ranks % 4 == 0 else 3):
            there = common_steps(recorded(simgrid, program, ranks, each, factors, compute_ns).events)
            if there is None or there.levels.step != steps.levels.step:
                return None
            placed = PlacedStep(step, _core.Placement.blocked(ranks, each))
            machine = machine_of(1.0, 1.0).with_network(*factors).alone()
            errors.append(placed.time_s(machine) / there.time_s - 1)
    return errors


if __name__ == "__main__":
    sys.exit(main())
