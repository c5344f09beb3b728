"""What choosing by the model costs: questions, and what every candidate of them took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Literal

from rankwise.api.questions import default_ranks, writable
from rankwise.api.results import Result
from rankwise.blocks import Block, Column, Sentence, Table
from rankwise.files import write_json
from rankwise.questions import Options, option
from rankwise.records import key, record
from rankwise.units import format_percent, format_size, format_time, parse_ints, parse_periodic, parse_sizes
from rankwise.workloads.exchange import DEFAULT_RANKS, ExchangeCase, make_grid

if TYPE_CHECKING:
    from rankwise.decide.choice import Question
    from rankwise.decide.regret import Regret, Trial


@dataclass(frozen=True)
class Choices(Options):
    """Exchanges to choose for, and how their candidates are run or simulated."""

    profile: Path = option(Path("machine.json"), "The machine's profile.")
    engine: Literal["run", "simgrid"] = option(
        "run", "What the choice is held against: run, on this machine; or simgrid, on as many ranks as you like."
    )
    algorithm: str = option("all", "What is chosen from: algorithms, or all.")
    mode: str = option("all", "Send modes to choose from, or all.")
    dims: str = option("1", "Axes of the process grid, or its shape; several: 1,2x1.")
    cutoff: str = option("1:6", "Layers of neighbours k: 2, 1,2,4 or 1:10.")
    size: str = option("8,128,1024,8192,65536,262144", "Sizes of one block.", "--bytes")
    ranks: int | None = option(None, "Number of ranks.")
    periodic: str = option("all", "Axes that wrap around: all, none, or a flag an axis: 1,0.")
    seconds: float = option(0.05, "Time to spend on each candidate in each round, in seconds.")
    rounds: int = option(6, "How often every candidate is run, each time in a launch of its own.")
    samples: Path = option(Path("exchange.samples.jsonl"), "Where raw samples are appended.")
    simulations: Path = option(Path("simulated"), "simgrid: folder that keeps simulations.")
    output: Path | None = option(None, "Write the JSON here too.", "--output", "-o", check=writable)

    def questions(self, usual: int) -> list[Question]:
        """Return what is chosen for; ``usual`` ranks where nobody says. Raises InputError."""
        from rankwise.decide.choice import Question

        found = []
        for shape in self.dims.split(","):
            grid = make_grid(shape, usual if self.ranks is None and "x" not in shape.lower() else self.ranks)
            found += [
                Question(
                    grid, tuple(parse_periodic(self.periodic, len(grid))), k, size_bytes,
                    algorithms=() if self.algorithm == "all" else tuple(self.algorithm.split(",")),
                    modes=() if self.mode == "all" else tuple(self.mode.split(",")),
                )
                for k in parse_ints(self.cutoff, "--cutoff")
                for size_bytes in parse_sizes(self.size, "--bytes")
            ]  # fmt: skip
        return found


@record
class Regretted(Result):
    """What choosing by the model lost: ``regret`` has all of it."""

    _rests_on = "regret"
    regret: Regret = key("all of it", inline=True)

    def blocks(self) -> Iterator[Block]:
        summary = self.regret.summary
        yield Sentence(
            f"mean regret {format_percent(summary.mean_regret)} over {summary.cases} cases (largest "
            f"{format_percent(summary.max_regret)}; against the least of all medians "
            f"{format_percent(summary.mean_regret_to_least)}); noise (what choosing by measurement loses): "
            f"{format_percent(summary.noise_floor)}; the fastest was chosen in "
            f"{100 * summary.share_fastest_chosen:.0f} % of the cases"
        )
        yield Table(_TRIALS, self.regret.trials, leave=("noise", "time"))


def _name(trial: Trial, case: ExchangeCase) -> str:
    return next(candidate.name for candidate in trial.choice.candidates if candidate.case == case)


_TRIALS: Sequence[Column[Trial]] = (
    Column("grid", lambda trial: "x".join(map(str, trial.choice.question.grid))),
    Column("k", "choice.question.cutoff"),
    Column("size", "choice.question.block_bytes", format_size),
    Column("chosen", lambda trial: _name(trial, trial.chosen)),
    Column("time", lambda trial: format_time(median(trial.times_s[trial.chosen]))),
    Column("fastest", lambda trial: _name(trial, trial.fastest)),
    Column("time", lambda trial: format_time(median(trial.times_s[trial.fastest]))),
    Column("regret", "regret", format_percent),
    Column("noise", "noise", format_percent),
)


def regret_of(asked: Choices) -> Regretted:
    """Choose for every question, run or simulate all candidates, and say how
    much was lost. Raises InputError, RankwiseError."""
    from rankwise.decide.regret import measure_regret, simulate_regret
    from rankwise.engines.ledger import keep_trials, machine_of
    from rankwise.engines.run import Here
    from rankwise.machine.profile import open_profile

    if asked.engine == "run":
        here = Here()
        questions = asked.questions(default_ranks(here))
        regret = measure_regret(asked.profile, questions, here, asked.samples, asked.seconds, asked.rounds)
    else:
        regret = simulate_regret(asked.profile, asked.questions(DEFAULT_RANKS), asked.simulations)
    if asked.output is not None:
        write_json(asked.output, regret.to_dict())
    keep_trials(machine_of(open_profile(asked.profile)), regret.engine, regret.trials)
    return Regretted(regret)
