"""The Slurm allocation that this process runs in: its nodes, and those that it has lost."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from rankwise.errors import RankwiseError, UnusableEnvironmentError
from rankwise.launch.process import output_of
from rankwise.machine.hosts import parse_hosts
from rankwise.progress import tell

_GONE = ("down", "fail", "drain", "not_responding", "unknown", "power")


@dataclass(frozen=True)
class Allocation:
    """A job's nodes as it was given them, and how many ranks each is to take (None: the job did not say)."""

    job_id: str
    hosts: tuple[str, ...]
    ranks_per_node: int | None = None

    def present_hosts(self) -> tuple[str, ...]:
        """Return the nodes that the job still has and that work, in their order; those it was given where Slurm is silent."""
        here = self._job_hosts() or self.hosts
        lost = self._down()
        return tuple(host for host in self.hosts if host in here and host not in lost)

    def loss(self) -> str:
        """Say which nodes are lost, and how to go on; empty when none is."""
        down = self._down()
        gone = [host for host in self.hosts if host not in self.present_hosts()]
        if not gone:
            return ""
        words = ", ".join(f"{host} ({down.get(host, 'taken from the job')})" for host in gone)
        return f"job {self.job_id} has lost {words}, {len(self.hosts) - len(gone)} of its {len(self.hosts)} nodes are left"

    def _job_hosts(self) -> tuple[str, ...]:
        match = re.search(r"\bNodeList=(\S+)", _ask("scontrol", "show", "job", "-o", self.job_id))
        return tuple(parse_hosts(match[1])) if match and match[1] != "(null)" else ()

    def _down(self) -> dict[str, str]:
        """Return the state and reason of nodes that do not work."""
        lines = _ask("sinfo", "-h", "-N", "-n", ",".join(self.hosts), "-o", "%N|%T|%E").splitlines()
        states = (line.split("|", 2) for line in lines if line.count("|") >= 2)
        return {
            host: f"{state.rstrip('*')}: {reason}" if reason.strip() not in ("", "none") else state.rstrip("*")
            for host, state, reason in states
            if state.lower().startswith(_GONE) or state.endswith("*")
        }


def find_allocation() -> Allocation | None:
    """Return the allocation that this process runs in, or None. Raises InputError when its node list makes no sense."""
    job, nodes = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_JOB_NODELIST")
    if not job or not nodes:
        return None
    asked = os.environ.get("SLURM_NTASKS_PER_NODE", "")
    return Allocation(job, tuple(parse_hosts(nodes)), int(asked) if asked.isdecimal() and int(asked) > 0 else None)


def allocated_hosts() -> tuple[str, ...]:
    """Return the nodes to measure between: those of the allocation that still work, none outside of one.

    Says so when some are lost.
    """
    allocation = find_allocation()
    if allocation is None or len(allocation.hosts) < 2:
        return ()
    present = allocation.present_hosts()
    if len(present) < len(allocation.hosts):
        tell(f"{allocation.loss()}: going on with these")
    return present if len(present) > 1 else ()


def _ask(*command: str) -> str:
    """Return what a Slurm command prints; nothing when it fails, for that must not hide what went wrong before."""
    try:
        code, text = output_of(command, timeout_s=20)
    except (UnusableEnvironmentError, RankwiseError):
        return ""
    return text if code == 0 else ""
