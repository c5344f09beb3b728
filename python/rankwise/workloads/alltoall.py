"""The workload "alltoall": every rank has a block for every other, by MPI_Alltoall or one exchange after the other."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.records import key, record
from rankwise.units import format_size, parse_ints, parse_sizes
from rankwise.workloads.base import (
    Case,
    Options,
    Program,
    Site,
    Times,
    Transpose,
    Workload,
    joined,
    option,
    require_known,
    require_ranks,
)
from rankwise.workloads.exchange import DEFAULT_RANKS

METHODS = ("alltoall", "pairwise")
_MOST_RANKS = 2**17
_AT_ONCE = "MPI_Alltoall is predicted as all messages at once; the library's algorithm is unknown"


@record
class AlltoallCase(Case):
    """One all-to-all of ``number`` ranks, ``message_bytes`` from each to each."""

    workload, kernel = "alltoall", "transpose"

    number: int = key("number of ranks", name="ranks")
    method: str = key("how it is done")
    message_bytes: int = key("size of a block")

    @property
    def ranks(self) -> int:
        return self.number

    @property
    def way(self) -> str:
        return self.method

    def cells(self) -> dict[str, str]:
        return {"method": self.method, "ranks": str(self.ranks), "size": format_size(self.message_bytes)}

    def program(self) -> Program:
        pairwise = self.method == "pairwise"
        return Program(Transpose((self.ranks,), (0,), pairwise), notes=() if pairwise else (_AT_ONCE,))

    @property
    def together(self) -> Hashable:
        return self.ranks

    @property
    def item(self) -> str:
        return f"{self.method}:{self.message_bytes}"

    def arguments(self, items: Sequence[str], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        return ["--cases", joined(items)]

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        return {"bytes_per_rank": int(record["messages_per_rank"]) * self.message_bytes}


@dataclass(frozen=True)
class AlltoallOptions(Options):
    method: str = option("all", "alltoall (MPI_Alltoall), pairwise (rankwise's, one exchange after the other), or all.")
    size: str = option("1000", "Size of one block, from each rank to each: 1000, 1kB, 8,1000,100kB.", "--bytes")
    ranks: str | None = option(None, "Numbers of ranks: 8, or 2,4,8.")


class AlltoallWorkload(Workload):
    id = "alltoall"
    title = "MPI_Alltoall"
    options = AlltoallOptions
    examples = {
        "predict": "rankwise predict alltoall --ranks 16 --bytes 8,1kB,64kB --profile machine.json",
        "simulate": "rankwise simulate alltoall --machine hopper --ranks 16 --ranks-per-node 4 --bytes 1kB",
        "run": "rankwise run alltoall --ranks 2 --bytes 8,1kB,64kB",
        "validate": "rankwise validate alltoall --ranks 2 --bytes 8,1kB,64kB --profile machine.json",
        "choose": "rankwise choose alltoall --ranks 16 --bytes 64kB --profile machine.json",
    }

    def cases(self, options: AlltoallOptions, site: Site) -> list[AlltoallCase]:
        methods = METHODS if options.method == "all" else tuple(options.method.split(","))
        for method in methods:
            require_known(method, METHODS, "--method")
        ranks = parse_ints(options.ranks, "--ranks") if options.ranks is not None else [site.ranks or DEFAULT_RANKS]
        require_ranks(max(ranks), "an all-to-all", _MOST_RANKS)
        sizes = parse_sizes(options.size, "--bytes")
        return [AlltoallCase(number, method, size) for number in ranks for size in sizes for method in methods]


WORKLOAD = AlltoallWorkload()
