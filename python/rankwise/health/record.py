"""One session of the history: its launches, their figures, and what identifies the machine it is compared with; and the
history: an append-only file of JSON Lines, one a session, and a short one where a level was accepted.

Figures are named after their link class: ``same-socket.latency_s`` (a plain send of 0 B), ``same-socket.exchange_s`` (both
directions at once, 8 KiB), ``same-socket.s_per_byte`` (a plain send of 1 MiB, by its size).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from rankwise.errors import InputError, RankwiseError, unreadable
from rankwise.files import append_json_line, load_json, plain
from rankwise.measure.samples import now
from rankwise.measure.witness import POOR
from rankwise.progress import tell
from rankwise.reading import Trace, read_through
from rankwise.records import Record, computed, key, record
from rankwise.records import key as declared

SCHEMA = 1
Verdict = Literal["same", "slower", "unclear", "unusable"]
VERDICTS: tuple[Verdict, ...] = ("same", "slower", "unclear", "unusable")

LEAST_LAUNCHES = 10  # undisturbed ones, in a session that is judged
_QUARTILE = 0.25
# In a key, what may change while the machine stays the same; and what makes sessions those of one machine, whatever its MPI.
CHANGING = ("kernel_release", "microcode", "governors")
_MACHINE = ("hostname", "cpu_model", "binding", "statistic")
OF_LAUNCHES = "lower quartile of launches"
OF_PROFILE = "profile"


@record
class Launch(Record):
    """One start of the ranks, ``t`` seconds after the session's: the median of each figure, and what else went on."""

    t: float = key("when, seconds since 1970")
    figures: Mapping[str, float] = key("figures by name", above=0)
    foreign_cpus: float = key("hardware threads that other programs kept busy")
    steal_share: float = key("share that the hypervisor took")
    switches_per_s: float = key("involuntary switches")

    @property
    def poor(self) -> bool:
        """Whether the machine was so disturbed that the figures say nothing of it."""
        return any(getattr(self, witness) >= limit for witness, limit in POOR.items())


@record
class Session(Record):
    """A session: when it began, of what machine it is (``key``), its launches, and the value of each figure (a logarithm).

    ``over`` names the figures that were beyond what is usual, confirmed or not. One made of a profile has no launches.
    ``accepted`` is not part of its line: it was slower, and when that was accepted as the baseline (empty: it was not).
    """

    schema = computed("version of this document", int, lambda of: SCHEMA)
    at: str = declared("when, UTC")
    key: Mapping[str, Any] = declared("which sessions are compared with each other")
    span_s: float = declared("from the first launch to the last")
    launches: tuple[Launch, ...] = declared("launches of the ranks")
    value: Mapping[str, float] = declared("logarithms of the figures, by name")
    digest: str = declared("digest of the figures", after="over")
    verdict: Verdict = declared("what was found, in a word", default="unclear")
    over: tuple[str, ...] = declared("figures beyond their limits", default=())
    # One made of a profile that is.
    poor: bool = declared("whether its figures are poor", default=False, omit=True, write=lambda poor: poor or None)
    accepted: str = field(default="", compare=False)

    @staticmethod
    def of(at: str, key: Mapping[str, Any], launches: Sequence[Launch], digest: str) -> Session:
        """Make a session of its launches, not yet judged."""
        span_s = max((launch.t for launch in launches), default=0.0)
        return Session(at, dict(key), span_s, tuple(launches), value_of(launches), digest)

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        """Read a session back. Raises KeyError, ValueError, TypeError or AttributeError where it is none."""
        session = super().from_dict(value, what)
        if session.began.tzinfo is None:
            raise ValueError(f"at '{session.at}' names no time zone")
        return session

    @property
    def identity(self) -> tuple[tuple[str, str], ...]:
        """What two sessions share that may be compared."""
        return (
            *((name, str(value)) for name, value in sorted(self.key.items()) if name not in CHANGING),
            ("digest", self.digest),
        )

    @property
    def machine(self) -> tuple[str, ...]:
        """What sessions of one machine share, whatever MPI and kernels it had."""
        return tuple(str(self.key.get(name)) for name in _MACHINE)

    @property
    def began(self) -> datetime:
        return datetime.fromisoformat(self.at)

    @property
    def disturbed(self) -> str:
        """Say why the figures cannot be used; empty where they can."""
        if not self.launches:
            return "the profile's figures are poor" if self.poor else ""
        good = sum(not launch.poor for launch in self.launches)
        if 2 * good < len(self.launches):
            return f"{len(self.launches) - good} of {len(self.launches)} launches were disturbed ({_most(self.launches)})"
        if good < LEAST_LAUNCHES:
            return f"only {good} launches were undisturbed, {LEAST_LAUNCHES} are needed: give it more --launches"
        return "" if self.value else "it has no figure"

    def judged(self, verdict: Verdict, over: Sequence[str]) -> Session:
        return replace(self, verdict=verdict, over=tuple(over))


def value_of(launches: Sequence[Launch]) -> dict[str, float]:
    """Return the lower quartile over the undisturbed launches (over all, where most are not) of each figure's logarithm.

    The quartile survives bursts that hit less than three quarters of the launches. A figure that less than half of them came
    to is left out.
    """
    good = [launch for launch in launches if not launch.poor]
    counted = good if len(good) >= LEAST_LAUNCHES else launches
    names = dict.fromkeys(name for launch in counted for name in launch.figures)
    logs = {name: [math.log(launch.figures[name]) for launch in counted if name in launch.figures] for name in names}
    return {name: float(np.quantile(of, _QUARTILE)) for name, of in logs.items() if 2 * len(of) >= len(counted)}


def _most(launches: Sequence[Launch]) -> str:
    """Name what disturbed most launches."""
    words = {
        "foreign_cpus": "other programs kept {:.1f} processors busy",
        "steal_share": "the hypervisor took {:.0%} of the processors' time",
        "switches_per_s": "ranks descheduled {:.0f} times a second",
    }
    hit = {name: [value for launch in launches if (value := getattr(launch, name)) >= limit] for name, limit in POOR.items()}
    name = max(hit, key=lambda name: len(hit[name]))
    return words[name].format(float(np.median(hit[name])))


def read(path: Path) -> list[Session]:
    """Return the sessions of a history, the oldest first; none where there is no file yet.

    A line that is broken, or newer than this program, is named on stderr and passed over. Raises InputError for a file that
    cannot be read or has no line of ours at all.
    """
    try:
        lines = plain(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"history {path} {unreadable(error)}: name the right file with --history") from None
    sessions: list[Session] = []
    accepted: dict[str, str] = {}
    broken = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = read_through(partial(_read_line, line), f"{path}, line {number}: no session", "skipped")
            if isinstance(found, Session):
                sessions.append(found)
            else:
                accepted |= found
        except InputError as error:
            broken += 1
            tell(f"rankwise: {error}")
    if broken and not sessions:
        raise InputError(f"{path} holds no session that can be read: is this a history of 'rankwise health'?")
    return sorted((replace(s, accepted=accepted.get(s.at, "")) for s in sessions), key=lambda session: session.began)


def _read_line(line: str, trace: Trace) -> Session | dict[str, str]:
    """Return a session, or the sessions that were accepted, each with the time of that."""
    try:
        found = trace.of(load_json(line))
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None
    if type(found["schema"]) is not int or found["schema"] > SCHEMA:
        raise ValueError(f"schema {found['schema']} is newer than this program's {SCHEMA}")
    if "accept" in found:
        return {str(at): str(found["at"]) for at in found["accept"]}
    return Session.from_dict(found)


def add(path: Path, session: Session) -> None:
    """Append a session that was judged. Raises RankwiseError when that is not possible."""
    _append(path, session.to_dict())


def accept(path: Path, sessions: Sequence[Session]) -> None:
    """Append that these sessions, judged slower, are what is usual from now on. Raises RankwiseError."""
    _append(path, {"schema": SCHEMA, "accept": [session.at for session in sessions], "at": now()})


def to_accept(sessions: Sequence[Session]) -> list[Session]:
    """Return the last unbroken run of sessions beyond the usual of the newest session's machine, if it was judged slower."""
    run: list[Session] = []
    for session in reversed([s for s in sessions if s.identity == sessions[-1].identity and s.verdict != "unusable"]):
        if session.accepted or not session.over:
            break
        run.append(session)
    return run[::-1] if any(session.verdict == "slower" for session in run) else []


def of_machine(sessions: Sequence[Session]) -> list[Session]:
    """Return the sessions of the newest one's machine, whatever MPI it had then."""
    return [session for session in sessions if session.machine == sessions[-1].machine]


def _append(path: Path, record: dict[str, Any]) -> None:
    try:
        append_json_line(path, record)
    except OSError as error:
        raise RankwiseError(
            f"the history {path} cannot be written ({error.strerror}): make room, or name another file"
        ) from None
