"""Where the ranks of a program that runs are, and for whom they wait: from what they leave while they run.

Twice a second a thread of each rank notes the call of MPI that it has been in for half a second, and whom that waits for
(src/observe/live.c). Ranks are in a deadlock where each waits for another of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankwise.errors import InputError
from rankwise.observe.call_sites import merged_sites, named, numbered_site, site_text
from rankwise.observe.header import parts_of
from rankwise.observe.parts import ABORTED, FINALIZED, Part, ranges, world_of
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record
from rankwise.units import format_count, format_time

_TO_SEND, _FOR_MESSAGE, _FOR_ALL = 1, 2, 3  # as in src/observe/store.h
_ANY, _OF_COMM = -1, -2


@record
class LiveRank(JsonRecord):
    """A rank of a program that runs."""

    rank: int = key("rank in MPI_COMM_WORLD")
    state: str = key("waits: in a call of MPI for at least half a second; runs; ended: has called MPI_Finalize; not started")
    call: str | None = key("call that it waits in; null: none", default=None)
    function: str | None = key("function of the program that calls it; null: unknown", default=None)
    file: str | None = key("source file of the call; null: unknown", default=None)
    line: int | None = key("line of the call; null: unknown", default=None)
    seconds: float = key("how long it has been in that call", default=0.0)
    waits_for: tuple[int, ...] = key("ranks that it waits for; empty: unknown, any, or none", default=())
    of_any: bool = key("whether one of these ranks is enough", default=False)
    text: str = ""
    whom: str = ""


@record
class Hang(JsonRecord):
    """Ranks that wait for each other, or for one that has ended, for ever."""

    ranks: tuple[int, ...] = key("ranks that wait for each other")
    why: str = key("how, in a sentence")


def live_ranks(path: Path) -> tuple[list[LiveRank], float]:
    """Return the ranks of the program whose record is going to be ``path``, and how long it has run. Raises InputError."""
    if not (parts := world_of(parts_of(path), [])):
        raise InputError(f"no program runs whose record is {path}: name the file that 'rankwise observe -o' was given")
    return _ranks(parts)


def _ranks(parts: Sequence[Part]) -> tuple[list[LiveRank], float]:
    names = parts[0].names
    sites, modules, of_number, _ = merged_sites({part.rank: (part.sites, part.modules, 1.0) for part in parts}, names)
    header: dict[str, Any] = {"sites": sites, "modules": modules}
    named(header, limit_s=5.0)
    members = _members(parts)
    known = {part.rank: _rank_of(part, header, of_number[part.rank], members) for part in parts}
    ranks = int(parts[0].page["ranks"])
    found = [known.get(rank) or LiveRank(rank, "not started") for rank in range(ranks)]
    ran_s = max((_seconds(part, int(part.page["begun"])) for part in parts), default=0.0)
    return [_with_missing(one, found) for one in found], ran_s


def left_waiting(parts: Sequence[Part]) -> list[str]:
    """Return as a note where ranks waited in MPI that were ended in it: those of a deadlock, or all."""
    ranks, _ = _ranks(parts)
    waiting = [one for one in ranks if one.state == "waits"]
    if not waiting:
        return []
    aborted = any(int(part.page["state"]) == ABORTED for part in parts)  # that others wait for such a rank is no deadlock
    hang = None if aborted else hang_of(ranks)
    if hang is None:
        whole = f"half a second before the end, {len(waiting)} of {format_count(len(ranks), 'rank')} waited in MPI"
    else:
        whole = f"deadlock: {hang.why}"
    longest = max((one for one in waiting if hang is None or one.rank in hang.ranks), key=lambda one: one.seconds)
    where = ", ".join(word for word in (longest.call, longest.text, longest.whom) if word)
    return [f"{whole}; rank {longest.rank} for {format_time(longest.seconds)} in {where}"]


def _seconds(part: Part, since: int) -> float:
    """Return how long ago a tick was when the rank last looked."""
    now = part.page["live"]["now"] if int(part.page["live"]["since"]) else part.page["last"]
    first = part.page["first"]
    ticks, ns = int(now["ticks"]) - int(first["ticks"]), int(now["ns"]) - int(first["ns"])
    return max(0.0, (int(now["ticks"]) - since) * 1e-9 * ns / ticks) if ticks > 0 else 0.0


def _members(parts: Sequence[Part]) -> dict[tuple[int, int], dict[int, int]]:
    """Return of each communicator, named by its id and size, the world's number of its ranks."""
    found: dict[tuple[int, int], dict[int, int]] = {}
    for part in parts:
        for line in part.comms:
            if not line["inter"] and line["rank"] >= 0:
                found.setdefault((int(line["id"]), int(line["size"])), {})[int(line["rank"])] = part.rank
    return found


def _rank_of(
    part: Part, header: Mapping[str, Any], numbers: Any, members: Mapping[tuple[int, int], dict[int, int]]
) -> LiveRank:
    live = part.page["live"]
    if int(part.page["state"]) in (FINALIZED, ABORTED):
        return LiveRank(part.rank, "ended")
    if not int(live["since"]):
        return LiveRank(part.rank, "runs")
    number = int(numbers[live["site"]])
    line = part.sites[live["site"]]
    call = part.names[int(line["call"])]
    site = numbered_site(header, number) if number < len(header["sites"]) else {"function": None, "file": None, "line": None}
    ranks, any_is_enough, words = set[int](), bool(live["waits_for_any"]), list[str]()
    for partner in live["partner"][: min(int(live["partners"]), len(live["partner"]))]:
        comm = part.comms[partner["comm"]] if 0 <= partner["comm"] < len(part.comms) else None
        of = members.get((int(comm["id"]), int(comm["size"])), {}) if comm is not None else {}
        if partner["kind"] == _FOR_ALL:
            ranks |= {rank for rank in of.values() if rank != part.rank}
            continue
        world = int(partner["world"])
        world = of.get(int(partner["rank"]), _ANY) if world == _OF_COMM else world
        tag = f" tag {partner['tag']}" if partner["tag"] >= 0 else ""
        unknown = "any rank" if partner["world"] == _ANY else f"rank {partner['rank']} of a communicator"
        whom = f"rank {world}" if world >= 0 else unknown
        words.append(f"{'to' if partner['kind'] == _TO_SEND else 'from'} {whom}{tag}")
        ranks |= {world} if world >= 0 else set()
    text = site_text(site) if number < len(header["sites"]) else ""
    return LiveRank(
        part.rank, "waits", call, site["function"], site["file"], site["line"], _seconds(part, int(live["since"])),
        tuple(sorted(ranks)), any_is_enough, text, ", ".join(dict.fromkeys(words)),
    )  # fmt: skip


def _with_missing(one: LiveRank, all_ranks: Sequence[LiveRank]) -> LiveRank:
    """Return a rank in a collective with those ranks alone as waited for that are not in the same one."""
    if one.whom or one.state != "waits" or not one.waits_for:
        return one
    lacking = tuple(rank for rank in one.waits_for if all_ranks[rank].call != one.call)
    return replace(
        one, waits_for=lacking, whom=f"for rank{'s' * (len(lacking) > 1)} {ranges(lacking)}" if lacking else "for nobody"
    )


def hang_of(ranks: Iterable[LiveRank]) -> Hang | None:
    """Return the ranks that wait for each other, or for one that has ended; None where nobody waits for ever."""
    of = {one.rank: one for one in ranks}
    ended = {rank for rank, one in of.items() if one.state == "ended"}
    stuck = {rank for rank, one in of.items() if one.state == "waits" and one.waits_for}
    while True:
        never = stuck | ended
        kept = {
            rank for rank in stuck
            if (set(of[rank].waits_for) <= never if of[rank].of_any else not never.isdisjoint(of[rank].waits_for))
        }  # fmt: skip
        if kept == stuck:
            break
        stuck = kept
    if not stuck:
        return None
    gone = sorted(ended & {rank for one in stuck for rank in of[one].waits_for})
    cycle = _cycle(of, stuck)
    if cycle:
        calls = list(dict.fromkeys(of[rank].call for rank in cycle))
        collectives = len(calls) > 1 and all(of[rank].whom.startswith("for ") for rank in cycle)
        how = f" in different collectives, {' and '.join(map(str, calls))}" if collectives else ""
        who = f"ranks {ranges(cycle)} wait for each other" if len(cycle) > 1 else f"rank {cycle[0]} waits for itself"
        return Hang(tuple(cycle), f"{who}{how}")
    plural = "s" * (len(stuck) > 1)
    waits = "wait" if plural else "waits"
    return Hang(tuple(sorted(stuck)), f"rank{plural} {ranges(sorted(stuck))} {waits} for rank {ranges(gone)}, which has ended")


def _cycle(of: Mapping[int, LiveRank], stuck: set[int]) -> list[int]:
    """Return the ranks of a circle of waiting; none where all wait for ranks that have ended."""
    for start in sorted(stuck):
        path, rank = [start], start
        while following := [other for other in of[rank].waits_for if other in stuck]:
            rank = following[0]
            if rank in path:
                return sorted(path[path.index(rank) :])
            path.append(rank)
    return []
