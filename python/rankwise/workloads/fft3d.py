"""The workload "fft3d": one 3-D FFT of an array divided among ranks, by its phases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rankwise import _core
from rankwise.errors import InputError
from rankwise.units import format_time, parse_ints, parse_shape
from rankwise.workloads.base import Options, Row, Site, Workload, option, require_ranks
from rankwise.workloads.fft3d_case import CALIBRATED, METHODS, PHASES, SHORTENED, TIMED, FftCase, fitting_grids

_MOST_POINTS = 2**20
SLICES = 8  # of a slab that is asked about in slices


def fewest_bytes(grids: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the grid whose exchanges move the fewest bytes; of equals the one with the most slabs.

    Each exchange among p ranks sends the share 1 - 1/p of every rank's points (Eq. 3 of czechowski2012 without the own
    share): a slab exchanges once, pencils twice.
    """
    return min(grids, key=lambda grid: (sum(1 - 1 / p for p in grid), -grid[0]))


def fft_grid(n: tuple[int, int, int], real: bool, ranks: int, asked: tuple[int, int] | None = None) -> tuple[int, int]:
    """Return the process grid asked for, else that which moves the fewest bytes. Raises InputError where none fits."""
    if not 1 <= min(n) or max(n) > _MOST_POINTS:
        raise InputError(f"--n {'x'.join(map(str, n))} has an axis that cannot be transformed: take 1 to {_MOST_POINTS} points")
    if asked is not None and math.prod(asked) != ranks:
        raise InputError(
            f"--grid {asked[0]}x{asked[1]} has {math.prod(asked)} ranks but --ranks is {ranks}: "
            "make them equal or leave one out"
        )
    fitting = fitting_grids(n, real, ranks)
    grid = asked or (fewest_bytes(fitting) if fitting else None)
    if grid is None or grid not in fitting:
        raise InputError(
            f"{ranks} ranks{'' if asked is None else ' as ' + 'x'.join(map(str, asked))} are more than "
            f"the pencils of {'x'.join(map(str, n))} points give work to: take fewer ranks, another grid or larger axes"
        )
    return grid


_MODEL, _RUN = ("predict", "validate", "choose"), ("run", "validate")


@dataclass(frozen=True)
class FftOptions(Options):
    n: str = option("64", "Points an axis: 128, several as 64,128, axes that differ as 64x48x32.")
    ranks: str | None = option(None, "Numbers of ranks: 4 or 1,2,4.")
    grid: str | None = option(None, "Process grid p1xp2: 2x2; 4x1 is slabs. Default: that which moves the fewest bytes.")
    real: bool = option(False, "Real data: forward to half a spectrum, backward from it.", "--real")
    precision: Literal["double", "single"] = option("double", "double or single.")
    order: Literal["transposed", "natural"] = option(
        "transposed", "Order out: transposed (fewer exchanges) or natural (as it came in)."
    )
    method: Literal["alltoall", "pairwise", "node-aware"] = option(
        "alltoall", "Exchanges: alltoall (MPI's collective), pairwise or node-aware (rankwise's)."
    )
    direction: Literal["forward", "backward"] = option("forward", "forward or backward.")
    chunks: int = option(1, "Slices of a slab whose exchange is under way while the next ones are transformed.")
    batch: int = option(1, "Fields that one call transforms.", verbs=("choose",))
    library: Literal["auto", "fftw", "mkl"] = option("auto", "Local FFTs: auto, fftw or mkl.", verbs=(*_RUN, "simulate"))
    planning: Literal["estimate", "measure", "patient"] = option(
        "measure", "How hard the library plans: estimate, measure or patient.", verbs=_RUN
    )
    reading: Literal["timed", "calibrated", "literal", "shortened"] | None = option(
        None,
        "timed: parts of this very transform, timed here and kept; calibrated: rates of the profile; literal: the paper's Eq. "
        "1, 2, 3 and 8 with counted A; shortened (validate): parts interleaved with it. Default: timed, for a profile of "
        "another machine calibrated; validate: shortened.",
        verbs=_MODEL,
    )
    network: Literal["measured", "walk"] | None = option(
        None,
        "Exchanges by the all-to-all measured, or by the schedule's walk over the links. Default: by method.",
        verbs=_MODEL,
    )


class FftWorkload(Workload):
    id = "fft3d"
    title = "a 3-D FFT (local FFTs, packing, transposes)"
    wrong = "transforms gave wrong values"
    options = FftOptions
    walked = False
    seconds = 0.5
    examples = {
        "predict": "rankwise predict fft3d --n 128 --ranks 2 --profile machine.json",
        "simulate": "rankwise simulate fft3d --n 64 --ranks 16 --machine hopper --ranks-per-node 4",
        "run": "rankwise run fft3d --n 128 --ranks 4 --grid 2x2",
        "validate": "rankwise validate fft3d --n 64,128 --ranks 1,2 --profile machine.json",
        "choose": "rankwise choose fft3d --n 128 --ranks 2 --profile machine.json",
    }
    details = {
        "run": "Every run checks itself on a random field: values against the definition, Parseval's theorem, the way back.",
        "predict": "Parts of the transform are timed on this machine when a length is first asked for (seconds), and saved. "
        "Exchanges between nodes are predicted by the cost model. For a profile of another "
        "machine, and with --reading calibrated, the rates are those that 'rankwise measure fft3d' put into it. Without "
        "--grid the model takes the grid that it finds best.",
        "validate": "The model times a share of each stage (8 MB, scaled up) and the exchanges, interleaved with whole "
        "transforms in one launch. With --reading calibrated the profile's "
        "rates are validated; sizes that the calibration has seen are then refused.",
        "choose": "On this machine the five best plans of the model are run, interleaved, as the library's own choice does. "
        "The result is saved for both. For another machine, several nodes "
        "and more ranks than cores the model answers.",
        "simulate": "The exchanges are simulated; computing takes what the profile's rates say, or no time.",
    }

    def cases(self, options: FftOptions, site: Site) -> list[FftCase]:
        o = options
        by_turns = site.verb == "validate" and o.network is None
        usual = TIMED if site.verb in ("predict", "choose") and o.network is None else CALIBRATED
        reading = o.reading or (SHORTENED if by_turns else usual)
        if reading == TIMED and site.verb == "validate":
            raise InputError("--reading timed is for 'rankwise predict fft3d': validate times the same parts again (shortened)")
        if reading == SHORTENED and not by_turns:
            raise InputError("--reading shortened times transforms: it is for 'rankwise validate fft3d' without --network")
        if not 1 <= o.chunks <= 1024:
            raise InputError(f"--chunks {o.chunks} is not a number of slices: give 1 to 1024")
        if not 1 <= o.batch <= 2**20:
            raise InputError(f"--batch {o.batch} is not a number of fields: give 1 to {2**20}")
        if by_turns and o.chunks > 1:
            raise InputError("--chunks: parts of a transform in slices overlap and cannot be interleaved: leave it out")
        asked = None if o.grid is None else _process_grid(o.grid)
        # Rates are of few numbers of ranks.
        counts = parse_ints(o.ranks, "--ranks") if o.ranks is not None else [site.ranks or (math.prod(asked) if asked else 2)]
        require_ranks(max(counts), "a 3-D FFT")
        return [
            FftCase(
                n, fft_grid(n, o.real, ranks, asked), o.real, o.precision, o.order, o.method, o.direction,
                o.chunks, o.batch, library=o.library, planning=o.planning, reading=reading, network=o.network,
                open_grid=asked is None and site.verb == "predict",
            )
            for n in map(_axes, o.n.split(","))
            for ranks in counts
        ]  # fmt: skip

    def candidates(self, options: FftOptions, site: Site) -> list[FftCase]:
        return [
            replace(case, grid=grid, method=method, packed=packed, chunks=chunks, in_flight=in_flight)
            for case in self.cases(options, site)
            for grid in ([case.grid] if options.grid is not None else fitting_grids(case.n, case.real, case.ranks))
            for method in METHODS
            for packed in _core.fft_together(case.ranks, case.batch, case.bytes_per_rank)
            for chunks, in_flight in ((1, 1), (SLICES, 1), (1, 2))
            if (method != "node-aware" or grid[1] == 1)
            and (chunks == 1 or (grid[1] == 1 and case.ranks > 1))
            and (in_flight == 1 or packed < case.batch)
        ]

    def columns(self, row: Row) -> dict[str, str]:
        isolated = row.figures.get("isolated", {})
        array, memory = row.figures.get("array_bytes"), row.figures.get("memory_bytes")
        if not row.parts:  # a plan that was tried, or might have been
            assert isinstance(row.case, FftCase)
            return {"way": row.case.way.partition(", ")[2]}
        return {
            **{phase: format_time(row.parts[phase].time_s) for phase in PHASES},
            "alone: FFTs": format_time(isolated["compute"]["time_s"]) if "compute" in isolated else "–",
            "alone: exchange": format_time(isolated["exchange"]["time_s"]) if "exchange" in isolated else "–",
            "memory": f"{memory / array:.2f} arrays" if array and memory else "–",
        }

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        kinds = {
            f"{'real' if case.real else 'complex'} data, {case.precision} precision, {case.direction}, {case.order} order, "
            f"{case.method}"
            for case in (row.case for row in rows)
            if isinstance(case, FftCase)
        }
        lines = sorted(kinds)
        for row in rows:
            if len(row.figures.get("per_rank", ())) > 1:
                lines.append(
                    f"{row.case.cells()['n']} on {row.case.ranks} ranks, each (compute, shuffle, exchange): "
                    + "; ".join(
                        ", ".join(format_time(rank[phase]["time_s"]) for phase in PHASES)
                        for rank in row.figures["per_rank"][:16]
                    )
                )
        return [*lines, *(f"local FFTs: {name}" for name in dict.fromkeys(row.figures.get("library") for row in rows) if name)]


def _process_grid(text: str) -> tuple[int, int]:
    shape = parse_shape(text, "--grid")
    if len(shape) != 2:
        raise InputError(f"--grid {text} is not a process grid of two axes: write it as 2x2, or 4x1 for slabs")
    return shape[0], shape[1]


def _axes(text: str) -> tuple[int, int, int]:
    shape = parse_shape(text, "--n")
    if len(shape) == 1:
        return shape[0], shape[0], shape[0]
    if len(shape) != 3:
        raise InputError(f"--n '{text}' is not the size of a 3-D array: write it as 128 or 64x48x32")
    return shape[0], shape[1], shape[2]


WORKLOAD = FftWorkload()
