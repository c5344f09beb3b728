"""The quality of a measurement: what its noise monitors saw, and the fix of what disturbed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.machine.profile import OTHER_NODE
from rankwise.machine.trust import Level, Reason, Trust, worst
from rankwise.measure.cells import Cells, cells_of, log_medians, timer_cost_s
from rankwise.measure.samples import Campaign
from rankwise.measure.witness import POOR, switches_per_s
from rankwise.statistics import lag_1, launch_interval
from rankwise.units import format_size, format_time

# What is noticed, and what makes figures poor. Ticks of /proc/stat are 10 ms: less than this may be their grain.
_FOREIGN_CPUS = (0.15, POOR["foreign_cpus"])
_STEAL = (0.02, POOR["steal_share"])
_SWITCHES_PER_S = (20.0, POOR["switches_per_s"])  # of each rank; a polling rank that is alone sees a handful
_SPEED_SPREAD = (0.05, 0.25)  # 95 % of cells lie within it around the median
_HALF_WIDTH = (0.05, 0.25)  # of the median row's interval
_INDICATIVE = 10  # launches below which an interval without history is only that
_DRIFT = 0.5  # of what launches have in common: autocorrelation from one to the next
_MOST_REASONS = 2  # besides those that are only told
_MORE = "measure with more --seconds and --launches"
_ALONE = "stop other programs, or give the ranks cores of their own (cpuset, isolcpus)"
# A message between nodes that took so long, and so many times what is usual for its size, met a link that was not there: TCP
# sends again what was lost after 0.2 s, then twice as long each time.
_GAP_S, _GAP_TIMES = (0.2, 1.0), 20.0


def judge(campaigns: Sequence[Campaign]) -> Trust:
    """Return the quality of measurements by their samples and noise monitors alone; the last measurement counts."""
    of: dict[str, dict[str, Level]] = {}
    reasons: dict[str, Reason] = {}
    widths: list[float] = []
    launches: list[int] = []
    levels: list[Level] = []
    for campaign in campaigns:
        cost_s = timer_cost_s(campaign)
        for link in dict.fromkeys(str(sample.get("class", "")) for sample in campaign.samples):
            part = _of_link(campaign, link)
            cells = cells_of(part, link, cost_s) if link else {}
            found = [reason for witness in _WITNESSES if (reason := witness(part)) is not None] + _of_launches(cells)
            for reason in found:
                if reason.code not in reasons or reason.severity > reasons[reason.code].severity:
                    reasons[reason.code] = reason
            seen = _level(reason.severity for reason in found)
            by_way = {way: _half_widths(cells, way) for way in cells}
            of.setdefault(link, {}).update(
                {way: worst([seen, _level_of_width(float(np.median(some)))]) if some else seen for way, some in by_way.items()}
            )
            levels.append(seen)
            widths += by_way.get("send", [])
            launches.append(len({launch for by_size in cells.values() for row in by_size.values() for launch in row}))
    half_width = float(np.median(widths)) if widths else None
    if half_width is not None:
        levels.append(_level_of_width(half_width))
        if half_width >= _HALF_WIDTH[0] and not any(reason.severity > 0 for reason in reasons.values()):
            wide = Reason("launches", half_width / _HALF_WIDTH[1], "launches differ from each other", _MORE)
            reasons[wide.code] = wide
    ordered = sorted(reasons.values(), key=lambda reason: -reason.severity)
    told = [reason for reason in ordered if reason.severity <= 0]
    return Trust(
        worst(levels), (*ordered[: len(ordered) - len(told)][:_MOST_REASONS], *told),
        {link: ways for link, ways in of.items() if link}, half_width, min(launches, default=None),
    )  # fmt: skip


def _of_link(campaign: Campaign, link: str) -> Campaign:
    """Return what a measurement has of one link class."""

    def those(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [record for record in records if str(record.get("class", link)) == link]

    return replace(
        campaign, samples=those(campaign.samples), witnesses=those(campaign.witnesses), limits=those(campaign.limits)
    )


def _level(severities: Iterable[float]) -> Level:
    worst_one = max(severities, default=0.0)
    return "good" if worst_one <= 0 else "poor" if worst_one >= 1 else "limited"


def _level_of_width(half_width: float) -> Level:
    return "good" if half_width < _HALF_WIDTH[0] else "limited" if half_width < _HALF_WIDTH[1] else "poor"


def _half_widths(cells: Cells, way: str) -> list[float]:
    found = (launch_interval(log_medians(row, "median")).half_width for row in cells.get(way, {}).values())
    return [half_width for half_width in found if half_width is not None]


def _of_launches(cells: Cells) -> list[Reason]:
    """Say what the number of launches, and how each depends on the one before, do to the intervals."""
    rows = [row for by_size in cells.values() for row in by_size.values()]
    launches = sorted({launch for row in rows for launch in row})
    if len(launches) == 1:
        return [Reason("launches", 0.5, "one launch, so the variation between launches is unknown", _MORE)]
    if 0 < len(launches) < _INDICATIVE:
        told = f"only {len(launches)} launches ({_INDICATIVE} are needed for reliable intervals)"
        return [Reason("few", 0.0, told, _MORE)]
    complete = [log_medians(row, "median") for row in rows if len(row) == len(launches)]
    r = lag_1(np.mean([row - row.mean() for row in complete], axis=0)) if complete else None
    if r is None or r <= _DRIFT:
        return []
    return [Reason("drift", 0.5, "the machine's speed changed during the measurement", "measure again, over a longer time")]


def _others(campaign: Campaign) -> Reason | None:
    cpus = _mean(campaign, "foreign_cpus")
    waited = min(1.0, _mean(campaign, "pressure_share"))  # the kernel counts it a little late
    if cpus < _FOREIGN_CPUS[0]:
        return None
    pressure = f", tasks waited for a core {100 * waited:.0f} % of the time" if waited >= 0.05 else ""
    return Reason(
        "others",
        cpus / _FOREIGN_CPUS[1],
        f"other programs used {cpus:.1f} cores{pressure}",
        "stop the programs that 'ps -eo pcpu,pid,comm --sort=-pcpu | head -5' lists, or take a node of your own",
    )


def _steal(campaign: Campaign) -> Reason | None:
    share = _mean(campaign, "steal_share")
    if share < _STEAL[0]:
        return None
    return Reason(
        "steal",
        share / _STEAL[1],
        f"the hypervisor gave {100 * share:.0f} % of the CPU time to others",
        "ask for dedicated cores, or measure when 'vmstat 1' shows 0 under st",
    )


def _preempted(campaign: Campaign) -> Reason | None:
    """Ranks that lost their processor while they sampled."""
    rate = switches_per_s(campaign.samples)
    if rate < _SWITCHES_PER_S[0]:
        return None
    return Reason("preempted", rate / _SWITCHES_PER_S[1], f"ranks descheduled {rate:.0f} times a second", _ALONE)


def _speed(campaign: Campaign) -> Reason | None:
    """A processor whose own speed changed, by the reference loop next to every cell; or that others took meanwhile."""
    loops = np.array(campaign.reference_loops_s())
    if loops.size < 2:
        return None
    low, middle, high = np.quantile(loops, [0.025, 0.5, 0.975])
    spread = float((high - low) / (2 * middle))
    if spread < _SPEED_SPREAD[0]:
        return None
    severity = spread / _SPEED_SPREAD[1]
    if switches_per_s(campaign.samples) >= _SWITCHES_PER_S[0] or _mean(campaign, "foreign_cpus") >= _FOREIGN_CPUS[0]:
        words = f"ranks were descheduled: the time of a reference loop varied by ± {100 * spread:.0f} %"
        return Reason("preempted", severity, words, _ALONE)
    return Reason(
        "clock",
        severity,
        f"the clock rate of the cores varied by ± {100 * spread:.0f} % (reference loop)",
        "set a steady clock rate ('rankwise doctor' shows how)",
    )


def _moved(campaign: Campaign) -> Reason | None:
    moved = sum(1 for sample in campaign.samples if sample.get("moved_ranks"))
    if not moved:
        return None
    return Reason(
        "moved",
        5 * moved / len(campaign.samples),
        f"{moved} of {len(campaign.samples)} sample batches had a rank that moved to another core; they are left out",
        "check what rebinds ranks: the launcher or the cgroup",
    )


def _uncrossed(campaign: Campaign) -> Reason | None:
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
    return Reason(
        "uncrossed",
        1.0,
        f"the nodes' interfaces counted {min(hosts.values(), default=0):.3g} bytes of {payload:.3g} sent between them: "
        "messages took another path (shared memory, or a network without counters)",
        "name two different nodes, or make MPI use the network",
    )


def _interrupted(campaign: Campaign) -> Reason | None:
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
        words.append(f"a message of {format_size(size_bytes)}{where} took {seconds:.1f} s instead of {format_time(usual_s)}")
    words += [f"{name} lost its carrier" for name in lost]
    host = next(iter(lost)).rpartition(" ")[2] if lost else "each node"
    seconds = longest[0] if longest else 0.0
    grave = 100.0 if lost else 1.5 if seconds >= _GAP_S[1] else 0.5
    return Reason(
        "interrupted",
        grave,
        f"the link between nodes was interrupted: {', '.join(words)}",
        f"check 'dmesg' and 'ip -s link' on {host}, the cable and the NIC, then measure again",
    )


def _gaps(campaign: Campaign) -> list[tuple[float, int, float, list[str]]]:
    """Return seconds, size, usual seconds and nodes of messages between nodes that took far too long."""
    hosts = {
        (start.get("launch"), start.get("class")): sorted({str(placement["host"]) for placement in start.get("placements", ())})
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


def _load(campaign: Campaign) -> Reason | None:
    loaded = [sample for sample in campaign.samples if "load_pairs" in sample]
    ended = sum(1 for sample in loaded if sample.get("load_ended_early"))
    if ended:
        words = f"the background load ended before {ended} of {len(loaded)} sample batches did"
        return Reason("load", ended / len(loaded), words, "give fewer --sizes")
    asked = 1 + int(campaign.plan.get("background", 0))
    if loaded and any(len(places["pairs"]) < asked for places in campaign.plan.get("places", {}).values()):
        return Reason(
            "load",
            0.5,
            "background pairs share cores with the ranks that measure, so they load the cores, too",
            "use fewer --background pairs or more cores",
        )
    return None


def _impossible_limits(campaign: Campaign) -> Reason | None:
    if all(int(limits.get("ssend_returns_up_to_bytes", -1)) < 0 for limits in campaign.limits):
        return None
    words = "MPI_Ssend returned before its message was received: the eager limits are unreliable"
    return Reason("limits", 0.9, words, "use another MPI library")


def _mean(campaign: Campaign, key: str) -> float:
    """Return the mean of what the witnesses saw, weighed by how long each watched; 0 where none could see it."""
    seen = [(float(w[key]), float(w["seconds"])) for w in campaign.witnesses if w.get(key) is not None]
    total_s = sum(seconds for _, seconds in seen)
    return sum(value * seconds for value, seconds in seen) / total_s if total_s > 0 else 0.0


_WITNESSES = (_others, _steal, _preempted, _speed, _moved, _uncrossed, _interrupted, _load, _impossible_limits)
