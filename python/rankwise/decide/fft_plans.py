"""Plans of the 3-D FFT tried in place: the very choice that a plan of the library makes by itself (src/fft/choice.cpp)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankwise.decide.ranking import Ranking
from rankwise.engines.fft_lengths import is_of_here, this_machine
from rankwise.engines.placement import Placement
from rankwise.launch.mpi import result_of
from rankwise.launch.under_way import under_way
from rankwise.machine.profile import Profile
from rankwise.units import format_time
from rankwise.workloads.base import Case, Row, Span
from rankwise.workloads.fft3d_case import TIMED, FftCase, FftFigures

_GAIN = 0.03  # another than the judge's first must be as much quicker


def tried_plans(profile: Profile, cases: Sequence[Case], placement: Placement) -> Ranking | None:
    """Return the candidates of one question as trials in place order them, or as earlier ones did, from a file of here.

    None where nothing is to be tried: other workloads and readings, one candidate, a profile of another machine,
    several nodes, more ranks than cores. Raises RankwiseError and its kinds.
    """
    asked = [case for case in cases if isinstance(case, FftCase) and case.reading == TIMED]
    if len(asked) < len(cases) or len(asked) < 2 or not is_of_here(profile):
        return None
    case = asked[0]
    if placement.of(case).most_on_a_node < case.ranks or case.ranks > len(this_machine().cpus):
        return None
    grid = case.grid if len({one.grid for one in asked}) == 1 else (0, 0)
    record = _choice(profile, case, grid)
    found = [(_case(case, one), one) for one in record["candidates"]]
    if not any("tried_s" in one for _, one in found):
        return None
    rows = [_row(of, one, str(record["library"])) for of, one in sorted(found, key=lambda pair: _place(pair[1]))]
    return Ranking(tuple(rows), *_words(rows, bool(record["kept"])))


def _choice(profile: Profile, case: FftCase, grid: tuple[int, int]) -> Mapping[str, Any]:
    here = this_machine()
    with tempfile.TemporaryDirectory() as folder, under_way("trying plans", 1, "nothing is kept") as progress:
        path = Path(folder) / "machine.json"
        profile.save(path)
        # fmt: off
        arguments = [
            "fft3d-choice", "--n", ",".join(map(str, case.n)), "--grid", ",".join(map(str, grid)),
            "--real", str(int(case.real)), "--precision", case.precision, "--order", case.order, "--library", case.library,
            "--planning", case.planning, "--batch", str(case.batch), "--profile", str(path),
        ]
        # fmt: on
        record = result_of(here.stream(here.start(replace(case, grid=(case.ranks, 1))), arguments), "choice")
        progress.advance()
        return record


def _case(case: FftCase, one: Mapping[str, Any]) -> FftCase:
    p1, p2 = map(int, one["grid"])
    chunks, packed, in_flight = (int(one[name]) for name in ("chunks", "together", "in_flight"))
    return replace(case, grid=(p1, p2), method=str(one["method"]), chunks=chunks, packed=packed, in_flight=in_flight)


def _place(one: Mapping[str, Any]) -> tuple[bool, bool, float]:
    return not one["chosen"], "tried_s" not in one, one.get("tried_s", one["predicted_s"])


def _row(case: FftCase, one: Mapping[str, Any], library: str) -> Row:
    is_tried = "tried_s" in one
    notes = [] if is_tried else ["ways that were not tried: by the cost model, with an estimate of the local work"]
    return Row.of(
        "run" if is_tried else "model", case, Span.point(float(one["tried_s" if is_tried else "predicted_s"])),
        case.messages_sent, case.bytes_sent, None, notes,
        figures=FftFigures(terms={"judge_s": float(one["predicted_s"])}, library=library).to_dict(),
    )  # fmt: skip


def _words(rows: Sequence[Row], is_kept: bool) -> tuple[str | None, str]:
    """Return why there is no clear choice among the first two, if so, and what came of the trials."""
    tried = [row for row in rows if row.engine == "run"]
    best = tried[0]
    said = f"{best.case.way} is fastest: {format_time(best.time_s)}, the least of {len(tried)} plans tried in place"
    if is_kept:
        said += " before"
    if len(tried) == 1:
        return None, said
    other = tried[1]
    if abs(other.time_s / best.time_s - 1) >= _GAIN:
        return None, f"{said}; {other.case.way} takes {100 * (other.time_s / best.time_s - 1):.0f} % longer"
    doubt = f"{other.case.way} takes {format_time(other.time_s)}, which is within the 3 % that trials repeat to"
    return doubt, f"{best.case.way} is taken: {format_time(best.time_s)} tried in place"
