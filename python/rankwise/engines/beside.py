"""Machines beside each other: one time of each with its interval, and what can be said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankwise.errors import InputError
from rankwise.machine.description import Description
from rankwise.machine.library import load_machine
from rankwise.units import format_number, format_time


@dataclass(frozen=True)
class MachineTime:
    """The time of one question on one machine, and the ends of its interval, in seconds."""

    machine: str
    time_s: float
    low_s: float
    high_s: float


def load_all(machine: Description, against: str | None) -> list[Description]:
    """Return the machine and those of ``--against NAME,NAME``, each once. Raises InputError."""
    names = [name.strip() for name in (against or "").split(",") if name.strip()]
    if against is not None and not names:
        raise InputError("--against names no machine: give names from 'rankwise machines list', separated by commas")
    others = [load_machine(name) for name in names]
    return list({one.name: one for one in (machine, *others)}.values())


def conclusion(times: Sequence[MachineTime], what: str) -> str:
    """Say which machine is fastest at ``what``, by how much, and which ones its interval cannot be told from."""
    ordered = sorted(times, key=lambda time: time.time_s)
    first = ordered[0]
    if len(ordered) == 1:
        return f"{what} takes {format_time(first.time_s)} on {first.machine}"
    meeting = [time.machine for time in ordered[1:] if time.low_s <= first.high_s]
    last = ordered[-1]
    if format_time(first.time_s) == format_time(last.time_s):
        return f"{what} takes {format_time(first.time_s)} on each of {', '.join(time.machine for time in ordered)}"
    if len(meeting) == len(ordered) - 1:
        return (
            f"{what} takes {format_time(first.time_s)} ({first.machine}) to {format_time(last.time_s)} ({last.machine}); "
            "no machine is faster beyond its interval"
        )
    told = f"{what} is fastest on {first.machine}, {format_time(first.time_s)}"
    if meeting:
        told += f", not clearly different from {', '.join(meeting)}"
    return f"{told}; {last.machine} takes {format_number(last.time_s / first.time_s)} times as long"
