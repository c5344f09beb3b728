"""Programs observed on four nodes with slow links, placed as advised, and run again: what was promised, what was measured.

    python benchmarks/programs.py --clone            # CoMD, miniAMR and miniGhost by git, LAMMPS as installed (root needed)
    python benchmarks/programs.py --comd FOLDER --miniamr FOLDER --minighost FOLDER   # from sources that are here (or URLs)
    python benchmarks/programs.py --draw 12 --seed 1                 # programs, patterns and placements drawn at random
    python benchmarks/programs.py --program "openmpi 8 /path/xhpcg --nx=24 --rt=1"     # any other: MPI, ranks, command

Nodes are namespaces whose links pass 10 Mbit/s, so that the wire decides where messages are not few and small; --measured
measures a profile of them first. Bytes: what crosses between nodes, by the record of the first run against the counters of the
cards, as the share that the new placement has of the old one. Seconds: a step of the new placement, predicted from the first
run with its interval, against the second run's steps of as many bytes; and how many times as fast it becomes, as 'advise'
promises it: what the first run's steps took less what the model gains, against both runs. Exit 1 where a bar is missed: bytes
± 2 %; of drawn cases 11 of 12 within their interval, half within 5 %.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sources
from harness import OnNodes, compiled, load, nodes_up, options

from melt import melt
from rankwise.advise.evidence import Evidence, evidence_of
from rankwise.engines.model import Model
from rankwise.engines.step import program_pricer
from rankwise.launch.command import read_command
from rankwise.launch.mpi import find_mpi
from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile, open_profile
from rankwise.machine.rank_map import is_read_back
from rankwise.machine.shared import Resource, Shared
from rankwise.mapping import How
from rankwise.mapping.traffic import cyclic, place_traffic
from rankwise.models.curve import curve_from_table
from rankwise.observe.record import read_record
from rankwise.units import format_time, format_volume
from rankwise.workloads.base import Program

_PROGRAMS = ("comd", "miniamr", "minighost")
# miniGhost's makefile for compilers of today: lines of more than 132 columns, and a function that MPI 3 has removed.
_GHOST = {
    "MPI_LOC": ".", "OPT_F": "-O2 -w -ffree-line-length-none -fallow-argument-mismatch", "LDFLAGS": "",
    "CFLAGS": "-w -std=gnu89 -D_MG_MPI -D_MG_REAL8 -D_MG_INT4 -Df2c_ -DOMPI_OMIT_MPI1_COMPAT_DECLS=1 "
              "-DMPI_Errhandler_set=MPI_Comm_set_errhandler",
}  # fmt: skip
# Of what crosses in frames of 1500 B, every second one acknowledged against the stream of others.
_PAYLOAD = 1448 / (1514 + 66 / 2)
# What a drawn program does: of each step the messages of its phases, in which all are in flight at once.
_DRAWN = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
typedef struct { int phase, from, to, bytes; } Message;
int main(int argc, char** argv) {
  int rank, count, phases, reduce, steps = atoi(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* file = fopen(argv[1], "r");
  if (fscanf(file, "%d %d %d", &count, &phases, &reduce) != 3) return 1;
  Message* all = malloc(count * sizeof *all);
  for (int i = 0; i < count; i++)
    if (fscanf(file, "%d %d %d %d", &all[i].phase, &all[i].from, &all[i].to, &all[i].bytes) != 4) return 1;
  MPI_Request* requests = malloc(count * sizeof *requests);
  char *bytes = calloc(1, 1 << 20), **into = malloc(count * sizeof *into);
  for (int i = 0; i < count; i++) into[i] = calloc(1, all[i].bytes);
  double value = 1, sum;
  for (int step = 0; step < steps; step++) {
    for (int phase = 0; phase < phases; phase++) {
      int n = 0;
      for (int i = 0; i < count; i++)
        if (all[i].phase == phase && all[i].to == rank)
          MPI_Irecv(into[i], all[i].bytes, MPI_CHAR, all[i].from, phase, MPI_COMM_WORLD, &requests[n++]);
      for (int i = 0; i < count; i++)
        if (all[i].phase == phase && all[i].from == rank)
          MPI_Isend(bytes, all[i].bytes, MPI_CHAR, all[i].to, phase, MPI_COMM_WORLD, &requests[n++]);
      MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
    if (reduce) MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


@dataclass
class Case:
    """A program of an MPI, and the nodes of its ranks in the first and the second run (None: as advised)."""

    name: str
    family: str
    program: list[str]
    before: Any
    after: Any = None


@dataclass
class Result:
    """Of the second run's placement: shares of the first one's bytes, and seconds of a step."""

    promised_share: float
    counted_share: float
    predicted_s: tuple[float, float, float]
    measured_s: float
    bytes: tuple[int, int]
    computing_s: float  # a rank's, in the mean, of the prediction
    first_s: float  # a step of the first run
    gain_s: float  # promised

    @property
    def error(self) -> float:
        return self.predicted_s[0] / self.measured_s - 1

    @property
    def speedups(self) -> tuple[float, float]:
        """How many times as fast a step becomes: promised and measured."""
        return self.first_s / (self.first_s - self.gain_s), self.first_s / self.measured_s

    @property
    def holds(self) -> bool:
        return self.predicted_s[1] <= self.measured_s <= self.predicted_s[2]


class Bench:
    """The nodes, a folder and the profile of the links."""

    def __init__(self, on: OnNodes) -> None:
        self.on, self.up, self.folder = on, on.up, on.folder
        self.launchers = {"mpich": str(find_mpi().launcher_path), "openmpi": shutil.which("mpirun.openmpi") or ""}

    def measure(self) -> None:
        pair, sizes = ",".join(self.up.hosts[:2]), "0,512,1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB,128KiB"
        self.on.rankwise("measure", "--hosts", pair, "--sizes", sizes, "--seconds", "40", "-o", "machine.json")
        self.profile = open_profile(self.folder / "machine.json")

    def describe(self, rate_mbit: int) -> None:
        """Take the links as the kernel shapes them, less the headers of frames."""
        rate = _PAYLOAD * rate_mbit * 1e6 / 8

        def link(alpha_s: float, beta_s: float) -> Link:
            points = [Point(size, *[alpha_s + beta_s * size] * 3, 9) for size in (0, 1000, 1_000_000)]
            return Link(curve_from_table(points, "median"))

        links = {"same-socket": link(2e-5, 5e-10), "other-node": link(2e-4, 1 / rate)}
        self.profile = Profile({}, links, "", {}, shared=Shared(card=Resource(rate)))

    def compiled(self, family: str, files: Sequence[Path], *flags: str) -> str:
        program = self.folder / f"{files[0].stem}-{family}"
        if not program.exists():
            compiler = Path(self.launchers["mpich"]).with_name("mpicc") if family == "mpich" else "mpicc.openmpi"
            compiled(files[0], program, compiler, "-std=gnu99", *flags, *map(str, files[1:]), "-lm")
        return str(program)

    def ghost(self, sources: Path) -> str:
        """Build miniGhost by its own makefile in a folder of ours, for Open MPI: pip's MPICH has no Fortran."""
        folder = self.folder / "ghost"
        shutil.copytree(sources / "ref", folder)
        settings = _GHOST | {"FC": "mpifort.openmpi", "LD": "mpifort.openmpi", "CC": "mpicc.openmpi"}
        words = ["make", "-s", "-f", "makefile.mpi.gnu", *(f"{name}={value}" for name, value in settings.items())]
        subprocess.run([*words, "miniGhost.x"], cwd=folder, check=True)
        return str(folder / "miniGhost.x")

    def run(self, case: Case, node_of_rank: Any) -> tuple[Evidence, int]:
        """Run a case on a placement; return what was seen and the bytes that left all nodes."""
        words = [self.launchers[case.family], "-n", str(len(node_of_rank)), *case.program]
        if case.family == "openmpi":
            words[1:1] = self.up.open_mpi("", 1)[1:-2]
        placed = read_command(words).on([self.up.hosts[node] for node in node_of_rank])
        before = self._crossed()
        self.on.rankwise("observe", "-o", "app.comm", "--", *placed)
        crossed = self._crossed() - before
        return evidence_of(read_record(self.folder / "app.comm"), "app.comm"), crossed

    def _crossed(self) -> int:
        return sum(self.up.crossed_bytes(host) for host in self.up.hosts) // 2  # counted where sent and where received

    def result(self, case: Case) -> Result | None:
        """Run a case twice; None where no step was found."""
        first, sent = self.run(case, case.before)
        if first.schedule is None or first.steps is None:
            return None
        price = program_pricer(Model(self.profile), Program(first.schedule))
        after = case.after
        if after is None:
            whole = place_traffic(first.traffic, np.bincount(case.before).tolist(), how=How(price=price))
            after = whole.best.node_of_cell
        step = price(first.traffic, after, {})
        second, sent_then = self.run(case, after)
        if second.schedule is None or second.steps is None:
            return None
        first_s, measured_s = (_steps_alike_s(first, of) for of in (first, second))
        now, then = (self._bytes(first, nodes) for nodes in (case.before, after))
        computing_s = float(first.schedule.compute_s.sum(axis=0).mean())
        predicted_s = (step.time_s, step.low_s, step.high_s)
        gain_s = price(first.traffic, case.before, {}).time_s - step.time_s
        return Result(then / now, sent_then / sent, predicted_s, measured_s, (now, then), computing_s, first_s, gain_s)

    def _bytes(self, evidence: Evidence, node_of_rank: Any) -> int:
        record = evidence.record
        source = np.repeat(np.arange(record.ranks), np.diff(record.pointer))
        cut = node_of_rank[source] != node_of_rank[record.peer]
        return int(record.bytes[cut].sum())


def _steps_alike_s(first: Evidence, of: Evidence) -> float:
    """Return the mean time of a run's steps in which rank 0 moves as many bytes, within 2 %, as in the first run's step that is
    predicted; where there are none, of all, as if they moved as many."""
    assert first.steps is not None and of.steps is not None
    wanted = first.steps.moved_bytes(first.events)[first.steps.representative, 0]
    moved = of.steps.moved_bytes(of.events)[:, 0]
    times_s, alike = of.steps.durations_s, np.abs(moved - wanted) <= 0.02 * wanted
    return float(times_s[alike].mean() if alike.any() else times_s.mean() * wanted / moved.mean())


def drawn(bench: Bench, seed: int, number: int) -> Iterator[Case]:
    """Draw programs: who sends how much to whom in which phase, an MPI, and two placements."""
    rng = np.random.default_rng(seed)
    source = bench.folder / "drawn.c"
    source.write_text(_DRAWN)
    families = [family for family, launcher in bench.launchers.items() if launcher]
    for i in range(number):
        ranks = int(rng.choice((8, 12, 16)))
        kind, messages = _pattern(rng, ranks)
        fields = int(rng.integers(1, 9))
        messages = sorted(messages * fields)
        phases = 1 + max(phase for phase, *_ in messages)
        reduces = int(rng.random() < 1 / 3)
        path = bench.folder / f"drawn{i}.txt"
        lines = "".join(f"{phase} {a} {b} {size}\n" for phase, a, b, size in messages)
        path.write_text(f"{len(messages)} {phases} {reduces}\n{lines}")
        family = str(rng.choice(families))
        before, after = (_placement(rng, ranks, family) for _ in range(2))
        words = [bench.compiled(family, [source]), str(path), "12"]
        name = f"{kind}, {ranks} ranks, {phases} phases, {fields} fields{', reduce' * reduces}, {family}"
        yield Case(name, family, words, before, after)


def _placement(rng: np.random.Generator, ranks: int, family: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    while True:
        nodes = rng.permutation(np.arange(ranks) % 4)
        if family != "mpich" or is_read_back(nodes.tolist()):  # MPICH 5.0 hangs with others
            return nodes


def _pattern(rng: np.random.Generator, ranks: int) -> tuple[str, list[tuple[int, int, int, int]]]:
    kind = str(rng.choice(("grid", "grid by axis", "graph", "teams")))
    size = int(5_000 * 8 ** rng.random())
    if kind == "teams":
        order, team = rng.permutation(ranks), ranks // int(rng.choice((2, 4)))
        groups = [order[i : i + team] for i in range(0, ranks, team)]
        return kind, [(0, int(a), int(b), size) for group in groups for a in group for b in group if a != b]
    if kind == "graph":
        pairs = {(int(a), int(b)) for a in range(ranks) for b in rng.choice(ranks, int(rng.integers(2, 5)), replace=False)}
        return kind, [(0, a, b, int(size * rng.uniform(0.3, 1.5))) for a, b in sorted(pairs) if a != b]
    dims = {8: ((8,), (4, 2), (2, 2, 2)), 12: ((12,), (4, 3), (3, 2, 2)), 16: ((16,), (4, 4), (4, 2, 2))}[ranks]
    shape = dims[int(rng.integers(3))]
    periodic = bool(rng.random() < 0.5)
    messages = []
    for axis, extent in enumerate(shape):
        weight = int(size * rng.uniform(0.3, 1.5))
        for way in (1, -1):
            for rank in range(ranks):
                place = list(np.unravel_index(rank, shape))
                place[axis] += way
                if not periodic and not 0 <= place[axis] < extent:
                    continue
                to = int(np.ravel_multi_index(place, shape, mode="wrap"))
                phase = 2 * axis + (way < 0) if kind == "grid by axis" else 0
                if to != rank:
                    messages.append((phase, rank, to, weight))
    messages.sort()
    return f"{kind} {'x'.join(map(str, shape))}{' periodic' * periodic}", messages


def programs(bench: Bench, given: argparse.Namespace) -> Iterator[Case]:
    """Yield the programs that are there, dealt out to the nodes one by one, under each MPI."""
    folders = {name: sources.folder_of(name, given, bench.folder) for name in _PROGRAMS}
    before = cyclic([2] * 4)
    for text in given.program:
        family, ranks, *words = shlex.split(text)
        yield Case(f"{Path(words[0]).name}, {ranks} ranks, {family}", family, words, cyclic([int(ranks) // 4] * 4))
    for family in ("mpich", "openmpi") if not given.program else ():
        if not bench.launchers[family]:
            continue
        if folders["comd"] is not None:
            files, flags = sources.comd(folders["comd"], bench.folder)
            program = bench.compiled(family, files, *flags)
            words_of = "-i 2 -j 2 -k 2 -x 10 -y 14 -z 18 -N 20 -n 10".split()
            yield Case(f"CoMD, {family}", family, [program, *words_of], before)
        if folders["miniamr"] is not None:
            program = bench.compiled(family, sorted((folders["miniamr"] / "ref").glob("*.c")))
            words_of = (
                "--npx 2 --npy 2 --npz 2 --init_x 2 --nx 10 --ny 10 --nz 10 --num_vars 40 --num_tsteps 3 --stages_per_ts 6 "
                "--refine_freq 100 --num_refine 1 --checksum_freq 6 --max_blocks 600"
            ).split()
            yield Case(f"miniAMR, {family}", family, [program, *words_of], before)
        if folders["minighost"] is not None and family == "openmpi":
            words_of = (
                "--npx 2 --npy 2 --npz 2 --nx 24 --ny 32 --nz 40 --num_vars 4 --num_tsteps 16 --comm_method 10 --stencil 23 "
                "--percent_sum 0"
            ).split()
            yield Case(f"miniGhost, {family}", family, [bench.ghost(folders["minighost"]), *words_of], before)
    if not given.program and bench.launchers["openmpi"] and (lammps := shutil.which("lmp")) is not None:  # Debian's
        (bench.folder / "melt.in").write_text(melt("16 14 12"))
        yield Case("LAMMPS, openmpi", "openmpi", [lammps, "-in", "melt.in", "-log", "none", "-screen", "none"], before)


def main() -> int:
    parser = options(__doc__)
    sources.add_arguments(parser, _PROGRAMS)
    parser.add_argument("--program", action="append", default=[], help="MPI (mpich, openmpi), ranks (a multiple of 4), command")
    parser.add_argument("--draw", type=int, default=0, help="so many cases instead of programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=10, help="of the links, in Mbit/s")
    parser.add_argument("--measured", action="store_true", help="measure the links; else they are as the kernel shapes them")
    parser.add_argument("--sysctl", help="a setting of the nodes: net.ipv4.tcp_slow_start_after_idle=0")
    given = parser.parse_args()
    results, lost = [], 0
    with nodes_up(f"{given.rate}mbit", frame_bytes=1500) as on:
        print(f"{load()}; links of {given.rate} Mbit/s", flush=True)
        for host in on.up.hosts if given.sysctl else ():
            subprocess.run(on.up.command(host, ["sysctl", "-qw", given.sysctl]), check=True)
        bench = Bench(on)
        bench.measure() if given.measured else bench.describe(given.rate)
        for case in drawn(bench, given.seed, given.draw) if given.draw else programs(bench, given):
            result = bench.result(case)
            if result is None:
                lost += 1
                print(f"{case.name:<64} no step was found", flush=True)
                continue
            results.append(result)
            low, high = (format_time(end) for end in result.predicted_s[1:])
            promised, became = result.speedups
            print(
                f"{case.name:<64} {format_volume(result.bytes[0]):>8} -> {format_volume(result.bytes[1]):>8}  "
                f"share {result.promised_share:6.3f} promised {result.counted_share:6.3f} counted  "
                f"step {format_time(result.predicted_s[0]):>8} ({low} to {high}) {format_time(result.measured_s):>8} "
                f"measured ({format_time(result.first_s)} before), {format_time(result.computing_s)} computing "
                f"{result.error:+6.1%}{'' if result.holds else '  outside'}; {promised:.2f} times as fast promised, "
                f"{became:.2f} measured {promised / became - 1:+.1%}",
                flush=True,
            )
    if not results:
        sys.exit("nothing to run: give --clone, --comd, --miniamr or --draw")
    held, median = sum(result.holds for result in results), float(np.median([abs(result.error) for result in results]))
    far = max(abs(result.counted_share - result.promised_share) for result in results)
    off = [abs(promised / became - 1) for promised, became in (result.speedups for result in results)]
    print(
        f"{held} of {len(results) + lost} steps within their interval, median error {median:.1%}; shares of bytes differ by "
        f"at most {far:.1%}; speed-ups within 10 %: {sum(one <= 0.1 for one in off)}, median error {np.median(off):.1%}"
    )
    return int(held < (len(results) + lost) * 11 / 12 or median > 0.05) if given.draw else int(far > 0.02 or lost > 0)


if __name__ == "__main__":
    sys.exit(main())
