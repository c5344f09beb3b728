"""``rankwise measure all-pairs`` and ``rankwise doctor --nodes``: streams between all nodes, and which are slow."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.api.all_pairs import Streams, StreamTimes, campaign_json, campaign_of, headline
from rankwise.cli.base import print_json, tell
from rankwise.errors import EXIT_OK, EXIT_REGRESSION, EXIT_UNCLEAR, EXIT_UNUSABLE, InputError
from rankwise.units import format_size, format_time

if TYPE_CHECKING:
    from rankwise.measure.all_pairs import AllPairs, Judgement
    from rankwise.measure.slow_nodes import Effects, Finding

def show_streams(found: StreamTimes, as_json: bool) -> None:
    """Print what each size took between all pairs of nodes; what is slow is the doctor's to say."""
    if as_json:
        print_json(found.to_dict())
    else:
        print(headline(found.campaign))
        for row in found.records():
            size, middle = row["size_bytes"], row["median_s"]
            rate = f", {size / middle / 1e6:.4g} MB/s" if size > 8192 else ""
            print(f"{format_size(size)}, {row['messages']} in a stream: each takes {format_time(middle)}{rate} one way between most, "
                  f"{format_time(row['p05_s'])} to {format_time(row['p95_s'])} between 90 % of the pairs")  # fmt: skip
    tell(f"samples: {found.samples}; next: rankwise doctor --nodes --from {shlex.quote(str(found.samples))}")


def doctor_nodes(asked: Streams, present: Path | None, plot: Path | None, as_json: bool) -> int:
    """Name slow nodes, directions and pairs, measured now or (``present``) kept in a file; return the exit code."""
    from rankwise.launch.switches import leaf_switches
    from rankwise.measure.all_pairs import judge, load

    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise InputError(f"--plot {plot} is no picture that can be drawn: give it the ending .svg or .html")
    campaign = load(present) if present is not None else campaign_of(asked)
    judgement = judge(campaign, leaf_switches(campaign.hosts))
    words, code = verdict(campaign, judgement)
    if plot is not None:
        from rankwise.files import write_whole
        from rankwise.report.document import plain_page
        from rankwise.report.heat_map import heat_map

        chart = heat_map(judgement.effects, campaign.hosts, words)
        write_whole(plot, chart.file() if plot.suffix == ".svg" else plain_page("rankwise doctor --nodes", words, chart))
        tell(f"picture: {plot}")
    if as_json:
        print_json(_json(campaign, judgement, words, code))
    else:
        print("\n".join(words))
    return code


def verdict(campaign: AllPairs, judgement: Judgement) -> tuple[list[str], int]:
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
        return (f"  {names[0]} - {names[1]}  {ratio} times as slow in both directions ({interval}; {size}), both nodes otherwise as they "
                f"are with others ({confirmed}): the path between them")  # fmt: skip
    return (f"  {names[0]} > {names[1]}  {ratio} times as slow in this direction ({interval}; {size}) ({confirmed}): "
            "the path that way")  # fmt: skip


def _left_out(campaign: AllPairs, judgement: Judgement) -> list[str]:
    from rankwise.measure.slow_nodes import exclude

    return [campaign.hosts[node] for node in exclude(judgement.findings)]


def _slurm(campaign: AllPairs, judgement: Judgement) -> str:
    return f"--exclude={','.join(_left_out(campaign, judgement))}"


def _json(campaign: AllPairs, judgement: Judgement, words: Sequence[str], code: int) -> dict[str, Any]:
    busy_rounds, found = campaign.busy_rounds(), bool(judgement.findings)
    return {
        **campaign_json(campaign),
        "answer": words[0],
        "exit_code": code,
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
        "slurm": _slurm(campaign, judgement) if found else None,
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
