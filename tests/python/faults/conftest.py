"""Kernels for Open MPI, built once for all faults."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rankwise.cache import cache_folder

collect_ignore = [] if os.environ.get("RANKWISE_FAULTS") == "all" else ["test_nodes.py"]


@pytest.fixture(scope="session")
def openmpi_cache() -> Path:
    """Return a cache with the kernels for Open MPI: building them is not what is waited for."""
    cache = cache_folder().parent.absolute()
    script = "from rankwise.launch.build import KERNELS, build; import sys, pathlib; build(KERNELS, pathlib.Path(sys.argv[1]))"
    if (compiler := shutil.which("mpicxx.openmpi")) is not None:
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        subprocess.run([sys.executable, "-c", script, compiler], env=environment, check=True, capture_output=True)
    return cache
