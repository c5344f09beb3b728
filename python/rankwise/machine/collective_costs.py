"""What collectives take besides messages between two ranks, as ``rankwise measure collectives`` finds it: part of a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rankwise.machine.fft_rates import between
from rankwise.records import Interval, Record, key, record


@record
class NodeTime(Record):
    """What the MPI library's own collective takes when all of its ranks are on one node, each on a core."""

    collective: str = key("which collective")
    ranks: int = key("number of ranks", least=1)
    size_bytes: int = key("bytes of the vector, or of one rank's block", least=0)
    time_s: float = key("until the last rank is done, the median of launches", above=0)
    ci_s: Interval | None = key("from the least to the most of these launches")


@record
class CollectiveCosts(Record):
    """``combine``: bytes and seconds of adding them to others, ascending; ``in_node`` by collective, ranks and size."""

    mpi: str = key("MPI library that was measured")
    created: str = key("when, UTC")
    combine: tuple[tuple[int, float], ...] = key("bytes of a vector, seconds of adding it to another")
    processors: int = key("processors of a node that ranks may use", least=1)
    handover_s: float = key("how much later a rank takes a message up where two share each processor", least=0)
    in_node: tuple[NodeTime, ...] = key("the library's own collectives within a node", default=())

    def in_node_s(self, collective: str, ranks: int, size_bytes: int) -> tuple[float, float, float] | None:
        """Return the time of a collective within a node, and its interval; None where nothing near was measured.

        Between sizes and between numbers of ranks straight in the logarithms; no farther than measured, but for larger vectors,
        whose time grows with their bytes.
        """
        known = [row for row in self.in_node if row.collective == collective]
        counts = sorted({row.ranks for row in known})
        if not counts or not counts[0] <= ranks <= counts[-1]:
            return None

        def at(figure: Callable[[NodeTime], float]) -> float:
            by_ranks = [
                (count, _between([(row.size_bytes, figure(row)) for row in known if row.ranks == count], size_bytes))
                for count in counts
            ]
            return _between(by_ranks, ranks)

        ends = [at(lambda row, i=i: row.time_s if row.ci_s is None else row.ci_s[i]) for i in (0, 1)]  # type: ignore[misc]
        return at(lambda row: row.time_s), ends[0], ends[1]


def _between(points: Iterable[tuple[int, float]], at: int) -> float:
    """Return the value at a place: straight in the logarithms, before the first as there, after the last in proportion."""
    known = sorted(points)
    last, value = known[-1]
    return value * at / last if at > last > 0 else between([(place + 1, of_place) for place, of_place in known], at + 1)
