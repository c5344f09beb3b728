"""``rankwise doctor``: the machine, its MPI, what would spoil a measurement, and the cure of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.api.all_pairs import Streams
from rankwise.api.examining import many
from rankwise.cli.base import Json, print_json, verb, writable
from rankwise.cli.table import show_list
from rankwise.errors import EXIT_ENVIRONMENT, EXIT_OK, InputError

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
            "--hosts, --sizes, --from, --plot and --resume are for the nodes: write 'rankwise doctor --nodes', or leave them "
            "out"
        )
    from rankwise.api.examining import doctor

    found = doctor(ranks)
    if as_json:
        print_json(found.to_dict())
    else:
        print(f"{found.conclusion}\n")
        _render(found.topology, found.mpi, found.findings)
    return EXIT_OK if found.usable else EXIT_ENVIRONMENT


def _render(topology: Topology, mpi: Mpi | None, findings: Sequence[Finding]) -> None:
    show_list(_summary(topology, mpi, findings))
    print()
    listed: list[tuple[str, str]] = []
    for finding in findings:
        listed.append((finding.severity, finding.what))
        if finding.cure:
            listed.append(("", f"cure: {finding.cure}"))
    show_list(listed, _STYLES)


def _summary(topology: Topology, mpi: Mpi | None, findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Return the lines that describe the machine."""
    from rankwise.machine.record import Hardware, short_version

    hardware = Hardware(topology).to_dict()
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
            f"{many(hardware['sockets'], 'socket')}, {many(hardware['numa_nodes'], 'NUMA node')}, "
            f"{many(hardware['cores'], 'core')}, {many(hardware['hardware_threads'], 'hardware thread')} "
            f"({hardware['allowed_hardware_threads']} allowed)",
        ),
        ("caches", caches or "not told"),
        ("memory", _amount(topology.memory_bytes)),
        ("virtual", "no" if virtual == "none" else virtual),
        ("read from", {"hwloc-library": "hwloc", "lstopo": "lstopo (hwloc)", "sysfs": "/sys"}[topology.source]),
    ]
    if mpi is None:
        return [*lines, ("MPI", "nothing built for it yet" if any(one.id == "not-built" for one in findings) else "none")]
    whence = "installed by pip" if mpi.origin == "wheel" else "the system's"
    launcher = f"{mpi.launcher_path}, {mpi.launcher_family}: {short_version(mpi.launcher_version)}"
    return [*lines, ("MPI", f"{short_version(mpi.library_version)}, {whence}"), ("launcher", launcher)]


def _amount(size_bytes: int) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.4g} {unit}"
    return "of unknown size"
