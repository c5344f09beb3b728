"""``rankwise project exchange`` and ``project stencil``: neighbour exchanges on machines that need not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankwise.api.projecting import Described, StencilCode
from rankwise.cli.base import Json, flattened, print_json, tell, verb
from rankwise.cli.project import Plot, check_plot, project_verbs, write_plot
from rankwise.cli.rows import line, show_table, tell_notes
from rankwise.units import format_interval, format_number, format_time
from rankwise.workloads.exchange import WORKLOAD, ExchangeOptions

if TYPE_CHECKING:
    from rankwise.api.projecting import Projected


def project_exchange(question: ExchangeOptions, on: Described, plot: Plot = None, as_json: Json = False) -> None:
    """Project neighbour exchanges: how long they take by the judge that 'rankwise predict exchange' asks of a profile.

    A message takes the machine's latency, and its bytes over one link; ranks of a node share what it injects.
    """
    from rankwise.api.projecting import project_exchange

    check_plot(plot)
    found = project_exchange(question, on)
    write_plot(found, plot)
    if _print_told(found, as_json):
        return
    energies = _energy_cells([row.figures["energy_j"] for _, _, row in found.rows])
    show_table(
        [
            {"machine": name} | _varied_cell(varied) | line(WORKLOAD, row) | energy
            for (name, varied, row), energy in zip(found.rows, energies, strict=True)
        ]
    )
    tell_notes([row for _, _, row in found.rows])


verb(
    "exchange",
    """
    rankwise project exchange --machine frontier --latency 2us --cutoff 1:4 --bytes 1kB,100kB
    rankwise project exchange --machine frontier --against alps,lumi-g,jupiter --cutoff 1 --bytes 1MB --plot machines.svg
    rankwise project exchange --machine machine.json --algorithm all --mode all --ranks-per-node 4 --cutoff 2
    """,
    under=project_verbs,
)(flattened(project_exchange, verb="exchange", mode="isend", dims="3"))


@verb(
    "stencil",
    """
    rankwise project stencil --machine frontier --latency 2us --cells 8192x8192x8192 --nodes 64,512,4096
    rankwise project stencil --machine fugaku --latency 1us:2us --cells 64x64x64 --weak --width 80 --nodes 1000,100000
    """,
    under=project_verbs,
)
def project_stencil(question: StencilCode, on: Described, plot: Plot = None, as_json: Json = False) -> None:
    """Project one step of a halo code, strong or weak scaling: compute, exchange (the Shift of werner2023), efficiency.

    One block a node, periodic, as near to a cube as the nodes allow. The defaults are a 7-point stencil on doubles.
    """
    from rankwise.api.projecting import project_stencil

    check_plot(plot)
    found = project_stencil(question, on)
    write_plot(found, plot)
    if not _print_told(found, as_json):
        _show_steps([(varied, row) for _, varied, row in found.rows])


def _print_told(found: Projected, as_json: bool) -> bool:
    """Print the JSON, or what machines beside each other come to; return whether that is all."""
    for lacking in found.left_out:
        tell(f"left out: {lacking}")
    if as_json:
        print_json(found.to_dict())
    else:
        print(found.conclusion)
    return as_json


def _steps_in_words(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say how long a step takes on the fewest and the most nodes, and what bounds it there."""

    def told(row: Mapping[str, Any]) -> str:
        return f"{format_time(row['results']['total_s']['value'])} on {row['nodes']:,} nodes, bounded by {row['bounded_by']}"

    first, last = rows[0], rows[-1]
    return f"{first['machine']}: a step takes {told(first)}" + (f"; {told(last)}" if len(rows) > 1 else "")


def _show_steps(rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
    lines = []
    energies = _energy_cells([row["results"].get("energy_j") for _, row in rows])
    for (varied, row), energy in zip(rows, energies, strict=True):
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
                **energy,
            }
        )
    show_table(lines, leave=("efficiency", "block", "flops", "memory", "k", "range"))
    for note in dict.fromkeys(note for _, row in rows for note in row["notes"]):
        tell(f"note: {note}")


def _energy_cells(energies: Sequence[Mapping[str, float] | None]) -> list[dict[str, str]]:
    """The energy of each row; no column where nobody knows the power of any of the machines."""
    from rankwise.machine.description import format_quantity

    if not any(energies):
        return [{} for _ in energies]
    return [{"energy": "–" if energy is None else format_quantity(energy["value"], "J")} for energy in energies]


def _varied_cell(varied: Mapping[str, Any]) -> dict[str, str]:
    from rankwise.machine.description import QUANTITIES, format_quantity

    if not varied:
        return {}
    key = varied["varied"]
    return {"varied": f"{key} {format_quantity(varied['value'], QUANTITIES[key].unit)}"}
