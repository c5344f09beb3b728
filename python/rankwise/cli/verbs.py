"""Which modules hold which verbs, so that a command line imports those of its own verb alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

# By a command line's first word, in the order of the help. Importing a module registers its verbs.
MODULES = {
    "choose": ("workloads", "choose"),
    "advise": ("advise",),
    "doctor": ("doctor",),
    "predict": ("workloads",),
    "run": ("workloads",),
    "validate": ("workloads", "validate_choose"),
    "cache": ("cache",),
    "fit": ("fit",),
    "health": ("health",),
    "ledger": ("ledger",),
    "machines": ("machines",),
    "map": ("map",),
    "measure": ("measure",),
    "observe": ("observe",),
    "preload": ("preload",),
    "profile": ("profile",),
    "project": ("project", "project_halo"),
    "quick": ("quick",),
    "report": ("report",),
    "reproduce": ("reproduce",),
    "exchange": ("schedules",),
    "simulate": ("workloads",),
    "slurm": ("slurm",),
    "try": ("trial",),
}


def register_verbs(arguments: Sequence[str]) -> None:
    """Register the verbs that a command line may mean: those of its first word, or all where that is no verb's."""
    first = arguments[0] if arguments else ""
    if first == "--version":
        return
    for modules in [MODULES[first]] if first in MODULES else MODULES.values():
        for module in modules:
            import_module(f"rankwise.cli.{module}")
