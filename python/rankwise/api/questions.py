"""What is asked apart from a workload: on which machine, on which nodes, how long to measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankwise.errors import InputError
from rankwise.files import writable
from rankwise.machine.hosts import parse_hosts
from rankwise.questions import Options, option

if TYPE_CHECKING:
    from rankwise.engines.platform import System
    from rankwise.engines.run import Here
    from rankwise.workloads.base import Site

LinkClass = Literal["same-core", "shared-cache", "same-socket", "other-socket", "other-node"]
Statistic = Literal["median", "minimum", "mean", "smallest-20", "tukey-mean"]
PLACED = "Which node each rank is on: blocked, cyclic, or a file that 'rankwise map --format' wrote."
SETTINGS = "Change or add a figure of --machine: latency=1.2us, taper=0.5."

CHOOSING = {
    "algorithm": "all",
    "mode": "all",
    "dims": "3",
    "cutoff": "1",
    "size": "4096",
}  # what choose leaves open of an exchange


@dataclass(frozen=True)
class Ranks(Options):
    """Where the ranks of a prediction sit, and what of the profile predicts their times."""

    ranks_per_node: int | None = option(
        None, "Ranks on each node. Default: one if the profile has a link between nodes, else all."
    )
    placement: str = option("blocked", PLACED)
    link_model: str | None = option(None, "Link model: hockney, piecewise, loggp, max-rate. Default: the profile's choice.")
    loaded: bool = option(False, "Use link times measured under background load.", "--loaded")


@dataclass(frozen=True)
class Nodes(Options):
    """The nodes of a real run and where its ranks go; none named: those of the Slurm allocation, or this machine."""

    hosts: str | None = option(
        None, "Nodes to run on, as many ranks on each: n1,n2 or n[01-04]. Default: those of the Slurm allocation."
    )
    ranks_per_node: int | None = option(None, "Ranks on each node. Default: as many on each of the nodes as they make.")
    placement: str = option("blocked", PLACED)

    def here(self, verb: str) -> tuple[Here, Site]:
        """Return where real ranks run; one rank a core, at least two. Raises InputError."""
        from rankwise.engines.run import Here
        from rankwise.launch.allocation import allocated_hosts
        from rankwise.workloads.base import Site

        named = parse_hosts(self.hosts) if self.hosts is not None else list(allocated_hosts())
        here = Here(named, self.placement, self.ranks_per_node)
        shares_nodes = len(here.hosts) > 1 or (self.ranks_per_node or 1) > 1
        nodes = here.node_of_rank
        return here, Site(verb, default_ranks(here), nodes, shares_nodes, nodes, lambda: here.mpi.library_version)


@dataclass(frozen=True)
class Platform(Options):
    """What is simulated: a profile's nodes, a described machine, or the nodes of one behind the network of the other."""

    profile: Path | None = option(None, "The profile whose links are simulated; with --machine, those of its nodes.")
    machine: str | None = option(
        None, "The machine whose network is simulated: a name from 'rankwise machines list' or a TOML."
    )
    settings: list[str] | None = option(None, SETTINGS, "--set")
    topology: str = option(
        "crossbar",
        "crossbar, fat-tree:16x4:2 (nodes a leaf switch x leaves : taper), torus:4x4x4, dragonfly:4x4x4 (groups x "
        "routers x nodes). Sizes may be left out.",
    )
    nodes: int | None = option(None, "Nodes of the platform. Default: as many as the ranks need.", least=1)
    hop_latency: str = option("0s", "Latency added for each switch beyond the nearest: 100ns.")

    def system(self) -> System:
        """Return what the platform is made of. Raises InputError."""
        return make_system_asked(self.profile, self.machine, self.settings, self.hop_latency)


@dataclass(frozen=True)
class Effort(Options):
    """How a validation measures and simulates, and where it keeps what it found;
    ``seconds`` and ``samples``: None, the workload's."""

    seconds: float | None = option(None, "Time to spend on each case, in seconds.")
    samples: Path | None = option(None, "Where raw samples are appended.")
    simulations: Path = option(Path("simulated"), "simgrid: folder that keeps simulations.")
    paired: bool = option(
        True,
        "Interleave the exchange with its building blocks, so that slow changes of the machine cancel.",
        "--paired/--unpaired",
    )
    launches: int = option(10, "Starts of mpiexec. A verdict needs 3 undisturbed ones.", least=1)


@dataclass(frozen=True)
class Choices(Options):
    """Exchanges to choose for, and how their candidates are run or simulated."""

    profile: Path = option(Path("machine.json"), "The machine's profile.")
    engine: Literal["run", "simgrid"] = option(
        "run", "What the choice is held against: run, on this machine; or simgrid, on as many ranks as you like."
    )
    algorithm: str = option("all", "What is chosen from: algorithms, or all.")
    mode: str = option("all", "Send modes to choose from, or all.")
    dims: str = option("1", "Axes of the process grid, or its shape; several: 1,2x1.")
    cutoff: str = option("1:6", "Layers of neighbours k: 2, 1,2,4 or 1:10.")
    size: str = option("8,128,1024,8192,65536,262144", "Sizes of one block.", "--bytes")
    ranks: int | None = option(None, "Number of ranks.")
    periodic: str = option("all", "Axes that wrap around: all, none, or a flag an axis: 1,0.")
    seconds: float = option(0.05, "Time to spend on each candidate in each round, in seconds.")
    rounds: int = option(6, "How often every candidate is run, each time in a launch of its own.")
    samples: Path = option(Path("exchange.samples.jsonl"), "Where raw samples are appended.")
    simulations: Path = option(Path("simulated"), "simgrid: folder that keeps simulations.")
    output: Path | None = option(None, "Write the JSON here too.", "--output", "-o", check=writable)


def make_system_asked(profile: Path | None, machine: str | None, settings: Sequence[str] | None, hop_latency: str) -> System:
    """Return what is asked to be simulated. Raises InputError."""
    from rankwise.engines.platform import make_system
    from rankwise.machine.description import parse_value, set_figures
    from rankwise.machine.library import load_machine

    described = load_machine(machine) if machine is not None else None
    if settings and described is None:
        raise InputError(f"--set {settings[0]} changes a machine, but none is given: name it with --machine")
    if described is not None:
        described = set_figures(described, list(settings or []))
    latency_s = parse_value(hop_latency, "latency", "--hop-latency", or_zero=True)
    return make_system(profile, described, latency_s)


def default_ranks(here: Here) -> int:
    """Return how many ranks a real run has: one a core of each node, at least two; or what the Slurm allocation says."""
    from rankwise.launch.allocation import find_allocation

    allocation = find_allocation()
    each = here.ranks_per_node or (allocation.ranks_per_node if allocation is not None else None)
    return max(2, (each or here.topology.allowed_core_count) * max(1, len(here.hosts)))
