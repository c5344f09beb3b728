"""The options that place ranks on nodes, and what they come to: the node of each rank."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.errors import InputError

if TYPE_CHECKING:
    from rankwise.engines.exchange import ExchangeCase

Hosts = Annotated[
    str | None,
    typer.Option(help="Nodes to run on, as many ranks on each: n1,n2 or n[01-04]. Default: those of the Slurm allocation."),
]
Placement = Annotated[
    str,
    typer.Option(help="Which node each rank is on: blocked, cyclic, or a file that 'rankwise map --format' wrote."),
]


def hosts_to_run_on(hosts: str | None) -> list[str]:
    """Return the hosts that were named, else those of the allocation; none: this node alone. Raises InputError."""
    from rankwise.launch.allocation import allocated_hosts
    from rankwise.machine.hosts import parse_hosts

    return parse_hosts(hosts) if hosts is not None else list(allocated_hosts())


def node_of_each_rank(placement: str, ranks: int, nodes: int) -> list[int]:
    """Return the node of each rank, as many ranks on each node. Raises InputError."""
    if nodes < 1 or ranks % nodes:
        raise InputError(f"{ranks} ranks are no multiple of {nodes} nodes: give each node as many")
    if placement == "blocked":
        return [rank // (ranks // nodes) for rank in range(ranks)]
    if placement == "cyclic":
        return [rank % nodes for rank in range(ranks)]
    from rankwise.mapping.reading import read_mapping

    path = Path(placement)
    if not path.exists():
        raise InputError(f"--placement {placement} is neither blocked nor cyclic nor a file: write one with 'rankwise map --format'")
    found = read_mapping(path, [ranks // nodes] * nodes, "--placement")
    if len(found) != 1:
        raise InputError(f"--placement {placement} holds {len(found)} mappings ({', '.join(found)}): give a file with one")
    (nodes_of_cells,) = found.values()
    return nodes_of_cells


def host_of_each_rank(placement: str, cases: Sequence[ExchangeCase], hosts: Sequence[str]) -> list[str]:
    """Return the host of each rank of some cases; none without hosts. Raises InputError."""
    if not hosts:
        if placement != "blocked":
            raise InputError(f"--placement {placement} needs nodes: name them with --hosts, or run inside a Slurm allocation")
        return []
    counts = sorted({case.ranks for case in cases})
    if len(counts) > 1:
        raise InputError(f"the cases have {counts[0]} to {counts[-1]} ranks: place one number of ranks at a time")
    return [hosts[node] for node in node_of_each_rank(placement, counts[0], len(hosts))]
