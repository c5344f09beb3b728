"""Which module holds which verb, so that a command line imports those of its own verb alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

# By a command line's first word, in the order of the help. Importing a module registers its verbs.
MODULES = {
    "advise": "program",
    "doctor": "health",
    "cache": "kept",
    "fit": "machine",
    "ledger": "kept",
    "map": "map",
    "measure": "machine",
    "preload": "program",
    "quick": "report",
    "report": "report",
    "try": "program",
    "predict": "workloads",
    "simulate": "workloads",
    "run": "workloads",
    "validate": "workloads",
    "choose": "workloads",
    "health": "health",
    "machines": "machines",
    "observe": "program",
    "profile": "machine",
    "project": "project",
    "reproduce": "report",
    "exchange": "schedules",
    "slurm": "slurm",
}


def register_verbs(arguments: Sequence[str]) -> None:
    """Register the verbs that a command line may mean: those of its first word, or all where that is no verb's."""
    first = arguments[0] if arguments else ""
    if first == "--version":
        return
    for module in [MODULES[first]] if first in MODULES else dict.fromkeys(MODULES.values()):
        import_module(f"rankwise.cli.{module}")
