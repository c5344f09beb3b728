"""How far a campaign's figures can be trusted: what its witnesses saw, and the cure of what spoiled them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankwise.machine.profile import OTHER_NODE, Profile
from rankwise.measure.samples import Campaign
from rankwise.measure.witness import POOR, switches_per_s
from rankwise.units import format_size, format_time

Level = Literal["good", "limited", "poor"]

# What is noticed, and what makes figures poor. Ticks of /proc/stat are 10 ms: less than this may be their grain.
_FOREIGN_CPUS = (0.15, POOR["foreign_cpus"])
_STEAL = (0.02, POOR["steal_share"])
_SWITCHES_PER_S = (20.0, POOR["switches_per_s"])  # of each rank; a polling rank that is alone sees a handful
_SPEED_SPREAD = (0.05, 0.25)  # 95 % of cells lie within it around the median
_HALF_WIDTH = (0.05, 0.25)  # of the median row's interval
_MOST_FINDINGS = 2
# A message between nodes that took so long, and so many times what is usual for its size, met a link that was not there: TCP
# sends again what was lost after 0.2 s, then twice as long each time.
_GAP_S, _GAP_TIMES = (0.2, 1.0), 20.0


@dataclass(frozen=True)
class Trust:
    """The verdict: its level, one line, and one line for each thing that spoiled the figures, the gravest first."""

    level: Level
    line: str
    findings: tuple[str, ...]


def judge(campaign: Campaign, profile: Profile) -> Trust:
    """Judge a campaign by its samples and witnesses and the intervals of the profile that was made of it."""
    witnesses = (_others, _steal, _preempted, _speed, _moved, _uncrossed, _interrupted, _load, _impossible_limits)
    found = [finding for witness in witnesses if (finding := witness(campaign)) is not None]
    half_width = _half_width(profile)
    if half_width >= _HALF_WIDTH[0] and not found:
        found.append((half_width / _HALF_WIDTH[1], "the launches differ from each other: give it more --seconds and --launches"))
    found.sort(key=lambda finding: -finding[0])
    level: Level = "good"
    if found:
        level = "poor" if found[0][0] >= 1 or half_width >= _HALF_WIDTH[1] else "limited"
    words = {"good": "nothing disturbed them", "limited": "with care", "poor": "do not build on them"}
    line = f"trust in these figures: {level} ({words[level]}); half of the rows are known to ± {100 * half_width:.1f} % or better"
    return Trust(level, line, tuple(text for _, text in found[:_MOST_FINDINGS]))


# How grave (1 and above is poor) and what to say.
Finding = tuple[float, str]


def _others(campaign: Campaign) -> Finding | None:
    cpus = _mean(campaign, "foreign_cpus")
    waited = _mean(campaign, "pressure_share")
    if cpus < _FOREIGN_CPUS[0]:
        return None
    pressure = f", and tasks waited for one {100 * waited:.0f} % of the time" if waited >= 0.05 else ""
    return (
        cpus / _FOREIGN_CPUS[1],
        f"other programs kept {cpus:.1f} processors busy meanwhile{pressure}: stop what 'ps -eo pcpu,pid,comm "
        "--sort=-pcpu | head -5' names, or take a node of your own",
    )


def _steal(campaign: Campaign) -> Finding | None:
    share = _mean(campaign, "steal_share")
    if share < _STEAL[0]:
        return None
    return (
        share / _STEAL[1],
        f"the hypervisor took {100 * share:.0f} % of the processors' time for others: ask for dedicated cores, or measure "
        "when 'vmstat 1' shows 0 under st",
    )


def _preempted(campaign: Campaign) -> Finding | None:
    """Ranks that lost their processor while they sampled."""
    rate = switches_per_s(campaign.samples)
    if rate < _SWITCHES_PER_S[0]:
        return None
    return (
        rate / _SWITCHES_PER_S[1],
        f"each rank lost its processor {rate:.0f} times a second: leave the ranks' cores to them alone "
        "(fewer programs, a cpuset, or isolcpus)",
    )


def _speed(campaign: Campaign) -> Finding | None:
    """A processor whose own speed changed, by the reference loop beside every cell."""
    loops = np.array(campaign.reference_loops_s())
    if loops.size < 2:
        return None
    low, middle, high = np.quantile(loops, [0.025, 0.5, 0.975])
    spread = float((high - low) / (2 * middle))
    if spread < _SPEED_SPREAD[0]:
        return None
    return (
        spread / _SPEED_SPREAD[1],
        f"the processor's own speed changed by ± {100 * spread:.0f} % (reference loop): fix its clock ('rankwise doctor' "
        "shows how), and compare sessions by alpha_loops and beta_loops_per_byte",
    )


def _moved(campaign: Campaign) -> Finding | None:
    moved = sum(1 for sample in campaign.samples if sample.get("moved_ranks"))
    if not moved:
        return None
    return (
        5 * moved / len(campaign.samples),
        f"{moved} of {len(campaign.samples)} visits had a rank that left its processor; they are marked and not part of the "
        "figures: find out what rebinds ranks (a launcher's or cgroup's binding)",
    )


def _uncrossed(campaign: Campaign) -> Finding | None:
    """Nodes whose interfaces saw less than was sent between them: it went another way."""
    between = [s for s in campaign.samples if s.get("class") == OTHER_NODE]
    payload = sum(float(s.get("parts", 2)) * s["size_bytes"] * len(s["time_s"]) for s in between)
    hosts: Counter[str] = Counter()
    for witness in campaign.witnesses:
        if witness.get("class") == OTHER_NODE:
            for host, interfaces in witness.get("network_bytes", {}).items():
                hosts[host] += sum(sum(counts) for counts in interfaces.values())
    if not payload or min(hosts.values(), default=0) >= payload:
        return None
    return (
        1.0,
        f"the nodes' interfaces counted {min(hosts.values(), default=0):.3g} bytes of {payload:.3g} that were sent between "
        "them: messages went another way (shared memory, or a network that the system does not count)",
    )


def _interrupted(campaign: Campaign) -> Finding | None:
    """A link between nodes that was down for a while: its carrier went, or single messages took seconds."""
    lost = Counter(
        f"{interface} of {host}"
        for witness in campaign.witnesses
        for host, interfaces in witness.get("network_faults", {}).items()
        for interface, (carrier_changes, _) in interfaces.items()
        if carrier_changes
    )
    longest = max(_gaps(campaign), default=None)
    if not lost and longest is None:
        return None
    words = []
    if longest is not None:
        seconds, size_bytes, usual_s, hosts = longest
        where = f" between {' and '.join(hosts)}" if hosts else ""
        words.append(f"a message of {format_size(size_bytes)}{where} took {seconds:.1f} s, where {format_time(usual_s)} is usual")
    words += [f"{name} lost its carrier" for name in lost]
    host = next(iter(lost)).rpartition(" ")[2] if lost else "each node"
    seconds = longest[0] if longest else 0.0
    grave = 3.0 if lost else 1.5 if seconds >= _GAP_S[1] else 0.5
    return (
        grave,
        f"the link between nodes was interrupted: {', '.join(words)}: look at 'dmesg' and 'ip -s link' on {host}, mend cable or "
        "card, and measure again",
    )


def _gaps(campaign: Campaign) -> list[tuple[float, int, float, list[str]]]:
    """Return seconds, size, usual seconds and nodes of messages between nodes that took far too long."""
    hosts = {
        (start.get("launch"), start.get("class")): sorted({str(placement["host"]) for placement in start["placements"]})
        for start in campaign.starts
    }
    of_cell: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for sample in campaign.samples:
        if sample.get("class") == OTHER_NODE and "load_pairs" not in sample:
            of_cell.setdefault((str(sample.get("operation")), int(sample["size_bytes"])), []).append(sample)
    gaps = []
    for (_, size_bytes), samples in of_cell.items():
        usual_s = float(np.median(np.concatenate([sample["time_s"] for sample in samples])))
        for sample in samples:
            seconds = float(max(sample["time_s"]))
            if seconds >= max(_GAP_S[0], _GAP_TIMES * usual_s):
                gaps.append((seconds, size_bytes, usual_s, hosts.get((sample.get("launch"), OTHER_NODE), [])))
    return gaps


def _load(campaign: Campaign) -> Finding | None:
    loaded = [sample for sample in campaign.samples if "load_pairs" in sample]
    ended = sum(1 for sample in loaded if sample["load_ended_early"])
    if ended:
        return (
            ended / len(loaded),
            f"the load ended before {ended} of {len(loaded)} loaded visits did: what it may cost is bounded; give fewer --sizes",
        )
    if loaded and _shares_cpus(campaign):
        return (
            0.5,
            "the pairs of the load share processors with the ranks that measure: what is measured is load on processors and "
            "link together; take fewer --background pairs or more cores",
        )
    return None


def _shares_cpus(campaign: Campaign) -> bool:
    plan = campaign.head.get("plan", {})
    asked = 1 + int(plan.get("background", 0))
    return any(len(places["pairs"]) < asked for places in plan.get("places", {}).values())


def _impossible_limits(campaign: Campaign) -> Finding | None:
    if all(int(limits["ssend_returns_up_to_bytes"]) < 0 for limits in campaign.limits):
        return None
    return (0.9, "MPI_Ssend returned before its message was received: the protocol limits are not to be trusted")


def _half_width(profile: Profile) -> float:
    """Return the median over all rows of plain sends of half the 95 % interval, relative."""
    widths = [
        (point.time_hi_s - point.time_lo_s) / (2 * point.time_s)
        for link in profile.links.values()
        for point in link.send.table
    ]
    return float(np.median(widths))


def _mean(campaign: Campaign, key: str) -> float:
    """Return the mean of what the witnesses saw, weighed by how long each watched; 0 where none could see it."""
    seen = [(float(w[key]), float(w["seconds"])) for w in campaign.witnesses if w.get(key) is not None]
    total_s = sum(seconds for _, seconds in seen)
    return sum(value * seconds for value, seconds in seen) / total_s if total_s > 0 else 0.0
