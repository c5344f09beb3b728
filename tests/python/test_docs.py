"""The commands that the documentation shows are run as they stand, in order, in one folder."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("rankwise ")
]


def test_the_readme_shows_commands() -> None:
    assert len(COMMANDS) >= 5


@pytest.mark.mpi
def test_every_command_of_the_readme_works(rankwise: Callable[..., Any]) -> None:
    Path("tests").mkdir()
    shutil.copytree(ROOT / "tests" / "data", "tests/data")
    for command in COMMANDS:
        result = rankwise(*shlex.split(command)[1:])
        assert result.code == 0, f"{command}: {result.err}"
        assert result.out
