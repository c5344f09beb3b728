"""What would be gained by another placement, by ranks that keep pace, or by another way of sending: each with its interval.

Times of messages are the judge's, of the step's own schedule (where no step was found: of each pair one message a round, all at
once). What is gained is never more than what the program spent at it when it was observed.

Other ways of sending what an observed step sends: merged, at once, by nodes. Each is a schedule like the step's own.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.advise.collectives import changes, recommended
from rankwise.advise.evidence import Evidence, longer_than_observed
from rankwise.engines.model import Model
from rankwise.engines.step import Priced, least_time_s, program_pricer, traffic_pricer
from rankwise.errors import InputError
from rankwise.mapping.floor import least_crossing
from rankwise.mapping.levels import between
from rankwise.mapping.mapper import LEAST_GAIN, USUAL, How, Mappings, MapResult, StepTime, quicker
from rankwise.mapping.traffic import OBSERVED, Traffic, place_traffic, unchosen
from rankwise.observe.phases import PhasedStep, first_events
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COMPLETION
from rankwise.records import Record, computed, key, record
from rankwise.units import format_share, format_time, format_volume
from rankwise.workloads.base import Program

if TYPE_CHECKING:
    from rankwise.mapping.mapper import StepPricer
    from rankwise.mapping.traffic import Nodes

_MOST_WIDE = 10.0  # the upper end of a gain by its lower one, beyond which nothing is known
_APART = 0.1  # of a step's computing, or
_APART_OF_STEP = 0.02  # of its time, which between two phases is work, not packing


@dataclass(frozen=True)
class Way:
    """A way of sending: ``steps`` follow one another; ``why`` it is quicker if
    it is; ``command``: what does it, or the change."""

    what: str
    steps: tuple[PhasedStep, ...]
    why: str
    command: str


def ways_of_sending(evidence: Evidence, schedule: PhasedStep, node_of_rank: Nodes) -> Iterator[Way]:
    """Yield the ways that differ from the step's own.

    What is sent in an order may depend on what came before: messages are merged within a phase, or of phases between the same
    pairs in a row (fields sent one after the other), and by nodes where all is sent at once. Whether phases one after the other
    may be one is the program's to know.
    """
    traffic = evidence.traffic
    merged = _merged(schedule)
    sizes = f"--bytes {max(1, int(np.median(traffic.bytes)))}"
    command = f"rankwise choose --dims {max(1, len(evidence.pattern.dims))} --cutoff 1 {sizes}"
    if len(merged.bytes) < len(schedule.bytes):
        yield Way("Merge the messages to each neighbour into one", (merged,), "fewer latencies", command)
    group, count = _in_a_row(schedule, evidence.time_s)
    if int(group.max()) + 1 < schedule.phases:
        calls = _waiting_calls(evidence)
        yield Way(
            f"Send {count} exchanges at once that follow one another", (_grouped(schedule, group),),
            "none waits for the one before it. Only where no message carries on what came in an earlier one of these exchanges "
            "(as corners do in halos axis by axis: send those to the diagonal neighbours)",
            f"MPI_Irecv of all, MPI_Isend of all, one MPI_Waitall{f', instead of {calls}' if calls else ''}",
        )  # fmt: skip
    if schedule.phases == 1 and (steps := _node_aware(traffic, node_of_rank)):
        yield Way("Send between nodes one message for all ranks of a node", steps, "fewer latencies", command)


def _in_a_row(schedule: PhasedStep, time_s: float) -> tuple[Any, int]:
    """Return the group of each phase, of phases between which next to nothing is computed, and the most phases of one."""
    computing_s = schedule.compute_s.mean(axis=1)
    apart = computing_s > max(_APART * float(computing_s.sum()), _APART_OF_STEP * time_s)
    fixed = np.isin(np.arange(schedule.phases), schedule.collective)
    apart |= fixed
    apart[1:] |= fixed[:-1]
    apart[0] = False
    group = np.cumsum(apart)
    return group, int(np.bincount(group[np.unique(schedule.phase)]).max(initial=0))


def _waiting_calls(evidence: Evidence) -> str:
    """Return which calls rank 0 waits in during a step, each once."""
    steps, names = evidence.steps, evidence.record.header.get("calls", [])
    if steps is None:
        return ""
    of_rank = first_events(evidence.record)
    events = steps.events(of_rank, min(of_rank))
    calls = events["call"][np.isin(events["kind"], (BLOCKING_SEND, BLOCKING_RECEIVE, COMPLETION))]
    return " and ".join(names[call] for call in dict.fromkeys(calls.tolist()) if call < len(names))


def _merged(schedule: PhasedStep) -> PhasedStep:
    """Return the schedule with one message of each pair in each phase, phases between the same pairs in a row taken as one;
    what the library does in collectives is its own."""
    inside = set(schedule.collective)
    ends = np.searchsorted(schedule.phase, np.arange(schedule.phases + 1))
    group, last = np.zeros(schedule.phases, np.int64), b""
    for phase in range(schedule.phases):
        rows = slice(ends[phase], ends[phase + 1])
        pairs = np.unique(np.stack([schedule.source[rows], schedule.dest[rows]]), axis=1).tobytes()
        group[phase] = (group[phase - 1] if phase else -1) + (pairs != last or phase in inside)
        last = pairs
    merged = _grouped(schedule, group)
    keys, inverse = np.unique(np.stack([merged.phase, merged.source, merged.dest]), axis=1, return_inverse=True)
    volume = np.zeros(keys.shape[1], schedule.bytes.dtype)
    np.add.at(volume, inverse.reshape(-1), schedule.bytes)
    phases, source, dest = (np.ascontiguousarray(row) for row in keys)
    return replace(merged, phase=phases, source=source, dest=dest, bytes=volume)


def _grouped(schedule: PhasedStep, group: Any) -> PhasedStep:
    """Return the schedule with the phases of each group as one."""
    compute_s = np.zeros((int(group.max(initial=0)) + 1, schedule.ranks))
    return replace(schedule, phase=group[schedule.phase], compute_s=compute_s, collective=(), relay=None)


def _node_aware(traffic: Traffic, node_of_rank: Nodes) -> tuple[PhasedStep, ...]:
    """Return three steps: to the rank of a node that speaks with another one, between nodes, and on from there."""
    cut = traffic.crossing(node_of_rank)
    if not cut.any():
        return ()
    members = [np.flatnonzero(node_of_rank == node) for node in range(int(node_of_rank.max()) + 1)]
    a, b = node_of_rank[traffic.source], node_of_rank[traffic.peer]

    def speaker(own: Nodes, other: Nodes) -> Any:
        return np.array([members[i][j % len(members[i])] for i, j in zip(own, other, strict=True)])

    out, into, sent = speaker(a[cut], b[cut]), speaker(b[cut], a[cut]), traffic.bytes[cut]
    inside = traffic.bytes[~cut]
    ends = ((traffic.source[cut], out), (out, into), (into, traffic.peer[cut]))
    first = (
        np.concatenate((ends[0][0], traffic.source[~cut])),
        np.concatenate((ends[0][1], traffic.peer[~cut])),
        np.concatenate((sent, inside)),
    )
    return tuple(_one_each(one, traffic.ranks) for one in (first, (*ends[1], sent), (*ends[2], sent)))


def _one_each(columns: tuple[Any, Any, Any], ranks: int) -> PhasedStep:
    """Return a step with one message of each pair, all at once; without those of a rank to itself."""
    of = Traffic.of_pairs("", ranks, columns)
    return PhasedStep.at_once(of.source, of.peer, of.bytes, ranks)


PLACEMENT, WAITING, CROWDED, SENDING, COLLECTIVES, SETTINGS = (
    "placement", "waiting", "crowded", "sending", "collectives", "settings"
)  # fmt: skip
_OWN_FAULT = 0.5  # of a rank's part in the mean waiting, that it computes longer
_LEAST_WAITING = 0.05  # share of all time below which waiting is nobody's fault


@record
class Finding(Record):
    """Something to change: seconds of a step (or run) that it gains with their interval, None where no time is known.

    ``command``: what does it or shows more, in the user's words.
    """

    kind: str = key("placement, waiting, crowded, sending, collectives or settings")
    what: str = key("what is to be done")
    why: str = key("the cause")
    gain_s: float | None = key("gain of a step; null: nothing is known of the machine")
    gain_lo_s: float | None = key()
    gain_hi_s: float | None = key()
    command: str = key("a whole command")

    def ratio(self, time_s: float) -> tuple[float, float, float] | None:
        """Return how many times as fast a step of so long becomes, with the interval."""
        if self.gain_s is None or time_s <= 0:
            return None
        ends = (self.gain_s, self.gain_lo_s or 0.0, self.gain_hi_s if self.gain_hi_s is not None else self.gain_s)
        now, low, high = (time_s / max(time_s - gain, 1e-3 * time_s) for gain in ends)
        return now, low, high


@record
class Headroom(Record):
    """Bytes between nodes and seconds of a step's messages: as observed, the best and the worst placement known, and the floor.

    The floor is proven: no placement sends less, none takes less by the judge. ``to_best_s`` and ``to_floor_s``: seconds of a
    step from now to there with their interval (the machine's, and of the program what it spends at moving bytes); None where no
    time is known.
    """

    now_bytes: int = key("bytes between nodes of the present placement")
    best_bytes: int = key("bytes between nodes of the best placement found")
    worst_bytes: int = key("bytes between nodes of the worst placement")
    floor_bytes: int = key("what no placement falls below")
    floor_by: str = key("how the lower bound is known: partners, grid, spectrum, program or nothing")
    now_s: float | None = key("time of the present placement; null: nothing is known of the machine", default=None)
    best_s: float | None = key("time of the best placement found", default=None)
    worst_s: float | None = key("time of the worst placement", default=None)
    floor_s: float | None = key("time that no placement falls below", default=None)
    floor_s_by: str = key("how the lower bound is known: card-out, uplink-0 and so on, or the quickest links", default="")
    to_best_s: tuple[float, float, float] | None = key("from now to the best, and its 95 % interval", default=None)
    to_floor_s: tuple[float, float, float] | None = key("from now to the lower bound, and its 95 % interval", default=None)

    def words(self, per: str, seconds: bool = True) -> str:
        """Return how far there is to go, in seconds where they are known and wanted."""
        if self.floor_bytes >= self.best_bytes:
            proof = f"{format_volume(self.best_bytes)} is optimal: no placement sends fewer bytes between nodes"
        else:
            proof = f"lower bound {format_volume(self.floor_bytes)}"
        if (
            self.now_bytes <= self.floor_bytes
            or not seconds
            or self.to_best_s is None
            or self.to_floor_s is None
            or self.to_floor_s[2] < 1e-9
        ):
            return proof
        return f"{proof}; at most {_seconds_in_words(self.to_floor_s)} a {per} can be gained"


def _seconds_in_words(gain: tuple[float, float, float]) -> str:
    """Return seconds with their interval; what is below the smallest unit is nothing."""
    if gain[2] < 1e-9:
        return "0 s"
    now, low, high = map(format_time, gain)
    return now if low == high else f"{now} ({low} to {high})"


@record
class Found(Record):
    """A finding as JSON has it, for the time of a step."""

    finding: Finding = key("the finding", inline=True)
    ratio: tuple[float, float, float] | None = key("how many times as fast a step is then, and its 95 % interval")


@record
class Shares(Record):
    """Shares of the ranks' time."""

    computing: float | None = key("outside MPI")
    moving: float | None = key("moving data in MPI")
    waiting: float | None = key("waiting in MPI; null: unknown")


@record
class Advice(Record):
    """All that is advised: the best first; ``nothing``: what was looked at and gains nothing, in words."""

    evidence: Evidence
    findings: tuple[Finding, ...] = key(
        "what to change, the best first", shape="tuple[Found, ...]", get=lambda of: [of.found(one) for one in of.findings]
    )
    nothing: tuple[str, ...] = key("what was looked at and gains nothing", name="nothing_to_gain")
    headroom: Headroom = key("the present placement, the best and the worst")
    mappings: Mappings
    per = computed("what times are of: step or run", str, lambda of: of.evidence.per)
    time_s = computed("time of that step or run", "float | None", lambda of: of.evidence.time_s)
    shares = computed("shares of the time", Shares, lambda of: of.shares_of_time())
    pattern = computed("who sends to whom", "rankwise.observe.pattern.Pattern", lambda of: of.evidence.pattern)
    step = computed(
        "the step that repeats; null: none was found", "rankwise.observe.steps.Steps | None", lambda of: of.evidence.steps
    )
    placement = computed("node of each rank", "list[int] | None", lambda of: of.mappings.best.node_of_cell)
    notes: tuple[str, ...] = key(
        "what weakens the figures, in words", default=(), get=lambda of: [*of.notes, *of.evidence.notes], after="placement"
    )
    poor: bool = False  # the profile, so that seconds are leads only

    def found(self, finding: Finding) -> Found:
        return Found(finding, finding.ratio(self.evidence.time_s))

    def shares_of_time(self) -> Shares:
        shares = self.evidence.shares
        waiting = shares.share(shares.waiting_s) if shares.split else None
        return Shares(shares.share(shares.computing_s), shares.share(shares.moving_s), waiting)

    @property
    def headline(self) -> str:
        """The conclusion in a sentence."""
        if not self.findings:
            room = (self.headroom.words(self.evidence.per, not self.poor),) if self.headroom.now_bytes else ()
            reasons = "; ".join(room if self.headroom.now_bytes <= self.headroom.floor_bytes else (*self.nothing[:1], *room))
            return f"Nothing to gain: {reasons}." if reasons else "Nothing to gain."
        best = self.findings[0]
        if best.kind == CROWDED:
            return f"No advice yet: {self.evidence.crowded}, so they mostly waited for a core."
        if best.kind == PLACEMENT and (self.poor or best.gain_s is None):
            saving = savings(self.mappings)[0]
            return f"{best.what}: {format_share(-saving.change)} fewer bytes {saving.where}." + (
                " The profile is too poor to predict seconds." if self.poor else ""
            )
        return best.what + (
            f": a {self.evidence.per} {gain_in_words(best, self.evidence)}." if best.gain_s is not None else ": gain unknown."
        )


def gain_in_words(finding: Finding, evidence: Evidence) -> str:
    """Return how many times as fast a step becomes, with the interval."""
    ratio = finding.ratio(evidence.time_s)
    return "gain unknown" if ratio is None else f"{ratio[0]:.2f} times as fast ({ratio[1]:.2f}–{ratio[2]:.2f})"


@dataclass(frozen=True)
class Question:
    """Where the program is to run: ranks of each node, the nodes' names, and what prices messages there (None: bytes alone)."""

    sizes: Sequence[int]
    hosts: Sequence[str]
    on: Priced | None = None
    how: How = USUAL
    target: Mapping[str, object] = field(default_factory=dict)  # the options that say so, for the commands that are advised
    poor: bool = False  # what prices them was measured on a disturbed machine
    seats: Sequence[int] = ()  # each node's number on the machine that prices, where they do not follow each other


def advise(evidence: Evidence, question: Question) -> Advice:
    """Examine placement, wait time and send modes. Raises InputError as place_traffic does.

    Bytes alone are told of a program whose ranks shared cores when it was observed, and by a profile that lacks a link.
    """
    traffic, no_seconds = evidence.traffic, evidence.crowded
    price = None if question.on is None or no_seconds else _pricer(question.on, evidence.schedule, question.seats)
    try:
        mappings = place_traffic(traffic, question.sizes, how=replace(question.how, price=price))
    except InputError as error:
        if price is None:
            raise
        mappings, no_seconds = place_traffic(traffic, question.sizes, how=question.how), str(error)
    notes = list(mappings.notes)
    if question.on is not None and no_seconds:
        notes.append(f"seconds are not predicted: {no_seconds}")
        question = replace(question, on=None)
    found: list[Finding] = []
    nothing: list[str] = []
    for finding in (
        _placement(evidence, question, mappings),
        _waiting(evidence),
        *_sending(evidence, question, mappings),
        *_collectives(evidence),
        _settings(evidence, question),
    ):
        if isinstance(finding, Finding):
            found.append(_possible(finding, evidence, question.poor))
        elif finding:
            nothing.append(finding)
    # On other nodes than those observed there may be a core for each rank.
    elsewhere = start_of(mappings).algorithm != OBSERVED
    found.sort(key=lambda one: ((one.kind == CROWDED) == elsewhere, one.gain_s is None, -(one.gain_s or 0.0)))
    headroom = _headroom(evidence, question, mappings)
    if headroom.now_s is not None and headroom.now_s > (1 + LEAST_GAIN) * evidence.time_s:
        notes.append(longer_than_observed(evidence, headroom.now_s, elsewhere))
    return Advice(evidence, tuple(found), tuple(nothing), headroom, mappings, tuple(notes), question.poor)


def _possible(finding: Finding, evidence: Evidence, poor: bool) -> Finding:
    """Return a finding whose gain is left out where it is more than what was observed, is known within no factor that tells
    anything, or rests on a disturbed profile."""
    ratio = finding.ratio(evidence.time_s)
    if ratio is None or finding.gain_s is None:
        return finding
    by_profile = finding.kind in (PLACEMENT, SENDING)
    if finding.gain_s < evidence.time_s and ratio[2] <= _MOST_WIDE * ratio[1] and not (by_profile and poor):
        return finding
    return replace(finding, gain_s=None, gain_lo_s=None, gain_hi_s=None)


def _pricer(on: Priced, schedule: PhasedStep | None, seats: Sequence[int]) -> StepPricer:
    """Return what prices a placement: the step's own schedule where it is known, its messages alone."""
    if schedule is None:
        return traffic_pricer(on, seats)
    return program_pricer(on, Program(schedule.without_computing()), seats)


def start_of(mappings: Mappings) -> MapResult:
    """Return the placement that the program had, or where it ran on other nodes the one that nobody has to ask for."""
    start = unchosen(mappings.results)
    assert start is not None  # all algorithms were run
    return start


@dataclass(frozen=True)
class Difference:
    """What crosses nodes, or the units of a level above them, as the ranks are and as they would be: J_sum's unit."""

    where: str
    now: int
    then: int

    @property
    def change(self) -> float:
        return self.then / self.now - 1 if self.now else 0.0


def differences(mappings: Mappings) -> list[Difference]:
    """Return where the best placement sends noticeably less or more than now, where it is less first."""
    now, best = start_of(mappings), mappings.best
    above = (Difference(between(was.level.name), was.sent, then.sent) for was, then in zip(now.above, best.above, strict=True))
    every = [Difference("between nodes", now.j_sum, best.j_sum), *above]
    return sorted((one for one in every if abs(one.change) >= LEAST_GAIN), key=lambda one: one.change > 0)


def savings(mappings: Mappings) -> list[Difference]:
    """Return where the best placement sends less than now by what is worth while; what leaves the busiest node comes last."""
    busiest = Difference("out of the busiest node", start_of(mappings).j_max, mappings.best.j_max)
    return [one for one in (*differences(mappings), busiest) if one.change <= -LEAST_GAIN]


def _headroom(evidence: Evidence, question: Question, mappings: Mappings) -> Headroom:
    rounds, traffic, sizes = evidence.rounds, evidence.traffic, question.sizes
    now, best = start_of(mappings), mappings.best
    worst = max(mappings.results, key=lambda result: (result.time_s or 0.0, result.j_sum))
    floor = least_crossing((traffic.source, traffic.peer, traffic.bytes), sizes, evidence.pattern, best.node_of_cell)
    least = min(best.j_sum, math.ceil(floor.least))  # whole bytes
    sent = (now.j_sum, best.j_sum, worst.j_sum, least, floor.kind)
    if question.on is None or now.step is None or best.step is None:
        return Headroom(*sent)
    step = evidence.schedule or PhasedStep.at_once(traffic.source, traffic.peer, traffic.step_bytes, traffic.ranks)
    least_s, why = least_time_s(question.on, step, sizes, evidence.pattern, best.node_of_cell)
    worst_s = None if worst.time_s is None else worst.time_s * rounds
    least_s = min(least_s, now.step.time_s)
    to_best, to_floor = (_gain(evidence, rounds, now.step, then_s) for then_s in (best.step.time_s, least_s))
    times = (now.step.time_s * rounds, best.step.time_s * rounds, worst_s, least_s * rounds)
    return Headroom(*sent, *times, why, to_best, to_floor)


def _gain(evidence: Evidence, rounds: int, now: StepTime, new_s: float) -> tuple[float, float, float]:
    """Return the seconds gained, with the interval: the machine's uncertainty is the same of both."""
    moving_s = float(evidence.shares.moving_s.mean())
    gain = (now.time_s - new_s) * rounds
    low, high = (gain * end / now.time_s for end in (now.low_s, now.high_s))
    return min(gain, moving_s), min(low, moving_s), min(high, moving_s)


def _placement(evidence: Evidence, question: Question, mappings: Mappings) -> Finding | str:
    now, best = start_of(mappings), mappings.best
    if len(question.sizes) == 1:
        return "all ranks are on one node, so no placement sends fewer bytes between nodes"
    fewer = 1 - best.j_sum / now.j_sum if now.j_sum else 0.0
    gain = None if now.step is None or best.step is None else _gain(evidence, evidence.rounds, now.step, best.step.time_s)
    little = not savings(mappings) if gain is None or question.poor else gain[0] < LEAST_GAIN * evidence.time_s
    unsure = gain is not None and not question.poor and not quicker(best, now)
    if best is now or little or unsure:
        if fewer <= 0:
            return "no placement that was found sends fewer bytes between nodes"
        room = f"{format_volume(now.j_sum - best.j_sum)} of {format_volume(now.j_sum)} fewer between nodes"
        least = (
            f"less than {format_share(LEAST_GAIN)}{'' if gain is None else f' of a {evidence.per}'}"
            if little
            else "no more than the prediction's error"
        )
        return f"another placement gains {least} ({room})"
    told = [
        f"{format_volume(one.now)} a {evidence.per} {one.where}, then {format_volume(one.then)} ({100 * one.change:+.0f} %)"
        for one in differences(mappings)
    ]
    if now.j_max != best.j_max or not told:
        told.append(f"the busiest node sends {format_volume(now.j_max)}, then {format_volume(best.j_max)}")
    words = "; ".join(told)
    name = shlex.quote(evidence.name)
    if now.algorithm == OBSERVED:
        what = "Place the ranks by a rank file"
        launch = shlex.join(map(str, evidence.record.header.get("command", ["mpiexec", "./app"])))
        command = f"rankwise try {name}{_options(question, 'hosts', 'levels', 'topology', 'profile')} -- {launch}"
    else:  # on other nodes than those observed
        what = f"Place the ranks by a rank file, not {now.algorithm}"
        form = "openmpi-rankfile" if evidence.record.header.get("family") == "Open MPI" else "hydra-hostfile"
        command = f"rankwise map --observed {name}{_options(question, *question.target)} --format {form}"
    low_s, high_s = (None, None) if gain is None else gain[1:]
    return Finding(PLACEMENT, what, words, None if gain is None else gain[0], low_s, high_s, command)


def _options(question: Question, *names: str) -> str:
    given = [(name, question.target[name]) for name in names if name in question.target]
    each = [(name, value) for name, of in given for value in (of if isinstance(of, list) else [of])]
    return "".join(f" --{name} {shlex.quote(str(value))}" for name, value in each)


def _waiting(evidence: Evidence) -> Finding | str:
    shares = evidence.shares
    if (crowded := evidence.crowded) is not None:
        return Finding(
            CROWDED, "Run at most one rank per core",
            f"{crowded}, so ranks wait for a core, and their times say nothing about the network",
            None, None, None, _with_fewer_ranks(evidence),
        )  # fmt: skip
    if not shares.split:
        return ""
    waiting = shares.share(shares.waiting_s)
    if waiting < _LEAST_WAITING or evidence.waits is None:
        return f"wait for late senders and receivers: {format_share(waiting)} of a {evidence.per}"
    mean_s, ranks = float(shares.waiting_s.mean()), len(shares.total_s)
    usual = float(np.sort(shares.computing_s)[(ranks - 1) // 2])  # some rank's own
    # A rank that computes no longer than others is late because of its messages.
    late = [
        (rank, seconds)
        for rank, seconds in evidence.waits.late_ranks(0.25)
        if shares.computing_s[rank] - usual > _OWN_FAULT * shares.blamed_s[rank] / ranks
    ]
    if not late:
        return (
            f"wait for late senders and receivers: {format_share(waiting)} of a {evidence.per}, "
            "and no rank causes a quarter of that by computing longer"
        )
    names = " and ".join(f"rank {rank}" for rank, _ in late[:3])
    caused = sum(seconds for _, seconds in late[:3]) / max(float(evidence.waits.blamed_s.sum()), 1e-30)
    own = ", ".join(f"{format_time(float(shares.computing_s[rank]))}" for rank, _ in late[:3])
    record = evidence.record
    node = int(record.node_of_rank[late[0][0]])
    compute = "it computes" if len(late) == 1 else "they compute"
    other = f"the {'other' if ranks == 2 else 'median'} rank {format_time(usual)}"
    why = f"{compute} {own} a {evidence.per}, {other}; that causes {format_share(caused)} of the wait time"
    if node >= 0:
        why += f" (on {record.hosts[node]}: a larger share of the work, or a slow core)"
    if evidence.waiting is not None:
        by_first = (one for one in evidence.waiting.causes if one.rank == late[0][0])
        why += next((f"; rank {one.rank} is late at {one.before}, others wait at {one.at}" for one in by_first), "")
    gain = mean_s * caused
    doubt = evidence.doubt
    where = f" --hosts {','.join(record.hosts)}" if len(record.hosts) > 1 else ""
    return Finding(
        WAITING, f"{names[0].upper()}{names[1:]} delay{'s' * (len(late) == 1)} the others",
        why, gain, gain * (1 - doubt), gain * (1 + doubt),
        f"rankwise doctor --nodes{where}" if where else "rankwise doctor",
    )  # fmt: skip


def _with_fewer_ranks(evidence: Evidence) -> str:
    """Return the command that observes the program with a rank on each core; that of a doctor where it is not known."""
    command = list(map(str, evidence.record.header.get("command", [])))
    cores = sum(core or 0 for core in evidence.record.header.get("cores_of_host", []))
    at = next((i for i, word in enumerate(command[:-1]) if word in ("-n", "-np")), None)
    if at is None or not cores:
        return "rankwise doctor"
    command[at + 1] = str(cores)
    return f"rankwise advise -- {shlex.join(command)}"


def _collectives(evidence: Evidence) -> Iterator[Finding | str]:
    """Yield what could be changed in collectives, where that gains enough."""
    if evidence.crowded is not None:
        return
    for what, why, gain_s, is_sure, command in changes(evidence):
        if gain_s >= LEAST_GAIN * evidence.time_s:
            low_s = gain_s * (1 - evidence.doubt) if is_sure else 0.0
            yield Finding(COLLECTIVES, what, why, gain_s, low_s, gain_s * (1 + evidence.doubt * is_sure), command)
        elif gain_s > 0:
            gains = f"less than {format_share(LEAST_GAIN)} of a {evidence.per}"
            yield f"{what[0].lower()}{what[1:]}: {gains} (at most {format_time(gain_s)})"


def _settings(evidence: Evidence, question: Question) -> Finding | str:
    """Judge what the MPI library could be set to for the program's collectives, its ranks being where they were."""
    if not isinstance(question.on, Model) or question.poor:
        return ""
    found = recommended(evidence.record, evidence.steps, question.on)
    if found is None:
        return ""
    moving_s = float((evidence.shares.moving_s + evidence.shares.waiting_s).mean())
    gain_s, low_s, high_s = (min(end_s, moving_s) for end_s in (found.gain.s, found.gain.lo_s, found.gain.hi_s))
    if gain_s < LEAST_GAIN * evidence.time_s:
        return "other algorithms of the MPI library for collectives gain little, or no more than the prediction's error"
    command = f"rankwise tune {shlex.quote(evidence.name)}{_options(question, 'profile')} -o tuned/"
    return Finding(SETTINGS, "Set the MPI library's algorithms of collectives", found.why, gain_s, low_s, high_s, command)


def _sending(evidence: Evidence, question: Question, mappings: Mappings) -> list[Finding | str]:
    """Judge other modes from the best placement known."""
    best, schedule = mappings.best, evidence.schedule
    if question.on is None or best.node_of_cell is None or schedule is None or not len(evidence.traffic.bytes):
        return []
    if question.poor:
        return ["other send modes: the profile is too poor to predict seconds"]
    nodes, parts, on = best.node_of_cell, best.parts, question.on
    now = _pricer(on, schedule, question.seats)(evidence.traffic, nodes, parts)
    found: list[Finding | str] = []
    for way in ways_of_sending(evidence, schedule, nodes):
        steps = [_pricer(on, step, question.seats)(evidence.traffic, nodes, parts) for step in way.steps]
        time_s = sum(step.time_s for step in steps)
        gain = _gain(evidence, 1, now, time_s)
        if gain[0] < LEAST_GAIN * evidence.time_s:
            verdict = "slower" if gain[0] <= 0 else f"less than {format_share(LEAST_GAIN)} of a {evidence.per}"
            found.append(
                f"{way.what[0].lower()}{way.what[1:]}: {verdict} ({format_time(time_s)} against {format_time(now.time_s)})"
            )
            continue
        why = f"the messages of a {evidence.per} take {format_time(now.time_s)}, then {format_time(time_s)}: {way.why}"
        found.append(Finding(SENDING, way.what, why, *gain, way.command))
    return found
