"""The machines that rankwise knows: descriptions in this package, in the user's folder, in a file, or a profile."""

from __future__ import annotations

import os
from pathlib import Path

from rankwise.errors import InputError, closest
from rankwise.machine.description import MEASURED, Description, Figure, load_description

FOLDER_VARIABLE = "RANKWISE_MACHINES"


def folders() -> list[Path]:
    """Folders searched for descriptions, the user's (``RANKWISE_MACHINES``, several with ``:``) before the package's."""
    named = [Path(part) for part in os.environ.get(FOLDER_VARIABLE, "").split(os.pathsep) if part]
    for folder in named:
        if not folder.is_dir():
            raise InputError(f"{FOLDER_VARIABLE} names {folder}, which is not a folder: create it or correct the variable")
    return [*named, Path(__file__).parent]


def files() -> dict[str, Path]:
    """All known machines by name (the file's stem); the user's folders win over the package."""
    found: dict[str, Path] = {}
    for folder in folders():
        for path in sorted(folder.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found


def load_machine(reference: str) -> Description:
    """Load a machine by its name, the path of a TOML description, or the path of a measured profile (JSON).

    Raises InputError when there is none, or when its file cannot be used.
    """
    if reference.endswith(".json"):
        return from_profile(Path(reference))
    if reference.endswith(".toml") or os.sep in reference:
        return load_description(Path(reference))
    known = files()
    if reference not in known:
        near = closest(reference, known)
        hint = f"did you mean {near}? " if near else ""
        raise InputError(f"machine '{reference}' is unknown: {hint}'rankwise machines list' names the known ones")
    machine = load_description(known[reference])
    if machine.name != reference:
        raise InputError(f"machine file {known[reference]}: name '{machine.name}' is not the file's: rename one of the two")
    return machine


def all_machines() -> list[Description]:
    """Load all known machines, in order of name. Raises InputError when one of them cannot be used."""
    return [load_machine(name) for name in sorted(files())]


def from_profile(path: Path) -> Description:
    """Make a machine of a measured profile: latency and link bandwidth of its farthest link class.

    What a profile does not hold (peak, memory bandwidth, nodes) is left out. Raises InputError.
    """
    from rankwise.machine.profile import LINK_CLASSES, open_profile

    profile = open_profile(path)
    farthest = next(name for name in reversed(LINK_CLASSES) if name in profile.links)
    curve = profile.links[farthest].send
    source = f"{farthest} messages of profile {path}"
    figures: dict[str, Figure] = {}
    if curve.alpha_s > 0:
        low, high = curve.alpha_ci_s or (curve.alpha_s, curve.alpha_s)
        figures["latency"] = _measured(curve.alpha_s, low, high, "s", source, profile.created)
    beta = curve.beta_s_per_byte
    if beta > 0:
        fast, slow = curve.beta_ci_s_per_byte or (beta, beta)
        figures["link_bandwidth"] = _measured(
            1 / beta, 1 / slow, 1 / fast if fast > 0 else 1 / beta, "B/s", source, profile.created
        )
    hostname = str(profile.machine.get("hostname") or path.stem)
    notes = [] if farthest == "other-node" else [f"the profile's farthest link is {farthest}, not a network"]
    return Description(hostname, f"profile {path}", None, None, None, figures, str(path), tuple(notes))


def _measured(value: float, low: float, high: float, unit: str, source: str, date: str) -> Figure:
    return Figure(value, min(max(low, 0.0) or value, value), max(high, value), unit, MEASURED, source, date)
