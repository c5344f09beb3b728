"""A workload by each of the engines: predicted, simulated, run; side by side; which way is fastest, and what choosing costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rankwise.api.questions import CHOOSING, Choices, Effort, Nodes, Platform, Ranks, default_ranks
from rankwise.api.results import TRUST, Plot, Result, TimelinePlot, plotted, sentence
from rankwise.api.rows import choice_blocks, line, notes_of, row_table, validation_blocks
from rankwise.blocks import BUT, NO, UNCLEAR, YES, Block, Column, Next, Sentence, Table
from rankwise.decide.choice import MOST_BYTES, Choice, Chooser, Question, steps_of
from rankwise.decide.ranking import NOTHING_SENT, Ranking, conclusion, rank, require_one_question
from rankwise.engines.ledger import Where, keep_comparisons, keep_rows, keep_trials, machine_of
from rankwise.engines.machines import MachineTime
from rankwise.engines.model import Model
from rankwise.engines.placement import Placement, nodes_of, profile_placement
from rankwise.engines.predict import predict_rows
from rankwise.errors import InputError
from rankwise.files import write_json
from rankwise.launch.under_way import under_way
from rankwise.machine.profile import Profile, open_profile
from rankwise.progress import tell
from rankwise.questions import Options
from rankwise.records import key, record
from rankwise.units import format_count, format_percent, format_size, format_time, parse_ints, parse_periodic, parse_sizes
from rankwise.workloads import workloads
from rankwise.workloads.base import Aside, Row, Site, Workload
from rankwise.workloads.comparison import Validation
from rankwise.workloads.exchange import DEFAULT_RANKS, ExchangeCase, ExchangeOptions, make_grid

if TYPE_CHECKING:
    from rankwise.decide.regret import Regret, Trial
    from rankwise.engines.platform import System
    from rankwise.engines.run import Here
    from rankwise.observe.timeline import Timeline


@record
class Times(Result):
    """An engine's answers, a row each case; ``profile``: what they come from, where they come from one. ``aside``: what was
    asked for instead of rows."""

    workload: Workload
    rows: Sequence[Row] = key("one entry a case")
    profile: Profile | None = key(TRUST, default=None)
    aside: Aside | None = None
    trace: Callable[[Row], Timeline] | None = None
    following: tuple[tuple[str, str], ...] = ()  # what to do next: commands, and what each is for

    def timeline(self, row: Row | None = None) -> TimelinePlot:
        """Draw a round of a row (None: the shortest): what each rank does when, and the critical path. What was simulated or
        run is done once more, and traced. Raises InputError, RankwiseError and its kinds."""
        if self.trace is None or not self.rows:
            raise InputError("there is no row whose time line could be drawn")
        of = row or min(self.rows, key=lambda row: row.time_s)
        cells = [f"{name} {value}" for name, value in of.case.cells().items()]
        return plotted(self.trace(of), f"{of.case.ranks} ranks by the {of.engine} engine, {', '.join(cells)}")

    def to_dict(self) -> dict[str, Any]:
        if self.aside is not None:
            return self.aside.record
        return super().to_dict()

    def records(self) -> list[dict[str, Any]]:
        if self.aside is not None:
            return [dict(zip(self.aside.columns, line, strict=True)) for line in self.aside.lines]
        return [row.to_dict() for row in self.rows]

    @property
    def wrong(self) -> int:
        """How many rows delivered what was not sent."""
        return sum(row.verified is False for row in self.rows)

    @property
    def conclusion(self) -> str:
        if not self.rows:
            return "No case was timed."
        if self.wrong:
            return f"{self.wrong} of {len(self.rows)} {self.workload.wrong}."
        return f"{self.workload.headline(self.rows) or conclusion(self.rows)}."

    @property
    def mark(self) -> str:
        """Whether it is an answer: not where wrong data arrived, nor for sure where ranks shared cores or quality is poor."""
        return (
            NO if self.wrong or not self.rows else BUT if self.is_poor or any(row.oversubscribed for row in self.rows) else YES
        )

    def blocks(self) -> Iterator[Block]:
        if self.aside is not None:
            yield row_table([dict(zip(self.aside.columns, line, strict=True)) for line in self.aside.lines])
            return
        yield Sentence(self.conclusion, mark=self.mark)
        yield row_table([line(self.workload, row) for row in self.rows])
        yield from map(Sentence, self.workload.remarks(self.rows))
        yield from notes_of(self.rows)
        if self.following:
            yield Next(self.following)

    def plot(self) -> Plot:
        """Draw the times with their intervals, the shortest on top."""
        from rankwise.report.projected import beside_picture

        if not self.rows:
            raise InputError("there is no row to draw: ask for cases")
        drawn = [
            MachineTime(", ".join(row.case.cells().values()), row.time_s, *(row.interval_s or (row.time_s, row.time_s)))
            for row in self.rows
        ]
        return Plot(beside_picture(drawn, self.conclusion), [self.conclusion])


@record
class Validated(Result, decides=True, rests_on="validation"):
    """Predictions with what they were compared with; ``validation`` has all of it."""

    workload: Workload
    validation: Validation = key("all of it", inline=True)

    @property
    def wrong(self) -> int:
        return sum(comparison.measured.verified is False for comparison in self.validation.comparisons)

    @property
    def is_too_poor(self) -> bool:
        session = self.validation.session
        return not self.wrong and (super().is_too_poor or (session is not None and session.unclear))

    def blocks(self) -> Iterator[Block]:
        return validation_blocks(self.validation)

    def plot(self) -> Plot:
        """Draw predictions with measurements, of the first kind of exchange."""
        from rankwise.report.exchanges import exchange_groups, exchange_picture

        if not all(isinstance(comparison.case, ExchangeCase) for comparison in self.validation.comparisons):
            return super().plot()
        group = exchange_groups(self.validation.comparisons)[0]
        return Plot(exchange_picture(group, "exchange"), [self.conclusion])


@record
class Chosen(Result, rows="candidates", decides=True, rests_on="choice"):
    """Which exchange is fastest, why, and where another one takes over: ``choice`` has all of it."""

    choice: Choice = key("all of it", inline=True)
    chooser: Chooser

    @property
    def best(self) -> Any:
        """The fastest candidate."""
        return self.choice.best

    @property
    def conclusion(self) -> str:
        choice = self.choice
        if not choice.best.time_s:
            return sentence(NOTHING_SENT)
        return " ".join(sentence(words) for words in (choice.doubt, choice.reason, choice.otherwise) if words)

    def blocks(self) -> Iterator[Block]:
        return choice_blocks(self.choice)

    def plot(self) -> Plot:
        """Draw which exchange is fastest at which size and cutoff."""
        from rankwise.report.exchanges import map_places, tradeoff_picture

        question = self.choice.question
        winners = self.chooser.winner_map(question, *map_places(question))
        return Plot(tradeoff_picture(winners, question), [self.conclusion])


@record
class Ranked(Result, rows="candidates", decides=True):
    """The candidates of one question of another workload, the fastest first: ``ranking`` has all of it."""

    workload: Workload
    ranking: Ranking = key("all of it", inline=True)
    profile: Profile = key(TRUST)
    following: tuple[tuple[str, str], ...] = ()  # what to do next: commands, and what each is for

    @property
    def best(self) -> Row:
        """The fastest candidate."""
        return self.ranking.best

    @property
    def conclusion(self) -> str:
        return " ".join(sentence(words) for words in (self.ranking.doubt, self.ranking.reason) if words)

    def blocks(self) -> Iterator[Block]:
        ranking = self.ranking
        if ranking.doubt is not None:
            yield Sentence(sentence(ranking.doubt), mark=UNCLEAR)
            if not self.is_too_poor:
                yield Sentence(sentence(ranking.reason))
        else:
            yield Sentence(f"{ranking.reason}.", mark=YES)
        yield row_table([{"": str(place), **line(self.workload, row)} for place, row in enumerate(ranking.rows, 1)])
        yield from notes_of(ranking.rows)
        if self.following:
            yield Next(self.following)

    def plot(self) -> Plot:
        return Times(self.workload, self.ranking.rows, self.profile).plot()


def profile_of(profile: Any) -> Profile:
    """Return a profile that is given as one, as what ``load`` returned, or by its file. Raises InputError."""
    known = getattr(profile, "profile", profile)
    return known if isinstance(known, Profile) else open_profile(Path(known))


def workload_of(pattern: Options) -> Workload:
    """Return the workload that a question is of. Raises InputError."""
    for workload in workloads().values():
        if type(pattern) is workload.options:
            return workload
    raise InputError(
        f"a {type(pattern).__name__} is no workload: give rankwise.Exchange(...), Stencil, HaloExchange, Fft3d, Alltoall, "
        "Collective or Observed"
    )


def predict(pattern: Options, profile: Any = Path("machine.json"), ranks: Ranks = Ranks()) -> Times:
    """Ask the model how long a workload takes, with the interval that the profile's uncertainty gives.

    ``pattern``: an Exchange, Stencil, HaloExchange, Fft3d, Alltoall, Collective or Observed; ``profile``: a file, or what
    ``load`` or ``measure`` returned. Raises InputError where the profile lacks what is needed.
    """
    workload = workload_of(pattern)
    placed = _placed(profile, ranks)
    cases = workload.cases(pattern, _site("predict", placed, ranks.ranks_per_node))
    machine, placement = placed()
    rows = predict_rows(machine, cases, placement, ranks.link_model, ranks.loaded)
    where = Where(machine, ranks.ranks_per_node, ranks.placement, ranks.loaded, ranks.link_model or "")
    keep_rows("predict", machine_of(machine), rows, where)

    def trace(row: Row) -> Timeline:
        from rankwise.engines.timelines import predicted

        return predicted(Model(machine, ranks.link_model, ranks.loaded), row.case, placement.of(row.case))

    return Times(workload, rows, machine, trace=trace, following=tuple(_after_predict(workload, pattern, machine, ranks)))


def _after_predict(workload: Workload, pattern: Options, machine: Profile, ranks: Ranks) -> Iterator[tuple[str, str]]:
    """Yield what follows a prediction: the same run, and the other algorithms."""
    asked = " ".join(part for part in (workload.id, pattern.words(), machine.trust.option) if part)
    yield _validate(asked, ranks), "run it, compare"
    if isinstance(pattern, ExchangeOptions):
        if pattern.size.isalnum() and pattern.cutoff.isdecimal():  # one question
            words = pattern.words("algorithm", "mode", "replication", "team_boxes")
            choose = ("rankwise choose", words, machine.trust.option, ranks.words())
            yield " ".join(part for part in choose if part), "other algorithms"
    elif workload.chooses:
        yield f"rankwise choose {asked} {ranks.words()}".rstrip(), "other algorithms"


def _validate(asked: str, ranks: Ranks) -> str:
    """Return the command that runs what was asked, its ranks where they were predicted to be."""
    return f"rankwise validate {asked} {ranks.words('link_model', 'loaded')}".rstrip()


def _site(verb: str, placed: Callable[[], tuple[Profile | None, Placement]], ranks_per_node: int | None = None) -> Site:
    """Return what cases of ranks that are nowhere yet are made for; ``placed`` is asked when a case needs to know."""

    def layout(ranks: int) -> list[int]:
        return nodes_of(placed()[1].of_ranks(ranks))

    def mpi() -> str:
        profile = placed()[0]
        return "" if profile is None else profile.mpi_version

    return Site(verb, shares_nodes=(ranks_per_node or 1) > 1, layout=layout, mpi=mpi)


def _placed(profile: Any, ranks: Ranks) -> Callable[[], tuple[Profile, Placement]]:
    """Return what opens a profile and places ranks on its nodes, once."""

    @cache
    def placed() -> tuple[Profile, Placement]:
        machine = profile_of(profile)
        return machine, profile_placement(machine, ranks.ranks_per_node, ranks.placement)

    return placed


def simulate(
    pattern: Options,
    platform: Platform,
    ranks_per_node: int | None = None,
    placement: str = "blocked",
    folder: Path = Path("simulated"),
    jobs: int | None = None,
) -> Times:
    """Run the kernels of a workload under SimGrid. ``folder`` keeps what was simulated, which is not simulated again.

    Raises InputError, RankwiseError, and UnusableEnvironmentError without SimGrid.
    """
    from rankwise.engines.session import simulate_rows, trace_simulation

    workload = workload_of(pattern)

    @cache
    def located() -> tuple[System, Placement]:
        system = platform.system()
        return system, system.placement(ranks_per_node, placement)

    cases = workload.cases(pattern, _site("simulate", lambda: (located()[0].profile, located()[1]), ranks_per_node))
    system, placed = located()
    rows = simulate_rows(system, cases, platform.topology, platform.nodes, placed, Path(folder), jobs)
    network = f"{platform.topology} of {platform.nodes or 'as many as needed'}, {platform.hop_latency} a hop"
    profile = None if platform.machine else system.profile  # behind another network it is another machine
    where = Where(profile, ranks_per_node, placement, ways=network)
    keep_rows("simulate", system.name if system.profile is None else machine_of(system.profile), rows, where)

    def trace(row: Row) -> Timeline:
        return trace_simulation(system, row, platform.topology, platform.nodes, placed)

    return Times(workload, rows, system.profile, trace=trace)


def run(pattern: Options, nodes: Nodes = Nodes(), seconds: float | None = None, samples: Path | None = None) -> Times:
    """Run a workload on this machine, or on the nodes named; what arrives is checked.

    ``seconds``: to spend on each case; ``samples``: the file that raw samples are appended to. Raises RankwiseError and its
    kinds.
    """
    from rankwise.engines.session import run_rows, trace_run

    workload = workload_of(pattern)
    aside = workload.instead(pattern)
    if aside is not None:
        return Times(workload, (), aside=aside)
    here, site = nodes.here("run")
    kept = samples or Path(f"{workload.id}.samples.jsonl")
    rows = run_rows(workload.cases(pattern, site), here, Path(kept), workload.seconds if seconds is None else seconds)
    return Times(workload, rows, trace=lambda row: trace_run(row, here))


def validate(
    pattern: Options,
    profile: Path | str = Path("machine.json"),
    engines: Sequence[str] = ("model", "run"),
    nodes: Nodes = Nodes(),
    effort: Effort = Effort(),
) -> Validated:
    """Put engines side by side: the last of model, simgrid and run that is named is what the others are held against.

    Raises InputError, RankwiseError and its kinds.
    """
    from rankwise.engines.session import compare_engines, require_engines, why_not_paired

    require_engines(engines)
    workload = workload_of(pattern)
    here, site = nodes.here("validate") if "run" in engines else (None, _site("validate", _placed(profile, Ranks())))
    cases = workload.cases(pattern, site)
    if effort.paired and here is not None and (why := why_not_paired(cases, engines, here)) is not None:
        tell(f"note: not paired: {why}; a second run tells the noise")
    if here is not None and "model" in engines and (foreign := _of_another_machine(open_profile(Path(profile)), here)):
        tell(f"warning: {foreign}")
    validation = compare_engines(
        Path(profile), cases, engines, here, effort.samples or Path(f"{workload.id}.samples.jsonl"),
        workload.seconds if effort.seconds is None else effort.seconds, effort.simulations, effort.launches if effort.paired
        else None,
    )  # fmt: skip
    keep_comparisons(machine_of(open_profile(Path(profile))), validation.comparisons)
    return Validated(workload, validation)


def _of_another_machine(profile: Profile, here: Here) -> str:
    """Say that a profile was measured on another kind of machine, with the effect and the fix; nothing where it was not."""
    topology, machine = here.topology, profile.machine
    pairs = ((machine.get("cores"), topology.core_count), (machine.get("cpu_model"), topology.cpu_model))
    if all(there in (None, "", own) for there, own in pairs):
        return ""
    there, own = (
        ", ".join(str(part) for part in (cores and format_count(cores, "core"), model) if part)
        for cores, model in zip(*pairs, strict=True)
    )
    return (
        f"{profile.trust.file} was measured on another machine, {machine.get('hostname') or 'unnamed'} ({there}), not here "
        f"({own}): "
        "errors are those of the machine, not of the model; fix: rankwise measure -o here.json"
    )


def choose(pattern: Options, profile: Any = Path("machine.json"), ranks: Ranks = Ranks()) -> Chosen | Ranked:
    """Rank all candidates of a workload, the fastest by the model first; of an Fft3d of this machine the best are run.

    Of an Exchange one size and one cutoff; what is not named of it is free: all algorithms and modes. Raises
    InputError.
    """
    from rankwise.decide.fft_plans import tried_plans

    if isinstance(pattern, ExchangeOptions):
        question = question_of(pattern.left(**CHOOSING))
        machine = profile_of(profile)
        placement = profile_placement(machine, ranks.ranks_per_node, ranks.placement)
        chooser = Chooser(machine, ranks.link_model, ranks.loaded, placement.of_ranks)
        with under_way("choosing", steps_of(question), "nothing is kept") as progress:
            return Chosen(chooser.choose(question, progress), chooser)
    workload = workload_of(pattern)
    placed = _placed(profile, ranks)
    cases = workload.candidates(pattern, _site("choose", placed))
    require_one_question(cases)
    machine, placement = placed()
    if ranks.link_model is None and not ranks.loaded and (tried := tried_plans(machine, cases, placement)) is not None:
        return Ranked(workload, tried, machine)
    ranking = rank(predict_rows(machine, cases, placement, ranks.link_model, ranks.loaded), machine)
    asked = " ".join(part for part in (workload.id, pattern.words(), machine.trust.option) if part)
    return Ranked(workload, ranking, machine, ((_validate(asked, ranks), "run them, compare"),))


def question_of(asked: ExchangeOptions) -> Question:
    """Return what is chosen for. Raises InputError for several sizes or cutoffs."""
    ranks = DEFAULT_RANKS if asked.ranks is None and "x" not in asked.dims.lower() else asked.ranks
    grid = make_grid(asked.dims, ranks)
    sizes = parse_sizes(asked.size, "--bytes")
    if len(sizes) != 1:
        raise InputError(f"--bytes {asked.size} is several sizes: give one; the crossovers and --plot show the others")
    if sizes[0] > MOST_BYTES:
        raise InputError(f"--bytes {asked.size} is more than a choice is made for: give at most {format_size(MOST_BYTES)}")
    cutoffs = parse_ints(asked.cutoff, "--cutoff", least=-(10**18))
    if len(cutoffs) != 1 or not 1 <= cutoffs[0] <= 64:
        raise InputError(f"--cutoff {asked.cutoff} is not a number of layers: give 1 to 64")
    flags = tuple(parse_periodic(asked.periodic, len(grid)))
    teams = () if asked.replication is None else tuple(parse_ints(asked.replication, "--replication"))
    return Question(grid, flags, cutoffs[0], sizes[0], asked.shell, _named(asked.algorithm), _named(asked.mode), teams)


def _named(words: str) -> tuple[str, ...]:
    """Return the algorithms or modes that are named; none where all may be chosen."""
    return () if words == "all" else tuple(words.split(","))


@record
class Regretted(Result, rests_on="regret"):
    """What choosing by the model lost: ``regret`` has all of it."""

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


def _questions(asked: Choices, usual: int) -> list[Question]:
    """Return what is chosen for; ``usual`` ranks where nobody says. Raises InputError."""
    found = []
    for shape in asked.dims.split(","):
        grid = make_grid(shape, usual if asked.ranks is None and "x" not in shape.lower() else asked.ranks)
        flags = tuple(parse_periodic(asked.periodic, len(grid)))
        found += [
            Question(grid, flags, k, size_bytes, algorithms=_named(asked.algorithm), modes=_named(asked.mode))
            for k in parse_ints(asked.cutoff, "--cutoff")
            for size_bytes in parse_sizes(asked.size, "--bytes")
        ]
    return found


def regret_of(asked: Choices) -> Regretted:
    """Choose for every question, run or simulate all candidates, and say how
    much was lost. Raises InputError, RankwiseError."""
    from rankwise.decide.regret import measure_regret, simulate_regret
    from rankwise.engines.run import Here

    if asked.engine == "run":
        here = Here()
        questions = _questions(asked, default_ranks(here))
        regret = measure_regret(asked.profile, questions, here, asked.samples, asked.seconds, asked.rounds)
    else:
        regret = simulate_regret(asked.profile, _questions(asked, DEFAULT_RANKS), asked.simulations)
    if asked.output is not None:
        write_json(asked.output, regret.to_dict())
    keep_trials(machine_of(open_profile(asked.profile)), regret.engine, regret.trials)
    return Regretted(regret)
