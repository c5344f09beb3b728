"""What choosing by the model costs: all candidates are run, and the one that was chosen is compared with the fastest.

Every candidate is run once a round, beside the other candidates of its question and in an order of its own each time, and
each round is a launch of its own, so that slow minutes of the machine hit all alike. The fastest of noisy times is fast by
luck, too: so the fastest is picked by the rounds of one half and timed by those of the other, both ways round
(cross-validation), and what a choice by measurement would lose against the best of its own half tells the noise.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rankwise.decide.choice import Choice, Chooser, Question
from rankwise.engines.platform import make_system
from rankwise.engines.run import Here
from rankwise.engines.session import run_rows, simulate_rows
from rankwise.errors import InputError
from rankwise.machine.profile import open_profile
from rankwise.machine.trust import Trust
from rankwise.workloads.base import Case
from rankwise.workloads.exchange import ExchangeCase

LEAST_ROUNDS = 2


@dataclass(frozen=True)
class Trial:
    """One question: what the model chose, and the times of all candidates, one a round, all in the same order."""

    choice: Choice
    times_s: Mapping[ExchangeCase, Sequence[float]]

    @property
    def chosen(self) -> ExchangeCase:
        return self.choice.best.case

    @property
    def fastest(self) -> ExchangeCase:
        """Return the candidate with the least median of all rounds."""
        return _fastest(self.times_s, slice(None))

    @property
    def regret(self) -> float:
        """How much longer the chosen one takes than the fastest: the fastest is picked by one half, timed by the other."""
        return fmean(
            _time(self.times_s, self.chosen, tested) / _time(self.times_s, _fastest(self.times_s, picked), tested) - 1
            for picked, tested in _halves()
        )

    @property
    def regret_to_least(self) -> float:
        """How much longer the chosen one takes than the least of all medians, which is small by luck, too."""
        return _time(self.times_s, self.chosen, slice(None)) / _time(self.times_s, self.fastest, slice(None)) - 1

    @property
    def noise(self) -> float:
        """How much longer what one half measures as fastest takes than the least of the other half, in that half."""
        return fmean(
            _time(self.times_s, _fastest(self.times_s, picked), tested)
            / _time(self.times_s, _fastest(self.times_s, tested), tested)
            - 1
            for picked, tested in _halves()
        )

    def to_dict(self) -> dict[str, Any]:
        keys = {key: value for key, value in self.chosen.keys().items() if key not in _WAY}
        return {
            **keys,
            "chosen": _way(self.chosen),
            "fastest": _way(self.fastest),
            "regret": self.regret,
            "regret_to_least": self.regret_to_least,
            "noise": self.noise,
            "candidates": [
                {
                    **_way(candidate.case),
                    "predicted_time_s": candidate.time_s,
                    "measured_time_s": median(self.times_s[candidate.case]),
                    "round_times_s": list(self.times_s[candidate.case]),
                }
                for candidate in self.choice.candidates
            ],
        }


@dataclass(frozen=True)
class Regret:
    """All trials of one profile."""

    profile: str
    trials: Sequence[Trial]
    engine: str = "run"
    trust: Trust = Trust()  # in the profile's figures

    def summary(self) -> dict[str, float | int]:
        """Return means over the trials, the largest regret, and the share of trials in which the fastest was chosen."""
        return {
            "cases": len(self.trials),
            "mean_regret": fmean(trial.regret for trial in self.trials),
            "mean_regret_to_least": fmean(trial.regret_to_least for trial in self.trials),
            "noise_floor": fmean(trial.noise for trial in self.trials),
            "max_regret": max(trial.regret for trial in self.trials),
            "share_fastest_chosen": fmean(trial.chosen == trial.fastest for trial in self.trials),
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "trust": self.trust.to_dict(),
            "profile": self.profile,
            "engine": self.engine,
            "summary": self.summary(),
            "rows": [trial.to_dict() for trial in self.trials],
        }


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


_WAY = ("algorithm", "mode", "replication", "team_boxes")


def _way(case: ExchangeCase) -> dict[str, Any]:
    return {key: value for key, value in case.keys().items() if key in _WAY}


def _halves() -> Iterator[tuple[slice, slice]]:
    """Yield (the rounds that pick, those that test): even and odd ones, so that a drift is in both."""
    even, odd = slice(0, None, 2), slice(1, None, 2)
    yield even, odd
    yield odd, even


def _time(times_s: Mapping[ExchangeCase, Sequence[float]], case: ExchangeCase, rounds: slice) -> float:
    return median(times_s[case][rounds])


def _fastest(times_s: Mapping[ExchangeCase, Sequence[float]], rounds: slice) -> ExchangeCase:
    return min(times_s, key=lambda case: _time(times_s, case, rounds))
