"""The notebooks of examples/ run from top to bottom, and their results show themselves."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[3] / "examples"
pytestmark = pytest.mark.filterwarnings("default")  # of what runs notebooks


def outputs_of(notebook: str, tmp_path: Path) -> list[Any]:
    cells = nbformat.read(EXAMPLES / notebook, as_version=4)
    NotebookClient(cells, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    return [output for cell in cells.cells if cell.cell_type == "code" for output in cell.outputs]


def kinds(outputs: list[Any]) -> list[str]:
    shown = [output.data for output in outputs if "data" in output]
    return [
        "svg" if "image/svg+xml" in data else "table" if "<table>" in data.get("text/html", "") else "text" for data in shown
    ]


def test_a_notebook_leads_from_a_profile_to_an_exchange(tmp_path: Path) -> None:
    assert kinds(outputs_of("choose.ipynb", tmp_path)) == ["table", "svg", "table", "svg", "svg", "table"]


@pytest.mark.mpi
def test_a_notebook_leads_from_a_run_to_who_delays_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    outputs = outputs_of("analyse.ipynb", tmp_path)
    assert "svg" in kinds(outputs)
    printed = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert "MPI_Waitall: exchange, line 9; most on rank 0" in printed
    assert "late sender in exchange, line 9: for rank 1, late behind MPI_Irecv, line 7" in printed
    shown = "".join(output.data.get("text/html", "") for output in outputs if "data" in output)
    assert "Rank 1 delays the others" in shown and "B is faster" in shown
