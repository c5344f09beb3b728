"""The verbs that ask how long a neighbour exchange takes: ``predict``, ``run`` and ``validate exchange``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, console, group, print_json, tell, verb
from rankwise.cli.places import Hosts, Placement, host_of_each_rank, hosts_to_run_on, node_of_each_rank
from rankwise.errors import EXIT_FAILURE, InputError
from rankwise.units import format_percent, format_size, format_time, parse_ints, parse_periodic, parse_shape, parse_sizes

if TYPE_CHECKING:
    from rankwise.engines.exchange import ExchangeCase, Row
    from rankwise.engines.stencil import StencilRow
    from rankwise.engines.validate import Validation
    from rankwise.machine.topology import Topology

predict_verbs = group("predict", "Ask the model: microseconds of work, nothing is sent.")
run_verbs = group("run", "Run the real thing on this machine, every byte checked.")
validate_verbs = group("validate", "Put prediction beside measurement.")

Algorithm = Annotated[
    str, typer.Option(help="Which exchange: direct, neighbor-alltoall, shift, comb, team-shift, striped, leader, two-step, several, or all.")
]
Mode = Annotated[
    str, typer.Option(help="How messages are sent: ssend, send, isend, isend-self, persistent, several, or all.")
]
Dims = Annotated[str, typer.Option(help="Axes of the process grid (1, 2, 3), or its shape: 4x2.")]
Cutoff = Annotated[str, typer.Option(help="Layers of neighbours k: 2, 1,2,4 or 1:10.")]
Bytes = Annotated[str, typer.Option("--bytes", help="Size of one block: 1000, 1kB, 8,1000,100kB.")]
Shell = Annotated[
    str,
    typer.Option(help="Which neighbours: full, eighth (with the return of forces), all-pairs (every rank), or several."),
]
Replication = Annotated[
    str | None, typer.Option("--replication", "-c", help="Ranks a team of team-shift: 2, 1,2,4 or 1:4. Default: 2.")
]
TeamBoxes = Annotated[
    str, typer.Option(help="Teams pool the boxes of their ranks (pooled), or all have the same box (replicated).")
]
Ranks = Annotated[int | None, typer.Option(help="Number of ranks.")]
Periodic = Annotated[str, typer.Option(help="Axes that wrap around: all, none, or a flag an axis: 1,0.")]
ProfileFile = Annotated[Path, typer.Option("--profile", help="The machine's profile.")]

RanksPerNode = Annotated[
    int | None, typer.Option(help="Ranks on each node. Default: as far apart as the profile has links for.")
]
LinkModelName = Annotated[
    str | None, typer.Option("--link-model", help="hockney, piecewise, loggp, max-rate. Default: the profile's choice.")
]
Loaded = Annotated[bool, typer.Option("--loaded", help="As beside background traffic, where the profile has that.")]

PREDICTED_RANKS = 64  # as in the paper that the Shift model comes from


@verb(
    "exchange",
    "rankwise predict exchange --algorithm shift --mode ssend --dims 1 --cutoff 1:10 --bytes 1000 --profile machine.json",
    under=predict_verbs,
)
def predict_exchange(
    profile: ProfileFile = Path("machine.json"),
    algorithm: Algorithm = "shift",
    mode: Mode = "ssend,isend",
    dims: Dims = "1",
    cutoff: Cutoff = "1:4",
    size: Bytes = "1000",
    ranks: Ranks = None,
    shell: Shell = "full",
    replication: Replication = None,
    team_boxes: TeamBoxes = "pooled",
    ranks_per_node: RanksPerNode = None,
    placement: Placement = "blocked",
    periodic: Periodic = "all",
    link_model: LinkModelName = None,
    loaded: Loaded = False,
    as_json: Json = False,
) -> None:
    """Predict how long an exchange takes, with the interval that the profile's uncertainty gives.

    Without --ranks the grid has 64 ranks, as in the paper that the Shift model comes from.
    """
    from rankwise.engines.session import predict_rows
    from rankwise.machine.profile import Profile

    if ranks is None and "x" not in dims.lower():
        ranks = PREDICTED_RANKS
    cases = make_exchange_cases(
        algorithm, mode, dims, cutoff, size, ranks, periodic, shell, replication, team_boxes
    )
    node_of_rank: list[int] = []
    if placement != "blocked":
        if ranks_per_node is None or len({case.ranks for case in cases}) > 1:
            raise InputError(f"--placement {placement} needs --ranks-per-node, and one number of ranks")
        node_of_rank = node_of_each_rank(placement, cases[0].ranks, cases[0].ranks // max(1, ranks_per_node))
    rows = predict_rows(Profile.load(profile), cases, ranks_per_node, link_model, loaded, node_of_rank)
    show_rows(rows, as_json)


@verb("exchange", "rankwise run exchange --algorithm shift --mode ssend --dims 1 --cutoff 1:4 --bytes 1000", run_verbs)
def run_exchange(
    algorithm: Algorithm = "shift",
    mode: Mode = "ssend,isend",
    dims: Dims = "1",
    cutoff: Cutoff = "1:4",
    size: Bytes = "1000",
    ranks: Ranks = None,
    shell: Shell = "full",
    replication: Replication = None,
    team_boxes: TeamBoxes = "pooled",
    hosts: Hosts = None,
    placement: Placement = "blocked",
    periodic: Periodic = "all",
    seconds: Annotated[float, typer.Option(help="Time to spend on each case, in seconds.")] = 0.3,
    samples: Annotated[Path, typer.Option(help="Where raw samples are appended.")] = Path("exchange.samples.jsonl"),
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every received byte (always done; kept for clarity).")
    ] = True,
    as_json: Json = False,
) -> None:
    """Run an exchange under the launcher of this machine; times are the maximum over ranks, medians over repetitions.

    Every received byte is checked against what its origin should have sent. Without --ranks there is one rank a core,
    at least two.
    """
    from rankwise.engines.session import run_rows
    from rankwise.machine.discover import discover

    topology = discover()
    nodes = hosts_to_run_on(hosts)
    ranks = default_ranks(ranks, dims, topology, max(1, len(nodes)))
    cases = make_exchange_cases(
        algorithm, mode, dims, cutoff, size, ranks, periodic, shell, replication, team_boxes
    )
    rows = run_rows(cases, topology, samples, seconds, host_of_each_rank(placement, cases, nodes))
    show_rows(rows, as_json)
    fail_unless_verified(rows)


@verb("exchange", "rankwise validate exchange --cutoff 1:4 --bytes 1000 --profile machine.json", validate_verbs)
def validate_exchange(
    profile: ProfileFile = Path("machine.json"),
    engines: Annotated[
        str, typer.Option(help="Which stand side by side: model,run; model,simgrid; or all three. The last is the measure.")
    ] = "model,run",
    algorithm: Algorithm = "shift",
    mode: Mode = "ssend,isend",
    dims: Dims = "1",
    cutoff: Cutoff = "1:4",
    size: Bytes = "1000",
    ranks: Ranks = None,
    shell: Shell = "full",
    replication: Replication = None,
    team_boxes: TeamBoxes = "pooled",
    hosts: Hosts = None,
    placement: Placement = "blocked",
    periodic: Periodic = "all",
    seconds: Annotated[float, typer.Option(help="Time to spend on each case, in seconds.")] = 0.3,
    samples: Annotated[Path, typer.Option(help="Where raw samples are appended.")] = Path("exchange.samples.jsonl"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the JSON here too, for 'rankwise report'.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict an exchange and run it twice on this machine, and say how far the prediction was off.

    The prediction knows the ping-pong alone, never the exchange's own timings. The second run tells the noise: no
    prediction can be expected to come closer. Without the engine run the simulation takes its place, on as many ranks
    as you like.
    """
    from rankwise.engines.session import compare_engines
    from rankwise.files import write_json
    from rankwise.machine.discover import discover

    names = [name.strip() for name in engines.split(",")]
    topology = discover() if "run" in names else None
    nodes = hosts_to_run_on(hosts) if topology is not None else []
    if topology is not None:
        ranks = default_ranks(ranks, dims, topology, max(1, len(nodes)))
    elif ranks is None and "x" not in dims.lower():
        ranks = PREDICTED_RANKS
    cases = make_exchange_cases(
        algorithm, mode, dims, cutoff, size, ranks, periodic, shell, replication, team_boxes
    )
    host_of_rank = host_of_each_rank(placement, cases, nodes)
    validation = compare_engines(profile, cases, names, topology, samples, seconds, hosts=host_of_rank)
    if output is not None:
        write_json(output, validation.to_dict())
    if as_json:
        print_json(validation.to_dict())
    else:
        show_validation(validation)
    fail_unless_verified([comparison.measured for comparison in validation.comparisons])


def make_exchange_cases(
    algorithm: str,
    mode: str,
    dims: str,
    cutoff: str,
    size: str,
    ranks: int | None,
    periodic: str,
    shell: str = "full",
    replication: str | None = None,
    team_boxes: str = "pooled",
    ranks_per_node: int | None = None,
) -> list[ExchangeCase]:
    """Turn the options of an exchange into cases. Raises InputError."""
    from rankwise.engines.exchange import Asked, make_cases

    asked = Asked(
        algorithms=None if algorithm == "all" else algorithm.split(","),
        modes=None if mode == "all" else mode.split(","),
        cutoffs=parse_ints(cutoff, "--cutoff"),
        sizes_bytes=parse_sizes(size, "--bytes"),
        shells=shell.split(","),
        replications=None if replication is None else parse_ints(replication, "--replication"),
        team_boxes=team_boxes,
        ranks_per_node=ranks_per_node,
    )
    if team_boxes != "replicated":
        grid = make_grid(dims, ranks)
        return make_cases(asked, grid, parse_periodic(periodic, len(grid)))
    # Boxes that teams replicate: c times fewer of them than ranks.
    if asked.algorithms != ["team-shift"]:
        raise InputError("--team-boxes replicated is for team-shift: give --algorithm team-shift with it")
    cases = []
    for c in asked.replications or [2]:
        if ranks is not None and ranks % c:
            raise InputError(f"--ranks {ranks} is no multiple of --replication {c}, which replicated boxes need")
        grid = make_grid(dims, None if ranks is None else ranks // c)
        cases += make_cases(replace(asked, replications=[c]), grid, parse_periodic(periodic, len(grid)))
    return cases


def make_grid(dims: str, boxes: int | None) -> tuple[int, ...]:
    """Return the grid that ``--dims`` asks for, as a shape or as a number of axes. Raises InputError."""
    from rankwise.engines.exchange import balanced_grid

    if boxes is not None and boxes < 1:
        raise InputError(f"--ranks {boxes} is too small: it must be at least 1")
    shape = parse_shape(dims, "--dims")
    if "x" in dims.lower():
        grid = tuple(shape)
    elif shape[0] <= 3:
        grid = balanced_grid(boxes or 1, shape[0])
    else:
        raise InputError(f"--dims {dims} is not a number of axes: give 1, 2 or 3, or the grid's shape as in 8x1")
    total = math.prod(grid)
    if boxes is not None and total != boxes:
        raise InputError(f"--dims {dims} has {total} cells but --ranks is {boxes}: make them equal or leave one out")
    if total > 1_000_000:
        raise InputError(f"{total} ranks are more than a schedule is walked for: stay below 1000000")
    return grid


def show_validation(validation: Validation) -> None:
    """Print prediction beside measurement."""
    from rich.table import Table

    # What predictions are held against: real runs, or simulations where nothing runs.
    simulated = all(comparison.measured.engine == "simgrid" for comparison in validation.comparisons)
    table = Table("by", "algorithm", "mode", "k", "size", "ranks", "predicted", "simulated" if simulated else "measured")
    for heading in ("95 % interval", "error", "at present speed", "bytes"):
        table.add_column(heading)
    for comparison in validation.comparisons:
        case, row = comparison.measured.case, comparison.measured
        table.add_row(
            comparison.predicted.engine,
            case.algorithm,
            case.mode,
            str(case.cutoff),
            format_size(case.message_bytes),
            str(case.ranks),
            format_time(comparison.predicted.time_s),
            format_time(row.time_s),
            f"{format_time(row.time_lo_s)} … {format_time(row.time_hi_s)}",
            format_percent(comparison.error),
            "–" if (left := comparison.error_at_present_speed) is None else format_percent(left),
            "verified" if row.verified else "WRONG",
        )
    console().print(table)
    summary = validation.summary()
    floor = summary["noise_floor"]
    noise = "" if floor is None else f" (a second run predicts the first to {_percent(floor)})"
    print(
        f"mean absolute error {_percent(summary['mape'])}{noise}, mean error {_percent(summary['bias'])}, "
        f"{_percent(summary['share_inside'])} of the {'simulations' if simulated else 'measurements'} inside the predicted interval"
    )
    drift = summary["drift"]
    if drift is not None:
        print(
            f"ping-pong beside the exchange took {drift:.2f} times what the profile says; with that, the mean absolute "
            f"error is {_percent(summary['mape_at_present_speed'])}"
        )
        if not 0.85 < drift < 1.18:
            tell("note: the machine is not as fast as when the profile was measured: measure again for its present speed")
    _tell_notes([comparison.predicted for comparison in validation.comparisons])
    _tell_notes([comparison.measured for comparison in validation.comparisons])


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.1f} %"


def show_rows(rows: Sequence[Row], as_json: bool) -> None:
    """Print rows as a table or as JSON."""
    if as_json:
        print_json({"rows": [row.to_dict() for row in rows]})
        return
    from rich.table import Table

    table = Table("engine", "algorithm", "mode", "grid", "k", "c", "size", "time", "95 % interval", "messages", "sent", "bytes")
    for row in rows:
        case = row.case
        table.add_row(
            row.engine,
            case.algorithm,
            case.mode,
            "x".join(map(str, case.grid)),
            str(case.cutoff or case.shell),
            str(case.replication),
            format_size(case.message_bytes),
            format_time(row.time_s),
            f"{format_time(row.time_lo_s)} … {format_time(row.time_hi_s)}",
            str(row.messages_per_rank),
            format_size(row.bytes_per_rank),
            {True: "verified", False: "WRONG", None: "–"}[row.verified],
        )
    console().print(table)
    _tell_notes(rows)


def _tell_notes(rows: Sequence[Row]) -> None:
    for note in dict.fromkeys(note for row in rows for note in row.notes):
        tell(f"note: {note}")


def fail_unless_verified(rows: Sequence[Row] | Sequence[StencilRow]) -> None:
    """Leave with an exit code that says so where wrong bytes arrived."""
    wrong = [row for row in rows if row.verified is False]
    if wrong:
        tell(f"rankwise: {len(wrong)} of {len(rows)} exchanges delivered wrong bytes: do not trust this MPI")
        raise typer.Exit(EXIT_FAILURE)


def default_ranks(ranks: int | None, dims: str, topology: Topology, nodes: int = 1) -> int | None:
    """Return how many ranks a real run has: those asked for, those of a shape (None), or one a core of each node, at least two.

    A Slurm allocation may say how many ranks a node is to have.
    """
    if ranks is not None or "x" in dims.lower():
        return ranks
    from rankwise.launch.allocation import find_allocation

    allocation = find_allocation()
    each = allocation.ranks_per_node if allocation is not None else None
    return max(2, (each or topology.allowed_core_count) * nodes)

