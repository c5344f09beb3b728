"""Slurm's own commands: what they refuse said with their words, the fix and an exit code; and what they say of jobs, in words:
out of squeue, then sacct where the cluster keeps accounts, else scontrol.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import EXIT_UNUSABLE, InputError, RankwiseError, UnusableEnvironmentError
from rankwise.records import Record, key, record
from rankwise.records import told as shown

_WORDS = {
    "PENDING": "waits in the queue",
    "CONFIGURING": "has its nodes, which are being made ready",
    "RUNNING": "runs",
    "COMPLETING": "has ended, its nodes are being cleared",
    "SUSPENDED": "is suspended",
    "COMPLETED": "has completed",
    "FAILED": "failed",
    "TIMEOUT": "was stopped at its time limit; samples are kept",
    "CANCELLED": "was cancelled; samples are kept",
    "NODE_FAIL": "ended because a node died; samples are kept",
    "PREEMPTED": "was ended for a job of higher priority; samples are kept",
    "OUT_OF_MEMORY": "ran out of memory",
    "BOOT_FAIL": "ended because its nodes did not start",
    "DEADLINE": "was ended at its deadline",
    "REQUEUED": "was put back into the queue",
    "REQUEUE_HOLD": "was put back into the queue and is held",
    "SPECIAL_EXIT": "was put back into the queue and is held",
    "UNKNOWN": "is not known to Slurm any more: see its log",
}  # fmt: skip
_REASONS = {
    "Resources": "no nodes are free",
    "Priority": "others are before it",
    "Dependency": "the job that it depends on has not ended",
    "DependencyNeverSatisfied": "the job that it depends on has failed: cancel it",
    "BeginTime": "its time to begin has not come (a job put back into the queue waits a little)",
    "JobHeldUser": "it is held: scontrol release",
    "JobHeldAdmin": "it is held by the site: ask them",
    "PartitionTimeLimit": "its time limit is above the partition's: submit with a lower --time",
    "PartitionNodeLimit": "it asks for more nodes than the partition has: submit with fewer --nodes",
    "PartitionDown": "the partition is down",
    "PartitionInactive": "the partition takes no jobs",
    "ReqNodeNotAvail": "a node that it needs is down or reserved",
    "NodeDown": "a node that it needs is down",
    "JobArrayTaskLimit": "as many tasks of the array run as are allowed at once",
    "QOSMaxJobsPerUserLimit": "you run as many jobs as you may",
    "AssocGrpCpuLimit": "your project uses as many processors as it may",
    "Licenses": "a licence is missing",
    "Reservation": "its reservation has not begun",
    "NonZeroExitCode": "its command ended with an error",
    "TimeLimit": "",
    "None": "",
}  # fmt: skip
LIVE = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT",
        "RESIZING", "SIGNALING", "STOPPED", "STAGE_OUT", "REQUEUE_FED")  # fmt: skip


@record
class JobState(Record):
    """One job, or one task of an array (``12_3``): its state as Slurm calls it, and where that is from."""

    job: str = key("job of Slurm")
    state: str = key("the job's state in the words of Slurm")
    reason: str = key("why it waits, as Slurm calls it")
    nodes: str = key("nodes of the job")
    elapsed: str = key("time since it started, as Slurm writes times")
    limit: str = key("time after which it ends, as Slurm writes times")
    restarts: int | None = key("how often it began again")
    exit_code: str | None = key("exit code of the job, as Slurm writes it")
    source: str = key("who told")
    # What the job's log says of its end.
    told: str = key("last words of its log", default="")

    @property
    @shown("whether it waits or runs")
    def live(self) -> bool:
        return self.state in LIVE

    @property
    def is_disturbed(self) -> bool:
        """Whether all was measured, with the exit code of poor quality."""
        return self.state == "FAILED" and (self.exit_code or "").startswith(f"{EXIT_UNUSABLE}:")

    @property
    @shown("state and reason in a sentence")
    def words(self) -> str:
        """The state as a sentence without its subject."""
        text = _WORDS.get(self.state, f"is {self.state.lower().replace('_', ' ')}")
        reason = _REASONS.get(self.reason, _REASONS.get(self.reason.split(",")[0], self.reason))
        if self.is_disturbed:
            text = f"measured to its end, but the machine was too disturbed (exit code {EXIT_UNUSABLE})"
        elif self.state == "FAILED" and self.exit_code:
            code, _, number = self.exit_code.partition(":")
            text += f" with {f'signal {number}' if number not in ('', '0') else f'exit code {code}'}"
        elif reason and self.live and self.state != "RUNNING":
            text += f": {reason}"
        if self.nodes and self.state in ("RUNNING", "COMPLETING", "NODE_FAIL"):
            text += f" on {self.nodes}"
        if self.state == "RUNNING":
            text += f" since {self.elapsed} of {self.limit}"
        if self.told:
            text += f": {self.told}"
        if self.restarts:
            text += f"; begun again {self.restarts} time(s)"
        return text


def states_of(jobs: Sequence[str]) -> list[JobState]:
    """Ask Slurm once for all jobs, in their order; an array gives one state a task.

    Raises UnusableEnvironmentError where Slurm is missing or silent.
    """
    found: list[JobState] = []
    for job in jobs:
        found += _queued(job) or _accounted(job) or [_unknown(job)]
    return found


def log_of(job: str) -> str:
    """Return the file that Slurm says it writes a job's output to; empty where it does not say."""
    words = re.findall(r"\bStdOut=(\S+)", try_slurm("scontrol", "show", "job", "-o", job) or "")
    return words[0] if words else ""


def _queued(job: str) -> list[JobState]:
    text = try_slurm("squeue", "--noheader", "--array", "--states=all", f"--jobs={job}", "--format=%i|%T|%r|%N|%M|%l")
    if text is None:
        slurm("scontrol", "ping")  # tells a job that has left the queue from a controller that does not answer
        return []
    details = _details(job)
    states = []
    for line in text.splitlines():
        if line.count("|") != 5:
            continue
        identity, state, reason, nodes, elapsed, limit = line.strip().split("|")
        restarts, exit_code = details.get(identity, (None, None))
        states.append(JobState(identity, state, reason, nodes, elapsed, limit, restarts, exit_code, "squeue"))
    return states


def _details(job: str) -> dict[str, tuple[int | None, str | None]]:
    """Return restarts and exit code of each job or task, which squeue does not tell."""
    found: dict[str, tuple[int | None, str | None]] = {}
    for line in (try_slurm("scontrol", "show", "job", "-o", job) or "").splitlines():
        words = dict(re.findall(r"\b(\w+)=(\S+)", line))
        if "JobId" in words:
            array = words.get("ArrayJobId")
            identity = f"{array}_{words.get('ArrayTaskId')}" if array else words["JobId"]
            restarts = words.get("Restarts", "0")
            found[identity] = (int(restarts) if re.fullmatch(r"[0-9]{1,9}", restarts) else None, words.get("ExitCode"))
    return found


def _accounted(job: str) -> list[JobState]:
    text = try_slurm("sacct", "-X", "-n", "-P", "-j", job, "-o", "JobID,State,Reason,NodeList,Elapsed,Timelimit,ExitCode")
    states = []
    for line in (text or "").splitlines():
        if line.count("|") != 6:
            continue
        identity, state, reason, nodes, elapsed, limit, exit_code = line.strip().split("|")
        # "CANCELLED by 1000"
        states.append(
            JobState(
                identity, state.split()[0] if state else "UNKNOWN", reason, nodes, elapsed, limit, None, exit_code, "sacct"
            )
        )
    return states


def _unknown(job: str) -> JobState:
    return JobState(job, "UNKNOWN", "", "", "", "", None, None, "none")


_PATIENCE_S = 60.0

# What the refusal says -> what to do about it; the first that fits. Where a list of partitions helps, it is put in.
_FIXES = (
    (r"invalid partition", "choose one of the partitions {partitions}"),
    (r"time limit", "lower --time to what the partition allows ({partitions})"),
    (
        r"node count|too many nodes|more processors|node configuration",
        "ask for fewer --nodes or --tasks-per-node ({partitions})",
    ),
    (
        r"invalid account|invalid qos|account/partition",
        "give the --account that your site lets you use (sacctmgr show assoc user=$USER)",
    ),
    (r"invalid node name|nodelist", "correct --nodelist (see 'sinfo -N')"),
    (r"dependency", "correct --dependency, as in afterok:1234"),
    (r"array", "correct --array, as in 1-10 or 1-10%2"),
    (r"invalid job id", "see 'squeue --me' for the jobs that there are"),
    (r"access|permission|denied", "ask your site whether you may use what you asked for"),
)


def slurm(command: str, *arguments: str, folder: Path | None = None) -> str:
    """Run one of Slurm's commands and return its stdout.

    Raises UnusableEnvironmentError where there is no Slurm or it does not answer, InputError with Slurm's words and the fix
    where it refuses.
    """
    code, out, complaint = _run([command, *arguments], folder)
    if code == 0:
        return out
    if re.search(
        r"unable to contact|connect|communication|controller|socket timed out|munge|configuration source|slurm.conf| is down",
        complaint,
        re.IGNORECASE,
    ):
        raise UnusableEnvironmentError(
            f"Slurm does not answer ('{complaint}'): is its controller up (scontrol ping)? Try again later"
        )
    raise InputError(f"{command} refuses: '{complaint or f'exit code {code}'}'{_fix_of(complaint)}")


def try_slurm(command: str, *arguments: str) -> str | None:
    """Run one of Slurm's commands; None where it fails. Raises UnusableEnvironmentError where there is no Slurm."""
    code, out, _ = _run([command, *arguments], None)
    return out if code == 0 else None


def _run(command: Sequence[str], folder: Path | None) -> tuple[int, str, str]:
    if shutil.which(command[0]) is None:
        raise UnusableEnvironmentError(
            f"no {command[0]} on PATH: run this on the login node of a Slurm cluster (or load its module); without Slurm, "
            "'rankwise measure' works on this machine alone"
        )
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise UnusableEnvironmentError(
            f"{command[0]} said nothing for {_PATIENCE_S:.0f} s: is Slurm's controller up (scontrol ping)?"
        ) from None
    except OSError as error:
        raise RankwiseError(f"{command[0]} cannot be started ({error.strerror})") from None
    words = (done.stderr or done.stdout).decode("utf-8", "replace")  # scontrol ping complains on stdout
    lines = [re.sub(rf"^{re.escape(command[0])}: (error: )?", "", line.strip()) for line in words.splitlines()]
    complaint = "; ".join(dict.fromkeys(line for line in lines if line))[-500:]
    return done.returncode, done.stdout.decode("utf-8", "replace"), complaint


def _fix_of(complaint: str) -> str:
    for pattern, fix in _FIXES:
        if re.search(pattern, complaint, re.IGNORECASE):
            return ": " + fix.format(partitions=_partitions())
    return ""


def _partitions() -> str:
    """Say which partitions there are, with their limits."""
    text = try_slurm("sinfo", "-h", "-s", "-o", "%R|%l|%D") or ""
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 2]
    return ", ".join(f"{name}: {nodes} nodes, at most {limit}" for name, limit, nodes in rows) or "see 'sinfo'"
