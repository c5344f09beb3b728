"""What a machine does with 3-D FFTs, as ``rankwise measure fft3d`` finds it: part of a profile, one record a rank count."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from rankwise.machine.link import finite, whole


@dataclass(frozen=True)
class RatePoint:
    """What one rank reached in a transform of n^3 double complex points; None where a phase did not occur.

    ``bytes_per_rank`` is a rank's array. The shuffle rate counts each point loaded and stored once an exchange (Eq. 8 of
    czechowski2012), the exchange rate each point once an exchange (Eq. 3), its own share included.
    """

    n: int
    bytes_per_rank: float
    flop_per_s: float
    shuffle_bytes_per_s: float | None
    exchange_bytes_per_s: float | None


@dataclass(frozen=True)
class RankRates:
    """All ranks of a count busy at once; rates are those of one rank. ``triad_bytes_per_s``: STREAM-like, beyond caches."""

    ranks: int
    oversubscribed: bool
    triad_bytes_per_s: float
    points: tuple[RatePoint, ...]

    def rate(self, name: str, bytes_per_rank: float) -> float:
        """Return a rate at an array size: between measured sizes straight in the logarithms, beyond them the nearest.

        Raises ValueError when no measured size has this rate.
        """
        known = [(point.bytes_per_rank, value) for point in self.points if (value := getattr(point, name)) is not None]
        if not known:
            raise ValueError(f"{name} was not measured on {self.ranks} ranks")
        known.sort()
        for (low, rate_low), (high, rate_high) in pairwise(known):
            if low <= bytes_per_rank <= high:
                share = math.log(bytes_per_rank / low) / math.log(high / low)
                return float(rate_low ** (1 - share) * rate_high**share)
        return float(known[0][1] if bytes_per_rank < known[0][0] else known[-1][1])


@dataclass(frozen=True)
class CountedA:
    """The constant A of Eq. 2: words of 16 bytes that a local FFT of n points loads into a cache of so many bytes.

    Over n * max(log_Z n, 1); ``lines`` transforms one after the other; ``method`` names the counter.
    """

    n: int
    lines: int
    cache_bytes: int
    a: float
    method: str


@dataclass(frozen=True)
class FftRates:
    """The calibration of the 3-D FFT's model: library, rates by rank count, and A where it could be counted."""

    library: str
    rates: tuple[RankRates, ...]
    counted: tuple[CountedA, ...]
    created: str

    def of_ranks(self, ranks: int) -> RankRates | None:
        """Return the rates of a rank count, None where it was not measured."""
        return next((rates for rates in self.rates if rates.ranks == ranks), None)

    def a(self, n: float) -> CountedA | None:
        """Return the count of A nearest to a length, None where none was made."""
        return min(self.counted, key=lambda counted: abs(math.log(counted.n / n)), default=None)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> FftRates:
        """Read the record of a profile. Raises ValueError, KeyError or TypeError for one that is not right."""
        return FftRates(
            str(record["library"]),
            tuple(
                RankRates(
                    whole(rates["ranks"], "ranks"), bool(rates["oversubscribed"]), _rate(rates, "triad_bytes_per_s"),
                    tuple(_point(point) for point in _list(rates["points"])),
                )
                for rates in _list(record["rates"])
            ),
            tuple(
                CountedA(whole(c["n"], "n"), whole(c["lines"], "lines"), whole(c["cache_bytes"], "cache_bytes"), _rate(c, "a"),
                    str(c["method"]))
                for c in _list(record["counted"])
            ),
            str(record["created"]),
        )  # fmt: skip


def _point(record: Mapping[str, Any]) -> RatePoint:
    def maybe(name: str) -> float | None:
        return None if record[name] is None else _rate(record, name)

    return RatePoint(
        whole(record["n"], "n"), _rate(record, "bytes_per_rank"), _rate(record, "flop_per_s"), maybe("shuffle_bytes_per_s"),
        maybe("exchange_bytes_per_s"),
    )  # fmt: skip


def _rate(record: Mapping[str, Any], name: str) -> float:
    value = finite(record[name], name)
    if value <= 0:
        raise ValueError(f"fft3d: {name} {value} is not positive")
    return value


def _list(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError("fft3d: a list is missing")
    return value
