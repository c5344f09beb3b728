"""A workload of two ranks: a block there and back."""

from dataclasses import dataclass

from rankwise import _core
from rankwise.units import parse_sizes
from rankwise.workloads.base import Case, Options, Program, Workload, option


@dataclass(frozen=True)
class BounceCase(Case):
    workload, kernel = "bounce", "transpose"
    message_bytes: int
    ranks = 2

    @property
    def block_bytes(self):
        return self.message_bytes

    @property
    def way(self):
        return "bounce"

    def keys(self):
        return {"ranks": 2, "message_bytes": self.message_bytes}

    def cells(self):
        return {"size": str(self.message_bytes)}

    def program(self):
        return Program(_core.Exchange("shift", "ssend", [2], [False], [1], "full", 1, "pooled"), "ssend")

    @property
    def together(self):
        return ()

    @property
    def item(self):
        return f"pairwise:{self.message_bytes}"

    def arguments(self, items, node_of_rank, simulated):
        return ["--cases", ",".join(items)]

    def read(self, record, times_s):
        return {"bytes_per_rank": self.message_bytes}


@dataclass(frozen=True)
class BounceOptions(Options):
    size: str = option("8", "Size of the block.", "--bytes")


class BounceWorkload(Workload):
    id = "bounce"
    title = "a block there and back"
    options = BounceOptions
    examples = {}

    def cases(self, options, site):
        return [BounceCase(size) for size in parse_sizes(options.size, "--bytes")]


WORKLOAD = BounceWorkload()
