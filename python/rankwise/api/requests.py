"""What is asked about a machine, a program or a page; :mod:`rankwise.api.questions` has what is asked about a workload.

The help of a verb needs this alone: what answers is imported where it is asked.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankwise.api.questions import SETTINGS, LinkClass, Statistic
from rankwise.collectives.selection import settable_libraries
from rankwise.errors import InputError
from rankwise.files import require_folder, writable
from rankwise.questions import Options, option
from rankwise.units import parse_seconds, parse_share

if TYPE_CHECKING:
    from rankwise.health.judge import Rules
    from rankwise.health.record import Session

MACHINE = "The machine whose network is taken: a name from 'rankwise machines list' or a TOML."
LEVELS = (
    "Levels below the node, to divide each node's ranks among: socket:2, numa:4, l3:8, or socket:2,numa:4 "
    "(otherwise those of --profile); and above it: switch:16 nodes, group:4 switches, each with what a byte costs that leaves "
    "it: switch:16*5."
)
TOPOLOGY = (
    "Which switches the nodes of --hosts hang on: Slurm's topology.conf or topology.yaml, the text of 'scontrol show "
    "topology', a SLURM_TOPOLOGY_ADDR a line; or slurm, to ask it."
)


@dataclass(frozen=True)
class Placing(Options):
    """A grid, a mesh or a program's traffic, the nodes, and how to look for a placement."""

    grid: str | None = option(None, "Shape of the process grid: 50x48.")
    mesh: str | None = option(
        None,
        "Instead of --grid: the cells of the simulated mesh, 1000x800x400. The grid is chosen together with "
        "the mapping, each message weighted by the mesh cells in its halo.",
    )
    ranks: int | None = option(None, "Ranks for --mesh, with --nodes or --ppn.")
    halo: int = option(1, "Mesh cells that a halo is deep, for --mesh.")
    nodes: int | None = option(None, "Number of nodes, all of --ppn ranks.")
    ppn: int | None = option(None, "Ranks on each node. Default: as many on each of --nodes.")
    node_sizes: str | None = option(None, "Ranks on each node where they differ, instead of --nodes and --ppn: 48,48,32.")
    slots: str | None = option(
        None,
        "Instead of --nodes and --ppn, where there is more room than ranks: the slots of each node, 24,24,16 or 4x24. "
        "Which nodes and slots stay free is chosen.",
    )
    stencil: str = option(
        "nearest-neighbor",
        "To whom each rank sends: nearest-neighbor, component, moore:1. Also nearest-neighbor-with-hops, moore:K, or offsets, "
        'each with a weight where it has one: "1,0*8;-1,0*8;0,2".',
    )
    algorithm: str = option(
        "all",
        "Mappings to compare. all: blocked, hyperplane, kd-tree, stencil-strips, nodecart, refined. Or some of these, random, "
        "auto, graph.",
    )
    periodic: str = option("none", "Axes that wrap around: none, all, or a flag an axis: 1,0.")
    weights: str | None = option(None, "What a message along each offset counts, in their order: 8,8,1,1.")
    message_bytes: str = option("8", "Bytes of a message of weight 1; with --mesh: of a cell in a halo.", "--bytes")
    levels: str | None = option(None, LEVELS)
    topology: str | None = option(None, TOPOLOGY)
    profile: Path | None = option(None, "Profile of the machine. The best mapping is that whose step takes least time there.")
    machine: str | None = option(None, MACHINE)
    settings: list[str] | None = option(None, SETTINGS, "--set")
    effort: str | None = option(None, "Search time of refined: 100ms, 1s. Default: --steps.")
    steps: int | None = option(None, "Search steps of refined: the same map every time. Default: 1800000, or about 10 ms.")
    threads: int | None = option(
        None, "Processor cores for refined (1; for a program or graph all); the map of --steps is the same."
    )
    objective: Literal["j_sum", "j_max"] = option("j_sum", "What refined makes small first: j_sum or j_max.")
    front: bool = option(False, "Show all maps that refined finds between the least J_sum and the least J_max.", "--front")
    seed: int = option(1, "For what is drawn at random: random, refined, graph.")
    prove: bool = option(False, "Find the proven optimum (tiny grids only; may take a minute).", "--prove")
    observed: Path | None = option(
        None, "Instead of --grid: a record of 'rankwise observe'. On the nodes where the program ran, or on those asked for."
    )
    graph: Path | None = option(
        None, "Instead of --grid: traffic from a file, MatrixMarket (row sends to column) or METIS, in bytes."
    )
    check: bool = option(False, "Start ranks where --observed or --graph puts them, and see that they are there.", "--check")
    hosts: str | None = option(None, "Names of the nodes for --format: n[001-050], or a file. Otherwise node0000, ...")
    compare: Path | None = option(None, "Score the mapping in this file, too: JSON, CSV, a rank order, or one host a rank.")
    int64: bool = option(False, "Allow more ranks than MPI's 32-bit integers can number.", "--int64")
    with_mapping: bool = option(False, "Put the node of every cell in the JSON.", "--with-mapping")

    @property
    def algorithms(self) -> list[str]:
        return [name.strip() for name in self.algorithm.split(",")]

    @property
    def effort_s(self) -> float | None:
        return None if self.effort is None else parse_seconds(self.effort, "--effort")


@dataclass(frozen=True)
class Target(Options):
    """The nodes that a program is to run on, and the machine."""

    profile: Path | None = option(None, "The machine's profile: without it only bytes are known.")
    machine: str | None = option(None, MACHINE)
    settings: list[str] | None = option(None, SETTINGS, "--set")
    nodes: int | None = option(None, "Number of nodes. Default: those observed.")
    ppn: int | None = option(None, "Ranks on each node. Default: as many on each of --nodes.")
    node_sizes: str | None = option(None, "Ranks on each node where they differ, instead of --nodes and --ppn: 48,48,32.")
    hosts: str | None = option(None, "Names of the nodes: n[001-050], or a file.")
    levels: str | None = option(None, LEVELS)
    topology: str | None = option(None, TOPOLOGY)
    since_s: float = option(0.0, "Look at steps from here on: seconds since the program's beginning.", "--from")
    until_s: float | None = option(None, "Look at steps up to here. Default: the end.", "--to")


@dataclass(frozen=True)
class Trying(Options):
    """The two placements that are run interleaved, and how often."""

    placement: Path | None = option(
        None, "The new placement, in any format of 'rankwise map'; otherwise the best that 'map' finds."
    )
    settings: Path | None = option(
        None, "A folder that 'rankwise tune' wrote: the program runs with its settings and without, its ranks where they were."
    )
    hosts: str | None = option(None, "Names of the nodes: n[001-050], or a file; otherwise those observed.")
    levels: str | None = option(None, LEVELS)
    topology: str | None = option(None, TOPOLOGY)
    profile: Path | None = option(None, "Machine profile, by whose times the new placement is chosen.")
    pairs: int = option(40, "The most pairs of runs.")
    seed: int = option(1, "For the order within a pair.")
    output: Path | None = option(
        None, "Where each pair is kept, to go on from; app.trial.jsonl for app.comm.", "--output", "-o", check=writable
    )


def _folder(value: Path | None) -> Path | None:
    if value is not None:
        require_folder(value)
    return value


@dataclass(frozen=True)
class Tuning(Options):
    """What settings are made for, and where they are written."""

    profile: Path = option(Path("machine.json"), "Machine profile, by whose times algorithms are chosen.")
    ranks: str | None = option(None, "Without a record: the number of ranks, for all collectives of a machine.")
    ranks_per_node: int | None = option(None, "Without a record: ranks on each node.", least=1)
    mpi: str | None = option(
        None, f"The MPI library: {', '.join(settable_libraries())}. Default: the record's, or the profile's."
    )
    library_path: Path | None = option(
        None, "The library's file, libmpi.so, which MPICH's settings start from. Default: the program's, or the one at hand."
    )
    output: Path = option(Path("tuned"), "The folder that settings are written into.", "--output", "-o", check=_folder)
    dry_run: bool = option(False, "Write nothing.", "--dry-run")


# What can be measured, and how long it takes where nothing else is said.
CAMPAIGNS = {
    "latency": "Ping-pong with MPI_Send and MPI_Ssend, protocol limits: 15 s",
    "bandwidth": "64 messages in flight, one way and both, as osu_bw: 15 s",
    "pairs": "Streams of 1, 2, 4, ... pairs of ranks at once: 15 s",
    "one-to-all": "A ping-pong of one rank with each other in turn: 15 s",
    "alltoall": "MPI_Alltoall with a rank on each core or node: 15 s",
    "loggp": "The same, and send and receive overhead and gap: 15 s",
    "all-pairs": "Streams between all pairs of nodes, for doctor --nodes: 300 s",
    "fft3d": "Rates of local FFTs and of memory, for predict fft3d: 1 min",
    "pack": "Packing and unpacking of halos, for predict halo: 1 s",
    "collectives": "Reductions, eager limits, collectives in a node: 1 min",
}
SECONDS = {"all-pairs": 300, "fft3d": 1, "collectives": 60}  # the time limit where it is not 15 s
_OF_MESSAGES = ("latency", "pingpong", "bandwidth", "pairs", "one-to-all", "alltoall", "loggp")


@dataclass(frozen=True)
class Campaign(Options):
    """What to measure, for how long, and where the profile goes."""

    what: Literal[
        "pingpong",
        "latency",
        "bandwidth",
        "pairs",
        "one-to-all",
        "alltoall",
        "loggp",
        "all-pairs",
        "fft3d",
        "pack",
        "collectives",
    ] = option("pingpong", f"{', '.join(CAMPAIGNS)}; or pingpong, which is latency.", "[WHAT]")
    output: Path = option(Path("machine.json"), "Profile to write; samples go next to it.", "--output", "-o", check=writable)
    resume: bool = option(
        False, "Go on with an interrupted measurement.", "--resume", verbs=(*_OF_MESSAGES, "all-pairs", "collectives")
    )
    sizes: str | None = option(
        None, "Message sizes, as in 0,8,1kB,4MiB. Default: 0 B to 4 MiB; all-pairs: 8,1MB.", verbs=(*_OF_MESSAGES, "all-pairs")
    )
    launches: int | None = option(
        None,
        "Starts of mpiexec; reliable intervals need 10. Their spread is the interval. Default: as many as the time holds, "
        "about 0.3 s each.",
        verbs=_OF_MESSAGES,
    )
    spread: str = option(
        "0", "Spread the launches over this time (10m), to catch slow and fast phases of the machine.", metavar="TIME",
        verbs=_OF_MESSAGES,
    )  # fmt: skip
    seconds: float | None = option(
        None,
        "Time limit in seconds; fft3d: of each cube. Starting ranks for the first five launches comes on top.",
        verbs=(*_OF_MESSAGES, *SECONDS),
    )
    precision: float = option(
        0.03, "Stop when every 95 % interval is this narrow, 0.03 for ± 3 % of the figure, after ten launches or more.",
        verbs=_OF_MESSAGES,
    )  # fmt: skip
    statistic: Statistic = option(
        "median", "Statistic of a measured time: median, minimum, mean, smallest-20 or tukey-mean.", verbs=_OF_MESSAGES
    )
    background: int = option(
        0, "Measure plain sends also while N other pairs of ranks keep the link busy.", metavar="N", verbs=_OF_MESSAGES
    )
    hosts: str | None = option(
        None,
        "Nodes, to measure between them too: node1,node2 or n[01-04]. Default: those of the Slurm allocation.",
        verbs=(*_OF_MESSAGES, "all-pairs", "collectives"),
    )
    links: str | None = option(
        None, "Link classes to measure, as in same-socket,other-node. Default: all there are.", verbs=_OF_MESSAGES
    )
    n: str | None = option(None, "Points an axis of the cubes. Default: 40,80,160,288.", "--n", verbs=("fft3d",))
    ranks: str | None = option(
        None, "Numbers of ranks. Default: 1 and the cores; collectives: 2, 4, ... and the cores.", "--ranks",
        verbs=("fft3d", "collectives"),
    )  # fmt: skip


@dataclass(frozen=True)
class Tables(Options):
    """What other programs measured, and where the profile goes that is made of it."""

    files: list[Path] = option(
        MISSING,
        "Output of OSU benchmarks, IMB, nccl-tests or mpi4py.bench, or CSV (message_bytes,latency_ns,sigma_ns). Several runs "
        "give one table with their spread.",
        "TABLES...",
    )
    output: Path = option(Path("machine.json"), "The profile to write.", "--output", "-o", check=writable)
    link: LinkClass | None = option(
        None, "The link class that was measured. Default: what a job map or host names in the file tell."
    )
    name: str | None = option(None, "The machine's name. Default: the first file's name.")
    add: bool = option(False, "Put the tables into the profile that --output names.", "--add")
    window: int | None = option(None, "Messages in flight of osu_bw and osu_bibw (their -W). Default: 64.", least=1)


@dataclass(frozen=True)
class Fitting(Options):
    """What is fitted, by which model, and where the profile goes."""

    samples: Path = option(
        MISSING, "Raw samples (what 'measure' keeps), or a CSV table as 'profile import' reads it.", "SAMPLES"
    )
    model: str = option("auto", "auto, hockney, piecewise, loggp, max-rate, or pchip: the table itself, joined smoothly.")
    statistic: Statistic = option("median", "Statistic of a measured time: median, minimum, mean or smallest-20.")
    method: Literal["regression", "table"] = option(
        "regression", "Piecewise by regression (lines and breaks from the data), or the table itself: table."
    )
    link: LinkClass = option("other-node", "The link class of a CSV table.")
    output: Path | None = option(None, "Write the profile here.", "--output", "-o", check=writable)
    force: bool = option(False, "Write over a profile that has what the new one lacks.", "--force")


@dataclass(frozen=True)
class Kept(Options):
    """Where sessions are kept, and of which machine."""

    history: Path = option(Path("health.jsonl"), "The history: one line a session, only ever added to.")
    name: str | None = option(
        None, "The machine's name in the history. Default: its host name (in containers that may change).", "--as"
    )

    def known(self) -> list[Session]:
        """Return the sessions of the machine. Raises InputError where there are none."""
        from rankwise.health.record import read

        sessions = [session for session in read(self.history) if self.name in (None, session.key.get("hostname"))]
        if not sessions:
            of = f" of {self.name}" if self.name else ""
            raise InputError(f"there is no session{of} in {self.history} yet: run 'rankwise health', or name another --history")
        return sessions


@dataclass(frozen=True)
class Judging(Kept):
    """What counts as slower."""

    tolerance: str = option("20%", "The slow-down that must be seen.", metavar="SHARE")
    confirm_after: str = option("30m", "How long after a session another one confirms it, as in 30m.")

    def rules(self) -> Rules:
        """Return the rules by which sessions are compared. Raises InputError."""
        from rankwise.health.judge import Rules

        share = parse_share(self.tolerance, "--tolerance")
        if share == 0:
            raise InputError("--tolerance 0 would take any difference for a slow-down: give 20%")
        return Rules(tolerance=share, apart_s=parse_seconds(self.confirm_after, "confirm-after"))


@dataclass(frozen=True)
class Watch(Options):
    """A session: how many launches over which time, and of which links."""

    launches: int = option(20, "Launches of the ranks in this session, at least 10.")
    spread: str | None = option(None, "The time over which they are spread. Default: 30m; with --seconds: one after the other.")
    seconds: float | None = option(None, "Time to measure in all, in seconds. Default: 20.")
    hosts: str | None = option(None, "Nodes whose link to watch too, as in measure. Default: those of the Slurm allocation.")
    links: str | None = option(None, "Link classes to watch. Default: all there are.")


@dataclass(frozen=True)
class Streams(Options):
    """Between which nodes, of which sizes, and for how long at most."""

    hosts: str | None = option(None, "--nodes: the nodes, as in n[01-16]. Default: all of the Slurm allocation.")
    samples: Path = option(Path("nodes.samples.jsonl"), "--nodes: where the samples go.")
    sizes: str | None = option(None, "--nodes: sizes of messages. Default: 8,1MB.")
    seconds: float = option(300.0, "--nodes: begin no further sweep that would end later.")
    resume: bool = option(False, "--nodes: go on with an interrupted measurement.", "--resume")


# What a page is made of, where nobody says.
PROFILE, VALIDATION, MAPPINGS = Path("machine.json"), Path("validate.json"), Path("map.json")


@dataclass(frozen=True)
class Sources(Options):
    """What a page is made of, and where it goes: one profile with what was done on it, or several side by side."""

    profiles: list[Path] | None = option(
        None, "Instead: profiles to set side by side, the oldest first, before and after.", "[PROFILES]..."
    )
    profile: Path | None = option(None, f"The machine's profile. Default: {PROFILE}, if it is there.")
    validation: Path | None = option(None, f"What 'validate exchange' wrote. Default: {VALIDATION}.")
    mapping: Path | None = option(None, f"What 'map --json' printed. Default: {MAPPINGS}.")
    output: Path = option(Path("rankwise-report.html"), "The HTML file to write.", "--output", "-o", check=writable)


@dataclass(frozen=True)
class Redoing(Options):
    """By which engine a paper is redone, and where its page goes."""

    output: Path | None = option(None, "Folder to write the page, the tables and the pictures into.", "--output", "-o")
    engine: Literal["model", "simgrid", "run"] = option(
        "model", "model; simgrid: its communication simulated, compared with what was published; run: its experiment here."
    )
    simulations: Path = option(Path("simulated"), "Folder that keeps simulations, which are not done again, and samples.")
    measured: list[Path] | None = option(
        None, "Profiles of repeated 'measure bandwidth', or folders of them, to compare with the tables; may be repeated."
    )
