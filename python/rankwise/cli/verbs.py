"""Which modules hold which verbs, so that a command line imports those of its own verb alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

# By a command line's first word, in the order of the help. Importing a module registers its verbs.
MODULES = {
    "advise": ("advise",),
    "doctor": ("doctor",),
    "cache": ("kept",),
    "fit": ("fit",),
    "ledger": ("kept",),
    "map": ("map",),
    "measure": ("measure",),
    "preload": ("preload",),
    "quick": ("report",),
    "report": ("report",),
    "try": ("trial",),
    "predict": ("workloads",),
    "simulate": ("workloads",),
    "run": ("workloads",),
    "validate": ("workloads", "choose"),
    "choose": ("workloads", "choose"),
    "health": ("health",),
    "machines": ("machines",),
    "observe": ("observe",),
    "profile": ("profile",),
    "project": ("project",),
    "reproduce": ("report",),
    "exchange": ("schedules",),
    "slurm": ("slurm",),
}


def register_verbs(arguments: Sequence[str]) -> None:
    """Register the verbs that a command line may mean: those of its first word, or all where that is no verb's."""
    first = arguments[0] if arguments else ""
    if first == "--version":
        return
    for modules in [MODULES[first]] if first in MODULES else MODULES.values():
        for module in modules:
            import_module(f"rankwise.cli.{module}")
