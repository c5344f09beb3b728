"""Jobs and their folders: script, job ids and settings are kept next to the results."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rankwise.errors import InputError, InterruptedWorkError
from rankwise.files import followed, make_folder, read_json, write_json, write_whole
from rankwise.reading import Trace, read_through
from rankwise.records import Record, computed, key, record, told
from rankwise.slurm.script import Settings, Work, job_script
from rankwise.slurm.states import JobState, log_of, slurm, states_of

SCHEMA = 1
LEAST_INTERVAL_S = 5.0  # between two questions to Slurm: its controller serves everybody
RECORD = "jobs.json"
FAILURES = ("FAILED", "OUT_OF_MEMORY", "BOOT_FAIL")
STOPPED = ("TIMEOUT", "NODE_FAIL", "PREEMPTED", "CANCELLED", "DEADLINE")
_OWN = "rankwise: "  # how our words on stderr begin
_TAIL_BYTES = 20000


@record
class Submission(Record):
    """One job of a folder: its id, when it was submitted, what it asks for and does."""

    job: str = key("job of Slurm")
    submitted: str = key("when, UTC")
    settings: Settings = key("settings of the job", after="samples")
    work: Work = key("what the job does", kind=tuple[str, ...], write=lambda work: work.words, after="script")
    samples = computed("file of the samples", "str | None", lambda of: of.work.samples, after="work")

    @property
    @told("name of the script", after="submitted")
    def script(self) -> str:
        return f"job-{self.job}.sh"


@record
class Submitted(Record):
    """A job that was submitted."""

    folder: Path = key("the job's folder")
    submission: Submission = key(inline=True)


def submit(folder: Path, settings: Settings, work: Work, program: Sequence[str]) -> Submission:
    """Hand a job to Slurm, to run in ``folder``; keep script, id and settings there. Raises InputError as sbatch refuses."""
    before = read_submissions(folder) if (folder / RECORD).exists() else []
    script = folder / ".job.sh"
    text = job_script(settings, work, program)
    made = make_folder(folder)
    try:
        write_whole(script, text)
        answer = slurm("sbatch", "--parsable", f"--chdir={folder.resolve()}", script.name, folder=folder)
        job = answer.strip().split(";")[0]
        if not re.fullmatch(r"\d+", job):
            raise InputError(f"sbatch did not say the job's number but '{answer.strip()[:100]}': see 'squeue --me'")
        submission = Submission(job, datetime.now(UTC).isoformat(timespec="seconds"), settings, work)
        script.rename(folder / submission.script)
    except BaseException:
        script.unlink(missing_ok=True)
        # Of what was refused nothing stays.
        for path in made:
            try:
                path.rmdir()
            except OSError:
                break
        raise
    write_json(folder / RECORD, {"schema": SCHEMA, "jobs": [one.to_dict() for one in (*before, submission)]})
    return submission


def read_submissions(folder: Path) -> list[Submission]:
    """Return a folder's jobs, oldest first. Raises InputError when it has none."""
    fix = "name the folder that 'rankwise slurm submit' wrote, or a job's number"
    record = read_json(folder / RECORD, "the jobs", fix)

    def read(trace: Trace) -> list[Submission]:
        found: list[Submission] = []
        for job in trace.of(record)["jobs"]:
            work = Work(tuple(map(str, job["work"])), job["samples"])
            try:
                settings = Settings.from_dict(job["settings"])
            except InputError as error:
                raise InputError(f"{folder / RECORD}, jobs[{len(found)}]: {error}") from None
            found.append(Submission(str(job["job"]), str(job["submitted"]), settings, work))
        return found

    return read_through(read, str(folder / RECORD), fix)


def jobs_named(names: Sequence[str]) -> dict[str, Path | None]:
    """Return the jobs that names stand for, with their folders: numbers
    (``123``, ``123_4``), or folders with their newest job."""
    jobs: dict[str, Path | None] = {}
    for name in names:
        if re.fullmatch(r"\d+(_\d+)?", name) and not Path(name).is_dir():
            jobs[name] = None
        else:
            jobs[read_submissions(Path(name))[-1].job] = Path(name)
    return jobs


def with_reasons(states: Sequence[JobState], jobs: Mapping[str, Path | None]) -> list[JobState]:
    """Return states of ``jobs_named``; to those that failed is added what their logs say."""
    return [replace(state, told=_last_words(state.job, jobs)) if _has_failed(state) else state for state in states]


def _has_failed(state: JobState) -> bool:
    return state.state in FAILURES and not state.is_disturbed


def resumable(states: Sequence[JobState], jobs: Mapping[str, Path | None]) -> list[Path]:
    """Return the folders whose job ended before its work did and can be gone on with."""
    short = {state.job.partition("_")[0] for state in states if state.state in STOPPED or _has_failed(state)}
    folders = [folder for job, folder in jobs.items() if job.partition("_")[0] in short]
    return [folder or Path("FOLDER") for folder in folders if folder is None or read_submissions(folder)[-1].work.samples]


def _last_words(job: str, jobs: Mapping[str, Path | None]) -> str:
    folder = jobs.get(job) or jobs.get(job.partition("_")[0])
    path = Path(log_of(job)) if folder is None else folder / f"log-{job}.txt"
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            lines = [line.strip() for line in stream.read().decode("utf-8", "replace").splitlines() if line.strip()]
    except OSError:
        return ""
    own = [line for line in lines if line.startswith(_OWN)]
    return (own or lines or [""])[-1].removeprefix(_OWN)[:600]


def wait(jobs: Sequence[str], interval_s: float, told: Callable[[JobState], None]) -> list[JobState]:
    """Wait until all jobs have ended; ``told`` hears of each state that is new. Raises InterruptedWorkError, InputError."""
    if interval_s < LEAST_INTERVAL_S:
        raise InputError(
            f"--interval {interval_s:g} asks Slurm too often: its controller serves everybody; give {LEAST_INTERVAL_S:g} or "
            "more"
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
            f"interrupted: the jobs go on; see 'rankwise slurm status {' '.join(jobs)}', or end them with 'rankwise slurm "
            "cancel'"
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


def next_job(folder: Path) -> tuple[Settings, Work]:
    """Return the settings and the work of a folder's last job, to go on with what it measured. Raises InputError."""
    last = read_submissions(folder)[-1]
    if last.work.samples is None:
        raise InputError(f"'{last.work.words[0]}' cannot be gone on with: submit it again without --resume")
    words = tuple(word for word in last.work.words if word != "--resume")
    return replace(last.settings, dependency=None), Work((*words, "--resume"), last.work.samples)


def program() -> list[str]:
    """Return how the job starts rankwise: by the path of the command that we are, for PATH may differ there."""
    command = Path(sys.prefix) / "bin" / "rankwise"
    return [str(command)] if command.exists() else [sys.executable, "-m", "rankwise"]


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
    make_folder(into)
    copies = []
    for path in (*results_of(folder), Path(RECORD)):
        target = into / path
        followed(target)  # refuses links of others
        if target.resolve() == (folder / path).resolve():
            raise InputError(f"--output {into} is the job's own folder: name another one")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / path, target)
        copies.append(target)
    return copies
