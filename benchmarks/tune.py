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
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from harness import COLLECTIVE, OnNodes, compiled, linked_with, nodes_up, options

from rankwise.collectives.selection import Call, Setting, library_to_set, settable
from rankwise.collectives.settings import Library, Rule, write_settings, written
from rankwise.launch.mpi import find_mpi
from rankwise.machine.profile import Profile, open_profile
from rankwise.tune.calls import Called
from rankwise.tune.protocol import VARIABLES, chooser_of, words_of

_PAYLOAD = 8948 / 9014
_SLOWER = 1.02  # than the default, which is noise
KINDS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter")


def measured(on: OnNodes, library: Library, rate_mbit: float) -> Profile:
    """Return the machine: links as they are shaped, the NIC as measured on these nodes, alone and in rings."""
    for link, alpha_s, bytes_per_s in (("other-node", 1.5e-4, _PAYLOAD * rate_mbit * 1e6 / 8), ("same-socket", 3e-6, 2e9)):
        lines = [f"{1 << k},{alpha_s + (1 << k) / bytes_per_s}" for k in range(25)]
        (on.folder / "link.csv").write_text("\n".join(["size_bytes,time_s", *lines, ""]))
        more = ["--add"] if link == "same-socket" else []
        on.rankwise("profile", "import", "link.csv", "--link", link, *more, "-o", "stated.json")
    on.more = on.up.measured_with_open_mpi() if library.name.startswith("openmpi") else {}
    on.rankwise("measure", "--hosts", on.hosts, "--seconds", "60", "-o", "machine.json")  # often poor: all share two cores
    stated, card = open_profile(on.folder / "stated.json"), open_profile(on.folder / "machine.json").shared.card
    return replace(stated, shared=replace(stated.shared, card=card))


class Runs:
    """An unmodified program on nodes, with settings or without."""

    def __init__(self, on: OnNodes, library: Library, launcher: list[str]) -> None:
        self._on, self._library, self._launcher = on, library, launcher

    def time_s(self, call: Call, setting: Setting | None, limited: bool = False) -> float:
        variables = {} if setting is None else self._variables(call, setting)
        self._on.more = {**variables, **(VARIABLES if limited else {})}
        said = self._on.run(*self._launcher, "-n", str(call.ranks), "./app", call.kind, str(call.size_bytes), "3", "timed")
        return float(said.split()[-1])

    def _variables(self, call: Call, setting: Setting) -> Mapping[str, str]:
        rule = Rule(
            call.kind, call.ranks, call.size_bytes, call.size_bytes, setting, call.holds("several nodes of several ranks")
        )
        made_for = {"library": self._library.name, "mpi": "", "machine": "", "nodes": call.nodes[0], "ranks": call.ranks}
        place = self._on.folder / "settings"
        shutil.rmtree(place, ignore_errors=True)
        return write_settings(place, written(self._library, [rule]), made_for).environment(place)


def libraries() -> Iterator[tuple[Library, list[str], str]]:
    """Yield the libraries at hand, what compiles for them, and their launchers."""
    mpi = find_mpi()
    name = library_to_set(mpi.library_version)[0]
    assert name is not None
    yield Library.at(name, mpi.library_path), [str(mpi.launcher_path.parent / "mpicc")], str(mpi.launcher_path)
    compiler, launcher = (shutil.which(f"{word}.openmpi") for word in ("mpicc", "mpirun"))
    if compiler is not None and launcher is not None:
        yield Library("openmpi-4.1"), [compiler], launcher
        made = Path(__file__).parents[1] / "build" / "mpis" / "openmpi5"
        if made.exists():
            yield Library("openmpi-5.0"), ["gcc", *linked_with(made)], f"{made}/bin/mpirun"


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rate", type=float, default=20, help="of the links, in Mbit/s")
    parser.add_argument("--nodes", default="4,7")
    parser.add_argument("--library", default="", help="this one alone")
    parser.add_argument("--each", type=int, default=1, help="ranks on each node")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--bytes", default="262144,1048576")
    given = parser.parse_args()
    regrets, slower = [], 0
    for library, compiler, launcher in libraries():
        if given.library not in ("", library.name):
            continue
        for count in map(int, given.nodes.split(",")):
            with nodes_up(f"{given.rate:g}mbit", count) as on:
                compiled(COLLECTIVE, on.folder / "app", *compiler)
                hydra = [launcher, "-hosts", on.hosts, "-ppn", str(given.each)]
                words = hydra if library.name.startswith("mpich") else on.up.open_mpi(launcher, given.each)
                nodes = tuple(i // given.each if words is hydra else i % count for i in range(count * given.each))
                chooser = chooser_of(library, measured(on, library, given.rate))
                runs = Runs(on, library, words)
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
