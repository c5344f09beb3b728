"""``rankwise project exchange`` and ``project stencil``: neighbour exchanges on machines that need not exist."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rankwise.cli.base import Json, flattened, print_json, tell, verb
from rankwise.cli.project import Machine, Plot, Set, Vary, check_plot, parse_vary, project_verbs, write_tornado, write_varied
from rankwise.cli.rows import line, show_table, tell_notes
from rankwise.engines.beside import MachineTime
from rankwise.errors import InputError
from rankwise.units import format_interval, format_number, format_size, format_time, parse_ints, parse_shape
from rankwise.workloads.base import Row
from rankwise.workloads.exchange import ExchangeOptions, names

if TYPE_CHECKING:
    from rankwise.machine.description import Description

Answer = TypeVar("Answer")

Latency = Annotated[
    str | None, typer.Option(help="Time of an empty message, or its range: 2us, 1us:3us. Default: the machine's own.")
]


Against = Annotated[
    str | None, typer.Option(help="Machines to set beside it, separated by commas; --plot then draws them together.")
]


def project_exchange(
    asked: ExchangeOptions,
    machine: Machine,
    against: Against = None,
    ranks_per_node: Annotated[int, typer.Option(help="Ranks on each node, which share its memory and its card.")] = 1,
    latency: Latency = None,
    settings: Set = None,
    vary: Vary = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Project neighbour exchanges: how long they take by the judge that 'rankwise predict exchange' asks of a profile.

    A message takes the machine's latency, and its bytes over one link; ranks of a node share what it injects.
    """
    from rankwise.decide.ranking import conclusion
    from rankwise.engines import project_halo
    from rankwise.workloads.base import Site
    from rankwise.workloads.exchange import WORKLOAD

    check_plot(plot)
    if ranks_per_node < 1:
        raise InputError(f"--ranks-per-node {ranks_per_node} is too small: it must be at least 1")
    cases = WORKLOAD.cases(asked, Site("project", shares_nodes=ranks_per_node > 1))

    def rows_of(described: Description) -> list[Row]:
        return project_halo.project_exchange(described, cases, ranks_per_node)

    described = _machine(machine, latency, settings)
    last = f"{cases[-1].way}, k = {cases[-1].cutoff}, {format_size(cases[-1].message_bytes)}"
    if against is not None:
        found = _beside(rows_of, described, against, vary)
        times = [MachineTime(name, row.time_s, *(row.interval_s or (row.time_s, row.time_s))) for name,
            (*_, row) in found.items()]
        told = _conclude(times, last, plot)
        if as_json:
            print_json({"workload": "exchange", "conclusion": told,
                "rows": [r.to_dict() for rows in found.values() for r in rows]})
            return
        print(f"{told}.")
        show_table([{"machine": name} | line(WORKLOAD, row) for name, rows in found.items() for row in rows])
        tell_notes([row for rows in found.values() for row in rows])
        return
    plain = rows_of(described)
    parameters = plain[-1].figures["parameters"]
    rows = _varied(rows_of, plain, described, vary or [], parameters)
    if plot is not None and vary:
        last_times = [(found["varied"], found["value"], {"time": row.time_s}) for found,
            row in rows if row.case == plain[-1].case]
        write_varied(last_times, f"{described.name}, {last}", plot)
    else:
        _plot(plot, lambda on: rows_of(on)[-1].time_s, described, parameters, last)
    if as_json:
        print_json({"workload": "exchange", "rows": [varied | row.to_dict() for varied, row in rows]})
        return
    print(f"{described.name}: {conclusion(plain)}.")
    show_table([{"machine": described.name} | _varied_cell(varied) | line(WORKLOAD, row) for varied, row in rows])
    tell_notes(plain)


verb(
    "exchange",
    """
    rankwise project exchange --machine frontier --latency 2us --cutoff 1:4 --bytes 1kB,100kB
    rankwise project exchange --machine frontier --against alps,lumi-g,jupiter --cutoff 1 --bytes 1MB --plot machines.svg
    rankwise project exchange --machine machine.json --algorithm all --mode all --ranks-per-node 4 --cutoff 2
    """,
    under=project_verbs,
)(flattened(project_exchange, ExchangeOptions, mode="isend", dims="3"))


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
    against: Against = None,
    weak: Annotated[bool, typer.Option("--weak", help="Weak scaling: --cells are those of each node.")] = False,
    width: Annotated[int, typer.Option(help="Interaction range in cells; blocks narrower than it make the cutoff grow.")] = 1,
    cell_bytes: Annotated[float, typer.Option(help="Bytes that travel for a halo cell.")] = 8.0,
    flops_per_cell: Annotated[float, typer.Option(help="Flops of a cell and step.")] = 8.0,
    memory_bytes_per_cell: Annotated[float, typer.Option(help="Bytes moved to and from memory for a cell and step.")] = 16.0,
    mode: Annotated[str, typer.Option(help=f"How messages are sent: {', '.join(names().modes)}.")] = "isend",
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
    if against is not None:
        found = _beside(rows_of, described, against, vary)
        times = [
            MachineTime(name, *(float(row["results"]["total_s"][end]) for end in ("value", "low", "high")))
            for name, (*_, row) in found.items()
        ]
        told = _conclude(times, f"a step on {counts[-1]:,} nodes", plot)
        if as_json:
            print_json({"workload": "stencil", "conclusion": told, "rows": [row for rows in found.values() for row in rows]})
            return
        print(f"{told}.")
        _show_steps([({}, row) for rows in found.values() for row in rows])
        return
    plain = rows_of(described)
    parameters = plain[-1]["parameters"]
    rows = _varied(rows_of, plain, described, vary or [], parameters)

    def total_s(on: Description) -> float:
        return float(rows_of(on)[-1]["results"]["total_s"]["value"])

    if plot is not None and vary:
        of_last = [(found, row["results"]) for found, row in rows if row["nodes"] == counts[-1]]
        terms = ("flops", "memory", "exchange", "total")
        write_varied(
            [(found["varied"], found["value"], {term: float(times[f"{term}_s"]["value"]) for term in terms}) for found,
                times in of_last],
            f"{described.name}, {counts[-1]:,} nodes", plot,
        )  # fmt: skip
    else:
        _plot(plot, total_s, described, parameters, f"{counts[-1]:,} nodes")
    if as_json:
        print_json({"workload": "stencil", "rows": [varied | row for varied, row in rows]})
        return
    print(f"{_steps_in_words(plain)}.")
    _show_steps(rows)


def _steps_in_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say how long a step takes on the fewest and the most nodes, and what bounds it there."""

    def told(row: Mapping[str, Any]) -> str:
        return f"{format_time(row['results']['total_s']['value'])} on {row['nodes']:,} nodes, bounded by {row['bounded_by']}"

    first, last = rows[0], rows[-1]
    return f"{first['machine']}: a step takes {told(first)}" + (f"; {told(last)}" if len(rows) > 1 else "")


def _show_steps(rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
    lines = []
    for varied, row in rows:
        results = row["results"]
        total = results["total_s"]
        lines.append(
            {
                "machine": row["machine"],
                **_varied_cell(varied),
                "nodes": f"{row['nodes']:,}",
                "grid": "x".join(map(str, row["grid"])),
                "block": "x".join(f"{edge:.4g}" for edge in row["block"]),
                "k": ",".join(map(str, row["cutoff"])),
                **{
                    term: format_time(results[f"{term}_s"]["value"]) if results[f"{term}_s"]["value"] > 0 else "–"
                    for term in ("flops", "memory", "exchange", "total")
                },
                "range": format_interval((total["low"], total["high"])) if total["low"] < total["high"] else "",
                "efficiency": f"{format_number(100 * row['efficiency'])} %",
                "bounded by": row["bounded_by"],
            }
        )
    show_table(lines, leave=("efficiency", "block", "flops", "memory", "k", "range"))
    for note in dict.fromkeys(note for _, row in rows for note in row["notes"]):
        tell(f"note: {note}")


def _beside(
    rows_of: Callable[[Description], list[Answer]], machine: Description, against: str, vary: Sequence[str] | None
) -> dict[str, list[Answer]]:
    """The rows of each machine; one whose description lacks a figure is left out, with what it lacks. Raises InputError."""
    from rankwise.engines.beside import load_all

    if vary:
        raise InputError("--vary and --against are too much for one table: leave one of the two out")
    found = {}
    for one in load_all(machine, against):
        try:
            found[one.name] = rows_of(one)
        except InputError as error:
            if one is machine:
                raise
            tell(f"left out: {error}")
    return found


def _conclude(times: Sequence[MachineTime], what: str, plot: Path | None) -> str:
    """Say what machines beside each other come to, and draw it."""
    from rankwise.engines.beside import conclusion

    told = conclusion(times, what)
    if plot is not None:
        from rankwise.files import write_whole
        from rankwise.report.beside import beside_picture

        write_whole(plot, beside_picture(times, told).file())
        tell(f"written: {plot}")
    return told


def _machine(reference: str, latency: str | None, settings: list[str] | None) -> Description:
    from rankwise.machine.description import set_figures
    from rankwise.machine.library import load_machine

    given = [f"latency={latency}"] if latency is not None else []
    return set_figures(load_machine(reference), [*(settings or []), *given])


def _varied(
    rows_of: Callable[[Description], list[Answer]],
    rows: list[Answer],
    machine: Description,
    vary: Sequence[str],
    parameters: Mapping[str, Any],
) -> list[tuple[dict[str, Any], Answer]]:
    """The rows of the machine as it is, or, with --vary, of each value of the varied figure, and which that is."""
    if not vary:
        return [({}, row) for row in rows]
    from rankwise.engines.project import logarithmic, with_value

    return [
        ({"varied": key, "value": value}, row)
        for key, ends in [parse_vary(text, machine, list(parameters)) for text in vary]
        for value in logarithmic(*ends)
        for row in rows_of(with_value(machine, key, value))
    ]


def _plot(
    plot: Path | None,
    time_of: Callable[[Description], float],
    machine: Description,
    parameters: Mapping[str, Mapping[str, float]],
    what: str,
) -> None:
    """Write the tornado of one time, that of the last row."""
    if plot is None:
        return
    from rankwise.engines.project import sensitivities, with_value
    from rankwise.models.uncertain import Range

    ranges = {name: Range(**record) for name, record in parameters.items()}

    def time_with(values: Mapping[str, float]) -> float:
        changed = machine
        for name, value in values.items():
            changed = with_value(changed, name, value)
        return time_of(changed)

    write_tornado(sensitivities(time_with, ranges), ranges, time_of(machine), f"{machine.name}, {what}", plot)


def _varied_cell(varied: Mapping[str, Any]) -> dict[str, str]:
    from rankwise.machine.description import QUANTITIES, format_quantity

    if not varied:
        return {}
    key = varied["varied"]
    return {"varied": f"{key} {format_quantity(varied['value'], QUANTITIES[key].unit)}"}
