"""The workload "fft3d": one 3-D FFT of an array divided among ranks, by its phases."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rankwise import _core
from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.records import record
from rankwise.units import format_time, parse_ints, parse_shape
from rankwise.workloads.base import (
    SIMULATED,
    Options,
    Pricer,
    Row,
    Site,
    Span,
    Times,
    Workload,
    joined,
    option,
    require_ranks,
)
from rankwise.workloads.fft3d_case import CALIBRATED, METHODS, PHASES, SHORTENED, TIMED, FftTransform
from rankwise.workloads.fft3d_model import modelled, predicted, with_computing

_MOST_POINTS = 2**20
_REPEATS_TO = 0.03
_LOST, _LEAST_QUIET = 0.02, 5
SLICES = 8  # of a slab that is asked about in slices


@record
class FftCase(FftTransform):
    """A transform that is predicted and run."""

    def predict(self, model: Pricer) -> Row:
        if not self.open_grid:
            return predicted(self, model)
        grids = list(self.ingredients) or fitting_grids(self.n, self.real, self.ranks)
        rows = [predicted(replace(self, grid=grid, open_grid=False), model) for grid in grids]
        # Of equals the one with the most slabs.
        return min(rows, key=lambda row: (row.time_s, -grids[rows.index(row)][0]))

    @property
    def by_turns(self) -> bool:
        return self.reading == SHORTENED

    def modelled(self, row: Row) -> Row:
        return modelled(self, row)

    def require_fair(self, profile: Profile) -> None:
        if self.by_turns or profile.fft3d is None or len(set(self.n)) > 1:
            return
        if self.n[0] in {point.n for rates in profile.fft3d.rates for point in rates.points}:
            raise InputError(
                f"the calibration was made at n = {self.n[0]}, too: validate it at other sizes, "
                "or calibrate at others with 'rankwise measure fft3d --n'"
            )

    @property
    def together(self) -> Hashable:
        return self

    def arguments(self, items: Sequence[Any], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        return [
            "--n", joined(self.n),
            "--grid", joined(self.grid),
            "--real", str(int(self.real)),
            "--precision", self.precision,
            "--order", self.order,
            "--method", self.method,
            "--direction", self.direction,
            "--chunks", str(self.chunks),
            "--library", self.library,
            # Where computing takes no time there is nothing to plan for.
            "--planning", "estimate" if node_of_rank is None else self.planning,
            *(["--turns", "1"] if self.by_turns and not simulated else []),
        ]  # fmt: skip

    def effort(self, seconds: float | None, crowded: bool) -> Sequence[str]:
        # Planned anew, a transform may be another one, 10 % slower: what predictions are made of is run.
        from rankwise.cache import wisdom_arguments

        return SIMULATED if seconds is None else ("--budget-s", f"{seconds:.6f}", *wisdom_arguments(self.precision))

    def undisturbed(self, record: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
        """Leave out what lost more than 2 % of its time to other programs, where at least five of each kind are left.

        A scaled share of a transform that nobody interrupts says nothing of a whole one that is interrupted: on a busy machine
        the median of the one is not that of the other.
        """
        if "shortened_lost_s" not in record:
            return record, None
        import numpy as np

        shortened = {name: np.asarray(times) for name, times in record["shortened"][0].items() if name.endswith("_s")}
        of_shortened = sum(shortened.values()) + np.asarray(record["imbalance_s"])
        # Of local work alone there are no whole transforms.
        times_s, lost_s = record.get("time_s", of_shortened), record.get("lost_s", record["shortened_lost_s"])
        quiet = [
            np.asarray(lost_s) <= _LOST * np.asarray(times_s),
            np.asarray(record["shortened_lost_s"]) <= _LOST * of_shortened,
        ]
        if min(map(np.count_nonzero, quiet)) < _LEAST_QUIET:
            left = min(float(np.mean(of_kind)) for of_kind in quiet)
            return (
                record,
                f"other programs interrupted all but {100 * left:.0f} % of the transforms: the errors are theirs, too",
            )

        def kept(values: Sequence[float], which: int) -> list[float]:
            return list(np.asarray(values)[quiet[which]])

        def of_rank(rank: Mapping[str, Any], which: int) -> dict[str, Any]:
            return {name: kept(values, which) if name.endswith("_s") else values for name, values in rank.items()}

        return {
            **record,
            "time_s": kept(times_s, 0),
            "phases": [of_rank(rank, 0) for rank in record.get("phases", ())],
            "shortened": [of_rank(rank, 1) for rank in record["shortened"]],
            "imbalance_s": kept(record["imbalance_s"], 1),
        }, None

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        import numpy as np

        # ranks x repetitions of each phase
        of_ranks = {phase: np.asarray([rank[f"{phase}_s"] for rank in record["phases"]], dtype=np.float64) for phase in PHASES}
        isolated = {
            phase: Span.of(np.asarray(record[name], dtype=np.float64)).to_dict()
            for phase, name in (("compute", "fft_s"), ("exchange", "alltoall_s"))
            if phase == "compute" or self.exchanges
        }
        per_rank = [{phase: Span.of(of_ranks[phase][rank]).to_dict() for phase in PHASES} for rank in range(self.ranks)]
        checks = ("spectrum_error", "parseval_error", "round_trip_error", "error_bound")
        return {
            "messages_per_rank": self.messages_sent,
            "bytes_per_rank": self.bytes_sent,
            "parts": {phase: Span.of(times.mean(axis=0)) for phase, times in of_ranks.items()},
            "figures": {
                "per_rank": per_rank,
                "isolated": isolated,
                "terms": {},
                "checks": {name: float(record[name]) for name in checks},
                "library": str(record["library"]),
                "array_bytes": int(record["array_bytes"]),
                "memory_bytes": int(record["memory_bytes"]),
                **({"shortened": _shortened(record)} if "shortened" in record else {}),
            },
        }

    def simulated(self, row: Row, profile: Profile | None) -> Row:
        return with_computing(row, self, profile)


def _shortened(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the shortened transforms of a launch took: each phase and the imbalance, and their sums, as spans.

    The interval of ``total`` holds the medians of transforms as these are resampled, at least 3 % to each side: what
    transforms of one launch repeat to.
    """
    import numpy as np

    phases = {phase: np.asarray(record["shortened"][0][f"{phase}_s"], dtype=np.float64) for phase in PHASES}
    phases["imbalance"] = np.asarray(record["imbalance_s"], dtype=np.float64)
    totals = np.sum(list(phases.values()), axis=0)
    drawn = np.median(np.random.default_rng(0).choice(totals, (1000, totals.size)), axis=1)
    middle = float(np.median(totals))
    low, high = map(float, np.quantile(drawn, (0.025, 0.975)))
    total = Span(middle, min(low, middle * (1 - _REPEATS_TO)), max(high, middle * (1 + _REPEATS_TO)))
    return {**{phase: Span.of(times).to_dict() for phase, times in phases.items()}, "total": total.to_dict()}


def fitting_grids(n: tuple[int, int, int], real: bool, ranks: int) -> list[tuple[int, int]]:
    """Return the process grids p1 x p2 of so many ranks in which every rank has a pencil in every stage."""
    last = n[2] // 2 + 1 if real else n[2]
    return [
        (p1, ranks // p1)
        for p1 in range(1, ranks + 1)
        if ranks % p1 == 0 and p1 <= min(n[0], n[1]) and ranks // p1 <= min(n[1], last)
    ]


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
