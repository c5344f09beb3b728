"""``rankwise machines``: the machine descriptions, each figure with its source."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from rankwise.cli.base import Json, group, print_json, tell, verb
from rankwise.cli.table import Table, show_list
from rankwise.errors import EXIT_FAILURE
from rankwise.units import format_span

machines_verbs = group("machines", "Machine descriptions with the source of each figure.")


@verb("list", "rankwise machines list", under=machines_verbs)
def list_machines(as_json: Json = False) -> None:
    """List the known machines; RANKWISE_MACHINES names folders with descriptions of your own."""
    from rankwise.api.machines import machines
    from rankwise.machine.description import format_quantity

    found = machines()
    if as_json:
        print_json(found.to_dict())
        return
    print(found.conclusion)
    heads = ("name", "year", "nodes", "node peak", "memory", "link", "injection", "network", "unverified")
    table = Table(*heads, leave=("unverified", "injection", "network", "year", "memory", "node peak"))
    for machine in found.descriptions:

        def shown(value: float | None, unit: str) -> str:
            return "–" if value is None else format_quantity(value, unit)

        table.add_row(
            machine.name,
            str(machine.year or "–"),
            shown(machine.get("nodes"), "1"),
            shown(machine.get("node_peak"), "flop/s"),
            shown(machine.get("memory_bandwidth"), "B/s"),
            shown(machine.get("link_bandwidth"), "B/s"),
            shown(machine.injection(), "B/s"),
            machine.topology.label() if machine.topology else "–",
            str(len(machine.unverified())),
        )
    table.show()
    tell("next: rankwise machines show NAME gives the source of each figure")


@verb(
    "show",
    """
    rankwise machines show frontier
    rankwise machines show ./my-machine.toml --json
    """,
    under=machines_verbs,
)
def show(
    machine: Annotated[str, typer.Argument(help="A name, a TOML description, or a measured profile (machine.json).")],
    as_json: Json = False,
) -> None:
    """Show a machine: each figure with its kind (measured, published, same-network, projected, unverified), source and date."""
    from rankwise.api.machines import describe
    from rankwise.machine.description import QUANTITIES, format_quantity

    found = describe(machine)
    if as_json:
        print_json(found.to_dict())
        return
    described = found.description
    print(f"{described.name}: {described.title}")
    topology, said = described.topology, []
    if topology is not None:
        said.append(("topology", f"{topology.label()}; {topology.kind}: {topology.source} ({topology.date})"))
    for key, figure in described.figures.items():
        value = format_quantity(figure.value, figure.unit)
        if figure.low != figure.high:
            ends = format_quantity(figure.low, figure.unit), format_quantity(figure.high, figure.unit)
            value += f" ({' to '.join(ends)})"
        source = f"{figure.source} ({figure.date})" + (f"; {figure.note}" if figure.note else "")
        said.append((key, f"{value}, {QUANTITIES[key].meaning}; {figure.kind}: {source}"))
    show_list(said)
    for note in described.notes:
        tell(f"note: {note}")
    if found.unknown:
        tell(f"not known: {', '.join(found.unknown)}; what needs them asks for them")


@verb(
    "check",
    """
    rankwise machines check
    rankwise machines check ./my-machine.toml --json
    """,
    under=machines_verbs,
)
def check(
    machine: Annotated[str | None, typer.Argument(help="A name or a TOML description. Default: all known machines.")] = None,
    as_json: Json = False,
) -> None:
    """Recompute what follows from what (peak = nodes x node peak, memory = devices x device memory ...) and compare.

    Exit code 1 where a figure does not follow.
    """
    from rankwise.api.machines import check_machines
    from rankwise.machine.description import QUANTITIES, format_quantity

    found = check_machines(machine)
    if as_json:
        print_json(found.to_dict())
    else:
        print(found.conclusion)
        for finding in found.wrong:
            unit = QUANTITIES[finding.key].unit
            follows = format_span(finding.follows, partial(format_quantity, unit=unit))
            print(
                f"{finding.machine}: {finding.key} is {format_quantity(finding.written, unit)}, but {finding.rule} is {follows}"
            )
    if found.wrong:
        raise typer.Exit(EXIT_FAILURE)


@verb("schema", "rankwise machines schema > machine.schema.json", under=machines_verbs)
def schema() -> None:
    """Print the JSON schema of machine files (for editors, read as TOML)."""
    from rankwise.machine import derived

    print_json(derived.schema())
