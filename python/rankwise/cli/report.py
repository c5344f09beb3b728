"""``rankwise report``: one HTML file, readable offline, of what was measured, predicted and mapped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, print_json, verb, writable
from rankwise.errors import InputError

if TYPE_CHECKING:
    from rankwise.report.page import Inputs

_PROFILE, _VALIDATION, _MAPPINGS = Path("machine.json"), Path("validate.json"), Path("map.json")


@verb(
    "report",
    """
    rankwise report -o rankwise-report.html
    rankwise report last-week.json today.json -o before-after.html
    """,
)
def report(
    profiles: Annotated[
        list[Path] | None, typer.Argument(help="Instead: profiles to set side by side, the oldest first, before and after.")
    ] = None,
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
    if profiles:
        if any(path is not None for path in (profile_path, validation_path, mapping_path)):
            raise InputError("profiles side by side take no --profile, --validation or --mapping: leave these out")
        _before_after(profiles, output, as_json)
        return
    profile_file, validation_file, mapping_file = (
        named or (usual if usual.exists() else None)
        for named, usual in ((profile_path, _PROFILE), (validation_path, _VALIDATION), (mapping_path, _MAPPINGS))
    )
    inputs = [path for path in (profile_file, validation_file, mapping_file) if path is not None]
    if not inputs:
        raise InputError(
            f"nothing to report, as none of {_PROFILE}, {_VALIDATION} and {_MAPPINGS} is here: make them with 'rankwise quick'"
        )
    _check_output(output, inputs)

    found = read_inputs(profile_file, validation_file, mapping_file)
    write_report(found, output)
    if as_json:
        from rankwise.api.results import trust_record
        from rankwise.report.page import record

        print_json({"report": str(output), **record(found), **trust_record(found.profile)})
    else:
        print(output)


def _check_output(output: Path, inputs: Sequence[Path]) -> None:
    if output.is_dir():
        raise InputError(f"--output {output} is a folder: name the HTML file to write")
    if any(path.exists() and output.exists() and output.samefile(path) for path in inputs):
        raise InputError(f"--output {output} is one of the inputs: name another file, it would be lost")


def _before_after(paths: Sequence[Path], output: Path, as_json: bool) -> None:
    """Write the page of profiles side by side."""
    if len(paths) < 2:
        raise InputError(f"{paths[0]} stands alone: give two profiles or more, the oldest first, or --profile {paths[0]}")
    _check_output(output, paths)
    from rankwise.files import write_whole
    from rankwise.machine.profile import open_profile
    from rankwise.report.before_after import History, record, render

    history = History([(str(path), open_profile(path)) for path in paths])
    write_whole(output, render(history))
    if as_json:
        print_json({"report": str(output), **record(history)})
    else:
        print(output)


def read_inputs(profile_file: Path | None, validation_file: Path | None, mapping_file: Path | None) -> Inputs:
    """Read the files that there are. Raises InputError."""
    from rankwise.machine.profile import open_profile
    from rankwise.report.inputs import load_mappings, load_validation
    from rankwise.report.launches import launches_of
    from rankwise.report.page import Inputs

    profile = open_profile(profile_file) if profile_file else None
    return Inputs(
        profile,
        load_validation(validation_file) if validation_file else None,
        load_mappings(mapping_file) if mapping_file else None,
        launches_of(profile, profile_file.parent) if profile is not None and profile_file is not None else None,
        str(profile_file or _PROFILE),
    )


def write_report(inputs: Inputs, output: Path) -> None:
    """Write the report. Raises OSError."""
    from rankwise.files import write_whole
    from rankwise.report.page import render

    write_whole(output, render(inputs))
