"""The report as one HTML file: no script, nothing to load from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankwise.machine.profile import Profile
from rankwise.report.inputs import MappingInstance
from rankwise.report.sections import all_sections
from rankwise.report.style import INK, LOOKS, MUTED, RULE, SURFACE
from rankwise.report.words import answer
from rankwise.workloads.comparison import Validation

if TYPE_CHECKING:
    from jinja2 import Environment

_THEME = {INK: "--ink", MUTED: "--muted", RULE: "--rule", SURFACE: "--surface"} | {
    shape.colour: f"--series-{i}" for i, shape in enumerate(LOOKS)
}


def section_names(
    profile: Profile | None, validation: Validation | None, mappings: Sequence[MappingInstance] | None
) -> list[str]:
    """Return the ids of the sections for which there are figures, in order of reading."""
    names = ["machine", "latency", "bandwidth"] if profile is not None else []
    return names + ["exchange"] * bool(validation) + ["mapping"] * bool(mappings)


def render(
    profile: Profile | None,
    validation: Validation | None,
    mappings: Sequence[MappingInstance] | None,
    warnings: Sequence[str],
    next_command: str,
) -> str:
    """Return the page. ``warnings`` (each with its cure) stand beside those of the profile and of the comparisons.

    The same figures give the same bytes. Sections without figures name the command that makes them.
    """
    hostname = "" if profile is None else " ".join(str(profile.machine.get("hostname") or "").split())
    noted = [*(profile.warnings if profile is not None else ()), *warnings, *_doubts(validation)]
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            title=f"rankwise report: {hostname}" if hostname else "rankwise report",
            answer=answer(profile, validation, mappings),
            warnings=list(dict.fromkeys(noted)),
            sections=all_sections(profile, validation, mappings),
            profile=profile,
            validation=validation,
            mappings=mappings,
            next_command=next_command,
            themed=themed,
        )
    )


def environment() -> Environment:
    """Return what pages are made with: the templates of this package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("rankwise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def themed(svg: str) -> str:
    """Let a picture take the page's colours, which differ by day, by night and on paper."""
    for colour, name in _THEME.items():
        svg = svg.replace(colour, f"var({name})")
    return svg


def _doubts(validation: Validation | None) -> list[str]:
    if validation is None:
        return []
    wrong = sum(not row.measured.verified for row in validation.comparisons)
    crowded = sum(row.measured.oversubscribed for row in validation.comparisons)
    doubts = []
    if wrong:
        doubts.append(
            f"{wrong} of {len(validation.comparisons)} exchanges delivered wrong bytes, so their times mean nothing: "
            "run 'rankwise doctor', and report it if the MPI library is not to blame."
        )
    if crowded:
        doubts.append(
            f"{crowded} of {len(validation.comparisons)} exchanges ran more ranks than there are cores, so ranks waited for "
            "each other's turns: compare again with at most one rank per core."
        )
    if validation.drift is not None and not 0.85 < validation.drift < 1.18:
        doubts.append(
            f"the machine's messages took {validation.drift:.2f} times as long beside the exchanges as in its profile: "
            "measure again, at a quiet hour or on a node of your own."
        )
    return doubts
