"""The time of a neighbour exchange and of a whole halo code on a described machine: alpha and beta, no measurement.

The exchange is the Shift of werner2023: axis by axis, k hops up and k hops down, each axis forwarding what the axes
before it gathered (2kd messages, (2k+1)^d - 1 blocks). ``ssend`` sends one message at a time over a half-duplex link
(Eq. 3); ``isend`` has both directions of a hop in flight together: one latency a hop, and the bytes of both directions
one after the other through the sender's link.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Of a hop's four messages (up and down, sent and received), those whose latency, and those whose bytes, add up.
LATENCIES = {"ssend": 4, "isend": 1}
TRANSFERS = {"ssend": 4, "isend": 2}


def shift_time(alpha_s: float, beta_s_per_byte: float, dims: int, cutoff: int, block_bytes: float, mode: str) -> float:
    """One Shift among equal blocks: werner2023 Eq. 3 (``ssend``), or both directions together (``isend``)."""
    blocks: float = ((2 * cutoff + 1) ** dims - 1) / 2  # that travel in one direction
    return LATENCIES[mode] * dims * cutoff * alpha_s + TRANSFERS[mode] * blocks * block_bytes * beta_s_per_byte


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

    def exchange_time(self, block: Sequence[float], grid: Sequence[int], alpha_s: float, beta_s_per_byte: float) -> float:
        """The Shift of one step for a block of cells on a process grid (axes of one rank exchange nothing)."""
        hops, cells = sum(self.cutoffs(block, grid)), sum(self.halo_cells(block, grid))
        moved_s = cells * self.cell_bytes * beta_s_per_byte
        return LATENCIES[self.mode] * hops * alpha_s + TRANSFERS[self.mode] * moved_s

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
