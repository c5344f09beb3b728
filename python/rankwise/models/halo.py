"""The time of a neighbour exchange and of a whole halo code on a described machine: alpha and beta, no measurement.

The exchange is the Shift of werner2023: axis by axis, k hops up and k hops down, each axis forwarding what the axes
before it gathered (2kd messages, (2k+1)^d - 1 blocks). ``ssend`` sends one message at a time over a half-duplex link
(Eq. 3), ``isend`` has both directions of a hop in flight together (half of Eq. 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Messages of a hop that follow one another: up and down, each sent and then received (ssend), or all at once (isend).
SEQUENTIAL = {"ssend": 4, "isend": 1}


def shift_time(alpha_s: float, beta_s_per_byte: float, dims: int, cutoff: int, block_bytes: float, mode: str) -> float:
    """One Shift among equal blocks: werner2023 Eq. 3 (``ssend``) or a quarter of it (``isend``)."""
    blocks = ((2 * cutoff + 1) ** dims - 1) / 2
    return SEQUENTIAL[mode] * (dims * cutoff * alpha_s + blocks * block_bytes * beta_s_per_byte)


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

    def cutoffs(self, block: Sequence[float]) -> list[int]:
        """Layers of neighbours k an axis: how many blocks the halo reaches into."""
        return [max(1, math.ceil(self.width / edge)) for edge in block]

    def halo_cells(self, block: Sequence[float], grid: Sequence[int]) -> list[float]:
        """Cells that travel along each axis in one direction; later axes forward the halo of earlier ones."""
        cells = []
        for axis, ranks in enumerate(grid):
            section = 1.0
            for other, edge in enumerate(block):
                if other != axis:
                    section *= edge + (2 * self.width if other < axis and grid[other] > 1 else 0)
            cells.append(self.width * section if ranks > 1 else 0.0)
        return cells

    def exchange_time(self, block: Sequence[float], grid: Sequence[int], alpha_s: float, beta_s_per_byte: float) -> float:
        """The Shift of one step for a block of cells on a process grid (axes of one rank exchange nothing)."""
        time_s = 0.0
        for k, cells, ranks in zip(self.cutoffs(block), self.halo_cells(block, grid), grid, strict=True):
            if ranks > 1:
                time_s += k * alpha_s + cells * self.cell_bytes * beta_s_per_byte
        return SEQUENTIAL[self.mode] * time_s

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
