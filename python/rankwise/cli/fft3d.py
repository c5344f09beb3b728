"""The verbs of the 3-D FFT: ``run``, ``predict`` and ``validate fft3d``; ``measure fft3d`` is in measure.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, console, print_json, tell, verb
from rankwise.cli.exchange import ProfileFile, predict_verbs, run_verbs, validate_verbs
from rankwise.errors import EXIT_FAILURE, InputError
from rankwise.units import format_bandwidth, format_percent, format_size, format_time, parse_ints, parse_shape

if TYPE_CHECKING:
    from rankwise.engines.fft3d import FftCase, FftRow
    from rankwise.engines.fft3d_session import FftValidation
    from rankwise.machine.fft_rates import FftRates

Points = Annotated[str, typer.Option("--n", help="Points an axis: 128, several as 64,128, axes that differ as 64x48x32.")]
Ranks = Annotated[str | None, typer.Option("--ranks", help="Numbers of ranks: 4 or 1,2,4.")]
GridOption = Annotated[
    str | None, typer.Option("--grid", help="Process grid p1xp2: 2x2; 4x1 is slabs. Default: chosen by the model.")
]
Real = Annotated[bool, typer.Option("--real", help="Real data: forward to half a spectrum, backward from it.")]
Precision = Annotated[str, typer.Option(help="double or single.")]
OrderOption = Annotated[str, typer.Option(help="Order out: transposed (fewer exchanges) or natural (as it came in).")]
Method = Annotated[str, typer.Option(help="Exchanges: alltoall (MPI's collective) or pairwise (ours).")]
DirectionOption = Annotated[str, typer.Option(help="forward or backward.")]
Seconds = Annotated[float, typer.Option(help="Time to spend on each case, in seconds.")]
Samples = Annotated[Path, typer.Option(help="Where raw samples are appended.")]
LibraryOption = Annotated[str, typer.Option(help="Local FFTs: auto, fftw or mkl.")]
PlanningOption = Annotated[str, typer.Option(help="How hard the library plans: estimate, measure or patient.")]
ReadingOption = Annotated[
    str, typer.Option(help="calibrated: rates in the running program; literal: the paper's Eq. 1, 2, 3 and 8 with counted A.")
]
NetworkOption = Annotated[
    str | None,
    typer.Option(help="Exchanges by the all-to-all measured, or by the schedule's walk over the links. Default: by method."),
]


@verb("fft3d", "rankwise run fft3d --n 128 --ranks 4 --grid 2x2", run_verbs)
def run_fft3d(
    n: Points = "64",
    ranks: Ranks = None,
    grid: GridOption = None,
    real: Real = False,
    precision: Precision = "double",
    order: OrderOption = "transposed",
    method: Method = "alltoall",
    direction: DirectionOption = "forward",
    library: LibraryOption = "auto",
    planning: PlanningOption = "measure",
    seconds: Seconds = 0.5,
    samples: Samples = Path("fft3d.samples.jsonl"),
    as_json: Json = False,
) -> None:
    """Run a 3-D FFT on this machine and time its phases: local FFTs, moving data within a rank, exchanges.

    Every run checks itself on a random field: values against the definition, Parseval's theorem, the way back. Without
    --ranks there is one rank a core.
    """
    from rankwise.engines.fft3d import LIBRARIES, PLANNINGS, require_known
    from rankwise.engines.fft3d_session import run_ffts
    from rankwise.machine.discover import discover

    require_known(library, LIBRARIES, "--library")
    require_known(planning, PLANNINGS, "--planning")
    topology = discover()
    cases = make_cases_of(n, ranks or str(topology.allowed_core_count), grid, real, precision, order, method, direction)
    rows = run_ffts(cases, topology, samples, seconds, library, planning)
    _show_rows(rows, as_json)
    _fail_unless_verified(rows)


@verb("fft3d", "rankwise predict fft3d --n 128 --ranks 2 --profile machine.json", predict_verbs)
def predict_fft3d(
    profile: ProfileFile = Path("machine.json"),
    n: Points = "64",
    ranks: Ranks = None,
    grid: GridOption = None,
    real: Real = False,
    precision: Precision = "double",
    order: OrderOption = "transposed",
    method: Method = "alltoall",
    direction: DirectionOption = "forward",
    reading: ReadingOption = "calibrated",
    network: NetworkOption = None,
    as_json: Json = False,
) -> None:
    """Predict a 3-D FFT's phases from the rates that 'rankwise measure fft3d' put into the profile.

    Each term of czechowski2012's model is in the JSON by name. Without --grid the model takes the grid that it finds best.
    """
    from rankwise.engines.fft3d_session import predict_ffts

    _require_reading(reading, network)
    cases = make_cases_of(n, ranks or "2", grid, real, precision, order, method, direction)
    _show_rows(predict_ffts(profile, cases, grid is None, reading, network), as_json)


@verb("fft3d", "rankwise validate fft3d --n 64,128 --ranks 1,2 --profile machine.json", validate_verbs)
def validate_fft3d(
    profile: ProfileFile = Path("machine.json"),
    n: Points = "64,128",
    ranks: Ranks = None,
    grid: GridOption = None,
    real: Real = False,
    precision: Precision = "double",
    order: OrderOption = "transposed",
    method: Method = "alltoall",
    direction: DirectionOption = "forward",
    reading: ReadingOption = "calibrated",
    network: NetworkOption = None,
    seconds: Seconds = 0.5,
    samples: Samples = Path("fft3d.samples.jsonl"),
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the JSON here too.")] = None,
    as_json: Json = False,
) -> None:
    """Predict 3-D FFTs and run them, phase by phase; sizes that the calibration has seen are refused."""
    from rankwise.engines.fft3d_session import validate_ffts
    from rankwise.files import write_json
    from rankwise.machine.discover import discover

    _require_reading(reading, network)
    topology = discover()
    cases = make_cases_of(n, ranks or str(topology.allowed_core_count), grid, real, precision, order, method, direction)
    validation = validate_ffts(profile, cases, topology, samples, seconds, reading, network)
    if output is not None:
        write_json(output, validation.to_dict())
    if as_json:
        print_json(validation.to_dict())
    else:
        _show_validation(validation)
    _fail_unless_verified([comparison.measured for comparison in validation.comparisons])


def make_cases_of(
    n: str, ranks: str, grid: str | None, real: bool, precision: str, order: str, method: str, direction: str
) -> list[FftCase]:
    """Turn the options of a 3-D FFT into cases. Raises InputError."""
    from rankwise.engines.fft3d import FftAsked, make_fft_cases

    shape = None if grid is None else parse_shape(grid, "--grid")
    if shape is not None and len(shape) != 2:
        raise InputError(f"--grid {grid} is not a process grid of two axes: write it as 2x2, or 4x1 for slabs")
    return make_fft_cases(
        FftAsked(
            sizes=[_axes(part) for part in n.split(",")],
            ranks=parse_ints(ranks, "--ranks"),
            grid=None if shape is None else (shape[0], shape[1]),
            real=real,
            precision=precision,
            order=order,
            method=method,
            direction=direction,
        )
    )


def _axes(text: str) -> tuple[int, int, int]:
    shape = parse_shape(text, "--n")
    if len(shape) == 1:
        return shape[0], shape[0], shape[0]
    if len(shape) != 3:
        raise InputError(f"--n '{text}' is not the size of a 3-D array: write it as 128 or 64x48x32")
    return shape[0], shape[1], shape[2]


def _require_reading(reading: str, network: str | None) -> None:
    from rankwise.engines.fft3d import require_known
    from rankwise.engines.fft3d_predict import NETWORKS, READINGS

    require_known(reading, READINGS, "--reading")
    if network is not None:
        require_known(network, NETWORKS, "--network")


def _axes_text(case: FftCase) -> str:
    return "x".join(map(str, case.n))


def _show_rows(rows: Sequence[FftRow], as_json: bool) -> None:
    if as_json:
        print_json({"rows": [row.to_dict() for row in rows]})
        return
    from rich.table import Table

    table = Table("engine", "n", "grid", "time", "95 % interval", "compute", "shuffle", "exchange", "alone: FFTs", "exchange", "memory", "values")
    for row in rows:
        case = row.case
        memory = "–" if row.memory_bytes is None or not row.array_bytes else f"{row.memory_bytes / row.array_bytes:.2f} arrays"
        table.add_row(
            row.engine,
            _axes_text(case),
            "x".join(map(str, case.grid)),
            format_time(row.total.time_s),
            f"{format_time(row.total.lo_s)} … {format_time(row.total.hi_s)}",
            *(format_time(row.phases[phase].time_s) for phase in ("compute", "shuffle", "exchange")),
            *(format_time(row.isolated[name].time_s) if name in row.isolated else "–" for name in ("compute", "exchange")),
            memory,
            {True: "verified", False: "WRONG", None: "–"}[row.verified],
        )
    # The kind is the same for all rows.
    case = rows[0].case
    print(f"{'real' if case.real else 'complex'} data, {case.precision} precision, {case.direction}, {case.order} order, {case.method}")
    console().print(table)
    for row in rows:
        if len(row.per_rank) > 1:
            print(f"{_axes_text(row.case)} on {row.case.ranks} ranks, each (compute, shuffle, exchange): " + "; ".join(
                ", ".join(format_time(rank[phase].time_s) for phase in ("compute", "shuffle", "exchange")) for rank in row.per_rank
            ))
    for library in dict.fromkeys(row.library for row in rows if row.library):
        tell(f"local FFTs: {library}")
    _tell_notes(rows)


def _show_validation(validation: FftValidation) -> None:
    from rich.table import Table

    table = Table("n", "grid", "predicted", "measured", "error", "compute", "shuffle", "exchange", "values")
    for comparison in validation.comparisons:
        measured = comparison.measured
        errors = comparison.phase_errors()
        table.add_row(
            _axes_text(measured.case),
            "x".join(map(str, measured.case.grid)),
            format_time(comparison.predicted.total.time_s),
            format_time(measured.total.time_s),
            format_percent(comparison.error),
            *("–" if (error := errors[phase]) is None else format_percent(error) for phase in ("compute", "shuffle", "exchange")),
            "verified" if measured.verified else "WRONG",
        )
    console().print(table)
    summary = validation.summary()
    phases = ", ".join(f"{name} {_percent(value)}" for name, value in summary["phases"].items())
    print(f"mean absolute error {_percent(summary['mape'])} ({phases}), mean error {format_percent(summary['bias'])}; reading: {validation.reading}")
    _tell_notes([row for comparison in validation.comparisons for row in (comparison.predicted, comparison.measured)])


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.1f} %"


def _tell_notes(rows: Sequence[FftRow]) -> None:
    for note in dict.fromkeys(note for row in rows for note in row.notes):
        tell(f"note: {note}")


def _fail_unless_verified(rows: Sequence[FftRow]) -> None:
    wrong = [row for row in rows if not row.verified]
    if wrong:
        tell(f"rankwise: {len(wrong)} of {len(rows)} transforms gave wrong values (errors {wrong[0].checks}): do not trust them")
        raise typer.Exit(EXIT_FAILURE)


def measure_rates(profile: Path, n: str | None, ranks: str | None, seconds: float, as_json: bool) -> None:
    """Calibrate the model (``rankwise measure fft3d``) and print what was found."""
    from rankwise.engines.fft3d_calibrate import DEFAULT_SIZES, FftPlan, measure_fft3d
    from rankwise.machine.discover import discover

    sizes = parse_ints(n, "--n") if n else list(DEFAULT_SIZES)
    counts = parse_ints(ranks, "--ranks") if ranks else sorted({1, discover().allowed_core_count})
    rates = measure_fft3d(profile, FftPlan(sizes, counts, seconds))
    if as_json:
        print_json(rates.to_dict())
        return
    show_rates(rates)
    tell(f"profile: {profile}; next: rankwise predict fft3d --profile {profile}")


def show_rates(rates: FftRates) -> None:
    """Print the FFT rates of a profile."""
    from rich.table import Table

    table = Table("ranks", "triad a rank", "n", "array a rank", "local FFTs", "shuffle", "exchange")
    for of_ranks in rates.rates:
        for i, point in enumerate(of_ranks.points):
            table.add_row(
                f"{of_ranks.ranks}{' (share cores)' if of_ranks.oversubscribed else ''}" if i == 0 else "",
                format_bandwidth(of_ranks.triad_bytes_per_s) if i == 0 else "",
                str(point.n),
                format_size(round(point.bytes_per_rank)),
                f"{point.flop_per_s / 1e9:.3g} Gflop/s",
                *("–" if rate is None else format_bandwidth(rate) for rate in (point.shuffle_bytes_per_s, point.exchange_bytes_per_s)),
            )
    console().print(table)
    for counted in rates.counted:
        print(
            f"A = {counted.a:.3g} words a point for {counted.lines} FFT(s) of {counted.n} points, "
            f"{format_size(counted.cache_bytes)} cache ({counted.method})"
        )
    print(f"local FFTs: {rates.library}; rates are those of one rank, all ranks busy")
