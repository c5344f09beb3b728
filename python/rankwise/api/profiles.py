"""A machine's profile: read, measured, fitted to samples, or made of what other programs measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rankwise.api.links import collective_blocks, fit_blocks, link_blocks, links_table, model_blocks, packing_table, rate_blocks
from rankwise.api.requests import SECONDS, Campaign, Fitting, Streams, Tables
from rankwise.api.results import Plot, Result, sentence
from rankwise.blocks import NO, YES, Block, Next, Sentence, labelled
from rankwise.errors import InputError
from rankwise.machine.collective_costs import CollectiveCosts
from rankwise.machine.hosts import parse_hosts
from rankwise.machine.profile import Packing, Profile, figures_of, open_profile
from rankwise.machine.record import tcp_words
from rankwise.machine.trust import Trust
from rankwise.measure.samples import samples_path_of
from rankwise.records import key, record
from rankwise.units import format_bandwidth, format_day, format_time, parse_ints, parse_seconds, parse_sizes


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
class Measured(Machine, decides=True):
    """A profile that was measured now."""

    def blocks(self, models: bool = False) -> Iterator[Block]:
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

    if asked.what == "all-pairs":
        from rankwise.api.streams import StreamTimes, campaign_of

        streams = Streams(asked.hosts, samples_path_of(asked.output), asked.sizes, seconds, asked.resume)
        return StreamTimes(campaign_of(streams), streams.samples)
    of_bytes = tuple(sorted(set(parse_sizes(asked.sizes)))) if asked.sizes else default_sizes()
    plan = Plan(
        {}, of_bytes, what, asked.background, asked.launches, seconds, precision=asked.precision, statistic=asked.statistic,
        spread_s=parse_seconds(asked.spread, "--spread"),
    )  # fmt: skip
    hosts = parse_hosts(asked.hosts) if asked.hosts else ()
    links = [name.strip() for name in asked.links.split(",") if name.strip()] if asked.links else ()
    return Measured(measure_machine(asked.output, asked.resume, plan, hosts, links), asked.output)


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
