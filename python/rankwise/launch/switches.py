"""Which leaf switch each node hangs on, where Slurm knows the topology."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence

from rankwise.errors import InputError, RankwiseError
from rankwise.launch.process import output_of
from rankwise.machine.hosts import parse_hosts
from rankwise.machine.switches import Switches, parse_switches


def leaf_switches(hosts: Sequence[str]) -> list[str | None]:
    """Return each host's leaf switch, None where nobody knows it."""
    if shutil.which("scontrol") is None:
        return [None] * len(hosts)
    try:
        code, text = output_of(["scontrol", "show", "topology"], timeout_s=20)
    except RankwiseError:
        return [None] * len(hosts)
    leaf_of = parse_topology(text) if code == 0 else {}
    return [leaf_of.get(host) for host in hosts]


def ask_slurm() -> Switches:
    """Return the switches above nodes as Slurm knows them: by scontrol, or inside an allocation by a task on each node.

    Raises InputError.
    """
    if shutil.which("scontrol") is not None:
        code, text = output_of(["scontrol", "show", "topology"], timeout_s=20)
        if code == 0 and re.search(r"(Switch|Block)Name=", text):
            return parse_switches(text, "scontrol show topology")
        if "SLURM_JOB_ID" in os.environ:
            code, text = output_of(["srun", "--ntasks-per-node=1", "printenv", "SLURM_TOPOLOGY_ADDR"], timeout_s=60)
            if code == 0 and text.strip():
                return parse_switches(text, "SLURM_TOPOLOGY_ADDR")
    raise InputError(
        "--topology slurm: Slurm tells no switches here: give its topology.conf, or the text of scontrol show topology"
    )


def parse_topology(text: str) -> dict[str, str]:
    """Return the leaf switch of each node from what ``scontrol show topology`` prints; a leaf has level 0."""
    leaf_of = {}
    for line in text.splitlines():
        match = re.search(r"\bSwitchName=(\S+)\s+Level=0\b.*\bNodes=(\S+)", line)
        if match:
            try:
                leaf_of.update(dict.fromkeys(parse_hosts(match[2]), match[1]))
            except InputError:
                continue
    return leaf_of
