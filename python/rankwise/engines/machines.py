"""The machine that the judge asks, and SimGrid simulates: out of a profile, or of a description, read in one place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise import _core
from rankwise.errors import InputError
from rankwise.machine.description import Description
from rankwise.machine.library import load_machine
from rankwise.machine.profile import LINK_CLASSES, OTHER_NODE, Profile
from rankwise.units import format_number, format_time

_MOST_LANES = 4  # of one message that a card is as fast as, at most, where nothing is known
_HALF_LATENCY = "inside a node a message takes half the latency between nodes: the description says nothing of it"
KEYS_INSIDE = (
    "memory_bandwidth", "latency_inside", "shared_memory_bandwidth", "socket_bandwidth", "device_link_bandwidth",
    "device_latency",
)  # fmt: skip


def machine_of_profile(
    profile: Profile, link_model: str | None = None, loaded: bool = False, shared: Mapping[str, Any] | None = None
) -> _core.Machine:
    """Return what messages cost by a profile; ``shared`` stands for what its ranks
    share. Raises InputError for figures that it lacks."""
    record = profile.to_dict() if shared is None else {**profile.to_dict(), "shared": shared}
    try:
        return _core.Machine.from_profile(json.dumps(record), link_model or "", loaded)
    except ValueError as error:
        raise InputError(str(error)) from None


def machine_of_description(
    machine: Description,
    inside: _core.Machine | None = None,
    figures: Mapping[str, float] | None = None,
    all_links: bool = False,
    domain: int = 1,
) -> tuple[_core.Machine, list[str]]:
    """Return what messages cost on a described machine, with what was assumed.

    Links inside a node are those of ``inside`` (a profile's), or those of the description: between accelerators where ranks
    have them, else by way of the memory. ``figures`` stand for those of the description; ``all_links``: one message takes all
    links of its node. So many nodes of a scale-up ``domain`` count as one, with all their cards and memory. Raises InputError
    where it has no latency or no bandwidth.
    """

    def figure(key: str) -> float | None:
        return figures[key] if figures is not None and key in figures else machine.get(key)

    latency_s = figure("latency")
    if latency_s is None:
        latency_s = machine.need("latency", "a message between nodes").value
    link, count = figure("link_bandwidth"), figure("links")
    together = link * count if link is not None and count is not None else link
    limits = [limit for limit in (together, figure("injection_bandwidth")) if limit is not None]
    card = min(limits) if limits else machine.need("link_bandwidth", "a message between nodes").value
    lane = card if all_links else min(card, link or card)
    memory = figure("memory_bandwidth")
    between = {"send": [(0, latency_s, 1 / lane)]}
    for way, key in (("overhead", "overhead"), ("exchange-gap", "gap"), ("rendezvous", "eager_limit")):
        if (known := figure(key)) is not None:
            between[way] = [(0, known, 0.0)]
    links = {OTHER_NODE: between}
    shared = {"card": {"bytes_per_s": domain * card}}
    if (rate := figure("message_rate")) is not None:
        shared["card"]["messages_per_s"] = domain * rate
    levels = [
        (int(nodes) // domain, nodes * card * share)
        for nodes, share in ((figure("leaf_nodes"), figure("leaf_taper")), (figure("group_nodes"), figure("taper")))
        if nodes is not None and share is not None and nodes > domain
    ]
    if memory is not None:
        shared["memory"] = {"bytes_per_s": domain * memory}
    notes = []
    if inside is None:
        inside_s, copied = figure("latency_inside"), figure("shared_memory_bandwidth")
        if machine.has_device_links():
            link = figure("device_link_bandwidth")
            copied = None if link is None else link * ((machine.get("devices") or 1) if all_links else 1)
            inside_s = figure("device_latency")
        rate = copied if copied is not None else max(lane, (memory or 0) / 8)
        links["same-socket"] = {"send": [(0, latency_s / 2 if inside_s is None else inside_s, 1 / rate)]}
        if inside_s is None:
            notes.append(_HALF_LATENCY)
        if (sockets := figure("socket_bandwidth")) is not None:
            links["other-socket"] = {"send": [(0, links["same-socket"]["send"][0][1], 1 / min(rate, sockets))]}
            shared["sockets"] = {"bytes_per_s": sockets}
    else:
        links |= {name: {"send": inside.lines(name)} for name in LINK_CLASSES if name != OTHER_NODE and inside.has(name)}
        if inside.memory_bytes_per_s is not None:
            shared["memory"] = {"bytes_per_s": inside.memory_bytes_per_s}
    try:
        return _core.Machine(links, shared, levels), notes
    except ValueError as error:
        raise InputError(f"machine {machine.name}: {error}") from None


def with_faster_card(machine: _core.Machine, ranks_per_node: int) -> _core.Machine:
    """Return the machine with as fast a card as may be where nothing is known of it: what some ranks together send."""
    return machine.with_card(min(ranks_per_node, _MOST_LANES) * machine.lane(OTHER_NODE))


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
