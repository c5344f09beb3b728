"""Ask the Shift of werner2023, and a halo code that uses it, of a described machine: strong and weak scaling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rankwise.engines.project import figure_range, range_record
from rankwise.errors import InputError
from rankwise.machine.description import Description
from rankwise.models.halo import LATENCIES, HaloCode, shift_time
from rankwise.models.uncertain import Range, bounds
from rankwise.workloads.exchange import balanced_grid

MODES = tuple(LATENCIES)


@dataclass(frozen=True)
class Messages:
    """Alpha and beta of a machine's messages, from its latency and its link or injection bandwidth, by name."""

    machine: Description
    ranks_per_node: int
    all_links: bool

    def parameters(self) -> dict[str, Range]:
        """The figures that matter. Raises InputError when latency or bandwidth is missing."""
        machine = self.machine
        if "latency" not in machine.figures:
            raise InputError(
                f"machine {machine.name} has no latency (time of an empty message), so a message cannot be costed: "
                "give one, as in --latency 2us"
            )
        if machine.get("link_bandwidth") is None:
            machine.need("injection_bandwidth", "the time of a message's bytes")
        keys = ("latency", "link_bandwidth", "links", "injection_bandwidth")
        return {key: figure_range(machine.figures[key]) for key in keys if key in machine.figures}

    def alpha_beta(self, values: Mapping[str, float]) -> tuple[float, float]:
        """Seconds an empty message, and seconds a byte of one rank while all ranks of its node send."""
        link, links, injection = (values.get(key) for key in ("link_bandwidth", "links", "injection_bandwidth"))
        together = link * links if link is not None and links is not None else link
        node = min(limit for limit in (together, injection) if limit is not None)
        rank = node / self.ranks_per_node
        if not self.all_links and link is not None:
            rank = min(rank, link)
        return values["latency"], 1 / rank

    def notes(self) -> list[str]:
        """What a reader must know before believing the answer."""
        used = [key for key in self.parameters() if key in self.machine.unverified()]
        return [f"unverified figures of {self.machine.name}: {', '.join(used)}"] if used else []


def project_exchange(
    machine: Description, mode: str, dims: int, cutoffs: Sequence[int], sizes: Sequence[int], ranks_per_node: int = 1
) -> list[dict[str, Any]]:
    """One row for each cutoff and size: the Shift on this machine, its neighbours on other nodes. Raises InputError."""
    _check_mode(mode)
    messages = Messages(machine, ranks_per_node, all_links=False)
    parameters = messages.parameters()
    rows = []
    for cutoff in cutoffs:
        for size in sizes:

            def time(values: Mapping[str, float], k: int = cutoff, m: int = size) -> dict[str, float]:
                return {"time_s": shift_time(*messages.alpha_beta(values), dims, k, m, mode)}

            result = bounds(time, parameters)["time_s"]
            rows.append(
                {
                    "engine": "projection",
                    "machine": machine.name,
                    "algorithm": "shift",
                    "mode": mode,
                    "dims": dims,
                    "cutoff": cutoff,
                    "message_bytes": size,
                    "ranks_per_node": ranks_per_node,
                    "time_s": result.value,
                    "time_lo_s": result.low,
                    "time_hi_s": result.high,
                    "messages_per_rank": 2 * cutoff * dims,
                    "bytes_per_rank": ((2 * cutoff + 1) ** dims - 1) * size,
                    "parameters": {name: range_record(parameter) for name, parameter in parameters.items()},
                    "notes": messages.notes(),
                }
            )
    return rows


def project_stencil(
    machine: Description, code: HaloCode, cells: Sequence[int], node_counts: Sequence[int], weak: bool, overlap: bool
) -> list[dict[str, Any]]:
    """One row for each number of nodes: compute, exchange, total, efficiency against the first row.

    ``cells`` are those of the whole grid, or of each node with ``weak``. One block a node; a block's messages use all
    links of its node. Raises InputError.
    """
    _check_mode(code.mode)
    messages = Messages(machine, 1, all_links=True)
    parameters = messages.parameters()
    for key, what in (("node_peak", "the time of the flops"), ("memory_bandwidth", "the time of the memory traffic")):
        parameters[key] = figure_range(machine.need(key, what))
    rows: list[dict[str, Any]] = []
    for nodes in node_counts:
        grid = sorted(balanced_grid(nodes, len(cells)), reverse=True)
        # The longest axis of the cells takes the most nodes.
        order = sorted(range(len(cells)), key=lambda axis: -cells[axis])
        shape = [0] * len(cells)
        for axis, ranks in zip(order, grid, strict=True):
            shape[axis] = ranks
        block = [float(edge) if weak else edge / ranks for edge, ranks in zip(cells, shape, strict=True)]
        if min(block) < 1:
            raise InputError(
                f"{nodes} nodes as {'x'.join(map(str, shape))} are more than {'x'.join(map(str, cells))} cells can be cut "
                "into: use fewer nodes or more --cells"
            )
        results = bounds(partial(_step, code, block, shape, messages, overlap), parameters)
        terms = {name: results[name].value for name in ("flops_s", "memory_s", "exchange_s")}
        bounded_by = max(terms, key=lambda name: terms[name])
        first = rows[0] if rows else None
        ideal = 1.0 if first is None or weak else first["nodes"] / nodes
        notes = messages.notes()
        available = machine.get("nodes")
        if available is not None and nodes > available:
            notes.append(f"{nodes:,} nodes are more than {machine.name} has ({available:,.0f})")
        rows.append(
            {
                "engine": "projection",
                "machine": machine.name,
                "scaling": "weak" if weak else "strong",
                "mode": code.mode,
                "nodes": nodes,
                "grid": shape,
                "block": block,
                "cutoff": code.cutoffs(block, shape),
                "parameters": {name: range_record(parameter) for name, parameter in parameters.items()},
                "results": {name: range_record(result) for name, result in results.items()},
                "efficiency": ideal * first["results"]["total_s"]["value"] / results["total_s"].value if first else 1.0,
                "bounded_by": bounded_by.removesuffix("_s"),
                "reason": f"{bounded_by.removesuffix('_s')} takes {terms[bounded_by]:.3g} s of {results['total_s'].value:.3g} s",
                "notes": notes,
            }
        )
    return rows


def _step(
    code: HaloCode, block: Sequence[float], grid: Sequence[int], messages: Messages, overlap: bool, values: Mapping[str, float]
) -> dict[str, float]:
    compute_s = code.compute_time(block, values["node_peak"], values["memory_bandwidth"])
    exchange_s = code.exchange_time(block, grid, *messages.alpha_beta(values))
    total_s = max(compute_s, exchange_s) if overlap else compute_s + exchange_s
    return {
        "flops_s": code.flops_time(block, values["node_peak"]),
        "memory_s": code.memory_time(block, values["memory_bandwidth"]),
        "exchange_s": exchange_s,
        "total_s": total_s,
        "cells_per_s": math.prod(block) * math.prod(grid) / total_s,
    }


def _check_mode(mode: str) -> None:
    if mode not in MODES:
        raise InputError(f"--mode '{mode}' is unknown: choose one of {', '.join(MODES)}")
