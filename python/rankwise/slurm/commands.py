"""Slurm's own commands: run, and what they refuse said with their words, the fix and an exit code."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError

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
