"""The profile of a machine: what it is, and how long a message takes over each class of link.

A profile is a JSON file (schema 2): ``schema``, ``machine`` (the record that ``doctor`` shows), ``shared`` (what ranks
share, shared.py), and ``links``, which
maps a link class (same-core, shared-cache, same-socket, other-socket, other-node) to the curve of a plain send. Other ways of
sending stand beside it under ``variants``: ``ssend`` (synchronous ping-pong), ``exchange`` (both directions at once,
one message each) and ``exchange-gap`` (each further message in flight with it). ``fft3d`` stands there when
``rankwise measure fft3d`` has been run (fft_rates.py), ``packing`` after ``rankwise measure pack`` (packing.py). Schema 1 had
of what is shared the card's rate only, with a link.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from rankwise.errors import InputError
from rankwise.files import read_json, write_json
from rankwise.machine.fft_rates import FftRates
from rankwise.machine.link import Curve, Interval, Parameter, entries, finite, interval, whole
from rankwise.machine.packing import Packing
from rankwise.machine.shared import Resource, Shared
from rankwise.machine.trust import Trust
from rankwise.progress import tell_at_end
from rankwise.reading import read_through

SCHEMA = 2
LINK_CLASSES = ("same-core", "shared-cache", "same-socket", "other-socket", "other-node")
OTHER_NODE = "other-node"
_R_N = "injection_bytes_per_s"
UNKNOWN = "unknown"
VARIANTS = ("ssend", "exchange", "exchange-gap")
LACKING = {  # what predictions assume where a resource is not known
    "card": "a node sends no faster than one of its messages, as nothing is known of its card: run 'rankwise measure'",
    "memory": "the memory of a node bounds nothing, as nothing is known of it: run 'rankwise measure'",
}
_CHECKSUMS, _PARTS = "checksums", ("shared", "fft3d", "work", "packing")
_MEND = "write a new one with 'rankwise measure' or 'rankwise profile import'"


@dataclass(frozen=True)
class Choice:
    """The model that predictions use, and why, in words."""

    model: str
    reason: str


@dataclass(frozen=True)
class Loaded:
    """Alpha and beta of a plain send while ``pairs`` other pairs of ranks keep the link busy, and how many times those of
    the free link they are."""

    alpha_s: float
    beta_s_per_byte: float
    alpha_ci_s: Interval | None
    beta_ci_s_per_byte: Interval | None
    pairs: int
    alpha_ratio: float
    beta_ratio: float | None  # None where the free link's beta is 0
    alpha_ratio_ci: Interval | None = None
    beta_ratio_ci: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Loaded:
        def figure(key: str) -> float:
            return finite(record[key], key)

        def spread(key: str) -> Interval | None:
            return interval(record.get(key), key)

        return Loaded(
            figure("alpha_s"),
            figure("beta_s_per_byte"),
            spread("alpha_ci_s"),
            spread("beta_ci_s_per_byte"),
            whole(record["pairs"], "pairs"),
            figure("alpha_ratio"),
            None if record["beta_ratio"] is None else figure("beta_ratio"),
            spread("alpha_ratio_ci"),
            spread("beta_ratio_ci"),
        )


@dataclass(frozen=True)
class Spread:
    """How much a plain send's times differ, as coefficients of variation: those of the launches' medians (None: a single
    launch), and, robustly, those of samples within a launch; the median over sizes. ``between_sessions`` is that of the
    machine's sessions, earlier ones included (None: fewer than three)."""

    between_launches: float | None
    within_launches: float
    between_sessions: float | None = None

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Spread:
        def figure(key: str) -> float | None:
            return None if record.get(key) is None else finite(record[key], key)

        return Spread(
            figure("between_launches"), finite(record["within_launches"], "within_launches"), figure("between_sessions")
        )


@dataclass(frozen=True)
class Link:
    """One link class: the curve of a plain send, those of other ways of sending by name, why this model was chosen.

    ``parameters`` are what was measured directly rather than fitted (LogGP's o, g and l, limits of the protocol); ``loaded``
    is the link while others use it.
    ``reference_loop_s`` is the time of a fixed piece of work beside the samples: times divided by it can be compared
    between hours in which the processor was faster or slower. None where none was timed.
    """

    send: Curve
    variants: Mapping[str, Curve] = field(default_factory=dict)
    choice: Choice | None = None
    reference_loop_s: float | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    loaded: Loaded | None = None
    spread: Spread | None = None
    # What steps take as exchanges meet them (engines/ingredients.py): by way of sending and kind of step, [bytes, seconds].
    steps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def together(self) -> dict[str, Curve]:
        """The ways of sending that models are fitted to together, plain sends first."""
        return {"send": self.send, **{way: self.variants[way] for way in VARIANTS if way in self.variants}}

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

    def to_dict(self) -> dict[str, Any]:
        loop_s = self.reference_loop_s
        return {
            **self.send.to_dict(),
            "reference_loop_s": loop_s,
            "alpha_loops": None if loop_s is None else self.send.alpha_s / loop_s,
            "beta_loops_per_byte": None if loop_s is None else self.send.beta_s_per_byte / loop_s,
            "reason": None if self.choice is None else self.choice.reason,
            "variants": {name: curve.to_dict() for name, curve in self.variants.items()},
            "parameters": {name: parameter.to_dict() for name, parameter in self.parameters.items()},
            "loaded": None if self.loaded is None else self.loaded.to_dict(),
            "spread": UNKNOWN if self.spread is None else asdict(self.spread),
            **({"steps": self.steps} if self.steps else {}),
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any]) -> Link:
        variants = record.get("variants", {})
        send, reason, loop_s = Curve.from_dict(record), record.get("reason"), record.get("reference_loop_s")
        if loop_s is not None and finite(loop_s, "reference_loop_s") <= 0:
            raise ValueError(f"reference_loop_s {loop_s} is not positive")
        return Link(
            send,
            {str(name): Curve.from_dict(curve) for name, curve in variants.items()},
            None if reason is None else Choice(send.model, str(reason)),
            loop_s,
            {str(name): Parameter.from_dict(value, str(name)) for name, value in record.get("parameters", {}).items()},
            None if record.get("loaded") is None else Loaded.from_dict(record["loaded"]),
            None if record.get("spread") in (None, UNKNOWN) else Spread.from_dict(record["spread"]),
            dict(record.get("steps", {})),
        )


@dataclass(frozen=True)
class Profile:
    """A machine's profile; ``source`` says where the figures come from (a samples file, an imported table)."""

    machine: Mapping[str, Any]
    links: Mapping[str, Link]
    created: str
    source: Mapping[str, Any]
    warnings: tuple[str, ...] = ()
    fft3d: FftRates | None = None
    shared: Shared = Shared()
    work: Mapping[str, Any] = field(default_factory=dict)  # with steps: copies and additions of fresh blocks, [bytes, seconds]
    trust: Trust = Trust()
    packing: Packing | None = None

    @property
    def lacks(self) -> tuple[str, ...]:
        """The kinds of resources that messages over these links share and of which nothing is known."""
        needed = {"card": OTHER_NODE in self.links, "memory": any(name != OTHER_NODE for name in self.links)}
        return tuple(kind for kind, used in needed.items() if used and getattr(self.shared, kind) is None)

    def notes(self) -> list[str]:
        """Say what is not known, or hardly, of what ranks share, and what is assumed in its place."""
        return [*(LACKING[kind] for kind in self.lacks), *self.shared.notes()]

    def lost_in(self, other: Profile) -> list[str]:
        """Return what this profile has and another one lacks: links, ways of sending, parameters, models and rates."""
        lost = [what for what in ("fft3d", "packing") if getattr(self, what) is not None and getattr(other, what) is None]
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

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "created": self.created,
            "source": dict(self.source),
            "machine": dict(self.machine),
            "warnings": list(self.warnings),
            "trust": self.trust.to_dict(),
            "shared": self.shared.to_dict(),
            "links": {name: link.to_dict() for name, link in self.links.items()},
            **({} if self.fft3d is None else {"fft3d": self.fft3d.to_dict()}),
            **({"work": self.work} if self.work else {}),
            **({} if self.packing is None else {"packing": self.packing.to_dict()}),
        }

    def save(self, path: Path) -> None:
        """Write the profile as a whole file, with the checksums of its figures."""
        record = self.to_dict()
        write_json(path, {**record, _CHECKSUMS: _checksums(record)})

    @staticmethod
    def from_dict(record: Any, where: str) -> Profile:
        """Build a profile from its JSON value; ``where`` names it in the InputError of a bad one."""
        if not isinstance(record, dict):
            raise InputError(f"profile {where} is not a JSON object: {_MEND}")
        schema = record.get("schema")
        if not isinstance(schema, int) or schema < 1:
            raise InputError(f"profile {where} names no schema: {_MEND}")
        if schema > SCHEMA:
            raise InputError(
                f"profile {where} has schema {schema}, newer than this program's {SCHEMA}: update rankwise to read it"
            )
        profile = read_through(lambda trace: _profile_of(trace.of(record), schema), f"profile {where}", _MEND)
        _require_checksums(record, where)  # last: what cannot be is told by its name
        return profile

    @staticmethod
    def load(path: Path) -> Profile:
        """Read a profile. Raises InputError when it is missing, half-written, newer, or holds impossible figures."""
        return Profile.from_dict(read_json(path, "profile", _MEND), str(path))


def _profile_of(record: Mapping[str, Any], schema: int) -> Profile:
    if not record["links"]:
        raise ValueError("links: it has no link class")
    links: dict[str, Link] = {}
    for name, link in entries(record, "links").items():
        if name not in LINK_CLASSES:
            raise ValueError(f"'{name}' is not a link class ({', '.join(LINK_CLASSES)})")
        try:
            links[name] = Link.from_dict(link)
        except ValueError as error:
            raise ValueError(f"link {name}: {error}") from None
    shared = Shared.from_dict(record.get("shared", {}))
    if schema == 1:
        links, shared = _from_schema_1(links)
    return Profile(
        machine=dict(record["machine"]),
        links=links,
        created=str(record["created"]),
        source=dict(record["source"]),
        warnings=tuple(str(warning) for warning in record.get("warnings", [])),
        fft3d=None if (rates := record.get("fft3d")) is None else FftRates.from_dict(rates),
        shared=shared,
        work=dict(record.get("work", {})),
        trust=Trust.from_dict(record.get("trust")),
        packing=None if (packing := record.get("packing")) is None else Packing.from_dict(packing),
    )


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
            f"{_MEND}, or remove '{_CHECKSUMS}' from it where the change was meant"
        )


def open_profile(path: Path) -> Profile:
    """Read a profile for a verb, and have said on stderr, once, how far its
    figures can be trusted. Raises InputError like load."""
    profile = Profile.load(path)
    tell_at_end(f"profile {path}: {profile.trust.line()}")
    return profile


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
