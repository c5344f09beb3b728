"""``rankwise simulate``: the kernels under SimGrid on a described machine, with the options of ``predict`` and ``map``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, console, group, print_json, tell, verb
from rankwise.cli.exchange import (
    Algorithm,
    Bytes,
    Cutoff,
    Dims,
    Mode,
    Periodic,
    Ranks,
    Replication,
    Shell,
    TeamBoxes,
    fail_unless_verified,
    make_exchange_cases,
    show_rows,
)  # fmt: skip
from rankwise.cli.map import MappingNames, StencilOption, parse_node_sizes
from rankwise.errors import InputError
from rankwise.units import format_time, parse_periodic, parse_shape, parse_sizes

if TYPE_CHECKING:
    from rankwise.engines.stencil import StencilRow
    from rankwise.engines.system import System

simulate_verbs = group("simulate", "Run the kernels under SimGrid: what thousands of ranks of a described machine would do.")

ProfileFile = Annotated[
    Path | None, typer.Option("--profile", help="The profile whose links are simulated; with --machine, those of its nodes.")
]
Machine = Annotated[
    str | None, typer.Option(help="The machine whose network is simulated: a name from 'rankwise machines list' or a TOML.")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="Change or add a figure of --machine: latency=1.2us, taper=0.5.")
]
Topology = Annotated[
    str,
    typer.Option(
        help="crossbar, fat-tree:16x4:2 (nodes a leaf switch x leaves : taper), torus:4x4x4, dragonfly:4x4x4 (groups x "
        "routers x nodes). Sizes may be left out."
    ),
]
Nodes = Annotated[int | None, typer.Option(min=1, help="Nodes of the platform. Default: as many as the ranks need.")]
RanksPerNode = Annotated[
    int | None, typer.Option(help="Ranks on each node. Default: all on one, or one on each where the profile is of a network.")
]
HopLatency = Annotated[str, typer.Option(help="Latency added for each switch beyond the nearest: 100ns.")]
Folder = Annotated[
    Path, typer.Option("--output", "-o", help="Folder that keeps samples, platform files and logs; runs in it are not redone.")
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Simulations at once. Default: one a core.")]
SIMULATED_RANKS = 64


@verb(
    "exchange",
    """
    rankwise simulate exchange --profile machine.json --cutoff 1:4 --bytes 1000
    rankwise simulate exchange --machine hopper --topology torus:4x4x4 --ranks-per-node 1 --dims 3 --cutoff 1,2
    """,
    under=simulate_verbs,
)
def simulate_exchange(
    profile: ProfileFile = None,
    machine: Machine = None,
    settings: Set = None,
    topology: Topology = "crossbar",
    nodes: Nodes = None,
    ranks_per_node: RanksPerNode = None,
    hop_latency: HopLatency = "0s",
    algorithm: Algorithm = "shift",
    mode: Mode = "ssend,isend",
    dims: Dims = "1",
    cutoff: Cutoff = "1:4",
    size: Bytes = "1000",
    ranks: Ranks = None,
    shell: Shell = "full",
    replication: Replication = None,
    team_boxes: TeamBoxes = "pooled",
    periodic: Periodic = "all",
    output: Folder = Path("simulated"),
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Simulate an exchange of many ranks on this machine: the kernels of 'rankwise run' under SimGrid.

    A message takes what the profile's piecewise fit (or the machine's latency and bandwidth) says, and shares the links
    that it meets others on. Every byte is checked. Without --ranks the grid has 64 ranks.
    """
    from rankwise.engines.session import simulate_rows

    if ranks is None and "x" not in dims.lower():
        ranks = SIMULATED_RANKS
    cases = make_exchange_cases(
        algorithm, mode, dims, cutoff, size, ranks, periodic, shell, replication, team_boxes
    )
    system = make_system_asked(profile, machine, settings, hop_latency)
    rows = simulate_rows(system, cases, topology, nodes, ranks_per_node, output, jobs)
    show_rows(rows, as_json)
    fail_unless_verified(rows)


@verb(
    "stencil",
    """
    rankwise simulate stencil --profile cluster.json --grid 50x48 --nodes 50 --ppn 48 --topology fat-tree:25x2:2
    """,
    under=simulate_verbs,
)
def simulate_stencil(
    grid: Annotated[str, typer.Option(help="Shape of the process grid: 50x48.")],
    profile: ProfileFile = None,
    machine: Machine = None,
    settings: Set = None,
    topology: Topology = "crossbar",
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes, all of --ppn ranks.")] = None,
    ppn: Annotated[int | None, typer.Option(help="Ranks on each node.")] = None,
    node_sizes: Annotated[str | None, typer.Option(help="Ranks on each node where they differ: 48,48,32.")] = None,
    hop_latency: HopLatency = "0s",
    stencil: StencilOption = "nearest-neighbor",
    algorithm: MappingNames = "all",
    size: Bytes = "1000",
    periodic: Periodic = "none",
    output: Folder = Path("simulated"),
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Simulate the halo exchange of a stencil code (MPI_Neighbor_alltoall) on a grid that is mapped in several ways."""
    from rankwise.engines.session import simulate_stencil_rows, stencil_cases

    shape = parse_shape(grid, "--grid")
    sizes = parse_node_sizes(shape, nodes, ppn, node_sizes)
    flags = parse_periodic(periodic, len(shape))
    names = [name.strip() for name in algorithm.split(",")]
    cases = stencil_cases(shape, sizes, stencil, flags, names, parse_sizes(size, "--bytes"))
    system = make_system_asked(profile, machine, settings, hop_latency)
    rows = simulate_stencil_rows(system, cases, topology, max(sizes), output, jobs)
    if as_json:
        print_json({"rows": [row.to_dict() for row in rows]})
    else:
        _show_stencil_rows(rows)
    fail_unless_verified(rows)


def make_system_asked(profile: Path | None, machine: str | None, settings: Sequence[str] | None, hop_latency: str) -> System:
    """Return what the options ask to be simulated. Raises InputError."""
    from rankwise.engines.system import make_system
    from rankwise.machine.description import parse_value, set_figures
    from rankwise.machine.library import load_machine

    described = load_machine(machine) if machine is not None else None
    if settings and described is None:
        raise InputError(f"--set {settings[0]} changes a machine, but none is given: name it with --machine")
    if described is not None:
        described = set_figures(described, list(settings or []))
    latency_s = 0.0 if hop_latency.strip() in ("0", "0s") else parse_value(hop_latency, "latency", "--hop-latency")
    return make_system(profile, described, latency_s)


def _show_stencil_rows(rows: Sequence[StencilRow]) -> None:
    from rich.table import Table

    blocked = {row.case.message_bytes: row.time_s for row in rows if row.case.mapping == "blocked"}
    table = Table("mapping", "stencil", "size", "J_sum", "J_max", "time", "speed-up over blocked", "bytes")
    for row in rows:
        base = blocked.get(row.case.message_bytes)
        table.add_row(
            row.case.mapping,
            row.case.stencil,
            str(row.case.message_bytes),
            str(row.case.j_sum),
            str(row.case.j_max),
            format_time(row.time_s),
            "–" if base is None else f"{base / row.time_s:.2f}",
            {True: "verified", False: "WRONG", None: "not checked"}[row.verified],
        )
    console().print(table)
    for note in dict.fromkeys(note for row in rows for note in row.notes):
        tell(f"note: {note}")
