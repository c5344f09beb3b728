"""Ask the judge of a described machine: neighbour exchanges, and a halo code with its strong and weak scaling.

What a halo code moves and computes in a step: layers of neighbours, cells that travel, arithmetic and memory traffic. Its
exchange is the Shift of werner2023: axis by axis, k hops up and k hops down, each axis forwarding what the axes before it
gathered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rankwise import _core
from rankwise.engines.judge import judge
from rankwise.engines.machines import KEYS_INSIDE, machine_of_description, with_faster_card
from rankwise.engines.placement import Seats
from rankwise.engines.project import doubts, figure_range, one_link, too_many_nodes
from rankwise.errors import InputError
from rankwise.factors import balanced_grid
from rankwise.machine.description import Description
from rankwise.models.uncertain import Range, bounds
from rankwise.records import Record, computed, key, record
from rankwise.units import format_time
from rankwise.workloads.base import Case, Row, Span, require_known
from rankwise.workloads.exchange import names

_NETWORK = ("latency", "link_bandwidth", "links", "injection_bandwidth", "message_rate", "overhead", "gap", "eager_limit",
            "leaf_taper", "taper")  # fmt: skip
_LEVELS = {"leaf_taper": "leaf_nodes", "taper": "group_nodes"}  # what a taper needs to count
_POWER = "node_power"
_Values = Mapping[str, float]


@dataclass(frozen=True)
class HaloCode:
    """A code on a grid of cells whose step needs all cells within ``width`` cells of a block.

    ``cell_bytes`` travel for each halo cell; a step does ``flops_per_cell`` and moves ``memory_bytes_per_cell``.
    """

    width: float
    cell_bytes: float
    flops_per_cell: float
    memory_bytes_per_cell: float
    mode: str = "isend"

    def cutoffs(self, block: Sequence[float], grid: Sequence[int]) -> list[int]:
        """Layers of neighbours k an axis: how many blocks the halo reaches into; 0 on an axis of one rank."""
        return [min(math.ceil(self.width / edge), ranks - 1) for edge, ranks in zip(block, grid, strict=True)]

    def halo_cells(self, block: Sequence[float], grid: Sequence[int]) -> list[float]:
        """Cells that travel along each axis in one direction; later axes forward the halo of earlier ones."""
        # A halo as wide as the rest of the grid brings every cell once; more is not sent.
        widths = [min(self.width, edge * (ranks - 1)) for edge, ranks in zip(block, grid, strict=True)]
        cells = []
        for axis, width in enumerate(widths):
            section = 1.0
            for other, edge in enumerate(block):
                if other != axis:
                    section *= edge + (2 * widths[other] if other < axis else 0)
            cells.append(width * section)
        return cells

    def message_bytes(self, block: Sequence[float], grid: Sequence[int]) -> list[int]:
        """Bytes of a hop's message along each axis, as many in each hop; 0 on an axis of one rank."""
        hops = self.cutoffs(block, grid)
        return [
            max(1, round(cells * self.cell_bytes / k)) if k else 0
            for cells, k in zip(self.halo_cells(block, grid), hops, strict=True)
        ]

    def compute_time(self, block: Sequence[float], node_flop_per_s: float, memory_bytes_per_s: float) -> float:
        """The cells of one block: arithmetic and memory traffic overlap."""
        flops_s, memory_s = self.flops_time(block, node_flop_per_s), self.memory_time(block, memory_bytes_per_s)
        return max(flops_s, memory_s)

    def flops_time(self, block: Sequence[float], node_flop_per_s: float) -> float:
        """Arithmetic of one block at the node's peak."""
        return math.prod(block) * self.flops_per_cell / node_flop_per_s

    def memory_time(self, block: Sequence[float], memory_bytes_per_s: float) -> float:
        """Memory traffic of one block."""
        return math.prod(block) * self.memory_bytes_per_cell / memory_bytes_per_s


@record
class Changed(Record):
    """Of a row where figures of the machine were varied."""

    varied: str = key("key of the figure that was varied", optional=True)
    value: float = key("value of the figure", optional=True)


@record
class ProjectedFigures(Changed):
    """What a projected exchange has of a row besides others."""

    machine: str = key("name of the machine")
    ranks_per_node: int = key("ranks on each node")
    parameters: Mapping[str, Range] = key("figures of the machine, by name")
    energy_j: Range | None = key("what the nodes take meanwhile; null: the power of a node is not known")


@record
class ProjectedStencil(Record):
    """A step of a halo code on a machine."""

    engine = computed("projection", str, lambda of: "projection")
    machine: str = key("name of the machine")
    scaling: str = key("strong or weak")
    mode: str = key("way of sending")
    nodes: int = key("number of nodes")
    grid: Sequence[int] = key("nodes along each axis")
    block: Sequence[float] = key("cells of a node along each axis")
    cutoff: Sequence[int] = key("layers of neighbours along each axis")
    parameters: Mapping[str, Range] = key("figures of the machine, by name")
    results: Mapping[str, Range] = key("times, by name")
    efficiency: float = key("efficiency against the first row")
    bounded_by: str = key("the term that takes longest")
    notes: Sequence[str] = key("what weakens the figures, in words", after="reason")
    changed: Changed | None = key(inline=True, default=None)
    reason = computed(
        "why, in words", str, lambda of: f"{of.bounded_by} takes {format_time(of.results[f'{of.bounded_by}_s'].value)} of "
        f"{format_time(of.results['total_s'].value)}", after="bounded_by",
    )  # fmt: skip


@dataclass(frozen=True)
class Described:
    """A described machine as the judge is asked of it: its nodes have so many ranks, and figures may be ranges.

    Nodes of one scale-up domain are to the judge one node: their ranks send to each other over the accelerators' links.
    """

    machine: Description
    ranks_per_node: int = 1
    all_links: bool = False  # one message takes all links of its node

    @property
    def together(self) -> int:
        """Ranks that reach each other without the network."""
        return self.ranks_per_node * self.machine.domain_nodes()

    def parameters(self) -> dict[str, Range]:
        """The figures that matter. Raises InputError when latency or bandwidth is missing."""
        self.with_figures({})
        keys = [key for key in _NETWORK if key not in _LEVELS or _LEVELS[key] in self.machine.figures]
        keys += (*(KEYS_INSIDE if self.together > 1 else ()), _POWER)
        return {key: figure_range(self.machine.figures[key]) for key in keys if key in self.machine.figures}

    def with_figures(self, values: _Values) -> _core.Machine:
        domain = self.machine.domain_nodes()
        return machine_of_description(self.machine, figures=values, all_links=self.all_links, domain=domain)[0]

    def placed(self, ranks: int) -> _core.Placement:
        """Ranks on nodes filled one after the other."""
        return Seats(levels=tuple(nodes for nodes, _ in self.with_figures({}).levels)).blocked(ranks, self.together)

    def nodes_of(self, ranks: int) -> int:
        return -(-ranks // self.ranks_per_node)

    def energy(self, ranks: int, time_s: float, values: _Values) -> dict[str, float]:
        """What the nodes of so many ranks take meanwhile, J; nothing where nobody has published the power of a node."""
        return {"energy_j": self.nodes_of(ranks) * values[_POWER] * time_s} if _POWER in values else {}

    def lacks_card(self, nodes: int) -> bool:
        """Whether ranks share a card that the description says nothing of."""
        return nodes > 1 and self.ranks_per_node > 1 and self.machine.injection() is None

    def notes(self, nodes: int) -> list[str]:
        """What a reader must know before believing the answer for so many nodes."""
        inside = machine_of_description(self.machine)[1] if self.together > 1 else []
        card = [one_link(self.machine)] if self.lacks_card(nodes) else []
        domain, name = self.machine.domain_nodes(), self.machine.name
        found = [*doubts(self.machine, self.parameters()), *too_many_nodes(self.machine, nodes), *inside, *card]
        if domain > 1:
            found.append(f"{domain} nodes of {name} share one scale-up fabric: their accelerators need no network")
        if _POWER not in self.machine.figures:
            found.append(f"energy: no power of a node of {name} is known; --set {_POWER}=VALUE")
        return found


def project_exchange(machine: Description, cases: Sequence[Case], ranks_per_node: int = 1) -> list[Row]:
    """One row a case, on nodes filled one after the other. Raises InputError."""
    described = Described(machine, ranks_per_node)
    parameters = described.parameters()
    figures = {"machine": machine.name, "ranks_per_node": ranks_per_node, "parameters": parameters}
    rows = []
    for case in cases:
        placement, program, block_bytes = described.placed(case.ranks), case.program(), case.block_bytes or 0
        ask = partial(judge, program, block_bytes, placement)
        lacks_card = described.lacks_card(placement.nodes)
        found = _ranges(partial(_costs, described, ask, lacks_card), partial(_exchange, described, case.ranks), parameters)
        time = found["time_s"]
        cost = ask(described.with_figures({}))
        notes = [*described.notes(described.nodes_of(case.ranks)), *program.notes]
        rows.append(
            Row.of(
                "projection", case, Span(time.value, time.low, time.high), cost.messages_per_rank,
                cost.blocks_per_rank * block_bytes, None, notes, assumed=("card",) if lacks_card else (),
                figures=figures | {"energy_j": found.get("energy_j")},
            )
        )  # fmt: skip
    return rows


def _exchange(described: Described, ranks: int, time_s: float, values: _Values) -> dict[str, float]:
    return {"time_s": time_s, **described.energy(ranks, time_s, values)}


def _costs(
    described: Described, ask: Callable[[_core.Machine], _core.Cost], lacks_card: bool, values: _Values
) -> list[_core.Cost]:
    """What the judge says, and what it says where the NIC may be faster than is known."""
    machine = described.with_figures(values)
    return [ask(machine), *([ask(with_faster_card(machine, described.ranks_per_node))] if lacks_card else [])]


def project_stencil(
    machine: Description, code: HaloCode, cells: Sequence[int], node_counts: Sequence[int], weak: bool, overlap: bool
) -> list[ProjectedStencil]:
    """One row for each number of nodes: compute, exchange, total, efficiency against the first row.

    ``cells`` are those of the whole grid, or of each node with ``weak``. One block a node; a block's messages use all
    links of its node. Raises InputError.
    """
    require_known(code.mode, names().modes, "send mode")
    if why := _core.why_not("shift", code.mode, "full"):
        raise InputError(why)
    described = Described(machine, all_links=True)
    parameters = described.parameters()
    for needed, what in (("node_peak", "the time of the flops"), ("memory_bandwidth", "the time of the memory traffic")):
        parameters[needed] = figure_range(machine.need(needed, what))
    rows: list[ProjectedStencil] = []
    for nodes in node_counts:
        shape = _nodes_along(cells, nodes)
        block = [float(edge) if weak else edge / ranks for edge, ranks in zip(cells, shape, strict=True)]
        if min(block) < 1:
            raise InputError(
                f"{nodes} nodes as {'x'.join(map(str, shape))} are more than {'x'.join(map(str, cells))} cells can be cut "
                "into: use fewer nodes or more --cells"
            )
        shift = _shift(code, block, shape, described)
        results = _ranges(
            partial(_costs, described, partial(shift.cost, 1), False) if shift is not None else lambda values: [],
            partial(_step, code, block, shape, overlap, described),
            parameters,
        )
        bounded_by = max(("flops", "memory", "exchange"), key=lambda name: results[f"{name}_s"].value)
        first = rows[0] if rows else None
        ideal = 1.0 if first is None or weak else first.nodes / nodes
        efficiency = ideal * first.results["total_s"].value / results["total_s"].value if first else 1.0
        rows.append(
            ProjectedStencil(
                machine.name, "weak" if weak else "strong", code.mode, nodes, shape, block, code.cutoffs(block, shape),
                parameters, results, efficiency, bounded_by, described.notes(nodes),
            )
        )  # fmt: skip
    return rows


def _ranges(
    costs: Callable[[_Values], Sequence[_core.Cost]],
    results_of: Callable[[float, _Values], Mapping[str, float]],
    parameters: Mapping[str, Range],
) -> dict[str, Range]:
    """Results of a time that the judge tells: what they may be over all ranges together and within what the judge errs by.

    ``costs``: the answer first, then others that may hold as well; none: nothing is sent.
    """

    def ends(values: _Values) -> dict[str, float]:
        times_s = [time_s for cost in costs(values) for time_s in (cost.time_s, cost.low_s, cost.high_s)] or [0.0]
        return {f"{i} {name}": value for i, t in enumerate(times_s) for name, value in results_of(t, values).items()}

    found: dict[str, list[Range]] = {}
    for name, value in bounds(ends, parameters).items():
        found.setdefault(name.split()[1], []).append(value)
    return {
        name: Range(values[0].value, min(value.low for value in values), max(value.high for value in values))
        for name, values in found.items()
    }


def _nodes_along(cells: Sequence[int], nodes: int) -> list[int]:
    """A grid of nodes, as near to a cube as may be; the longest axis of the cells takes the most."""
    order = sorted(range(len(cells)), key=lambda axis: -cells[axis])
    shape = [1] * len(cells)
    for axis, ranks in zip(order, balanced_grid(nodes, len(cells)), strict=True):
        shape[axis] = ranks
    return shape


def _shift(code: HaloCode, block: Sequence[float], shape: Sequence[int], described: Described) -> _core.Judged | None:
    """The Shift of one step among blocks, one a node, in bytes; None where nothing is sent. Axes of one rank are left out."""
    sent = [
        (ranks, k, size)
        for ranks, k, size in zip(shape, code.cutoffs(block, shape), code.message_bytes(block, shape), strict=True)
        if k > 0
    ]
    if not sent:
        return None
    grid, cutoffs, sizes = (list(figures) for figures in zip(*sent, strict=True))
    try:
        return _core.judge_halo_shift(grid, cutoffs, sizes, code.mode, described.placed(math.prod(grid)))
    except ValueError as error:
        raise InputError(str(error)) from None


def _step(
    code: HaloCode, block: Sequence[float], grid: Sequence[int], overlap: bool, described: Described, exchange_s: float,
    values: _Values,
) -> dict[str, float]:  # fmt: skip
    compute_s = code.compute_time(block, values["node_peak"], values["memory_bandwidth"])
    total_s = max(compute_s, exchange_s) if overlap else compute_s + exchange_s
    return {
        "flops_s": code.flops_time(block, values["node_peak"]),
        "memory_s": code.memory_time(block, values["memory_bandwidth"]),
        "exchange_s": exchange_s,
        "total_s": total_s,
        "cells_per_s": math.prod(block) * math.prod(grid) / total_s,
        **described.energy(math.prod(grid), total_s, values),
    }
