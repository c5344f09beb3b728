"""``rankwise reproduce``: papers redone, each published figure beside ours."""

from __future__ import annotations

from rankwise.api.reproducing import Redoing
from rankwise.cli.base import Json, group, print_json, tell, verb
from rankwise.cli.table import Table
from rankwise.papers import PAPERS, Paper
from rankwise.report.reproduction import Reproduction

reproduce_verbs = group("reproduce", "Redo a paper: its published figures beside ours.")


def _register(paper: Paper) -> None:
    def reproduce(asked: Redoing, as_json: Json = False) -> None:
        from rankwise.api.reproducing import reproduce

        found = reproduce(paper.name, asked)
        if as_json:
            print_json(found.to_dict())
            return
        _show(found.reproduction)
        for path in found.files[:1]:
            tell(f"written: {path} and {len(found.files) - 1} tables and pictures beside it")
        if paper.takes_profiles and not asked.measured:
            tell(f"to measure the same here: {found.reproduction.next_command}")
        if asked.output is None:
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
