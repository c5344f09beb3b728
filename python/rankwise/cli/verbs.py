"""Which module holds which verb, so that a command line imports those of its own verb alone; and how the help groups them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

# In each group first the verbs of 'rankwise --help', then those that 'rankwise help --all' adds, in the order of the help; with
# the module that registers a verb when it is imported.
GROUPS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "Improve a program": (
        {"observe": "observe", "advise": "program", "tune": "program", "try": "program"}, {"preload": "program"}
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
        {"reproduce": "report", "ledger": "kept", "cache": "kept", "completion": "help"},
    ),
}  # fmt: skip
# What each does, as the first words of its help say it: the list of all of them needs no verb's module.
SAYS = {
    "observe": "Record which rank sends what to which while your program runs",
    "advise": "Say what to change in the program, and what that gains",
    "tune": "Find the best collective algorithms and write the MPI's settings",
    "try": "Run the program before and after a change, and compare",
    "preload": "Let MPI_Cart_create of a running program place its ranks",
    "doctor": "Check whether this machine is fit to measure",
    "measure": "Measure latency and bandwidth between cores and between nodes",
    "health": "Compare the machine's speed with earlier sessions",
    "profile": "Show, fit, import, compare and export machine profiles",
    "fit": "Fit link models (Hockney, LogGP, ...) to the raw samples",
    "quick": "Take the tour: measure, predict, run, map, report",
    "map": "Find which rank belongs on which node",
    "predict": "Predict how long a communication pattern takes",
    "project": "Predict a pattern for a machine that you do not have",
    "choose": "Rank algorithms and modes for a pattern, fastest first",
    "validate": "Predict a pattern, run it, and compare",
    "run": "Run a pattern on this machine and verify the data",
    "simulate": "Run a pattern under SimGrid with more ranks than you have",
    "exchange": "Print or prove the message schedule of an algorithm",
    "machines": "List and show the described machines",
    "report": "Write one HTML page of results",
    "slurm": "Write, submit and follow Slurm jobs",
    "reproduce": "Redo a published study and compare the results",
    "ledger": "Show how well earlier predictions held",
    "cache": "List and clear cached builds",
    "completion": "Print shell completion, or write manual pages",
}
# By a command line's first word.
MODULES = {name: module for group in GROUPS.values() for verbs in group for name, module in verbs.items()} | {"help": "help"}


def register_verbs(arguments: Sequence[str]) -> None:
    """Register the verbs that a command line may mean: those of its first word, none where it lists them, else all.

    A module registers its verbs when it is imported, or those that the command line may mean by its ``register``.
    """
    first = arguments[0] if arguments else ""
    if first in ("--version", "-h", "--help"):
        return
    for module in [MODULES[first]] if first in MODULES else dict.fromkeys(MODULES.values()):
        imported = import_module(f"rankwise.cli.{module}")
        if hasattr(imported, "register"):
            imported.register(arguments)
