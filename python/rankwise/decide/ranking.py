"""Which of several ways is fastest, for any workload: its candidates, ranked by the model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from rankwise.engines.model import Model, doubt
from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.records import Record, computed, key, record, told
from rankwise.units import format_interval, format_number, format_time
from rankwise.workloads.base import Case, Row

_AS_LONG = 0.0005  # longer than the best, which no printed figure shows
NOTHING_SENT = "Nothing is sent: no rank has a partner"


def meet(quicker: tuple[float, float] | None, slower: tuple[float, float] | None) -> bool:
    """Tell whether two intervals have a time in common, so that who is quicker cannot be told; False where one is not known."""
    return quicker is not None and slower is not None and slower[0] <= quicker[1] and quicker[0] <= slower[1]


def times_as_long(time_s: float, than_s: float) -> float:
    """Return how many times as long as another time a time is: once where both are 0, for nothing is sent."""
    return time_s / than_s if than_s > 0 else 1.0 if time_s == than_s else math.inf


@record
class Ranking(Record):
    """The candidates of one question, fastest first; never empty."""

    schema = computed("version of this document", int, lambda of: 1)
    workload = computed("which workload it is of", str, lambda of: of.best.case.workload)
    rows: tuple[Row, ...] = key("all that were compared, the best first", name="candidates", after="told_apart")
    doubt: str | None = None  # why there is no clear choice
    told_apart = computed("whether the best is surely better than the next", bool, lambda of: of.doubt is None, after="reason")
    tried: str | None = None  # of rows that were tried: what came of it

    @property
    @told("the best of the candidates", after="workload")
    def best(self) -> Row:
        return self.rows[0]

    @property
    @told("why, in words", after="best")
    def reason(self) -> str:
        """Say what is fastest, and by how much."""
        if self.tried is not None:
            return self.tried
        if not any(row.time_s for row in self.rows):
            return NOTHING_SENT
        if len(self.rows) == 1:
            return f"{self.best.case.way} takes {format_time(self.best.time_s)}"
        first = f"{self.best.case.way} is fastest: {format_time(self.best.time_s)}"
        most_s = (1 + _AS_LONG) * self.best.time_s
        slower = next((row for row in self.rows if row.time_s > most_s), None)
        if slower is None:
            return f"all {len(self.rows)} candidates take as long: {format_time(self.best.time_s)}"
        alike = [row.case.way for row in self.rows[1:] if row.time_s <= most_s]
        others = [f"{len(alike) - 2} more"] if len(alike) > 2 else []
        also = f", as {' and '.join([*alike[:2], *others])} {'are' if len(alike) > 1 else 'is'}" if alike else ""
        if meet(self.best.interval_s, slower.interval_s):
            return f"{first}{also}; {slower.case.way} takes {format_time(slower.time_s)} (95 % intervals overlap)"
        ratio = times_as_long(slower.time_s, self.best.time_s)
        longer = f"{100 * (ratio - 1):.1f} % longer" if ratio < 2 else f"{format_number(ratio)} times as long"
        return f"{first}{also}; {slower.case.way} takes {longer}"


def conclusion(rows: Sequence[Row]) -> str:
    """Say in one sentence what rows come to: which way is fastest (of several questions: in how many), or what it takes."""
    if not any(row.time_s for row in rows):
        return NOTHING_SENT
    questions: dict[Hashable, list[Row]] = {}
    for row in rows:
        questions.setdefault(row.case.question, []).append(row)
    rankings = [rank(asked) for asked in questions.values()]
    if len(rankings) == 1 and len(rows) > 1:
        return rankings[0].reason
    first, last = (pick((ranking.best for ranking in rankings), key=lambda row: row.time_s) for pick in (min, max))
    times = f"{format_time(first.time_s)} to {format_time(last.time_s)}"
    if len(rows) == 1:
        interval = "" if first.interval_s is None else f" ({format_interval(first.interval_s)})"
        return f"{first.case.way} takes {format_time(first.time_s)}{interval}"
    if len(rankings) == len(rows):
        ways = {row.case.way for row in rows}
        return f"{f'{next(iter(ways))} takes' if len(ways) == 1 else 'all take'} {times}, by the case"
    wins = Counter(ranking.best.case.way for ranking in rankings)
    if len(wins) == 1:
        return (
            f"{next(iter(wins))} takes {times}, the least in {'both' if len(rankings) == 2 else f'all {len(rankings)}'} cases"
        )
    most = "; ".join(f"{way} in {count}" for way, count in wins.most_common())
    return f"The fastest of each of {len(rankings)} cases takes {times}: {most}"


def require_one_question(cases: Sequence[Case]) -> None:
    """Raise InputError for cases that differ in more than the way they are done."""
    if len({case.question for case in cases}) > 1:
        raise InputError(
            "several cases are asked about, and one is chosen for at a time: give one size and one number of ranks"
        )


def rank(rows: Sequence[Row], profile: Profile | None = None) -> Ranking:
    """Order candidates by their time; of equals the first asked for is first. A profile's figures may not tell them apart."""
    ordered = tuple(sorted(rows, key=lambda row: row.time_s))
    times = [(row.time_s, row.interval_s) for row in ordered]
    return Ranking(ordered, None if profile is None else doubt(times, Model(profile)))
