"""``rankwise map``: which rank should sit on which node, so that few stencil messages cross nodes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, console, print_json, tell, verb
from rankwise.errors import InputError
from rankwise.units import format_percent, format_time, parse_ints, parse_periodic, parse_shape

if TYPE_CHECKING:
    from rankwise.mapping import Mappings, MapResult


@verb(
    "map",
    example="""
    rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor
    rankwise map --grid 16x8 --node-sizes 48,48,32 --stencil "1,0;-1,0;0,2" --algorithm kd-tree,stencil-strips --json
    """,
)
def map_ranks(
    grid: Annotated[str, typer.Option(help="Shape of the process grid: 50x48.")],
    nodes: Annotated[int | None, typer.Option(help="Number of nodes, all of --ppn ranks.")] = None,
    ppn: Annotated[int | None, typer.Option(help="Ranks on each node.")] = None,
    node_sizes: Annotated[
        str | None, typer.Option(help="Ranks on each node where they differ, instead of --nodes and --ppn: 48,48,32.")
    ] = None,
    stencil: Annotated[
        str,
        typer.Option(
            help="To whom each rank sends: nearest-neighbor, nearest-neighbor-with-hops, component, moore:K, "
            'or offsets: "1,0;-1,0;0,2".'
        ),
    ] = "nearest-neighbor",
    algorithm: Annotated[
        str,
        typer.Option(help="all, or some of blocked,hyperplane,kd-tree,stencil-strips,nodecart."),
    ] = "all",
    periodic: Annotated[str, typer.Option(help="Axes that wrap around: none, all, or a flag an axis: 1,0.")] = "none",
    with_mapping: Annotated[
        bool, typer.Option("--with-mapping", help="Put the node of every cell in the JSON.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the JSON here too, for 'rankwise report'.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Map the ranks of a process grid to nodes with several algorithms and show how much each sends between nodes.

    J_sum counts all stencil messages between nodes, J_max those of the busiest node.
    """
    from rankwise.files import write_json
    from rankwise.mapping import map_grid

    shape = parse_shape(grid, "--grid")
    sizes = parse_node_sizes(shape, nodes, ppn, node_sizes)
    flags = parse_periodic(periodic, len(shape))
    algorithms = [name.strip() for name in algorithm.split(",")]
    mappings = map_grid(shape, sizes, stencil, flags, algorithms, keep_maps=with_mapping)
    if output is not None:
        write_json(output, mappings.to_dict())
    if as_json:
        print_json(mappings.to_dict())
        return
    results = list(mappings.results)
    if all(result.algorithm != "blocked" for result in results):
        results[:0] = map_grid(shape, sizes, stencil, flags, ["blocked"], keep_maps=False).results
    _show(mappings, results)


def parse_node_sizes(shape: list[int], nodes: int | None, ppn: int | None, node_sizes: str | None) -> list[int]:
    """Return the ranks of each node, as many in all as the grid has cells."""
    cells = math.prod(shape)
    cells_text = f"--grid {'x'.join(map(str, shape))} has {cells} cells"
    if node_sizes is not None:
        if nodes is not None or ppn is not None:
            raise InputError("--node-sizes stands beside --nodes or --ppn: give either the one or the others")
        sizes = parse_ints(node_sizes, "--node-sizes")
        if sum(sizes) != cells:
            raise InputError(
                f"{cells_text} but --node-sizes sum to {sum(sizes)}: change one of them so that both are equal"
            )
        return sizes
    if nodes is None or ppn is None:
        raise InputError("the nodes are missing: give --nodes and --ppn, or --node-sizes")
    for option, value in (("--nodes", nodes), ("--ppn", ppn)):
        if value < 1:
            raise InputError(f"{option} {value} is too small: it must be at least 1")
    if nodes > cells:
        raise InputError(f"{cells_text}, fewer than --nodes {nodes}: give at most one node a cell")
    if nodes * ppn != cells:
        raise InputError(
            f"{cells_text} but --nodes {nodes} x --ppn {ppn} are {nodes * ppn} ranks: change one of them so that both "
            "are equal, or list unequal nodes with --node-sizes"
        )
    if nodes >= 2**31:
        raise InputError(f"--nodes {nodes} is too large: it must be below 2^31")
    return [ppn] * nodes


def _show(mappings: Mappings, results: list[MapResult]) -> None:
    """Print the results, blocked among them, and what to make of them."""
    from rich.markup import escape
    from rich.table import Table

    from rankwise.mapping import best_of

    best = best_of(results)
    blocked = next(result for result in results if result.algorithm == "blocked")
    table = Table(title=escape(_title(mappings)), title_justify="left", title_style="bold")
    table.add_column("algorithm")
    for heading in ("J_sum", "vs blocked", "J_max", "vs blocked", "time"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for result in results:
        table.add_row(
            result.algorithm,
            str(result.j_sum),
            _change(result.j_sum, blocked.j_sum),
            str(result.j_max),
            _change(result.j_max, blocked.j_max),
            format_time(result.seconds),
            "best" if result is best else "",
            style="bold green" if result is best else None,
        )
    console().print(table)
    print(f"Recommended: {_reason(best, blocked)}")
    for skipped in mappings.skipped:
        tell(f"skipped {skipped.algorithm}: {skipped.reason}")


def _title(mappings: Mappings) -> str:
    shape = "x".join(map(str, mappings.grid))
    smallest, largest = min(mappings.nodes), max(mappings.nodes)
    size = f"{largest}" if smallest == largest else f"{smallest} to {largest}"
    count = len(mappings.nodes)
    title = f"{shape} on {count} node{'s' if count > 1 else ''} of {size} rank{'s' if largest > 1 else ''}"
    wrapping = [str(axis) for axis, wraps in enumerate(mappings.periodic) if wraps]
    ends = f"periodic along axis {', '.join(wrapping)}" if wrapping else "not periodic"
    return f"{title}, {mappings.stencil}, {ends}"


def _change(value: int, blocked: int) -> str:
    if value == blocked:
        return "0.0 %"
    return "–" if blocked == 0 else format_percent(value / blocked - 1)


def _reason(best: MapResult, blocked: MapResult) -> str:
    if best is blocked:
        if blocked.j_sum == 0:
            return "leave the ranks as they are (blocked): no message crosses nodes."
        return "leave the ranks as they are (blocked): no other mapping here sends less between nodes."
    if best.j_sum == blocked.j_sum:
        return (
            f"{best.algorithm} sends as many messages between nodes as blocked ({best.j_sum}), but its busiest node "
            f"only {best.j_max} instead of {blocked.j_max}."
        )
    return (
        f"{best.algorithm} sends the fewest messages between nodes, {best.j_sum} instead of {blocked.j_sum} "
        f"({_change(best.j_sum, blocked.j_sum)}); its busiest node sends {best.j_max} instead of {blocked.j_max}."
    )
