"""Streams between all pairs of nodes, one rank on each: what is streamed in which order, and what is kept of it.

A sweep is N-1 rounds (N, with a bye, where N is odd) of disjoint pairs that stream at once, by the circle method; each sweep is
a launch of its own, with the nodes in another order on the circle. In a round first one end of each pair sends, then the other.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.arrays import Floats
from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.mpi import Mpi, stream_kernel
from rankwise.launch.process import output_of
from rankwise.machine.hosts import node_name
from rankwise.machine.record import TCP
from rankwise.measure.samples import SamplesFile, read_records, require_fields
from rankwise.measure.slow_nodes import (
    CONFIRMATIONS,
    MOST_SWEEPS,
    Effects,
    Finding,
    Times,
    candidates,
    decompose,
    least_sweeps,
    not_explained,
    slow_nodes,
    slow_pairs,
)
from rankwise.measure.witness import tcp_of
from rankwise.progress import SILENT, Meter, tell
from rankwise.reading import Trace, read_through
from rankwise.records import Record, computed, key, record

Pair = tuple[int, int]
KIND = "all-pairs"
DEFAULT_SIZES = (8, 1_000_000)
LEAST_NODES = 4  # for a judgement: with three each node's median is one of two times
_ARGUMENT_BYTES = 100_000  # the system takes no longer words
_PROBE_S, _PROBES_AT_ONCE = 30.0, 32
_LAUNCHER_NOISE = re.compile(r"mpiexec@|/hydra/|/pm/|proxy")
_WINDOW_S = 0.2  # the system counts what processors work in steps of 10 ms
_BUSY_CPUS = 0.25  # of processors, beyond all but one of those that a node has
_BUSY_MARGIN = 0.1  # and more than the median node has
_BUSY_SHARE = 0.05  # of a node's rounds, from which on it is not judged


@record
class AllPairs(Record):
    """A campaign as read back. ``partner`` and ``busy`` have a row a round, a column a node; ``time_s`` likewise for each size.

    ``sweep`` is the sweep of each round, -1 where candidates were measured again.
    """

    hosts: tuple[str, ...] = key("names of the hosts")
    silent: tuple[str, ...] = key("hosts that did not answer")
    created: str = key("when, UTC")
    seconds: float = key("how long it took")
    sweeps = computed("times that all pairs were measured", int, lambda of: int(of.sweep.max()) + 1)
    rounds = computed("rounds that were measured", int, lambda of: int((of.sweep >= 0).sum()))
    messages: Mapping[int, int]  # by size
    partner: NDArray[np.int64]
    sweep: NDArray[np.int64]
    time_s: Mapping[int, Floats]
    busy: NDArray[np.bool_]
    tcp: Mapping[str, int] = key(TCP, factory=dict, omit=True)

    def times(self, size_bytes: int, again: bool = False) -> Times:
        """Return the logs of the sweeps' times at one size, or of those measured again; without those of busy moments.

        What is not judged anyway stays: for the medians it is a slow node like others. A round that thereby loses more than a
        quarter of its times is left out: what is left would not tell its level.
        """
        rows = (self.sweep < 0) == again
        partner = self.partner[rows]
        busy = self.busy[rows] & self.judged()
        either = busy | np.take_along_axis(busy, np.maximum(partner, 0), axis=1)
        either |= np.sum(either & (partner >= 0), axis=1, keepdims=True) > 0.25 * np.sum(partner >= 0, axis=1, keepdims=True)
        times_s = self.time_s[size_bytes][rows]
        return Times(np.log(np.where(either, np.nan, times_s)), partner, self.sweep[rows])

    def busy_rounds(self) -> NDArray[np.int64]:
        """Return in how many rounds each node was busy with other work."""
        return np.asarray(self.busy.sum(axis=0), dtype=np.int64)

    def judged(self) -> NDArray[np.bool_]:
        """Return of which nodes something can be said: those that were not busy in two rounds, or in more than few."""
        return np.asarray(self.busy_rounds() < max(2.0, _BUSY_SHARE * len(self.sweep)))


@dataclass(frozen=True)
class Judgement:
    """What a measurement says: the effects of each size, and all findings, nodes before pairs."""

    effects: Mapping[int, Effects]
    findings: tuple[Finding, ...]
    judged: NDArray[np.bool_]

    @property
    def sees_enough(self) -> bool:
        return all(effects.sees_enough for effects in self.effects.values())


def judge(campaign: AllPairs, leaf_of: Sequence[str | None] = ()) -> Judgement:
    """Name what is slow in a measurement. Raises InputError for fewer than four nodes."""
    if len(campaign.hosts) < LEAST_NODES:
        raise InputError(
            f"{len(campaign.hosts)} nodes answer: to tell which one is slow takes at least {LEAST_NODES}, name more with "
            "--hosts"
        )
    judged, figures = campaign.judged(), len(campaign.time_s)
    effects = {size: decompose(campaign.times(size), figures) for size in campaign.time_s}
    nodes = [found for size in effects for found in slow_nodes(effects[size], size, judged, leaf_of)]
    again = _candidates(effects, judged)
    pairs = [
        found for size in effects for found in slow_pairs(effects[size], campaign.times(size, again=True), again, size, figures)
    ]
    return Judgement(effects, (*nodes, *not_explained(pairs, nodes)), judged)


def _candidates(effects: Mapping[int, Effects], judged: NDArray[np.bool_]) -> list[Pair]:
    return list(dict.fromkeys(pair for of_size in effects.values() for pair in candidates(of_size, judged)))


def answering(mpi: Mpi, hosts: Sequence[str]) -> tuple[list[str], dict[str, str], bool]:
    """Start a rank on each host; return the hosts that answer, why the others do not, and whether some share a machine.

    Raises UnusableEnvironmentError when fewer than two do.
    """
    mpi.require_match()
    placed, why = _greet(mpi, hosts, _PROBE_S + 0.05 * len(hosts))
    reasons: dict[str, str] = {}
    if placed is None:
        with ThreadPoolExecutor(_PROBES_AT_ONCE) as pool:
            each = dict(zip(hosts, pool.map(lambda host: _greet(mpi, [host], _PROBE_S), hosts), strict=True))
        reasons = {host: reason for host, (one, reason) in each.items() if one is None}
        hosts = [host for host in hosts if host not in reasons]
        if len(hosts) < 2:
            raise UnusableEnvironmentError(
                f"no ranks can be started on {', '.join(list(reasons)[:5])} ({next(iter(reasons.values()), why)}): see that "
                "this host may log in there, and that rankwise is installed at the same path"
            )
        if not reasons:  # each by itself answers
            raise UnusableEnvironmentError(f"no ranks can be started on these {len(hosts)} hosts together ({why}): name fewer")
        placed, why = _greet(mpi, hosts, _PROBE_S + 0.05 * len(hosts))
        if placed is None:
            raise UnusableEnvironmentError(f"no ranks can be started on {', '.join(hosts[:5])} together ({why}): name fewer")
    machines = [placement.get("machine") for placement in placed]
    return list(hosts), reasons, len(set(machines)) < len(machines)


def _greet(mpi: Mpi, hosts: Sequence[str], limit_s: float) -> tuple[list[Mapping[str, Any]] | None, str]:
    command = mpi.launcher.command(len(hosts), [str(mpi.kernels_path), "hello"], False, hosts)
    try:
        code, text = output_of(command, limit_s)
    except UnusableEnvironmentError:
        return None, f"nothing heard for {limit_s:.0f} s"
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if code == 0 and isinstance(record, dict) and record.get("record") == "end":
            placements = record["placements"]
            where = [node_name(str(placement["host"])) for placement in placements]
            if where == [node_name(host) for host in hosts]:
                return placements, ""
            return None, f"a rank for {hosts[0]} ran on {where[0]}"
    said = [
        part.strip() for part in text.replace("\n", " / ").split(" / ") if part.strip() and not _LAUNCHER_NOISE.search(part)
    ]
    return None, " ".join(said)[-200:] or f"exit code {code}"


def measure_all_pairs(
    mpi: Mpi,
    hosts: Sequence[str],
    path: Path,
    sizes: Sequence[int] = DEFAULT_SIZES,
    seconds: float = 300.0,
    resume: bool = False,
    meter: Meter = SILENT,
) -> AllPairs:
    """Measure until what is 20 % slower can be seen, at most twelve sweeps, and candidates again; return the measurement.

    No further sweep is begun that would end after so many ``seconds``. Hosts that do not answer are named on stderr, the others
    measured. With ``resume`` the newest measurement of the file goes on. Raises RankwiseError and its kinds.
    """
    hosts, silent, crowded = answering(mpi, hosts)
    for host, why in silent.items():
        tell(f"{host} does not answer ({why}): measuring the others")
    known: list[Mapping[str, Any]] = []
    if resume:
        head, known = _newest(path, Trace(False))
        if any(record["record"] == "complete" for record in known):
            return load(path)
        if set(head["hosts"]) - set(hosts):
            raise InputError(
                f"{path} was begun with {', '.join(sorted(set(head['hosts']) - set(hosts)))}, not there now: begin again"
            )
        hosts, sizes = [str(host) for host in head["hosts"]], [int(size) for size in head["sizes"]]
    with SamplesFile(path) as samples:
        if not resume:
            told = {"hosts": list(hosts), "silent": silent, "sizes": list(sizes), "mpi_library": mpi.library_version}
            head = samples.begin(kind=KIND, **told)
        run = _Run(mpi, head, known, samples, crowded, meter)
        began_s = time.monotonic()
        while run.needs_sweep():
            longest_s = max((record["seconds"] for record in run.records if record["record"] == "witness"), default=0.0)
            if run.sweeps() >= least_sweeps(len(hosts)) and time.monotonic() - began_s + longest_s > seconds:
                break
            run.sweep()
        run.confirm()
        samples.complete(head["campaign"])
    return load(path)


class _Run:
    """A measurement under way."""

    def __init__(
        self,
        mpi: Mpi,
        head: Mapping[str, Any],
        records: list[Mapping[str, Any]],
        samples: SamplesFile,
        crowded: bool,
        meter: Meter,
    ) -> None:
        self.mpi, self.head, self.records, self.samples, self.crowded, self.meter = mpi, head, records, samples, crowded, meter
        self.hosts: list[str] = list(head["hosts"])

    def sweeps(self) -> int:
        """Return how many sweeps have come to their end."""
        return len({record["sweep"] for record in self.records if record["record"] == "witness"} - {-1})

    def needs_sweep(self) -> bool:
        nodes, done = len(self.hosts), self.sweeps()
        if done < least_sweeps(nodes) or nodes < LEAST_NODES:
            return done < least_sweeps(nodes)
        return done < MOST_SWEEPS and not all(of_size.sees_enough for of_size in self.effects().values())

    def effects(self) -> dict[int, Effects]:
        campaign = _assembled(self.head, self.records)
        return {size: decompose(campaign.times(size), len(campaign.time_s)) for size in campaign.time_s}

    def sweep(self) -> None:
        number = self.sweeps()
        rng = random.Random(f"{self.head['campaign']}/{number}")
        nodes = len(self.hosts)
        order, rounds = list(range(nodes)), list(range(nodes + nodes % 2 - 1))
        rng.shuffle(order)
        rng.shuffle(rounds)
        self.meter.say(f"sweep {number + 1}")
        self._launch(number, [*map(str, rounds)], order)

    def confirm(self) -> None:
        """Measure candidates again, with other pairs than before."""
        if len(self.hosts) < LEAST_NODES or any(r["record"] == "witness" and r["sweep"] < 0 for r in self.records):
            return
        again = _candidates(self.effects(), _assembled(self.head, self.records).judged())
        if not again:
            return
        self.meter.say(f"{len(again)} pairs again")
        words: list[str] = []
        for pairs in confirmation_rounds(again, len(self.hosts), CONFIRMATIONS, 1):
            words.append("+".join(f"{a}-{b}" for a, b in pairs))
            if sum(map(len, words)) + len(words) > _ARGUMENT_BYTES:
                self._launch(-1, words)
                words = []
        if words:
            self._launch(-1, words)

    def _launch(self, sweep: int, rounds: Sequence[str], order: Sequence[int] = ()) -> None:
        known = {record["size_bytes"]: record for record in self.records if record["record"] == "samples"}
        arguments = [KIND, "--sizes", ",".join(map(str, self.head["sizes"])), "--rounds", ",".join(rounds)]
        if order:
            arguments += ["--order", ",".join(map(str, order))]
        if known:  # the same messages in all sweeps
            arguments += ["--messages", ",".join(str(known[size]["messages"]) for size in self.head["sizes"])]
            arguments += ["--repeats", ",".join(str(known[size]["repeats"]) for size in self.head["sizes"])]
        tags = {"campaign": self.head["campaign"], "class": "other-node", "sweep": sweep}
        began_s = time.monotonic()
        for line in stream_kernel(
            self.mpi, arguments, len(self.hosts), self.crowded, "streaming between all pairs", self.hosts
        ):
            if line["record"] == "samples" and not line["verified"]:
                raise RankwiseError(f"messages of {line['size_bytes']} B delivered wrong bytes: this MPI is unreliable")
            self._keep({**line, **tags})
            if line["record"] == "round":
                self.meter.advance()
        self._keep({"record": "witness", "seconds": time.monotonic() - began_s, **tags})

    def _keep(self, record: Mapping[str, Any]) -> None:
        self.samples.append(record)
        self.records.append(record)


def confirmation_rounds(candidates: Sequence[Pair], nodes: int, repetitions: int, seed: int) -> list[list[Pair]]:
    """Return rounds of disjoint pairs in which each candidate occurs so often, with as many other pairs, at least four.

    What nodes there are decides how many fit; candidates take at most half of them, so that the others tell what a round's
    level is. The others are drawn again for each round, so that what pairs share by chance does not stay.
    """
    rng = random.Random(f"{seed}/{nodes}/{len(candidates)}")
    known, rounds = set(candidates), []
    for _ in range(repetitions):
        waiting = list(candidates)
        rng.shuffle(waiting)
        while waiting:
            busy: set[int] = set()
            chosen: list[Pair] = []
            later: list[Pair] = []
            for pair in waiting:
                fits = not busy & set(pair) and (not chosen or 4 * len(chosen) + 4 <= nodes)
                (chosen if fits else later).append(pair)
                busy.update(pair if fits else ())
            free = [node for node in range(nodes) if node not in busy]
            rng.shuffle(free)
            wanted = len(chosen) + max(4, len(chosen))
            while len(free) > 1 and len(chosen) < wanted:
                a = free.pop()
                b = next((node for node in free if (min(a, node), max(a, node)) not in known), None)
                if b is not None:
                    free.remove(b)
                    chosen.append((min(a, b), max(a, b)))
            rounds.append(chosen)
            waiting = later
    return rounds


_NEEDED = {
    "campaign": ("campaign", "hosts", "silent", "sizes", "created"), "start": ("placements",), "end": ("placements",),
    "witness": ("seconds",),
    "round": ("round", "sweep", "partner", "seconds", "busy_s", "own_s"),
    "samples": ("round", "size_bytes", "messages", "repeats", "time_s"),
}  # fmt: skip


def load(path: Path) -> AllPairs:
    """Read the newest measurement of all pairs in a samples file. Raises InputError when there is none, or too little of it."""

    def read(trace: Trace) -> AllPairs:
        head, records = _newest(path, trace)
        try:
            return _assembled(head, records)
        except InputError as error:
            raise InputError(f"samples {path}: {error}") from None

    return read_through(read, f"samples {path}", "measure again")


def _newest(path: Path, trace: Trace) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    head: Mapping[str, Any] | None = None
    records: list[Mapping[str, Any]] = []
    hosts = 0
    for number, line in read_records(path, trace):
        if line["record"] == "campaign" and line.get("kind") == KIND:
            head, records = line, []
            require_fields(head, f"{path}, line {number}", _NEEDED)
            hosts = len(head["hosts"])
        elif head is not None and line.get("campaign") == head["campaign"]:
            require_fields(line, f"{path}, line {number}", _NEEDED)
            of_hosts = {"round": ("partner", "seconds", "busy_s", "own_s"), "start": ("placements",), "end": ("placements",)}
            for key in of_hosts.get(line["record"], ()):
                if not isinstance(line[key], list) or len(line[key]) != hosts:
                    raise InputError(f"{path}, line {number}: {key} is not of {hosts} hosts: measure again")
            records.append(line)
    if head is None:
        raise InputError(f"{path} holds no streams between all pairs: take them with 'rankwise measure all-pairs --hosts ...'")
    return head, records


def _assembled(head: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> AllPairs:
    hosts = tuple(str(host) for host in head["hosts"])
    sizes = [int(size) for size in head["sizes"]]
    partner: list[list[int]] = []
    sweep: list[int] = []
    times: dict[int, list[Floats]] = {size: [] for size in sizes}
    messages: dict[int, int] = {}
    busy: list[NDArray[np.bool_]] = []
    for placements, launch in _launches(records):
        work: list[Mapping[str, Any]] = []
        for round_, of_size in _rounds(launch):
            if set(of_size) != set(sizes):
                continue  # cut off
            who = np.asarray(round_["partner"])
            for size, samples in of_size.items():
                row = np.full(len(hosts), np.nan)
                if len(samples["time_s"]) != int(samples["repeats"]) * int(np.sum(who >= 0)):
                    raise InputError(
                        f"round {round_['round']} has not {samples['repeats']} times of each pair of {size} B: measure again"
                    )
                repeats = np.asarray(samples["time_s"], dtype=np.float64).reshape(-1, int(samples["repeats"]))
                row[who >= 0] = np.median(repeats, axis=1)
                times[size].append(row)
                messages[size] = int(samples["messages"])
            partner.append(round_["partner"])
            sweep.append(int(round_["sweep"]))
            work.append(round_)
        if work:
            busy.extend(_busy(placements, work))
    if not partner:
        raise InputError(f"measurement {head['campaign']} holds no round: measure again, or go on with --resume")
    seconds = sum(float(record["seconds"]) for record in records if record["record"] == "witness")
    return AllPairs(
        hosts, tuple(head["silent"]), str(head["created"]), seconds, messages, np.asarray(partner), np.asarray(sweep),
        {size: np.asarray(rows) for size, rows in times.items()}, np.asarray(busy),
        tcp_of(place for record in records if record["record"] == "end" for place in record["placements"]),
    )  # fmt: skip


def _launches(records: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Sequence[Mapping[str, Any]], list[Mapping[str, Any]]]]:
    starts = [i for i, record in enumerate(records) if record["record"] == "start"]
    for begin, end in pairwise([*starts, len(records)]):
        yield records[begin]["placements"], list(records[begin + 1 : end])


def _rounds(launch: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], dict[int, Mapping[str, Any]]]]:
    for i, line in enumerate(launch):
        if line["record"] == "round":
            of_round = [
                other for other in launch[i + 1 : i + 21] if other["record"] == "samples" and other["round"] == line["round"]
            ]
            yield line, {int(samples["size_bytes"]): samples for samples in of_round}


def _busy(placements: Sequence[Mapping[str, Any]], work: Sequence[Mapping[str, Any]]) -> NDArray[np.bool_]:
    """Say in which rounds (rows) which nodes (columns) had other work than our ranks: so much that no processor was left.

    Work is counted over as many rounds as last 0.2 s. What most nodes have is no node's own: it is in the round's level.
    """
    of_cpus = [frozenset(placement["cpus_allowed"]) for placement in placements]
    machines = [placement.get("machine", i) for i, placement in enumerate(placements)]
    inside, alike = np.eye(len(of_cpus)), np.eye(len(of_cpus))
    if len(set(machines)) < len(machines):  # hosts that are containers: what other ranks of ours do there is not other work
        for i, j in np.ndindex(inside.shape):
            inside[i, j] = machines[i] == machines[j] and of_cpus[j] <= of_cpus[i]
        alike = inside * inside.T
        alike /= alike.sum(axis=1, keepdims=True)
    spare = np.array([len(cpus) - 1 for cpus in of_cpus])
    seconds, busy_s, own_s = (np.asarray([record[key] for record in work]) for key in ("seconds", "busy_s", "own_s"))
    found = np.zeros(seconds.shape, dtype=bool)
    begin = 0
    for end in range(1, len(work) + 1):
        window = slice(begin, end)
        lasted_s = seconds[window].sum(axis=0)
        if lasted_s.min() < _WINDOW_S and end < len(work):
            continue
        if lasted_s.min() >= _WINDOW_S / 2:
            foreign = alike @ ((busy_s[window].sum(axis=0) - inside @ own_s[window].sum(axis=0)) / lasted_s)
            found[window] = (foreign > spare + _BUSY_CPUS) & (foreign > np.median(foreign) + _BUSY_MARGIN)
        begin = end
    return found
