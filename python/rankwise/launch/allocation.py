"""The Slurm allocation that this process runs in: its nodes, and those that it has lost.

Which leaf switch each node hangs on, where Slurm knows the topology.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.process import output_of
from rankwise.machine.hosts import parse_hosts
from rankwise.machine.switches import Switches, parse_switches
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
        here = _hosts_of(_job_words(self.job_id)) or self.hosts
        lost = self._down()
        return tuple(host for host in self.hosts if host in here and host not in lost)

    def environment(self) -> dict[str, str]:
        """Return what launchers need to find the job by where a shell has lost it."""
        nodes = ",".join(self.hosts)
        missing = {"SLURM_JOB_ID": self.job_id, "SLURM_JOBID": self.job_id, "SLURM_JOB_NODELIST": nodes,
            "SLURM_NODELIST": nodes,
                   "SLURM_NNODES": str(len(self.hosts)), "SLURM_TASKS_PER_NODE": f"1(x{len(self.hosts)})"}  # fmt: skip
        return {} if os.environ.get("SLURM_JOB_NODELIST") else {k: v for k, v in missing.items() if k not in os.environ}

    def loss(self) -> str:
        """Say which nodes are lost, and how to go on; empty when none is."""
        down = self._down()
        gone = [host for host in self.hosts if host not in self.present_hosts()]
        if not gone:
            return ""
        words = ", ".join(f"{host} ({down.get(host, 'taken from the job')})" for host in gone)
        return f"job {self.job_id} has lost {words}, {len(self.hosts) - len(gone)} of its {len(self.hosts)} nodes are left"

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
    job = _variable("SLURM_JOB_ID", "SLURM_JOBID")
    nodes = job and (_variable("SLURM_JOB_NODELIST", "SLURM_NODELIST") or _nodes_of(job))
    if not job or not nodes:
        return None
    asked = os.environ.get("SLURM_NTASKS_PER_NODE", "")
    return Allocation(job, tuple(parse_hosts(nodes)), int(asked) if asked.isdecimal() and int(asked) > 0 else None)


def allocated_hosts() -> tuple[str, ...]:
    """Return the nodes to measure between: those of the allocation that still work, none outside of one.

    Says so when some are lost, and where Slurm's variables are not whole. Raises UnusableEnvironmentError for variables of a
    job that has ended, or that has other nodes.
    """
    _tell_what_is_missing()
    allocation = find_allocation()
    if allocation is None:
        return ()
    words = _job_words(allocation.job_id)
    has = _hosts_of(words)
    if words.get("JobState") in _ENDED or (has and set(has).isdisjoint(allocation.hosts)):
        state = words.get("JobState", "")
        what = f"has other nodes ({words.get('NodeList')})"
        if state in _ENDED:
            what = "is not known to Slurm any more" if state == _UNKNOWN else f"has ended ({state})"
        raise UnusableEnvironmentError(
            f"SLURM_JOB_ID={allocation.job_id} with SLURM_JOB_NODELIST={_variable('SLURM_JOB_NODELIST', 'SLURM_NODELIST')} is "
            f"stale: the job {what}; fix: leave that job's shell (or: unset ${{!SLURM_@}}), and begin again with salloc or "
            "sbatch"
        )
    if len(allocation.hosts) < 2:
        return ()
    present = allocation.present_hosts()
    if len(present) < len(allocation.hosts):
        tell(f"{allocation.loss()}: going on with these")
    return present if len(present) > 1 else ()


_UNKNOWN = "UNKNOWN"
_ENDED = (
    "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", _UNKNOWN,
)  # fmt: skip


def _tell_what_is_missing() -> None:
    job, nodes = _variable("SLURM_JOB_ID", "SLURM_JOBID"), _variable("SLURM_JOB_NODELIST", "SLURM_NODELIST")
    if nodes and not job:
        tell(
            f"SLURM_JOB_NODELIST={nodes} is set but SLURM_JOB_ID is not, so this is no job: this node alone is used; name "
            "others with --hosts, or unset it"
        )
    elif job and not nodes:
        found = _nodes_of(job)
        what = (
            f"Slurm says {found}"
            if found
            else "Slurm does not say them either, so this node alone is used; name nodes with --hosts"
        )
        tell(f"SLURM_JOB_ID={job} is set but its nodes (SLURM_JOB_NODELIST) are not: {what}")
    elif nodes:
        count = os.environ.get("SLURM_JOB_NUM_NODES", "")
        if count.isdecimal() and int(count) != len(parse_hosts(nodes)):
            tell(f"SLURM_JOB_NUM_NODES={count} is not the number of nodes in SLURM_JOB_NODELIST={nodes}: the list is used")


def _variable(*names: str) -> str:
    """Return the first of some variables that is set; Slurm's older names come last."""
    return next((value for name in names if (value := os.environ.get(name))), "")


def _nodes_of(job: str) -> str:
    words = _job_words(job)
    return "" if words.get("JobState") in _ENDED else _node_list(words)


def _node_list(words: Mapping[str, str]) -> str:
    """Return the list of nodes in Slurm's words of a job; empty where they name none."""
    return words.get("NodeList", "").replace("(null)", "")


def _hosts_of(words: Mapping[str, str]) -> tuple[str, ...]:
    nodes = _node_list(words)
    return tuple(parse_hosts(nodes)) if nodes else ()


def _job_words(job: str) -> dict[str, str]:
    """Return what Slurm says of a job; nothing where it is silent, and of a job that it does not know JobState UNKNOWN."""
    if not job.isdecimal():
        return {}
    try:
        code, text = output_of(("scontrol", "show", "job", "-o", job), timeout_s=20)
    except RankwiseError:
        return {}
    if code != 0:
        return {"JobState": _UNKNOWN} if "invalid job id" in text.lower() else {}
    # The number of an array's last task is the array's, too.
    lines = (dict(re.findall(r"\b(\w+)=(\S+)", line)) for line in text.splitlines())
    return next((words for words in lines if words.get("JobId") == job), {})


def _ask(*command: str) -> str:
    """Return what a Slurm command prints; nothing when it fails, for that must not hide what went wrong before."""
    try:
        code, text = output_of(command, timeout_s=20)
    except RankwiseError:
        return ""
    return text if code == 0 else ""


def leaf_switches(hosts: Sequence[str]) -> list[str | None]:
    """Return each host's leaf switch, None where nobody knows it."""
    leaf_of = parse_topology(_ask("scontrol", "show", "topology"))
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
