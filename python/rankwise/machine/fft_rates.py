"""What a machine does with 3-D FFTs, as ``rankwise measure fft3d`` finds it: part of a profile, one record a rank count."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rankwise.records import Record, key, record


def between(points: Sequence[tuple[float, float]], at: float) -> float:
    """Return the value at a place between ascending points: straight in the logarithms, beyond them the nearest."""
    for (low, first), (high, second) in pairwise(points):
        if low <= at <= high:
            share = math.log(at / low) / math.log(high / low)
            return math.exp((1 - share) * math.log(first) + share * math.log(second))
    return points[0][1] if at < points[0][0] else points[-1][1]


@record
class RatePoint(Record):
    """What one rank reached in a transform of n^3 double complex points; None where a phase did not occur.

    ``bytes_per_rank`` is a rank's array. The shuffle rate counts each point loaded and stored once an exchange (Eq. 8 of
    czechowski2012), the exchange rate each point once an exchange (Eq. 3), its own share included.
    """

    n: int = key("points an axis")
    bytes_per_rank: float = key("array of a rank", above=0)
    flop_per_s: float = key("rate of local FFTs, one rank", above=0)
    shuffle_bytes_per_s: float | None = key("rate of moving data within a rank", above=0)
    exchange_bytes_per_s: float | None = key("rate of the exchange, one rank", above=0)


@record
class RankRates(Record):
    """All ranks of a count busy at once; rates are those of one rank. ``triad_bytes_per_s``: STREAM-like, beyond caches."""

    ranks: int = key("number of ranks")
    oversubscribed: bool = key("whether ranks shared a core")
    triad_bytes_per_s: float = key("rate of a triad, one rank", above=0)
    points: tuple[RatePoint, ...] = key("by size of the cube")

    def rate(self, name: str, bytes_per_rank: float) -> float:
        """Return a rate at an array size: between measured sizes straight in the logarithms, beyond them the nearest.

        Raises ValueError when no measured size has this rate.
        """
        known = [(point.bytes_per_rank, value) for point in self.points if (value := getattr(point, name)) is not None]
        if not known:
            raise ValueError(f"{name} was not measured on {self.ranks} ranks")
        return between(sorted(known), bytes_per_rank)


@record
class CountedA(Record):
    """The constant A of Eq. 2: words of 16 bytes that a local FFT of n points loads into a cache of so many bytes.

    Over n * max(log_Z n, 1); ``lines`` transforms one after the other; ``method`` names the counter.
    """

    n: int = key("points of a local FFT")
    lines: int = key("FFTs of a batch")
    cache_bytes: int = key("cache of a rank")
    a: float = key("words that an FFT moves for each point", above=0)
    method: str = key("how it was counted")


@record
class FftRates(Record):
    """The calibration of the 3-D FFT's model: library, rates by rank count, and A where it could be counted."""

    library: str = key("library of the local FFTs")
    rates: tuple[RankRates, ...] = key("by number of ranks")
    counted: tuple[CountedA, ...] = key("what of a cache was counted")
    created: str = key("when it was made, UTC")

    def of_ranks(self, ranks: int) -> RankRates | None:
        """Return the rates of a rank count, None where it was not measured."""
        return next((rates for rates in self.rates if rates.ranks == ranks), None)

    def a(self, n: float) -> CountedA | None:
        """Return the count of A nearest to a length, None where none was made."""
        return min(self.counted, key=lambda counted: abs(math.log(counted.n / n)), default=None)
