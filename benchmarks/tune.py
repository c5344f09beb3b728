"""What the settings of tune lose against trying every algorithm, on nodes in namespaces with shaped links (root needed).

    python benchmarks/tune.py [--rate 20] [--nodes 4,7] [--each 1] [--kinds bcast,allgather] [--bytes 65536,1048576]
        [--library openmpi-4.1]

Of each collective, size and number of nodes the default is timed, what tune chooses (nothing: the default), and every
algorithm and segment that the library can be set to, as an unmodified program sees them. Of the machine the links are stated
and the NIC is measured on these nodes with the library for a minute, in streams and rings (for Open MPI 5 with Open MPI 4.1):
ranks of all nodes share a few processors here, and of a profile that is called poor tune makes no settings. Regret: the
chosen one's time against the shortest. A cell slower than the default is timed again. The slower the links, the less
processors matter; below some 100 kB they tell nothing, for their shapers let a frame of each message pass at once. Open MPI
4.1 is the system's, Open MPI 5 that of "make mpis", MPICH the one at hand. Exit 1 where the mean regret is above 5 %, or a
cell stays slower than the default.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from harness import linked_with, options, require_nodes

from nodes import Nodes
from rankwise.collectives.selection import Call, library_to_set
from rankwise.collectives.settable import Setting, settable
from rankwise.collectives.settings import write_settings
from rankwise.collectives.written import Library, Rule, written
from rankwise.launch.mpi import find_mpi
from rankwise.machine.profile import Profile, open_profile
from rankwise.tune.calls import Called
from rankwise.tune.protocol import VARIABLES, chooser_of, words_of

_PAYLOAD = 8948 / 9014
_POOR = 6  # what measure exits with where a profile is poor: two cores have the ranks of all nodes
_SLOWER = 1.02  # than the default, which is noise
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int which = atoi(argv[1]), bytes = atoi(argv[2]), ranks, rank, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char *a = calloc(ranks, bytes), *b = calloc(ranks, bytes);
  int* counts = malloc(ranks * sizeof(int));
  for (i = 0; i < ranks; ++i) counts[i] = bytes / 4 / ranks + (i < bytes / 4 % ranks);
  double best = 1e9, longest;
  for (i = 0; i < 3; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    if (which == 0) MPI_Bcast(a, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (which == 1) MPI_Reduce(a, b, bytes / 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (which == 2) MPI_Allreduce(a, b, bytes / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (which == 3) MPI_Allgather(a, bytes, MPI_BYTE, b, bytes, MPI_BYTE, MPI_COMM_WORLD);
    if (which == 4) MPI_Alltoall(a, bytes, MPI_BYTE, b, bytes, MPI_BYTE, MPI_COMM_WORLD);
    if (which == 5) MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    double took = MPI_Wtime() - begun;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (longest < best) best = longest;
  }
  if (rank == 0) printf("%.9f\\n", best);
  MPI_Finalize();
  return 0;
}
"""
KINDS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter")


def measured(up: Nodes, library: Library, folder: Path, rate_mbit: float) -> Profile:
    """Return the machine: links as they are shaped, the NIC as measured on these nodes, alone and in rings."""
    for link, alpha_s, bytes_per_s in (("other-node", 1.5e-4, _PAYLOAD * rate_mbit * 1e6 / 8), ("same-socket", 3e-6, 2e9)):
        lines = [f"{1 << k},{alpha_s + (1 << k) / bytes_per_s}" for k in range(25)]
        (folder / "link.csv").write_text("\n".join(["size_bytes,time_s", *lines, ""]))
        more = ["--add"] if link == "same-socket" else []
        words = ["rankwise", "profile", "import", "link.csv", "--link", link, *more, "-o", "stated.json"]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    for name in ("machine.json", "machine.samples.jsonl"):
        (folder / name).unlink(missing_ok=True)
    words = [sys.executable, "-m", "rankwise", "measure", "--hosts", ",".join(up.hosts), "--seconds", "60",
             "-o", "machine.json"]  # fmt: skip
    environment = up.environment()
    if library.name.startswith("openmpi"):
        environment |= up.measured_with_open_mpi()
    done = subprocess.run(up.command(up.hosts[0], words), cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, _POOR):
        raise SystemExit(f"measure ended with {done.returncode}")
    stated, card = open_profile(folder / "stated.json"), open_profile(folder / "machine.json").shared.card
    return replace(stated, shared=replace(stated.shared, card=card))


class Runs:
    """An unmodified program on nodes, with settings or without."""

    def __init__(self, up: Nodes, library: Library, launcher: list[str], folder: Path) -> None:
        self._up, self._library, self._launcher, self._folder = up, library, launcher, folder

    def time_s(self, call: Call, setting: Setting | None, limited: bool = False) -> float:
        variables = {} if setting is None else self._variables(call, setting)
        words = [*self._launcher, "-n", str(call.ranks), "./app", str(KINDS.index(call.kind)), str(call.size_bytes)]
        done = subprocess.run(
            self._up.command(self._up.hosts[0], words), cwd=self._folder,
            env={**self._up.environment(), **variables, **(VARIABLES if limited else {})},
            capture_output=True, text=True, timeout=600, check=True,
        )  # fmt: skip
        return float(done.stdout.split()[-1])

    def _variables(self, call: Call, setting: Setting) -> Mapping[str, str]:
        rule = Rule(
            call.kind, call.ranks, call.size_bytes, call.size_bytes, setting, call.holds("several nodes of several ranks")
        )
        made_for = {"library": self._library.name, "mpi": "", "machine": "", "nodes": call.nodes[0], "ranks": call.ranks}
        place = self._folder / "settings"
        shutil.rmtree(place, ignore_errors=True)
        return write_settings(place, written(self._library, [rule]), made_for).environment(place)


def libraries() -> Iterator[tuple[Library, list[str], str]]:
    """Yield the libraries at hand, what compiles for them, and their launchers."""
    mpi = find_mpi()
    name = library_to_set(mpi.library_version)[0]
    assert name is not None
    yield Library.at(name, mpi.library_path), [str(mpi.launcher_path.parent / "mpicc"), "app.c"], str(mpi.launcher_path)
    compiler, launcher = (shutil.which(f"{word}.openmpi") for word in ("mpicc", "mpirun"))
    if compiler is not None and launcher is not None:
        yield Library("openmpi-4.1"), [compiler, "app.c"], launcher
        made = Path(__file__).parents[1] / "build" / "mpis" / "openmpi5"
        if made.exists():
            yield Library("openmpi-5.0"), ["gcc", "app.c", *linked_with(made)], f"{made}/bin/mpirun"


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rate", type=float, default=20, help="of the links, in Mbit/s")
    parser.add_argument("--nodes", default="4,7")
    parser.add_argument("--library", default="", help="this one alone")
    parser.add_argument("--each", type=int, default=1, help="ranks on each node")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--bytes", default="262144,1048576")
    given = parser.parse_args()
    require_nodes()
    regrets, slower = [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "app.c").write_text(PROGRAM)
        for library, compiler, launcher in libraries():
            if given.library not in ("", library.name):
                continue
            subprocess.run([*compiler, "-o", "app"], cwd=folder, check=True)
            for count in map(int, given.nodes.split(",")):
                with Nodes(f"{given.rate:g}mbit", [f"n{i}" for i in range(1, count + 1)]) as up:
                    hydra = [launcher, "-hosts", ",".join(up.hosts), "-ppn", str(given.each)]
                    words = hydra if library.name.startswith("mpich") else up.open_mpi(launcher, given.each)
                    nodes = tuple(i // given.each if words is hydra else i % count for i in range(count * given.each))
                    chooser = chooser_of(library, measured(up, library, folder, given.rate))
                    runs = Runs(up, library, words, folder)
                    for kind in given.kinds.split(","):
                        for size in map(int, given.bytes.split(",")):
                            call = Call(kind, len(nodes), size, nodes)
                            chosen = chooser.choose([Called(call, 1.0)])[0]
                            found = {None: runs.time_s(call, None)}
                            found |= {one: runs.time_s(call, one) for one in settable(library.name, call)
                                      if library.knows(kind, one)}  # fmt: skip
                            default_s = found[None]
                            chosen_s = runs.time_s(call, chosen.setting, True) if chosen.limited else found[chosen.setting]
                            if chosen_s > _SLOWER * default_s:  # again, with fresh samples
                                default_s, chosen_s = runs.time_s(call, None), runs.time_s(call, chosen.setting, chosen.limited)
                                slower += chosen_s > _SLOWER * default_s
                            best = min(found, key=found.__getitem__)
                            regrets.append(chosen_s / min(found[best], chosen_s) - 1)
                            to = "default" if chosen.is_left else words_of(chosen)
                            print(f"{library.name} {count}x{given.each} {kind} {size} B: default {default_s:.5f} s, {to} "
                                  f"{chosen_s:.5f} s (predicted {chosen.new_s:.5f}), best "
                                  f"{'default' if best is None else best.words} {found[best]:.5f} s", flush=True)  # fmt: skip
    mean, high = statistics.fmean(regrets), float(np.quantile(regrets, 0.95))
    print(f"{len(regrets)} cells: regret {mean:.1%} in the mean, {high:.1%} at 95 %; {slower} slower than the default")
    return int(mean > 0.05 or slower > 0)


if __name__ == "__main__":
    raise SystemExit(main())
