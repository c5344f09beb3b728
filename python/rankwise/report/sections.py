"""The report's sections: pictures whose headings say what they show, then what is folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from rankwise.machine.figures import LinkFigures, figures_of
from rankwise.machine.link import Curve, Parameter, Segment
from rankwise.machine.profile import LINK_CLASSES, Link, Profile
from rankwise.report.conclusion import Gain, grid_words, mapping_words, volume, way
from rankwise.report.document import table
from rankwise.report.exchanges import exchange_groups, exchange_picture, group_label
from rankwise.report.inputs import MappingInstance
from rankwise.report.links import Launches, interpolates, link_picture, links_picture
from rankwise.report.machine_boxes import between, machine_boxes, undrawn
from rankwise.report.nodemaps import can_draw, cost_picture, node_map_picture, shown_part
from rankwise.report.program import path_words, timeline_picture, timeline_title
from rankwise.report.reproduction import Markup, Picture, Section, Table
from rankwise.report.words import headline, is_poor, point_time, timing, with_interval
from rankwise.units import format_bandwidth, format_parameter, format_percent, format_size, format_span, format_time
from rankwise.workloads.comparison import Comparison, Validation

_WAYS = (
    "Ways of sending: send waits until the buffer is free again, ssend until the receiver has begun to receive; "
    "exchange sends and receives at once, one message each way; exchange-gap is what each further message in flight "
    "adds to that."
)
_MODELS = (
    "A message of m bytes takes about alpha + beta m: alpha is the time to start it (s), beta the time each further byte "
    "adds (s/B). One such line for all sizes is the Hockney model; the piecewise model has one for each range "
    "of sizes, with a break where the MPI library changes its protocol. LogGP and max-rate have a few figures for "
    "all ways of sending together: what a message costs a processor, how far both directions overlap, what they "
    "share."
)
_WORDS = (
    "Latency: how long the smallest message takes, one way. Bandwidth: size / time of the largest message measured, one at a "
    "time.",
    "Interval (95 %): of 100 measurements like this one, 95 give an interval that holds the true median. It holds for the "
    "machine as it was while measuring; on another day, or beside other programs, all times may shift together.",
    "Cutoff k: every rank needs the blocks of all ranks within k layers of it in the process grid.",
    "J_sum: messages of one stencil exchange that cross from one node to another, over all nodes; J_max: those that leave the "
    "busiest node. Both are exact counts. Blocked: one node after another in row-major order, what happens when nobody "
    "chooses.",
)
# A curve's table is thinned to about this many rows; the picture shows all of them.
_MOST_ROWS = 10


def all_sections(
    profile: Profile | None,
    validation: Validation | None,
    mappings: Sequence[MappingInstance] | None,
    launches: Launches | None = None,
) -> list[Section]:
    """Return the sections in order of reading; those without figures are left out."""
    open_ones: list[Section] = []
    folded: list[Section] = []
    if profile is not None:
        links = {name: profile.links[name] for name in LINK_CLASSES if name in profile.links}
        figures = figures_of(links)
        if not undrawn(profile):
            boxes = Markup(machine_boxes(profile, figures))
            note = (
                "Latency of the smallest message and bandwidth of the largest, one way. Point at an edge for its interval "
                "and samples."
            )
            open_ones.append(Section("machine", "The machine, with what was measured on each edge", [note], [boxes]))
        own = None if validation is None else headline(validation).exchange.message_bytes
        open_ones.append(_curves(links, figures, launches, own))
        folded += [_all_links(figures), _models(links)]
    if validation is not None:
        open_ones.append(_exchange(validation, is_poor(profile, validation) is not None))
        folded.insert(0, _all_exchanges(validation))
        if profile is not None and (round_of := _round(profile, headline(validation))) is not None:
            folded.insert(0, round_of)
    if mappings:
        mapped = _mapping(mappings)
        (folded if mapped.fold is not None else open_ones).append(mapped)
    remarks = _remarks(profile, validation)
    first = remarks[0].partition(":")[0] if remarks else ""
    said = (
        "nothing was noticed"
        if not remarks
        else f"1 remark: {first}"
        if len(remarks) == 1
        else f"{len(remarks)} remarks: {first}"
    )
    folded.append(Section("remarks", "What may spoil these figures", remarks, [], said))
    if profile is not None:
        folded.append(_record(profile, "machine-record" if not undrawn(profile) else "machine"))
    folded.append(_sources(profile, validation, mappings))
    folded.append(Section("words", "The words on this page", _WORDS, [], "latency, bandwidth, interval, cutoff, J_sum"))
    return [*open_ones, *folded]


def _curves(
    links: Mapping[str, Link], figures: Mapping[str, LinkFigures], launches: Launches | None, own: int | None
) -> Section:
    name = list(links)[-1]
    title = f"Between {between(name)} latency decides below {volume(figures[name].balanced_bytes)}, bandwidth above"
    behind = " Ticks: the samples behind the point that is shown." if launches else ""
    picture = Picture(
        "links",
        "Bands are 95 % intervals; 0 B stands beyond the break of the axis. Size / time of one message at a time is neither "
        f"the bandwidth of a window of messages in flight nor that of several pairs of ranks at once.{behind}",
        partial(links_picture, links, launches, own),
    )
    return Section("latency", title, [], [picture])


def _all_links(figures: Mapping[str, LinkFigures]) -> Section:
    rows = [
        (
            name,
            format_time(one.latency_s), _ends(one.latency_ci_s, format_time),
            format_bandwidth(one.bandwidth_bytes_per_s), _ends(one.bandwidth_ci_bytes_per_s, format_bandwidth),
            format_size(one.bandwidth_bytes), str(one.samples),
        )
        for name, one in figures.items()
    ]  # fmt: skip
    header = ("link", "latency", "95 %", "bandwidth", "95 %", "of messages of", "samples")
    found = table("all-links", "", header, rows)
    samples = sum(one.samples for one in figures.values())
    count = f"{len(rows)} class{'es' * (len(rows) > 1)}, {samples} samples"
    return Section("bandwidth", "All links", [], [found], count)


def _ends(interval: tuple[float, float] | None, write: Any) -> str:
    return "–" if interval is None else with_interval(interval[0], interval, write).partition("(")[2].rstrip(")")


def _models(links: Mapping[str, Link]) -> Section:
    parts: list[Picture | Table] = []
    for name, link in links.items():
        parts.append(
            Picture(
                f"link-{name}",
                f"Link class {name}. Points: {link.send.statistic} of {link.send.samples} samples, with the 95 % "
                f"interval; lines: the models, of which {link.send.model} answers for predictions. A straight line "
                "looks bent because both axes are logarithmic; 0 B stands beyond the break in the axis.",
                partial(link_picture, name, link),
            )
        )
        parts += [_fits(name, link), _times(name, link.send)]
    chosen = ", ".join(f"{name} {link.send.model}" for name, link in links.items())
    ways = [_WAYS] if any(link.variants for link in links.values()) else []
    return Section("models", "The links' models and ways of sending", [_MODELS, *_choices(links), *ways], parts, chosen)


def _choices(links: Mapping[str, Link]) -> list[str]:
    """Tell for each link class why its model was chosen, and that model's own parameters."""
    told = []
    for name, link in links.items():
        if link.choice is None:
            continue
        named = link.explained_by()
        parameters = "; ".join(f"{key} {_parameter(key, found)}" for key, found in link.send.models[named].parameters.items())
        told.append(
            f"{name}: {link.send.model} answers for predictions ({link.choice.reason})."
            + (f" What {named} {'predicts' if named == link.send.model else 'explains'}: {parameters}." if parameters else "")
        )
    return told


def _parameter(key: str, found: Parameter) -> str:
    return with_interval(found.value, found.ci, lambda value: format_parameter(key, value))


def _fits(name: str, link: Link) -> Table:
    rows = []
    for sending, curve in {"send": link.send, **link.variants}.items():
        for model in curve.models.values():
            if interpolates(model, curve):
                continue
            for segment in model.segments:
                rows.append(
                    (
                        sending,
                        model.name,
                        _range(segment),
                        with_interval(segment.latency_s, segment.alpha_ci_s if segment.alpha_s > 0 else None, format_time),
                        with_interval(segment.beta_s_per_byte, segment.beta_ci_s_per_byte, _per_byte),
                        f"{100 * model.relative_error:.1f} %",
                    )
                )
    header = ("sent as", "model", "sizes", "alpha (95 %)", "beta (95 %)", "misfit")
    return table(f"fits-{name}", f"Models, {name}. Misfit: root mean square of model / measured - 1.", header, rows)


def _times(name: str, curve: Curve) -> Table:
    step = max(1, round(len(curve.table) / _MOST_ROWS))
    rows = [
        (
            format_size(point.size_bytes),
            point_time(point),
            format_time(curve.time_s(point.size_bytes)),
            format_percent(curve.time_s(point.size_bytes) / point.time_s - 1),
            str(point.samples),
        )
        for point in sorted({*curve.table[::step], curve.table[-1]}, key=lambda point: point.size_bytes)
    ]
    return table(
        f"times-{name}",
        f"Measured times, {name}, {curve.statistic}.",
        ("size", "time (95 %)", f"{curve.model} model", "model / measured - 1", "samples"),
        rows,
    )


def _exchange(validation: Validation, poor: bool) -> Section:
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


def _round(profile: Profile, row: Comparison) -> Section | None:
    """Show where the time of a round goes, by the model; None where the profile cannot tell."""
    from rankwise.engines.model import Model
    from rankwise.engines.placement import profile_placement
    from rankwise.engines.timelines import predicted
    from rankwise.errors import InputError

    try:
        line = predicted(Model(profile), row.case, profile_placement(profile).of(row.case))
    except InputError:
        return None
    title = timeline_title(line, "round")
    words = f"A round of {way(row)}, k = {row.exchange.cutoff}, as predicted: ranks down, time across, messages as arrows."
    return Section("round", "Where the time of a round goes", [words], [Picture("timeline", path_words(line),
        partial(timeline_picture, line, title))], title)  # fmt: skip


def _exchange_title(validation: Validation, poor: bool) -> str:
    rows = validation.comparisons
    off = f"predictions were off by {100 * validation.summary()['mape']:.1f} % on average"
    if poor or len({row.exchange.mode for row in rows}) < 2:
        return f"What an exchange costs: {off}"
    gains = []
    for row in rows:
        first = next(other for other in rows if _question(other) == _question(row))
        if way(row) != way(first):
            gains.append((Gain.of(first.measured, row.measured), row, first))
    told = [(gain, row, first) for gain, row, first in gains if gain.is_told]
    if not told:
        return f"No way of sending is told to be faster; {off}"
    gain, row, first = max(told, key=lambda found: found[0].ratio)
    return f"{way(row, first)} is up to {gain.ratio:.1f} times as fast as {way(first, row)}; {off}"


def _question(row: Comparison) -> tuple[object, ...]:
    case = row.exchange
    return (case.grid, case.cutoff, case.message_bytes, case.shell)


def _all_exchanges(validation: Validation) -> Section:
    parts = []
    for i, group in enumerate(exchange_groups(validation.comparisons)):
        rows = []
        for row in group:
            first = next(other for other in validation.comparisons if _question(other) == _question(row))
            gain = Gain.of(first.measured, row.measured)
            rows.append((
                row.exchange.mode, str(row.exchange.cutoff), format_size(row.exchange.message_bytes), timing(row.measured),
                timing(row.predicted), format_percent(row.error),
                "–" if (left := row.error_at_present_speed) is None else format_percent(left),
                "as now" if row is first else gain.words.replace(" times as fast", ""),
                str(row.measured.messages_per_rank), format_size(row.measured.bytes_per_rank or 0),
                "yes" if row.measured.verified else "NO",
            ))  # fmt: skip
        repetitions = format_span([row.measured.repetitions or 0 for row in group])
        caption = f"{group_label(group)}; {repetitions} repetitions each; messages and bytes are per rank."
        header = (
            "mode",
            "k",
            "block",
            "measured (95 %)",
            "predicted (95 %)",
            "off",
            "off, at present speed",
            "times as fast",
            "messages",
            "bytes",
            "checked",
        )
        parts.append(table(f"exchanges-{i}", caption, header, rows))
    notes = [
        "Off: predicted / measured - 1. At present speed is the error that is left when the prediction is scaled by how much "
        "longer a ping-pong took right then than when the profile was measured.",
        *dict.fromkeys(note for row in validation.comparisons for note in row.notes),
    ]  # fmt: skip
    inside = sum(row.inside_interval for row in validation.comparisons)
    count = len(validation.comparisons)
    return Section(
        "exchanges",
        "All exchanges compared",
        notes,
        parts,
        f"{count} compared; {inside} measured times lie in the predicted interval",
    )


def _mapping(mappings: Sequence[MappingInstance]) -> Section:
    parts: list[Picture | Table] = []
    notes: list[str] = []
    skipped: dict[tuple[str, str], list[str]] = {}
    if cost_picture(mappings) is not None:
        parts.append(
            Picture(
                "mapping-cost", "Each mapping against blocked (dotted line, 100 %). Less is better.", partial(_cost, mappings)
            )
        )
    for i, item in enumerate(mappings):
        label = f"{grid_words(item)[0].upper()}{grid_words(item)[1:]}"
        if can_draw(item):
            part = shown_part(item)
            ends = [result for result in (item.blocked, item.best) if result is not None]
            parts.append(
                Picture(
                    f"nodes-{i}",
                    f"{label}{f'; shown: {part}' if part else ''}. Numbers are nodes; nodes that touch differ in colour, but "
                    "a colour comes back for nodes that do not.",
                    partial(node_map_picture, item, f"nodes-{i}", list(dict.fromkeys(ends))),
                )
            )
        else:
            notes.append(
                f"{label}: no map is drawn, because the grid has more than three axes or the file holds no "
                "node_of_cell ('rankwise map --with-mapping' keeps it)."
            )
        for name_and_reason in item.skipped:
            skipped.setdefault(name_and_reason, []).append(item.stencil)
        blocked = item.blocked
        rows = [
            (
                result.algorithm,
                str(result.j_sum),
                f"{100 * result.j_sum / blocked.j_sum:.1f} %" if blocked and blocked.j_sum else "–",
                str(result.j_max),
                f"{100 * result.j_max / blocked.j_max:.1f} %" if blocked and blocked.j_max else "–",
                format_time(result.seconds),
            )
            for result in item.results
        ]
        header = ("mapping", "J_sum", "of blocked", "J_max", "of blocked", "time to compute")
        parts.append(table(f"mappings-{i}", f"{label}.", header, rows))
    notes += [
        f"{algorithm} was left out ({reason}) for {', '.join(dict.fromkeys(stencils))}."
        for (algorithm, reason), stencils in skipped.items()
    ]
    first = mappings[0]
    if all(item.example for item in mappings):
        return Section(
            "mapping",
            "Where to put the ranks, on an example grid",
            notes,
            parts,
            f"{grid_words(first)}: {mapping_words(first)}",
        )
    return Section("mapping", mapping_words(first), [f"{grid_words(first)[0].upper()}{grid_words(first)[1:]}.", *notes], parts)


def _cost(mappings: Sequence[MappingInstance]) -> Any:
    return cost_picture(mappings)


def _remarks(profile: Profile | None, validation: Validation | None) -> list[str]:
    """Return what may spoil the figures, each with its cure, once."""
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
                f"the machine's messages took {validation.drift:.2f} times as long beside the exchanges as in its profile: "
                "measure again, at a quiet hour or on a node of your own."
            )
    return list(dict.fromkeys(found))


def _record(profile: Profile, name: str) -> Section:
    """Tell whatever the record of the machine holds: an imported profile has little, a measured one much."""
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
    return Section(name, "The machine's record", [], [table("machine", "", ("what", "value"), rows)] if rows else [], said)


def _sources(profile: Profile | None, validation: Validation | None, mappings: Sequence[MappingInstance] | None) -> Section:
    said, found = "counts only", []
    if profile is not None:
        samples = sum(link.send.samples for link in profile.links.values())
        launches = "" if profile.trust.launches is None else f" in {profile.trust.launches} launches"
        said = f"{samples} samples of plain sends{launches}"
        source = "".join(f"; {key}: {_plain(value)}" for key, value in profile.source.items())
        found.append(
            f"Profile of {profile.created}{source}. The models are straight lines in the manner of R. Hockney and C. "
            "Jesshope, Parallel Computers 2 (1988)."
        )
    if validation is not None:
        found.append(
            "Exchanges: one message at a time after the analytical model of T. Werner, C. Päßler, I. Kabadshow and M. Werner, "
            "“Analytical Model of Communication Algorithm for Simulations with Range-Limited Interactions” (2023); measured "
            "on this machine by rankwise's own kernels, with real MPI ranks."
        )
    if mappings:
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
