"""The JSON schema (2020-12) of what each verb prints under ``--json``, from what its records declare.

``python -m rankwise.schemas`` lists them, ``python -m rankwise.schemas predict-exchange`` prints one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankwise.api import (
    advising,
    asking,
    comparing,
    examining,
    health,
    kept,
    machines,
    observing,
    placing,
    profiles,
    project_blocks,
    projecting,
    regretting,
    reporting,
    schedules,
    streams,
    tuning,
    what_if,
    what_if_ranks,
)  # fmt: skip
from rankwise.engines.project_halo import ProjectedFigures, ProjectedStencil
from rankwise.errors import InputError
from rankwise.machine.collective_costs import CollectiveCosts
from rankwise.machine.fft_rates import FftRates
from rankwise.machine.profile import Packing
from rankwise.papers import PAPERS, paper_named
from rankwise.record_schema import Schema, schema_of
from rankwise.records import Record, key, record
from rankwise.slurm.jobs import Submitted
from rankwise.slurm.states import JobState
from rankwise.trial.session import TriedRecord
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
# A verb, or one of the questions that it answers, and what it prints.
PRINTED: dict[str, Any] = {
    "advise": advising.Advised,
    "cache": kept.Cached,
    "choose-exchange": asking.Chosen,
    "doctor": examining.Examined,
    "doctor-nodes": streams.SlowNodes,
    "error": Failed,
    "exchange-check": schedules.Proofs,
    "exchange-show": schedules.Schedule,
    "fit": profiles.Machine,
    "health-accept": Accepted,
    "health-add": health.Health,
    "health-run": health.Health,
    "health-show": health.Health,
    "ledger": kept.Ledger,
    "machines-check": machines.Checked,
    "machines-list": machines.Machines,
    "machines-show": machines.DescribedMachine,
    "map": placing.Mapped,
    "map-observed": placing.Mapped,
    "measure": profiles.Machine,
    "measure-all-pairs": streams.StreamTimes,
    "measure-collectives": CollectiveCosts,
    "measure-fft3d": FftRates,
    "measure-pack": Packing,
    "observe-compare": observing.ComparedRuns,
    "observe-show": observing.Observation,
    "observe-show-live": observing.Live,
    "profile-compare": comparing.Compared,
    "profile-import": profiles.Machine,
    "profile-show": profiles.Machine,
    "project-fft3d": projecting.ProjectedFft,
    "project-observed": what_if.Projection,
    "project-observed-ranks": what_if_ranks.OtherRanks,
    "project-table": project_blocks.Trends,
    "quick": reporting.Quick,
    "report": reporting.Report,
    "report-profiles": reporting.History,
    "slurm-fetch": Files,
    "slurm-script": Script,
    "slurm-status": Jobs,
    "slurm-submit": Submitted,
    "slurm-wait": Jobs,
    "try": TriedRecord,
    "tune": tuning.Tuned,
    "validate-choose": regretting.Regretted,
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
        return schema_of(PRINTED[name], title, WORKLOADS["exchange"], "exchange")
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
