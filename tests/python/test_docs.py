"""The commands that the documentation shows are run as they stand, in order, in one folder."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def commands_of(document: str) -> list[str]:
    return [
        line.split("#")[0].strip()
        for block in re.findall(r"```sh\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
        for line in block.splitlines()
        if line.startswith("rankwise ")
    ]


@pytest.mark.mpi
@pytest.mark.parametrize("document", ["README.md", "docs/fft.md"])
def test_every_command_works(rankwise: Callable[..., Any], document: str) -> None:
    commands = commands_of(document)
    assert len(commands) >= 5
    Path("tests").mkdir()
    shutil.copytree(ROOT / "tests" / "data", "tests/data")
    for command in commands:
        result = rankwise(*shlex.split(command)[1:])
        assert result.code == 0, f"{command}: {result.err}"
        assert result.out
