"""Programs run as they are, with librankwise_preload.so loaded: what they need in their environment.

Whether a program is safe under reordering, by test runs: twice as it is, once with its ranks in the cells of others. A program
that uses ranks of the Cartesian communicator in another one hangs then, fails, or prints other figures. What it prints alike in
both plain runs (times differ) it must print in the third.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.process import Child

# What the library and the mappings read (docs/mapping-in-mpi.md); launchers that forward only what they are told must know.
VARIABLES = (
    "RANKWISE_MAPPING", "RANKWISE_STENCIL", "RANKWISE_EFFORT", "RANKWISE_VERBOSE", "RANKWISE_GRAPHS", "RANKWISE_NEIGHBOR",
)  # fmt: skip
NEIGHBOR_MODES = ("off", "check", "auto", "always")  # of RANKWISE_NEIGHBOR (docs/halo.md)
SAFE, UNSAFE, UNCLEAR = "safe", "unsafe", "unclear"
_LEAST_S, _TIMES_LONGER = 20.0, 10.0
_NOTHING_S = 1e6
_BUILT_FOR = re.compile(rb"rankwise_preload_for_(\w+)")  # a library's own symbol (src/preload/arrange.cpp)


def preload_libraries() -> list[Path]:
    """Return the libraries to load: those of the default MPI, and before them one for the MPI that RANKWISE_MPI asks for.

    Each acts only in programs of the MPI that it was built for. Raises UnusableEnvironmentError where one cannot be built.
    """
    from rankwise.launch.build import PRELOAD, PRELOAD_MPICH, build
    from rankwise.launch.installed import asked_compiler, package_folder

    libraries = sorted((package_folder() / "lib").glob("librankwise_preload*.so"))
    if (compiler := asked_compiler()) is not None:
        return [build(PRELOAD, compiler), *libraries]
    return libraries or [build(PRELOAD), build(PRELOAD_MPICH)]  # of both its ABIs


def loading(libraries: Sequence[Path]) -> dict[str, str]:
    """Return the variables by which programs load libraries before their own, and before what is asked for already.

    In LD_PRELOAD blanks end a name; libraries in folders with blanks are looked up by name in LD_LIBRARY_PATH, where they do
    not. Raises UnusableEnvironmentError for a colon, which ends names in both.
    """
    if any(":" in str(path) for path in libraries):
        raise UnusableEnvironmentError(
            f"{libraries[0].parent} has a colon in it, which no loader takes: install rankwise elsewhere"
        )
    names, folders = [str(path) for path in libraries], []
    if any(" " in name for name in names):
        names, folders = [path.name for path in libraries], [str(path.parent) for path in libraries]
    found = {"LD_PRELOAD": [*dict.fromkeys(names)], "LD_LIBRARY_PATH": [*dict.fromkeys(folders)]}
    return {name: ":".join([*words, *filter(None, [os.environ.get(name)])]) for name, words in found.items() if words}


def require_fit(command: Sequence[str]) -> None:
    """Raise UnusableEnvironmentError for a program that no library could act in, or that its launcher is not for.

    Only where the program is seen and linked with its MPI; of others the library itself tells at their end.
    """
    from rankwise.launch.command import WORDS, family_of, launcher_at, mpi_libraries, program_of, require_match

    program = program_of(command)
    if program is None:
        return
    require_match(launcher_at(Path(command[0])), program)
    known = {found[1].decode() for path in preload_libraries() if (found := _BUILT_FOR.search(path.read_bytes()))}
    for name in mpi_libraries(program):
        if (family := family_of(name)) not in known:
            raise UnusableEnvironmentError(
                f"{program} belongs to {WORDS[family]} ({name}), and what could be loaded is for "
                f"{' and '.join(WORDS[one] for one in sorted(known))}: set RANKWISE_MPI=system, with {WORDS[family]}'s mpicxx "
                "first on PATH"
            )


def preload_environment(options: Mapping[str, str | None]) -> dict[str, str]:
    """Return the environment of a preloaded program; ``options``: values of ``VARIABLES``, None as the user has it."""
    environment = dict(os.environ)
    environment.update({name: value for name, value in options.items() if value is not None})
    variables = loading(preload_libraries())
    environment.update(variables)
    # Open MPI takes to other hosts only what it is told to; MPICH and Slurm take everything.
    told = [name for name in (*variables, *VARIABLES) if name in environment]
    listed = environment.get("OMPI_MCA_mca_base_env_list", "")
    environment["OMPI_MCA_mca_base_env_list"] = ";".join([*filter(None, [listed]), *told])
    return environment


@dataclass(frozen=True)
class Finding:
    """What the runs show, in words."""

    verdict: str
    why: str


@dataclass(frozen=True)
class _Run:
    code: int | None  # None: it was still running when its time was up
    lines: Counter[str]
    seconds: float
    told: str  # the last line on stderr


def check_reordering(command: Sequence[str], plain: Mapping[str, str], reordered: Mapping[str, str]) -> Finding:
    """Run a command in both environments and compare what it does. Raises UnusableEnvironmentError where it cannot start."""
    first = _run(command, plain, _NOTHING_S)
    if first.code != 0:
        return Finding(UNCLEAR, f"the program fails as it is (exit code {first.code}): {first.told}")
    again = _run(command, plain, _NOTHING_S)
    limit_s = max(_LEAST_S, _TIMES_LONGER * max(first.seconds, again.seconds))
    moved = _run(command, reordered, limit_s)
    if moved.code is None:
        longer = f"with its ranks moved it had not ended after {limit_s:.0f} s, ten times as long as in plain runs"
        return Finding(UNSAFE, longer)
    if moved.code != 0:
        return Finding(UNSAFE, f"with its ranks moved it fails (exit code {moved.code}): {moved.told}")
    if " placed" not in moved.told or " 0 placed" in moved.told or "nothing was placed" in moved.told:
        return Finding(UNCLEAR, f"no rank was moved: {moved.told.removeprefix('rankwise: ') or 'the library was not heard'}")
    alike = first.lines & again.lines
    if not alike:
        return Finding(
            UNCLEAR, "the program ends well with its ranks moved, but prints nothing alike in two plain runs to compare by"
        )
    if missing := alike - moved.lines:
        return Finding(
            UNSAFE, f"with its ranks moved it does not print '{next(iter(missing))[:80].strip()}' as it does in plain runs"
        )
    return Finding(SAFE, f"with its ranks moved it ends well and prints the same {alike.total()} lines as in plain runs")


def _run(command: Sequence[str], environment: Mapping[str, str], limit_s: float) -> _Run:
    begun_s = time.monotonic()
    lines: Counter[str] = Counter()

    def out_of_time(quiet_s: float) -> None:
        if time.monotonic() - begun_s > limit_s:
            raise TimeoutError

    with Child(command, environment) as child:
        try:
            lines.update(line for line in child.lines(_NOTHING_S, out_of_time) if line.strip())
        except TimeoutError:
            return _Run(None, lines, limit_s, "")
        code = child.wait()
        parts = child.complaint().split(" / ")
        told = next((part for part in parts if part.startswith("rankwise: ") and "warning:" not in part), child.error_line())
        return _Run(code, lines, time.monotonic() - begun_s, told)
