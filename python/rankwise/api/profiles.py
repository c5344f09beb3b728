"""A machine's profile: read, measured, fitted to samples, or made of what other programs measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rankwise.api.questions import LinkClass, Statistic, writable
from rankwise.api.results import Plot, Result, sentence
from rankwise.blocks import NO, YES, Block, Next, Sentence, labelled
from rankwise.errors import InputError
from rankwise.machine.collective_costs import CollectiveCosts
from rankwise.machine.hosts import parse_hosts
from rankwise.machine.profile import Packing, Profile, figures_of, open_profile
from rankwise.machine.record import tcp_words
from rankwise.machine.trust import Trust
from rankwise.questions import Options, option
from rankwise.records import key, record
from rankwise.units import format_bandwidth, format_day, format_time, parse_ints, parse_seconds, parse_sizes

# What can be measured, and how long it takes where nothing else is said.
CAMPAIGNS = {
    "latency": "Ping-pong with MPI_Send and MPI_Ssend, protocol limits: 15 s",
    "bandwidth": "64 messages in flight, one way and both, as osu_bw: 15 s",
    "pairs": "Streams of 1, 2, 4, ... pairs of ranks at once: 15 s",
    "one-to-all": "A ping-pong of one rank with each other in turn: 15 s",
    "alltoall": "MPI_Alltoall with a rank on each core or node: 15 s",
    "loggp": "The same, and send and receive overhead and gap: 15 s",
    "all-pairs": "Streams between all pairs of nodes, for doctor --nodes: 300 s",
    "fft3d": "Rates of local FFTs and of memory, for predict fft3d: 1 min",
    "pack": "Packing and unpacking of halos, for predict halo: 1 s",
    "collectives": "Reductions, eager limits, collectives in a node: 1 min",
}
SECONDS = {"all-pairs": 300, "fft3d": 1, "collectives": 60}  # the time limit where it is not 15 s
_OF_MESSAGES = ("latency", "pingpong", "bandwidth", "pairs", "one-to-all", "alltoall", "loggp")


@dataclass(frozen=True)
class Campaign(Options):
    """What to measure, for how long, and where the profile goes."""

    what: Literal[
        "pingpong",
        "latency",
        "bandwidth",
        "pairs",
        "one-to-all",
        "alltoall",
        "loggp",
        "all-pairs",
        "fft3d",
        "pack",
        "collectives",
    ] = option("pingpong", f"{', '.join(CAMPAIGNS)}; or pingpong, which is latency.", "[WHAT]")
    output: Path = option(Path("machine.json"), "Profile to write; samples go next to it.", "--output", "-o", check=writable)
    resume: bool = option(
        False, "Go on with an interrupted measurement.", "--resume", verbs=(*_OF_MESSAGES, "all-pairs", "collectives")
    )
    sizes: str | None = option(
        None, "Message sizes, as in 0,8,1kB,4MiB. Default: 0 B to 4 MiB; all-pairs: 8,1MB.", verbs=(*_OF_MESSAGES, "all-pairs")
    )
    launches: int | None = option(
        None,
        "Starts of mpiexec; reliable intervals need 10. Their spread is the interval. Default: as many as the time holds, "
        "about 0.3 s each.",
        verbs=_OF_MESSAGES,
    )
    spread: str = option(
        "0", "Spread the launches over this time (10m), to catch slow and fast phases of the machine.", metavar="TIME",
        verbs=_OF_MESSAGES,
    )  # fmt: skip
    seconds: float | None = option(
        None,
        "Time limit in seconds; fft3d: of each cube. Starting ranks for the first five launches comes on top.",
        verbs=(*_OF_MESSAGES, *SECONDS),
    )
    precision: float = option(
        0.03, "Stop when every 95 % interval is this narrow, 0.03 for ± 3 % of the figure, after ten launches or more.",
        verbs=_OF_MESSAGES,
    )  # fmt: skip
    statistic: Statistic = option(
        "median", "Statistic of a measured time: median, minimum, mean, smallest-20 or tukey-mean.", verbs=_OF_MESSAGES
    )
    background: int = option(
        0, "Measure plain sends also while N other pairs of ranks keep the link busy.", metavar="N", verbs=_OF_MESSAGES
    )
    hosts: str | None = option(
        None,
        "Nodes, to measure between them too: node1,node2 or n[01-04]. Default: those of the Slurm allocation.",
        verbs=(*_OF_MESSAGES, "all-pairs", "collectives"),
    )
    links: str | None = option(
        None, "Link classes to measure, as in same-socket,other-node. Default: all there are.", verbs=_OF_MESSAGES
    )
    n: str | None = option(None, "Points an axis of the cubes. Default: 40,80,160,288.", "--n", verbs=("fft3d",))
    ranks: str | None = option(
        None, "Numbers of ranks. Default: 1 and the cores; collectives: 2, 4, ... and the cores.", "--ranks",
        verbs=("fft3d", "collectives"),
    )  # fmt: skip


@record
class Machine(Result):
    """A profile: ``profile`` has all of it, ``path`` is where it lies."""

    profile: Profile = key("all of it", inline=True)
    path: Path

    def records(self) -> list[dict[str, Any]]:
        """The one latency and the one bandwidth of each link class, and how many samples they come from."""
        found = figures_of(self.profile.nearer_first)
        return [{"link": name, **figures.to_dict(), "samples": figures.samples} for name, figures in found.items()]

    @property
    def conclusion(self) -> str:
        told = [
            f"{name} {format_time(figures.latency_s)}, {format_bandwidth(figures.bandwidth_bytes_per_s)}"
            for name, figures in figures_of(self.profile.links).items()
        ]
        where = self.profile.machine.get("hostname") or self.path
        return f"{where}: {'; '.join(told)}."

    @property
    def quality(self) -> Trust:
        return replace(self.profile.trust, file="", day=format_day(self.profile.created))

    def blocks(self, models: bool = False) -> Iterator[Block]:
        """Yield what the profile knows; with ``models`` alpha and beta of each mode, too."""
        from rankwise.api.links import collective_blocks, link_blocks, links_table, model_blocks, rate_blocks

        profile = self.profile
        yield Sentence(self.conclusion)
        origin = " ".join(str(profile.source.get(key, "")) for key in ("kind", "measured")).strip()
        yield Sentence(f"{profile.machine.get('cpu_model', 'no description of the machine')} ({origin})")
        if tcp := profile.machine.get("tcp"):
            yield Sentence(f"between nodes: TCP, {tcp_words(tcp)}")
        yield links_table(profile)
        yield from model_blocks(profile) if models else ()
        yield from link_blocks(profile)
        yield from () if profile.fft3d is None else rate_blocks(profile.fft3d)
        yield from () if profile.collectives is None else collective_blocks(profile.collectives, profile)
        yield from labelled("warning", profile.warnings)
        once = ["day-to-day variation is unknown: one measurement so far"] if profile.is_single else []
        yield from labelled("note", (*map(str, self.quality.further()), *once, *profile.notes()))
        yield Next([(f"rankwise predict exchange --profile {self.path}", ""), (f"rankwise report --profile {self.path}", "")])

    def export(self, form: str = "csv", link: str | None = None) -> str:
        """Return the profile for other programs: ``csv``, ``osu`` (as osu_latency prints), ``simgrid`` (a platform) or
        ``prometheus``.

        ``link``: the class, which osu and simgrid have one of. Raises InputError.
        """
        from rankwise.machine.metrics import text as prometheus_text
        from rankwise.measure.export import csv_text, osu_text, simgrid_text

        if form not in ("csv", "osu", "simgrid", "prometheus"):
            raise InputError(f"format '{form}' is unknown: choose csv, osu, simgrid or prometheus")
        profile, path = self.profile, self.path
        if link is None and len(profile.links) > 1 and form in ("osu", "simgrid"):
            raise InputError(f"{form} holds one link and {path} has {', '.join(profile.links)}: choose one with --link")
        if link is not None and link not in profile.links:
            raise InputError(f"{path} has no link '{link}': choose one of {', '.join(profile.links)}")
        if form in ("csv", "prometheus"):
            write = csv_text if form == "csv" else prometheus_text
            return write(profile if link is None else replace(profile, links={link: profile.links[link]}))
        return (osu_text if form == "osu" else simgrid_text)(profile, link or next(iter(profile.links)))

    def plot(self) -> Plot:
        """Draw time and bandwidth of a message against its size, with the samples behind each point where they are there."""
        from rankwise.report.links import launches_of, links_picture

        return Plot(links_picture(self.profile.nearer_first, launches_of(self.profile, self.path.parent)), [self.conclusion])


@record
class Added(Result):
    """What was measured apart from messages and put into a profile: rates of FFTs, what packing takes, or collectives."""

    # FftRates, Packing or CollectiveCosts.
    found: Any = key(
        "what was measured", inline=True,
        shape="rankwise.machine.fft_rates.FftRates | rankwise.machine.profile.Packing | "
        "rankwise.machine.collective_costs.CollectiveCosts",
    )  # fmt: skip
    machine: Machine

    def records(self) -> list[dict[str, Any]]:
        record = self.to_dict()
        if "rates" in record:
            return [{"ranks": of["ranks"], **point} for of in record["rates"] for point in of["points"]]
        if "in_node" in record:
            return list(record["in_node"])
        return [
            {"row_bytes": int(row), "size_bytes": size, "time_s": time_s}
            for row, curve in record.items()
            for size, time_s in curve
        ]

    def blocks(self) -> Iterator[Block]:
        from rankwise.api.links import collective_blocks, packing_table, rate_blocks

        if isinstance(self.found, Packing):
            yield packing_table(self.found)
            return
        if isinstance(self.found, CollectiveCosts):
            yield Sentence(self.conclusion, mark=YES)
            yield from collective_blocks(self.found, self.machine.profile)
            yield Next([(f"rankwise predict collective allreduce --profile {self.machine.path}", "")])
            return
        yield from rate_blocks(self.found)
        yield Next([(f"rankwise predict fft3d --profile {self.machine.path}", "")])

    @property
    def conclusion(self) -> str:
        return f"{len(self.records())} figures were added to {self.machine.path}."


@dataclass(frozen=True)
class Measured(Machine):
    """A profile that was measured now."""

    _decides = True

    def blocks(self, models: bool = False) -> Iterator[Block]:
        from rankwise.api.links import link_blocks, links_table
        from rankwise.measure.samples import samples_path_of

        if self.is_too_poor:
            yield Sentence(sentence(f"Not usable: the times in {self.path} are too uncertain to predict from"), mark=NO)
        else:
            yield Sentence(self.conclusion, mark=YES)
        yield links_table(self.profile)
        yield from link_blocks(self.profile)
        yield Sentence(f"profile: {self.path}; samples: {samples_path_of(self.path)}")
        yield from labelled("warning", self.profile.warnings)
        yield from labelled("note", (*map(str, self.quality.further()), *self.profile.notes()))
        yield Next([(f"rankwise predict exchange --profile {self.path}", ""), (f"rankwise profile show {self.path}", "")])


@dataclass(frozen=True)
class Imported(Machine):
    """A profile of what other programs measured; ``warnings`` are of making it."""

    warnings: Sequence[str] = ()

    def blocks(self, models: bool = False) -> Iterator[Block]:
        yield Sentence(f"Written to {self.path}: {self.conclusion.partition(': ')[2]}", mark=YES)
        yield from labelled("warning", self.warnings)
        yield Next([(f"rankwise profile show {self.path}", ""), (f"rankwise report --profile {self.path}", "a page")])


@dataclass(frozen=True)
class Fitted(Machine):
    """A profile of models fitted to samples; ``kept``: whether it was written."""

    kept: bool = False

    def blocks(self, models: bool = False) -> Iterator[Block]:
        from rankwise.api.links import fit_blocks

        yield from fit_blocks(self.profile, models)
        yield from labelled("warning", self.profile.warnings)
        if self.kept:
            yield Next([(f"rankwise predict exchange --profile {self.path}", ""),
                        (f"rankwise profile show {self.path} --all", "parameters, 95 %")])  # fmt: skip
        else:
            yield Next([(f"rankwise fit {self.path} -o machine.json", "write a profile"),
                        (f"rankwise fit {self.path} --all", "parameters, 95 %")])  # fmt: skip


def load(path: Path | str = Path("machine.json")) -> Machine:
    """Read a profile. Raises InputError when it is missing, half-written, newer, or holds impossible figures."""
    return Machine(open_profile(Path(path)), Path(path))


@dataclass(frozen=True)
class Tables(Options):
    """What other programs measured, and where the profile goes that is made of it."""

    files: list[Path] = option(
        MISSING,
        "Output of OSU benchmarks, IMB, nccl-tests or mpi4py.bench, or CSV (message_bytes,latency_ns,sigma_ns). Several runs "
        "give one table with their spread.",
        "TABLES...",
    )
    output: Path = option(Path("machine.json"), "The profile to write.", "--output", "-o", check=writable)
    link: LinkClass | None = option(
        None, "The link class that was measured. Default: what a job map or host names in the file tell."
    )
    name: str | None = option(None, "The machine's name. Default: the first file's name.")
    add: bool = option(False, "Put the tables into the profile that --output names.", "--add")
    window: int | None = option(None, "Messages in flight of osu_bw and osu_bibw (their -W). Default: 64.", least=1)


def import_tables(asked: Tables) -> Imported:
    """Make a profile of what other programs measured, and write it. Raises InputError for what cannot be read."""
    from rankwise.measure.imports import import_profile

    base = Profile.load(asked.output) if asked.add else None
    profile = import_profile(asked.files, asked.link, asked.name or asked.files[0].stem, asked.window, base)
    profile.save(asked.output)
    return Imported(profile, asked.output, tuple(profile.warnings[len(base.warnings) if base else 0 :]))


def measure(asked: Campaign | None = None) -> Result:
    """Measure this machine, and the link between nodes, and write its profile: a Machine; of fft3d, pack, collectives and
    all-pairs what was found.

    Raises RankwiseError and its kinds.
    """
    asked = asked or Campaign()
    what = "pingpong" if asked.what == "latency" else asked.what
    seconds = SECONDS.get(what, 15) if asked.seconds is None else asked.seconds
    if asked.what == "fft3d":
        from rankwise.engines.fft_lengths import DEFAULT_SIZES, FftPlan, measure_fft3d
        from rankwise.machine.discover import discover

        sizes = parse_ints(asked.n, "--n") if asked.n else list(DEFAULT_SIZES)
        counts = parse_ints(asked.ranks, "--ranks") if asked.ranks else sorted({1, discover().allowed_core_count})
        rates = measure_fft3d(asked.output, FftPlan(sizes, counts, seconds))
        return Added(rates, load(asked.output))
    if asked.what == "pack":
        from rankwise.measure.profiles import measure_packing

        return Added(measure_packing(asked.output), load(asked.output))
    if asked.what == "collectives":
        from rankwise.measure.collective_costs import measure_collectives

        counts = parse_ints(asked.ranks, "--ranks") if asked.ranks else []
        hosts = parse_hosts(asked.hosts) if asked.hosts else ()
        return Added(measure_collectives(asked.output, hosts, counts, seconds, asked.resume), load(asked.output))
    if asked.n is not None or asked.ranks is not None:
        raise InputError("--n and --ranks are for fft3d: write 'rankwise measure fft3d', or leave them out")
    from rankwise.measure.campaign import Plan, default_sizes
    from rankwise.measure.profiles import measure_machine
    from rankwise.measure.samples import samples_path_of

    if asked.what == "all-pairs":
        from rankwise.api.streams import Streams, StreamTimes, campaign_of

        streams = Streams(asked.hosts, samples_path_of(asked.output), asked.sizes, seconds, asked.resume)
        return StreamTimes(campaign_of(streams), streams.samples)
    plan = Plan(
        {},
        tuple(sorted(set(parse_sizes(asked.sizes)))) if asked.sizes else default_sizes(),
        what,
        asked.background,
        asked.launches,
        seconds,
        precision=asked.precision,
        statistic=asked.statistic,
        spread_s=parse_seconds(asked.spread, "--spread"),
    )
    hosts = parse_hosts(asked.hosts) if asked.hosts else ()
    links = [name.strip() for name in asked.links.split(",") if name.strip()] if asked.links else ()
    return Measured(measure_machine(asked.output, asked.resume, plan, hosts, links), asked.output)


@dataclass(frozen=True)
class Fitting(Options):
    """What is fitted, by which model, and where the profile goes."""

    samples: Path = option(
        MISSING, "Raw samples (what 'measure' keeps), or a CSV table as 'profile import' reads it.", "SAMPLES"
    )
    model: str = option("auto", "auto, hockney, piecewise, loggp, max-rate, or pchip: the table itself, joined smoothly.")
    statistic: Statistic = option("median", "Statistic of a measured time: median, minimum, mean or smallest-20.")
    method: Literal["regression", "table"] = option(
        "regression", "Piecewise by regression (lines and breaks from the data), or the table itself: table."
    )
    link: LinkClass = option("other-node", "The link class of a CSV table.")
    output: Path | None = option(None, "Write the profile here.", "--output", "-o", check=writable)
    force: bool = option(False, "Write over a profile that has what the new one lacks.", "--force")


def fit(asked: Fitting) -> Fitted:
    """Fit all link models, choose one of each link, and write the profile where one is wanted.

    Raises InputError for what cannot be fitted, and for an output that would lose the samples or a figure.
    """
    from rankwise.measure.fitting import fit_table
    from rankwise.measure.profiles import profile_of_samples

    samples, output = asked.samples, asked.output
    if output is not None and output.exists() and samples.exists() and output.samefile(samples):
        raise InputError(f"--output {output} holds the samples: name another file, they would be lost")
    if samples.suffix.lower() == ".csv":
        profile = fit_table(samples, asked.link, asked.model, asked.method)
    else:
        profile = profile_of_samples(samples, asked.statistic, asked.model, asked.method)
    if output is not None:
        if output.exists() and not asked.force and (lost := Profile.load(output).lost_in(profile)):
            raise InputError(f"{output} has what the new profile lacks ({', '.join(lost)}): give another --output, or --force")
        profile.save(output)
    return Fitted(profile, output or samples, output is not None)
