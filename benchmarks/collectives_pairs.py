"""Whether schedules of collectives are a library's own: what pairs of ranks send in each algorithm that can be set.

    python benchmarks/collectives_pairs.py [--mpicc mpicc.openmpi] [--mpirun mpirun.openmpi] [--ranks 2:17]
    python benchmarks/collectives_pairs.py --library intelmpi-2021 --prefix FOLDER [--ranks 4,7,8]   (root needed)
    python benchmarks/collectives_pairs.py --library mpich-5.0 [--ranks 4,7,8]                       (root needed)

Every algorithm is used ten times and held against the schedule by which rankwise predicts it. Open MPI's monitoring component
counts messages and bytes, and those of each pair must be equal. Of the others the kernel counts bytes, on nodes in namespaces:
with all headers and acknowledgements, so that each pair must agree within 3 % of what goes both ways and 1 % of a block, in
one of three tries: on loaded machines more than that is sent twice. Intel MPI 2021.19 and MPICH 5.0, 4, 7 and 8 ranks: all.
Exit 1 where one that is called exact is not. Open MPI 4.1.4, 2 to 17 ranks: 49 of 50 are, and all that are called exact;
gather by linear_sync first asks each rank.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import AS_ROOT, COLLECTIVE, OnNodes, compiled, linked_with, nodes_up, options

from rankwise import _core
from rankwise.collectives.selection import Call, Selection, named, rules_of, settable
from rankwise.units import parse_ints
from rankwise.workloads.collective_schedule import Schedule

TIMES = 10
KINDS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter", "gather", "scatter", "barrier")
Pairs = dict[tuple[int, int], tuple[int, int]]  # bytes and messages


class OpenMpi:
    """Open MPI on this machine, whose monitoring component counts messages and bytes."""

    library = "openmpi-4.1"

    def __init__(self, folder: Path, mpicc: str, mpirun: str) -> None:
        self._mpirun, self._program = mpirun, compiled(COLLECTIVE, folder / "one", mpicc)

    @staticmethod
    def names(kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, entry in rules_of("openmpi")["algorithms"][kind].items():
            if name[:1].isdigit() and not (kind == "allgather" and name in ("1 default", "3 ring", "4 neighbor", "5 two_proc")):
                yield name, entry

    def selection(self, call: Call, name: str, entry: Mapping[str, Any]) -> Selection | None:
        return None if name.endswith("two_proc") and call.ranks != 2 else named(self.library, name, call, "")

    @staticmethod
    def size_of(ranks: int) -> int:
        """Return a size that both the ranks and the largest power of two of them divide evenly."""
        return 16 * ranks * (1 << (ranks.bit_length() - 1))

    def agrees(self, schedule: Schedule, name: str) -> bool:
        """Tell whether each pair exchanges the messages and bytes of a schedule."""
        kind, number = schedule.collective, int(name.split()[0])
        parameters = {
            "pml_monitoring_enable": 2, "pml_monitoring_enable_output": 3,
            "pml_monitoring_filename": self._program.with_name("pairs"),
            "coll_tuned_use_dynamic_rules": 1, f"coll_tuned_{kind}_algorithm": number,
            f"coll_tuned_{kind}_algorithm_chain_fanout": 1,  # as the fixed rules have it
        }  # fmt: skip
        for old in self._program.parent.glob("pairs.*"):
            old.unlink()
        words = [word for name, value in parameters.items() for word in ("--mca", name, str(value))]
        allowed = {**AS_ROOT, "PATH": os.environ["PATH"]}
        program = [str(self._program), kind, str(self.size_of(schedule.ranks)), str(TIMES)]
        subprocess.run(
            [self._mpirun, "--oversubscribe", "-np", str(schedule.ranks), *words, *program],
            check=True, env=allowed, capture_output=True, timeout=120,
        )  # fmt: skip
        found: Pairs = {}
        for path in self._program.parent.glob("pairs.*"):
            for line in path.read_text().splitlines():
                words = line.split()
                if words[:1] in (["I"], ["E"]):  # alltoall linear has tags of its own
                    found[int(words[1]), int(words[2])] = int(words[3]) // TIMES, int(words[5]) // TIMES
        return found == scheduled(schedule)


class WithHydra:
    """A library with Hydra's launcher on nodes in namespaces, whose kernel counts bytes."""

    def __init__(self, on: OnNodes, library: str, prefix: Path) -> None:
        self.library, self._up = library, on.up
        self._program = compiled(COLLECTIVE, on.folder / "one", "gcc", *linked_with(prefix))
        self._launcher = f"{prefix}/bin/mpiexec"
        self._environment = on.up.environment() | {"LD_LIBRARY_PATH": f"{prefix}/lib"}
        if library.startswith("intel"):
            self._environment |= on.up.intel_mpi(prefix)
        on.up.count_pairs()

    def names(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        rules = rules_of(self.library.partition("-")[0])
        known = rules["algorithms"].get(kind, {})
        for name, more in rules["settable"].get(kind, {}).items():
            yield name, {**known.get(name, {}), **more}

    def selection(self, call: Call, name: str, entry: Mapping[str, Any]) -> Selection | None:
        found = (
            one for one in settable(self.library, call) if one.name == name and not one.segment_bytes and not one.parameters
        )
        setting = next(found, None)
        return None if setting is None else Selection(self.library, name, setting.algorithm, "", setting.radix)

    @staticmethod
    def size_of(ranks: int) -> int:
        return OpenMpi.size_of(ranks) * max(1, 2048 // ranks)

    def agrees(self, schedule: Schedule, name: str) -> bool:
        kind, size = schedule.collective, self.size_of(schedule.ranks)
        variables = (
            {f"I_MPI_ADJUST_{kind.upper()}": name.split()[0]}
            if self.library.startswith("intel")
            else {f"MPIR_CVAR_{kind.upper()}_INTRA_ALGORITHM": name, f"MPIR_CVAR_{kind.upper()}_DEVICE_COLLECTIVE": "0",
                  "MPIR_CVAR_COLLECTIVE_FALLBACK": "error"}
        )  # fmt: skip
        wanted = {pair: sent for pair, (sent, _) in scheduled(schedule).items()}

        def apart() -> float:
            without, within = self._sent("none", schedule.ranks, {}), self._sent(kind, schedule.ranks, variables)
            return max(
                abs((sent - without[one, other]) / TIMES - wanted.get((one, other), 0))
                - 0.03 * (wanted.get((one, other), 0) + wanted.get((other, one), 0))
                for (one, other), sent in within.items()
            )

        return any(apart() <= 0.01 * size for _ in range(3))

    def _sent(self, kind: str, ranks: int, variables: Mapping[str, str]) -> dict[tuple[int, int], int]:
        hosts = self._up.hosts
        words = [self._launcher, "-hosts", ",".join(hosts[:ranks]), "-ppn", "1", "-n", str(ranks), str(self._program), kind]
        before = self._up.sent_bytes()
        subprocess.run(
            self._up.command(hosts[0], [*words, str(self.size_of(ranks)), str(TIMES)]), env={**self._environment, **variables},
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        return {pair: sent - before[pair] for pair, sent in self._up.sent_bytes().items()}


def scheduled(schedule: Schedule) -> Pairs:
    """Return the same of a schedule; a block of no bytes is sent, too."""
    size, count = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for _, source, dest, size_bytes in schedule.core.messages(_core.Placement.blocked(schedule.ranks, 1)):
        size[source, dest] += size_bytes
        count[source, dest] += 1
    return {pair: (size[pair], count[pair]) for pair in count}


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--library", default="openmpi-4.1")
    parser.add_argument("--prefix", type=Path, default=Path(sys.prefix), help="where the library of --library is installed")
    parser.add_argument("--mpicc", default="mpicc.openmpi")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--ranks", default="2:17")
    asked = parser.parse_args()
    counts = parse_ints(asked.ranks, "--ranks")
    if asked.library == OpenMpi.library:
        with tempfile.TemporaryDirectory() as folder:
            return compared(OpenMpi(Path(folder), asked.mpicc, asked.mpirun), counts)
    with nodes_up("10gbit", max(counts)) as on:
        return compared(WithHydra(on, asked.library, asked.prefix), counts)


def compared(library: OpenMpi | WithHydra, counts: Sequence[int]) -> int:
    """Print a line for each algorithm; 1 where one that is called exact is not."""
    missed = 0
    for kind in KINDS:
        for name, entry in library.names(kind):
            tested, equal, exact = [], [], True
            for ranks in counts:
                call = Call(kind, ranks, 0 if kind == "barrier" else library.size_of(ranks))
                if (one := library.selection(call, name, entry)) is None:
                    continue
                tested.append(ranks)
                exact = one.exact
                if library.agrees(Schedule.of(one, call), name):
                    equal.append(ranks)
                else:
                    missed += exact
            differs = f", not for {sorted(set(tested) - set(equal))} ranks" if len(equal) < len(tested) else ""
            print(f"{kind:<16}{name:<38}{entry['as']:<28}{len(equal):>3} of {len(tested)}{differs}"
                  f"{'' if exact else ' (not called exact)'}", flush=True)  # fmt: skip
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
