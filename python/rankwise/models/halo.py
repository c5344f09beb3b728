"""What a halo code moves and computes in a step: layers of neighbours, cells that travel, arithmetic and memory traffic.

Its exchange is the Shift of werner2023: axis by axis, k hops up and k hops down, each axis forwarding what the axes
before it gathered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


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
