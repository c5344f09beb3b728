"""Papers redone, each published figure beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rankwise.api.results import Result
from rankwise.blocks import Block, Sentence, text_table
from rankwise.errors import InputError
from rankwise.questions import Options, option

if TYPE_CHECKING:
    from rankwise.report.reproduction import Reproduction


@dataclass(frozen=True)
class Redoing(Options):
    """By which engine a paper is redone, and where its page goes."""

    output: Path | None = option(None, "Folder to write the page, the tables and the pictures into.", "--output", "-o")
    engine: Literal["model", "simgrid", "run"] = option(
        "model", "model; simgrid: its communication simulated, beside what was published; run: its experiment here."
    )
    simulations: Path = option(Path("simulated"), "Folder that keeps simulations, which are not done again, and samples.")
    measured: list[Path] | None = option(
        None, "Profiles of repeated 'measure bandwidth', or folders of them, to set beside the tables; may be repeated."
    )


@dataclass(frozen=True)
class Reproduced(Result):
    """What a paper says beside what we find: ``reproduction`` has all of it, ``files`` is what was written."""

    reproduction: Reproduction
    files: list[Path]

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.reproduction.record,
            "answer": list(self.reproduction.answer),
            "files": [str(path) for path in self.files],
        }

    def records(self) -> list[dict[str, Any]]:
        """The rows of all tables, as they are shown."""
        return [
            {"table": part.caption, **dict(zip(_told_apart(part.shown[0]), row, strict=True))}
            for part in self.reproduction.tables()
            for row in part.shown[1:]
        ]

    def blocks(self) -> Iterator[Block]:
        yield from map(Sentence, self.reproduction.answer)
        for part in self.reproduction.tables():
            yield text_table(part.shown[0], part.shown[1:], caption=part.caption)


def _told_apart(heads: Sequence[str]) -> list[str]:
    """Return the heads of columns, those that there are twice with the head before them."""
    return [head if head not in heads[:i] else f"{heads[i - 1]}, {head}" for i, head in enumerate(heads)]


def reproduce(paper: str, asked: Redoing = Redoing()) -> Reproduced:
    """Redo a paper: czechowski2012, hunold2020, wagner2024 or werner2023. Raises InputError, RankwiseError and its kinds."""
    from rankwise.files import require_folder
    from rankwise.papers import paper_named

    of = paper_named(paper)
    if asked.output is not None:
        require_folder(asked.output)
    if asked.measured and not (of.takes_profiles and asked.engine == "model"):
        raise InputError(f"{of.name} sets no profiles beside what it shows: leave --measured out")
    if asked.engine == "model":
        found = of.reproduce(asked.measured or ())
    else:
        found = of.reproduce_simulated(asked.simulations) if asked.engine == "simgrid" else of.reproduce_here(asked.simulations)
    files: list[Path] = []
    if asked.output is not None:
        from rankwise.report.reproduction import write_reproduction

        files = write_reproduction(found, asked.output)
    return Reproduced(found, files)
