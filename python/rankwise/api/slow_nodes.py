"""Which node, direction or cable is slow: streams between all pairs of nodes, judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.api.all_pairs import Streams, campaign_json, campaign_of, headline
from rankwise.api.results import Plot, Result
from rankwise.errors import EXIT_OK, EXIT_REGRESSION, EXIT_UNCLEAR, EXIT_UNUSABLE
from rankwise.units import format_size

if TYPE_CHECKING:
    from rankwise.measure.all_pairs import AllPairs, Judgement
    from rankwise.measure.slow_nodes import Effects, Finding


@dataclass(frozen=True)
class SlowNodes(Result):
    """What is slow: ``words`` says it line by line, ``exit_code`` in a number."""

    campaign: AllPairs
    judgement: Judgement
    words: list[str]
    exit_code: int

    def to_dict(self) -> dict[str, Any]:
        return _record(self)

    def records(self) -> list[dict[str, Any]]:
        return list(self.to_dict()["findings"])

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
    from rankwise.launch.switches import leaf_switches
    from rankwise.measure.all_pairs import judge, load

    campaign = load(samples) if samples is not None else campaign_of(asked or Streams())
    judgement = judge(campaign, leaf_switches(campaign.hosts))
    return SlowNodes(campaign, judgement, *_verdict(campaign, judgement))


def _verdict(campaign: AllPairs, judgement: Judgement) -> tuple[list[str], int]:
    """Say what was found, the conclusion first, and return the exit code with it."""
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
