"""The notebook of examples/ runs from top to bottom, and its results show themselves."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[3] / "examples" / "choose.ipynb"


@pytest.mark.filterwarnings("default")  # of what runs notebooks
def test_the_notebook_leads_from_a_profile_to_an_exchange(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output.data for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if "data" in output]
    kinds = [
        "svg" if "image/svg+xml" in data else "table" if "<table>" in data.get("text/html", "") else "text" for data in shown
    ]
    assert kinds == ["table", "svg", "table", "svg", "svg", "table"]
