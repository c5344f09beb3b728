"""What costs time in a program's communication, what to change, and what that gains; and both placements run interleaved."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.advise.evidence import Evidence, evidence_of
from rankwise.advise.findings import CROWDED, Advice, Finding, Question
from rankwise.advise.findings import advise as advised
from rankwise.api.observing import span_of
from rankwise.api.placing import Levels, machine_asked, nodes_asked, read_traffic, seats_of
from rankwise.api.requests import Target, Trying
from rankwise.api.results import TRUST, Result, sentence
from rankwise.blocks import BUT, NO, UNCLEAR, YES, Block, Column, Lines, Listing, Next, Sentence, Table, labelled
from rankwise.collectives.settings import Settings
from rankwise.engines.step import traffic_pricer
from rankwise.errors import InputError
from rankwise.launch.command import Command, read_command, why_missing
from rankwise.machine.hosts import distinct
from rankwise.machine.profile import Profile
from rankwise.mapping import How, Mappings, MapResult, hardly_better
from rankwise.mapping.mapper import LEAST_GAIN, best_of
from rankwise.mapping.reading import read_mapping
from rankwise.mapping.traffic import BLOCKED, OBSERVED, place_traffic
from rankwise.observe.record import read_record
from rankwise.progress import meter, tell
from rankwise.records import key, record
from rankwise.units import format_count, format_number, format_share, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.trial.judgement import Judgement
    from rankwise.trial.session import Trial, Way


@record
class Advised(Result, rows="findings"):
    """What was found: ``advice`` has all of it. ``path``: the record; ``exit_code``: of the program where it was run."""

    advice: Advice = key("what was found", inline=True)
    hosts: Sequence[str] = key("names of the hosts")
    path: Path
    profile: Profile | None = key(TRUST)
    exit_code: int = 0

    def blocks(self) -> Iterator[Block]:
        advice = self.advice
        crowded = bool(advice.findings) and advice.findings[0].kind == CROWDED
        yield Sentence(advice.headline, mark=NO if crowded else YES)
        yield Sentence(_record_words(advice.evidence, self.path))
        timed = [] if crowded else [one for one in advice.findings if one.gain_s is not None]
        if timed:
            yield Table(_findings_columns(advice.evidence), timed)
        yield from _shares(advice.evidence)
        found = [(f"{number}." if len(advice.findings) > 1 else "Why", f"{one.what}: {one.why}." if len(advice.findings) > 1
                  else sentence(one.why)) for number, one in enumerate(advice.findings, 1)]  # fmt: skip
        placed = [("Placement", f"{_placement_words(advice)}.")] if advice.headroom.now_bytes else []
        yield Listing([*found, *placed, *(("No gain", sentence(words)) for words in advice.nothing)])
        yield from labelled("note", (*advice.notes, *advice.evidence.notes))
        commands = {one.command: one.what for one in reversed(advice.findings)}
        if self.profile is None and advice.headroom.now_s is None:
            commands = {"rankwise measure": "then --profile machine.json: seconds, not bytes", **commands}
        yield Next(list(reversed(commands.items())) or [(f"rankwise observe show {self.path}", "")])

    @property
    def conclusion(self) -> str:
        return self.advice.headline

    def page(self) -> str:
        """Return the page with pictures."""
        from rankwise.report.advice_page import render

        return render(self.advice, list(self.hosts), None if self.profile is None else self.profile.trust)


def advise(what: Sequence[str], target: Target, output: Path = Path("observed.comm")) -> Advised | int:
    """Say what costs time in a program: ``what`` is its record, or a command, which is observed first into ``output``.

    Returns the exit code of a command that left no record. Raises InputError.
    """
    code, path = _observed(list(what), output)
    if path is None:
        return code
    found = read_record(path)
    evidence = evidence_of(found, str(path), span_of(found, target.since_s, target.until_s))
    sizes, names = nodes_asked(evidence.traffic, target.nodes, target.ppn, target.node_sizes, target.hosts)
    on, known = machine_asked(target.profile, target.machine, target.settings)
    given = Levels.read(target.levels, target.topology, known)
    above = given.above(names, on)
    asked = ("nodes", "ppn", "node_sizes", "hosts", "levels", "topology", "profile", "machine")
    told = {name.replace("_", "-"): value for name in asked if (value := getattr(target, name)) is not None}
    told |= {"set": target.settings} if target.settings else {}
    poor = known is not None and known.trust.is_poor
    question = Question(sizes, names, on, How(levels=given.inner, above=above), told, poor, seats_of(above, on))
    return Advised(advised(evidence, question), names, path, known, code)


def _observed(what: list[str], output: Path) -> tuple[int, Path | None]:
    """Return the record's path, and the exit code of the program if it was run."""
    if len(what) == 1 and (Path(what[0]).suffix == ".comm" or Path(what[0]).is_file()):
        return 0, Path(what[0])
    from rankwise.observe.start import exit_code_of, observe

    code, record = observe(what, output)
    if record is None:
        return exit_code_of(code, record), None
    return exit_code_of(code, record), output


def _record_words(evidence: Evidence, path: Path) -> str:
    """Say what was recorded: ranks, nodes, and who sends to whom."""
    record = evidence.record
    where = f"{format_count(record.ranks, 'rank')} on {format_count(len(record.hosts), 'node')}"
    return f"{path}: {where}. {sentence(evidence.pattern.words)}"


def _findings_columns(evidence: Evidence) -> Sequence[Column[Finding]]:
    def ratio(of: Finding) -> tuple[float, float, float]:
        return of.ratio(evidence.time_s) or (1.0, 1.0, 1.0)

    def times(of: Finding) -> str:
        return f"{format_time(evidence.time_s)} to {format_time(evidence.time_s - (of.gain_s or 0.0))}"

    return (
        Column("change", "what"),
        Column(evidence.per, times),
        Column("times as fast", lambda of: f"{ratio(of)[0]:.2f}"),
        Column("95 %", lambda of: f"{ratio(of)[1]:.2f}–{ratio(of)[2]:.2f}"),
    )


_BAR = 50  # characters of all of the time


def _shares(evidence: Evidence) -> Iterator[Block]:
    """Yield where the time of a step goes; where ranks shared cores nothing tells the network from waiting for a core."""
    shares = evidence.shares
    if evidence.crowded is not None or not shares.total_s.sum() > 0:
        return
    of_run = f"; {format_share(evidence.steps.kinds[0].share)} of {evidence.steps.of} in such steps" if evidence.steps else ""
    parts = [("compute (outside MPI)", shares.computing_s)]
    if shares.split:
        parts += [("transfer and other MPI", shares.moving_s), ("wait (late sender/receiver)", shares.waiting_s)]
    else:
        parts += [("MPI", shares.moving_s)]
    yield Sentence(f"A {evidence.length}, mean over ranks{of_run}")
    bars = [(name, shares.share(part)) for name, part in parts]
    yield Lines([f"   {name:27}  {format_share(share):>5}  {_bar(share)}"[:80].rstrip() for name, share in bars])


def _bar(share: float) -> str:
    """Return a bar of a share; of one that a damaged record makes of it, none or all."""
    return "█" * round(_BAR * min(max(share, 0.0), 1.0))


def _placement_words(advice: Advice) -> str:
    room, per = advice.headroom, advice.evidence.per
    words = f"{format_volume(room.now_bytes)} a {per} cross nodes"
    if room.best_bytes < room.now_bytes:
        words += f", {format_volume(room.best_bytes)} with the best placement known"
    words += f"; {room.words(per, not advice.poor)}"
    if room.now_s is not None and room.best_s is not None and room.best_s < room.now_s:
        words += f"; predicted message time {format_time(room.now_s)}, then {format_time(room.best_s)}"
    return words


@dataclass(frozen=True)
class Tried(Result):
    """What a trial came to; ``why``: there was nothing to try."""

    trial: Trial | None
    judgement: Judgement | None
    why: str | None = None

    def to_dict(self) -> dict[str, Any]:
        if self.trial is not None and self.judgement is not None:
            return self.trial.to_dict(self.judgement)
        return {
            "ratio": None, "ratio_lo": None, "ratio_hi": None, "pairs": 0, "verdict": "no gain", "link_bytes": [],
            "why": self.why,
        }  # fmt: skip

    def records(self) -> list[dict[str, Any]]:
        return list(self.to_dict().get("placements", []))

    def blocks(self) -> Iterator[Block]:
        if self.trial is not None and self.judgement is not None:
            yield from _trial_blocks(self.trial, self.judgement)
        else:
            yield Sentence(self.why or "", mark=YES)


_VERDICTS = {"faster": YES, "slower": NO, "cannot tell": UNCLEAR}


def _trial_blocks(trial: Trial, judgement: Judgement) -> Iterator[Block]:
    yield Sentence(trial_words(trial, judgement), mark=_VERDICTS.get(judgement.verdict, BUT))
    record = trial.to_dict(judgement)
    yield Table(_TRIED, list(zip(record["placements"], record["link_bytes"], strict=True)))
    found = judgement.could_find
    finds = (
        f"so many find {100 * found:.2g} % in nine of ten trials" if math.isfinite(found) else "so few find no gain for sure"
    )
    yield from labelled("warning", [trial.ignored] if trial.ignored else [])
    yield Listing([("Why", f"These pairs scatter by {100 * judgement.scatter:.2g} %: {finds}.")])
    if judgement.verdict == "faster":
        yield Next([(record["placements"][1]["command"], "")])


_TRIED: Sequence[Column[Any]] = (
    Column("placement", lambda of: of[0]["name"]),
    Column("a run", lambda of: format_time(of[0]["time_s"])),
    Column("counted on the links", lambda of: of[1]["counted"], format_volume, unknown="not known"),
    Column("promised", lambda of: of[1]["promised"] or None, format_volume),
)


def try_placements(observed: Path, command: Sequence[str], asked: Trying) -> Tried:
    """Run a program as it was placed and as it should be, interleaved, until it is known which is faster.

    Raises InputError, RankwiseError and its kinds.
    """
    from rankwise.trial.session import Way

    if not 2 <= asked.pairs <= 1000:
        raise InputError(f"--pairs {asked.pairs} is out of range: give 2 to 1000")
    traffic = read_traffic(observed, None)
    program = read_command(list(command))
    if program.ranks is not None and program.ranks != traffic.ranks:
        raise InputError(
            f"{observed} has {traffic.ranks} ranks and the command starts {program.ranks}: observe it with as many"
        )
    sizes, names = nodes_asked(traffic, None, None, None, asked.hosts)
    if socket.gethostname() in names and (missing := why_missing(program.program[0])):  # else it may be on those nodes alone
        raise InputError(f"{program.program[0]}: {missing}, so nothing was run: correct its path")
    if asked.settings is not None:
        if traffic.node_of_rank is None:
            raise InputError(f"{observed} does not say where its ranks ran: observe the program again")
        return _try_settings(observed, asked, program, tuple(names[node] for node in traffic.node_of_rank.tolist()))
    given = None if asked.placement is None else read_mapping(asked.placement, sizes, "--placement", names)
    on, known = machine_asked(asked.profile, None, None)
    wanted = Levels.read(asked.levels, asked.topology, known)
    above = wanted.above(names, on)
    price = None if on is None else traffic_pricer(on, seats_of(above, on))
    mappings = place_traffic(traffic, sizes, how=How(levels=wanted.inner, above=above, price=price, given=given))
    by_name = {result.algorithm: result for result in mappings.results}
    now = by_name.get(OBSERVED, by_name[BLOCKED])

    def way(result: MapResult) -> Way:
        assert result.node_of_cell is not None
        return Way(result.algorithm, tuple(names[node] for node in result.node_of_cell), result.j_sum)

    new = _placeable(mappings, program, way) if given is None else by_name[next(iter(given))]
    if (why := _nothing_to_try(mappings, now is new or (given is None and hardly_better(new, now)))) is not None:
        return Tried(None, None, why)
    return _tried(observed, asked, program, (way(now), way(new)))


def _placeable(mappings: Mappings, program: Command, way: Callable[[MapResult], Way]) -> MapResult:
    """Return the best placement that the launcher can make; where it can make none, the best of all, which it will refuse."""
    best, left = mappings.best, list(mappings.results)
    refusal: InputError | None = None
    while left:
        found = best_of(left, mappings.objective)
        try:
            program.launcher.placed(way(found).hosts)
        except InputError as error:
            refusal = refusal or error
            left = [result for result in left if result is not found]
            continue
        if refusal is not None:
            tell(f"trying {found.algorithm} in place of {best.algorithm}, the best placement: {refusal}")
        return found
    return best


def _try_settings(observed: Path, asked: Trying, program: Command, hosts: tuple[str, ...]) -> Tried:
    """Run a program without settings and with them, by turns. Raises InputError."""
    from rankwise.trial.session import Way

    assert asked.settings is not None
    if asked.placement is not None:
        raise InputError("--settings and --placement are two changes: try one after the other")
    settings = Settings.read(asked.settings)
    variables = settings.environment(asked.settings)
    if there := [name for name in variables if name in os.environ]:
        raise InputError(f"{there[0]} is set already, and the program is to run without it, too: unset it first")
    says = str(read_record(observed).header.get("mpi", ""))
    stale = [*settings.stale(says, len(hosts), len(distinct(hosts))),
             *(f"{name} was changed since" for name in settings.changed(asked.settings))]  # fmt: skip
    if stale:
        tell(f"warning: the settings in {asked.settings} are stale: {'; '.join(stale)}; write them again with 'rankwise tune'")
    return _tried(observed, asked, program, (Way("default", hosts), Way("tuned", hosts, None, variables)), stale)


def _tried(observed: Path, asked: Trying, program: Command, ways: tuple[Way, Way], stale: Sequence[str] = ()) -> Tried:
    """Run two ways by turns until it is known which is faster."""
    from rankwise.trial.session import Trial

    path = asked.output or observed.with_suffix(".tuned.trial.jsonl" if ways[1].variables else ".trial.jsonl")
    with meter("pairs", asked.pairs) as bar:
        trial = Trial(program, ways, path, asked.pairs, asked.seed, bar, stale=stale)
        trial.resume()
        if program.placing:
            placed = " ".join(program.launcher.placed(trial.ways[1].hosts))
            tell(f"instead of '{' '.join(program.placing)}' the ranks are placed by: {placed}")
        try:
            judgement = trial.run()
        except KeyboardInterrupt:
            if (so_far := trial.judged_so_far()) is not None:
                tell(f"so far: {trial_words(trial, so_far)} Its pairs are in {path}: the same command goes on from there.")
            raise
    return Tried(trial, judgement)


def _nothing_to_try(mappings: Mappings, same: bool) -> str | None:
    """Say why there are no two placements to try, or return None."""
    if len(mappings.nodes) == 1:
        return (
            "Nothing to try: all ranks are on one node, where only their cores could change (rankwise map --levels socket:2 "
            "--format openmpi-rankfile)."
        )
    if same:
        return (
            f"Nothing to try: no placement was found that is at least {format_share(LEAST_GAIN)} better than the present one."
        )
    return None


def _interval(judgement: Judgement) -> str:
    from rankwise.trial.judgement import least_pairs

    if judgement.low <= 0:
        return f"too few pairs for an interval: {least_pairs()} have one"
    return f"{format_number(judgement.low)}–{format_number(judgement.high)}"


def trial_words(trial: Trial, judgement: Judgement) -> str:
    """Say which placement is faster, by how much, and how sure that is."""
    now, new = (way.name for way in trial.ways)
    told = f"{format_number(judgement.ratio)} times as fast as {now} ({_interval(judgement)}, {judgement.pairs} pairs)"
    if judgement.verdict == "cannot tell":
        more = f", some {judgement.more} more pairs needed" if judgement.more else ""
        return f"Cannot tell{more}: {new} looks {told}."
    if judgement.verdict == "no gain":
        return f"No gain: {new} is {told}."
    return f"{judgement.verdict.capitalize()}: {new} is {told}."
