"""``rankwise map``: which rank should sit on which node, so that few stencil messages cross nodes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, print_json, tell, verb
from rankwise.errors import InputError
from rankwise.units import parse_ints, parse_periodic, parse_seconds, parse_shape

if TYPE_CHECKING:
    from rankwise.mapping import Mappings


@verb(
    "map",
    example="""
    rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor
    rankwise map --grid 50x48 --nodes 50 --ppn 48 --effort 1s --format slurm-hostfile --hosts "n[001-050]" > hosts.txt
    rankwise map --grid 16x8 --node-sizes 48,48,32 --stencil "1,0*8;-1,0*8;0,2" --algorithm kd-tree,refined --json
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
            'or offsets, each with a weight where it has one: "1,0*8;-1,0*8;0,2".'
        ),
    ] = "nearest-neighbor",
    algorithm: Annotated[
        str,
        typer.Option(
            help="all, or some of blocked,hyperplane,kd-tree,stencil-strips,nodecart,refined; or random, auto, graph."
        ),
    ] = "all",
    periodic: Annotated[str, typer.Option(help="Axes that wrap around: none, all, or a flag an axis: 1,0.")] = "none",
    weights: Annotated[
        str | None, typer.Option(help="What a message along each offset counts, in their order: 8,8,1,1.")
    ] = None,
    effort: Annotated[str, typer.Option(help="How long refined may search: 10ms, 1s.")] = "10ms",
    objective: Annotated[str, typer.Option(help="What refined makes small first: j_sum or j_max.")] = "j_sum",
    seed: Annotated[int, typer.Option(help="For what is drawn at random: random, refined, graph.")] = 1,
    prove: Annotated[
        bool, typer.Option("--prove", help="Find the proven optimum (tiny grids only; may take a minute).")
    ] = False,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Print the recommended mapping instead: slurm-hostfile, openmpi-rankfile, hydra-hostfile, "
            "cray-rank-order, json or csv. Rank r goes to the node of cell r, row-major.",
        ),
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(help="Names of the nodes for --format: n[001-050], or a file. Otherwise node0000, ..."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the node of every cell into this SVG file.")] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="Score the mapping in this file, too: JSON, CSV, a rank order, or one host a rank."),
    ] = None,
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
    from rankwise.cli.map_table import show
    from rankwise.files import write_json
    from rankwise.mapping import map_grid
    from rankwise.mapping.formats import USES, default_hosts, parse_hosts, read_mapping, write_mapping

    shape = parse_shape(grid, "--grid")
    sizes = _node_sizes(shape, nodes, ppn, node_sizes)
    flags = parse_periodic(periodic, len(shape))
    algorithms = [name.strip() for name in algorithm.split(",")]
    if objective not in ("j_sum", "j_max"):
        raise InputError(f"--objective '{objective}' is unknown: take j_sum or j_max")
    if not 0 <= seed < 2**64:
        raise InputError(f"--seed {seed} is out of range: give 0 to 2^64 - 1")
    names = default_hosts(len(sizes)) if hosts is None else parse_hosts(hosts)
    if file_format is not None:
        if as_json:
            raise InputError("--format prints the mapping and --json the scores: give one of them")
        write_mapping(file_format, [1], [0], names)  # refuse an unknown format before the work
    mappings = map_grid(
        shape,
        sizes,
        stencil,
        flags,
        algorithms,
        keep_maps=with_mapping or file_format is not None or plot is not None,
        weights=None if weights is None else parse_ints(weights, "--weights"),
        effort_s=parse_seconds(effort, "--effort"),
        objective=objective,
        seed=seed,
        prove=prove,
        given=None if compare is None else read_mapping(compare, sizes),
    )
    record = mappings.to_dict(with_maps=with_mapping)
    if output is not None:
        write_json(output, record)
    if plot is not None:
        _plot(plot, mappings)
    if file_format is not None:
        best = mappings.best
        assert best.node_of_cell is not None
        print(write_mapping(file_format, shape, best.node_of_cell.tolist(), names), end="")
        tell(f"{best.algorithm}: J_sum {best.j_sum}, J_max {best.j_max}. Use it with: {USES[file_format]}")
        return
    if as_json:
        print_json(record)
        return
    results = list(mappings.results)
    if all(result.algorithm != "blocked" for result in results):
        results[:0] = map_grid(
            shape, sizes, stencil, flags, ["blocked"], keep_maps=False, weights=mappings.weights
        ).results
    show(mappings, results)


def _plot(path: Path, mappings: Mappings) -> None:
    """Draw the maps as one SVG file on a white ground."""
    from rankwise.files import write_whole
    from rankwise.report.inputs import mappings_from_record
    from rankwise.report.nodemaps import can_draw, node_map_picture

    (instance,) = mappings_from_record(mappings.to_dict(), "to draw")
    if not can_draw(instance):
        raise InputError(f"--plot draws grids of up to three axes, and this one has {len(mappings.grid)}: leave it out")
    picture = node_map_picture(instance, "map")
    inside = picture.index(">") + 1
    write_whole(path, picture[:inside] + '<rect width="100%" height="100%" fill="#ffffff"/>' + picture[inside:] + "\n")


def _node_sizes(shape: list[int], nodes: int | None, ppn: int | None, node_sizes: str | None) -> list[int]:
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
