"""The JSON schema (2020-12) of what each verb prints under ``--json``, from what its records declare.

``python -m rankwise.schemas`` lists them, ``python -m rankwise.schemas predict-exchange`` prints one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankwise.api import asking, projecting, reporting
from rankwise.engines.project_halo import ProjectedFigures, ProjectedStencil
from rankwise.errors import InputError
from rankwise.papers import PAPERS, paper_named
from rankwise.record_schema import Schema, schema_of
from rankwise.records import Record, key, record, type_of
from rankwise.slurm.states import JobState
from rankwise.workloads.alltoall import AlltoallCase
from rankwise.workloads.base import Case, Figures, Row, Settings
from rankwise.workloads.collective import CollectiveCase, CollectiveFigures
from rankwise.workloads.exchange import ExchangeCase
from rankwise.workloads.fft3d_case import FftCase, FftFigures, FftSettings
from rankwise.workloads.halo import HaloCase
from rankwise.workloads.observed import ObservedCase
from rankwise.workloads.stencil import StencilCase, StencilFigures


@record
class Failure(Record):
    """What went wrong."""

    what: str = key("what went wrong")
    mend: str = key("what to do; empty: nothing is known to help")
    exit_code: int = key("exit code of the command")


@record
class Failed(Record):
    """What every verb prints where it fails."""

    error: Failure = key("what went wrong")


@record
class Accepted(Record):
    """Sessions that count as usual from now on."""

    accepted: list[str] = key("when they were, UTC")


@record
class Files(Record):
    """Results of a job."""

    files: list[Path] = key("files that were fetched")


@record
class Script(Record):
    """A job that is not submitted."""

    script: str = key("the job's script")


@record
class Jobs(Record):
    """Jobs of Slurm."""

    jobs: list[JobState] = key("one entry a job")


# Of each workload what a case is, what its rows have besides others, and what was asked of all.
WORKLOADS: dict[str, dict[Any, Any]] = {
    "exchange": {Case: ExchangeCase},
    "stencil": {Case: StencilCase, Figures: StencilFigures},
    "halo": {Case: HaloCase},
    "alltoall": {Case: AlltoallCase},
    "collective": {Case: CollectiveCase, Figures: CollectiveFigures},
    "fft3d": {Case: FftCase, Figures: FftFigures, Settings: FftSettings},
    "observed": {Case: ObservedCase},
}
# A verb, or one of the questions that it answers, and the record that it prints, by its name in the package.
PRINTED: dict[str, str] = {
    "advise": "api.advising.Advised",
    "cache": "api.kept.Cached",
    "choose-exchange": "api.asking.Chosen",
    "doctor": "api.examining.Examined",
    "doctor-nodes": "api.streams.SlowNodes",
    "error": "schemas.Failed",
    "exchange-check": "api.schedules.Proofs",
    "exchange-show": "api.schedules.Schedule",
    "fit": "api.profiles.Machine",
    "health-accept": "schemas.Accepted",
    "health-add": "api.health.Health",
    "health-run": "api.health.Health",
    "health-show": "api.health.Health",
    "ledger": "api.kept.Ledger",
    "machines-check": "api.machines.Checked",
    "machines-list": "api.machines.Machines",
    "machines-show": "api.machines.DescribedMachine",
    "map": "api.placing.Mapped",
    "map-observed": "api.placing.Mapped",
    "measure": "api.profiles.Machine",
    "measure-all-pairs": "api.streams.StreamTimes",
    "measure-collectives": "machine.collective_costs.CollectiveCosts",
    "measure-fft3d": "machine.fft_rates.FftRates",
    "measure-pack": "machine.profile.Packing",
    "observe-compare": "api.observing.ComparedRuns",
    "observe-show": "api.observing.Observation",
    "observe-show-live": "api.observing.Live",
    "profile-compare": "api.comparing.Compared",
    "profile-import": "api.profiles.Machine",
    "profile-show": "api.profiles.Machine",
    "project-fft3d": "api.projecting.ProjectedFft",
    "project-observed": "api.what_if.Projection",
    "project-observed-ranks": "api.what_if_ranks.OtherRanks",
    "project-table": "api.project_blocks.Trends",
    "quick": "api.reporting.Quick",
    "report": "api.reporting.Report",
    "report-profiles": "api.reporting.History",
    "slurm-fetch": "schemas.Files",
    "slurm-script": "schemas.Script",
    "slurm-status": "schemas.Jobs",
    "slurm-submit": "slurm.jobs.Submitted",
    "slurm-wait": "schemas.Jobs",
    "try": "trial.session.TriedRecord",
    "tune": "api.tuning.Tuned",
    "validate-choose": "api.asking.Regretted",
}
PROJECTED: dict[str, dict[Any, Any]] = {
    "project-exchange": {projecting.ProjectedRow: Row, Case: ExchangeCase, Figures: ProjectedFigures},
    "project-stencil": {projecting.ProjectedRow: ProjectedStencil},
}


def names() -> list[str]:
    """Return the names of all schemas: the words of the verbs, joined."""
    by_workload = [f"{verb}-{workload}" for verb in ("predict", "run", "simulate", "validate") for workload in WORKLOADS]
    chosen = [f"choose-{workload}" for workload in WORKLOADS if workload not in ("exchange", "observed")]
    redone = ["-".join(("reproduce", paper.name, *by)) for paper in PAPERS for by in ((), *((e,) for e in paper.engines))]
    return sorted([*PRINTED, *PROJECTED, *by_workload, *chosen, *redone])


def schema(name: str) -> Schema:
    """Return a schema. Raises InputError for a name that none has."""
    if name not in names():
        raise InputError(f"'{name}' has no schema: choose one of {', '.join(names())}")
    title = f"rankwise {name.replace('-', ' ')} --json"
    verb, _, workload = name.partition("-")
    if name in PROJECTED:
        return schema_of(projecting.Projected, title, PROJECTED[name], "projected")
    if name in PRINTED:
        return schema_of(type_of(f"rankwise.{PRINTED[name]}", __name__), title, WORKLOADS["exchange"], "exchange")
    if verb == "reproduce":
        paper, _, engine = workload.partition("-")
        title = f"rankwise reproduce {paper} {f'--engine {engine} ' * bool(engine)}--json"
        return schema_of(reporting.Reproduced, title, {Record: paper_named(paper).figures(engine or "model")})
    whole = {"choose": asking.Ranked, "validate": asking.Validated}.get(verb, asking.Times)
    return schema_of(whole, title, WORKLOADS[workload], workload)


def main(words: list[str], show: Callable[[str], None]) -> int:
    """Print the schemas that are named, or the names of all."""
    from rankwise.files import json_text

    try:
        texts = [json_text(schema(word)) for word in words] or names()
    except InputError as error:
        print(f"rankwise: {error}", file=sys.stderr)
        return error.exit_code
    for text in texts:
        show(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], print))
