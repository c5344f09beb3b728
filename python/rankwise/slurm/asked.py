"""What is asked of a job, as options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankwise.errors import InputError
from rankwise.questions import Options, option

if TYPE_CHECKING:
    from rankwise.slurm.script import Settings

FOLDER = Path("rankwise-job")


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
    exclusive: bool = option(True, "Whole nodes, or beside other people's jobs.", "--exclusive/--shared")
    array: str | None = option(None, "Repetitions as a job array: 1-10, or 1-10%1 one at a time.")
    dependency: str | None = option(None, "Begin after other jobs: afterok:1234.")
    mail_user: str | None = option(None, "Whom to write to.")
    mail_type: str | None = option(None, "When to write: BEGIN, END, FAIL, TIME_LIMIT, ALL.")
    grace: int | None = option(None, "Be told to stop so long before the time limit. Default: at the limit.", metavar="SECONDS")
    requeue: bool | None = option(None, "Whether Slurm may begin the job anew when a node dies.", "--requeue/--no-requeue")
    module: list[str] | None = option(None, "Module to load first; may be repeated.")
    env: list[str] | None = option(None, "Variable to set; may be repeated.", metavar="NAME=VALUE")
    launcher: Literal["mpiexec", "srun"] = option(
        "mpiexec", "What starts the ranks: mpiexec, or srun (PMI-2, PMIx for Open MPI)."
    )
    sbatch: list[str] | None = option(None, "Further option of sbatch; may be repeated.")
    job_name: str = option("rankwise", "Name in the queue.")
    folder: Path = option(FOLDER, "Where the job runs and its script, settings and results are kept.")

    def settings(self) -> Settings:
        """Return the settings of its script. Raises InputError."""
        from rankwise.slurm.script import Settings

        environment: dict[str, str] = {} if self.launcher == "mpiexec" else {"RANKWISE_MPIEXEC": self.launcher}
        for text in self.env or ():
            variable, equals, value = text.partition("=")
            if not equals:
                raise InputError(f"--env '{text}' sets nothing: write --env NAME=VALUE")
            environment[variable] = value
        return Settings(
            self.job_name, self.nodes, self.tasks, self.tasks_per_node, self.cpus_per_task, self.time, self.partition,
            self.account, self.qos, self.nodelist, self.exclusive, self.array, self.dependency, self.mail_user, self.mail_type,
            self.grace, self.requeue, tuple(self.module or ()), environment, tuple(self.sbatch or ()),
        )  # fmt: skip
