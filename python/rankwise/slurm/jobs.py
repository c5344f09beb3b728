"""Jobs and their folders: script, job ids and settings are kept beside the results."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, InterruptedWorkError
from rankwise.files import read_json, require_folder, write_json, write_whole
from rankwise.slurm.commands import slurm
from rankwise.slurm.script import Settings, Work, job_script
from rankwise.slurm.states import JobState, states_of

SCHEMA = 1
LEAST_INTERVAL_S = 5.0  # between two questions to Slurm: its controller serves everybody
RECORD = "jobs.json"


@dataclass(frozen=True)
class Submission:
    """One job of a folder: its id, when it was submitted, what it asks for and does."""

    job: str
    submitted: str
    settings: Settings
    work: Work

    @property
    def script(self) -> str:
        return f"job-{self.job}.sh"

    def to_dict(self) -> dict[str, Any]:
        return {
            "job": self.job, "submitted": self.submitted, "script": self.script, "work": list(self.work.words),
            "samples": self.work.samples, "settings": self.settings.to_dict(),
        }  # fmt: skip


def submit(folder: Path, settings: Settings, work: Work, program: Sequence[str]) -> Submission:
    """Hand a job to Slurm, to run in ``folder``; keep script, id and settings there. Raises InputError as sbatch refuses."""
    before = read_submissions(folder) if (folder / RECORD).exists() else []
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / ".job.sh"
    write_whole(script, job_script(settings, work, program))
    try:
        answer = slurm("sbatch", "--parsable", f"--chdir={folder.resolve()}", script.name, folder=folder)
        job = answer.strip().split(";")[0]
        if not re.fullmatch(r"\d+", job):
            raise InputError(f"sbatch did not say the job's number but '{answer.strip()[:100]}': see 'squeue --me'")
        submission = Submission(job, datetime.now(UTC).isoformat(timespec="seconds"), settings, work)
        script.rename(folder / submission.script)
    finally:
        script.unlink(missing_ok=True)
    write_json(folder / RECORD, {"schema": SCHEMA, "jobs": [one.to_dict() for one in (*before, submission)]})
    return submission


def read_submissions(folder: Path) -> list[Submission]:
    """Return a folder's jobs, oldest first. Raises InputError when it has none."""
    mend = "name the folder that 'rankwise slurm submit' wrote, or a job's number"
    record = read_json(folder / RECORD, "the jobs", mend)
    try:
        return [
            Submission(
                str(job["job"]), str(job["submitted"]), Settings.from_dict(job["settings"]),
                Work(tuple(map(str, job["work"])), job["samples"]),
            )
            for job in record["jobs"]
        ]  # fmt: skip
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{folder / RECORD} is no record of jobs: {mend}") from None


def jobs_named(names: Sequence[str]) -> list[str]:
    """Return the job numbers that names stand for: numbers (``123``, ``123_4``), or folders with their newest job."""
    jobs = []
    for name in names:
        if re.fullmatch(r"\d+(_\d+)?", name) and not Path(name).is_dir():
            jobs.append(name)
        else:
            jobs.append(read_submissions(Path(name))[-1].job)
    return jobs


def wait(jobs: Sequence[str], interval_s: float, told: Callable[[JobState], None]) -> list[JobState]:
    """Wait until all jobs have ended; ``told`` hears of each state that is new. Raises InterruptedWorkError, InputError."""
    if interval_s < LEAST_INTERVAL_S:
        raise InputError(
            f"--interval {interval_s:g} asks Slurm too often: its controller serves everybody; give {LEAST_INTERVAL_S:g} or more"
        )
    last: Mapping[str, str] = {}
    try:
        while True:
            states = states_of(jobs)
            for state in states:
                if last.get(state.job) != state.words.partition(" since ")[0]:
                    told(state)
            last = {state.job: state.words.partition(" since ")[0] for state in states}
            if not any(state.live for state in states):
                return states
            time.sleep(interval_s)
    except KeyboardInterrupt:
        raise InterruptedWorkError(
            f"interrupted: the jobs go on; see 'rankwise slurm status {' '.join(jobs)}', or end them with 'rankwise slurm cancel'"
        ) from None


def cancel(jobs: Sequence[str]) -> list[str]:
    """Cancel jobs that have not ended: SIGTERM first, so that they keep what they have. Return those that were live.

    Raises InputError for a job that Slurm does not know, and as scancel refuses.
    """
    states = [states_of([job]) for job in jobs]
    for job, (first, *_) in zip(jobs, states, strict=True):
        if first.state == "UNKNOWN":
            raise InputError(f"Slurm knows no job {job}: see 'squeue --me' for those that there are")
    live = [job for job, tasks in zip(jobs, states, strict=True) if any(state.live for state in tasks)]
    for job in live:
        slurm("scancel", job)
    return live


def results_of(folder: Path) -> list[Path]:
    """Return what the jobs of a folder wrote: results, samples and logs, relative to it. Raises InputError."""
    read_submissions(folder)
    own = {RECORD, ".job.sh"}
    return sorted(
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and path.name not in own and not path.name.startswith(".")
    )


def fetch(folder: Path, into: Path) -> list[Path]:
    """Copy what the jobs of a folder wrote, with script and settings, into another folder; return the copies."""
    require_folder(into)
    copies = []
    for path in (*results_of(folder), Path(RECORD)):
        target = into / path
        if target.resolve() == (folder / path).resolve():
            raise InputError(f"--output {into} is the job's own folder: name another one")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / path, target)
        copies.append(target)
    return copies
