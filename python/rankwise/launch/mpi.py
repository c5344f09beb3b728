"""The MPI that the kernels run with: which library, which launcher, and whether the two belong together.

The default is the MPICH that pip installs next to us. ``RANKWISE_MPI=system`` takes the MPI whose ``mpicxx`` is on PATH
(the kernels are built for it on first use), a path the mpicxx that it names; ``RANKWISE_MPIEXEC`` names another launcher.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rankwise.errors import EXIT_USAGE, InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.allocation import find_allocation
from rankwise.launch.installed import asked_compiler, is_pips, package_folder
from rankwise.launch.launchers import Launcher, family_of_library, make_launcher
from rankwise.launch.process import Child, output_of, refusal_in
from rankwise.launch.reach import Reach, require_hosts, seconds_of
from rankwise.launch.remains import memory_kills

# Silence that no plan explains: so long, so many times what a record was to take, as long as its bytes take at so many a
# second, and more where ranks take turns on a core.
_SILENCE_S, _SILENCE_TIMES, _SLOWEST_BYTES_PER_S, _CROWDED_S = 30.0, 4.0, 3e7, 0.5
_START_S, _START_OF_RANK_S = 60.0, 0.1
# After such words of those who start its processes elsewhere MPICH's launcher waits for ever.
_HOPELESS_S = 10.0
# A step refused because its job is ending is not: Slurm ends rankwise, too, and says why.
_HOPELESS = re.compile(
    r"Unable to create step(?!.*already completing)|Host key verification failed|Permission denied|Could not resolve "
    r"hostname|No route to host"
)
# How launchers tell of a rank that died: MPICH's and Intel's, Open MPI's, Slurm's; and an abort of MPI's own.
_DEATH = re.compile(
    r"BAD TERMINATION|KILLED BY SIGNAL|exited on signal|process returned a non-zero exit code|exited with (non-zero|exit code)"
    r"|noticed that process|task \d+: |tasks? [\d,-]+: |MPI_ABORT|Abort\(\d+\)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Mpi:
    """A library, the launcher for it, and the kernels that were built with it."""

    origin: str  # "wheel" (installed by pip next to us) or "system"
    library_version: str
    library_path: Path
    kernels_path: Path
    launcher: Launcher

    @cached_property
    def library_family(self) -> str:
        return family_of_library(self.library_version)

    @property
    def launcher_path(self) -> Path:
        return self.launcher.path

    @property
    def launcher_version(self) -> str:
        return self.launcher.version

    @property
    def launcher_family(self) -> str:
        return self.launcher.family

    @property
    def matches(self) -> bool:
        """Whether the launcher can start ranks of this library."""
        return self.library_family in self.launcher.understands

    def require_match(self) -> None:
        """Raise UnusableEnvironmentError when the launcher belongs to another MPI than the library."""
        if not self.matches:
            raise UnusableEnvironmentError(
                f"the launcher {self.launcher_path} belongs to {self.launcher_family}, the kernels' library to "
                f"{self.library_family}: {mismatch_cure(self)}"
            )


def mismatch_cure(mpi: Mpi) -> str:
    """Say how to bring a launcher and a library of different families together."""
    if "RANKWISE_MPIEXEC" in os.environ:
        return f"unset RANKWISE_MPIEXEC, or let it name the mpiexec of {mpi.library_family}"
    if mpi.origin == "wheel":
        return "reinstall the default MPI with 'pip install --force-reinstall mpich', or set RANKWISE_MPI=system"
    return "put the mpicxx and the mpiexec of the same MPI first on PATH"


def find_mpi() -> Mpi:
    """Find kernels, library and launcher. Raises UnusableEnvironmentError when one of them is missing."""
    near = []
    if (compiler := asked_compiler()) is not None:
        from rankwise.launch.build import KERNELS, build

        kernels = build(KERNELS, compiler)
        near = [compiler.parent]
    else:
        kernels = installed_kernels()
    about = _about(kernels)
    library_path = Path(str(about["mpi_library_path"])).resolve()
    origin = "wheel" if is_pips(library_path) else "system"
    version = str(about["mpi_library"]).strip()
    # The launcher of a library usually lies in bin next to its lib.
    near.append(Path(os.path.normpath(str(about["mpi_library_path"]))).parent.parent / "bin")
    return Mpi(origin, version, library_path, kernels, _find_launcher(near, family_of_library(version)))


def installed_kernels() -> Path:
    """Return the kernels that were installed with the package. Raises UnusableEnvironmentError when absent."""
    path = package_folder() / "bin" / "rankwise-kernels"
    if not path.is_file():
        raise UnusableEnvironmentError(f"the MPI kernels are not installed ({path}): reinstall rankwise with 'pip install .'")
    return path


def other_launchers(used: Path) -> list[Path]:
    """Return the files called mpiexec on PATH that are not the launcher in use, by whatever name."""
    paths = [path for folder in os.get_exec_path() if os.access(path := Path(folder) / "mpiexec", os.X_OK)]
    first = {path.resolve(): path for path in reversed(paths)}
    return [path for path in dict.fromkeys(paths) if first[path.resolve()] == path and path.resolve() != used.resolve()]


def _find_launcher(near: Sequence[Path], library_family: str) -> Launcher:
    """Return the named launcher, or the first of those at hand that understands the library, or else the first."""
    named = os.environ.get("RANKWISE_MPIEXEC")
    if named:
        found = shutil.which(named)
        if found is None:
            raise UnusableEnvironmentError(
                f"RANKWISE_MPIEXEC names {named}, which is not an executable: correct it or unset it"
            )
        return _launcher_at(Path(found), library_family)
    folders = dict.fromkeys([*near, *map(Path, os.get_exec_path())])
    names = ("mpiexec", f"mpiexec.{library_family}")  # Debian has several MPIs side by side
    paths = [folder / name for folder in folders for name in names if os.access(folder / name, os.X_OK)]
    if not paths:
        raise UnusableEnvironmentError(
            "no mpiexec next to the MPI library nor on PATH: install the default MPI with 'pip install mpich'"
        )
    launchers = (_launcher_at(path, library_family) for path in paths)
    first = next(launchers)
    if library_family in first.understands:
        return first
    return next((launcher for launcher in launchers if library_family in launcher.understands), first)


def _launcher_at(path: Path, library_family: str) -> Launcher:
    return make_launcher(path, output_of([str(path), "--version"])[1], library_family)


def _about(kernels: Path) -> Mapping[str, Any]:
    code, text = output_of([str(kernels), "about"])
    try:
        record = json.loads(text)
        if code != 0 or record["record"] != "about":
            raise ValueError
    except (ValueError, TypeError, KeyError):
        reason = " ".join(text.split())[-300:] or f"exit code {code}"
        if re.search(r"libmpi\S*: cannot open shared object file", reason):
            raise UnusableEnvironmentError(
                "no MPI is installed with rankwise: pip install 'rankwise[mpich]' brings MPICH, RANKWISE_MPI=system takes the "
                "mpicxx on PATH"
            ) from None
        raise UnusableEnvironmentError(
            f"the MPI kernels do not start ({kernels}: {reason}): reinstall with 'pip install --force-reinstall mpich .'"
        ) from None
    return dict(record)


def stream_kernel(
    mpi: Mpi, arguments: Sequence[str], ranks: int, oversubscribed: bool, doing: str, hosts: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Start a kernel on so many ranks and yield its records as they come.

    ``hosts`` holds the host of each rank; without it all run on this node.

    ``doing`` names the work in messages ("measuring same-socket, launch 1"). Raises RankwiseError when a rank dies, when the
    ranks do not start in time, when a node does not answer any more, when nothing is heard for longer than the arguments
    explain, or when the kernel's output is not what it should be; InputError when the kernel refuses its arguments, or for a
    host that is not there.
    """
    mpi.require_match()
    allocation = find_allocation()
    require_hosts(hosts, allocation)
    environment = {**mpi.launcher.environment(oversubscribed), **(allocation.environment() if allocation else {})}
    command = mpi.launcher.command(ranks, [str(mpi.kernels_path), *arguments], oversubscribed, hosts)
    start_s, begun_s = seconds_of("RANKWISE_START_S", _START_S + _START_OF_RANK_S * ranks), time.monotonic()
    silence_s = seconds_of("RANKWISE_SILENCE_S", longest_silence_s(arguments, ranks, oversubscribed))
    killed_before = memory_kills()
    with Reach(hosts) as reach, Child(command, environment) as child:
        started = ended = False

        def ended_by_us(what: str, fix: str = "") -> RankwiseError:
            child.end()
            end = "were ended"
            if child.left:
                end = (
                    f"were killed, but of them {', '.join(map(str, child.left))} do not end on this node: see ps -p "
                    f"{child.left[0]}"
                )
            return RankwiseError(f"{what} and {end}{_because(child.error_line())}{_because(_loss())}{fix}")

        def meanwhile(quiet_s: float) -> None:
            waited_s = time.monotonic() - begun_s
            if not started and waited_s > (min(start_s, _HOPELESS_S) if _HOPELESS.search(child.complaint()) else start_s):
                raise ended_by_us(
                    f"the ranks did not start within {waited_s:.0f} s while {doing},",
                    f": see that {_first_try(mpi, hosts)} works, or allow more with RANKWISE_START_S",
                )
            if lost := reach.lost(quiet_s):
                raise ended_by_us(f"nothing heard for {quiet_s:.0f} s while {doing}: {lost}; the ranks")
            if started and child.silence_s() > silence_s:
                raise ended_by_us(
                    f"nothing heard for {quiet_s:.0f} s while {doing}, which was to take less: the ranks hang",
                    ": go on from there, or allow more with RANKWISE_SILENCE_S",
                )

        for line in child.lines(math.inf, meanwhile, all_count=False):
            if (record := record_of(line)) is None:
                continue  # a launcher's own words
            child.heard()
            if not started and mpi.library_family != "mpich":  # of these the ranks themselves see to it
                child.note_segments()
            started = True
            if record["record"] == "start" and record["ranks"] != ranks:
                raise UnusableEnvironmentError(
                    f"{ranks} ranks were started but each finds {record['ranks']}: the launcher "
                    f"{mpi.launcher_path} does not belong to the library: {mismatch_cure(mpi)}"
                )
            ended = ended or record["record"] == "end"
            yield record
        code = child.wait()
        if code == EXIT_USAGE and (refusal := refusal_in("\n".join(child.complaints()))):
            raise InputError(refusal)
        if code != 0 or not ended:
            child.end()
            why = _why_ended(child, code, started, doing)
            if memory_kills() > killed_before:
                why += (
                    "; meanwhile the kernel killed a process of this node for want of memory: take fewer ranks or smaller "
                    "messages"
                )
            raise RankwiseError(why + _because(_loss()))


def record_of(line: str) -> dict[str, Any] | None:
    """Return a kernel's record; None for a launcher's own words."""
    try:
        record = json.loads(line)
        return record if isinstance(record["record"], str) else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def result_of(records: Iterable[dict[str, Any]], kind: str = "samples") -> dict[str, Any]:
    """Return the first of a kernel's records that is of a kind. Raises RankwiseError where there is none."""
    for record in records:
        if record["record"] == kind:
            return record
    raise RankwiseError("a kernel ended without a result: see 'rankwise doctor'")


def longest_silence_s(arguments: Sequence[str], ranks: int, oversubscribed: bool) -> float:
    """Return for how long a kernel may print nothing: from the seconds that it was given and the bytes that it moves."""
    given = dict(zip(arguments[1::2], arguments[2::2], strict=False))
    planned_s = float(given.get("--seconds") or given.get("--budget-s") or 0.0)
    planned_s += sum(float(given.get(word) or 0.0) for word in ("--job-s", "--patience-s", "--limits-s"))
    words = [word for value in given.values() for word in re.split("[,:]", value)]
    least = given.get("--least", "1")
    points = math.prod(int(n) for n in given["--n"].split(",")) if "--n" in given else 0
    largest = max(16 * points, *(int(word) for word in words if word.isdecimal() and len(word) < 19), 0)
    moved_bytes = largest * ranks * int(least)
    crowd_s = _CROWDED_S * ranks if oversubscribed else 0.0
    return min(_SILENCE_S + _SILENCE_TIMES * planned_s + crowd_s + moved_bytes / _SLOWEST_BYTES_PER_S, 9e5)


def _first_try(mpi: Mpi, hosts: Sequence[str]) -> str:
    """Return what shows whether a launcher gets its ranks started at all."""
    if not hosts or mpi.launcher.family == "slurm":
        return f"'{mpi.launcher_path} -n 2 hostname'"
    return f"'ssh {hosts[-1]} true' (in a Slurm job 'srun -w {hosts[-1]} -n 1 true')"


def _why_ended(child: Child, code: int, started: bool, doing: str) -> str:
    """Say who ended: a rank, the kernel by itself, or the launcher; a rank is said to have died only when one did."""
    complaint, how = child.complaint(), describe_exit(code)
    if refusal := refusal_in("\n".join(child.complaints())):
        return f"the kernel gave up while {doing}: {refusal}"
    if code < 0 and not _DEATH.search(complaint):
        return f"the launcher was killed while {doing} ({how})"
    # Hydra passes a rank's signal on without a word.
    if _DEATH.search(complaint) or (started and how.startswith("signal ")):
        return f"a rank died while {doing} ({how}{_because(complaint)})"
    if not started:
        return f"the ranks did not start while {doing} ({how}{_because(child.error_line())})"
    if code == 0:
        return f"the ranks ended before their work did while {doing} ({how}{_because(child.error_line())})"
    return f"the launcher ended while {doing} ({how}{_because(child.error_line())})"


def describe_exit(code: int) -> str:
    """Say how a launcher ended: an exit code, or the signal behind it."""
    import signal

    number = -code if code < 0 else code - 128 if code > 128 else code
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"launcher's exit code {code}"
    # Launchers pass a rank's signal on as 128 + signal, as its plain number, or die of it themselves.
    return f"signal {name}" if code < 0 or code > 128 or code in (6, 9, 11, 15) else f"launcher's exit code {code}"


def _loss() -> str:
    """Say which nodes the allocation that we run in has lost; empty outside of one."""
    allocation = find_allocation()
    return "" if allocation is None else allocation.loss()


def _because(complaint: str) -> str:
    return f"; {complaint}" if complaint else ""


def trial(mpi: Mpi) -> str | None:
    """Start two real ranks; return None when they find each other, else what went wrong in one line."""
    try:
        for _ in stream_kernel(mpi, ["hello"], ranks=2, oversubscribed=False, doing="starting two ranks"):
            pass
    except RankwiseError as error:
        return str(error)
    return None
