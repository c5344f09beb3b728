"""Wagner 2024: OSU latency and bandwidth by placement under Slurm, ten runs; fitted, its effects named, ours beside it.

The published tables give mean and standard deviation over ten runs for two ranks on cores of a socket, sockets of a node
and nodes. From them: alpha and beta of each placement, and the effects that the author describes, found in the figures by the
rules of ``wagner2024_effects``, not taken from the text. Profiles of repeated ``measure bandwidth`` give the same tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from rankwise.arrays import Floats
from rankwise.blocks import Column, Picture, Table
from rankwise.errors import InputError
from rankwise.launch.allocation import find_allocation
from rankwise.machine.link import LEAST_SIZES, LinkModel, Segment
from rankwise.machine.profile import Profile
from rankwise.models import hockney, piecewise
from rankwise.models.fit import fit_line
from rankwise.models.measured import LEAST_NOISE, Way
from rankwise.papers import wagner2024_effects as effects
from rankwise.papers.claims import claims_section, judge
from rankwise.papers.wagner2024_claims import CLAIMS, Tables
from rankwise.papers.wagner2024_effects import LINKS, TEN_RUNS, WORDS, Effects, Measured, Series
from rankwise.records import Record, computed, key, record
from rankwise.report.chart import RATE, TIME, Chart, SizeAxis, Spec, field_of, log_axis, rows
from rankwise.report.layers import Curves, cursor, nearest, zoomed
from rankwise.report.reproduction import Reproduction, Section
from rankwise.statistics import Deviations
from rankwise.units import format_bandwidth, format_size, format_time

BANDWIDTH = "bandwidth-window-64"  # 64 messages in flight, as osu_bw has by default
_RUNS = 10


@record
class Fitted(Record):
    """A placement with its models: Hockney's line over all sizes, and lines between breaks."""

    series: Series
    link = computed("link class of the placement", str, lambda of: of.series.name)
    runs = computed("runs that the figures are of", int, lambda of: of.series.runs)
    alpha_s = computed("start of a message, by the line over all sizes", float, lambda of: of.alpha.alpha_s)
    alpha_ci_s = computed("95 % interval of alpha_s; empty: unknown", Sequence[float], lambda of: of.alpha.alpha_ci_s or ())
    beta_s_per_byte = computed("time of a byte, by the last of the pieces", float, lambda of: of.beta.beta_s_per_byte)
    beta_ci_s_per_byte = computed(
        "95 % interval of beta_s_per_byte; empty: unknown", Sequence[float], lambda of: of.beta.beta_ci_s_per_byte or ()
    )
    line: LinkModel = key("line over all sizes", name="hockney")
    pieces: LinkModel = key("lines between breaks", name="piecewise")
    effects = computed("what the figures show", Effects, lambda of: Effects.of(of.series))
    rows = computed("figures by size", Sequence[Measured], lambda of: of.series.rows())

    @property
    def words(self) -> str:
        return WORDS.get(self.series.name, self.series.name)

    @property
    def alpha(self) -> Segment:
        """The line whose alpha is the placement's."""
        return self.line.segments[0]

    @property
    def beta(self) -> Segment:
        """The piece whose beta is the placement's."""
        return self.pieces.segments[-1]

    @property
    def alpha_ci(self) -> tuple[float, float]:
        return self.alpha.alpha_ci_s or (np.nan, np.nan)

    @property
    def beta_ci(self) -> tuple[float, float]:
        return self.beta.beta_ci_s_per_byte or (np.nan, np.nan)

    @property
    def breaks(self) -> list[int]:
        return [segment.from_bytes for segment in self.pieces.segments[1:]]


def published() -> list[Series]:
    """Return Table 3: mean and standard deviation over ten runs, one series a placement."""
    return [effects.tabled("wagner2024_ten_runs", placement, _RUNS) for placement in LINKS]


def tables() -> Tables:
    """Return what the text's sentences are about."""
    single = [effects.tabled("wagner2024_single_run", placement) for placement in LINKS]
    return Tables(effects.tabled("wagner2024_one_node"), single, published())


def measured(paths: Sequence[Path]) -> tuple[list[Series], list[str]]:
    """Return the tables of repeated ``measure bandwidth``, and in words which runs lack a part: the others give that one.

    ``paths`` are profiles, or folders that hold them (of a job array, say). Raises InputError when no placement has two runs,
    or they are of different machines.
    """
    files = [file for path in paths for file in (sorted(path.rglob("*.json")) if path.is_dir() else [path])]
    runs: dict[Path, Profile] = {}
    lacking: list[str] = []
    for file in files:
        if file.name == "jobs.json":
            continue
        try:
            runs[file] = Profile.load(file)
        except InputError as error:
            lacking.append(f"{file} is left out: {error}")
    # A task of a job array that wrote no profile left a folder all the same.
    lacking += [
        f"{folder} has no profile" for path in paths if path.is_dir() for folder in sorted(path.glob("task-*"))
        if not any(file.is_relative_to(folder) for file in files)
    ]  # fmt: skip
    mend = "as by 'rankwise slurm submit measure bandwidth --array 1-10%1'"
    if len(runs) < 2:
        why = f" ({lacking[0]})" if lacking else ""
        raise InputError(f"--measured names {len(runs)} profile(s){why}: a spread needs two runs or more, {mend}")
    machines = {(str(profile.machine.get("cpu_model")), profile.machine.get("cores")) for profile in runs.values()}
    if len(machines) > 1:
        raise InputError(f"--measured mixes {len(machines)} kinds of machines: give the runs of one")
    series = []
    for name in (name for name in WORDS if any(name in profile.links for profile in runs.values())):
        whole = {file: p for file, p in runs.items() if name in p.links and BANDWIDTH in p.links[name].variants}
        for file in (file for file in runs if file not in whole):
            lacking.append(f"{file} has no {'bandwidth' if name in runs[file].links else 'figures'} between {WORDS[name]}")
        if len(whole) < 2:
            lacking.append(f"{WORDS[name]} are left out: {len(whole)} run(s) have both latency and bandwidth")
            continue
        links = [profile.links[name] for profile in whole.values()]
        times = [{point.size_bytes: point.time_s for point in link.send.table} for link in links]
        rates = [{p.size_bytes: p.size_bytes / p.time_s for p in link.variants[BANDWIDTH].table} for link in links]
        sizes = sorted(set.intersection(*(set(table) for table in times)))
        if len(sizes) < LEAST_SIZES:
            lacking.append(f"{WORDS[name]} are left out: their runs have {len(sizes)} size(s) in common")
            continue
        latency = np.array([[table[size] for size in sizes] for table in times])
        rate = np.array([[table.get(size, np.nan) if size else np.nan for size in sizes] for table in rates])
        spread = latency.mean(axis=0), latency.std(axis=0, ddof=1), rate.mean(axis=0), rate.std(axis=0, ddof=1)
        hosts = tuple(sorted({str(p.machine["hostname"]) for p in whole.values()}))
        series.append(Series(name, len(whole), np.array(sizes), *spread, hosts=hosts))
    if not series:
        raise InputError(
            f"--measured has no link class with two whole runs ({'; '.join(lacking)[:300]}): measure again, {mend}"
        )
    return series, lacking


def fit(series: Series) -> Fitted:
    """Fit alpha and beta; intervals come from the spread over runs and from how finely latencies were printed."""
    error = np.hypot(series.latency_sigma_s / np.sqrt(series.runs), series.resolution_s / np.sqrt(12))
    moved = series.latency_s[:, None] + np.diag(error)
    way = Way(
        series.sizes.astype(np.float64), series.latency_s, (series.runs,) * series.sizes.size, moved,
        Deviations(rows=series.sizes.size), max(LEAST_NOISE, float(np.median(error / series.latency_s))),
    )  # fmt: skip
    return Fitted(series, hockney.fit(way, fit_line), piecewise.fit(way, fit_line))


@record
class Figures(Record):
    """Latency and bandwidth by placement under Slurm, fitted, with their effects."""

    paper = computed("the paper's id", str, lambda _: "wagner2024")
    placements: Sequence[Fitted] = key("the paper's placements, Table 3")
    farther_is_faster_bytes = computed(
        "sizes at which latency between sockets is below that between cores",
        Sequence[int],
        lambda of: effects.crossings(of.placements[0].series, of.placements[1].series),
    )
    measured: Sequence[Fitted] = key("the same of the profiles that were given")
    lacking: Sequence[str] = key("which of the profiles' runs lack a part, in words")  # fmt: skip


def reproduce(profiles: Sequence[Path] = ()) -> Reproduction:
    """Compute everything from the paper's tables, and from ``profiles`` of repeated runs where there are any."""
    of = tables()
    verdicts = judge(CLAIMS, of, "rankwise reproduce wagner2024")
    theirs = [fit(series) for series in of.ten]
    found, lacking = measured(profiles) if profiles else ([], [])
    ours = [fit(series) for series in found]
    answer = _answer(theirs)
    sections = [
        claims_section(verdicts),
        Section.of(
            "effects",
            "The effects, found in the figures",
            *(sentence for fitted in theirs for sentence in _sentences(fitted)),
            *_comparisons(theirs),
            _fits_table("fits", "Alpha and beta of each placement, with 95 % intervals", theirs),
            *_pictures("", theirs, "Table 3, Figures 9 and 10"),
        ),
        Section.of(
            "single",
            "One run, and why its curves bend",
            *effects.why(of.ten),
            effects.table_1(of.one),
            *_pictures("one-", [fit(of.one)], "Table 1, Figures 3 and 4"),
        ),
        Section.of(
            "tables",
            "The published tables",
            f"Mean and standard deviation over {_RUNS} runs (the paper's Table 3); the single run is its Table 2.",
            *(_table(fitted, "table-3", "Table 3") for fitted in theirs),
            _single_table(of.single),
            *_pictures("single-", [fit(series) for series in of.single], "Table 2, Figures 7 and 8"),
        ),
    ]
    if ours:
        counts = sorted({fitted.series.runs for fitted in ours})
        runs = " or ".join(map(str, counts))
        hosts = sorted({host for fitted in ours for host in fitted.series.hosts})
        sections.append(
            Section.of(
                "ours",
                "The same tables, measured here",
                f"Mean and standard deviation over {runs} runs on {', '.join(hosts)}; each rank's place was "
                "read back from inside it.",
                *(f"{words[0].upper()}{words[1:]}." for words in lacking),
                *(sentence for fitted in ours for sentence in _sentences(fitted)),
                _fits_table("our-fits", "Alpha and beta of each placement here, with 95 % intervals", ours),
                *_pictures("our-", ours),
                *(_table(fitted, "ours", "Measured here") for fitted in ours),
            )
        )
        answer = (*answer, f"Here, {'; '.join(_line(fitted) for fitted in ours)} ({runs} runs).")
        if lacking:
            answer = (*answer, f"Of the runs that were given, {'; '.join(lacking)}; the others were used.")
    return Reproduction(
        paper="wagner2024",
        title="Wagner 2024: latency and bandwidth by placement under Slurm",
        answer=answer,
        sections=sections,
        figures=Figures(theirs, ours, lacking),
        claims=verdicts,
        sources=(
            "S. Wagner: PS High-Performance Computing 2024/2025, Assignment 1, 2024. Tables 2 and 3: OSU micro-benchmarks 5.8 "
            "with Open MPI 3.1.6 on LCC3 (two sockets of six cores, InfiniBand); all other figures on this page are computed "
            "from them.",
        ),
        next_command=_next_command(),
    )


def _next_command() -> str:
    """Return what measures the same here: as a job, or inside the allocation that we are in."""
    if find_allocation() is None:
        return (
            "rankwise slurm submit measure bandwidth --array 1-10%1 --nodes 2   # then: rankwise reproduce "
            "wagner2024 --measured rankwise-job"
        )
    return (
        "for run in 1 2 3 4 5 6 7 8 9 10; do rankwise measure bandwidth -o ten/run-$run.json; done; "
        "rankwise reproduce wagner2024 --measured ten"
    )


def _line(fitted: Fitted) -> str:
    rate = format_bandwidth(1 / fitted.beta.beta_s_per_byte)
    return f"{fitted.words}: alpha {format_time(fitted.alpha.alpha_s)}, {rate} for large messages"


def _answer(theirs: Sequence[Fitted]) -> tuple[str, ...]:
    dropping = [fitted for fitted in theirs if effects.drop_of(fitted.series)]
    steady = [fitted for fitted in theirs if not effects.drop_of(fitted.series)]
    drops = "; ".join(_drop_words(fitted) for fitted in dropping)
    falls = f"Bandwidth falls as messages grow {'only ' if steady else ''}between {drops}." if dropping else ""
    stays = f"Between {' and '.join(f.words for f in steady)} it does not{'' if dropping else ' fall as messages grow'}."
    return (
        f"{'; '.join(_line(fitted) for fitted in theirs)}.",
        " ".join(sentence for sentence in (falls, stays if steady else "") if sentence),
        *_comparisons(theirs),
    )


def _drop_words(fitted: Fitted) -> str:
    drop = effects.drop_of(fitted.series)
    assert drop is not None
    again = drop.recovered_bytes
    back = "and is never that high again" if again is None else f"and is back at {format_size(again)}"
    return (
        f"{fitted.words}, from {format_bandwidth(drop.peak)} at {format_size(drop.peak_bytes)} to "
        f"{format_bandwidth(drop.bottom)} at {format_size(drop.bottom_bytes)} {back}"
    )


def _sentences(fitted: Fitted) -> list[str]:
    found = Effects.of(fitted.series)
    first = (
        f"Between {fitted.words}: latency is constant, {format_time(found.constant_latency_s)}, up to "
        f"{format_size(found.constant_latency_up_to_bytes)}"
    )
    if found.growth_exponent is not None:
        first += f", and from 64 KiB on it grows like size to the power {found.growth_exponent:.2f}"
    if found.saturated_from_bytes is not None and found.saturated_bytes_per_s is not None:
        first += (
            f"; bandwidth stays within 10 % of {format_bandwidth(found.saturated_bytes_per_s)} from "
            f"{format_size(found.saturated_from_bytes)} on"
        )
    first += (
        f"; no latency's standard deviation is above {100 * found.largest_sigma_share:.1f} % "
        f"(at {format_size(found.largest_sigma_share_bytes)})."
    )
    return [first, *([f"Bandwidth drops between {_drop_words(fitted)}."] if found.bandwidth_drop else [])]


def _comparisons(fitted: Sequence[Fitted]) -> list[str]:
    """Say where a farther placement is the faster one."""
    sentences = []
    for near, far in zip(fitted, fitted[1:], strict=False):
        sizes = effects.crossings(near.series, far.series)
        if sizes:
            i = near.series.sizes.tolist().index(sizes[-1])
            sentences.append(
                f"Farther is not always slower: latency between {far.words} is below that between {near.words} at "
                f"{', '.join(map(format_size, sizes))} ({format_time(far.series.latency_s[i])} against "
                f"{format_time(near.series.latency_s[i])} at the last)."
            )
    return sentences


def _fits_table(name: str, caption: str, fitted: Sequence[Fitted]) -> Table[Fitted]:
    def times(ends: tuple[float, float]) -> str:
        return f"{format_time(ends[0])} – {format_time(ends[1])}"

    def rates(ends: tuple[float, float]) -> str:
        return f"{format_bandwidth(1 / ends[1])} – {format_bandwidth(1 / ends[0])}"

    columns: Sequence[Column[Fitted]] = (
        Column("between", lambda one: one.words),
        Column(None, "link"),
        Column("alpha", "alpha.alpha_s", format_time, "alpha_s"),
        Column("95 %", lambda one: one.alpha_ci, times),
        Column(None, lambda one: one.alpha_ci[0], key="alpha_lo_s"),
        Column(None, lambda one: one.alpha_ci[1], key="alpha_hi_s"),
        Column("1 / beta", "beta.beta_s_per_byte", lambda beta: format_bandwidth(1 / beta), "beta_s_per_byte"),
        Column("95 %", lambda one: one.beta_ci, rates),
        Column(None, lambda one: one.beta_ci[0], key="beta_lo_s_per_byte"),
        Column(None, lambda one: one.beta_ci[1], key="beta_hi_s_per_byte"),
        Column("error of one line", "line.relative_error", _percent, "hockney_relative_error"),
        Column("of pieces", "pieces.relative_error", _percent, "piecewise_relative_error"),
        Column("breaks", lambda one: ", ".join(map(format_size, one.breaks)) or "none"),
        Column(None, lambda one: " ".join(map(str, one.breaks)), key="breaks_bytes"),
    )
    return Table(columns, fitted, name=name, caption=caption)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _table(fitted: Fitted, name: str, title: str) -> Table[Measured]:
    caption = f"{title}: between {fitted.words}, mean and standard deviation over {fitted.series.runs} runs"
    return Table(TEN_RUNS, fitted.series.rows(), name=f"{name}-{fitted.series.name}", caption=caption)


def _single_table(single: Sequence[Series]) -> Table[tuple[Measured, ...]]:
    def of(number: int, unit: str, scale: float, name: str) -> Column[tuple[Measured, ...]]:
        head, key = f"{WORDS[single[number].name]}: {unit}", f"{single[number].name}_{name}"
        return Column(head, lambda row: getattr(row[number], name), lambda found: f"{scale * found:.2f}", key)

    shown = (("us", 1e6, "latency_s"), ("MB/s", 1e-6, "bandwidth_bytes_per_s"))
    sizes: Column[tuple[Measured, ...]] = Column("size", lambda row: row[0].message_bytes, format_size, "message_bytes")
    columns = [sizes, *(of(number, *one) for one in shown for number in range(len(single)))]
    rows = list(zip(*(series.rows() for series in single), strict=True))
    return Table(columns, rows, name="table-2", caption="Table 2: a single run")


def _pictures(prefix: str, fitted: Sequence[Fitted], of: str = "Measured here") -> tuple[Picture, ...]:
    runs = fitted[0].series.runs
    what = f"mean of {runs} runs, with one standard deviation" if runs > 1 else "one run"
    ours = {"latency": "; lines: ours, in pieces", "bandwidth": ""}
    return tuple(
        Picture(f"{prefix}{name}", f"{of}: {name} by placement, {what}{ours[name]}.", partial(draw, prefix, fitted))
        for name, draw in (("latency", latency_picture), ("bandwidth", bandwidth_picture))
    )


def latency_picture(prefix: str, fitted: Sequence[Fitted]) -> Chart:
    """Draw latency against size, one series a placement, with the piecewise model behind it."""
    sizes = SizeAxis.of(int(size) for one in fitted for size in one.series.sizes)
    data = [row for one in fitted for row in _drawn(one, one.series.latency_s, one.series.latency_sigma_s, format_time)]
    grid = np.unique(np.geomspace(sizes.first, sizes.last, 120).astype(np.int64))
    lines = [
        {"series": one.words, "place": sizes.place(int(size)), "value": one.pieces.time_s(int(size))}
        for one in fitted
        for size in grid
    ]
    words = " ".join(
        f"Between {one.words}: {format_time(float(one.series.latency_s[0]))} for the smallest message, "
        f"{format_time(float(one.series.latency_s[-1]))} for the largest."
        for one in fitted
    )
    return _against_size(f"{prefix}latency", words, sizes, data, lines, (TIME, "latency of one message"))


def bandwidth_picture(prefix: str, fitted: Sequence[Fitted]) -> Chart:
    """Draw bandwidth against size, one series a placement."""
    data = [row for one in fitted for row in _drawn(one, one.series.bandwidth, one.series.bandwidth_sigma, format_bandwidth)]
    sizes = SizeAxis.of(row["size"] for row in data)
    lines = [{"series": row["series"], "place": sizes.place(row["size"]), "value": row["value"]} for row in data]
    words = " ".join(
        f"Between {one.words}: at most {format_bandwidth(float(np.nanmax(one.series.bandwidth)))}." for one in fitted
    )
    return _against_size(f"{prefix}bandwidth", words, sizes, data, lines, (RATE, "bandwidth, 64 messages in flight"))


def _drawn(fitted: Fitted, values: Floats, sigmas: Floats, write: Callable[[float], str]) -> list[Spec]:
    """Return the points of a placement, those that there are, with one standard deviation."""
    return [
        {
            "series": fitted.words, "size": size, "value": value, "low": max(value - sigma, value / 10), "high": value + sigma,
            "said": f"{write(value)} ± {write(sigma)}",
        }
        for size, value, sigma in zip(fitted.series.sizes.tolist(), values.tolist(), sigmas.tolist(), strict=True)
        if not np.isnan(value)
    ]  # fmt: skip


def _against_size(name: str, words: str, sizes: SizeAxis, data: list[Spec], lines: list[Spec], axis: tuple[str, str]) -> Chart:
    order = sorted({row["size"] for row in data})
    stops = [
        f"At {format_size(size)}: " + " | ".join(f"{row['series']} {row['said']}" for row in data if row["size"] == size)
        for size in order
    ]
    for row in data:
        row |= {"place": sizes.place(row["size"]), "stop": order.index(row["size"])}
        row["tip"] = f"{row['series']}, {format_size(row['size'])}: {row['said']}"
    label, quantity = axis
    y = field_of("value", **log_axis([end for row in data for end in (row["low"], row["high"])], label, quantity))
    curves = Curves(sizes.encoding(), y, list(dict.fromkeys(row["series"] for row in data)))
    layers = [
        *zoomed([curves.line(1.3, lines)]),
        curves.intervals(),
        curves.points(90, 26, opacity=1),
        cursor(),
        nearest("place", "value"),
        *sizes.break_marks(),
    ]
    panel: Spec = {"height": 260, "data": rows(data), "layer": layers}
    title = f"{name.rpartition('-')[2].capitalize()} by placement"
    return Chart(name, title, f"Both axes are logarithmic. {words}", [panel], stops, legend_px=240)
