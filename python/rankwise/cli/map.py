"""``rankwise map``: which rank should sit on which node, so that few stencil messages cross nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import rankwise
from rankwise.api.requests import Placing
from rankwise.cli.base import Json, drawable, show, tell, verb, writable
from rankwise.errors import InputError, InterruptedWorkError
from rankwise.files import write_json

if TYPE_CHECKING:
    from rankwise.api.placing import Mapped
    from rankwise.mapping.slots import Slots


@verb(
    "map",
    example="""rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor
    rankwise map --grid 50x48 --nodes 50 --ppn 48 --effort 1s --format slurm-hostfile --hosts "n[001-050]" > hosts.txt
    rankwise map --grid 16x8 --node-sizes 48,48,32 --stencil "1,0*8;-1,0*8;0,2" --algorithm kd-tree,refined --json
    rankwise map --mesh 1000x800x400 --ranks 2400 --ppn 48 --levels socket:2 --profile machine.json
    rankwise map --observed app.comm --format openmpi-rankfile > ranks""",
)
def map_ranks(
    asked: Placing,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Print the recommended mapping for a launcher: slurm-hostfile, openmpi-rankfile. Or openmpi-seq, "
            "hydra-hostfile, intel-machinefile, cray-rank-order, flux-taskmap, json, csv. Rank r goes to the node of cell r, "
            "row-major.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the node of every cell (or rank) as .svg or .html.", callback=drawable)
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the JSON here too, for 'rankwise report'.", callback=writable)
    ] = None,
    as_json: Json = False,
) -> None:
    """Find which rank belongs on which node.

    Several algorithms map the ranks of a process grid to nodes, compared by what they send between nodes. J_sum counts all
    stencil messages between nodes, J_max those of the busiest node. With --profile or --machine the mapping is recommended
    whose messages, all sent at once, take least time there.
    """
    from rankwise.mapping.formats import require_format

    if file_format is not None:
        if as_json:
            raise InputError("--format prints the mapping and --json the scores: give one of them")
        require_format(file_format)
    found = rankwise.map(asked, asked.with_mapping or file_format is not None or plot is not None)
    if found.room is not None:
        _tell_left_out(found.room)
    if output is not None:
        write_json(output, found.to_dict())
    if file_format is not None:
        _print_format(found, file_format)
    else:
        show(found, as_json)
    if plot is not None:
        found.plot().save(plot)
    if found.mappings.unproved == "interrupted":
        raise InterruptedWorkError("interrupted: no optimum is proved, the best mapping so far is told")


def _print_format(found: Mapped, file_format: str) -> None:
    """Print the placement to take in a launcher's format, and on stderr how it is used."""
    from rankwise.mapping.formats import Placed, use_of, warning_of, write_mapping

    best, shape = found.best, list(found.shape)
    assert best.node_of_cell is not None
    parts = {level: part.tolist() for level, part in best.parts.items()}
    placed = Placed(shape, best.node_of_cell.tolist(), list(found.hosts), parts)
    print(write_mapping(file_format, shape, placed.node_of_cell, placed.hosts, parts), end="")
    if found.traffic is None:
        words = f"{best.algorithm}: J_sum {best.j_sum}, J_max {best.j_max}."
    else:
        from rankwise.api.map_blocks import traffic_words

        words = traffic_words(found.traffic, found.mappings, found.shown, found.start)
    tell(f"{words} Use it with: {use_of(file_format, placed)}")
    if warning := warning_of(file_format, placed):
        tell(f"beware: {warning}")


def _tell_left_out(room: Slots) -> None:
    whole = [str(node) for node, ranks in enumerate(room.ranks) if ranks == 0]
    some = sum(room.free[node] for node in room.kept)
    tell(f"left out: {'nodes ' + ', '.join(whole) if whole else 'no node'}; {some} slots stay free on the other nodes")
