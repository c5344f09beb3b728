"""``rankwise quick``: from nothing to a measured, modelled, mapped and reported machine in under a minute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwise.cli.base import Json, print_json, tell, verb
from rankwise.cli.table import Table
from rankwise.units import format_percent

if TYPE_CHECKING:
    pass

_STENCILS = ("nearest-neighbor", "nearest-neighbor-with-hops", "component")
_GRID, _NODES, _PPN = (50, 48), 50, 48
_NEXT = "rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor"


@verb("quick", """
rankwise quick
rankwise quick --json --directory here
""")
def quick(
    directory: Annotated[Path, typer.Option(help="Where the profile, the samples and the report go.")] = Path("."),
    seconds: Annotated[float, typer.Option(help="Time to spend on ping-pong samples, in seconds.")] = 12.0,
    as_json: Json = False,
) -> None:
    """Measure this machine, model it, run a real exchange, map a grid, and write it all into one HTML file.

    Under a minute on two cores. Every step is a verb of its own: doctor, measure, profile show, predict, run and
    validate exchange, map, report.
    """
    from rankwise.api.questions import default_ranks
    from rankwise.api.results import trust_record
    from rankwise.cli.doctor import examine_here, verdict
    from rankwise.cli.link_words import links_table
    from rankwise.cli.report import read_inputs, write_report
    from rankwise.cli.rows import show_validation
    from rankwise.engines.run import Here
    from rankwise.engines.session import compare_engines
    from rankwise.files import require_folder, write_json
    from rankwise.measure.session import Measurement, measure_machine
    from rankwise.report.page import record
    from rankwise.workloads.base import Site
    from rankwise.workloads.exchange import WORKLOAD, ExchangeOptions

    require_folder(directory)
    profile_path = directory / "machine.json"
    _step(1, "the machine, and what would spoil a measurement")
    here = Here()
    _, findings = examine_here(here.topology)
    for finding in findings:
        if finding.severity in ("problem", "warning"):
            tell(f"{finding.severity}: {finding.what}{f': {finding.cure}' if finding.cure else ''}")

    _step(2, "ping-pong between two ranks, 0 B to 4 MiB, and models of its links")
    profile = measure_machine(profile_path, False, Measurement(seconds=seconds))

    _step(3, "the Shift of werner2023, predicted and run")
    cases = WORKLOAD.cases(ExchangeOptions(), Site("validate", default_ranks(here)))
    validation = compare_engines(
        profile_path, cases, ("model", "run"), here, directory / "exchange.samples.jsonl", 0.3, launches=10
    )
    write_json(directory / "validate.json", replace(validation, example=True).to_dict())

    _step(4, f"a {_GRID[0]}x{_GRID[1]} grid on {_NODES} nodes of {_PPN}, placed by each algorithm")
    mapped = _map_all()
    write_json(directory / "map.json", {"schema": 1, "example": True, "instances": mapped})

    _step(5, "the report")
    report = directory / "rankwise-report.html"
    found = read_inputs(profile_path, directory / "validate.json", directory / "map.json")
    write_report(found, report)
    concluded = record(found)
    if as_json:
        print_json(
            {
                "schema": 1, "report": str(report), **concluded, **trust_record(profile),
                "findings": [finding.to_dict() for finding in findings], "profile": profile.to_dict(),
                "validation": validation.to_dict(), "mappings": mapped,
            }
        )  # fmt: skip
        return
    print(f"\n{concluded['headline']}")
    print(concluded["why"])
    print(verdict(findings).partition(" Next:")[0])
    links_table(profile).show()
    print()
    show_validation(validation)
    print()
    _show_mappings(mapped)
    print(f"\nreport: {report}")
    print(f"next: {_NEXT}   (with your grid and nodes)")


def _step(number: int, what: str) -> None:
    tell(f"\n[{number}/5] {what}")


def _map_all() -> list[dict[str, Any]]:
    from rankwise.mapping import map_grid

    return [map_grid(_GRID, [_PPN] * _NODES, stencil).to_dict() for stencil in _STENCILS]


def _show_mappings(mapped: list[dict[str, Any]]) -> None:
    table = Table("stencil", "algorithm", "J_sum", "against blocked", "J_max")
    for instance in mapped:
        blocked = next(result["j_sum"] for result in instance["results"] if result["algorithm"] == "blocked")
        best = min(result["j_sum"] for result in instance["results"])
        for result in instance["results"]:
            table.add_row(
                instance["stencil"],
                result["algorithm"] + (" *" if result["j_sum"] == best else ""),
                str(result["j_sum"]),
                format_percent(result["j_sum"] / blocked - 1),
                str(result["j_max"]),
            )
    table.show()
    print("J_sum: messages between nodes in total; J_max: of the node that sends most; * fewest")
