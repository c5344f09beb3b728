"""Profiles side by side in one page: before and after, or a history: what changed, by how much, and over the sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from rankwise.blocks import Column, Picture, Table
from rankwise.machine.compare import Compared, Comparison, compare, in_words, name_of, ratio_interval
from rankwise.machine.link import Point
from rankwise.machine.profile import LINK_CLASSES, LinkFigures, Profile, figures_of
from rankwise.machine.trust import worst
from rankwise.records import Record, computed, key, record
from rankwise.report.chart import INK, RATE, TIME, Chart, SizeAxis, Spec, field_of, log_axis, rows
from rankwise.report.document import Badge, Document, Figure, Kind, Next, Section
from rankwise.report.layers import Curves, cursor, layer, level, nearest, ranged, zoomed
from rankwise.report.machine_boxes import between
from rankwise.report.words import QUALITY, figure_with_unit, point_time, with_interval
from rankwise.units import format_bandwidth, format_size, format_time

_BADGES: dict[str, tuple[Kind, str]] = {
    "slower": ("bad", "Machine: slower"),
    "faster": ("good", "Machine: faster"),
    "same": ("good", "Machine: as before"),
    "unclear": ("warn", "Machine: no verdict"),
    "unusable": ("unknown", "Machine: no verdict"),
}


@record
class OneProfile(Record):
    """One of several profiles side by side."""

    name: str = key("name of the profile")
    profile: Profile
    created = computed("when it was made, UTC", str, lambda of: of.profile.created)
    links = computed("by link class", Mapping[str, LinkFigures], lambda of: figures_of(of.profile.links))


@record
class History(Record):
    """Profiles of one machine by name, the oldest first; at least two. The last is held against the first."""

    headline = computed("the conclusion", str, lambda of: _headline(of))
    outcome = computed("slower, faster, same, unclear or unusable", str, lambda of: of.found.outcome)
    profiles: Sequence[tuple[str, Profile]] = key(
        "one entry a profile", kind=list[OneProfile], write=lambda ones: [OneProfile(*one) for one in ones], after="tolerance"
    )
    tolerance: float = key("share that counts as the same", default=0.1)
    comparisons = computed("each figure that both profiles have", list[Comparison], lambda of: of.found.comparisons)
    notes = computed("what weakens the figures, in words", list[str], lambda of: of.found.notes)

    @cached_property
    def found(self) -> Compared:
        """The last compared with the first. Raises InputError where they have no link in common."""
        return compare(self.profiles[0][1], self.profiles[-1][1], self.tolerance)

    def links(self) -> list[str]:
        """Return the link classes that first and last have, nearer ones first."""
        return [name for name in self.profiles[0][1].nearer_first if name in self.profiles[-1][1].links]


def render(history: History) -> str:
    """Return the page. Raises InputError where the profiles have no link in common. The same figures give the same bytes."""
    found = history.found
    names = [name for name, _ in history.profiles]
    kind, state = _BADGES[found.outcome]
    slower, faster = found.of("slower"), found.of("faster")
    told = (
        f"{len(slower)} of {len(found.comparisons)} figures slower, {len(faster)} faster, beyond {100 * history.tolerance:g} %"
    )
    trust = worst(profile.trust.level for _, profile in history.profiles)
    poor = ", ".join(found.poor) if found.poor else "of the profile that is known least"
    sections = [
        Section(
            "ratio", _title(found, history),
            ["Band: 95 % interval; tinted: the tolerance. Above 1 the last profile takes longer."],
            [Picture("ratios", f"{names[-1]} beside {names[0]}, plain sends.", partial(ratio_picture, history))],
        ),
        Section(
            "history", "Latency and bandwidth, profile by profile", [f"{len(names)} profiles, the oldest first."],
            [Picture("history-chart", "Bars are 95 % intervals.", partial(history_picture, history))],
        ),
        _all_figures(found),
        Section("sources", "Where the figures come from", [f"{name} of {profile.created}. {profile.trust.line()}" for name,
            profile in history.profiles] + [f"{note}." for note in found.notes], [], f"{len(names)} profiles"),
    ]  # fmt: skip
    return Document(
        kind="rankwise report",
        origin=f"{history.profiles[-1][1].machine.get('hostname') or 'a machine'} · {names[0]} to {names[-1]}",
        headline=history.headline,
        why=[_why(found)] if _why(found) else [],
        sections=sections,
        badges=[Badge(kind, state, told), Badge(QUALITY[trust], f"Quality: {trust}", poor)],
        figures=_figures(history),
        next=_next(found, names),
        record=f"rankwise report {' '.join(names)} --json",
    ).html()


def ratio_picture(history: History) -> Chart:
    """Draw how many times as long the last profile's messages take as the first's, over their size, a series a link."""
    (first, before), (last, after) = history.profiles[0], history.profiles[-1]
    links = history.links()
    pairs = {link: _common(before.links[link].send.table, after.links[link].send.table) for link in links}
    pairs = {link: found for link, found in pairs.items() if found}
    sizes = SizeAxis.of([0, 1] if not pairs else {a.size_bytes for found in pairs.values() for a, _ in found} | {1})
    order = sorted({a.size_bytes for found in pairs.values() for a, _ in found})
    stops: list[str] = []
    data: list[Spec] = []
    for size in order:
        said = [
            f"{link} {point_time(b)}, was {point_time(a)}"
            for link, found in pairs.items()
            for a, b in found
            if a.size_bytes == size
        ]
        stops.append(f"At {format_size(size)}: " + " | ".join(said))
    for link, found in pairs.items():
        for a, b in found:
            ratio = b.time_s / a.time_s
            low, high = ratio_interval(a.time_s, a.interval_s, b.time_s, b.interval_s) or (ratio, ratio)
            data.append({
                "link": link, "place": sizes.place(a.size_bytes), "ratio": ratio, "low": max(low, 0.01 * ratio), "high": high,
                "stop": order.index(a.size_bytes), "part": f"{link} {a.size_bytes == 0}",
                "tip": f"{link}, {format_size(a.size_bytes)}: {ratio:.3g} times as long ({low:.3g} to {high:.3g})",
            })  # fmt: skip
    ends = [1 + history.tolerance, 1 - history.tolerance, *(row[key] for row in data for key in ("low", "ratio", "high"))]
    y = field_of("ratio", **log_axis([float(end) for end in ends], "format(datum.value,'.3~g')+' ×'", "", 1.05))
    drawn = Curves(sizes.encoding(), y, links, "link", "part")
    tolerated = [{"low": 1 - history.tolerance, "high": 1 + history.tolerance}]
    layers: list[Spec] = [
        layer("rect", ranged("y", y, "low", "high"), tolerated, color="#0072b2", opacity=0.08),
        level("y", y, 1, color=INK),
        *zoomed([drawn.band()]),
        drawn.line(1.8),
        drawn.points(80, 18, opacity=1),
        cursor(),
        nearest("place", "ratio"),
        *sizes.break_marks(),
    ]
    title = f"Time of a message: {last} / {first}"
    return Chart(
        "ratios", title, ". ".join(stops), [{"title": title, "height": 250, "data": rows(data), "layer": layers}], stops
    )


def history_picture(history: History) -> Chart:
    """Draw latency and bandwidth of each link, profile by profile."""
    links = history.links()
    names = [name for name, _ in history.profiles]
    known = [
        figures_of({link: profile.links[link] for link in links if link in profile.links}) for _, profile in history.profiles
    ]
    stops = [
        f"{name}: " + " | ".join(f"{link} {_latency(one)}, {_bandwidth(one)}" for link, one in of.items())
        for name, of in zip(names, known, strict=True)
    ]
    panels: list[Spec] = []
    for title, label, quantity, ci, write in (
        ("Latency", TIME, "latency_s", "latency_ci_s", _latency),
        ("Bandwidth", RATE, "bandwidth_bytes_per_s", "bandwidth_ci_bytes_per_s", _bandwidth),
    ):
        data: list[Spec] = []
        for i, (name, of) in enumerate(zip(names, known, strict=True)):
            for link, one in of.items():
                value = getattr(one, quantity)
                low, high = getattr(one, ci) or (value, value)
                data.append({
                    "profile": name, "link": link, "value": value, "low": max(low, 0.01 * value), "high": high, "stop": i,
                    "tip": f"{name}, {link}: {write(one)}",
                })  # fmt: skip
        turned = {"title": None, "labelAngle": 0 if len(names) < 4 else -30, "labelLimit": 140}
        y = field_of("value", **log_axis([float(row[key]) for row in data for key in ("low", "value", "high")], label, ""))
        drawn = Curves(field_of("profile", "ordinal", sort=names, axis=turned), y, links, "link", clip=False)
        layers = [drawn.line(1.5), drawn.intervals(strokeWidth=2), drawn.points(130, 50, opacity=1)]
        panels.append({"title": title, "height": 220, "data": rows(data), "layer": layers})
    return Chart(
        "history-chart", "Latency and bandwidth, profile by profile", ". ".join(stops), panels, stops, least_px=380, label_px=74
    )


def _headline(history: History) -> str:
    name, found = history.profiles[0][0], history.found
    words = in_words(found, history.tolerance)
    if found.outcome == "slower":
        return f"Slower than {name}: {_what(max(found.of('slower'), key=lambda c: c.ratio))}."
    if found.outcome == "faster":
        return f"Faster than {name}: {_what(min(found.of('faster'), key=lambda c: c.ratio))}."
    return f"{words[0].upper()}{words[1:]}."


def _what(worst: Comparison) -> str:
    """Say of a figure how much longer it takes."""
    of = "its start" if worst.quantity == "alpha" else "its bytes" if worst.quantity == "beta" else "it"
    size = "" if worst.size_bytes is None else f" of {format_size(worst.size_bytes)}"
    where = between(worst.link) if worst.link in LINK_CLASSES else worst.link
    return f"a message{size} between {where} ({worst.sending}): {of} takes {worst.ratio:.2f} times as long{_ends(worst)}"


def _title(found: Compared, history: History) -> str:
    if not found.of("slower") and not found.of("faster"):
        return f"No size takes longer beyond {100 * history.tolerance:g} % for certain"
    return "How many times as long each size takes"


def _why(found: Compared) -> str:
    """Say where it changed most."""
    changed = sorted(found.of("slower") or found.of("faster"), key=lambda c: -abs(c.ratio - 1))
    if not changed:
        return "; ".join(found.notes[:1])
    by_link = {link: sum(c.link == link for c in changed) for link in dict.fromkeys(c.link for c in changed)}
    return f"Changed for certain: {', '.join(f'{count} figures of {link}' for link, count in by_link.items())}."


def _ends(comparison: Comparison) -> str:
    return "" if comparison.ratio_ci is None else f" ({comparison.ratio_ci[0]:.3g} to {comparison.ratio_ci[1]:.3g})"


def _figures(history: History) -> list[Figure]:
    """Return latency and bandwidth of the farthest link as they are now, with what they were."""
    link = history.links()[-1]
    before, after = (LinkFigures.of(profile.links[link]) for profile in (history.profiles[0][1], history.profiles[-1][1]))
    ratio = after.latency_s / before.latency_s
    ends = ratio_interval(before.latency_s, before.latency_ci_s, after.latency_s, after.latency_ci_s)
    found = [
        figure_with_unit(f"Latency between {between(link)}, now", after.latency_s, after.latency_ci_s, format_time,
            f"was {_latency(before)}"),
        figure_with_unit(
            f"Bandwidth between {between(link)}, now", after.bandwidth_bytes_per_s, after.bandwidth_ci_bytes_per_s,
                format_bandwidth,
            f"was {_bandwidth(before)}",
        ),
    ]  # fmt: skip
    shares = None if ends is None else (ends[0] / ratio - 1, ends[1] / ratio - 1)
    words = "– spread unknown" if ends is None else f"{ends[0]:.3g} to {ends[1]:.3g}"
    return [Figure("Latency, times as long as before", f"{ratio:.2f}", "×", words, shares, "1 is as before"), *found]


def _latency(one: LinkFigures) -> str:
    return with_interval(one.latency_s, one.latency_ci_s, format_time)


def _bandwidth(one: LinkFigures) -> str:
    return with_interval(one.bandwidth_bytes_per_s, one.bandwidth_ci_bytes_per_s, format_bandwidth)


def _all_figures(found: Compared) -> Section:
    counts: Mapping[str, int] = {verdict: len(found.of(verdict)) for verdict in ("slower", "faster", "same", "unclear")}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    columns: Sequence[Column[Comparison]] = (
        Column("figure", name_of),
        Column("size", "size_bytes", format_size),
        Column("last / first (95 %)", lambda c: f"{c.ratio:.3g} ×{_ends(c)}"),
        Column("verdict", "verdict"),
    )
    return Section("all", "All figures compared", [], [Table(columns, found.comparisons, name="compared")], said)


def _next(found: Compared, names: Sequence[str]) -> list[Next]:
    if found.outcome == "slower":
        return [
            Next("What is wrong with this environment", "rankwise doctor"),
            Next("Which node, cable or direction", "rankwise doctor --nodes"),
        ]
    if found.outcome in ("unclear", "unusable"):
        return [Next("Know the figures better", f"rankwise measure -o {names[-1]} --launches 20")]
    return [Next("Be told when it becomes slower", "rankwise health")]


def _common(a: Sequence[Point], b: Sequence[Point]) -> list[tuple[Point, Point]]:
    of_size = {point.size_bytes: point for point in b}
    return [(point, of_size[point.size_bytes]) for point in a if point.size_bytes in of_size]
