"""Whether a library uses settings at all: it may ignore them without a word.

Open MPI counts what each pair of ranks sends within collectives (its monitoring component); where that is the same with the
settings and without, they did nothing. Of MPICH what can be seen is whether the library knows the variables' names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rankwise.launch.command import Command, mpi_library_path, program_of

_STEM = "sent"
# A line of what collectives sent: from, to, bytes, messages; what a killed rank has left of one is none.
_INSIDE = re.compile(rb"^I\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,18}) bytes\s+(\d{1,18}) msgs", re.MULTILINE)


def monitoring(command: Command, folder: Path) -> tuple[Command, dict[str, str]]:
    """Return a command and variables by which Open MPI counts what is sent into files of a folder; for others as it is.

    Where the command, or the environment, names components that send (``--mca pml ob1``), the one that counts is named, too.
    """
    if command.launcher.family != "openmpi":
        return command, {}
    folder.mkdir(exist_ok=True)
    options = list(command.options)
    for at in (i for i in range(2, len(options)) if options[i - 2].lstrip("-") in ("mca", "gmca") and options[i - 1] == "pml"):
        options[at] = _with_monitoring(options[at])
    named = {"OMPI_MCA_pml": _with_monitoring(os.environ["OMPI_MCA_pml"])} if "OMPI_MCA_pml" in os.environ else {}
    return replace(command, options=tuple(options)), {
        **named,
        "OMPI_MCA_pml_monitoring_enable": "2", "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": str(folder / _STEM),
    }  # fmt: skip


def _with_monitoring(components: str) -> str:
    return components if components.startswith("^") else f"{components},monitoring"


def sent_inside(folder: Path) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the bytes and messages that each pair of ranks sent within collectives; empty where nothing was counted."""
    found = {}
    for path in folder.glob(f"{_STEM}.*"):
        for line in _INSIDE.finditer(path.read_bytes()):
            source, dest, sent_bytes, messages = map(int, line.groups())
            found[source, dest] = sent_bytes, messages
    return found


def why_ignored(command: Command, variables: Mapping[str, str], without: Path, within: Path) -> str | None:
    """Say why settings do nothing, after a run ``without`` and one ``within`` them; None where nothing speaks for that."""
    if command.launcher.family == "openmpi":
        if not any("_coll_" in name for name in variables):
            return None  # limits of protocols send the same messages
        before, after = sent_inside(without), sent_inside(within)
        if before and before == after:
            return "in collectives each pair of ranks sends the same with the settings as without: the library ignores them"
        return None
    program = program_of([str(command.launcher.path), *command.program])
    library = None if program is None else mpi_library_path(program)
    if library is None:
        return None
    content = library.read_bytes()
    unknown = [name for name in variables if name.removeprefix("MPIR_CVAR_").encode() not in content]
    return f"{library} knows no {unknown[0]}: the library ignores it" if unknown else None
