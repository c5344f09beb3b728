"""Figures like those that rankwise writes, for tests of the report: a profile, comparisons, mappings."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from rankwise.machine.link import Curve, LinkModel, Point, Segment
from rankwise.machine.profile import Link, Profile

STENCILS = {
    "nearest-neighbor": [(1, 0), (-1, 0), (0, 1), (0, -1)],
    "nearest-neighbor-with-hops": [
        *[(1, 0), (-1, 0), (0, 1), (0, -1)],
        *[(step, 0) for step in (2, -2, 3, -3)],
    ],
    "component": [(1, 0), (-1, 0)],
}
_SIZES = (
    0,
    1,
    2,
    4,
    8,
    16,
    32,
    64,
    128,
    256,
    512,
    1000,
    2048,
    4096,
    8112,
    16384,
    32768,
    65536,
    2**17,
    2**18,
    2**19,
    2**20,
)


def curve(scale: float = 1.0, sizes: Sequence[int] = (*_SIZES, 2**21, 2**22), seed: int = 1) -> Curve:
    """A curve with a break at 8112 B, noise of a few percent, and both models."""
    noise = random.Random(seed)

    def line(start: int, end: int | None, alpha_us: float, beta_ns: float) -> Segment:
        alpha_s, beta_s = alpha_us * 1e-6 * scale, beta_ns * 1e-9 * scale
        return Segment(start, end, alpha_s, beta_s, (alpha_s * 0.96, alpha_s * 1.06), (beta_s * 0.95, beta_s * 1.05))

    segments = (line(0, 8112, 0.31, 0.07), line(8112, None, 1.6, 0.088))
    piecewise = LinkModel("piecewise", segments, "relative least squares, 2 segments", 0.04)
    hockney = LinkModel("hockney", (Segment(0, None, 4.2e-7 * scale, 9.1e-11 * scale),), "relative least squares", 0.31)
    table = []
    for size in sizes:
        time_s = piecewise.time_s(size) * noise.uniform(0.96, 1.05)
        table.append(Point(size, time_s, time_s * noise.uniform(0.93, 0.99), time_s * noise.uniform(1.01, 1.12), 2000))
    return Curve(
        model="piecewise",
        alpha_s=segments[0].alpha_s,
        alpha_ci_s=segments[0].alpha_ci_s,
        beta_s_per_byte=segments[1].beta_s_per_byte,
        beta_ci_s_per_byte=segments[1].beta_ci_s_per_byte,
        samples=2000 * len(sizes),
        statistic="median",
        table=tuple(table),
        models={"hockney": hockney, "piecewise": piecewise},
    )


def profile(classes: Sequence[str] = ("same-socket",), hostname: str = "node17", warnings: Sequence[str] = ()) -> Profile:
    """A measured profile with some link classes and the other modes."""
    links = {
        name: Link(
            curve(4.0**i, seed=i),
            {
                "ssend": curve(1.9 * 4.0**i, seed=i + 10),
                "exchange": curve(1.4 * 4.0**i, seed=i + 20),
                "exchange-gap": curve(0.6 * 4.0**i, sizes=_SIZES[::2], seed=i + 30),
            },
        )
        for i, name in enumerate(classes)
    }
    machine = {
        "hostname": hostname,
        "cpu_model": "Example CPU 9000",
        "sockets": 2,
        "numa_nodes": 2,
        "cores": 48,
        "hardware_threads": 96,
        "memory_bytes": 96 * 2**30,
        "caches": [{"level": 1, "size_bytes": 32768, "count": 48}, {"level": 3, "size_bytes": 2**25, "count": 2}],
        "virtualization": "kvm",
        "kernel": "Linux 6.1.0",
        "topology_source": "sysfs",
        "mpi": {
            "library_version": "MPICH Version: 5.0.0",
            "library_family": "mpich",
            "launcher": "/usr/bin/mpiexec",
            "launcher_version": "hydra 5.0.0",
            "origin": "wheel",
        },
    }
    source = {"kind": "measured", "samples_file": "machine.samples.jsonl", "statistic": "median"}
    return Profile(machine, links, "2026-01-05T10:00:00+00:00", source, tuple(warnings))


def slower(before: Profile, factor: float) -> Profile:
    """The same machine when plain sends between its farthest ranks take so many times as long."""
    name = list(before.links)[-1]
    send = before.links[name].send
    rows = tuple(
        replace(p, **{key: getattr(p, key) * factor for key in ("time_s", "time_lo_s", "time_hi_s")}) for p in send.table
    )
    after = replace(
        send, table=rows, alpha_s=send.alpha_s * factor, alpha_ci_s=tuple(end * factor for end in send.alpha_ci_s or ())
    )
    return replace(before, links={**before.links, name: replace(before.links[name], send=after)})


def comparison(
    mode: str = "isend", cutoff: int = 1, message_bytes: int = 1000, error: float = 0.05, **changes: Any
) -> dict[str, Any]:
    """One row of validate.json."""
    measured = {"ssend": 1.9e-6, "isend": 1.2e-6}.get(mode, 1.5e-6) * cutoff * (1 + message_bytes / 9000)
    predicted = measured * (1 + error)
    return {
        "algorithm": "shift", "mode": mode, "dims": 1, "grid": [2], "cutoff": cutoff, "replication": 1, "ranks": 2,
        "message_bytes": message_bytes,
        "predicted_time_s": predicted, "predicted_time_lo_s": predicted * 0.92, "predicted_time_hi_s": predicted * 1.1,
        "measured_time_s": measured, "measured_time_lo_s": measured * 0.97, "measured_time_hi_s": measured * 1.04,
        "error": error, "inside_interval": abs(error) < 0.1, "messages_per_rank": 2 * cutoff,
        "bytes_per_rank": 2 * cutoff * message_bytes, "verified": True, "repetitions": 200, "oversubscribed": False,
    } | changes  # fmt: skip


def validation_record(rows: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """validate.json: the 1-D Shift with k = 1..4 in two modes, or the rows given."""
    if rows is None:
        errors = iter((-0.02, 0.06, -0.11, 0.04, 0.03, -0.24, 0.08, -0.01))
        rows = [comparison(mode, k, error=next(errors)) for mode in ("ssend", "isend") for k in range(1, 5)]
    return {
        "schema": 1,
        "profile": "machine.json",
        "ranks": 2,
        "rows": list(rows),
        "summary": {"mape": 0.07, "bias": -0.02, "share_inside": 0.75},
    }


def edges_between_nodes(grid: Sequence[int], node_of_cell: Sequence[int], offsets: Sequence[Sequence[int]]) -> tuple[int, int]:
    """J_sum and J_max of a map on an open grid, by definition."""
    cells = dict(zip(product(*map(range, grid)), node_of_cell, strict=True))
    leaving = [0] * (max(node_of_cell) + 1)
    for cell, node in cells.items():
        for offset in offsets:
            other = tuple(x + step for x, step in zip(cell, offset, strict=True))
            leaving[node] += cells.get(other, node) != node
    return sum(leaving), max(leaving)


def instance(
    grid: Sequence[int], ppn: int, stencil: str, offsets: Sequence[Sequence[int]], maps: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """One mapping instance with the true scores of the maps given."""
    results = []
    for algorithm, node_of_cell in maps.items():
        j_sum, j_max = edges_between_nodes(grid, node_of_cell, offsets)
        results.append(
            {"algorithm": algorithm, "j_sum": j_sum, "j_max": j_max, "seconds": 1e-4, "node_of_cell": [*node_of_cell]}
        )
    nodes = [ppn] * (len(results[0]["node_of_cell"]) // ppn)
    return {
        "grid": list(grid), "nodes": nodes, "stencil": stencil, "periodic": [False] * len(grid), "results": results,
        "skipped": [{"algorithm": "graph", "reason": "no partitioner is installed"}],
    }  # fmt: skip


def maps_2d(rows: int, columns: int, ppn: int) -> dict[str, list[int]]:
    """Maps of a 2-D grid: blocked, snaking strips of two widths, tiles, and a random one."""
    tile = next(h for h in range(int(ppn**0.5), 0, -1) if ppn % h == 0 and rows % h == 0 and columns % (ppn // h) == 0)
    shuffled = [i // ppn for i in range(rows * columns)]
    random.Random(5).shuffle(shuffled)
    return {
        "blocked": [i // ppn for i in range(rows * columns)],
        "hyperplane": _filled(_strips(rows, columns, 5), columns, ppn),
        "stencil-strips": _filled(_strips(rows, columns, 7), columns, ppn),
        "nodecart": [y // tile * (columns * tile // ppn) + x // (ppn // tile) for y in range(rows) for x in range(columns)],
        "random": shuffled,
    }


def mapping_record(grid: tuple[int, int] = (50, 48), ppn: int = 48) -> dict[str, Any]:
    """map.json: one instance for each of three stencils."""
    maps = maps_2d(*grid, ppn)
    return {
        "schema": 1,
        "instances": [instance(grid, ppn, name, offsets, maps) for name, offsets in STENCILS.items()],
    }


def mapping_record_3d() -> dict[str, Any]:
    """map.json with one instance of a 3-D grid."""
    offsets = [tuple(sign * (i == axis) for i in range(3)) for axis in range(3) for sign in (1, -1)]
    cells = list(product(range(8), range(6), range(4)))
    maps = {
        "blocked": [i // 8 for i in range(len(cells))],
        "nodecart": [z // 2 * 6 + y // 2 * 2 + x // 2 for z, y, x in cells],
    }
    return {"schema": 1, "instances": [instance((8, 6, 4), 8, "nearest-neighbor", offsets, maps)]}


def _strips(rows: int, columns: int, width: int) -> Iterator[tuple[int, int]]:
    """Cells of a grid along strips of columns, up one strip and down the next."""
    for i, left in enumerate(range(0, columns, width)):
        for y in range(rows) if i % 2 == 0 else reversed(range(rows)):
            for x in range(left, min(left + width, columns)):
                yield y, x


def _filled(order: Iterator[tuple[int, int]], columns: int, ppn: int) -> list[int]:
    nodes = {y * columns + x: i // ppn for i, (y, x) in enumerate(order)}
    return [nodes[i] for i in range(len(nodes))]
