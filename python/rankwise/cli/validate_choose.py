"""``validate choose``: what choosing by the model costs, measured by running every candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.api.regretting import Choices
from rankwise.cli.base import Json, print_json, verb
from rankwise.cli.table import Table
from rankwise.cli.workloads import GROUPS
from rankwise.units import format_percent, format_size, format_time

if TYPE_CHECKING:
    from rankwise.decide.regret import Regret


@verb(
    "choose",
    """rankwise validate choose --cutoff 1:6 --bytes 8,128,1kB,8kB,64kB,256kB --profile machine.json
    rankwise validate choose --engine simgrid --ranks 512 --dims 3 --cutoff 1:2 --bytes 8,1kB,64kB --profile machine.json""",
    GROUPS["validate"],
)
def validate_choose(asked: Choices, as_json: Json = False) -> None:
    """Choose for every size and cutoff, run or simulate all candidates, and say how much was lost (the regret).

    The fastest is picked by half of the rounds and timed by the others, for the least of noisy times is small by luck.
    The profile knows the ping-pong alone. Without --ranks there is one rank a core, at least two; of simulated ones 64.
    """
    from rankwise.api.regretting import regret_of

    regret = regret_of(asked)
    if as_json:
        print_json(regret.to_dict())
    else:
        _show(regret)


def _show(regret: Regret) -> None:
    from statistics import median

    heads = ("grid", "k", "size", "chosen", "time", "fastest", "time", "regret", "noise")
    table = Table(*heads, leave=("noise", "time"))
    for trial in regret.trials:
        names = {candidate.case: candidate.name for candidate in trial.choice.candidates}
        question = trial.choice.question
        table.add_row(
            "x".join(map(str, question.grid)),
            str(question.cutoff),
            format_size(question.block_bytes),
            names[trial.chosen],
            format_time(median(trial.times_s[trial.chosen])),
            names[trial.fastest],
            format_time(median(trial.times_s[trial.fastest])),
            format_percent(trial.regret),
            format_percent(trial.noise),
        )
    summary = regret.summary()
    print(
        f"mean regret {format_percent(summary['mean_regret'])} over {summary['cases']} cases (largest "
        f"{format_percent(summary['max_regret'])}; against the least of all medians "
        f"{format_percent(summary['mean_regret_to_least'])}); noise floor, what choosing by measurement loses: "
        f"{format_percent(summary['noise_floor'])}; the fastest was chosen in "
        f"{100 * summary['share_fastest_chosen']:.0f} % of the cases"
    )
    table.show()
