"""``rankwise reproduce``: papers redone, each published figure beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwise.cli.base import Json, group, print_json, tell, verb
from rankwise.cli.table import Table
from rankwise.errors import InputError
from rankwise.files import require_folder
from rankwise.papers import PAPERS, Paper
from rankwise.report.reproduction import Reproduction

reproduce_verbs = group("reproduce", "Redo a paper: its published figures beside ours.")

Folder = Annotated[
    Path | None, typer.Option("--output", "-o", help="Folder to write the page, the tables and the pictures into.")
]
Engine = Annotated[str, typer.Option(help="model; simgrid: its communication simulated, beside what was published; run: its experiment here.")]
Simulations = Annotated[Path, typer.Option(help="Folder that keeps simulations, which are not done again, and samples.")]


Measured = Annotated[
    list[Path] | None,
    typer.Option(
        help="Profiles of repeated 'measure bandwidth', or folders of them, to set beside the tables; may be repeated."
    ),
]


def _register(paper: Paper) -> None:
    def reproduce(
        output: Folder = None,
        engine: Engine = "model",
        simulations: Simulations = Path("simulated"),
        measured: Measured = None,
        as_json: Json = False,
    ) -> None:
        if output is not None:
            require_folder(output)
        if engine not in ("model", "simgrid", "run"):
            raise InputError(f"--engine {engine} is unknown: choose model, simgrid or run")
        if measured and not (paper.takes_profiles and engine == "model"):
            raise InputError(f"{paper.name} sets no profiles beside what it shows: leave --measured out")
        if engine == "model":
            reproduction = paper.reproduce(measured or ())
        else:
            reproduction = paper.reproduce_simulated(simulations) if engine == "simgrid" else paper.reproduce_here(simulations)
        written: list[Path] = []
        if output is not None:
            from rankwise.report.paper_page import write_reproduction

            written = write_reproduction(reproduction, output)
        if as_json:
            print_json({**reproduction.record, "answer": list(reproduction.answer), "files": [str(f) for f in written]})
        else:
            _show(reproduction)
            for path in written[:1]:
                tell(f"written: {path} and {len(written) - 1} tables and pictures beside it")
            if paper.takes_profiles and not measured:
                tell(f"to measure the same here: {reproduction.next_command}")
            if output is None:
                tell(f"next: rankwise reproduce {paper.name} -o {paper.name}  # HTML, CSV and pictures")

    reproduce.__doc__ = f"{paper.help}\n\n{paper.citation}"
    verb(paper.name, f"rankwise reproduce {paper.name} -o {paper.name}", under=reproduce_verbs)(reproduce)


def _show(reproduction: Reproduction) -> None:
    for sentence in reproduction.answer:
        print(sentence)
    for part in reproduction.tables():
        print(f"\n{part.caption}")
        table = Table(*part.shown[0])
        for row in part.shown[1:]:
            table.add_row(*row)
        table.show()


for _paper in PAPERS:
    _register(_paper)
