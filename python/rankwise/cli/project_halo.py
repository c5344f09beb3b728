"""``rankwise project exchange`` and ``project stencil``: neighbour exchanges on machines that need not exist."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.base import Json, console, print_json, tell, verb
from rankwise.cli.project import Machine, Plot, Set, Vary, check_plot, parse_vary, project_verbs, write_tornado
from rankwise.errors import InputError
from rankwise.units import format_size, format_time, parse_ints, parse_shape, parse_sizes

if TYPE_CHECKING:
    from rankwise.machine.description import Description

Latency = Annotated[
    str | None, typer.Option(help="Time of an empty message, or its range: 2us, 1us:3us. Default: the machine's own.")
]
Mode = Annotated[str, typer.Option(help="How messages are sent: ssend (one at a time), isend (both directions at once).")]


@verb(
    "exchange",
    """
    rankwise project exchange --machine frontier --latency 2us --dims 3 --cutoff 1:4 --bytes 1kB,100kB
    rankwise project exchange --machine machine.json --set link_bandwidth=1x:4x --cutoff 2
    """,
    under=project_verbs,
)
def project_exchange(
    machine: Machine,
    mode: Mode = "isend",
    dims: Annotated[int, typer.Option(help="Axes of the process grid: 1, 2 or 3.")] = 3,
    cutoff: Annotated[str, typer.Option(help="Layers of neighbours k: 2, 1,2,4 or 1:10.")] = "1:4",
    size: Annotated[str, typer.Option("--bytes", help="Size of one block: 1000, 1kB, 8,1000,100kB.")] = "1000",
    ranks_per_node: Annotated[int, typer.Option(help="Ranks that share what their node injects.")] = 1,
    latency: Latency = None,
    settings: Set = None,
    vary: Vary = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Project the Shift of werner2023: how long a neighbour exchange takes, with all neighbours on other nodes.

    Alpha is the machine's latency, beta the time of a byte over one link (or over the rank's share of the node's links).
    """
    from rankwise.engines import project_halo

    check_plot(plot)
    if dims not in (1, 2, 3):
        raise InputError(f"--dims {dims} is not a number of axes: give 1, 2 or 3")
    if ranks_per_node < 1:
        raise InputError(f"--ranks-per-node {ranks_per_node} is too small: it must be at least 1")
    cutoffs, sizes = parse_ints(cutoff, "--cutoff"), parse_sizes(size, "--bytes")

    def rows_of(described: Description) -> list[dict[str, Any]]:
        return project_halo.project_exchange(described, mode, dims, cutoffs, sizes, ranks_per_node)

    described = _machine(machine, latency, settings)
    rows = _varied(rows_of, described, vary or [])
    _plot(plot, rows_of, described, "time_s")
    if as_json:
        print_json({"workload": "exchange", "rows": rows})
        return
    from rich.table import Table

    table = Table("machine", *_varied_header(rows), "algorithm", "mode", "axes", "k", "size", "time", "range", "messages", "sent")
    for row in rows:
        wide = row["time_lo_s"] < row["time_hi_s"]
        table.add_row(
            row["machine"],
            *_varied_cell(row),
            row["algorithm"],
            row["mode"],
            str(row["dims"]),
            str(row["cutoff"]),
            format_size(row["message_bytes"]),
            format_time(row["time_s"]),
            f"{format_time(row['time_lo_s'])} … {format_time(row['time_hi_s'])}" if wide else "",
            str(row["messages_per_rank"]),
            format_size(row["bytes_per_rank"]),
        )
    console().print(table)
    for note in dict.fromkeys(note for row in rows for note in row["notes"]):
        tell(f"note: {note}")


@verb(
    "stencil",
    """
    rankwise project stencil --machine frontier --latency 2us --cells 8192x8192x8192 --nodes 64,512,4096
    rankwise project stencil --machine fugaku --latency 1us:2us --cells 64x64x64 --weak --width 80 --nodes 1000,100000
    """,
    under=project_verbs,
)
def project_stencil(
    machine: Machine,
    cells: Annotated[str, typer.Option(help="Cells of the whole grid, or of each node with --weak: 8192x8192x8192.")],
    nodes: Annotated[str, typer.Option(help="Numbers of nodes: 64,512,4096 or 1:8.")],
    weak: Annotated[bool, typer.Option("--weak", help="Weak scaling: --cells are those of each node.")] = False,
    width: Annotated[int, typer.Option(help="Interaction range in cells; blocks narrower than it make the cutoff grow.")] = 1,
    cell_bytes: Annotated[float, typer.Option(help="Bytes that travel for a halo cell.")] = 8.0,
    flops_per_cell: Annotated[float, typer.Option(help="Flops of a cell and step.")] = 8.0,
    memory_bytes_per_cell: Annotated[float, typer.Option(help="Bytes moved to and from memory for a cell and step.")] = 16.0,
    mode: Mode = "isend",
    overlap: Annotated[bool, typer.Option("--overlap", help="Compute and exchange fully overlap.")] = False,
    latency: Latency = None,
    settings: Set = None,
    vary: Vary = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Project one step of a halo code, strong or weak scaling: compute, exchange (the Shift of werner2023), efficiency.

    One block a node, periodic, as near to a cube as the nodes allow. The defaults are a 7-point stencil on doubles.
    """
    from rankwise.engines import project_halo
    from rankwise.models.halo import HaloCode

    check_plot(plot)
    shape = parse_shape(cells, "--cells")
    if len(shape) > 3:
        raise InputError(f"--cells {cells} has {len(shape)} axes: give 1, 2 or 3")
    if width < 1:
        raise InputError(f"--width {width} is too small: it must be at least 1")
    for option, value in (("--cell-bytes", cell_bytes), ("--memory-bytes-per-cell", memory_bytes_per_cell)):
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{option} {value:g} is out of range: it must be above 0")
    if not (math.isfinite(flops_per_cell) and flops_per_cell >= 0):
        raise InputError(f"--flops-per-cell {flops_per_cell:g} is out of range: it must be 0 or above")
    counts = parse_ints(nodes, "--nodes")
    code = HaloCode(width, cell_bytes, flops_per_cell, memory_bytes_per_cell, mode)

    def rows_of(described: Description) -> list[dict[str, Any]]:
        return project_halo.project_stencil(described, code, shape, counts, weak, overlap)

    described = _machine(machine, latency, settings)
    rows = _varied(rows_of, described, vary or [])
    _plot(plot, rows_of, described, "total_s")
    if as_json:
        print_json({"workload": "stencil", "rows": rows})
        return
    from rich.table import Table

    table = Table(
        "machine", *_varied_header(rows), "nodes", "grid", "block", "k", "flops", "memory", "exchange", "total", "range",
        "efficiency", "bounded by",
    )  # fmt: skip
    for row in rows:
        results = row["results"]
        total = results["total_s"]
        table.add_row(
            row["machine"],
            *_varied_cell(row),
            f"{row['nodes']:,}",
            "x".join(map(str, row["grid"])),
            "x".join(f"{edge:.4g}" for edge in row["block"]),
            ",".join(map(str, row["cutoff"])),
            *(
                format_time(results[name]["value"]) if results[name]["value"] > 0 else "–"
                for name in ("flops_s", "memory_s", "exchange_s", "total_s")
            ),
            f"{format_time(total['low'])} … {format_time(total['high'])}" if total["low"] < total["high"] else "",
            f"{100 * row['efficiency']:.3g} %",
            row["bounded_by"],
        )
    console().print(table)
    for note in dict.fromkeys(note for row in rows for note in row["notes"]):
        tell(f"note: {note}")


def _machine(reference: str, latency: str | None, settings: list[str] | None) -> Description:
    from rankwise.machine.description import set_figures
    from rankwise.machine.library import load_machine

    given = [f"latency={latency}"] if latency is not None else []
    return set_figures(load_machine(reference), [*(settings or []), *given])


def _varied(
    rows_of: Callable[[Description], list[dict[str, Any]]], machine: Description, vary: Sequence[str]
) -> list[dict[str, Any]]:
    """The rows of the machine as it is, or, with --vary, of each value of the varied figure."""
    if not vary:
        return rows_of(machine)
    from rankwise.engines.project import logarithmic, with_value

    known = list(rows_of(machine)[0]["parameters"])
    rows = []
    for text in vary:
        key, ends = parse_vary(text, machine, known)
        for value in logarithmic(*ends):
            rows += [{"varied": key, "value": value} | row for row in rows_of(with_value(machine, key, value))]
    return rows


def _plot(
    plot: Path | None, rows_of: Callable[[Description], list[dict[str, Any]]], machine: Description, key: str
) -> None:
    """Write the tornado of the last row: the largest block, or the most nodes."""
    if plot is None:
        return
    from rankwise.engines.project import sensitivities, with_value
    from rankwise.models.uncertain import Range

    def time(row: dict[str, Any]) -> float:
        return float(row[key] if key in row else row["results"][key]["value"])

    last = rows_of(machine)[-1]
    parameters = {name: Range(record["value"], record["low"], record["high"]) for name, record in last["parameters"].items()}

    def time_of(values: Mapping[str, float]) -> float:
        changed = machine
        for name, value in values.items():
            changed = with_value(changed, name, value)
        return time(rows_of(changed)[-1])

    what = f"k = {last['cutoff']}, {format_size(last['message_bytes'])}" if key == "time_s" else f"{last['nodes']:,} nodes"
    write_tornado(sensitivities(time_of, parameters), parameters, time(last), f"{machine.name}, {what}", plot)


def _varied_header(rows: Sequence[dict[str, Any]]) -> list[str]:
    return ["varied"] if "varied" in rows[0] else []


def _varied_cell(row: dict[str, Any]) -> list[str]:
    from rankwise.machine.description import QUANTITIES, format_quantity

    if "varied" not in row:
        return []
    return [f"{row['varied']} {format_quantity(row['value'], QUANTITIES[row['varied']].unit)}"]
