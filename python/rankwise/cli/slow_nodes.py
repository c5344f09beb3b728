"""``rankwise measure all-pairs`` and ``rankwise doctor --nodes``: streams between all nodes, and which are slow."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.cli.base import print_json, tell
from rankwise.errors import EXIT_OK, EXIT_REGRESSION, EXIT_UNCLEAR, EXIT_UNUSABLE, InputError, InterruptedWorkError
from rankwise.units import format_size, format_time, parse_sizes

if TYPE_CHECKING:
    from rankwise.measure.all_pairs import AllPairs, Judgement
    from rankwise.measure.slow_nodes import Effects, Finding

SAMPLES = Path("nodes.samples.jsonl")


@dataclass(frozen=True)
class Asked:
    """What is to be measured: ``hosts`` as written (None: the allocation's), where samples go, at most how long."""

    hosts: str | None
    samples: Path
    sizes: str | None = None
    seconds: float = 300.0
    resume: bool = False


def measure_all(asked: Asked, as_json: bool) -> int:
    """Measure all pairs of nodes and print what each size took; what is slow is the doctor's to say."""
    campaign = _measured(asked)
    rows: list[tuple[int, float, float, float]] = []
    for size in campaign.time_s:
        times_s = campaign.time_s[size][campaign.sweep >= 0] / campaign.messages[size]
        low, middle, high = (float(value) for value in np.nanquantile(times_s, [0.05, 0.5, 0.95]))
        rows.append((size, middle, low, high))
    if as_json:
        figures = [
            {"size_bytes": size, "messages": campaign.messages[size], "median_s": middle, "p05_s": low, "p95_s": high}
            for size, middle, low, high in rows
        ]
        print_json({**_campaign_json(campaign), "samples": str(asked.samples), "figures": figures})
    else:
        print(_headline(campaign))
        for size, middle, low, high in rows:
            rate = f", {size / middle / 1e6:.4g} MB/s" if size > 8192 else ""
            print(f"{format_size(size)}, {campaign.messages[size]} in a stream: each takes {format_time(middle)}{rate} one way between most, "
                  f"{format_time(low)} to {format_time(high)} between 90 % of the pairs")  # fmt: skip
    tell(f"samples: {asked.samples}; next: rankwise doctor --nodes --from {shlex.quote(str(asked.samples))}")
    return EXIT_OK


def doctor_nodes(asked: Asked, present: Path | None, plot: Path | None, as_json: bool) -> int:
    """Name slow nodes, directions and pairs, measured now or (``present``) kept in a file; return the exit code."""
    from rankwise.launch.switches import leaf_switches
    from rankwise.measure.all_pairs import judge, load

    if plot is not None and plot.suffix not in (".svg", ".html"):
        raise InputError(f"--plot {plot} is no picture that can be drawn: give it the ending .svg or .html")
    campaign = load(present) if present is not None else _measured(asked)
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


def _measured(asked: Asked) -> AllPairs:
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
    lines = [f"{_headline(campaign)}: {conclusion}", *findings, *blind, *busy, *silent]
    if findings:
        lines.append(f"leave out in Slurm: {_slurm(campaign, judgement)}")
    return lines, code


def _headline(campaign: AllPairs) -> str:
    rounds = int(np.sum(campaign.sweep == 0))
    sweeps = int(campaign.sweep.max()) + 1
    return f"{len(campaign.hosts)} nodes, {rounds} rounds x {sweeps}, {campaign.seconds:.0f} s"


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


def _campaign_json(campaign: AllPairs) -> dict[str, Any]:
    return {
        "hosts": list(campaign.hosts),
        "silent": list(campaign.silent),
        "created": campaign.created,
        "seconds": campaign.seconds,
        "sweeps": int(campaign.sweep.max()) + 1,
        "rounds": int(np.sum(campaign.sweep >= 0)),
    }


def _json(campaign: AllPairs, judgement: Judgement, words: Sequence[str], code: int) -> dict[str, Any]:
    busy_rounds, found = campaign.busy_rounds(), bool(judgement.findings)
    return {
        **_campaign_json(campaign),
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
