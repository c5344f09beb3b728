"""The ledger: what was predicted and what it turned out to be, kept when RANKWISE_LEDGER names a file; off otherwise.

JSON Lines, only ever appended to. A ``row`` is one answer of an engine (predict, simulate), a ``pair`` a prediction with what
was measured (validate). Rows of the model are paired later with simulated rows of the same machine and case. Machines are told
by their processor and cores, not by host names, unless RANKWISE_LEDGER_HOSTS is set.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rankwise.errors import InputError, unreadable
from rankwise.files import plain
from rankwise.machine.profile import Profile
from rankwise.progress import tell
from rankwise.workloads.base import Row
from rankwise.workloads.comparison import Comparison

FILE, HOSTS = "RANKWISE_LEDGER", "RANKWISE_LEDGER_HOSTS"
BY = ("algorithm", "mode", "size", "machine")
_WAY = ("algorithm", "mode", "replication", "team_boxes")
_KEYS = {"algorithm": "algorithm", "mode": "mode", "size": "message_bytes"}


@dataclass(frozen=True)
class Pair:
    """A prediction and what it was held against, in seconds; ``low_s`` and ``high_s`` None: it had no interval."""

    machine: str
    engine: str
    against: str
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
        return self.machine if by == "machine" else str(self.case.get(_KEYS[by], "–"))

    @property
    def question(self) -> tuple[Any, ...]:
        """All but the way: candidates of one question differ in that alone."""
        rest = {key: value for key, value in self.case.items() if key not in _WAY}
        return self.machine, self.engine, self.against, json.dumps(rest, sort_keys=True)


@dataclass(frozen=True)
class Held:
    """How predictions of one group held: median absolute error, share inside the interval, mean regret over questions."""

    by: str
    group: str
    predictions: int
    median_error: float
    inside: float | None
    with_interval: int
    regret: float | None
    questions: int

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def keep_rows(verb: str, machine: str, rows: Iterable[Row]) -> None:
    """Keep answers of an engine, where a ledger is wanted; where it cannot be written that is told, and the answers hold."""
    if _file() is None:
        return
    _append(
        {"record": "row", "verb": verb, "machine": machine, "engine": row.engine, "workload": row.case.workload,
         "case": row.case.keys(), "time_s": row.time_s, "time_lo_s": row.time_lo_s, "time_hi_s": row.time_hi_s}
        for row in rows
    )  # fmt: skip


def keep_comparisons(machine: str, comparisons: Iterable[Comparison]) -> None:
    """Keep predictions with what was measured."""
    if _file() is None:
        return
    _append(
        _pair(machine, c.predicted.engine, c.measured.engine, c.case.workload, c.case.keys(),
              (c.predicted.time_s, c.predicted.time_lo_s, c.predicted.time_hi_s), c.measured.time_s)
        for c in comparisons
    )  # fmt: skip


def keep_trials(machine: str, engine: str, trials: Iterable[Any]) -> None:
    """Keep all candidates of choices that were tried (decide/regret.py)."""
    if _file() is None:
        return
    _append(
        _pair(machine, "model", engine, "exchange", one.case.keys(), (one.time_s, one.time_lo_s, one.time_hi_s),
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


def read(path: Path) -> list[Pair]:
    """Return all pairs of a ledger, those of validations and those of rows that meet. Raises InputError."""
    pairs: list[Pair] = []
    predicted: dict[str, Mapping[str, Any]] = {}
    simulated: dict[str, Mapping[str, Any]] = {}
    for record in _records(path):
        if record["record"] == "pair":
            pairs.append(
                Pair(record["machine"], record["engine"], record["against"], record["case"], record["predicted_s"],
                     record["low_s"], record["high_s"], record["measured_s"])
            )  # fmt: skip
        elif record["record"] == "row":
            at = json.dumps([record["machine"], record["workload"], record["case"]], sort_keys=True)
            (simulated if record["verb"] == "simulate" else predicted)[at] = record
    for at, row in predicted.items():
        if (other := simulated.get(at)) is not None:
            pairs.append(
                Pair(row["machine"], row["engine"], other["engine"], row["case"], row["time_s"], row["time_lo_s"],
                    row["time_hi_s"],
                     other["time_s"])
            )  # fmt: skip
    return pairs


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
    """Of each question with several ways: what the way that was predicted to be fastest loses, by that pair."""
    questions: dict[tuple[Any, ...], list[Pair]] = {}
    for pair in pairs:
        questions.setdefault(pair.question, []).append(pair)
    found = {}
    for group in questions.values():
        if len({json.dumps({key: pair.case.get(key) for key in _WAY}) for pair in group}) > 1:
            chosen = min(group, key=lambda pair: pair.predicted_s)
            found[id(chosen)] = chosen.measured_s / min(pair.measured_s for pair in group) - 1
    return found


def _pair(
    machine: str, engine: str, against: str, workload: str, case: Mapping[str, Any],
    predicted: tuple[float, float | None, float | None], measured_s: float,
) -> dict[str, Any]:  # fmt: skip
    return {"record": "pair", "verb": "validate", "machine": machine, "engine": engine, "against": against,
        "workload": workload,
            "case": case, "predicted_s": predicted[0], "low_s": predicted[1], "high_s": predicted[2],
            "measured_s": measured_s}  # fmt: skip


def _file() -> Path | None:
    name = os.environ.get(FILE, "")
    return Path(name) if name else None


def _append(records: Iterable[Mapping[str, Any]]) -> None:
    path = _file()
    created = datetime.now(UTC).isoformat(timespec="seconds")
    text = "".join(json.dumps({"schema": 1, "created": created, **record}) + "\n" for record in records)
    if path is None or not text:
        return
    try:
        with plain(path).open("ab", buffering=0) as stream:  # one write of whole lines: others append, too
            stream.write(text.encode())
    except OSError as error:
        tell(f"warning: {FILE} names {path}, which cannot be written ({error.strerror}): name a file, or unset it")


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        lines = plain(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"ledger {path} {unreadable(error)}: {FILE}=FILE makes one") from None
    needed = {"row": ("machine", "verb", "engine", "workload", "case", "time_s", "time_lo_s", "time_hi_s"),
              "pair": ("machine", "engine", "against", "case", "predicted_s", "low_s", "high_s", "measured_s")}  # fmt: skip
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            known = needed.get(record["record"], ())
            whole = all(key in record for key in known) and isinstance(record.get("case", {}), dict)
            times = [record[key] for key in ("time_s", "predicted_s", "measured_s") if key in known]
            whole = whole and all(isinstance(time, int | float) and time > 0 for time in times)
        except (ValueError, TypeError, KeyError):
            whole = False
        if not whole:
            raise InputError(f"ledger {path}, line {number} is no record of a ledger: mend or remove that line")
        yield record
