"""The profile of a machine: what it is, and how long a message takes over each class of link.

A profile is a JSON file (schema 2): ``schema``, ``machine`` (the record that ``doctor`` shows), ``shared`` (what ranks
share, shared.py), and ``links``, which
maps a link class (same-core, shared-cache, same-socket, other-socket, other-node) to the curve of a plain send. Other ways of
sending stand next to it under ``variants``: ``ssend`` (synchronous ping-pong), ``exchange`` (both directions at once,
one message each) and ``exchange-gap`` (each further message in flight with it). ``fft3d`` stands there when
``rankwise measure fft3d`` has been run (fft_rates.py), ``packing`` and ``collectives`` after ``rankwise measure``
``pack`` and ``collectives``. Schema 1 had of what is shared the NIC's rate only, with a link.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

from rankwise.errors import InputError
from rankwise.files import kind_of, read_json, write_json
from rankwise.machine.collective_costs import CollectiveCosts
from rankwise.machine.fft_rates import FftRates, between
from rankwise.machine.link import Curve, Parameter, Point
from rankwise.machine.shared import Resource, Shared
from rankwise.machine.trust import Trust
from rankwise.reading import read_document
from rankwise.records import Interval, Record, computed, finite, key, record, whole
from rankwise.units import format_day

SCHEMA = 2
LINK_CLASSES = ("same-core", "shared-cache", "same-socket", "other-socket", "other-node")
OTHER_NODE = "other-node"
_R_N = "injection_bytes_per_s"
UNKNOWN = "unknown"
VARIANTS = ("ssend", "exchange", "exchange-gap")
LACKING = {  # what predictions assume where a resource is not known
    "card": "not measured: the NIC of a node (assumed as fast as one of its messages)",
    "memory": "not measured: the memory bandwidth of a node (assumed unlimited)",
}
_CHECKSUMS, _PARTS = "checksums", ("shared", "fft3d", "work", "packing", "collectives")
_FIX = "write a new one with 'rankwise measure' or 'rankwise profile import'"


@record
class Loaded(Record):
    """Alpha and beta of a plain send while ``pairs`` other pairs of ranks keep the link busy, and how many times those of
    the free link they are."""

    alpha_s: float = key("start of a message")
    beta_s_per_byte: float = key("time of a byte")
    alpha_ci_s: Interval | None = key()
    beta_ci_s_per_byte: Interval | None = key()
    pairs: int = key("other pairs of ranks that keep the link busy")
    alpha_ratio: float = key("alpha under load against that of the free link")
    beta_ratio: float | None = key("beta under load against that of the free link; null where that is 0")
    alpha_ratio_ci: Interval | None = key(default=None)
    beta_ratio_ci: Interval | None = key(default=None)


@record
class Spread(Record):
    """How much a plain send's times differ, as coefficients of variation: those of the launches' medians (None: a single
    launch), and, robustly, those of samples within a launch; the median over sizes. ``between_sessions`` is that of the
    machine's sessions, earlier ones included (None: fewer than three)."""

    between_launches: float | None = key("coefficient of variation of the launches' medians; null for one launch")
    within_launches: float = key("coefficient of variation within a launch")
    between_sessions: float | None = key("coefficient of variation of sessions; null for fewer than three", default=None)


@record
class Link(Record):
    """One link class: the curve of a plain send, those of other modes by name, why this model was chosen.

    ``parameters`` are what was measured directly rather than fitted (LogGP's o, g and l, limits of the protocol); ``loaded``
    is the link while others use it.
    ``reference_loop_s`` is the time of a fixed piece of work between the samples: times divided by it can be compared
    between hours in which the processor was faster or slower. None where none was timed.
    """

    send: Curve = key("a plain send", inline=True)
    variants: Mapping[str, Curve] = key("other modes, by name", factory=dict, after="reason")
    reason: str | None = key(
        "why this model, in words; null: nothing was chosen, as in an imported table", default=None,
        after="beta_loops_per_byte",
    )  # fmt: skip
    reference_loop_s: float | None = key(
        "time of a fixed piece of work between the samples, the median; null: none was timed", default=None, above=0,
        after="send",
    )  # fmt: skip
    alpha_loops = computed(
        "alpha divided by reference_loop_s, which compares better between hours", "float | None",
        lambda of: of.in_loops(of.send.alpha_s),
    )  # fmt: skip
    beta_loops_per_byte = computed(
        "beta divided by reference_loop_s", "float | None", lambda of: of.in_loops(of.send.beta_s_per_byte)
    )
    parameters: Mapping[str, Parameter] = key("figures that were measured directly, by name", factory=dict)
    loaded: Loaded | None = key("the link while others use it", default=None)
    spread: Spread | None = key(
        "how much launches and samples differ, or unknown", default=None, shape=Spread | Literal["unknown"],
        write=lambda spread: spread or UNKNOWN,
        read=lambda value, what: None if value in (None, UNKNOWN) else Spread.from_dict(value, what),
    )  # fmt: skip
    steps: Mapping[str, Mapping[str, Any]] = key("what a rank's steps take, by mode", factory=dict, omit=True)

    @property
    def curves(self) -> dict[str, Curve]:
        """The curves of all ways of sending by name, plain sends first."""
        return {"send": self.send, **self.variants}

    @property
    def together(self) -> dict[str, Curve]:
        """The ways of sending that models are fitted to together, plain sends first."""
        return {"send": self.send, **{way: self.variants[way] for way in VARIANTS if way in self.variants}}

    def in_loops(self, time_s: float) -> float | None:
        """Return a time as a multiple of the reference loop; None where that was not timed."""
        return None if self.reference_loop_s is None else time_s / self.reference_loop_s

    def parameter_count(self, model: str) -> int:
        """Count a model's parameters over all ways of sending; one that has named ones shares them between ways."""
        of_send = self.send.models[model]
        if of_send.parameters:
            return len(of_send.parameters)
        return sum(curve.models[model].parameter_count or 0 for curve in self.together.values() if model in curve.models)

    def is_look_up(self, model: str) -> bool:
        """Whether a model has more parameters than half the rows, so that it is no fit."""
        return self.send.models[model].looks_up or 2 * self.parameter_count(model) > sum(
            len(curve.table) for curve in self.together.values()
        )

    def explained_by(self) -> str:
        """Return the model whose figures stand for the link in words: what
        predicts, or the best of the fits where it looks up."""
        fits = [name for name in self.send.models if not self.is_look_up(name)]
        if self.send.model in fits or not fits:
            return self.send.model
        return min(fits, key=lambda name: self.send.models[name].cross_validated_error or 0.0)


@record
class Campaign(Record):
    """A measurement that figures of a profile come from."""

    id: str = key("id of the measurement")
    kind: str = key("what was measured")
    created: str = key("when, UTC")
    launches: int = key("launches of the ranks")
    level: str = key("quality of the measurement: good, limited, poor or unknown")


@record
class Imported(Record):
    """A table that figures of a profile come from."""

    file: str = key("name of the file")
    line: int = key("line in the file")
    program: str = key("program that measured")
    link: str = key("link class")
    kept_as: str = key("under which name it is kept")
    statistic: str = key("what stands for a row's samples")


@record
class Source(Record):
    """Where a profile's figures come from: which keys there are depends on the kind."""

    kind: str = key("measured, or imported from a table")
    samples_file: str = key("file of the samples", optional=True)
    campaign: str = key("id of the measurement", optional=True)
    measured: str = key("when, UTC", optional=True)
    campaigns: tuple[Campaign, ...] = key("measurements that the figures are of", optional=True)
    timer_cost_s: float = key("what reading the clock takes", optional=True)
    statistic: str = key("what stands for a row's samples", optional=True)
    model: str = key("model that was asked for", optional=True)
    method: str = key("how it was fitted", optional=True)
    table: str = key("name of the imported table", optional=True)
    imports: tuple[Imported, ...] = key("tables that the figures are of", optional=True)
    launches: int = key("launches of the link class with fewest", optional=True)
    span_s: float = key("from the first launch to the last", optional=True)
    precision: float | None = key("to which share every row was to be known; null: not asked for", optional=True)
    stopped_by: str = key("what ended it: precision or time", optional=True)
    imprecise_cells: int = key("rows whose interval did not become narrow", optional=True)
    visits_left_out: int = key("planned sample batches that the time left out", optional=True)


def _curves(value: Any, _: str) -> dict[int, list[tuple[int, float]]]:
    """Read the curves back. Raises ValueError for what is none."""
    if not isinstance(value, Mapping) or not all(str(rows).isdecimal() for rows in value):
        raise ValueError("packing is no curves by the bytes of a row")
    curves: dict[int, list[tuple[int, float]]] = {}
    for rows, curve in sorted(value.items(), key=lambda item: int(item[0])):
        points = sorted((whole(size, f"packing {rows}"), finite(time_s, f"packing {rows}")) for size, time_s in curve)
        if int(rows) < 1 or not points or points[0][0] < 1 or min(time_s for _, time_s in points) <= 0:
            raise ValueError(f"packing: rows of {rows} B have a size or time that is not positive")
        curves[int(rows)] = points
    if not curves:
        raise ValueError("packing: it has no curve")
    return curves


@record
class Packing(Record):
    """What gathering a message from rows of memory takes a rank, or putting it back.

    ``curves``: by the bytes of a row, ascending, (bytes of the message, seconds) of one copy, ascending.
    """

    curves: Mapping[int, Sequence[tuple[int, float]]] = key(
        "by the bytes of a row: bytes of the message, seconds of one copy", inline=True, read=_curves
    )

    def time_s(self, size_bytes: int, row_bytes: int) -> float:
        """Return the seconds of one copy; between lengths and between sizes
        straight in the logarithms, beyond them the nearest rate."""
        if size_bytes <= 0:
            return 0.0
        rates = [(rows, _at(curve, size_bytes)) for rows, curve in self.curves.items()]
        return size_bytes * between(rates, row_bytes)


def _at(curve: Sequence[tuple[int, float]], size_bytes: int) -> float:
    """Return seconds a byte at a size."""
    return between([(size, time_s / size) for size, time_s in curve], size_bytes)


@record
class Profile(Record):
    """A machine's profile; ``source`` says where the figures come from (a samples file, an imported table)."""

    schema = computed("version of this document", int, lambda profile: SCHEMA)
    machine: Mapping[str, Any] = key(
        "the machine that was measured", shape="rankwise.machine.record.MachineRecord", after="source"
    )
    links: Mapping[str, Link] = key("by link class", after="shared")
    created: str = key("when it was made, UTC")
    source: Mapping[str, Any] = key("where the figures are from", shape="Source")
    warnings: tuple[str, ...] = key("what was unusual, in words", default=(), after="machine")
    fft3d: FftRates | None = key("rates of 3-D FFTs", default=None, omit=True)
    shared: Shared = key("what ranks share", default=Shared(), after="trust")
    # With steps: copies and additions of fresh blocks, [bytes, seconds].
    work: Mapping[str, Any] = key("copies and additions of fresh blocks", factory=dict, omit=True)
    trust: Trust = key("quality of the measurement", default=Trust(), after="warnings", read=Trust.from_dict)
    packing: Packing | None = key("what packing a message takes, by the bytes of a row", default=None, omit=True)
    collectives: CollectiveCosts | None = key("what collectives take besides messages", default=None, omit=True)

    @property
    def nearer_first(self) -> dict[str, Link]:
        """The links in order of distance."""
        return {name: self.links[name] for name in LINK_CLASSES if name in self.links}

    @property
    def lacks(self) -> tuple[str, ...]:
        """The kinds of resources that messages over these links share and of which nothing is known."""
        needed = {"card": OTHER_NODE in self.links, "memory": any(name != OTHER_NODE for name in self.links)}
        return tuple(kind for kind, used in needed.items() if used and getattr(self.shared, kind) is None)

    def notes(self) -> list[str]:
        """Say what was not measured, or hardly, and what is assumed in its place."""
        in_exchange = self.shared.card is not None and bool(self.shared.card.exchange)
        bbr = (
            "TCP uses bbr between nodes, which leaves links idle in exchanges: they may take 25 % longer than predicted; "
            "'rankwise measure' with three --hosts or more finds how much"
        )
        return [
            *(LACKING[kind] for kind in self.lacks),
            *self.shared.notes(),
            *([bbr] if "bbr" in self.machine.get("tcp", {}) and not in_exchange else []),
        ]

    @property
    def mpi_version(self) -> str:
        """What the MPI that it was measured with says of itself; empty: unknown."""
        mpi = self.machine.get("mpi")
        return str(mpi.get("library_version", "")) if isinstance(mpi, dict) else ""

    @property
    def is_single(self) -> bool:
        """Whether it rests on one measurement, so that nothing is known of how the machine varies from day to day."""
        spreads = [link.spread for link in self.links.values() if link.spread is not None]
        return bool(spreads) and all(one.between_sessions is None and one.between_launches is not None for one in spreads)

    def lost_in(self, other: Profile) -> list[str]:
        """Return what this profile has and another one lacks: links, ways of sending, parameters, models and rates."""
        lost = [
            what
            for what in ("fft3d", "packing", "collectives")
            if getattr(self, what) is not None and getattr(other, what) is None
        ]
        lost += [f"shared {kind}" for kind, _ in self.shared.resources() if getattr(other.shared, kind, None) is None]
        for name, link in self.links.items():
            if (there := other.links.get(name)) is None:
                lost.append(name)
                continue
            lost += [f"{name} {way}" for way in link.variants if way not in there.variants]
            lost += [f"{name} {parameter}" for parameter in link.parameters if parameter not in there.parameters]
            lost += [f"{name} model {model}" for model in link.send.models if model not in there.send.models]
            lost += [f"{name} under load"] if link.loaded is not None and there.loaded is None else []
        return lost

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        """Build a profile from its JSON value; ``what`` names it in the InputError of a bad one."""
        if isinstance(value, dict) and "schema" not in value:
            raise InputError(f"profile {what} names no schema: {_FIX}")
        profile = read_document(cls._read, value, f"profile {what}", _FIX, SCHEMA)
        _require_checksums(value, what)  # last: what cannot be is told by its name
        return profile

    @classmethod
    def _read(cls, value: Any) -> Self:
        if not value["links"]:
            raise ValueError("links: it has no link class")
        if unknown := [name for name in value["links"] if name not in LINK_CLASSES]:
            raise ValueError(f"'{unknown[0]}' is not a link class ({', '.join(LINK_CLASSES)})")
        profile = super().from_dict(value)
        if value["schema"] > 1:
            return profile
        links, shared = _from_schema_1(profile.links)
        return replace(profile, links=links, shared=shared)

    def save(self, path: Path) -> None:
        """Write the profile as a whole file, with the checksums of its figures."""
        record = self.to_dict()
        write_json(path, {**record, _CHECKSUMS: _checksums(record)})

    @staticmethod
    def load(path: Path) -> Profile:
        """Read a profile. Raises InputError when it is missing, half-written, newer, or holds impossible figures."""
        if (kind := kind_of(path)) not in ("", "a profile"):
            fix = f"rankwise fit {path} -o {path.name.split('.')[0]}.json" if kind == "raw samples" else _FIX
            raise InputError(f"{path} is {kind}, not a profile: {fix}")
        return Profile.from_dict(read_json(path, "profile", _FIX), str(path))


def _checksums(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksum of each part that holds figures, links one by one, as it reads in JSON whatever its layout."""
    parts = {name: record[name] for name in _PARTS if name in record}
    if isinstance(links := record.get("links"), Mapping):
        parts |= {f"links {name}": link for name, link in links.items()}
    return {
        name: hashlib.sha256(json.dumps(json.loads(json.dumps(part)), sort_keys=True).encode()).hexdigest()[:16]
        for name, part in parts.items()
    }


def _require_checksums(record: Mapping[str, Any], where: str) -> None:
    """Refuse figures that are not those that were written; a profile without checksums is read. Raises InputError."""
    if _CHECKSUMS not in record:
        return
    told, found = record[_CHECKSUMS], _checksums(record)
    told = told if isinstance(told, dict) else {}
    differing = sorted(name for name in {*told, *found} if told.get(name) != found.get(name))
    if differing:
        raise InputError(
            f"profile {where}: {', '.join(differing)} do not fit the checksums: damaged, or edited since it was written: "
            f"{_FIX}, or remove '{_CHECKSUMS}' from it where the change was meant"
        )


def open_profile(path: Path) -> Profile:
    """Read a profile for a verb: its quality names the file and the day. Raises InputError like load."""
    profile = Profile.load(path)
    return replace(profile, trust=replace(profile.trust, file=str(path), day=format_day(profile.created)))


def _from_schema_1(links: Mapping[str, Link]) -> tuple[dict[str, Link], Shared]:
    """Take what a node injects at most, R_N, out of the links: measured with a link, or else a parameter of max-rate."""
    kept = {
        name: replace(link, parameters={key: value for key, value in link.parameters.items() if key != _R_N})
        for name, link in links.items()
    }
    if (link := links.get(OTHER_NODE)) is None:
        return kept, Shared()
    max_rate = link.send.models.get("max-rate")
    rate = link.parameters.get(_R_N) or (max_rate.parameters.get(_R_N) if max_rate is not None else None)
    if rate is None:
        return kept, Shared()
    return kept, Shared(card=Resource.from_dict({"bytes_per_s": rate.value, "ci": rate.ci}, "injection"))


@record
class LinkFigures(Record):
    """The latency of a link: one way of its smallest message (0 B where measured), s; its bandwidth: size / time of its largest
    message, bytes/s. Intervals are 95 %, None where the spread is unknown."""

    latency_s: float = key("one way of its smallest message")
    latency_ci_s: Interval | None
    latency_lo_s = computed("", "float | None", lambda of: of.latency_ci_s and of.latency_ci_s[0])
    latency_hi_s = computed("", "float | None", lambda of: of.latency_ci_s and of.latency_ci_s[1])
    latency_bytes: int
    bandwidth_bytes_per_s: float = key("size by time of the largest message")
    bandwidth_ci_bytes_per_s: Interval | None
    bandwidth_lo_bytes_per_s = computed(
        "", "float | None", lambda of: of.bandwidth_ci_bytes_per_s and of.bandwidth_ci_bytes_per_s[0]
    )
    bandwidth_hi_bytes_per_s = computed(
        "", "float | None", lambda of: of.bandwidth_ci_bytes_per_s and of.bandwidth_ci_bytes_per_s[1]
    )
    bandwidth_bytes: int = key("size of that message", name="bandwidth_of_bytes")
    samples: int

    @staticmethod
    def of(link: Link) -> LinkFigures:
        first, last = link.send.table[0], link.send.table[-1]
        return LinkFigures(
            first.time_s, first.interval_s, first.size_bytes,
            last.size_bytes / last.time_s, _rate_interval(last), last.size_bytes, link.send.samples,
        )  # fmt: skip

    @property
    def balanced_bytes(self) -> float:
        """The size from which on a message's bytes take longer than its start: latency times bandwidth."""
        return self.latency_s * self.bandwidth_bytes_per_s


def figures_of(links: Mapping[str, Link]) -> dict[str, LinkFigures]:
    """Return the figures of each link class."""
    return {name: LinkFigures.of(link) for name, link in links.items()}


def _rate_interval(point: Point) -> Interval | None:
    if point.interval_s is None or not point.interval_s[0] > 0:
        return None
    low_s, high_s = point.interval_s
    return point.size_bytes / high_s, point.size_bytes / low_s
