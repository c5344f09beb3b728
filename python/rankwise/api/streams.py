"""Streams between all pairs of nodes: what they took, and which node, direction or cable is slow."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rankwise.api.results import Plot, Result
from rankwise.blocks import Block, Lines, Sentence
from rankwise.errors import EXIT_OK, EXIT_REGRESSION, EXIT_UNCLEAR, EXIT_UNUSABLE, InputError, InterruptedWorkError
from rankwise.questions import Options, option
from rankwise.units import format_size, format_time, parse_sizes

if TYPE_CHECKING:
    from rankwise.measure.all_pairs import AllPairs, Judgement
    from rankwise.measure.slow_nodes import Effects, Finding

SAMPLES = Path("nodes.samples.jsonl")


@dataclass(frozen=True)
class Streams(Options):
    """Between which nodes, of which sizes, and for how long at most."""

    hosts: str | None = option(None, "--nodes: the nodes, as in n[01-16]. Default: all of the Slurm allocation.")
    samples: Path = option(SAMPLES, "--nodes: where the samples go.")
    sizes: str | None = option(None, "--nodes: sizes of messages. Default: 8,1MB.")
    seconds: float = option(300.0, "--nodes: begin no further sweep that would end later.")
    resume: bool = option(False, "--nodes: go on with an interrupted campaign.", "--resume")


@dataclass(frozen=True)
class StreamTimes(Result):
    """What a message of each size took between all pairs: ``campaign`` has all of it, ``samples`` is its file."""

    campaign: AllPairs
    samples: Path

    def to_dict(self) -> dict[str, Any]:
        return {**campaign_json(self.campaign), "samples": str(self.samples), "figures": self.records()}

    def records(self) -> list[dict[str, Any]]:
        import numpy as np

        campaign, rows = self.campaign, []
        for size in campaign.time_s:
            times_s = campaign.time_s[size][campaign.sweep >= 0] / campaign.messages[size]
            low, middle, high = (float(value) for value in np.nanquantile(times_s, [0.05, 0.5, 0.95]))
            rows.append(
                {"size_bytes": size, "messages": campaign.messages[size], "median_s": middle, "p05_s": low, "p95_s": high}
            )
        return rows

    def blocks(self) -> Iterator[Block]:
        yield Sentence(headline(self.campaign))
        for row in self.records():
            size, middle = row["size_bytes"], row["median_s"]
            rate = f", {size / middle / 1e6:.4g} MB/s" if size > 8192 else ""
            yield Sentence(
                f"{format_size(size)}, {row['messages']} in a stream: each takes {format_time(middle)}{rate} one way "
                f"between most, {format_time(row['p05_s'])} to {format_time(row['p95_s'])} between 90 % of the pairs"
            )
        yield Sentence(f"{self.samples}; next: rankwise doctor --nodes --from {shlex.quote(str(self.samples))}", "samples")


def measured(asked: Streams) -> StreamTimes:
    """Measure all pairs of nodes. Raises InputError, InterruptedWorkError, RankwiseError and its kinds."""
    return StreamTimes(campaign_of(asked), asked.samples)


def campaign_of(asked: Streams) -> AllPairs:
    """Measure all pairs of nodes. Raises InputError, InterruptedWorkError."""
    from rankwise.launch import find_mpi
    from rankwise.launch.allocation import allocated_hosts
    from rankwise.machine.hosts import parse_hosts
    from rankwise.measure.all_pairs import DEFAULT_SIZES, measure_all_pairs
    from rankwise.progress import meter

    hosts = tuple(parse_hosts(asked.hosts)) if asked.hosts else allocated_hosts()
    if len(hosts) < 2:
        there = f"{hosts[0]} alone has no other node to measure with" if hosts else "no nodes to measure between"
        raise InputError(f"{there}: name them with --hosts n[01-16], or start it inside a Slurm allocation")
    if not 0 < asked.seconds < 1e6:
        raise InputError(f"seconds {asked.seconds:g} is not a time to spend: give one above 0")
    sizes = tuple(sorted(set(parse_sizes(asked.sizes)))) if asked.sizes else DEFAULT_SIZES
    if len(sizes) > 20 or max(sizes) > 1 << 27:
        raise InputError("sizes of streams between all pairs are at most twenty, up to 128 MiB")
    try:
        with meter("streaming", len(hosts) - 1) as progress:
            return measure_all_pairs(find_mpi(), hosts, asked.samples, sizes, asked.seconds, asked.resume, progress)
    except KeyboardInterrupt:
        raise InterruptedWorkError(f"interrupted: all samples so far are in {asked.samples}: go on with --resume") from None


def headline(campaign: AllPairs) -> str:
    """Say how much was measured."""
    import numpy as np

    rounds = int(np.sum(campaign.sweep == 0))
    sweeps = int(campaign.sweep.max()) + 1
    return f"{len(campaign.hosts)} nodes, {rounds} rounds x {sweeps}, {campaign.seconds:.0f} s"


def campaign_json(campaign: AllPairs) -> dict[str, Any]:
    """Return as JSON what was measured between whom."""
    import numpy as np

    return {
        "hosts": list(campaign.hosts),
        "silent": list(campaign.silent),
        "created": campaign.created,
        "seconds": campaign.seconds,
        "sweeps": int(campaign.sweep.max()) + 1,
        "rounds": int(np.sum(campaign.sweep >= 0)),
    }


@dataclass(frozen=True)
class SlowNodes(Result):
    """What is slow: ``words`` says it line by line, ``exit_code`` in a number."""

    campaign: AllPairs
    judgement: Judgement
    words: list[str]
    exit_code: int

    _rows: ClassVar[str] = "findings"

    def to_dict(self) -> dict[str, Any]:
        return _record(self)

    def blocks(self) -> Iterator[Block]:
        yield Lines(self.words)

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
    from rankwise.launch.allocation import leaf_switches
    from rankwise.measure.all_pairs import judge, load

    campaign = load(samples) if samples is not None else campaign_of(asked or Streams())
    judgement = judge(campaign, leaf_switches(campaign.hosts))
    return SlowNodes(campaign, judgement, *_verdict(campaign, judgement))


def _verdict(campaign: AllPairs, judgement: Judgement) -> tuple[list[str], int]:
    """Say what was found, the conclusion first, and return the exit code with it."""
    import numpy as np

    findings = [_in_words(campaign, finding) for finding in judgement.findings]
    busy_rounds = campaign.busy_rounds()
    busy = [
        f"  {campaign.hosts[i]}  busy with other work in {busy_rounds[i]} of {len(campaign.sweep)} rounds: not judged"
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
    lines = [f"{headline(campaign)}: {conclusion}", *findings, *blind, *busy, *silent]
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
                "the node, its card or cable")  # fmt: skip
    if finding.kind == "sends":
        return (f"  {names[0]}  sends {ratio} times as slow as the median node ({interval}; receives {other}; {size}): "
                "its card's send side or cable")  # fmt: skip
    if finding.kind == "receives":
        return (f"  {names[0]}  receives {ratio} times as slow as the median node ({interval}; sends {other}; {size}): "
                "its card's receive side or cable")  # fmt: skip
    if finding.kind == "pair":
        return (f"  {names[0]} - {names[1]}  {ratio} times as slow in both directions ({interval}; {size}), both nodes "
                f"otherwise as they are with others ({confirmed}): the path between them")  # fmt: skip
    return (f"  {names[0]} > {names[1]}  {ratio} times as slow in this direction ({interval}; {size}) ({confirmed}): "
            "the path that way")  # fmt: skip


def _left_out(campaign: AllPairs, judgement: Judgement) -> list[str]:
    from rankwise.measure.slow_nodes import exclude

    return [campaign.hosts[node] for node in exclude(judgement.findings)]


def _slurm(campaign: AllPairs, judgement: Judgement) -> str:
    return f"--exclude={','.join(_left_out(campaign, judgement))}"


def _record(found: SlowNodes) -> dict[str, Any]:
    import numpy as np

    campaign, judgement = found.campaign, found.judgement
    busy_rounds = campaign.busy_rounds()
    return {
        **campaign_json(campaign),
        "answer": found.words[0],
        "exit_code": found.exit_code,
        "findings": [
            {
                "kind": finding.kind,
                "hosts": [campaign.hosts[node] for node in finding.nodes],
                "switch": finding.leaf,
                "ratio": finding.ratio,
                "ratio_ci": [finding.low, finding.high],
                "other_ratio": finding.other_ratio,
                "size_bytes": finding.size_bytes,
                "confirmed": None if finding.confirmed is None else list(finding.confirmed),
                "words": _in_words(campaign, finding).strip(),
            }
            for finding in judgement.findings
        ],
        "exclude": _left_out(campaign, judgement),
        "slurm": _slurm(campaign, judgement) if judgement.findings else None,
        "busy": [
            {"host": campaign.hosts[i], "rounds": int(busy_rounds[i]), "of": len(campaign.sweep)}
            for i in np.flatnonzero(~judgement.judged)
        ],
        "figures": [
            {
                "size_bytes": size,
                "messages": campaign.messages[size],
                "noise": effects.noise,
                "visible_node_ratio": effects.visible_node(),
                "visible_pair_ratio": effects.visible_pair(),
                "sends_ratio": np.exp(effects.sends).tolist(),
                "receives_ratio": np.exp(effects.receives).tolist(),
                "sends_ratio_ci": np.exp(effects.sends[:, None] + [-effects.half_width, effects.half_width]).tolist(),
                "receives_ratio_ci": np.exp(effects.receives[:, None] + [-effects.half_width, effects.half_width]).tolist(),
                "residual_ratio": [[None if np.isnan(x) else float(np.exp(x)) for x in row] for row in effects.residual],
            }
            for size, effects in judgement.effects.items()
        ],
    }
