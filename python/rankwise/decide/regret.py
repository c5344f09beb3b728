"""What choosing by the model costs: all candidates are run, and the one that was chosen is compared with the fastest.

Every candidate is run once a round, with the other candidates of its question and in an order of its own each time, and
each round is a launch of its own, so that slow minutes of the machine hit all alike. The fastest of noisy times is fast by
luck, too: so the fastest is picked by the rounds of one half and timed by those of the other, both ways round
(cross-validation), and what a choice by measurement would lose against the best of its own half tells the noise.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean, median

from rankwise.decide.choice import Choice, Chooser, Question
from rankwise.engines.platform import make_system
from rankwise.engines.run import Here
from rankwise.engines.session import run_rows, simulate_rows
from rankwise.errors import InputError
from rankwise.machine.profile import open_profile
from rankwise.machine.trust import Trust
from rankwise.records import Record, computed, key, record, told
from rankwise.workloads.base import Case
from rankwise.workloads.exchange import ExchangeCase

LEAST_ROUNDS = 2


@record
class Way(Record):
    """A way of doing an exchange."""

    case: ExchangeCase = key(inline=True, only=("algorithm", "mode", "replication", "team_boxes"))


@record
class Timed(Record):
    """A candidate that was run."""

    way: Way = key("the candidate", inline=True)
    predicted_time_s: float = key("predicted time")
    round_times_s: Sequence[float] = key("time of each round", after="measured_time_s")
    measured_time_s = computed("measured time, the median", float, lambda of: median(of.round_times_s))


@record
class Trial(Record):
    """One question: what the model chose, and the times of all candidates, one a round, all in the same order."""

    choice: Choice
    times_s: Mapping[ExchangeCase, Sequence[float]]
    asked = computed(
        "what is asked: an exchange without the way of doing it", ExchangeCase, lambda of: of.chosen, inline=True,
        only=("dims", "grid", "periodic", "cutoff", "shell", "ranks", "message_bytes"),
    )  # fmt: skip
    candidates = computed("all that were run", list[Timed], lambda of: of.timed())

    def timed(self) -> list[Timed]:
        return [Timed(Way(one.case), one.time_s, self.times_s[one.case]) for one in self.choice.candidates]

    @property
    @told("candidate that the model chooses", after="asked", kind=Way, write=Way)
    def chosen(self) -> ExchangeCase:
        return self.choice.best.case

    @property
    @told("candidate with the least median of all rounds", after="chosen", kind=Way, write=Way)
    def fastest(self) -> ExchangeCase:
        """Return the candidate with the least median of all rounds."""
        return _fastest(self.times_s, slice(None))

    @property
    @told(
        "how much longer the chosen one takes than the fastest that half of the rounds picks, by the other half",
        after="fastest",
    )
    def regret(self) -> float:
        """How much longer the chosen one takes than the fastest: the fastest is picked by one half, timed by the other."""
        return fmean(
            _time(self.times_s, self.chosen, tested) / _time(self.times_s, _fastest(self.times_s, picked), tested) - 1
            for picked, tested in _halves()
        )

    @property
    @told("what was lost against the least of all medians, which luck makes small", after="regret")
    def regret_to_least(self) -> float:
        """How much longer the chosen one takes than the least of all medians, which is small by luck, too."""
        return _time(self.times_s, self.chosen, slice(None)) / _time(self.times_s, self.fastest, slice(None)) - 1

    @property
    @told("what picking by one half of the rounds loses against the least of the other", after="regret_to_least")
    def noise(self) -> float:
        """How much longer what one half measures as fastest takes than the least of the other half, in that half."""
        return fmean(
            _time(self.times_s, _fastest(self.times_s, picked), tested)
            / _time(self.times_s, _fastest(self.times_s, tested), tested)
            - 1
            for picked, tested in _halves()
        )


@record
class RegretSummary(Record):
    """What all trials come to."""

    trials: Sequence[Trial]
    cases = computed("how many questions", int, lambda of: len(of.trials))
    mean_regret = computed("regret in the mean", float, lambda of: fmean(trial.regret for trial in of.trials))
    mean_regret_to_least = computed(
        "mean of regret_to_least", float, lambda of: fmean(trial.regret_to_least for trial in of.trials)
    )
    noise_floor = computed("what choosing by measurement loses", float, lambda of: fmean(trial.noise for trial in of.trials))
    max_regret = computed("regret at most", float, lambda of: max(trial.regret for trial in of.trials))
    share_fastest_chosen = computed(
        "share of questions in which the fastest was chosen", float,
        lambda of: fmean(trial.chosen == trial.fastest for trial in of.trials),
    )  # fmt: skip


@record
class Regret(Record):
    """All trials of one profile."""

    schema = computed("version of this document", int, lambda of: 1)
    profile: str = key("path of the profile", after="trust")
    trials: Sequence[Trial] = key("one entry a question", name="rows", after="summary")
    engine: str = key("which engine timed them: run or simulate", default="run", after="profile")
    trust: Trust = key("in the profile's figures", default=Trust(), after="schema")
    summary = computed("over all rows", RegretSummary, lambda of: RegretSummary(of.trials), after="engine")


def measure_regret(
    profile_path: Path,
    questions: Sequence[Question],
    here: Here,
    samples: Path,
    seconds: float,
    rounds: int,
) -> Regret:
    """Choose for every question, then run all candidates of all of them, ``seconds`` each and round.

    Raises InputError for fewer than two rounds, and like Chooser and run_rows.
    """
    if rounds < LEAST_ROUNDS:
        raise InputError(f"--rounds {rounds} is too few: one half of them tests the other, give at least {LEAST_ROUNDS}")
    profile = open_profile(profile_path)
    chooser = Chooser(profile, placement=here.locations)
    choices = [chooser.choose(question) for question in questions]
    times_s: dict[Case, list[float]] = {c.case: [] for choice in choices for c in choice.candidates}
    for order in islice(_orders(choices), rounds):
        for row in run_rows(order, here, samples, seconds):
            times_s[row.case].append(row.time_s)
    return Regret(
        str(profile_path),
        [Trial(choice, {c.case: times_s[c.case] for c in choice.candidates}) for choice in choices],
        trust=profile.trust,
    )


def simulate_regret(profile_path: Path, questions: Sequence[Question], folder: Path) -> Regret:
    """Likewise under SimGrid, on ranks that the profile's scheduler would place; ``folder`` keeps the simulations.

    What a simulation gives is certain: there is one round, and no noise. Raises RankwiseError and its kinds.
    """
    system = make_system(profile_path, None)
    profile = open_profile(profile_path)
    chooser = Chooser(profile, placement=system.placement().of_ranks)
    choices = [chooser.choose(question) for question in questions]
    cases = list(dict.fromkeys(candidate.case for choice in choices for candidate in choice.candidates))
    rows = simulate_rows(system, cases, "crossbar", None, system.placement(), folder)
    times_s = {row.case: [row.time_s] * LEAST_ROUNDS for row in rows}
    trials = [Trial(choice, {c.case: times_s[c.case] for c in choice.candidates}) for choice in choices]
    return Regret(str(profile_path), trials, "simgrid", profile.trust)


def _orders(choices: Sequence[Choice]) -> Iterator[list[ExchangeCase]]:
    """Yield orders of all cases: questions shuffled, and the candidates of each, which stay together in time."""
    shuffled = random.Random(0)
    while True:
        order: dict[ExchangeCase, None] = {}
        for choice in shuffled.sample(choices, len(choices)):
            order |= dict.fromkeys(c.case for c in shuffled.sample(choice.candidates, len(choice.candidates)))
        yield sorted(order, key=lambda case: (case.grid, case.periodic))


def _halves() -> Iterator[tuple[slice, slice]]:
    """Yield (the rounds that pick, those that test): even and odd ones, so that a drift is in both."""
    even, odd = slice(0, None, 2), slice(1, None, 2)
    yield even, odd
    yield odd, even


def _time(times_s: Mapping[ExchangeCase, Sequence[float]], case: ExchangeCase, rounds: slice) -> float:
    return median(times_s[case][rounds])


def _fastest(times_s: Mapping[ExchangeCase, Sequence[float]], rounds: slice) -> ExchangeCase:
    return min(times_s, key=lambda case: _time(times_s, case, rounds))
