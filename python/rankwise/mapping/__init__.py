"""Mapping ranks to nodes so that few stencil messages cross nodes: a front of the C++ core."""

from rankwise.mapping.mapper import (
    How,
    Mappings,
    MapResult,
    Skipped,
    algorithm_names,
    alike,
    best_of,
    hardly_better,
    map_grid,
    quicker,
)

__all__ = [
    "How", "MapResult", "Mappings", "Skipped", "algorithm_names", "alike", "best_of", "hardly_better", "map_grid", "quicker",
]  # fmt: skip
