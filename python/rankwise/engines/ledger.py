"""The ledger: what was predicted and what it turned out to be, kept when RANKWISE_LEDGER names a file; off otherwise.

JSON Lines, only ever appended to. A ``row`` is one answer of an engine (predict, simulate), a ``pair`` a prediction with what
was measured (validate). Rows of the model are paired later with simulated rows of the same machine and case. Machines are told
by their processor and cores, not by host names, unless RANKWISE_LEDGER_HOSTS is set.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rankwise.errors import InputError, unreadable
from rankwise.files import append_json_lines, load_json, plain
from rankwise.machine.profile import Profile
from rankwise.progress import tell
from rankwise.records import Record, key, record
from rankwise.workloads.base import Row
from rankwise.workloads.comparison import Comparison

FILE, HOSTS = "RANKWISE_LEDGER", "RANKWISE_LEDGER_HOSTS"
BY = ("algorithm", "mode", "size", "machine")
SAME = ("profile", "ranks_per_node", "placement", "loaded")  # in which a prediction and a simulation of it agree
_TIMES = ("time_s", "predicted_s", "measured_s")
_ENDS = ("time_lo_s", "time_hi_s", "low_s", "high_s")
_WAY = ("algorithm", "mode", "replication", "team_boxes")
_KEYS = {"algorithm": "algorithm", "mode": "mode", "size": "message_bytes"}


@dataclass(frozen=True)
class Pair:
    """A prediction and what it was held against, in seconds; ``low_s`` and ``high_s`` None: it had no interval."""

    machine: str
    engine: str
    against: str
    workload: str
    case: Mapping[str, Any]
    predicted_s: float
    low_s: float | None
    high_s: float | None
    measured_s: float

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1

    @property
    def inside(self) -> bool | None:
        if self.low_s is None or self.high_s is None:
            return None
        return self.low_s <= self.measured_s <= self.high_s

    def key(self, by: str) -> str:
        return self.machine if by == "machine" else str(self.case.get(_KEYS[by]) or self.workload or "–")

    @property
    def question(self) -> tuple[Any, ...]:
        """All but the way: candidates of one question differ in that alone."""
        rest = {key: value for key, value in self.case.items() if key not in _WAY}
        return self.machine, self.engine, self.against, self.workload, json.dumps(rest, sort_keys=True)

    @property
    def way(self) -> str:
        return json.dumps([self.case.get(key) for key in _WAY])


@dataclass(frozen=True)
class Where:
    """What a case does not say of itself, but its time depends on.

    ``profile``: what is known of the machine; ``ways``: what an engine was told besides (a network, a link model).
    """

    profile: Profile | None
    ranks_per_node: int | None = None
    placement: str = "blocked"
    loaded: bool = False
    ways: str = ""

    def to_dict(self) -> dict[str, Any]:
        figures = None if self.profile is None else _digest(json.dumps(self.profile.to_dict(), sort_keys=True, default=str))
        named = Path(self.placement)
        placement = _digest(named.read_bytes().decode(errors="replace")) if named.is_file() else self.placement
        return {"profile": figures, "ranks_per_node": self.ranks_per_node, "placement": placement, "loaded": self.loaded,
                "as": self.ways}  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@record
class Held(Record):
    """How predictions of one group held: median absolute error, share inside the interval, mean regret over questions."""

    by: str = key("what is grouped by: algorithm, mode, size or machine")
    group: str = key("what is alike: all, or one algorithm, mode, size or machine")
    predictions: int = key("how many predictions")
    median_error: float = key("median size of predicted by measured minus 1")
    inside: float | None = key("share of measurements within the predicted interval; null: none had one")
    with_interval: int = key("how many had an interval")
    regret: float | None = key(
        "mean over questions: what the way that was predicted to be fastest loses; null: there was nothing to choose"
    )
    questions: int = key("how many questions")


def keep_rows(verb: str, machine: str, rows: Iterable[Row], where: Where) -> None:
    """Keep answers of an engine, where a ledger is wanted; where it cannot be written that is told, and the answers hold."""
    if _file() is None:
        return
    told = where.to_dict()
    _append(
        {"record": "row", "verb": verb, "machine": machine, "engine": row.engine, "workload": row.case.workload,
         "case": row.case.keys(), **told, "time_s": row.time_s, "time_lo_s": row.time_lo_s, "time_hi_s": row.time_hi_s}
        for row in rows
    )  # fmt: skip


def keep_comparisons(machine: str, comparisons: Iterable[Comparison]) -> None:
    """Keep predictions with what was measured."""
    _append_pairs(
        Pair(machine, c.predicted.engine, c.measured.engine, c.case.workload, c.case.keys(), c.predicted.time_s,
             c.predicted.time_lo_s, c.predicted.time_hi_s, c.measured.time_s)
        for c in comparisons
    )  # fmt: skip


def keep_trials(machine: str, engine: str, trials: Iterable[Any]) -> None:
    """Keep all candidates of choices that were tried (decide/regret.py)."""
    _append_pairs(
        Pair(machine, "model", engine, "exchange", one.case.keys(), one.time_s, one.time_lo_s, one.time_hi_s,
             median(trial.times_s[one.case]))
        for trial in trials
        for one in trial.choice.candidates
    )  # fmt: skip


def machine_of(profile: Profile) -> str:
    """Return how the ledger calls a profile's machine."""
    about = profile.machine
    name = f"{about.get('cpu_model') or 'unknown processor'}, {about.get('cores') or '?'} cores"
    if os.environ.get(HOSTS):
        name += f", {about.get('hostname') or 'unknown host'}"
    return name


def read(path: Path) -> tuple[list[Pair], list[int]]:
    """Return all pairs of a ledger, of validations and of rows that meet, and lines that are no records. Raises InputError."""
    pairs: list[Pair] = []
    rows: dict[bool, dict[str, dict[str, Mapping[str, Any]]]] = {True: {}, False: {}}
    records, damaged = _records(path)
    for line in records:
        if line["record"] == "pair":
            pairs.append(Pair(**{one.name: line.get(one.name, "") for one in fields(Pair)}))
        elif line["record"] == "row":
            at = json.dumps([line[key] for key in ("machine", "workload", "case", *SAME)], sort_keys=True)
            rows[line["verb"] == "simulate"].setdefault(at, {})[line["as"]] = line  # asked again: the last holds
    for at, predicted in rows[False].items():
        for row in predicted.values():
            for way, other in rows[True].get(at, {}).items():
                engine, against = f"{row['engine']} {row['as']}".strip(), f"{other['engine']} {way}".strip()
                pairs.append(
                    Pair(row["machine"], engine, against, row["workload"], row["case"], row["time_s"], row["time_lo_s"],
                         row["time_hi_s"], other["time_s"])
                )  # fmt: skip
    return pairs, damaged


def held(pairs: Sequence[Pair], by: str) -> list[Held]:
    """Return how predictions held for each algorithm, mode, size or machine, and of all together first."""
    groups: dict[str, list[Pair]] = {"all": list(pairs)}
    for pair in pairs:
        groups.setdefault(pair.key(by), []).append(pair)
    regrets = _regrets(pairs)
    found = []
    for name, group in groups.items():
        inside = [pair.inside for pair in group if pair.inside is not None]
        lost = [regrets[id(pair)] for pair in group if id(pair) in regrets]
        found.append(
            Held(by, name, len(group), median(abs(pair.error) for pair in group), fmean(inside) if inside else None,
                len(inside),
                 fmean(lost) if lost else None, len(lost))
        )  # fmt: skip
    return [found[0], *sorted(found[1:], key=lambda one: -one.predictions)]


def _regrets(pairs: Sequence[Pair]) -> dict[int, float]:
    """Of each question with several ways: what the way that was predicted to be fastest loses, by a pair of it.

    What was asked several times counts once, with medians: a way is no loss against another minute of itself.
    """
    questions: dict[tuple[Any, ...], dict[str, list[Pair]]] = {}
    for pair in pairs:
        questions.setdefault(pair.question, {}).setdefault(pair.way, []).append(pair)
    found = {}
    for ways in questions.values():
        if len(ways) > 1:
            chosen = min(ways.values(), key=lambda ones: median(one.predicted_s for one in ones))
            measured = [median(one.measured_s for one in ones) for ones in ways.values()]
            found[id(chosen[0])] = median(one.measured_s for one in chosen) / min(measured) - 1
    return found


def _file() -> Path | None:
    name = os.environ.get(FILE, "")
    return Path(name) if name else None


def _append_pairs(pairs: Iterable[Pair]) -> None:
    if _file() is not None:
        _append({"record": "pair", "verb": "validate", **vars(pair)} for pair in pairs)


def _append(records: Iterable[Mapping[str, Any]]) -> None:
    path = _file()
    created = datetime.now(UTC).isoformat(timespec="seconds")
    # What takes no time (one rank) has no error; an end that is no number is none.
    values = [
        {"schema": 1, "created": created, **record, **{end: None for end in _ENDS if not math.isfinite(record.get(end) or 0)}}
        for record in records
        if all(0 < record.get(key, 1) < math.inf for key in _TIMES)
    ]
    if path is None or not values:
        return
    try:
        append_json_lines(path, values)
    except (OSError, InputError) as error:
        why = getattr(error, "strerror", error)
        tell(f"warning: {FILE} names {path}, which cannot be written ({why}): name a file, or unset it")


def _records(path: Path) -> tuple[list[Mapping[str, Any]], list[int]]:
    """Return the records of a ledger and the lines that are none: a ledger outlives a line that was cut off."""
    try:
        text = plain(path).read_bytes().decode(errors="replace")
    except OSError as error:
        raise InputError(f"ledger {path} {unreadable(error)}: {FILE}=FILE makes one") from None
    found: list[Mapping[str, Any]] = []
    damaged: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            record = _record(line)
            damaged += [number] if record is None else []
            found += [] if record is None else [record]
    if damaged and not found:
        raise InputError(f"{path} is no ledger: line {damaged[0]} is no record of one; {FILE}=FILE makes one")
    return found, damaged


def _record(line: str) -> Mapping[str, Any] | None:
    needed = {"row": ("machine", "verb", "engine", "workload", "case", "time_s", "time_lo_s", "time_hi_s", "as", *SAME),
              "pair": ("machine", "engine", "against", "case", "predicted_s", "low_s", "high_s", "measured_s")}  # fmt: skip
    try:
        record = load_json(line)
        known = needed[record["record"]]
    except (ValueError, TypeError, KeyError):
        return None
    words = [record.get(key) for key in ("machine", "engine", "against", "verb", "workload", "as") if key in {*known, *record}]
    times = [record.get(key) for key in _TIMES if key in known]
    ends = [record.get(key) for key in _ENDS if key in known]
    whole = all(key in record for key in known) and isinstance(record["case"], dict) and all(isinstance(w, str) for w in words)
    whole = whole and all(_is_figure(time) and time > 1e-100 for time in times)
    return record if whole and all(end is None or _is_figure(end) for end in ends) else None


def _is_figure(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < 1e100  # type: ignore[arg-type]
