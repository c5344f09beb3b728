"""``rankwise run stencil``: halo exchanges of mapped grids for real, and how long mapping takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, console, print_json, tell, verb
from rankwise.cli.exchange import Periodic, fail_unless_verified, run_verbs
from rankwise.cli.map import MappingNames, StencilOption, parse_node_sizes
from rankwise.errors import InputError
from rankwise.units import format_size, format_time, parse_periodic, parse_shape, parse_sizes

if TYPE_CHECKING:
    from rankwise.engines.run_stencil import Instantiation, MeasuredStencilRow


@verb(
    "stencil",
    """
    rankwise run stencil --grid 4x2 --bytes 64,4kB,512kB
    rankwise run stencil --grid 100x48 --nodes 100 --ppn 48 --instantiation
    """,
    under=run_verbs,
)
def run_stencil(
    grid: Annotated[str, typer.Option(help="Shape of the process grid, a rank a cell: 4x2.")],
    stencil: StencilOption = "nearest-neighbor",
    algorithm: MappingNames = "all",
    size: Annotated[str, typer.Option("--bytes", help="Bytes to each neighbour: 64, 64,4kB,512kB.")] = "64,4KiB,64KiB,512KiB",
    periodic: Periodic = "none",
    repetitions: Annotated[int, typer.Option(min=6, max=100_000, help="Exchanges of each case.")] = 200,
    samples: Annotated[Path, typer.Option(help="Where raw samples are appended.")] = Path("stencil.samples.jsonl"),
    instantiation: Annotated[
        bool, typer.Option("--instantiation", help="Only time how long a rank takes to compute its cell; starts no ranks.")
    ] = False,
    nodes: Annotated[int | None, typer.Option(min=1, help="With --instantiation: nodes, all of --ppn ranks.")] = None,
    ppn: Annotated[int | None, typer.Option(help="With --instantiation: ranks on each node.")] = None,
    node_sizes: Annotated[str | None, typer.Option(help="With --instantiation: ranks on each node: 48,48,32.")] = None,
    as_json: Json = False,
) -> None:
    """Run the halo exchange of a stencil code (MPI_Neighbor_alltoall) on a grid that is mapped in several ways.

    The ranks sit where the launcher puts them; each mapping gives them other cells. A barrier is before each exchange, and
    the slowest rank counts. Every received byte is checked.
    """
    shape = parse_shape(grid, "--grid")
    names = [name.strip() for name in algorithm.split(",")]
    if instantiation:
        from rankwise.engines.run_stencil import instantiate
        from rankwise.mapping import map_grid

        sizes = parse_node_sizes(shape, nodes, ppn, node_sizes)
        map_grid(shape, sizes, stencil, [False] * len(shape), names, keep_maps=False, effort_s=0.0)  # refuse what is wrong
        _show_instantiation(instantiate(shape, sizes, stencil, names), as_json)
        return
    if (nodes, ppn, node_sizes) != (None, None, None):
        raise InputError("--nodes, --ppn and --node-sizes go with --instantiation: a run has the nodes that the launcher uses")
    flags = parse_periodic(periodic, len(shape))
    rows = _measure(shape, flags, stencil, names, parse_sizes(size, "--bytes"), repetitions, samples)
    if as_json:
        print_json({"rows": [row.to_dict() for row in rows]})
    else:
        _show(rows)
    fail_unless_verified(rows)


def _measure(
    shape: list[int],
    flags: list[bool],
    stencil: str,
    names: list[str],
    sizes_bytes: Sequence[int],
    repetitions: int,
    samples: Path,
) -> list[MeasuredStencilRow]:
    from dataclasses import replace

    from rankwise.engines.run_stencil import StencilRunner
    from rankwise.engines.session import stencil_cases
    from rankwise.engines.under_way import under_way
    from rankwise.launch import find_mpi
    from rankwise.machine.discover import discover

    ranks = math.prod(shape)
    stencil_cases(shape, [ranks], stencil, flags, names, sizes_bytes[:1])  # refuse what is wrong before ranks start
    runner = StencilRunner(find_mpi(), len(discover().pus_one_per_core()), samples, repetitions)
    node_of_rank = runner.nodes(ranks)
    sizes = [node_of_rank.count(node) for node in range(max(node_of_rank) + 1)]
    cases = stencil_cases(shape, sizes, stencil, flags, names, sizes_bytes)
    with under_way("running", len(cases), f"the samples so far are in {samples}") as progress:
        return replace(runner, meter=progress).rows(cases, node_of_rank)


def _show(rows: Sequence[MeasuredStencilRow]) -> None:
    from rich.table import Table

    table = Table(
        "size", "mapping", "J_sum", "J_max", "median", "95 % interval", "mean without outliers", "outliers", "speed-up", "bytes"
    )
    for row in rows:
        assert row.every is not None and row.kept is not None
        low, high = row.kept.mean_ci_s
        table.add_row(
            format_size(row.case.message_bytes),
            row.case.mapping,
            str(row.case.j_sum),
            str(row.case.j_max),
            format_time(row.time_s),
            f"{format_time(row.time_lo_s)} to {format_time(row.time_hi_s)}",
            f"{format_time(row.kept.mean_s)} ({format_time(low)} to {format_time(high)})",
            str(row.every.repetitions - row.kept.repetitions),
            "–" if row.speedup is None else "{:.2f} ({:.2f} to {:.2f})".format(*row.speedup),
            "verified" if row.verified else "WRONG",
        )
    console().print(table)
    for note in dict.fromkeys(note for row in rows for note in row.notes):
        tell(f"note: {note}")


def _show_instantiation(found: Sequence[Instantiation], as_json: bool) -> None:
    if as_json:
        print_json({"instantiation": [one.to_dict() for one in found]})
        return
    from rich.table import Table

    table = Table("algorithm", "slowest rank", "median rank", "ranks timed")
    for one in found:
        table.add_row(one.algorithm, format_time(one.slowest_s), format_time(one.median_s), str(one.ranks))
    console().print(table)
