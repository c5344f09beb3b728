"""The history of sessions: an append-only file of JSON Lines, one a session, and a short one where a level was accepted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, RankwiseError, unreadable
from rankwise.files import append_json_line, load_json, plain
from rankwise.health.record import SCHEMA, Session
from rankwise.measure.samples import now
from rankwise.progress import tell
from rankwise.reading import Trace, read_through


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
        record = trace.of(load_json(line))
    except json.JSONDecodeError:
        raise ValueError("it is not JSON") from None
    if type(record["schema"]) is not int or record["schema"] > SCHEMA:
        raise ValueError(f"schema {record['schema']} is newer than this program's {SCHEMA}")
    if "accept" in record:
        return {str(at): str(record["at"]) for at in record["accept"]}
    return Session.from_dict(record)


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
