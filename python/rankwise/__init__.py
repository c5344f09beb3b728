"""rankwise: how fast a program's communication can be on a machine, why, and what to change.

Functions ask what the verbs of the command line ask: ``measure`` and ``load`` give a machine's profile; ``predict``,
``simulate``,
``run``, ``validate`` and ``choose`` take a workload (``Exchange``, ``Stencil``, ``HaloExchange``, ``Fft3d``, ``Alltoall``,
``Collective``, ``Observed``); ``map`` a ``Placing``, ``project`` an ``Exchange``, ``StencilCode`` or ``FftProjection`` on a
``Described`` machine, ``what_if`` a ``WhatIf`` of records, ``observe`` a command. What they return shows itself in a notebook
and has ``to_dict()`` (as ``--json``), ``to_pandas()`` and ``plot()``.
"""

import re
import sys
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

# isort: off
if TYPE_CHECKING:  # what it offers, in the order of the reference; _module_of reads these lines
    from rankwise.fft import Fft as Fft, FftPlan as FftPlan
    from rankwise.halo import Halo as Halo, halo_array as halo_array
    from rankwise.api.profiles import load as load, measure as measure, Machine as Machine, fit as fit
    from rankwise.api.profiles import import_tables as import_tables
    from rankwise.api.requests import Campaign as Campaign, Fitting as Fitting, Tables as Tables
    from rankwise.api.asking import predict as predict, simulate as simulate, run as run, validate as validate, choose as choose
    from rankwise.api.questions import Ranks as Ranks, Nodes as Nodes, Platform as Platform, Effort as Effort
    from rankwise.api.requests import Placing as Placing
    from rankwise.api.placing import map as map
    from rankwise.api.projecting import project as project, Described as Described, StencilCode as StencilCode
    from rankwise.api.projecting import FftProjection as FftProjection, WhatIf as WhatIf
    from rankwise.api.what_if import what_if as what_if
    from rankwise.api.what_if_ranks import other_ranks as other_ranks
    from rankwise.api.observing import compare_runs as compare_runs, live as live
    from rankwise.api.observing import observe as observe, load_record as load_record
    from rankwise.api.comparing import compare as compare, before_after as before_after
    from rankwise.api.requests import Sources as Sources, Redoing as Redoing
    from rankwise.api.reporting import report as report, quick as quick, reproduce as reproduce
    from rankwise.api.schedules import schedule as schedule, prove as prove
    from rankwise.api.machines import machines as machines, describe as describe, check_machines as check_machines
    from rankwise.api.examining import doctor as doctor
    from rankwise.api.streams import slow_nodes as slow_nodes
    from rankwise.api.kept import ledger as ledger
    from rankwise.api.advising import advise as advise, try_placements as try_placements
    from rankwise.api.tuning import tune as tune
    from rankwise.api.requests import Streams as Streams, Target as Target, Trying as Trying, Tuning as Tuning
    from rankwise.workloads.exchange import ExchangeOptions as Exchange
    from rankwise.workloads.stencil import StencilOptions as Stencil
    from rankwise.workloads.halo import HaloOptions as HaloExchange
    from rankwise.workloads.fft3d import FftOptions as Fft3d
    from rankwise.workloads.alltoall import AlltoallOptions as Alltoall
    from rankwise.workloads.collective import CollectiveOptions as Collective
    from rankwise.workloads.observed import ObservedOptions as Observed

    __version__: str
# isort: on


@lru_cache
def _module_of() -> dict[str, str]:
    """Return for each name that is offered the module that has it, and what it is called there."""
    lines = re.findall(r"^    from rankwise\.(\S+) import (.+)$", Path(__file__).read_text(encoding="utf-8"), re.MULTILINE)
    found = {new: f"{module}:{old}" for module, names in lines for old, new in re.findall(r"(\w+) as (\w+)", names)}
    return found | {"__version__": "_core:version"}


class _Package(ModuleType):
    """A part of this package that is called like a function of it:
    ``rankwise.measure()`` holds when ``rankwise.measure`` was imported."""

    def __call__(self, *values: Any, **named: Any) -> Any:
        return __getattr__(self.__name__.rpartition(".")[2])(*values, **named)


class _Rankwise(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if type(value) is ModuleType:  # as an import leaves it
            value.__class__ = _Package
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Rankwise


def __getattr__(name: str) -> Any:
    """Load what is asked for only where it is used: the command line starts with next to nothing."""
    if name not in _module_of():
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    module, _, there = _module_of()[name].partition(":")
    return getattr(import_module(f"rankwise.{module}"), there)


def __dir__() -> list[str]:
    return sorted([*globals(), *_module_of()])
