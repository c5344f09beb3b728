"""``rankwise doctor``: the machine, its MPI, what would spoil a measurement, and the cure of each."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.api.all_pairs import Streams
from rankwise.cli.base import Json, print_json, verb, writable
from rankwise.cli.table import show_list
from rankwise.errors import EXIT_ENVIRONMENT, EXIT_OK, InputError, UnusableEnvironmentError, split_message

if TYPE_CHECKING:
    from rankwise.launch import Mpi
    from rankwise.machine.conditions import Finding
    from rankwise.machine.topology import Topology

_STYLES = {"problem": "1;31", "warning": "33", "info": "36", "ok": "32"}  # as terminals number them


@verb(
    "doctor",
    example="""
    rankwise doctor
    rankwise doctor --ranks 8 --json
    rankwise doctor --nodes --hosts n[01-16]
    """,
)
def doctor(
    asked: Streams,
    ranks: Annotated[
        int, typer.Option("--ranks", min=1, help="Ranks that will be measured with: are there cores for them?")
    ] = 2,
    nodes: Annotated[
        bool, typer.Option("--nodes", help="Which node, direction or cable is slow? Streams between all pairs of nodes.")
    ] = False,
    present: Annotated[
        Path | None, typer.Option("--from", help="--nodes: judge the newest campaign of this samples file, measure nothing.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="--nodes: draw who sends to whom how slowly, into .svg or .html.", callback=writable)
    ] = None,
    as_json: Json = False,
) -> int:
    """Show the machine and its MPI, what would spoil a measurement here, and the cure of each.

    Starts two ranks to see that they find each other. Exit code 4 when measuring is impossible. With --nodes: 3 when something
    is slow, 5 when it is too noisy to see what is 20 % slower, 6 when nodes are busy with other work.
    """
    if nodes:
        from rankwise.cli.slow_nodes import doctor_nodes

        return doctor_nodes(asked, present, plot, as_json)
    if any(value is not None for value in (asked.hosts, asked.sizes, present, plot)) or asked.resume:
        raise InputError(
            "--hosts, --sizes, --from, --plot and --resume are for the nodes: write 'rankwise doctor --nodes', or leave them out"
        )
    from rankwise.machine.discover import discover
    from rankwise.machine.record import hardware_record

    topology = discover()
    mpi, findings = examine_here(topology, ranks)
    usable = all(finding.severity != "problem" for finding in findings)
    if as_json:
        print_json(
            {
                "machine": hardware_record(topology),
                "mpi": None if mpi is None else _mpi_json(mpi),
                "findings": [finding.to_dict() for finding in findings],
                "usable": usable,
            }
        )
    else:
        print(f"{verdict(findings)}\n")
        _render(topology, mpi, findings)
    return EXIT_OK if usable else EXIT_ENVIRONMENT


def examine_here(topology: Topology, ranks: int = 2) -> tuple[Mpi | None, list[Finding]]:
    """Return the MPI, if there is one, and all findings, the gravest first."""
    from rankwise.machine.conditions import by_severity, examine
    from rankwise.machine.snapshot import take_snapshot

    of_the_machine = examine(take_snapshot(topology), ranks)
    mpi, of_the_mpi = _examine_mpi()
    return mpi, by_severity([*of_the_mpi, *of_the_machine])


def _examine_mpi() -> tuple[Mpi | None, list[Finding]]:
    """Find the MPI and try it with two ranks."""
    from rankwise.launch import find_mpi, mismatch_cure, trial
    from rankwise.machine.conditions import Finding, foreign_launcher, wheel_mpi

    try:
        mpi = find_mpi()
    except UnusableEnvironmentError as error:
        what, cure = split_message(str(error))
        return None, [Finding("no-mpi", "problem", what, cure or "install the default MPI: pip install mpich")]
    except ImportError as error:
        what = f"the compiled part of rankwise is missing ({error})"
        return None, [Finding("no-mpi", "problem", what, "reinstall rankwise: pip install .")]
    findings = [wheel_mpi(mpi), foreign_launcher(mpi, mismatch_cure(mpi))]
    if mpi.matches:
        trouble = trial(mpi)
        by_hand = shlex.join([str(mpi.launcher_path), "-n", "2", str(mpi.kernels_path), "hello"])
        if trouble is None:
            findings.append(Finding("trial", "ok", "two ranks were started and found each other", ""))
        else:
            what, cure = split_message(trouble)
            findings.append(Finding("trial", "problem", what, cure or f"see what it says by hand: {by_hand}"))
    return mpi, [finding for finding in findings if finding is not None]


def _mpi_json(mpi: Mpi) -> dict[str, Any]:
    from rankwise.machine.record import mpi_record

    return {**mpi_record(mpi), "launcher_path": str(mpi.launcher_path), "matches": mpi.matches}


def _render(topology: Topology, mpi: Mpi | None, findings: Sequence[Finding]) -> None:
    show_list(_summary(topology, mpi))
    print()
    listed: list[tuple[str, str]] = []
    for finding in findings:
        listed.append((finding.severity, finding.what))
        if finding.cure:
            listed.append(("", f"cure: {finding.cure}"))
    show_list(listed, _STYLES)


def _summary(topology: Topology, mpi: Mpi | None) -> list[tuple[str, str]]:
    """Return the lines that describe the machine."""
    from rankwise.machine.record import hardware_record, short_version

    hardware = hardware_record(topology)
    threads_per_core = hardware["hardware_threads"] / hardware["cores"]
    caches = ", ".join(
        f"L{kind['level']} {_amount(kind['size_bytes'])}"
        + (f" per {kind['shared_by']} hardware threads" if kind["shared_by"] > threads_per_core else " per core")
        for kind in hardware["caches"]
    )
    virtual = hardware["virtualization"]
    lines = [
        ("host", f"{topology.host}, {topology.cpu_model}, Linux {hardware['kernel_release']}"),
        (
            "processors",
            f"{_many(hardware['sockets'], 'socket')}, {_many(hardware['numa_nodes'], 'NUMA node')}, "
            f"{_many(hardware['cores'], 'core')}, {_many(hardware['hardware_threads'], 'hardware thread')} "
            f"({hardware['allowed_hardware_threads']} allowed)",
        ),
        ("caches", caches or "not told"),
        ("memory", _amount(topology.memory_bytes)),
        ("virtual", "no" if virtual == "none" else virtual),
        ("read from", {"hwloc-library": "hwloc", "lstopo": "lstopo (hwloc)", "sysfs": "/sys"}[topology.source]),
    ]
    if mpi is None:
        return [*lines, ("MPI", "none")]
    whence = "installed by pip" if mpi.origin == "wheel" else "the system's"
    launcher = f"{mpi.launcher_path}, {mpi.launcher_family}: {short_version(mpi.launcher_version)}"
    return [*lines, ("MPI", f"{short_version(mpi.library_version)}, {whence}"), ("launcher", launcher)]


def verdict(findings: Sequence[Finding]) -> str:
    """Say in one line whether this machine can be measured."""
    problems = sum(finding.severity == "problem" for finding in findings)
    warnings = sum(finding.severity == "warning" for finding in findings)
    if problems:
        return f"Not usable: cure the {_many(problems, 'problem')} below first, then run 'rankwise doctor' again."
    if warnings:
        return f"Usable, but {_many(warnings, 'warning')} may spoil what is measured. Next: rankwise quick"
    return "Usable: nothing found that would spoil a measurement. Next: rankwise quick"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _amount(size_bytes: int) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.4g} {unit}"
    return "of unknown size"
