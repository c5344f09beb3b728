"""Levels that ranks are placed on: those asked for below and above the node, and what a topology says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rankwise.errors import InputError

if TYPE_CHECKING:
    from rankwise.engines.step import Priced
    from rankwise.machine.profile import Profile
    from rankwise.machine.switches import Switches
    from rankwise.mapping.levels import Above, Inner, Unit

LEVELS = (
    "Levels below the node, to divide each node's ranks among: socket:2, numa:4, l3:8, or socket:2,numa:4 "
    "(otherwise those of --profile); and above it: switch:16 nodes, group:4 switches, each with what a byte costs that leaves "
    "it: switch:16*5."
)
TOPOLOGY = (
    "Which switches the nodes of --hosts hang on: Slurm's topology.conf or topology.yaml, the text of 'scontrol show "
    "topology', a SLURM_TOPOLOGY_ADDR a line; or slurm, to ask it."
)


@dataclass(frozen=True)
class Levels:
    """Levels that were asked for: below the node, above it by number, above it as a topology says (None: not given)."""

    inner: Sequence[Inner]
    units: Sequence[Unit]
    switches: Switches | None

    @classmethod
    def read(cls, levels: str | None, topology: str | None, known: Profile | None) -> Levels:
        """Read both options; levels below the node are else those of the profile. Raises InputError."""
        from rankwise.mapping.levels import levels_of, parse_levels

        inner, units = ([] if known is None else levels_of(known), []) if levels is None else parse_levels(levels)
        return cls(inner, units, None if topology is None else _switches(topology))

    def above(self, names: Sequence[str], on: Priced | None) -> list[Above]:
        """Return the levels above these nodes: those asked for, else the machine's. Raises InputError."""
        from rankwise.mapping.levels import levels_above, levels_asked, levels_read

        if self.switches is not None:
            return levels_read(self.switches, names, self.units)
        if self.units:
            return levels_asked(self.units, len(names))
        return [] if on is None else levels_above(on.machine, len(names))


def seats_of(above: Sequence[Above], on: Priced | None) -> list[int]:
    """Return each node's number on the machine whose switches are priced; empty where none are. Raises InputError."""
    from rankwise.mapping.levels import seats

    uplinks = [] if on is None else [nodes for nodes, _ in on.machine.levels]
    return seats(above, uplinks) if uplinks else []


def _switches(topology: str) -> Switches:
    from rankwise.launch.allocation import ask_slurm
    from rankwise.machine.switches import read_switches

    if topology == "slurm":
        return ask_slurm()
    if not Path(topology).is_file():
        raise InputError(f"--topology {topology} is no file: give Slurm's topology.conf, topology.yaml, or slurm to ask it")
    return read_switches(Path(topology))
