"""Fixtures for all tests: the command line in this process, the MPI of this machine, a small measured profile."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankwise.launch import Mpi, find_mpi

# MPICH's collectives in shared memory wait without giving up the core: with more ranks than cores, a time slice each.
for _collective in ("BARRIER", "BCAST", "REDUCE", "ALLREDUCE"):
    os.environ.setdefault(f"MPIR_CVAR_{_collective}_POSIX_INTRA_ALGORITHM", "mpir")


class Result:
    """What a command line gave: exit code, stdout, stderr."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def rankwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run the command line in an empty folder; stdout and stderr apart, never a traceback."""
    from rankwise.cli.main import run

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Result:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Result(code, out, err)

    return call


@pytest.fixture(scope="session")
def mpi() -> Mpi:
    return find_mpi()
