"""The job script: every setting a readable #SBATCH line, then modules, environment, and one rankwise command.

What is asked of a job, as options.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

from rankwise.errors import InputError
from rankwise.progress import tell
from rankwise.questions import Options, option
from rankwise.records import Record, key, record

_TIME = r"\d{1,7}|\d{1,7}:\d\d|\d{1,5}:\d\d:\d\d|\d{1,4}-\d{1,2}(:\d\d){0,2}"
_ARRAY = r"\d{1,7}(-\d{1,7}(:\d{1,7})?)?(,\d{1,7}(-\d{1,7}(:\d{1,7})?)?)*(%\d{1,7})?"
MAIL_TYPES = ("NONE", "BEGIN", "END", "FAIL", "REQUEUE", "TIME_LIMIT", "TIME_LIMIT_50", "TIME_LIMIT_80", "TIME_LIMIT_90",
               "ARRAY_TASKS", "STAGE_OUT", "INVALID_DEPEND", "ALL")  # fmt: skip


_OPTIONS = {
    "name": "job-name",
    "extra": "sbatch",
    "modules": "module",
    "environment": "env",
}  # that are not named as their fields


@record
class Settings(Record):
    """What a job asks of Slurm; None and empty leave it to the site's defaults."""

    name: str = key("name in the queue", default="rankwise")
    nodes: int = key("number of nodes", default=1)
    tasks: int | None = key("ranks in all", default=None)
    tasks_per_node: int | None = key("ranks of a node", default=None)
    cpus_per_task: int | None = key("processors of a rank", default=None)
    time: str | None = key("time limit, as Slurm writes it: 30, 1:30:00, 1-12", default=None)
    partition: str | None = key("partition of Slurm", default=None)
    account: str | None = key("project that pays", default=None)
    qos: str | None = key("quality of service", default=None)
    nodelist: str | None = key("names of the nodes", default=None)
    exclusive: bool = key("whether it has whole nodes", default=True)
    array: str | None = key("repetitions, as Slurm writes them", default=None)
    dependency: str | None = key("jobs after which this one begins", default=None)
    mail_user: str | None = key("whom Slurm writes to", default=None)
    mail_type: str | None = key("when Slurm writes", default=None)
    grace_s: int | None = key("how long before its end the job is told; null: at its end, as the site does it", default=None)
    requeue: bool | None = key("whether Slurm may begin the job again when a node dies", default=None)
    modules: tuple[str, ...] = key("modules that are loaded", default=())
    environment: Mapping[str, str] | None = key("variables that are set", default=None)
    extra: tuple[str, ...] = key("further options of sbatch", default=())

    def __post_init__(self) -> None:
        """Raises InputError for what could not stand in a script, or that Slurm would misread."""
        for field in fields(self):
            value = getattr(self, field.name)
            option = f"--{_OPTIONS.get(field.name, field.name).replace('_', '-')}"
            for text in value if isinstance(value, tuple) else (value,):
                if isinstance(text, str) and (not text.strip() or not text.isprintable()):
                    raise InputError(f"{option} {text!r} is empty or has characters that cannot stand in a script")
        for option, number in (("--nodes", self.nodes), ("--tasks", self.tasks), ("--tasks-per-node", self.tasks_per_node),
                               ("--cpus-per-task", self.cpus_per_task), ("--grace", self.grace_s)):  # fmt: skip
            if number is not None and number < 1:
                raise InputError(f"{option} {number} is too small: it must be at least 1")
        if self.tasks is not None and self.tasks < self.nodes:
            raise InputError(f"--tasks {self.tasks} are fewer than --nodes {self.nodes}: give each node one at least")
        if self.time is not None and not re.fullmatch(_TIME, self.time):
            raise InputError(f"--time '{self.time}' is no time of Slurm's: write 30 (minutes), 1:30:00 or 1-12:00")
        if self.array is not None and not re.fullmatch(_ARRAY, self.array):
            raise InputError(f"--array '{self.array}' is no array of Slurm's: write 1-10, 1-10%2 or 1,3,7")
        for option, name in (("--partition", self.partition), ("--account", self.account), ("--qos", self.qos),
                             ("--dependency", self.dependency), ("--mail-user", self.mail_user),
                             ("--job-name", self.name)):  # fmt: skip
            if name is not None and not re.fullmatch(r"[\w.,:;?+@%/-]+", name):
                raise InputError(f"{option} '{name}' has characters that Slurm's names do not have")
        for kind in (self.mail_type or "NONE").split(","):
            if kind.upper() not in MAIL_TYPES:
                raise InputError(f"--mail-type '{kind}' is unknown: choose one of {', '.join(MAIL_TYPES)}")
        for name in self.environment or {}:
            if not re.fullmatch(r"[A-Za-z_]\w*", name):
                raise InputError(f"--env '{name}' is no name of a variable: write --env NAME=VALUE")
        if self.nodelist is not None:
            from rankwise.machine.hosts import parse_hosts

            parse_hosts(self.nodelist)
        for option in self.extra:
            if not option.startswith("-"):
                raise InputError(f"--sbatch '{option}' is no option of sbatch: write --sbatch=--gres=gpu:1")
            if not re.fullmatch(r"[^\s'\"\\#]+", option):
                raise InputError(f"--sbatch '{option}' has a blank, a quote or a #: give each option on its own, without them")

    @classmethod
    def from_dict(cls, value: Any, what: str = "") -> Self:
        """Read settings back. Raises InputError when they are not ours."""
        try:
            return super().from_dict(value, what)
        except (KeyError, TypeError, ValueError):
            raise InputError("the settings are not what was written there: submit it again without --resume") from None

    def directives(self) -> list[str]:
        """Return the options of sbatch, in the order in which a reader looks for them."""
        asked: list[tuple[str, object]] = [
            ("job-name", self.name), ("partition", self.partition), ("account", self.account), ("qos", self.qos),
            ("nodes", self.nodes), ("ntasks", self.tasks), ("ntasks-per-node", self.tasks_per_node),
            ("cpus-per-task", self.cpus_per_task), ("nodelist", self.nodelist), ("time", self.time), ("array", self.array),
            ("dependency", self.dependency), ("mail-user", self.mail_user), ("mail-type", self.mail_type),
        ]  # fmt: skip
        lines = [f"--{name}={value}" for name, value in asked if value is not None]
        if self.exclusive:
            lines.append("--exclusive")
        if self.requeue is not None:
            lines.append("--requeue" if self.requeue else "--no-requeue")
        if self.grace_s is not None:
            lines.append(f"--signal=B:TERM@{self.grace_s}")
        lines.append(f"--output={'log-%A_%a.txt' if self.array else 'log-%j.txt'}")
        lines.append("--open-mode=append")
        return [*lines, *self.extra]


@dataclass(frozen=True)
class Work:
    """A command of rankwise for a job: its words after ``rankwise``, and the samples file that it can go on with."""

    words: tuple[str, ...]
    samples: str | None = None


def job_script(settings: Settings, work: Work, program: Sequence[str]) -> str:
    """Return the script; ``program`` starts rankwise. Each task of an array works in a folder of its number."""
    lines = ["#!/bin/bash", *(f"#SBATCH {line}" for line in settings.directives()), "", "set -euo pipefail"]
    if settings.modules:
        lines += ["", *(f"module load {shlex.quote(module)}" for module in settings.modules)]
    if settings.environment:
        lines += ["", *(f"export {name}={shlex.quote(value)}" for name, value in settings.environment.items())]
    lines.append("")
    if settings.array:
        lines += ["# Each task of the array has its own results.",
                  'mkdir -p "task-$SLURM_ARRAY_TASK_ID" && cd "task-$SLURM_ARRAY_TASK_ID"', ""]  # fmt: skip
    words = [word for word in work.words if not (work.samples and word == "--resume")]
    command = " ".join(shlex.quote(word) for word in (*program, *words))
    if work.samples is None:
        return "\n".join([*lines, *_IN_PLACE, f"exec {command}"]) + "\n"
    samples = shlex.quote(work.samples)
    if "--resume" in work.words:
        lines.append("# Go on with what the job before has measured.")
        condition = f"[ -s {samples} ]"
    else:
        lines.append("# When Slurm has put the job back into the queue (a node died, say): go on with what was measured.")
        condition = f'[ "${{SLURM_RESTART_COUNT:-0}}" -gt 0 ] && [ -s {samples} ]'
    lines += [f"if {condition}; then set -- --resume; else set --; fi", *_IN_PLACE, f'exec {command} "$@"']
    return "\n".join(lines) + "\n"


_IN_PLACE = ["# In place of the shell, so that SIGTERM (time limit, scancel) reaches it and nothing that was measured is lost."]


FOLDER = Path("rankwise-job")


def _projected(path: Path) -> tuple[int, int, int]:
    """Return nodes, ranks and ranks on a node of an answer: of its last row, or of a curve's fewest ranks within 10 % of the
    fastest. Raises InputError for what is none."""
    from rankwise.errors import unreadable
    from rankwise.files import load_json, plain

    fix = "write one with 'rankwise project observed ... --json'"
    try:
        answer = load_json(plain(path).read_bytes())
        wanted = (answer.get("curve") or {}).get("within_10_percent")
        row = next((row for row in answer["rows"] if row["ranks"] == wanted), answer["rows"][-1])
        found = tuple(int(row[name]) for name in ("nodes", "ranks", "ranks_per_node"))
    except OSError as error:
        raise InputError(f"--projected {path} {unreadable(error)}: {fix}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(f"--projected {path} is no answer of 'rankwise project observed': {fix}") from None
    return found[0], found[1], found[2]


@dataclass(frozen=True)
class Job(Options):
    """A job's settings, and where it runs."""

    nodes: int = option(1, "Number of nodes.")
    tasks: int | None = option(None, "Ranks in all.")
    tasks_per_node: int | None = option(None, "Ranks on each node.")
    cpus_per_task: int | None = option(None, "Processors for each rank.")
    time: str | None = option(None, "Time limit: 30 (minutes), 1:30:00, 1-12:00.")
    partition: str | None = option(None, "Partition (see sinfo).")
    account: str | None = option(None, "Project that pays.")
    qos: str | None = option(None, "Quality of service.")
    nodelist: str | None = option(None, "These nodes: n[01-04].")
    exclusive: bool = option(True, "Whole nodes, or shared with other people's jobs.", "--exclusive/--shared")
    array: str | None = option(None, "Repetitions as a job array: 1-10, or 1-10%1 one at a time.")
    dependency: str | None = option(None, "Begin after other jobs: afterok:1234.")
    mail_user: str | None = option(None, "Whom to write to.")
    mail_type: str | None = option(None, "When to write: BEGIN, END, FAIL, TIME_LIMIT, ALL.")
    grace: int | None = option(None, "Be told to stop so long before the time limit. Default: at the limit.", metavar="SECONDS")
    requeue: bool | None = option(None, "Whether Slurm may begin the job again when a node dies.", "--requeue/--no-requeue")
    module: list[str] | None = option(None, "Module to load first; may be repeated.")
    env: list[str] | None = option(None, "Variable to set; may be repeated.", metavar="NAME=VALUE")
    tuned: Path | None = option(None, "Settings of the MPI library: a folder that 'rankwise tune' wrote.", "--settings")
    projected: Path | None = option(None, "Nodes and ranks of an answer: 'rankwise project observed ... --json > FILE'.")
    launcher: Literal["mpiexec", "srun"] = option(
        "mpiexec", "What starts the ranks: mpiexec, or srun (PMI-2, PMIx for Open MPI)."
    )
    sbatch: list[str] | None = option(None, "Further option of sbatch; may be repeated.")
    job_name: str = option("rankwise", "Name in the queue.")
    folder: Path = option(FOLDER, "Where the job runs and its script, settings and results are kept.")

    def settings(self) -> Settings:
        """Return the settings of its script. Raises InputError."""
        environment: dict[str, str] = {} if self.launcher == "mpiexec" else {"RANKWISE_MPIEXEC": self.launcher}
        if self.tuned is not None:
            environment |= self._tuned(self.tuned)
        for text in self.env or ():
            variable, equals, value = text.partition("=")
            if not equals:
                raise InputError(f"--env '{text}' sets nothing: write --env NAME=VALUE")
            environment[variable] = value
        asked = (self.nodes, self.tasks, self.tasks_per_node)
        if self.projected is not None:
            if {"nodes", "tasks", "tasks_per_node"} & {name for name in self.given if self.differs(name)}:
                raise InputError("--projected has nodes and ranks: leave --nodes, --tasks and --tasks-per-node out")
            asked = _projected(self.projected)
        return Settings(
            self.job_name, *asked, self.cpus_per_task, self.time, self.partition,
            self.account, self.qos, self.nodelist, self.exclusive, self.array, self.dependency, self.mail_user, self.mail_type,
            self.grace, self.requeue, tuple(self.module or ()), environment, tuple(self.sbatch or ()),
        )  # fmt: skip

    def _tuned(self, folder: Path) -> dict[str, str]:
        """Return the variables of a folder of settings; what they were not made for is told. Raises InputError."""
        from rankwise.collectives.settings import Settings as Tuned

        found = Tuned.read(folder)
        tasks = self.tasks or (self.tasks_per_node * self.nodes if self.tasks_per_node else None)
        for why in found.stale(ranks=tasks, nodes=self.nodes):
            tell(f"warning: the settings in {folder} are stale: {why}; write them again with 'rankwise tune'")
        return found.environment(folder)
