"""Workloads are things: what ranks send each other, and how it is named, priced, started, read back and shown.

A workload is a module with a ``WORKLOAD``. Adding one is a file and a line in ``_BUILT_IN``; RANKWISE_WORKLOADS names further
ones, module names or files, separated by commas.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import InputError

if TYPE_CHECKING:
    from rankwise.workloads.base import Workload

_BUILT_IN = ("exchange", "stencil", "alltoall", "collective", "fft3d", "halo", "observed")


def workloads(only: str = "") -> dict[str, Workload]:
    """Import all workloads and return them by id, in the order of the help; or only one of those that are built in.

    Raises InputError for what does not load.
    """
    names = [only] if only in _BUILT_IN else _BUILT_IN
    found = [importlib.import_module(f"rankwise.workloads.{name}").WORKLOAD for name in names]
    found += [_further(name.strip()) for name in os.environ.get("RANKWISE_WORKLOADS", "").split(",") if name.strip()]
    return {one.id: one for one in found}


def _further(name: str) -> Workload:
    try:
        if not name.endswith(".py"):
            return importlib.import_module(name).WORKLOAD  # type: ignore[no-any-return]
        module = "rankwise_workload_" + Path(name).stem
        if module not in sys.modules:
            spec = importlib.util.spec_from_file_location(module, name)
            assert spec is not None and spec.loader is not None
            sys.modules[module] = loaded = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded)
        return sys.modules[module].WORKLOAD  # type: ignore[no-any-return]
    except (ImportError, OSError, AttributeError) as error:
        sys.modules.pop("rankwise_workload_" + Path(name).stem, None)
        raise InputError(f"RANKWISE_WORKLOADS names {name}, which is no workload: {error}") from None
