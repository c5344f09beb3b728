"""``choose exchange``: which exchange is fastest; ``validate choose``: what choosing by the model costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.api.questions import CHOOSING, Ranks
from rankwise.api.regretting import Choices, regret_of
from rankwise.cli.base import Json, flattened, show, tell, verb, writable
from rankwise.cli.workloads import GROUPS, ProfileFile
from rankwise.workloads.exchange import ExchangeOptions

_EXAMPLE = """rankwise choose exchange --dims 3 --cutoff 2 --bytes 4096 --ranks 512 --profile machine.json
    rankwise choose --dims 3 --cutoff 2 --bytes 4096 --ranks 512 --profile machine.json --plot map.svg"""


def choose(
    asked: ExchangeOptions,
    ranks: Ranks,
    profile: ProfileFile = Path("machine.json"),
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Write a map of sizes and cutoffs, coloured by what is fastest, to this SVG file.", callback=writable
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank all ways to exchange with neighbours, say which term decides, and where another way takes over.

    Without --ranks the grid has 64 ranks. Teams of team-shift have 2, 4 and 8 ranks where they fit unless --replication
    says otherwise. 'auto' of the C API makes the same decision from the same profile. 'rankwise choose stencil', 'choose
    alltoall' and 'choose fft3d' choose for the other workloads.
    """
    from rankwise.api.asking import Chosen
    from rankwise.api.asking import choose as ask

    found = ask(asked, profile, ranks)
    assert isinstance(found, Chosen)
    if plot is not None:
        from rankwise.files import write_whole

        write_whole(plot, found.plot().svg())
        tell(f"map of sizes and cutoffs written to {plot}")
    show(found, as_json)


verb("exchange", _EXAMPLE, under=GROUPS["choose"])(flattened(choose, ExchangeOptions, without=("team_boxes",), **CHOOSING))


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

    show(regret_of(asked), as_json)
