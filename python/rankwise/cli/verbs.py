"""Which module holds which verb, so that a command line imports those of its own verb alone; and how the help groups them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

# In each group first the verbs of 'rankwise --help', then those that 'rankwise help --all' adds, in the order of the help; with
# the module that registers a verb when it is imported.
GROUPS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "Improve a program": (
        {"observe": "program", "advise": "program", "tune": "program", "try": "program"}, {"preload": "program"}
    ),
    "Know the machine": (
        {"doctor": "health", "measure": "machine", "health": "health"},
        {"profile": "machine", "fit": "machine", "quick": "report"},
    ),
    "Ask before you run": (
        {"map": "map", "predict": "workloads", "project": "project"},
        {"choose": "workloads", "validate": "workloads", "run": "workloads", "simulate": "workloads",
         "exchange": "schedules", "machines": "machines"},
    ),
    "Share": (
        {"report": "report", "slurm": "slurm"},
        {"reproduce": "report", "ledger": "kept", "cache": "kept", "completion": "completion"},
    ),
}  # fmt: skip
# By a command line's first word.
MODULES = {name: module for group in GROUPS.values() for verbs in group for name, module in verbs.items()} | {"help": "help"}


def register_verbs(arguments: Sequence[str]) -> None:
    """Register the verbs that a command line may mean: those of its first word, or all where that is no verb's."""
    first = arguments[0] if arguments else ""
    if first == "--version":
        return
    for module in [MODULES[first]] if first in MODULES else dict.fromkeys(MODULES.values()):
        import_module(f"rankwise.cli.{module}")
