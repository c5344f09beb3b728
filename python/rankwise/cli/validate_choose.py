"""``validate choose``: what choosing by the model costs, measured by running every candidate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, print_json, verb, writable
from rankwise.cli.table import Table
from rankwise.cli.workloads import GROUPS, ProfileFile, Samples, Simulations, default_ranks
from rankwise.errors import InputError
from rankwise.units import format_percent, format_size, format_time, parse_ints, parse_periodic, parse_sizes
from rankwise.workloads.exchange import DEFAULT_RANKS, make_grid

if TYPE_CHECKING:
    from rankwise.decide.regret import Regret


@verb(
    "choose",
    """rankwise validate choose --cutoff 1:6 --bytes 8,128,1kB,8kB,64kB,256kB --profile machine.json
    rankwise validate choose --engine simgrid --ranks 512 --dims 3 --cutoff 1:2 --bytes 8,1kB,64kB --profile machine.json""",
    GROUPS["validate"],
)
def validate_choose(
    profile: ProfileFile = Path("machine.json"),
    engine: Annotated[
        str,
        typer.Option(help="What the choice is held against: run, on this machine; or simgrid, on as many ranks as you like."),
    ] = "run",
    algorithm: Annotated[str, typer.Option(help="What is chosen from: algorithms, or all.")] = "all",
    mode: Annotated[str, typer.Option(help="Ways of sending that are chosen from, or all.")] = "all",
    dims: Annotated[str, typer.Option(help="Axes of the process grid, or its shape; several: 1,2x1.")] = "1",
    cutoff: Annotated[str, typer.Option(help="Layers of neighbours k: 2, 1,2,4 or 1:10.")] = "1:6",
    size: Annotated[str, typer.Option("--bytes", help="Sizes of one block.")] = "8,128,1024,8192,65536,262144",
    ranks: Annotated[int | None, typer.Option(help="Number of ranks.")] = None,
    periodic: Annotated[str, typer.Option(help="Axes that wrap around: all, none, or a flag an axis: 1,0.")] = "all",
    seconds: Annotated[float, typer.Option(help="Time to spend on each candidate in each round, in seconds.")] = 0.05,
    rounds: Annotated[int, typer.Option(help="How often every candidate is run, each time in a launch of its own.")] = 6,
    samples: Samples = Path("exchange.samples.jsonl"),
    simulations: Simulations = Path("simulated"),
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the JSON here too.", callback=writable)] = None,
    as_json: Json = False,
) -> None:
    """Choose for every size and cutoff, run or simulate all candidates, and say how much was lost (the regret).

    The fastest is picked by half of the rounds and timed by the others, for the least of noisy times is small by luck.
    The profile knows the ping-pong alone. Without --ranks there is one rank a core, at least two; of simulated ones 64.
    """
    from rankwise.decide.choice import Question
    from rankwise.decide.regret import measure_regret, simulate_regret
    from rankwise.engines.ledger import keep_trials, machine_of
    from rankwise.engines.run import Here
    from rankwise.files import write_json
    from rankwise.machine.profile import open_profile

    if engine not in ("run", "simgrid"):
        raise InputError(f"--engine {engine} is unknown: choose run or simgrid")
    here = Here() if engine == "run" else None
    usual = DEFAULT_RANKS if here is None else default_ranks(here)
    questions = []
    for shape in dims.split(","):
        grid = make_grid(shape, usual if ranks is None and "x" not in shape.lower() else ranks)
        questions += [
            Question(
                grid, tuple(parse_periodic(periodic, len(grid))), k, size_bytes,
                algorithms=() if algorithm == "all" else tuple(algorithm.split(",")),
                modes=() if mode == "all" else tuple(mode.split(",")),
            )
            for k in parse_ints(cutoff, "--cutoff")
            for size_bytes in parse_sizes(size, "--bytes")
        ]  # fmt: skip
    if here is not None:
        regret = measure_regret(profile, questions, here, samples, seconds, rounds)
    else:
        regret = simulate_regret(profile, questions, simulations)
    if output is not None:
        write_json(output, regret.to_dict())
    if as_json:
        print_json(regret.to_dict())
    else:
        _show(regret)
    keep_trials(machine_of(open_profile(profile)), regret.engine, regret.trials)


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
