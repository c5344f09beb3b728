"""``rankwise try``: a program under two placements by turns, and how sure the gain is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.base import Json, print_json, tell, verb, writable
from rankwise.cli.levels import Levels, LevelsText, TopologyText, seats_of
from rankwise.errors import InputError
from rankwise.units import format_number, format_percent, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.mapping import Mappings
    from rankwise.trial.judgement import Judgement
    from rankwise.trial.session import Trial


@verb(
    "try",
    example="""
    rankwise try app.comm -- mpiexec -n 16 ./app
    rankwise try app.comm --hosts "n[1-4]" --pairs 16 -- mpirun -n 16 ./app
    """,
)
def try_placements(
    observed: Annotated[Path, typer.Argument(help="What 'rankwise observe' recorded of the program.")],
    command: Annotated[list[str], typer.Argument(help="The command, after --: a launcher and the program.")],
    placement: Annotated[
        Path | None,
        typer.Option(help="The new placement, in any format of 'rankwise map'; otherwise the best that 'map' finds."),
    ] = None,
    hosts: Annotated[
        str | None, typer.Option(help="Names of the nodes: n[001-050], or a file; otherwise those observed.")
    ] = None,
    levels: LevelsText = None,
    topology: TopologyText = None,
    profile: Annotated[Path | None, typer.Option(help="Machine profile, by whose times the new placement is chosen.")] = None,
    pairs: Annotated[int, typer.Option(help="The most pairs of runs.")] = 40,
    seed: Annotated[int, typer.Option(help="For the order within a pair.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where each pair is kept, to go on from; app.trial.jsonl for app.comm.", callback=writable
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a program as it was placed and as it should be, by turns, until it is known which is faster.

    Runs come in pairs, in random order; after 10, 16, 24 and 40 pairs the ratio of times and its interval are looked at, such
    that at most one in twenty trials of equal placements claims a difference. Both placements are told to the launcher by the same
    words, and ranks are asked where they are. "no gain" and "cannot tell" are answers; the exit code is 0 for all of them.
    """
    from rankwise.cli.map_traffic import nodes_asked, read_traffic
    from rankwise.engines.model import Model
    from rankwise.engines.step import traffic_pricer
    from rankwise.launch.command import read_command
    from rankwise.machine.profile import open_profile
    from rankwise.mapping import hardly_better
    from rankwise.mapping.reading import read_mapping
    from rankwise.mapping.traffic import BLOCKED, OBSERVED, Search, place_traffic
    from rankwise.progress import meter
    from rankwise.trial.session import Trial, Way

    if not 2 <= pairs <= 1000:
        raise InputError(f"--pairs {pairs} is out of range: give 2 to 1000")
    traffic = read_traffic(observed, None)
    asked = read_command(command)
    if asked.ranks is not None and asked.ranks != traffic.ranks:
        raise InputError(f"{observed} has {traffic.ranks} ranks and the command starts {asked.ranks}: observe it with as many")
    sizes, names = nodes_asked(traffic, None, None, None, hosts)
    given = None if placement is None else read_mapping(placement, sizes, "--placement")
    known = None if profile is None else open_profile(profile)
    on = None if known is None else Model(known)
    wanted = Levels.read(levels, topology, known)
    above = wanted.above(names, on)
    price = None if on is None else traffic_pricer(on, seats_of(above, on))
    mappings = place_traffic(traffic, sizes, search=Search(levels=wanted.inner, above=above), price=price, given=given)
    by_name = {result.algorithm: result for result in mappings.results}
    now = by_name.get(OBSERVED, by_name[BLOCKED])
    new = mappings.best if given is None else by_name[next(iter(given))]
    if (why := _nothing_to_try(mappings, now is new or (given is None and hardly_better(new, now)))) is not None:
        if as_json:
            print_json(
                {
                    "ratio": None,
                    "ratio_lo": None,
                    "ratio_hi": None,
                    "pairs": 0,
                    "verdict": "no gain",
                    "link_bytes": [],
                    "why": why,
                }
            )
        else:
            print(why)
        return

    def way(result: Any) -> Way:
        return Way(result.algorithm, tuple(names[node] for node in result.node_of_cell), result.j_sum)

    path = output or observed.with_suffix(".trial.jsonl")
    with meter("pairs", pairs) as bar:
        trial = Trial(asked, (way(now), way(new)), path, pairs, seed, bar)
        trial.resume()
        if asked.placing:
            tell(
                f"instead of '{' '.join(asked.placing)}' the ranks are placed by: "
                f"{' '.join(asked.launcher.placed(trial.ways[1].hosts))}"
            )
        try:
            judgement = trial.run()
        except KeyboardInterrupt:
            if (so_far := trial.judged_so_far()) is not None:
                tell(f"so far: {_conclusion(trial, so_far)} Its pairs are in {path}: the same command goes on from there.")
            raise
    if as_json:
        print_json(trial.to_dict(judgement))
        return
    _show(trial, judgement)


def _nothing_to_try(mappings: Mappings, same: bool) -> str | None:
    """Say why there are no two placements to try, or return None."""
    if len(mappings.nodes) == 1:
        return (
            "Nothing to try: all ranks are on one node, where only their cores could change (rankwise map --levels socket:2 "
            "--format openmpi-rankfile)."
        )
    if same:
        from rankwise.mapping.mapper import LEAST_GAIN

        return f"Nothing to try: no placement was found that is at least {LEAST_GAIN:.0%} better than the present one."
    return None


def _interval(judgement: Judgement) -> str:
    from rankwise.trial.judgement import least_pairs

    if judgement.low <= 0:
        return f"too few pairs for an interval: {least_pairs()} have one"
    return f"{format_number(judgement.low)}–{format_number(judgement.high)}"


def _conclusion(trial: Trial, judgement: Judgement) -> str:
    now, new = (way.name for way in trial.ways)
    told = f"{format_number(judgement.ratio)} times as fast as {now} ({_interval(judgement)}, {judgement.pairs} pairs)"
    if judgement.verdict == "cannot tell":
        more = f", some {judgement.more} more pairs needed" if judgement.more else ""
        return f"Cannot tell{more}: {new} looks {told}."
    if judgement.verdict == "no gain":
        return f"No gain: {new} is {told}."
    return f"{judgement.verdict.capitalize()}: {new} is {told}."


def _show(trial: Trial, judgement: Judgement) -> None:
    print(_conclusion(trial, judgement))
    record = trial.to_dict(judgement)
    for way, links in zip(record["placements"], record["link_bytes"], strict=True):
        counted, promised = links["counted"], links["promised"]
        sent = "the cards' counters are not known" if counted is None else f"{format_volume(counted)} counted on the links"
        if counted is not None and promised:
            sent += f", {format_volume(promised)} promised ({format_percent(counted / promised - 1)})"
        print(f"  {way['name']:10} {format_time(way['time_s'])} a run; {sent}")
    found = judgement.could_find
    finds = (
        f"so many find {100 * found:.2g} % in nine of ten trials" if math.isfinite(found) else "so few find no gain for sure"
    )
    print(f"These pairs scatter by {100 * judgement.scatter:.2g} %: {finds}.")
    if judgement.verdict == "faster":
        print(f"Keep it: {record['placements'][1]['command']}")
