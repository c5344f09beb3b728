"""Which exchange to take: candidates ranked by their cost, the reason, and where another one takes over.

The ranking and the reason are those of the core (``_core.Contest``), which the C API's ``auto`` asks, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from rankwise import _core
from rankwise.decide.ranking import meet
from rankwise.engines.judge import sizes_of
from rankwise.engines.model import Model, doubt
from rankwise.engines.placement import profile_placement
from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.machine.trust import Trust
from rankwise.progress import SILENT, Meter
from rankwise.records import Record, computed, key, record, told
from rankwise.workloads.exchange import ExchangeCase, names, require_names

_Answer = TypeVar("_Answer")
LEAST_BYTES, MOST_BYTES = 1, 2**24
MOST_CUTOFF = 8
_STEPS_PER_OCTAVE = 2


@dataclass(frozen=True)
class Question:
    """What is to be exchanged, and what may be chosen. Empty sequences: all there are; ``cutoff`` in layers."""

    grid: tuple[int, ...]
    periodic: tuple[bool, ...]
    cutoff: int
    block_bytes: int
    shell: str = "full"
    algorithms: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    replications: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_names(self.algorithms, self.modes, (self.shell,))


@record
class Candidate(Record):
    """A way to carry out an exchange, its predicted time with the 95 % interval, and what of it zero bytes would take."""

    case: ExchangeCase = key(inline=True, only=("algorithm", "mode", "replication"))
    name: str
    time_s: float = key("time of a round, the slowest rank's")
    time_lo_s: float = key()
    time_hi_s: float = key()
    empty_s: float = key("the time with blocks of 0 B: what the number of messages costs", name="empty_time_s")
    messages_per_rank: int = key("messages that a rank sends at most")
    bytes_per_rank: int = key("bytes that a rank sends at most")
    notes: tuple[str, ...] = key("what weakens the figures, in words")

    @property
    def interval_s(self) -> tuple[float, float]:
        return self.time_lo_s, self.time_hi_s

    @property
    def auto(self) -> bool:
        """Whether ``auto`` of the C API may choose it."""
        return self.case.algorithm in names().auto


@record
class Crossover(Record):
    """From ``at`` on (a size in bytes, or a cutoff in layers) ``after`` is fastest, and ``before`` up to it.

    From ``low`` to ``high`` the intervals of the two meet, so that who is faster cannot be told; None: as far as was looked.
    """

    axis: str = key("which question is varied: bytes or cutoff")
    at: int = key("from where on after is fastest")
    before: str = key("what is best up to there", after="high")
    after: str = key("what is best from there on", after="before")
    extrapolated: bool = key("whether the crossover lies beyond what was measured", after="after")
    low: int | None = key(
        "from where on the intervals of the two overlap; null: as far as was looked", default=None, name="at_lo", after="at"
    )
    high: int | None = key(
        "up to where the intervals of the two overlap; null: as far as was looked", default=None, name="at_hi", after="low"
    )


@record
class Choice(Record):
    """The answer to a question: candidates, fastest first, the reason in words, and the crossovers around it."""

    schema = computed("version of this document", int, lambda of: 1)
    question: Question
    asked = computed(
        "the question", ExchangeCase, lambda of: of.best.case, inline=True,
        only=("grid", "periodic", "cutoff", "shell", "message_bytes"),
    )  # fmt: skip
    candidates: tuple[Candidate, ...] = key("all that were compared, the best first", after="told_apart")
    reason: str = key("why, in words", after="auto")
    crossovers: tuple[Crossover, ...] = key("where another one takes over", after="candidates")
    auto_reason: str = ""  # why ``auto`` is ahead of the others that are for it
    assumed: tuple[str, ...] = key(
        "kinds of shared resources of which the profile knows nothing", default=(), after="otherwise"
    )
    trust: Trust = key("in the profile's figures", default=Trust(), after="assumed")
    doubt: str | None = None  # why there is no clear choice
    told_apart = computed("whether the best is surely better than the next", bool, lambda of: of.doubt is None, after="trust")

    @property
    @told("the best of the candidates", after="asked")
    def best(self) -> Candidate:
        return self.candidates[0]

    @property
    @told("what the library takes by itself; null: none of the candidates", after="best")
    def auto(self) -> Candidate | None:
        """Return what ``auto`` of the C API takes of these; None when none of them is for it."""
        return next((candidate for candidate in self.candidates if candidate.auto), None)

    def reason_of(self, candidate: Candidate) -> str | None:
        """Return why a candidate is ahead: the best of all, or of those that ``auto`` may take."""
        return self.reason if candidate is self.best else self.auto_reason

    @property
    def needs(self) -> str:
        """Say what the best needs where ``auto`` may not take it."""
        is_named = self.best.case.algorithm in names().filling
        return "if your program " + (
            "names it" if is_named else "processes received data block by block (rankwise_exchange_visit)"
        )

    @property
    def met(self) -> str:
        """Say that the interval of the best overlaps that of what ``auto`` takes; empty where it does not."""
        auto = self.auto
        return ", though their intervals overlap" if auto and meet(self.best.interval_s, auto.interval_s) else ""

    @property
    @told("what auto takes where it may not take the best, and why, in words", after="reason")
    def otherwise(self) -> str | None:
        """Say what ``auto`` takes where it may not take the best, and what that needs; None where it may, or has nothing."""
        if self.auto is None or self.auto is self.best:
            return None
        return f"that can be used {self.needs}{self.met}; 'auto' of the C API takes another: {self.auto_reason}"


@dataclass(frozen=True)
class MapRow:
    """One cutoff of a map: who wins from which size on, up to the next one's.

    Beyond ``measured_to_bytes`` the messages of the winner are larger than any that was measured.
    """

    cutoff: int
    winners: tuple[tuple[int, str], ...]  # (from_bytes, name), the first from the least size of the map on
    borders: tuple[Crossover, ...]  # between them
    measured_to_bytes: int


@dataclass(frozen=True)
class WinnerMap:
    """The fastest candidate for every size from ``least_bytes`` to ``most_bytes`` and some cutoffs."""

    least_bytes: int
    most_bytes: int
    rows: tuple[MapRow, ...]


class Chooser:
    """Answers questions from one profile.

    Ranks sit where ``placement`` puts so many of them; None: as the scheduler's default does.
    """

    def __init__(
        self,
        profile: Profile,
        link_model: str | None = None,
        loaded: bool = False,
        placement: Callable[[int], _core.Placement] | None = None,
    ) -> None:
        """Raises InputError like Model."""
        self._placement = placement or profile_placement(profile).of_ranks
        self._model = Model(profile, link_model, loaded)
        self._contests: dict[tuple[object, ...], _core.Contest] = {}
        self._ends: dict[tuple[_core.Contest, str, int], tuple[float, float] | None] = {}

    def choose(self, question: Question, meter: Meter = SILENT) -> Choice:
        """Rank all candidates and find where others take over, which advances the meter by ``steps_of`` the question.

        Raises InputError where nothing fits.
        """
        contest = self._contest(question, question.cutoff)
        ranked = self._asked(contest.ranked, question.block_bytes)
        candidates = tuple(self._candidate(question, contest, one) for one in ranked)
        usable = [i for i, candidate in enumerate(candidates) if candidate.auto]
        return Choice(
            question,
            candidates,
            _core.reason(ranked, [c.interval_s for c in candidates]),
            (
                *self._crossovers(question, "bytes", size_steps(LEAST_BYTES, MOST_BYTES), meter),
                *self._crossovers(question, "cutoff", cutoff_steps(question), meter),
            ),
            _core.reason([ranked[i] for i in usable], [candidates[i].interval_s for i in usable]),
            tuple(self._model.assumed(self._placement(math.prod(question.grid)))),
            self._model.profile.trust,
            doubt([(c.time_s, c.interval_s) for c in candidates], self._model),
        )

    def winner_map(self, question: Question, least_bytes: int, most_bytes: int, cutoffs: Sequence[int]) -> WinnerMap:
        """Return who wins at which cutoff for which sizes, borders to the byte."""
        steps = size_steps(least_bytes, most_bytes)
        rows = []
        for cutoff in cutoffs:
            contest = self._contest(question, cutoff)
            firsts = {size: self._asked(contest.first, size) for size in steps}
            changes = list(self._crossovers(replace(question, cutoff=cutoff), "bytes", steps, SILENT))
            winners = ((least_bytes, firsts[least_bytes].name), *((change.at, change.after) for change in changes))
            known = [size for size, first in firsts.items() if not self._extrapolates(contest, first, size)]
            rows.append(MapRow(cutoff, winners, tuple(changes), max(known, default=least_bytes)))
        return WinnerMap(least_bytes, most_bytes, tuple(rows))

    def _contest(self, question: Question, cutoff: int) -> _core.Contest:
        key = (
            question.grid, question.periodic, cutoff, question.shell, question.algorithms, question.modes,
            question.replications,
        )  # fmt: skip
        if key not in self._contests:
            try:
                self._contests[key] = _core.Contest(
                    list(question.grid), list(question.periodic), [cutoff] * len(question.grid), question.shell,
                    list(question.algorithms), list(question.modes), list(question.replications),
                    self._placement(math.prod(question.grid)),
                )  # fmt: skip
            except ValueError as error:
                raise InputError(str(error)) from None
        return self._contests[key]

    def _asked(self, answer: Callable[[int, _core.Machine], _Answer], block_bytes: int) -> _Answer:
        try:
            return answer(block_bytes, self._model.machine)
        except ValueError as error:
            raise InputError(str(error)) from None

    def _candidate(self, question: Question, contest: _core.Contest, ranked: _core.Ranked) -> Candidate:
        placement = self._placement(math.prod(question.grid))
        sizes = sizes_of(contest.message_blocks(ranked), question.block_bytes)
        low_s, high_s = self._interval(question.grid, contest, ranked, question.block_bytes)
        case = ExchangeCase(
            ranked.algorithm, ranked.mode, question.grid, question.periodic, question.cutoff, question.block_bytes,
            question.shell, ranked.replication,
        )  # fmt: skip
        return Candidate(
            case, ranked.name, ranked.time_s, low_s, high_s, ranked.empty_s, ranked.messages, ranked.bytes,
            tuple(self._model.notes(ranked.mode, sizes, placement)),
        )  # fmt: skip

    def _interval(
        self, grid: tuple[int, ...], contest: _core.Contest, ranked: _core.Ranked, block_bytes: int
    ) -> tuple[float, float]:
        placement = self._placement(math.prod(grid))
        sizes = sizes_of(contest.message_blocks(ranked), block_bytes)

        def cost_on(machine: _core.Machine) -> _core.Ranked:
            return contest.ranked_one(ranked, block_bytes, machine)

        return self._model.interval(ranked.mode, sizes, ranked, cost_on, self._model.quicker(placement))

    def _told_apart(
        self, question: Question, one: _core.Ranked, other: _core.Ranked, contest: _core.Contest, block_bytes: int
    ) -> bool:
        """Tell whether the intervals of two candidates do not meet at a size."""
        ends = [self._ends_of(question.grid, ranked, contest, block_bytes) for ranked in (one, other)]
        return None in ends or not meet(*(found for found in ends if found is not None))

    def _ends_of(
        self, grid: tuple[int, ...], ranked: _core.Ranked, contest: _core.Contest, block_bytes: int
    ) -> tuple[float, float] | None:
        """Return the interval of a candidate, found once, for many crossovers ask at the same sizes; None: it is none there."""
        key = contest, ranked.name, block_bytes
        if key not in self._ends:
            try:
                found = contest.ranked_one(ranked, block_bytes, self._model.machine)
            except ValueError:  # no candidate at this cutoff
                self._ends[key] = None
            else:
                self._ends[key] = self._interval(grid, contest, found, block_bytes)
        return self._ends[key]

    def _extrapolates(self, contest: _core.Contest, ranked: _core.Ranked, block_bytes: int) -> bool:
        return self._model.extrapolates(ranked.mode, sizes_of(contest.message_blocks(ranked), block_bytes))

    def _crossovers(self, question: Question, axis: str, places: Sequence[int], meter: Meter) -> Iterator[Crossover]:
        """Yield where another candidate takes over as blocks or the cutoff grow. Between two places with different winners the
        change is halved down to 1."""

        def asked(place: int) -> tuple[_core.Contest, int]:
            cutoff, block_bytes = (question.cutoff, place) if axis == "bytes" else (place, question.block_bytes)
            return self._contest(question, cutoff), block_bytes

        def winner(place: int) -> _core.Ranked:
            contest, block_bytes = asked(place)
            return self._asked(contest.first, block_bytes)

        def between(low: int, first: _core.Ranked, high: int, last: _core.Ranked) -> Iterator[Crossover]:
            if first.name == last.name:
                return
            if high - low == 1:

                def apart(place: int) -> bool:
                    return self._told_apart(question, first, last, *asked(place))

                below, above = ([place for place in places if (place < high) == side] for side in (True, False))
                band = _reach(below[::-1], high, apart), _reach(above, high, apart)
                contest, block_bytes = asked(high)
                yield Crossover(axis, high, first.name, last.name, self._extrapolates(contest, last, block_bytes), *band)
                return
            middle = (low + high) // 2
            halfway = winner(middle)
            yield from between(low, first, middle, halfway)
            yield from between(middle, halfway, high, last)

        winners = []
        for place in places:
            winners.append(winner(place))
            meter.advance()
        for (low, first), (high, last) in pairwise(zip(places, winners, strict=True)):
            yield from between(low, first, high, last)


def steps_of(question: Question) -> int:
    """Return at how many sizes and cutoffs is looked for who is fastest."""
    return len(size_steps(LEAST_BYTES, MOST_BYTES)) + len(cutoff_steps(question))


def cutoff_steps(question: Question) -> list[int]:
    """Return the cutoffs at which is looked: each up to 8, then half octaves up to that asked for, for work grows with k^d."""
    if question.shell == "all-pairs":
        return []
    return [*range(1, MOST_CUTOFF), *size_steps(MOST_CUTOFF, max(MOST_CUTOFF, question.cutoff))]


def size_steps(least: int, most: int) -> list[int]:
    """Return sizes in even logarithmic steps from ``least`` (at least 1) to ``most``, each once."""
    octaves = math.ceil(math.log2(most / least))
    steps = {round(least * 2 ** (i / _STEPS_PER_OCTAVE)) for i in range(_STEPS_PER_OCTAVE * octaves + 1)}
    return sorted({min(size, most) for size in steps})


def _reach(places: Sequence[int], at: int, apart: Callable[[int], bool]) -> int | None:
    """Return how far from ``at`` towards ``places`` two cannot be told apart, to 2 %; None: beyond the last place."""
    near = at
    for far in places:
        if not apart(far):
            near = far
            continue
        while abs(far - near) > max(1, 0.02 * near):
            middle = round(math.sqrt(far * near))
            if middle in (near, far):
                middle = (far + near) // 2
            near, far = (near, middle) if apart(middle) else (middle, far)
        return near
    return None
