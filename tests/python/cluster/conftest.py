"""One Slurm for all tests of this folder, and rankwise on its login node."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import schemas
import slurm_cluster
from slurm_cluster import Slurm


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let one of several processes have all tests on Slurm, so that there is one Slurm."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.get_closest_marker("slurm") is not None and item.path.name != "test_switches.py":  # which makes its own
                item.add_marker(pytest.mark.xdist_group("slurm"))


@pytest.fixture(scope="session")
def cluster() -> Iterator[Slurm]:
    why = slurm_cluster.why_not()
    if why is not None:
        pytest.skip(why)
    with Slurm(4, "1gbit") as slurm:  # tests may slow it
        yield slurm


@pytest.fixture
def on_login(cluster: Slurm, tmp_path: Path) -> Iterator[Callable[..., tuple[int, str, str]]]:
    """Run rankwise on the login node, in an empty folder; the nodes are free again afterwards."""

    def run(*words: str | Path, extra: dict[str, str] | None = None) -> tuple[int, str, str]:
        done = cluster.run(sys.executable, "-m", "rankwise", *map(str, words), cwd=tmp_path, extra=extra)
        assert "Traceback" not in done.stderr
        if words[0] == "slurm" and "--json" in words and done.stdout:
            schemas.check("-".join(map(str, words[:2])), json.loads(done.stdout))
        return done.returncode, done.stdout, done.stderr

    yield run
    cluster.wait_idle()
