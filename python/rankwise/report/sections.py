"""The report's sections: for each kind of figures its words, pictures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.machine.link import Curve, Parameter, Segment
from rankwise.machine.profile import LINK_CLASSES, Link, Profile
from rankwise.report.curves import bandwidth_picture, interpolates, latency_picture
from rankwise.report.exchanges import exchange_groups, exchange_picture, group_label
from rankwise.report.inputs import MAPPING_COMMAND, VALIDATION_COMMAND, MappingInstance
from rankwise.report.nodemaps import can_draw, cost_picture, node_map_picture, shown_part
from rankwise.report.words import nodes_in_words, point_bandwidth, point_time, span, timing, with_interval
from rankwise.units import format_parameter, format_percent, format_size, format_time
from rankwise.workloads.comparison import Validation

PROFILE_COMMAND = "rankwise measure -o machine.json"
_WAYS = (
    "Ways of sending: send waits until the buffer is free again, ssend until the receiver has begun to receive; "
    "exchange sends and receives at once, one message each way; exchange-gap is what each further message in flight "
    "adds to that."
)
# A curve's table is thinned to about this many rows; the picture shows all of them.
_MOST_ROWS = 10


@dataclass(frozen=True)
class Picture:
    """An SVG element with the words under it."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Rows of texts under a header; the caption may be empty."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """One section; ``missing`` is the command that makes its figures where there are none."""

    id: str
    title: str
    paragraphs: Sequence[str] = ()
    parts: Sequence[Picture | Table] = ()
    missing: str | None = None


def all_sections(
    profile: Profile | None, validation: Validation | None, mappings: Sequence[MappingInstance] | None
) -> list[Section]:
    """Return the sections in order of reading; those without figures hold the command that makes them."""
    if profile is None:
        machine = [Section("latency", "Messages", missing=PROFILE_COMMAND)]
    else:
        machine = [_machine(profile), _latency(profile), _bandwidth(profile)]
    return [
        *machine,
        _exchange(validation) if validation else Section("exchange", "Exchanges", missing=VALIDATION_COMMAND),
        _mapping(mappings) if mappings else Section("mapping", "Mappings", missing=MAPPING_COMMAND),
    ]


def _machine(profile: Profile) -> Section:
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
    return Section("machine", "The machine", parts=[Table("", ("what", "value"), rows)] if rows else [])


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


def _latency(profile: Profile) -> Section:
    parts: list[Picture | Table] = []
    for name in _classes(profile):
        link = profile.links[name]
        parts.append(
            Picture(
                latency_picture(name, link),
                f"Link class {name}. Points: {link.send.statistic} of {link.send.samples} samples, with the 95 % "
                f"interval; lines: the models, of which {link.send.model} answers for predictions. A straight line "
                "looks bent because both axes are logarithmic; 0 B stands beyond the break in the axis.",
            )
        )
        parts += [_fits(name, link), _times(name, link.send)]
    return Section(
        "latency",
        "How long a message takes",
        [
            "A link class says what lies between two ranks: one core, one socket, two sockets, two nodes. A message of "
            "m bytes takes about alpha + beta m: alpha is the time to start it (s), beta the time each further byte "
            "adds (s/B). One such line for all sizes is the Hockney model; the piecewise model has one for each range "
            "of sizes, with a break where the MPI library changes its protocol. LogGP and max-rate have a few figures for "
            "all ways of sending together: what a message costs a processor, how far both directions overlap, what they "
            "share.",
            *_choices(profile),
            *([_WAYS] if any(link.variants for link in profile.links.values()) else []),
        ],
        parts,
    )


def _choices(profile: Profile) -> list[str]:
    """Tell for each link class why its model was chosen, and that model's own parameters."""
    told = []
    for name in _classes(profile):
        link = profile.links[name]
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
    for way, curve in {"send": link.send, **link.variants}.items():
        for model in curve.models.values():
            if interpolates(model, curve):
                continue
            for segment in model.segments:
                rows.append(
                    (
                        way,
                        model.name,
                        _range(segment),
                        with_interval(segment.latency_s, segment.alpha_ci_s if segment.alpha_s > 0 else None, format_time),
                        with_interval(segment.beta_s_per_byte, segment.beta_ci_s_per_byte, _per_byte),
                        f"{100 * model.relative_error:.1f} %",
                    )
                )
    header = ("sent as", "model", "sizes", "alpha (95 %)", "beta (95 %)", "misfit")
    return Table(f"Models, {name}. Misfit: root mean square of model / measured - 1.", header, rows)


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
    return Table(
        f"Measured times, {name}, {curve.statistic}.",
        ("size", "time (95 %)", f"{curve.model} model", "model / measured - 1", "samples"),
        rows,
    )


def _bandwidth(profile: Profile) -> Section:
    rows = []
    for name in _classes(profile):
        table = [point for point in profile.links[name].send.table if point.size_bytes]
        best = max(table, key=lambda point: point.size_bytes / point.time_s)
        half = next(p for p in table if p.size_bytes / p.time_s >= best.size_bytes / best.time_s / 2)
        rows.append((name, point_bandwidth(best), format_size(best.size_bytes), format_size(half.size_bytes)))
    return Section(
        "bandwidth",
        "How fast the bytes move",
        parts=[
            Picture(
                bandwidth_picture({name: profile.links[name] for name in _classes(profile)}),
                "Size divided by the time of one message, one message at a time: not the bandwidth of a window of "
                "messages in flight, and not that of several pairs of ranks at once.",
            ),
            Table("Largest measured bandwidth.", ("link class", "bandwidth (95 %)", "at", "half of it from"), rows),
        ],
    )


def _exchange(validation: Validation) -> Section:
    parts: list[Picture | Table] = []
    for i, group in enumerate(exchange_groups(validation.comparisons)):
        label = group_label(group)
        parts.append(
            Picture(
                exchange_picture(group, f"exchange-{i}"),
                f"{label}. The number above each pair is predicted / measured - 1.",
            )
        )
        rows = [
            (
                row.exchange.mode,
                str(row.exchange.cutoff),
                format_size(row.exchange.message_bytes),
                timing(row.measured),
                timing(row.predicted),
                format_percent(row.error),
                "–" if (left := row.error_at_present_speed) is None else format_percent(left),
                "yes" if row.inside_interval else "no",
                str(row.measured.messages_per_rank),
                format_size(row.measured.bytes_per_rank or 0),
                "yes" if row.measured.verified else "NO",
            )
            for row in group
        ]
        times = ("measured (95 %)", "predicted (95 %)", "error", "at present speed", "inside")
        header = ("mode", "k", "block", *times, "messages", "bytes")
        repetitions = span([row.measured.repetitions or 0 for row in group])
        caption = f"{label}; {repetitions} repetitions each; messages and bytes are per rank."
        parts.append(Table(caption, (*header, "verified"), rows))
    return Section(
        "exchange",
        "What an exchange costs",
        [
            "Every rank needs the blocks of all ranks within k layers of it in the process grid (k is the cutoff). The "
            "prediction comes from the profile alone; the measurement ran the same messages under real MPI and checked "
            "every received byte. Inside means that the measured time lies in the 95 % interval of the prediction. "
            "At present speed is the error that is left when the prediction is scaled by how much longer a ping-pong "
            "took right then than when the profile was measured.",
            *dict.fromkeys(note for row in validation.comparisons for note in row.notes),
        ],
        parts,
    )


def _mapping(mappings: Sequence[MappingInstance]) -> Section:
    parts: list[Picture | Table] = []
    notes: list[str] = []
    skipped: dict[tuple[str, str], list[str]] = {}
    costs = cost_picture(mappings)
    if costs is not None:
        parts.append(
            Picture(costs, "Each mapping against blocked (dotted line, 100 %); the number is J_sum's share. Less is better.")
        )
    for i, item in enumerate(mappings):
        label = f"{'x'.join(map(str, item.grid))} grid on {nodes_in_words(item.nodes)}, stencil {item.stencil}"
        if can_draw(item):
            part = shown_part(item)
            parts.append(
                Picture(
                    node_map_picture(item, f"nodes-{i}"),
                    f"{label}{f'; shown: {part}' if part else ''}. Lines part the nodes; nodes that touch differ in "
                    "colour, but a colour comes back for nodes that do not.",
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
        parts.append(Table(f"{label}.", ("mapping", "J_sum", "of blocked", "J_max", "of blocked", "time to compute"), rows))
    notes += [
        f"{algorithm} was left out ({reason}) for {', '.join(dict.fromkeys(stencils))}."
        for (algorithm, reason), stencils in skipped.items()
    ]
    return Section(
        "mapping",
        "Where to put the ranks",
        [
            "A mapping says which node holds which cell of the process grid. J_sum counts the messages of one stencil "
            "exchange that cross from one node to another, over all nodes; J_max counts those that leave the busiest "
            "node. Both are exact counts. Blocked, one node after another in row-major order, is what happens when "
            "nobody chooses.",
            *notes,
        ],
        parts,
    )


def _classes(profile: Profile) -> list[str]:
    return [name for name in LINK_CLASSES if name in profile.links]


def _range(segment: Segment) -> str:
    if segment.to_bytes is None:
        return f"from {format_size(segment.from_bytes)}"
    return f"{format_size(segment.from_bytes)} up to {format_size(segment.to_bytes)}"


def _per_byte(beta_s_per_byte: float) -> str:
    return f"{beta_s_per_byte * 1e9:.3g} ns/B"
