"""This machine and its MPI: what would disturb a measurement, and the fix of each."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

from rankwise.api.results import Result
from rankwise.blocks import BUT, NO, YES, Block, Listing, Next, Sentence
from rankwise.errors import UnusableEnvironmentError, split_message
from rankwise.launch.build import has_kernels
from rankwise.launch.installed import VARIABLE, asked_compiler
from rankwise.launch.mpi import Mpi, find_mpi, mismatch_cure, other_launchers, trial
from rankwise.machine.conditions import Finding, by_severity, examine, foreign_launcher, other_mpis, wheel_mpi
from rankwise.machine.discover import discover
from rankwise.machine.record import Hardware, MpiFound, short_version
from rankwise.machine.snapshot import take_snapshot
from rankwise.machine.topology import Topology
from rankwise.records import computed, key, record


@record
class Examined(Result, rows="findings"):
    """The machine, its MPI (None: there is none), and what was found, the gravest first."""

    topology: Topology
    machine = computed("the machine", Hardware, lambda of: Hardware(of.topology))
    mpi: Mpi | None = key(
        "the machine's MPI; null: there is none", shape=MpiFound | None, write=lambda mpi: mpi and MpiFound(mpi)
    )
    findings: Sequence[Finding] = key("what was found")

    usable = computed(
        "whether ranks can be started and timed here", bool, lambda of: all(one.severity != "problem" for one in of.findings)
    )

    def blocks(self) -> Iterator[Block]:
        yield verdict(self.findings)
        busy = _busy(self.findings)
        listed = [("Fix", busy.cure)] if busy is not None and self.usable else []
        for finding in (one for one in self.findings if one is not busy):
            listed.append((_CALLED[finding.severity], finding.what))
            if finding.cure:
                listed.append(("", f"fix: {finding.cure}"))
        yield Listing(listed, _STYLES)
        yield Listing(_summary(self.topology, self.mpi, self.findings))
        again = not self.usable or busy is not None
        yield Next([("rankwise doctor", "again, then: rankwise quick")] if again else [("rankwise quick", "under a minute")])


_CALLED = {"problem": "problem", "warning": "warning", "info": "note", "ok": "ok"}
_STYLES = {"problem": "1;31", "warning": "33", "note": "36", "ok": "32"}  # as terminals number them


def _summary(topology: Topology, mpi: Mpi | None, findings: Sequence[Finding]) -> list[tuple[str, str]]:
    """Return the lines that describe the machine."""
    hardware = Hardware(topology).to_dict()
    threads_per_core = hardware["hardware_threads"] / hardware["cores"]
    caches = ", ".join(
        f"L{kind['level']} {_amount(kind['size_bytes'])}"
        + (f" per {kind['shared_by']} hardware threads" if kind["shared_by"] > threads_per_core else " per core")
        for kind in hardware["caches"]
    )
    virtual = "" if hardware["virtualization"] == "none" else f", {hardware['virtualization']} virtual machine"
    lines = [
        ("machine", f"{topology.host}, {topology.cpu_model}{virtual}, {_amount(topology.memory_bytes)}, Linux "
                    f"{hardware['kernel_release']}"),
        (
            "cores",
            f"{many(hardware['sockets'], 'socket')}, {many(hardware['numa_nodes'], 'NUMA node')}, "
            f"{many(hardware['cores'], 'core')}, {many(hardware['hardware_threads'], 'hardware thread')} "
            f"({hardware['allowed_hardware_threads']} allowed), {caches or 'caches unknown'}",
        ),
    ]  # fmt: skip
    if mpi is None:
        return [*lines, ("MPI", "nothing built for it yet" if any(one.id == "not-built" for one in findings) else "none")]
    whence = "installed by pip" if mpi.origin == "wheel" else "the system's"
    launcher = f"{mpi.launcher_path}, {mpi.launcher_family}: {short_version(mpi.launcher_version)}"
    return [*lines, ("MPI", f"{short_version(mpi.library_version)}, {whence}; launcher {launcher}")]


def _amount(size_bytes: int) -> str:
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.4g} {unit}"
    return "of unknown size"


def doctor(ranks: int = 2) -> Examined:
    """Look at this machine, and start two ranks to see that they find each other; ``ranks``: that will be measured with."""
    topology = discover()
    return Examined(topology, *examine_here(topology, ranks))


def examine_here(topology: Topology, ranks: int = 2) -> tuple[Mpi | None, list[Finding]]:
    """Return the MPI, if there is one, and all findings, the gravest first."""
    of_the_machine = examine(take_snapshot(topology), ranks)
    mpi, of_the_mpi = _examine_mpi()
    return mpi, by_severity([*of_the_mpi, *of_the_machine])


def _examine_mpi() -> tuple[Mpi | None, list[Finding]]:
    """Find the MPI and try it with two ranks; what is to be built for it first is not built for that."""
    try:
        if (compiler := asked_compiler()) is not None and not has_kernels(compiler):
            what = f"nothing has been built for the MPI of {compiler} yet: what measures first builds it, in about a minute"
            return None, [
                Finding("not-built", "info", what, "rankwise run exchange --ranks 2 --cutoff 1 --bytes 1kB, then doctor again")
            ]
        mpi = find_mpi()
    except UnusableEnvironmentError as error:
        what, cure = split_message(str(error))
        return None, [Finding("no-mpi", "problem", what, cure or "install the default MPI: pip install mpich")]
    except ImportError as error:
        what = f"the compiled part of rankwise is missing ({error})"
        return None, [Finding("no-mpi", "problem", what, "reinstall rankwise: pip install .")]
    others = other_mpis(mpi, os.environ.get(VARIABLE), other_launchers(mpi.launcher_path))
    findings = [wheel_mpi(mpi), others, foreign_launcher(mpi, mismatch_cure(mpi))]
    if mpi.matches:
        trouble = trial(mpi)
        by_hand = shlex.join([str(mpi.launcher_path), "-n", "2", str(mpi.kernels_path), "hello"])
        if trouble is None:
            findings.append(Finding("trial", "ok", "two ranks started and reached each other", ""))
        else:
            what, cure = split_message(trouble)
            findings.append(Finding("trial", "problem", what, cure or f"see what it says by hand: {by_hand}"))
    return mpi, [finding for finding in findings if finding is not None]


def verdict(findings: Sequence[Finding]) -> Sentence:
    """Say in one line whether this machine can be measured."""
    problems = [finding for finding in findings if finding.severity == "problem"]
    warnings = [finding for finding in findings if finding.severity == "warning"]
    if problems:
        return Sentence(f"Not possible to measure here: {many(len(problems), 'problem')}.", mark=NO)
    if (busy := _busy(findings)) is not None:
        return Sentence(f"Too busy to measure: {busy.what.partition(': ')[2]}.", mark=NO)
    if warnings:
        named = ", ".join(finding.id.replace("-", " ") for finding in warnings)
        return Sentence(f"Fit to measure, with {many(len(warnings), 'warning')}: {named}.", mark=BUT)
    return Sentence("Fit to measure.", mark=YES)


def _busy(findings: Sequence[Finding]) -> Finding | None:
    return next((finding for finding in findings if finding.id == "busy-machine"), None)


def many(count: int, noun: str, several: str = "") -> str:
    """Write a number of things."""
    return f"{count} {noun if count == 1 else several or f'{noun}s'}"
