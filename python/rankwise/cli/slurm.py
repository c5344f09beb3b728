"""``rankwise slurm``: measuring on a cluster's nodes as jobs; scripts, submission, states in words, results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.blocks import Column, Table, terminal
from rankwise.cli.base import Json, command_tree, group, print_json, tell, verb
from rankwise.cli.usage import words_of_usage
from rankwise.cli.verbs import register_verbs
from rankwise.errors import EXIT_FAILURE, EXIT_UNUSABLE, InputError
from rankwise.launch.command import LAUNCHERS
from rankwise.progress import visible
from rankwise.slurm.script import FOLDER, Job, Work, job_script

if TYPE_CHECKING:
    from rankwise.slurm.states import JobState

slurm_verbs = group(
    "slurm",
    "Write, submit and follow Slurm jobs.",
    """rankwise slurm submit measure --nodes 2 --time 10 -o machine.json
    rankwise slurm wait""",
)

_IN_JOBS = ("measure", "run", "validate", "quick", "doctor", "simulate", "reproduce", "observe", "try")

Jobs = Annotated[
    list[str] | None, typer.Argument(metavar="[FOLDER|JOB]...", help=f"Folders of jobs, or their numbers. Default: {FOLDER}.")
]


def _register(name: str, example: str, submits: bool, about: str) -> None:
    """Register ``script`` or ``submit``: both take the same, one prints the script and the other hands it to Slurm."""

    def job(
        asked: Job,
        work: Annotated[
            list[str] | None, typer.Argument(metavar="VERB...", help="What to run: a verb of rankwise with its options.")
        ] = None,
        resume: Annotated[
            bool, typer.Option("--resume", help="Without VERB: the last job of the folder again, going on where it stopped.")
        ] = False,
        as_json: Json = False,
    ) -> None:
        from rankwise.slurm.jobs import Submitted, next_job, program, submit

        settings, folder = asked.settings(), asked.folder
        if work:
            wanted = _work([*work, *(["--resume"] if resume else [])])
        elif resume:
            settings, wanted = next_job(folder)
        else:
            raise InputError("what is the job to do? Name a verb with its options, as in: rankwise slurm submit measure")
        if not submits:
            script = job_script(settings, wanted, program())
            print_json({"script": script}) if as_json else print(script, end="")
            return
        submission = submit(folder, settings, wanted, program())
        if as_json:
            print_json(Submitted(folder, submission).to_dict())
        else:
            print(visible(submission.job))
            tell(f"submitted job {submission.job}; script, settings and results: {folder}; next: rankwise slurm wait {folder}")

    job.__doc__ = about
    # What is no option of ours belongs to the verb.
    verb(name, example, slurm_verbs, {"ignore_unknown_options": True})(job)


_register(
    "script",
    """rankwise slurm script measure --nodes 2 --time 10 --partition lva -o machine.json
    rankwise slurm script measure --array 1-10%1 --module openmpi --mail-user me@example.org --mail-type END""",
    submits=False,
    about="Print a job script for a verb of rankwise: Slurm's settings first, readable, and nothing that is not needed.",
)
_register(
    "submit",
    """rankwise slurm submit measure --nodes 2 --time 10 --folder lva-2 -o machine.json
    rankwise slurm submit --resume --folder lva-2""",
    submits=True,
    about="Hand a verb of rankwise to Slurm as a job, and keep its script, number and settings next to the results.\n\n"
    "Prints the job's number. A measurement that ran out of time goes on in the next job with --resume.",
)


@verb("status", "rankwise slurm status rankwise-job", slurm_verbs)
def status(names: Jobs = None, as_json: Json = False) -> None:
    """Say how jobs are doing, and why, from squeue and (where the cluster keeps accounts) sacct."""
    from rankwise.slurm.jobs import jobs_named
    from rankwise.slurm.states import states_of

    jobs = jobs_named(names or [str(FOLDER)])
    _show(states_of(list(jobs)), jobs, as_json)


@verb("wait", "rankwise slurm wait rankwise-job", slurm_verbs)
def wait_for(
    names: Jobs = None,
    interval: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two questions to Slurm, 5 at least.")] = 10.0,
    as_json: Json = False,
) -> None:
    """Wait for jobs to end; exit code 1 when one did not complete, 6 when the machine was too disturbed."""
    from rankwise.slurm.jobs import jobs_named, wait

    jobs = jobs_named(names or [str(FOLDER)])
    states = wait(list(jobs), interval, lambda state: tell(f"job {state.job} {state.words}"))
    _show(states, jobs, as_json)
    if short := [state for state in states if state.state != "COMPLETED"]:
        raise typer.Exit(EXIT_UNUSABLE if all(state.is_disturbed for state in short) else EXIT_FAILURE)


@verb("cancel", "rankwise slurm cancel rankwise-job", slurm_verbs)
def cancel_jobs(names: Jobs = None) -> None:
    """Cancel jobs; a measurement keeps what it has measured."""
    from rankwise.slurm.jobs import cancel, jobs_named

    jobs = list(jobs_named(names or [str(FOLDER)]))
    live = cancel(jobs)
    for job in jobs:
        tell(f"job {job} {'is cancelled' if job in live else 'had ended already'}")


@verb("fetch", "rankwise slurm fetch rankwise-job -o results", slurm_verbs)
def fetch_results(
    folder: Annotated[Path, typer.Argument(help="Folder of the jobs.")] = FOLDER,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Copy them into this folder.")] = None,
    as_json: Json = False,
) -> None:
    """List what the jobs of a folder have written, and copy it with their scripts and settings."""
    from rankwise.slurm.jobs import fetch, results_of

    files = results_of(folder) if output is None else fetch(folder, output)
    if as_json:
        print_json({"files": [str(path) for path in files]})
        return
    for path in files:
        print(visible(str(path if output is not None else folder / path)))


def _show(states: list[JobState], jobs: Mapping[str, Path | None], as_json: bool) -> None:
    from rankwise.slurm.jobs import resumable, with_reasons

    states = with_reasons(states, jobs)
    if as_json:
        print_json({"jobs": [state.to_dict() for state in states]})
        return
    columns: tuple[Column[JobState], ...] = (Column("job", "job"), Column("state", "state"), Column("in words", "words"))
    terminal.show([Table(columns, states)])
    for folder in resumable(states, jobs):
        tell(f"next: rankwise slurm submit --resume --folder {folder}  # goes on with the samples that were kept")


def _work(words: list[str]) -> Work:
    """Check a verb and its options as the command line would, without running it. Raises InputError."""
    begins = next((i for i, word in enumerate(words) if LAUNCHERS.fullmatch(Path(word).name)), 0)
    if words[0] in ("observe", "try") and "--" not in words and begins:  # the command line has taken it for its own
        words = [*words[:begins], "--", *words[begins:]]
    left = list(words)
    if left[0].startswith("-"):
        raise InputError(
            f"no such option: {left[0]}, and no verb before it that could have it: see 'rankwise slurm script --help'"
        )
    if left[0] not in _IN_JOBS:
        raise InputError(f"'{left[0]}' is no work for a job: choose one of {', '.join(_IN_JOBS)}")
    register_verbs(left)
    command: Any = command_tree()
    while hasattr(command, "commands"):
        left = command.with_verb(left)
        if not left or left[0] not in command.commands:
            raise InputError(f"'{' '.join(words)}' is no verb of rankwise: see 'rankwise --help'")
        command, left = command.commands[left[0]], left[1:]
    if {"-h", "--help"} & {*left}:
        raise InputError(f"a job that shows help does nothing: see 'rankwise {' '.join(words)}' here")
    try:
        parameters = command.make_context(" ".join(["rankwise", *words[: len(words) - len(left)]]), left).params
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer's own usage errors
            raise
        raise InputError(f"the job's command is wrong: {words_of_usage(error, words)}") from None
    samples = None
    if words[0] == "measure":
        from rankwise.measure.samples import samples_path_of

        samples = str(samples_path_of(Path(parameters["output"])))
    return Work(tuple(words), samples)
