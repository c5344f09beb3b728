"""What ``rankwise map --json`` prints, key by key."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from rankwise.machine.trust import Trust
from rankwise.mapping.dims import GridChoices
from rankwise.mapping.instantiation import Instantiation
from rankwise.mapping.levels import Inner, LevelScore
from rankwise.mapping.mapper import Skipped


class StepTimes(TypedDict):
    """How long one step takes with a placement; null: on no machine, or nothing is known of the spread."""

    time_s: Annotated[float | None, "time of a step"]
    time_lo_s: Annotated[float | None, "lower end of its 95 % interval"]
    time_hi_s: Annotated[float | None, "upper end of its 95 % interval"]
    busiest: Annotated[Held | None, "the resource that is held longest"]


class Held(TypedDict):
    """What ranks share and is held longest."""

    resource: Annotated[str, "name of the resource"]
    held_s: Annotated[float, "how long it is held"]
    bytes: Annotated[int, "bytes that pass through it"]


class MappingRecord(StepTimes):
    """A placement."""

    algorithm: Annotated[str, "id of the mapping"]
    j_sum: Annotated[int, "messages or bytes between nodes, in all"]
    j_max: Annotated[int, "those of the node that sends most"]
    seconds: Annotated[float, "how long it took to find it"]
    picked: NotRequired[Annotated[str, "which of several was taken"]]
    steps: NotRequired[Annotated[int, "length of a search that gives about the same without a clock"]]
    bytes_between_nodes: Annotated[int, "bytes that cross nodes"]
    levels: NotRequired[Annotated[list[LevelScore], "by level"]]
    node_of_cell: NotRequired[Annotated[list[int], "node of each cell, row by row"]]
    parts: NotRequired[Annotated[dict[str, list[int]], "part of each cell, by level below the node"]]
    gap: Annotated[float | None, "how far above what is possible; null: that is 0, and it is not"]
    optimal: Annotated[bool, "whether nothing is better"]


class Crossed(TypedDict):
    """A level of switches above the node."""

    level: Annotated[str, "name of the level"]
    units: Annotated[int, "how many switches or groups"]
    cost: Annotated[int, "what a byte counts that leaves one"]
    bytes: Annotated[dict[str, int], "bytes that cross it, by placement"]


class MappingsRecord(TypedDict):
    """All placements of one grid, or of one program."""

    grid: Annotated[list[int], "ranks along each axis"]
    nodes: Annotated[list[int], "ranks of each node"]
    stencil: Annotated[str, "stencil"]
    periodic: Annotated[list[bool], "whether each axis wraps around"]
    weights: Annotated[list[int], "weight of each offset"]
    objective: Annotated[str, "what is made small"]
    bound: Annotated[int, "what no placement falls below"]
    bound_kind: Annotated[str, "how that is known"]
    optimum: Annotated[int | None, "the least, where it is proven"]
    message_bytes: Annotated[int, "size of a message"]
    levels: Annotated[list[Inner], "levels below the node"]
    recommended: Annotated[str, "the placement to take"]
    notes: Annotated[list[str], "what weakens the figures, in words"]
    results: Annotated[list[MappingRecord], "by placement"]
    above: NotRequired[Annotated[list[Crossed], "levels of switches above the node, the inner first"]]
    front: NotRequired[Annotated[list[MappingRecord], "the best by both measures"]]
    skipped: Annotated[list[Skipped], "what was not done, and why"]


class CheckedRank(TypedDict):
    """Where a rank was started."""

    rank: Annotated[int, "number of the rank"]
    host: Annotated[str, "name of its host"]
    memory_group: Annotated[int, "which ranks share memory"]
    cpu: Annotated[int, "hardware thread on which it ran"]


class Left(TypedDict):
    """A node with free places."""

    node: Annotated[int, "place of the node in the list"]
    ranks: Annotated[int, "ranks on it"]
    free: Annotated[int, "free places"]


class MappedRecord(MappingsRecord):
    """All placements of one grid, or of one program, with what was asked beside."""

    hosts: NotRequired[Annotated[list[str], "names of the hosts"]]
    rounds: NotRequired[Annotated[int, "rounds of the program"]]
    bytes: NotRequired[Annotated[int, "bytes in all"]]
    trust: NotRequired[Annotated[Trust, "how far the profile's figures can be trusted"]]
    choice: NotRequired[Annotated[GridChoices, "the grid that was chosen"]]
    left_out: NotRequired[Annotated[list[Left], "nodes with free places"]]
    instantiation: NotRequired[Annotated[list[Instantiation], "what making a placement takes"]]
    checked: NotRequired[Annotated[list[CheckedRank], "where each rank was started"]]
