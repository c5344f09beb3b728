"""``predict``, ``simulate``, ``run``, ``validate`` and ``choose`` for every workload, from what the workload declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import rankwise
from rankwise.api.questions import CHOOSING, PLACED, Choices, Effort, Nodes, Platform, Ranks
from rankwise.api.results import HELP, checked
from rankwise.cli.base import Json, command_tree, drawable, flattened, group, show, tell, verb, writable, write_plot
from rankwise.cli.verbs import SAYS
from rankwise.errors import EXIT_FAILURE
from rankwise.files import write_json
from rankwise.workloads import workloads
from rankwise.workloads.base import Workload

if TYPE_CHECKING:
    from rankwise.api.asking import Times, Validated


_SAME = "The same patterns: predict, choose, validate, run, simulate."

_PATTERNS = {
    "predict": (
        f"{SAYS['predict']}.\n\nNothing is sent. It needs a profile: rankwise measure. {_SAME}",
        """rankwise predict halo --grid 4x4x2 --box 64x64x32
        rankwise predict observed app.comm""",
    ),
    "simulate": (f"{SAYS['simulate']}.\n\n{_SAME}", "rankwise simulate exchange --profile machine.json --ranks 64"),
    "run": (f"{SAYS['run']}.\n\n{_SAME}", "rankwise run halo --grid 2x1x1 --box 32x32x32"),
    "validate": (f"{SAYS['validate']}.\n\n{_SAME}", "rankwise validate exchange --cutoff 1:4 --bytes 1000"),
    "choose": (f"{SAYS['choose']}.", "rankwise choose halo --grid 4x4x2 --box 64x64x32"),
}
GROUPS = {
    name: group(name, says, example, default="exchange" if name == "choose" else None, title="PATTERN")
    for name, (says, example) in _PATTERNS.items()
}

ProfileFile = Annotated[Path, typer.Option("--profile", help="The machine's profile.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the JSON here too, for 'rankwise report'.", callback=writable)
]
Folder = Annotated[
    Path, typer.Option("--output", "-o", help="Folder that keeps samples, platform files and logs; runs in it are not redone.")
]
TimelineFile = Annotated[Path | None, typer.Option("--timeline", help=HELP, callback=checked)]
Jobs = Annotated[int | None, typer.Option(min=1, help="Simulations at once. Default: one a core.")]


def _show_times(found: Times, timeline: Path | None, as_json: bool) -> None:
    """Render rows, and write the time line of the shortest one where one is wanted."""
    show(found, as_json)
    if timeline is not None:
        drawn = found.timeline()
        drawn.save(timeline)
        tell(f"time line: {timeline}: {drawn.words[-1]}")
    _fail_unless_verified(found)


def _fail_unless_verified(found: Times | Validated) -> None:
    """Leave with an exit code that says so where something wrong arrived."""
    if found.wrong:
        tell(f"rankwise: {found.wrong} of {len(found.records())} {found.workload.wrong}")
        raise typer.Exit(EXIT_FAILURE)


# One function a verb: for each workload it is registered with that one's options, and its title in the help.


def predict(
    asked: Any, ranks: Ranks, profile: ProfileFile = Path("machine.json"), timeline: TimelineFile = None, as_json: Json = False
) -> None:
    """Predict the time of {title}.

    The interval is that of the profile's uncertainty.
    """
    _show_times(rankwise.predict(asked, profile, ranks), timeline, as_json)


def simulate(
    asked: Any,
    platform: Platform,
    ranks_per_node: Annotated[
        int | None,
        typer.Option(help="Ranks on each node. Default: all on one, or one on each where the profile is of a network."),
    ] = None,
    placement: Annotated[str, typer.Option(help=PLACED)] = "blocked",
    output: Folder = Path("simulated"),
    jobs: Jobs = None,
    timeline: TimelineFile = None,
    as_json: Json = False,
) -> None:
    """Simulate {title}.

    SimGrid takes the place of the MPI, with more ranks than this machine has. A message takes what the profile's piecewise fit
    (or the machine's latency and bandwidth) says, and shares the links that it meets others on. Every byte is checked.
    """
    _show_times(rankwise.simulate(asked, platform, ranks_per_node, placement, output, jobs), timeline, as_json)


def run(
    asked: Any,
    nodes: Nodes,
    seconds: Annotated[float, typer.Option(help="Time to spend on each case, in seconds.")] = 0.3,
    samples: Annotated[Path, typer.Option(help="Where raw samples are appended.")] = Path("samples.jsonl"),
    verify: Annotated[bool, typer.Option("--verify", help="Check every received byte: always done.", hidden=True)] = True,
    timeline: TimelineFile = None,
    as_json: Json = False,
) -> None:
    """Run {title} and verify the data.

    It runs under the launcher of this machine. Times are the maximum over ranks, medians over repetitions; what is received is
    checked against what its origin should have sent. Without a number of ranks there is one a core, at least two.
    """
    _show_times(rankwise.run(asked, nodes, seconds, samples), timeline, as_json)


def validate(
    asked: Any,
    nodes: Nodes,
    effort: Effort,
    profile: ProfileFile = Path("machine.json"),
    engines: Annotated[
        str, typer.Option(help="What to compare: model,run; model,simgrid; or all three. The last is the reference.")
    ] = "model,run",
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Predict {title}, run it, and compare.

    The prediction uses the profile alone, never the timings that it is compared with. {twice}Without the engine run the
    simulation takes its place, with as many ranks as you like.
    """
    found = rankwise.validate(asked, profile, [name.strip() for name in engines.split(",")], nodes, effort)
    if output is not None:
        write_json(output, found.to_dict())
    show(found, as_json)
    _fail_unless_verified(found)


def choose(asked: Any, ranks: Ranks, profile: ProfileFile = Path("machine.json"), as_json: Json = False) -> None:
    """Rank algorithms and modes for {title}, fastest first."""
    show(rankwise.choose(asked, profile, ranks), as_json)


_VERBS: Sequence[Callable[..., None]] = (predict, simulate, run, validate, choose)


def _add(name: str, workload: Workload) -> None:
    function = next(one for one in _VERBS if one.__name__ == name)
    example = workload.examples.get(name, f"rankwise {name} {workload.id}")
    without = () if workload.walked or name != "predict" else ("timeline",)
    ready = flattened(
        function, workload.options, name, without, seconds=workload.seconds, samples=Path(f"{workload.id}.samples.jsonl")
    )
    twice = "" if name in workload.details else "It is run twice: a prediction can come no closer than the second run. "
    ready.__doc__ = inspect.cleandoc(function.__doc__ or "").format(title=workload.title, twice=twice)
    if name in workload.details:
        ready.__doc__ += f"\n\n{workload.details[name]}"
    verb(workload.id, example, under=GROUPS[name], listed=_listed(workload))(ready)


def _listed(workload: Workload) -> str:
    return workload.title[0].upper() + workload.title[1:]


def choose_exchange(
    asked: Any,
    ranks: Ranks,
    profile: ProfileFile = Path("machine.json"),
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw a map of sizes and cutoffs, coloured by what is fastest, as .svg or .html.", callback=drawable),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank algorithms and modes for a neighbour exchange, fastest first.

    It says which term of the time decides, and at which sizes another algorithm takes over. Without --ranks the grid has 64
    ranks. Teams of team-shift have 2, 4 and 8 ranks where they fit unless --replication says otherwise. 'auto' of the C API
    makes the same decision from the same profile. 'rankwise choose stencil', 'choose alltoall' and 'choose fft3d' choose for
    the other workloads.
    """
    from rankwise.api.asking import Chosen

    found = rankwise.choose(asked, profile, ranks)
    assert isinstance(found, Chosen)
    show(found, as_json)
    write_plot(found, plot, "map of sizes and cutoffs written to ")


def validate_choose(asked: Any, as_json: Json = False) -> None:
    """Choose for every size and cutoff, run or simulate all candidates, and say how much was lost (the regret).

    One half of the repetitions picks the fastest, the other times it: the least of noisy times is small by chance.
    The profile knows the ping-pong alone. Without --ranks there is one rank a core, at least two; of simulated ones 64.
    """
    from rankwise.api.asking import regret_of

    show(regret_of(asked), as_json)


def _add_choice_of_exchanges(listed: str) -> None:
    from rankwise.workloads.exchange import ExchangeOptions

    example = """rankwise choose exchange --dims 3 --cutoff 2 --bytes 4096 --ranks 512 --profile machine.json
    rankwise choose --dims 3 --cutoff 2 --bytes 4096 --ranks 512 --profile machine.json --plot map.svg"""
    verb("exchange", example, under=GROUPS["choose"], listed=listed)(
        flattened(choose_exchange, ExchangeOptions, without=("team_boxes",), **CHOOSING)
    )


def _add_regret() -> None:
    example = """rankwise validate choose --cutoff 1:6 --bytes 8,128,1kB,8kB,64kB,256kB --profile machine.json
    rankwise validate choose --engine simgrid --ranks 512 --dims 3 --cutoff 1:2 --bytes 8,1kB,64kB --profile machine.json"""
    listed = "The choice itself: what was lost against the fastest (the regret)"
    verb("choose", example, under=GROUPS["validate"], listed=listed)(flattened(validate_choose, Choices))


def register(words: Sequence[str]) -> None:
    """Register what a command line may mean: its verb for its pattern, or for all patterns where it names none."""
    first, second = [*words, "", ""][:2]
    found = workloads("" if (first, second) == ("choose", "exchange") else second)  # the default, whose help lists the others
    order = [*found, "choose"]
    for name in [first] if first in GROUPS else GROUPS:
        registered = GROUPS[name].registered_commands
        missing = {*order} - {command.name for command in registered}
        for id, workload in found.items():
            if id in missing and (name, id) == ("choose", "exchange"):
                _add_choice_of_exchanges(_listed(workload))
            elif id in missing and (name != "choose" or workload.chooses):
                _add(name, workload)
        if len(found) > 1:
            if name == "validate" and "choose" in missing:
                _add_regret()
            registered.sort(key=lambda command: order.index(str(command.name)))
            command_tree.cache_clear()
