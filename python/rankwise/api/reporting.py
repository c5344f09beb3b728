"""Pages: of a machine, of the whole of it in under a minute, and of papers redone, each published figure with rankwise's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.api.comparing import BeforeAfter, before_after
from rankwise.api.questions import default_ranks
from rankwise.api.requests import MAPPINGS, PROFILE, VALIDATION, Redoing, Sources
from rankwise.api.results import Result
from rankwise.blocks import BUT, NO, YES, Block, Listing, Next, Sentence
from rankwise.errors import InputError
from rankwise.files import require_folder, write_json, write_whole
from rankwise.machine.profile import open_profile
from rankwise.machine.trust import Trust
from rankwise.mapping import Mappings, map_grid
from rankwise.papers import paper_named
from rankwise.progress import tell
from rankwise.records import Record, computed, key, record
from rankwise.report.inputs import load_mappings, load_validation
from rankwise.report.links import launches_of
from rankwise.report.page import Inputs, conclusion_of, render
from rankwise.report.reproduction import Reproduction, write_reproduction
from rankwise.workloads.base import Site
from rankwise.workloads.comparison import Validation
from rankwise.workloads.exchange import WORKLOAD, ExchangeOptions

if TYPE_CHECKING:
    from rankwise.machine.conditions import Finding

_STENCILS = ("nearest-neighbor", "nearest-neighbor-with-hops", "component")
GRID, NODES, PPN = (50, 48), 50, 48  # of quick's example


@record
class Report(Result):
    """A page that was written: ``inputs`` is what it is made of, ``path`` where it lies."""

    inputs: Inputs = key("all of it", inline=True, after="path")
    path: Path = key("path of the page", name="report")
    trusted = computed(
        "quality of the measurement",
        "rankwise.machine.trust.Trust | None",
        lambda of: of.inputs.profile and of.inputs.profile.trust,
        omit=True,
        name="trust",
        after="inputs",
    )

    def write(self) -> None:
        """Draw the page and write it."""
        write_whole(self.path, render(self.inputs))

    def records(self) -> list[dict[str, Any]]:
        return [{"link": name, **figures} for name, figures in self.to_dict()["links"].items()]

    @property
    def quality(self) -> Trust | None:
        return None if self.inputs.profile is None else self.inputs.profile.trust

    @property
    def conclusion(self) -> str:
        return conclusion_of(self.inputs).headline

    def blocks(self) -> Iterator[Block]:
        yield Sentence(self.conclusion, mark=BUT if self.is_poor else YES)
        yield Listing([("Page", str(self.path))])


@record
class History(BeforeAfter):
    """A page of profiles side by side that was written to ``path``."""

    path: Path = key("path of the page", name="report")

    def blocks(self) -> Iterator[Block]:
        yield Sentence(self.conclusion)
        yield Listing([("Page", str(self.path))])


def report(asked: Sources = Sources()) -> Report | History:
    """Write one HTML file with pictures; sections without figures name the command that makes them. Raises InputError."""
    if asked.profiles:
        if any(path is not None for path in (asked.profile, asked.validation, asked.mapping)):
            raise InputError("profiles side by side take no --profile, --validation or --mapping: leave these out")
        _check_output(asked.output, asked.profiles)
        history = History(before_after(asked.profiles).history, asked.output)
        write_whole(asked.output, history.page())
        return history
    profile, validation, mapping = (
        named or (usual if usual.exists() else None)
        for named, usual in ((asked.profile, PROFILE), (asked.validation, VALIDATION), (asked.mapping, MAPPINGS))
    )
    inputs = [path for path in (profile, validation, mapping) if path is not None]
    if not inputs:
        raise InputError(
            f"nothing to report, as none of {PROFILE}, {VALIDATION} and {MAPPINGS} is here: make them with 'rankwise quick'"
        )
    _check_output(asked.output, inputs)
    found = _of_files(profile, validation, mapping, asked.output)
    found.write()
    return found


def _check_output(output: Path, inputs: Sequence[Path]) -> None:
    if output.is_dir():
        raise InputError(f"--output {output} is a folder: name the HTML file to write")
    if any(path.exists() and output.exists() and output.samefile(path) for path in inputs):
        raise InputError(f"--output {output} is one of the inputs: name another file, it would be lost")


def _of_files(profile_file: Path | None, validation_file: Path | None, mapping_file: Path | None, output: Path) -> Report:
    """Return what the page of the files that there are says; it is not written yet. Raises InputError."""
    profile = open_profile(profile_file) if profile_file else None
    inputs = Inputs(
        profile,
        load_validation(validation_file) if validation_file else None,
        load_mappings(mapping_file) if mapping_file else None,
        launches_of(profile, profile_file.parent) if profile is not None and profile_file is not None else None,
        str(profile_file or PROFILE),
    )
    return Report(inputs, output)


@record
class Quick(Result):
    """All of a machine in one go: what would spoil figures, its links, an
    exchange predicted and run, grids mapped, the page."""

    schema = computed("version of this document", int, lambda of: 1)
    report: Report = key("the page", inline=True)
    findings: Sequence[Finding] = key("what would spoil figures")
    profile = computed("the profile", "rankwise.machine.profile.Profile", lambda of: of.report.inputs.profile)
    validation: Validation = key("predictions with measurements")
    mappings: Sequence[Mappings] = key("placements of the example grids")

    def records(self) -> list[dict[str, Any]]:
        return self.report.records()

    @property
    def conclusion(self) -> str:
        return self.report.conclusion

    def write(self) -> None:
        """Draw the page and write it."""
        self.report.write()
        _step(5, f"page: {self.report.path}")

    @property
    def quality(self) -> Trust | None:
        profile = self.report.inputs.profile
        return None if profile is None else replace(profile.trust, file="", day="")

    def blocks(self) -> Iterator[Block]:
        from rankwise.api.links import links_table

        record, profile = self.report.to_dict(), self.report.inputs.profile
        assert profile is not None
        poor = profile.trust.is_poor
        yield Sentence(record["headline"], mark=NO if poor else YES)
        yield links_table(profile)
        yield Listing([
            ("Check", self.validation.headline()),
            *([] if poor else [("Why", record["why"].removeprefix("Why: "))]),
            ("Page", str(self.report.path)),
        ])  # fmt: skip
        yield Next([
            ("rankwise observe -o app.comm -- mpiexec -n 2 ./app", "your program"),
            ("rankwise measure --hosts node1,node2", "your network"),
        ])  # fmt: skip


def quick(folder: Path | str = Path("."), seconds: float = 12.0) -> Quick:
    """Measure this machine for so many seconds, model it, run a real exchange, map a grid, and write it all into one page.

    Profile, samples and page go into ``folder``, which is there. Raises RankwiseError and its kinds.
    """
    found = measured(folder, seconds)
    found.write()
    return found


def measured(folder: Path | str, seconds: float) -> Quick:
    """Do all of :func:`quick` but its page."""
    from rankwise.api.examining import examine_here, many
    from rankwise.engines.run import Here
    from rankwise.engines.session import compare_engines
    from rankwise.measure.campaign import Plan, default_sizes
    from rankwise.measure.profiles import measure_machine

    folder = Path(folder)
    require_folder(folder)
    paths = [folder / name for name in (PROFILE, VALIDATION, MAPPINGS)]
    here = Here()
    _, findings = examine_here(here.topology)
    warned = sum(finding.severity in ("problem", "warning") for finding in findings)
    _step(1, f"machine: {many(here.topology.allowed_core_count, 'core')}, {many(warned, 'warning')} (rankwise doctor)")

    trust = measure_machine(paths[0], False, Plan({}, default_sizes(), seconds=seconds)).trust
    _step(2, f"ping-pong, 0 B to 4 MiB: {many(trust.launches or 0, 'launch', 'launches')}, quality {trust.level}")

    cases = WORKLOAD.cases(ExchangeOptions(), Site("validate", default_ranks(here)))
    validation = compare_engines(paths[0], cases, ("model", "run"), here, folder / "exchange.samples.jsonl", 0.3, launches=10)
    write_json(paths[1], replace(validation, example=True).to_dict())
    _step(3, f"exchange, predicted and run: {many(len(validation.comparisons), 'case')}")

    mapped = [map_grid(GRID, [PPN] * NODES, stencil) for stencil in _STENCILS]
    write_json(paths[2], {"schema": 1, "example": True, "instances": [instance.to_dict() for instance in mapped]})
    _step(4, f"mappings of a {GRID[0]}x{GRID[1]} grid, an example: {many(len(mapped), 'stencil')}\n")

    page = _of_files(paths[0], paths[1], paths[2], folder / "rankwise-report.html")
    return Quick(page, findings, validation, mapped)


def _step(number: int, what: str) -> None:
    """Say what came of a step; while it is under way its meter does."""
    tell(f"[{number}/5] {what}")


@record
class Reproduced(Result, rows="claims"):
    """What a paper says, and what rankwise finds: ``reproduction`` has all of it, ``files`` is what was written."""

    reproduction: Reproduction
    figures = computed("", Record, lambda found: found.reproduction.figures, inline=True)
    answer = computed("the answer in sentences", Sequence[str], lambda found: found.reproduction.answer)
    claims = computed(
        "what the paper says, sentence by sentence, held against figures", "Sequence[rankwise.papers.claims.Verdict]",
        lambda found: found.reproduction.claims,
    )  # fmt: skip
    files: list[Path] = key("files that were written")

    @property
    def conclusion(self) -> str:
        from rankwise.papers.claims import summary

        return summary(self.reproduction.claims)

    def blocks(self) -> Iterator[Block]:
        """How many sentences hold, those that do not, and what matters most: the rest is on the page."""
        from rankwise.papers.claims import screen

        if self.reproduction.claims:
            yield screen(self.reproduction.claims, self.reproduction.answer)
            return
        yield from map(Sentence, self.reproduction.answer)
        yield from self.reproduction.tables()


def reproduce(paper: str, asked: Redoing = Redoing()) -> Reproduced:
    """Redo a paper: czechowski2012, hunold2020, wagner2024 or werner2023. Raises InputError, RankwiseError and its kinds."""
    of = paper_named(paper)
    if asked.output is not None:
        require_folder(asked.output)
    if asked.measured and not (of.takes_profiles and asked.engine == "model"):
        raise InputError(f"{of.name} takes no profiles to compare with: leave --measured out")
    found = of.reproduce(asked.engine, asked.simulations, asked.measured or ())
    files: list[Path] = []
    if asked.output is not None:
        files = write_reproduction(found, asked.output)
    return Reproduced(found, files)
