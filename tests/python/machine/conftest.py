"""Golden machines: hwloc's XML, and one machine's /sys and /proc as a JSON map from path to content."""

import json
from pathlib import Path

import pytest

MACHINES = Path(__file__).resolve().parents[2] / "data" / "machines"


@pytest.fixture
def machine_xml():
    """Read the XML of a golden machine by its name."""
    return lambda name: (MACHINES / f"{name}.xml").read_text()


@pytest.fixture
def sysfs_tree(tmp_path):
    """A writable root folder with the /sys and /proc of a two-socket SMT machine."""
    root = tmp_path / "root"
    for path, content in json.loads((MACHINES / "two-socket-smt.sysfs.json").read_text()).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content + "\n")
    return root
