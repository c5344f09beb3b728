"""rankwise: how fast a program's communication can be on a machine, why, and what to change.

Functions ask what the verbs of the command line ask: ``measure`` and ``load`` give a machine's profile; ``predict``,
``simulate``,
``run``, ``validate`` and ``choose`` take a workload (``Exchange``, ``Stencil``, ``HaloExchange``, ``Fft3d``, ``Alltoall``,
``Observed``); ``map`` a
``Placing``, ``project`` an ``Exchange``, ``StencilCode`` or ``FftProjection`` on a ``Described`` machine, ``observe`` a
command. What they return shows itself in a notebook and has ``to_dict()`` (as ``--json``), ``to_pandas()`` and ``plot()``.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankwise.api.advising import Target as Target
    from rankwise.api.advising import Trying as Trying
    from rankwise.api.advising import advise as advise
    from rankwise.api.advising import try_placements as try_placements
    from rankwise.api.asking import choose as choose
    from rankwise.api.asking import predict as predict
    from rankwise.api.asking import run as run
    from rankwise.api.asking import simulate as simulate
    from rankwise.api.asking import validate as validate
    from rankwise.api.comparing import before_after as before_after
    from rankwise.api.comparing import compare as compare
    from rankwise.api.examining import doctor as doctor
    from rankwise.api.kept import ledger as ledger
    from rankwise.api.machines import check_machines as check_machines
    from rankwise.api.machines import describe as describe
    from rankwise.api.machines import machines as machines
    from rankwise.api.observing import load_record as load_record
    from rankwise.api.observing import observe as observe
    from rankwise.api.placing import Placing as Placing
    from rankwise.api.placing import map as map
    from rankwise.api.profiles import Campaign as Campaign
    from rankwise.api.profiles import Fitting as Fitting
    from rankwise.api.profiles import Machine as Machine
    from rankwise.api.profiles import Tables as Tables
    from rankwise.api.profiles import fit as fit
    from rankwise.api.profiles import import_tables as import_tables
    from rankwise.api.profiles import load as load
    from rankwise.api.profiles import measure as measure
    from rankwise.api.projecting import Described as Described
    from rankwise.api.projecting import FftProjection as FftProjection
    from rankwise.api.projecting import StencilCode as StencilCode
    from rankwise.api.projecting import project as project
    from rankwise.api.questions import Effort as Effort
    from rankwise.api.questions import Nodes as Nodes
    from rankwise.api.questions import Platform as Platform
    from rankwise.api.questions import Ranks as Ranks
    from rankwise.api.reporting import Redoing as Redoing
    from rankwise.api.reporting import Sources as Sources
    from rankwise.api.reporting import quick as quick
    from rankwise.api.reporting import report as report
    from rankwise.api.reporting import reproduce as reproduce
    from rankwise.api.schedules import prove as prove
    from rankwise.api.schedules import schedule as schedule
    from rankwise.api.streams import Streams as Streams
    from rankwise.api.streams import slow_nodes as slow_nodes
    from rankwise.fft import Fft as Fft
    from rankwise.fft import FftPlan as FftPlan
    from rankwise.halo import Halo as Halo
    from rankwise.halo import halo_array as halo_array
    from rankwise.workloads.alltoall import AlltoallOptions as Alltoall
    from rankwise.workloads.exchange import ExchangeOptions as Exchange
    from rankwise.workloads.fft3d import FftOptions as Fft3d
    from rankwise.workloads.halo import HaloOptions as HaloExchange
    from rankwise.workloads.observed import ObservedOptions as Observed
    from rankwise.workloads.stencil import StencilOptions as Stencil

    __version__: str

# By the module that has them; what is called otherwise there stands below with its name there.
_NAMES = {
    "fft": "Fft FftPlan",
    "halo": "Halo halo_array",
    "api.profiles": "load measure Campaign Machine fit Fitting import_tables Tables",
    "api.asking": "predict simulate run validate choose",
    "api.questions": "Ranks Nodes Platform Effort",
    "api.placing": "map Placing",
    "api.projecting": "project Described StencilCode FftProjection",
    "api.observing": "observe load_record",
    "api.comparing": "compare before_after",
    "api.reporting": "report Sources quick reproduce Redoing",
    "api.schedules": "schedule prove",
    "api.machines": "machines describe check_machines",
    "api.examining": "doctor",
    "api.streams": "slow_nodes Streams",
    "api.kept": "ledger",
    "api.advising": "advise Target try_placements Trying",
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()} | {
    "__version__": "_core:version",
    "Exchange": "workloads.exchange:ExchangeOptions",
    "Stencil": "workloads.stencil:StencilOptions",
    "HaloExchange": "workloads.halo:HaloOptions",
    "Fft3d": "workloads.fft3d:FftOptions",
    "Alltoall": "workloads.alltoall:AlltoallOptions",
    "Observed": "workloads.observed:ObservedOptions",
}


class _Package(ModuleType):
    """A part of this package that is called like a function of it:
    ``rankwise.measure()`` holds when ``rankwise.measure`` was imported."""

    def __call__(self, *values: Any, **named: Any) -> Any:
        return __getattr__(self.__name__.rpartition(".")[2])(*values, **named)


class _Rankwise(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name in _MODULE_OF and type(value) is ModuleType:  # as an import leaves it
            value.__class__ = _Package
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Rankwise


def __getattr__(name: str) -> Any:
    """Load what is asked for only where it is used: the command line starts with next to nothing."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
    module, _, there = _MODULE_OF[name].partition(":")
    return getattr(import_module(f"rankwise.{module}"), there or name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])
