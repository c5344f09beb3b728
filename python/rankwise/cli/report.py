"""``rankwise report``: one HTML file, readable offline, of what was measured, predicted and mapped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, print_json, verb, writable
from rankwise.errors import InputError

if TYPE_CHECKING:
    from rankwise.machine.profile import Profile
    from rankwise.workloads.comparison import Validation

_PROFILE, _VALIDATION, _MAPPINGS = Path("machine.json"), Path("validate.json"), Path("map.json")


@verb("report", "rankwise report -o rankwise-report.html")
def report(
    profile_path: Annotated[
        Path | None, typer.Option("--profile", help=f"The machine's profile. Default: {_PROFILE}, if it is there.")
    ] = None,
    validation_path: Annotated[
        Path | None, typer.Option("--validation", help=f"What 'validate exchange' wrote. Default: {_VALIDATION}.")
    ] = None,
    mapping_path: Annotated[
        Path | None, typer.Option("--mapping", help=f"What 'map --json' printed. Default: {_MAPPINGS}.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.", callback=writable)] = Path(
        "rankwise-report.html"
    ),
    as_json: Json = False,
) -> None:
    """Write one HTML file with pictures: the machine's messages, predictions beside measurements, node maps.

    Sections without figures name the command that makes them.
    """
    profile_file, validation_file, mapping_file = (
        named or (usual if usual.exists() else None)
        for named, usual in ((profile_path, _PROFILE), (validation_path, _VALIDATION), (mapping_path, _MAPPINGS))
    )
    inputs = [path for path in (profile_file, validation_file, mapping_file) if path is not None]
    if not inputs:
        raise InputError(
            f"nothing to report, as none of {_PROFILE}, {_VALIDATION} and {_MAPPINGS} is here: make them with 'rankwise quick'"
        )
    if output.is_dir():
        raise InputError(f"--output {output} is a folder: name the HTML file to write")
    if any(path.exists() and output.exists() and output.samefile(path) for path in inputs):
        raise InputError(f"--output {output} is one of the inputs: name another file, it would be lost")

    from rankwise.cli.rows import trust_record
    from rankwise.machine.profile import open_profile

    profile = open_profile(profile_file) if profile_file else None
    sections = write_report(profile, validation_file, mapping_file, output)
    if as_json:
        print_json({"report": str(output), "sections": sections, **trust_record(profile)})
    else:
        print(output)


def write_report(profile: Profile | None, validation_file: Path | None, mapping_file: Path | None, output: Path) -> list[str]:
    """Write the report of the files that there are; return the names of its sections. Raises InputError."""
    from rankwise.files import write_whole
    from rankwise.report.inputs import load_mappings, load_validation
    from rankwise.report.page import render, section_names

    validation = load_validation(validation_file) if validation_file else None
    mappings = load_mappings(mapping_file) if mapping_file else None
    write_whole(output, render(profile, validation, mappings, (), _next_command(profile, validation)))
    return section_names(profile, validation, mappings)


def _next_command(profile: Profile | None, validation: Validation | None) -> str:
    from rankwise.report.inputs import VALIDATION_COMMAND

    if profile is None:
        return "rankwise quick"
    if validation is None:
        return VALIDATION_COMMAND
    return "rankwise map --grid 64x32 --nodes 64 --ppn 32 --stencil nearest-neighbor   # with your own grid and nodes"
