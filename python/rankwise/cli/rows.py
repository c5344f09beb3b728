"""Rows, comparisons and choices of any workload on the screen or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from rankwise.cli.base import print_json, tell
from rankwise.cli.table import Table
from rankwise.errors import EXIT_FAILURE
from rankwise.units import format_interval, format_percent, format_size, format_time

if TYPE_CHECKING:
    from pathlib import Path

    from rankwise.api.asking import Ranked, Times, Validated
    from rankwise.workloads.base import Row, Workload
    from rankwise.workloads.comparison import Paired, Validation

_VERIFIED = {True: "verified", False: "WRONG", None: "–"}


_LEAVE = ("checked", "engine", "sent", "messages", "at present speed", "ranks", "c", "noise")


def show_table(lines: Sequence[dict[str, str]], leave: Sequence[str] = _LEAVE) -> None:
    """Print lines of the same columns, of which those that may leave do so in their order."""
    table = Table(*lines[0], leave=leave)
    for line in lines:
        table.add_row(*line.values())
    table.show()


def show_times(found: Times, as_json: bool) -> None:
    """Print rows as a table or as JSON, there with the verdict on the profile that they come from."""
    if as_json:
        print_json(found.to_dict())
        return
    if found.aside is not None:
        show_table([dict(zip(found.aside.columns, line, strict=True)) for line in found.aside.lines])
        return
    print(found.conclusion)
    show_table([line(found.workload, row) for row in found.rows])
    for remark in found.workload.remarks(found.rows):
        print(remark)
    tell_notes(found.rows)


def write_timeline(found: Times, path: Path | None) -> None:
    """Write the time line of the shortest row where one is wanted."""
    if path is not None:
        drawn = found.timeline()
        drawn.save(path)
        tell(f"time line: {path}: {drawn.words[-1]}")


def line(workload: Workload, row: Row) -> dict[str, str]:
    """Return a row as a line of a table, by column."""
    return {
        "engine": row.engine,
        **row.case.cells(),
        "time": format_time(row.time_s),
        "95 %": format_interval(row.interval_s),
        "messages": "–" if row.messages_per_rank is None else str(row.messages_per_rank),
        "sent": "–" if row.bytes_per_rank is None else format_size(row.bytes_per_rank),
        **workload.columns(row),
        "checked": _VERIFIED[row.verified],
    }


def show_validation(validation: Validation, as_json: bool = False) -> None:
    """Print prediction beside measurement."""
    if as_json:
        print_json(validation.to_dict())
        return
    # What predictions are held against: real runs, or simulations where nothing runs.
    simulated = all(comparison.measured.engine == "simgrid" for comparison in validation.comparisons)
    held_against = "simulated" if simulated else "measured"
    paired = validation.session is not None
    several = len({comparison.predicted.engine for comparison in validation.comparisons}) > 1
    lines = []
    for comparison in validation.comparisons:
        lines.append({
            **({"by": comparison.predicted.engine} if several or not paired else {}),
            **comparison.case.cells(),
            "ranks": str(comparison.case.ranks),
            **(_model_columns(comparison.paired) if paired else {}),
            "predicted": format_time(comparison.predicted.time_s),
            held_against: format_time(comparison.measured.time_s),
            **({} if paired else {"95 %": format_interval(comparison.measured.interval_s)}),
            "raw error" if paired else "error": format_percent(comparison.error),
            **{name: _signed(error) for name, error in comparison.phase_errors().items()},
            **({} if paired else {"at present speed": _signed(comparison.error_at_present_speed)}),
            "checked": _VERIFIED[comparison.measured.verified],
        })  # fmt: skip
    print(validation.headline())
    if paired:
        _tell_paired(validation)
    summary = validation.summary()
    floor = summary["noise_floor"]
    noise = "" if floor is None else f" (a second run predicts the first to {_percent(floor)})"
    of_phases = "".join(f", {name} {_percent(error)}" for name, error in summary.get("phases", {}).items())
    print(
        f"{'by the profile: ' if paired else ''}mean absolute error {_percent(summary['mape'])}{of_phases}{noise}, "
        f"mean error {_percent(summary['bias'])}, "
        f"{_percent(summary['share_inside'])} of the {'simulations' if simulated else 'measurements'} inside the predicted "
        "interval"
    )
    if paired:
        _show_groups(validation)
    show_table(lines)
    for name, value in validation.comparisons[0].case.settings().items():
        print(f"{name}: {value}")
    drift = summary["drift"]
    if drift is not None:
        print(
            f"ping-pong beside the {'exchanges' if paired else 'exchange'} took {drift:.2f} times what the "
            f"profile says; with that, the mean absolute error is {_percent(summary['mape_at_present_speed'])}"
        )
        if not 0.85 < drift < 1.18:
            tell("note: the machine is not as fast as when the profile was measured: measure again for its present speed")
    tell_notes([comparison.predicted for comparison in validation.comparisons])
    tell_notes([comparison.measured for comparison in validation.comparisons])


def _tell_paired(validation: Validation) -> None:
    """Say what was found of the model itself."""
    summary = validation.summary()["paired"]
    used = f"{summary['launches']} launches" + (
        f", {summary['left_out']} left out as noisy or cut off" if summary["left_out"] else ""
    )
    if summary["unclear"]:
        print(f"the figures below are of noisy launches ({used})")
    print(
        f"model error {_percent(summary['error'])}, its floor {_percent(summary['floor'])}; {summary['wrong']} of "
        f"{sum(group['rows'] for group in summary['groups'])} rows wrong (beyond twice their floor); {used}"
    )
    drift = "–" if summary["drift"] is None else f"{summary['drift']:.2f} times what the profile says"
    fresh = (
        ""
        if summary["fresh"] is None
        else f"; messages in exchanges (fresh blocks, a common start) {summary['fresh']:.2f} times these"
    )
    print(f"drift: warm ping-pongs took {drift}{fresh}")
    if summary["half_width"] is None:
        print("fewer than 20 rows of other algorithms and ways: no interval of the model's error can reach 95 %")
    else:
        print(
            f"{_percent(summary['share_inside'])} of the rows lie within the ± {_percent(summary['half_width'])} that other "
            "algorithms and ways let expect"
        )


def _show_groups(validation: Validation) -> None:
    """Print what was found of each algorithm and way of sending."""
    show_table(
        [
            {
                "algorithm, mode": group["group"],
                "rows": str(group["rows"]),
                "model error": _percent(group["error"]),
                "floor": _percent(group["floor"]),
                "wrong": str(group["wrong"]),
            }
            for group in validation.summary()["paired"]["groups"]
        ]
    )


def _model_columns(paired: Paired | None) -> dict[str, str]:
    if paired is None:
        return {"model error": "–", "floor": "–", "model": "–"}
    return {"model error": _signed(paired.error), "floor": _percent(paired.floor), "model": paired.verdict}


def show_ranking(found: Ranked, as_json: bool) -> None:
    """Print candidates, the fastest first."""
    if as_json:
        print_json(found.to_dict())
        return
    ranking, workload = found.ranking, found.workload
    if ranking.doubt is not None:
        print(f"{ranking.doubt}.")
    print(f"{ranking.reason}.")
    show_table([{"": str(place), **line(workload, row)} for place, row in enumerate(ranking.rows, 1)])
    tell_notes(ranking.rows)


def tell_notes(rows: Sequence[Row]) -> None:
    """Say on stderr what weakens some rows, each thing once."""
    for note in dict.fromkeys(note for row in rows for note in row.notes):
        tell(f"note: {note}")


def fail_unless_verified(found: Times | Validated) -> None:
    """Leave with an exit code that says so where something wrong arrived."""
    if found.wrong:
        tell(f"rankwise: {found.wrong} of {len(found.records())} {found.workload.wrong}")
        raise typer.Exit(EXIT_FAILURE)


def _signed(fraction: float | None) -> str:
    return "–" if fraction is None else format_percent(fraction)


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.1f} %"
