"""Streams between all pairs of nodes: what they took, and which node, direction or cable is slow."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.api.requests import Streams
from rankwise.api.results import Plot, Result
from rankwise.blocks import NO, UNCLEAR, YES, Block, Listing, Sentence
from rankwise.errors import EXIT_OK, EXIT_REGRESSION, EXIT_UNCLEAR, EXIT_UNUSABLE, InputError
from rankwise.launch.allocation import allocated_hosts, leaf_switches
from rankwise.launch.mpi import find_mpi
from rankwise.launch.under_way import require_seconds, under_way
from rankwise.machine.hosts import parse_hosts
from rankwise.machine.record import tcp_words
from rankwise.measure.all_pairs import DEFAULT_SIZES, AllPairs, Judgement, judge, load, measure_all_pairs
from rankwise.measure.slow_nodes import Effects, Finding, exclude
from rankwise.records import Record, computed, key, record, told
from rankwise.units import format_size, format_time, parse_sizes


@record
class StreamTime(Record):
    """Messages of one size between all pairs."""

    size_bytes: int = key("size of a message")
    messages: int = key("messages of a stream")
    p05_s: float = key("below which 5 % of the pairs lie", after="median_s")
    median_s: float = key("time of a message, the median of the pairs")
    p95_s: float = key("below which 95 % of the pairs lie")


@record
class StreamTimes(Result, rows="figures"):
    """What a message of each size took between all pairs: ``measurement`` has all of it, ``samples`` is its file."""

    campaign: AllPairs = key("the measurement", inline=True)
    samples: Path = key("file of the samples")

    @property
    @told("by size of the messages")
    def figures(self) -> list[StreamTime]:
        campaign, rows = self.campaign, []
        for size in campaign.time_s:
            times_s = campaign.time_s[size][campaign.sweep >= 0] / campaign.messages[size]
            rows.append(StreamTime(size, campaign.messages[size], *np.nanquantile(times_s, [0.05, 0.5, 0.95]).tolist()))
        return rows

    def blocks(self) -> Iterator[Block]:
        yield Sentence(headline(self.campaign))
        for row in self.figures:
            size, middle = row.size_bytes, row.median_s
            rate = f", {size / middle / 1e6:.4g} MB/s" if size > 8192 else ""
            yield Sentence(
                f"{format_size(size)}, {row.messages} in a stream: each takes {format_time(middle)}{rate} one way "
                f"between most, {format_time(row.p05_s)} to {format_time(row.p95_s)} between 90 % of the pairs"
            )
        yield Sentence(f"{self.samples}; next: rankwise doctor --nodes --from {shlex.quote(str(self.samples))}", "samples")


def campaign_of(asked: Streams) -> AllPairs:
    """Measure all pairs of nodes. Raises InputError, InterruptedWorkError."""
    hosts = tuple(parse_hosts(asked.hosts)) if asked.hosts else allocated_hosts()
    if len(hosts) < 2:
        there = f"{hosts[0]} alone has no other node to measure with" if hosts else "no nodes to measure between"
        raise InputError(f"{there}: name them with --hosts n[01-16], or start it inside a Slurm allocation")
    require_seconds(asked.seconds)
    sizes = tuple(sorted(set(parse_sizes(asked.sizes)))) if asked.sizes else DEFAULT_SIZES
    if len(sizes) > 20 or max(sizes) > 1 << 27:
        raise InputError("sizes of streams between all pairs are at most twenty, up to 128 MiB")
    with under_way("streaming", len(hosts) - 1, f"all samples so far are in {asked.samples}: go on with --resume") as progress:
        return measure_all_pairs(find_mpi(), hosts, asked.samples, sizes, asked.seconds, asked.resume, progress)


def headline(campaign: AllPairs) -> str:
    """Say how much was measured."""
    rounds = int(np.sum(campaign.sweep == 0))
    sweeps = int(campaign.sweep.max()) + 1
    return f"{len(campaign.hosts)} nodes, {rounds} rounds x {sweeps}, {campaign.seconds:.0f} s"


@record
class Slow(Record):
    """A node, a direction or a pair that is slow."""

    campaign: AllPairs
    finding: Finding
    kind = computed("leaf, node, sends, receives, pair or one-way", str, lambda of: of.finding.kind)
    hosts = computed(
        "hosts that are slow; of one-way from the first to the second", list[str],
        lambda of: [of.campaign.hosts[node] for node in of.finding.nodes],
    )  # fmt: skip
    switch = computed("number of the switch; null: it is no leaf", "int | None", lambda of: of.finding.leaf)
    ratio = computed("how many times as long its messages take as those of the median node", float, lambda of: of.finding.ratio)
    ratio_ci = computed("", tuple[float, float], lambda of: (of.finding.low, of.finding.high))
    other_ratio = computed(
        "ratio of the direction that is sound; null: there is none", "float | None", lambda of: of.finding.other_ratio
    )
    size_bytes = computed("size of the messages", int, lambda of: of.finding.size_bytes)
    confirmed = computed(
        "in how many of how many repetitions it was slow", "tuple[int, int] | None", lambda of: of.finding.confirmed
    )
    words = computed("the finding in a sentence", str, lambda of: _in_words(of.campaign, of.finding).strip())


@record
class Busy(Record):
    """A host with other work, which gets no verdict."""

    host: str = key("name of the host")
    rounds: int = key("rounds in which the host had other work")
    of: int = key("rounds in all")


@record
class SizeFigures(Record):
    """What was found with messages of one size; ratios by the median node."""

    size_bytes: int = key("size of a message")
    messages: int = key("messages of a stream")
    effects: Effects
    noise = computed("standard deviation of one time's logarithm", float, lambda of: of.effects.noise)
    visible_node_ratio = computed(
        "from which on a slow node is seen with 95 % probability", float, lambda of: of.effects.visible_node()
    )
    visible_pair_ratio = computed(
        "from which on a slow pair is seen with 95 % probability", float, lambda of: of.effects.visible_pair()
    )
    sends_ratio = computed("by node, of what it sends", list[float], lambda of: _exp(of.effects.sends))
    receives_ratio = computed("by node, of what it receives", list[float], lambda of: _exp(of.effects.receives))
    sends_ratio_ci = computed("", list[tuple[float, float]], lambda of: of.around(of.effects.sends))
    receives_ratio_ci = computed("", list[tuple[float, float]], lambda of: of.around(of.effects.receives))
    residual_ratio = computed(
        "what is left of each pair: a row a sender, a column a receiver; null: nothing was measured",
        list[list[float | None]],
        lambda of: [[None if math.isnan(x) else math.exp(x) for x in row] for row in of.effects.residual.tolist()],
    )

    def around(self, effect: Any) -> Any:
        """Return the 95 % interval around each node's effect, as ratios."""
        return _exp(effect[:, None] + [-self.effects.half_width, self.effects.half_width])


@record
class SlowNodes(Result, rows="findings"):
    """What is slow: ``words`` says it line by line, ``exit_code`` in a number."""

    campaign: AllPairs = key("the measurement", inline=True)
    judgement: Judgement
    words: list[str] = key("the answer in a sentence", name="answer", kind=str, write=lambda words: words[0])
    exit_code: int = key("exit code of the command")
    findings = computed("what is slow", list[Slow], lambda of: [Slow(of.campaign, one) for one in of.judgement.findings])
    exclude = computed(
        "hosts without which no finding would be left", list[str], lambda of: _left_out(of.campaign, of.judgement)
    )
    slurm = computed(
        "option of Slurm that leaves them out; null: none",
        "str | None",
        lambda of: _slurm(of.campaign, of.judgement) if of.judgement.findings else None,
    )
    busy = computed("hosts with other work", list[Busy], lambda of: of.busy_hosts())
    figures = computed(
        "by size of the messages",
        list[SizeFigures],
        lambda of: [SizeFigures(size, of.campaign.messages[size], one) for size, one in of.judgement.effects.items()],
    )

    def busy_hosts(self) -> list[Busy]:
        campaign, rounds = self.campaign, self.campaign.busy_rounds()
        busy = (~self.judgement.judged).nonzero()[0]
        return [Busy(campaign.hosts[i], int(rounds[i]), len(campaign.sweep)) for i in busy]

    def blocks(self) -> Iterator[Block]:
        first, *others = self.words
        yield Sentence(first, mark=NO if self.findings else YES if self.exit_code == EXIT_OK else UNCLEAR)
        told = (line.strip().partition("  ") for line in others)
        yield Listing([(name, text) if text else ("", name) for name, _, text in told])

    @property
    def conclusion(self) -> str:
        return f"{self.words[0]}."

    def plot(self) -> Plot:
        """Draw who sends to whom how slowly."""
        from rankwise.report.pairs import heat_map

        return Plot(heat_map(self.judgement.effects, self.campaign.hosts, self.words), self.words)


def slow_nodes(asked: Streams | None = None, samples: Path | None = None) -> SlowNodes:
    """Name slow nodes, directions and pairs, measured now or (``samples``) kept in a file.

    Raises InputError, InterruptedWorkError, RankwiseError and its kinds.
    """
    campaign = load(samples) if samples is not None else campaign_of(asked or Streams())
    judgement = judge(campaign, leaf_switches(campaign.hosts))
    return SlowNodes(campaign, judgement, *_verdict(campaign, judgement))


def _verdict(campaign: AllPairs, judgement: Judgement) -> tuple[list[str], int]:
    """Say what was found, the conclusion first, and return the exit code with it."""
    findings = [_in_words(campaign, finding) for finding in judgement.findings]
    busy_rounds = campaign.busy_rounds()
    busy = [
        f"  {campaign.hosts[i]}  busy with other work in {busy_rounds[i]} of {len(campaign.sweep)} rounds: no verdict"
        for i in np.flatnonzero(~judgement.judged)
    ]
    silent = [f"  {host}  did not answer: not measured" for host in campaign.silent]
    blind = [f"  {line}" for size, effects in judgement.effects.items() if (line := _blind(size, effects))]
    if findings:
        conclusion, code = f"{len(findings)} finding{'s' * (len(findings) > 1)}", EXIT_REGRESSION
    elif busy:
        others = "too noisy to see what is 20 % slower among the others" if blind else "nothing slow among the others"
        conclusion, code = f"{len(busy)} busy, {others}", EXIT_UNUSABLE
    elif blind:
        conclusion, code = "too noisy to see what is 20 % slower", EXIT_UNCLEAR
    else:
        conclusion, code = (
            "nothing slow: " + ", ".join(_seen(size, effects) for size, effects in judgement.effects.items()),
            EXIT_OK,
        )
    tcp = [f"  between nodes  TCP, {tcp_words(campaign.tcp)}"] if campaign.tcp else []
    lines = [f"{headline(campaign)}: {conclusion}", *findings, *blind, *busy, *silent, *tcp]
    if findings:
        lines.append(f"leave out in Slurm: {_slurm(campaign, judgement)}")
    return lines, code


def _seen(size: int, effects: Effects) -> str:
    node, pair = 100 * (effects.visible_node() - 1), 100 * (effects.visible_pair() - 1)
    return f"at {format_size(size)} a node {node:.0f} % slower would have been seen, a pair {pair:.0f} %"


def _blind(size: int, effects: Effects) -> str:
    return "" if effects.sees_enough else f"noise of {100 * effects.noise:.0f} % a time: {_seen(size, effects)}"


def _in_words(campaign: AllPairs, finding: Finding) -> str:
    names = [campaign.hosts[node] for node in finding.nodes]
    interval = f"95 %: {finding.low:.2f}-{finding.high:.2f}"
    ratio, size = f"{finding.ratio:.2f}", format_size(finding.size_bytes)
    confirmed = "" if finding.confirmed is None else f"confirmed {finding.confirmed[0]} of {finding.confirmed[1]}"
    other = "" if finding.other_ratio is None else f"{finding.other_ratio:.2f}"
    if finding.kind == "leaf":
        return (f"  switch {finding.leaf}  more than half of its nodes {ratio} times as slow as the median node ({interval}; "
                f"{size}): the switch or its uplink")  # fmt: skip
    if finding.kind == "node":
        return (f"  {names[0]}  sends and receives {ratio} times as slow as the median node ({interval}; {size}): "
                "the node, its NIC or cable")  # fmt: skip
    if finding.kind == "sends":
        return (f"  {names[0]}  sends {ratio} times as slow as the median node ({interval}; receives {other}; {size}): "
                "its NIC's send side or cable")  # fmt: skip
    if finding.kind == "receives":
        return (f"  {names[0]}  receives {ratio} times as slow as the median node ({interval}; sends {other}; {size}): "
                "its NIC's receive side or cable")  # fmt: skip
    if finding.kind == "pair":
        return (f"  {names[0]} - {names[1]}  {ratio} times as slow in both directions ({interval}; {size}), both nodes "
                f"otherwise as they are with others ({confirmed}): the path between them")  # fmt: skip
    return (f"  {names[0]} > {names[1]}  {ratio} times as slow in this direction ({interval}; {size}) ({confirmed}): "
            "the path that way")  # fmt: skip


def _left_out(campaign: AllPairs, judgement: Judgement) -> list[str]:
    return [campaign.hosts[node] for node in exclude(judgement.findings)]


def _slurm(campaign: AllPairs, judgement: Judgement) -> str:
    return f"--exclude={','.join(_left_out(campaign, judgement))}"


def _exp(values: Any) -> Any:
    return np.exp(values)
