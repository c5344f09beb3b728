"""The model engine of the 3-D FFT: czechowski2012's terms with this machine's rates, or its schedule walked.

Two readings: ``calibrated`` takes the rates that ``rankwise measure fft3d`` found at the array's size in the running
program; ``literal`` is the paper's way: Eq. 1 at the best rate of the local FFT, Eq. 2 with the A that was counted, Eq. 8
and Eq. 2 at STREAM's bandwidth, Eq. 3 at the all-to-all bandwidth of large arrays. The time of the exchanges is either
that of the all-to-all (``measured``), or that of the pairwise schedule walked over the profile's links (``walk``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankwise.engines.fft3d import FftCase, FftRow, Span, fitting_grids
from rankwise.engines.placement import Location, blocked_locations
from rankwise.engines.predict import Model
from rankwise.errors import InputError
from rankwise.machine.fft_rates import FftRates, RankRates
from rankwise.machine.profile import Profile
from rankwise.models.fft3d import Transform, connected_network_time, flops_time, literal, memory_time, shuffle_time

CALIBRATED, LITERAL = "calibrated", "literal"
READINGS = (CALIBRATED, LITERAL)
MEASURED, WALK = "measured", "walk"
NETWORKS = (MEASURED, WALK)


class FftModel:
    """Predicts 3-D FFTs from a profile's ``fft3d`` record."""

    name = "model"

    def __init__(self, profile: Profile, reading: str = CALIBRATED, network: str | None = None) -> None:
        """``network``: None takes what fits the method: the all-to-all measured, pairwise walked.

        Raises InputError when the profile has no rates of FFTs.
        """
        if profile.fft3d is None:
            raise InputError("the profile has no rates of FFTs: add them with 'rankwise measure fft3d'")
        self._profile = profile
        self._rates: FftRates = profile.fft3d
        self._reading = reading
        self._network = network
        self._machine = Model(profile).machine

    def rows(self, cases: Sequence[FftCase]) -> Iterator[FftRow]:
        """Yield one row a case. Raises InputError for a rank count whose rates were not measured."""
        for case in cases:
            yield self._row(case)

    def best_grid(self, case: FftCase) -> tuple[int, int]:
        """Return the process grid of the case's ranks that takes the least time, of equals the one with the most slabs."""
        from dataclasses import replace

        grids = fitting_grids(case.n, case.real, case.ranks)
        return min(grids, key=lambda grid: (self._row(replace(case, grid=grid)).total.time_s, -grid[0]))

    def _row(self, case: FftCase) -> FftRow:
        rates = self._rates.of_ranks(case.ranks)
        if rates is None:
            known = ", ".join(str(r.ranks) for r in self._rates.rates)
            raise InputError(
                f"the profile's FFT rates are of {known} ranks, not of {case.ranks}: "
                f"add them with 'rankwise measure fft3d --ranks {case.ranks}'"
            )
        network = self._network or (MEASURED if case.method == "alltoall" else WALK)
        try:
            terms = self._terms(case, rates, network)
        except ValueError as error:
            raise InputError(str(error)) from None
        phases = {
            "compute": max(terms["flops_s"], terms.get("memory_s", 0.0)),
            "shuffle": terms["shuffle_s"],
            "exchange": terms["walk_s"] if network == WALK else terms["network_s"],
        }
        total = sum(phases.values())
        return FftRow(
            engine=self.name,
            case=case,
            total=_point(total),
            phases={name: _point(time_s) for name, time_s in phases.items()},
            verified=None,
            notes=tuple(self._notes(case, rates, network)),
            oversubscribed=rates.oversubscribed,
            library=self._rates.library,
            terms=terms,
        )

    def _terms(self, case: FftCase, rates: RankRates, network: str) -> dict[str, float]:
        """Return the terms by name, in seconds."""
        size = case.bytes_per_rank
        # The model's equations are for cubes: one of as many points. A rank is a "node" of the paper.
        transform = Transform(
            n=case.points ** (1 / 3), word_bytes=size * case.ranks / case.points, exchanges=len(case.exchanges), real=case.real
        )
        precision = 1.0 if case.precision == "double" else 2.0
        if self._reading == CALIBRATED:
            terms = {"flops_s": case.flops_per_rank / (precision * rates.rate("flop_per_s", size)), "shuffle_s": 0.0, "network_s": 0.0}
            if case.exchanges:
                terms["shuffle_s"] = shuffle_time(transform, case.ranks, rates.rate("shuffle_bytes_per_s", size))
                terms["network_s"] = connected_network_time(transform, case.ranks, rates.rate("exchange_bytes_per_s", size))
        else:
            best = max(point.flop_per_s for point in rates.points)
            counted = self._rates.a(transform.n)
            terms = {
                "flops_s": flops_time(transform, case.ranks, precision * best),
                "shuffle_s": shuffle_time(transform, case.ranks, rates.triad_bytes_per_s),
                "network_s": 0.0,
            }
            if counted is not None:
                terms["memory_s"] = memory_time(
                    transform, case.ranks, rates.triad_bytes_per_s, counted.cache_bytes, literal(counted.a)
                )
            if case.exchanges:
                largest = max(point.bytes_per_rank for point in rates.points)
                terms["network_s"] = connected_network_time(transform, case.ranks, rates.rate("exchange_bytes_per_s", largest))
        if network == WALK:
            terms["walk_s"] = self._walk_s(case)
        return terms

    def _walk_s(self, case: FftCase) -> float:
        """Return the time of the pairwise schedules of all exchanges, each in its row or column of ranks."""
        from rankwise import _core

        locations = blocked_locations(case.ranks, self._profile, None)
        p1, p2 = case.grid
        rows: dict[bool, list[Location]] = {True: locations[:p2], False: locations[:: p2][:p1]}
        once = [along for along, ranks in ((True, p2), (False, p1)) if ranks > 1]
        passes = 2 if case.order == "natural" else 1
        return passes * sum(
            _core.transpose_cost(round(case.bytes_per_rank / len(rows[along])), rows[along], self._machine) for along in once
        )

    def _notes(self, case: FftCase, rates: RankRates, network: str) -> Iterator[str]:
        sizes = [point.bytes_per_rank for point in rates.points]
        if not min(sizes) <= case.bytes_per_rank <= max(sizes):
            yield f"extrapolated: an array of {case.bytes_per_rank:.3g} B a rank lies beyond those of the calibration"
        if rates.oversubscribed:
            yield f"the rates of {rates.ranks} ranks are those of ranks that share cores"
        if self._reading == LITERAL and not self._rates.counted:
            yield "A was not counted (no valgrind): Eq. 2 is left out"
        if network == WALK:
            yield "walk: the links' times are of two ranks alone; ranks that exchange at once share the memory's bandwidth"


def _point(time_s: float) -> Span:
    return Span(time_s, time_s, time_s)
