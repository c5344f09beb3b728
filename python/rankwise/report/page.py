"""The report: what was concluded on its first screen, then panels: pictures whose headings say what they show; some are folded.

A panel is a function that makes a section of the inputs, and a line in PANELS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from rankwise.blocks import Column, Picture, Table, text_table
from rankwise.engines.model import Model
from rankwise.engines.placement import profile_placement
from rankwise.errors import InputError
from rankwise.machine.link import Curve, LinkModel, Parameter, Point, Segment
from rankwise.machine.profile import Link, LinkFigures, Profile, figures_of
from rankwise.mapping.mapper import Skipped
from rankwise.records import Record, computed, record
from rankwise.report.conclusion import Conclusion, Gain, conclude, grid_words, mapping_words, question, volume, way
from rankwise.report.document import Document, Markup, Section
from rankwise.report.exchanges import exchange_groups, exchange_picture, group_label
from rankwise.report.inputs import MappingInstance, MappingResult
from rankwise.report.links import Launches, interpolates, link_picture, links_picture
from rankwise.report.machine_boxes import between, machine_boxes, undrawn
from rankwise.report.nodemaps import can_draw, cost_picture, node_map_picture, shown_part
from rankwise.report.program import timeline_picture
from rankwise.report.words import headline, is_poor, machine_badge, point_time, quality_badge, timing, with_interval
from rankwise.units import format_bandwidth, format_parameter, format_percent, format_size, format_span, format_time
from rankwise.workloads.comparison import Comparison, Validation

_WAYS = (
    "Send modes: send waits until the buffer is free again, ssend until the receiver has begun to receive; "
    "exchange sends and receives at once, one message each way; exchange-gap is what each further message in flight "
    "adds to that."
)
_MODELS = (
    "A message of m bytes takes about alpha + beta m: alpha is the time to start it (s), beta the time each further byte "
    "adds (s/B). One such line for all sizes is the Hockney model; the piecewise model has one for each range "
    "of sizes, with a break where the MPI library changes its protocol. LogGP and max-rate have a few figures for "
    "all modes together: what a message costs a core, how far both directions overlap, what they share."
)
_WORDS = (
    "Latency: how long the smallest message takes, one way. Bandwidth: size / time of the largest message measured, one at a "
    "time.",
    "Interval (95 %): of 100 measurements like this one, 95 give an interval that holds the true median. It holds for the "
    "machine as it was while measuring; on another day, or next to other programs, all times may shift together.",
    "Cutoff k: every rank needs the blocks of all ranks within k layers of it in the process grid.",
    "J_sum: messages of one stencil exchange that cross from one node to another, over all nodes; J_max: those that leave the "
    "busiest node. Both are exact counts. Blocked: one node after another in row-major order, what happens when nobody "
    "chooses.",
)
# A curve's table is thinned to about this many rows; the picture shows all of them.
_MOST_ROWS = 10


@record
class Inputs(Record):
    """What a report is made of; what there is not is None. ``launches``: what lies behind the profile's points. Its keys are
    what the page says."""

    profile: Profile | None = None
    validation: Validation | None = None
    mappings: Sequence[MappingInstance] | None = None
    launches: Launches | None = None
    profile_name: str = "machine.json"
    sections = computed("ids of the page's sections", list[str], lambda of: section_names(of))
    conclusion = computed("the conclusion", Conclusion, lambda of: conclusion_of(of), inline=True)
    figures = computed("by link class", Mapping[str, LinkFigures], lambda of: figures_of(of.links), name="links")

    @property
    def measured(self) -> Profile:
        """The profile, of which those ask that need it."""
        assert self.profile is not None
        return self.profile

    @property
    def compared(self) -> Validation:
        """The comparisons, of which those ask that need them."""
        assert self.validation is not None
        return self.validation

    @property
    def links(self) -> dict[str, Link]:
        """The profile's links, nearer ones first."""
        return {} if self.profile is None else self.profile.nearer_first


def _machine(inputs: Inputs) -> Section | None:
    profile = inputs.measured
    if undrawn(profile):
        return None
    boxes = Markup(machine_boxes(profile, inputs.figures))
    note = (
        "Latency of the smallest message and bandwidth of the largest, one way. Point at an edge for its interval and samples."
    )
    return Section("machine", "The machine, with what was measured on each edge", [note], [boxes])


def _curves(inputs: Inputs) -> Section:
    links, launches = inputs.links, inputs.launches
    own = None if inputs.validation is None else headline(inputs.validation).exchange.message_bytes
    name = list(links)[-1]
    title = f"Between {between(name)} latency decides below {volume(inputs.figures[name].balanced_bytes)}, bandwidth above"
    behind = " Ticks: the samples behind the point that is shown." if launches else ""
    picture = Picture(
        "links",
        "Bands are 95 % intervals; 0 B stands beyond the break of the axis. It is size / time of one message at "
        f"a time. A window of messages in flight, or several pairs of ranks, have other bandwidths.{behind}",
        partial(links_picture, links, launches, own),
    )
    return Section("latency", title, [], [picture])


_LINKS: Sequence[Column[tuple[str, LinkFigures]]] = (
    Column("link", lambda of: of[0]),
    Column("latency", lambda of: of[1].latency_s, format_time),
    Column("95 %", lambda of: _ends(of[1].latency_ci_s, format_time)),
    Column("bandwidth", lambda of: of[1].bandwidth_bytes_per_s, format_bandwidth),
    Column("95 %", lambda of: _ends(of[1].bandwidth_ci_bytes_per_s, format_bandwidth)),
    Column("of messages of", lambda of: of[1].bandwidth_bytes, format_size),
    Column("samples", lambda of: of[1].samples),
)


def _all_links(inputs: Inputs) -> Section:
    figures = inputs.figures
    samples = sum(one.samples for one in figures.values())
    count = f"{len(figures)} class{'es' * (len(figures) > 1)}, {samples} samples"
    return Section("bandwidth", "All links", [], [Table(_LINKS, list(figures.items()), name="all-links")], count)


def _ends(interval: tuple[float, float] | None, write: Any) -> str:
    return "–" if interval is None else with_interval(interval[0], interval, write).partition("(")[2].rstrip(")")


def _models(inputs: Inputs) -> Section:
    links = inputs.links
    parts: list[Picture | Table[Any]] = []
    for name, link in links.items():
        said = (
            f"Link class {name}. Points: {link.send.statistic} of {link.send.samples} samples, with the 95 % interval; lines: "
            f"the models, of which {link.send.model} answers for predictions. A straight line looks bent because both axes are "
            "logarithmic; 0 B stands beyond the break in the axis."
        )
        picture = Picture(f"link-{name}", said, partial(link_picture, name, link))
        parts += [picture, _fits(name, link), _times(name, link.send)]
    chosen = ", ".join(f"{name} {link.send.model}" for name, link in links.items())
    ways = [_WAYS] if any(link.variants for link in links.values()) else []
    return Section("models", "The links' models and modes", [_MODELS, *_choices(links), *ways], parts, chosen)


def _choices(links: Mapping[str, Link]) -> list[str]:
    """Tell for each link class why its model was chosen, and that model's own parameters."""
    told = []
    for name, link in links.items():
        if link.reason is None:
            continue
        named = link.explained_by()
        parameters = "; ".join(f"{key} {_parameter(key, found)}" for key, found in link.send.models[named].parameters.items())
        told.append(
            f"{name}: {link.send.model} answers for predictions ({link.reason})."
            + (f" What {named} {'predicts' if named == link.send.model else 'explains'}: {parameters}." if parameters else "")
        )
    return told


def _parameter(key: str, found: Parameter) -> str:
    return with_interval(found.value, found.ci, lambda value: format_parameter(key, value))


_FITS: Sequence[Column[tuple[str, LinkModel, Segment]]] = (
    Column("sent as", lambda fit: fit[0]),
    Column("model", lambda fit: fit[1].name),
    Column("sizes", lambda fit: fit[2], lambda segment: _range(segment)),
    Column("alpha (95 %)", lambda fit: fit[2], lambda segment: _alpha(segment)),
    Column("beta (95 %)", lambda fit: with_interval(fit[2].beta_s_per_byte, fit[2].beta_ci_s_per_byte, _per_byte)),
    Column("misfit", lambda fit: fit[1].relative_error, lambda error: f"{100 * error:.1f} %"),
)


def _fits(name: str, link: Link) -> Table[Any]:
    fits = [
        (sending, model, segment)
        for sending, curve in link.curves.items()
        for model in curve.models.values() if not interpolates(model, curve)
        for segment in model.segments
    ]  # fmt: skip
    return Table(_FITS, fits, name=f"fits-{name}", caption=f"Models, {name}. Misfit: root mean square of model / measured - 1.")


def _alpha(segment: Segment) -> str:
    return with_interval(segment.latency_s, segment.alpha_ci_s if segment.alpha_s > 0 else None, format_time)


def _times(name: str, curve: Curve) -> Table[Any]:
    step = max(1, round(len(curve.table) / _MOST_ROWS))
    columns: Sequence[Column[Point]] = (
        Column("size", "size_bytes", format_size),
        Column("time (95 %)", point_time),
        Column(f"{curve.model} model", lambda point: curve.time_s(point.size_bytes), format_time),
        Column("model / measured - 1", lambda point: curve.time_s(point.size_bytes) / point.time_s - 1, format_percent),
        Column("samples", "samples"),
    )
    points = sorted({*curve.table[::step], curve.table[-1]}, key=lambda point: point.size_bytes)
    return Table(columns, points, name=f"times-{name}", caption=f"Measured times, {name}, {curve.statistic}.")


def _exchange(inputs: Inputs) -> Section:
    validation = inputs.compared
    poor = is_poor(inputs.profile, validation) is not None
    parts = [
        Picture(
            f"exchange-{i}",
            f"{group_label(group)}. The number above each pair is predicted / measured - 1.",
            partial(exchange_picture, group, f"exchange-{i}"),
        )
        for i, group in enumerate(exchange_groups(validation.comparisons))
    ]
    return Section(
        "exchange", _exchange_title(validation, poor),
        [
            "The prediction comes from the profile alone; the measurement ran the same messages under real MPI and checked "
            "every received byte." + (" The grid is an example, not one that was asked for." if validation.example else "")
        ],
        parts,
    )  # fmt: skip


def _round(inputs: Inputs) -> Section | None:
    """Show where the time of a round goes, by the model; None where the profile cannot tell."""
    from rankwise.engines.timelines import predicted

    profile, row = inputs.profile, headline(inputs.compared)
    if profile is None:
        return None
    try:
        line = predicted(Model(profile), row.case, profile_placement(profile).of(row.case))
    except InputError:
        return None
    chart = timeline_picture(line, "round")
    words = f"A round of {way(row)}, k = {row.exchange.cutoff}, as predicted: ranks down, time across, messages as arrows."
    picture = Picture("timeline", chart.description, lambda: chart)
    return Section("round", "Where the time of a round goes", [words], [picture], chart.title)


def _exchange_title(validation: Validation, poor: bool) -> str:
    rows = validation.comparisons
    off = f"predictions were off by {100 * validation.summary.mape:.1f} % on average"
    if poor or len({row.exchange.mode for row in rows}) < 2:
        return f"What an exchange costs: {off}"
    gains = []
    for row in rows:
        first = next(other for other in rows if question(other) == question(row))
        if way(row) != way(first):
            gains.append((Gain.of(first.measured, row.measured), row, first))
    told = [(gain, row, first) for gain, row, first in gains if gain.is_told]
    if not told:
        return f"No mode is clearly faster; {off}"
    gain, row, first = max(told, key=lambda found: found[0].ratio)
    return f"{way(row, first)} is up to {gain.ratio:.1f} times as fast as {way(first, row)}; {off}"


def _all_exchanges(inputs: Inputs) -> Section:
    validation = inputs.compared

    def first_of(row: Comparison) -> Comparison:
        return next(other for other in validation.comparisons if question(other) == question(row))

    def times_as_fast(row: Comparison) -> str:
        first = first_of(row)
        gain = Gain.of(first.measured, row.measured)
        return "as now" if row is first else gain.words.replace(" times as fast", "")

    columns: Sequence[Column[Comparison]] = (
        Column("mode", "exchange.mode"),
        Column("k", "exchange.cutoff"),
        Column("block", "exchange.message_bytes", format_size),
        Column("measured (95 %)", "measured", timing),
        Column("predicted (95 %)", "predicted", timing),
        Column("off", "error", format_percent),
        Column("off, at present speed", "error_at_present_speed", format_percent),
        Column("times as fast", times_as_fast),
        Column("messages", "measured.messages_per_rank", unknown="None"),
        Column("bytes", lambda row: row.measured.bytes_per_rank or 0, format_size),
        Column("checked", lambda row: "yes" if row.measured.verified else "NO"),
    )
    parts = []
    for i, group in enumerate(exchange_groups(validation.comparisons)):
        repetitions = format_span([row.measured.repetitions or 0 for row in group])
        caption = f"{group_label(group)}; {repetitions} repetitions each; messages and bytes are per rank."
        parts.append(Table(columns, group, name=f"exchanges-{i}", caption=caption))
    notes = [
        "Off: predicted / measured - 1. At present speed: the same, with predictions scaled by the machine's speed since "
        "the profile (a ping-pong right then).",
        *dict.fromkeys(note for row in validation.comparisons for note in row.notes),
    ]  # fmt: skip
    inside = sum(row.inside_interval for row in validation.comparisons)
    said = f"{len(validation.comparisons)} compared; {inside} measured times lie in the predicted interval"
    return Section("exchanges", "All exchanges compared", notes, parts, said)


def _mapping(inputs: Inputs) -> Section:
    mappings = inputs.mappings or ()
    parts: list[Picture | Table[Any]] = []
    notes: list[str] = []
    skipped: dict[Skipped, list[str]] = {}
    if (cost := cost_picture(mappings)) is not None:
        parts += [Picture("mapping-cost", "Each mapping against blocked (dotted line, 100 %). Less is better.", lambda: cost)]
    for i, item in enumerate(mappings):
        label = f"{grid_words(item)[0].upper()}{grid_words(item)[1:]}"
        if can_draw(item):
            part = shown_part(item)
            ends = [result for result in (item.blocked, item.best) if result is not None]
            said = (
                f"{label}{f'; shown: {part}' if part else ''}. Numbers are nodes; nodes that touch differ in colour, but a "
                "colour comes back for nodes that do not."
            )
            draw = partial(node_map_picture, item, f"nodes-{i}", list(dict.fromkeys(ends)))
            parts.append(Picture(f"nodes-{i}", said, draw))
        else:
            notes.append(
                f"{label}: no map is drawn, because the grid has more than three axes or the file holds no "
                "node_of_cell ('rankwise map --with-mapping' keeps it)."
            )
        for one in item.skipped:
            skipped.setdefault(one, []).append(item.stencil)
        parts.append(Table(_mapping_columns(item), item.results, name=f"mappings-{i}", caption=f"{label}."))
    notes += [
        f"{one.algorithm} was left out ({one.reason}) for {', '.join(dict.fromkeys(stencils))}."
        for one, stencils in skipped.items()
    ]
    first = mappings[0]
    if all(item.example for item in mappings):
        said = f"{grid_words(first)}: {mapping_words(first)}"
        return Section("mapping", "Where to put the ranks, on an example grid", notes, parts, said)
    return Section("mapping", mapping_words(first), [f"{grid_words(first)[0].upper()}{grid_words(first)[1:]}.", *notes], parts)


def _mapping_columns(item: MappingInstance) -> Sequence[Column[MappingResult]]:
    blocked = item.blocked

    def share(of: Callable[[MappingResult], int]) -> Callable[[MappingResult], float | None]:
        return lambda result: of(result) / of(blocked) if blocked and of(blocked) else None

    def percent(value: float) -> str:
        return f"{100 * value:.1f} %"

    return (
        Column("mapping", "algorithm"),
        Column("J_sum", "j_sum"),
        Column("of blocked", share(lambda result: result.j_sum), percent),
        Column("J_max", "j_max"),
        Column("of blocked", share(lambda result: result.j_max), percent),
        Column("time to compute", "seconds", format_time),
    )


def _remarks(inputs: Inputs) -> Section:
    """Tell what may spoil the figures, each with its cure, once."""
    profile, validation = inputs.profile, inputs.validation
    found: list[str] = []
    if profile is not None:
        found += [f"{reason}." for reason in map(str, profile.trust.reasons)]
        found += [*profile.warnings, *(f"{note}." for note in profile.notes())]
    if validation is not None:
        wrong = sum(row.measured.verified is False for row in validation.comparisons)
        crowded = sum(row.measured.oversubscribed for row in validation.comparisons)
        count = len(validation.comparisons)
        if wrong:
            found.append(
                f"{wrong} of {count} exchanges delivered wrong bytes, so their times mean nothing: "
                "run 'rankwise doctor', and report it if the MPI library is not to blame."
            )
        if crowded:
            found.append(
                f"{crowded} of {count} exchanges ran more ranks than there are cores, so ranks waited for "
                "each other's turns: compare again with at most one rank per core."
            )
        if validation.drift is not None and not 0.85 < validation.drift < 1.18:
            found.append(
                f"the machine's messages took {validation.drift:.2f} times as long during the exchanges as in its profile: "
                "measure again, at a quiet hour or on a node of your own."
            )
    remarks = list(dict.fromkeys(found))
    told = "1 remark" if len(remarks) == 1 else f"{len(remarks)} remarks"
    said = f"{told}: {remarks[0].partition(':')[0]}" if remarks else "nothing was noticed"
    return Section("remarks", "What may spoil these figures", remarks, [], said)


def _record(inputs: Inputs) -> Section:
    """Tell whatever the record of the machine holds: an imported profile has little, a measured one much."""
    profile = inputs.measured
    machine = {key: value for key, value in profile.machine.items() if not isinstance(value, Mapping)}
    for group, values in profile.machine.items():
        if isinstance(values, Mapping):
            machine |= {f"{group} {key}": value for key, value in values.items()}
    rows = [
        (_label(key), _size(value) if key.endswith("bytes") and isinstance(value, int) else _plain(value))
        for key, value in machine.items()
        if value not in (None, "", [], {})
    ]
    said = str(profile.machine.get("cpu_model") or "little is recorded")
    found = [text_table(("what", "value"), rows, name="machine")] if rows else []
    return Section("machine" if undrawn(profile) else "machine-record", "The machine's record", [], found, said)


def _sources(inputs: Inputs) -> Section:
    profile, said, found = inputs.profile, "counts only", []
    if profile is not None:
        samples = sum(link.send.samples for link in profile.links.values())
        launches = "" if profile.trust.launches is None else f" in {profile.trust.launches} launches"
        said = f"{samples} samples of plain sends{launches}"
        source = "".join(f"; {key}: {_plain(value)}" for key, value in profile.source.items())
        found.append(
            f"Profile of {profile.created}{source}. The models are straight lines in the manner of R. Hockney and C. "
            "Jesshope, Parallel Computers 2 (1988)."
        )
    if inputs.validation is not None:
        found.append(
            "Exchanges: one message at a time after the analytical model of T. Werner, C. Päßler, I. Kabadshow and M. Werner, "
            "“Analytical Model of Communication Algorithm for Simulations with Range-Limited Interactions” (2023); measured "
            "on this machine by rankwise's own kernels, with real MPI ranks."
        )
    if inputs.mappings:
        found.append(
            "Mappings: the algorithms and the measures J_sum and J_max of S. Hunold, K. von Kirchbach, M. Lehr, C. Schulz and "
            "J. L. Träff, “Efficient Process-to-Node Mapping Algorithms for Stencil Computations” (2020), counted on the grid "
            "as given, directed edges."
        )
    found.append("Measured points and fits are recomputed from raw samples, which are never thrown away.")
    return Section("sources", "Where the figures come from", found, [], said)


def _label(key: str) -> str:
    return key.removesuffix("_bytes").replace("_", " ").replace("mpi ", "MPI ")


def _plain(value: Any) -> str:
    """Write a value of the machine record in one line; keys that end in bytes hold sizes."""
    if isinstance(value, Mapping):
        parts = (
            _size(item) if key.endswith("bytes") and isinstance(item, int) else f"{_label(key)} {_plain(item)}"
            for key, item in value.items()
        )
        return ", ".join(parts)
    if isinstance(value, list | tuple):
        return "; ".join(_plain(item) for item in value)
    return " ".join(str(value).split())


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.1f} GiB" if size_bytes >= 2**30 else format_size(size_bytes)


def _range(segment: Segment) -> str:
    if segment.to_bytes is None:
        return f"from {format_size(segment.from_bytes)}"
    return f"{format_size(segment.from_bytes)} up to {format_size(segment.to_bytes)}"


def _per_byte(beta_s_per_byte: float) -> str:
    return f"{beta_s_per_byte * 1e9:.3g} ns/B"


def _words(inputs: Inputs) -> Section:
    return Section("words", "The words on this page", _WORDS, [], "latency, bandwidth, interval, cutoff, J_sum")


@dataclass(frozen=True)
class Panel:
    """A section of the report: how it is made (None: it has nothing to show), and which of the inputs it needs.

    ``name`` is its name among the sections that JSON lists; empty: it explains others.
    """

    make: Callable[[Inputs], Section | None]
    needs: Literal["profile", "validation", "mappings", ""] = ""
    name: str = ""

    def has_figures(self, inputs: Inputs) -> bool:
        """Whether the inputs that it needs are there."""
        return not self.needs or bool(getattr(inputs, self.needs))


# In order of reading; those that are folded stand below the others.
PANELS = (
    Panel(_machine, "profile", "machine"),
    Panel(_curves, "profile", "latency"),
    Panel(_exchange, "validation", "exchange"),
    Panel(_round, "validation"),
    Panel(_all_exchanges, "validation"),
    Panel(_all_links, "profile", "bandwidth"),
    Panel(_models, "profile"),
    Panel(_mapping, "mappings", "mapping"),
    Panel(_remarks),
    Panel(_record, "profile"),
    Panel(_sources),
    Panel(_words),
)


def conclusion_of(inputs: Inputs) -> Conclusion:
    """Return what the report concludes."""
    return conclude(inputs.profile, inputs.validation, inputs.mappings, inputs.profile_name)


def render(inputs: Inputs) -> str:
    """Return the page. The same figures give the same bytes."""
    found, profile = conclusion_of(inputs), inputs.profile
    made = [panel.make(inputs) for panel in PANELS if panel.has_figures(inputs)]
    sections = [section for section in made if section is not None]
    badges = []
    if profile is not None:
        badges = [machine_badge(profile), quality_badge(profile.trust, inputs.validation)]
    return Document(
        kind="rankwise report",
        origin=_origin(inputs),
        headline=found.headline,
        why=[found.why],
        sections=sorted(sections, key=lambda section: section.fold is not None),
        badges=badges,
        figures=found.figures,
        changes=found.changes,
        next=found.next,
        record="rankwise report --json",
    ).html()


def section_names(inputs: Inputs) -> list[str]:
    """Return the names of the panels for which there are figures, by what they are made of."""
    there = [panel for panel in PANELS if panel.name and panel.has_figures(inputs)]
    return [panel.name for needs in ("profile", "validation", "mappings") for panel in there if panel.needs == needs]


def _origin(inputs: Inputs) -> str:
    profile = inputs.profile
    if profile is None:
        return ""
    parts = [profile.machine.get("hostname"), profile.mpi_version, profile.created[:16].replace("T", ", ")]
    return " · ".join(" ".join(str(part).split()) for part in parts if part)
