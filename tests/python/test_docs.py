"""The commands that the documentation shows are run as they stand, in order, in one folder."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def _commands(document: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    lines = (line.split("#")[0].strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line.startswith("rankwise ")]


def test_the_readme_shows_commands() -> None:
    assert len(_commands("README.md")) >= 5


@pytest.mark.mpi
@pytest.mark.parametrize("document", ["README.md", "docs/measuring.md", "docs/fft.md", "docs/health.md"])
def test_every_command_of_the_documentation_works(rankwise: Callable[..., Any], document: str) -> None:
    Path("tests").mkdir()
    shutil.copytree(ROOT / "tests" / "data", "tests/data")
    for command in _commands(document):
        result = rankwise(*shlex.split(command)[1:])
        assert result.code == 0, f"{command}: {result.err}"
        assert result.out
