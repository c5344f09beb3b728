"""The report: what was concluded on its first screen, then pictures, then what is folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankwise.machine.figures import figures_of
from rankwise.machine.profile import LINK_CLASSES, Profile
from rankwise.report.conclusion import Conclusion, conclude
from rankwise.report.document import Document
from rankwise.report.inputs import MappingInstance
from rankwise.report.links import Launches
from rankwise.report.sections import all_sections
from rankwise.report.words import figures_badge, machine_badge
from rankwise.workloads.comparison import Validation


@dataclass(frozen=True)
class Inputs:
    """What a report is made of; what there is not is None. ``launches``: what lies behind the profile's points."""

    profile: Profile | None = None
    validation: Validation | None = None
    mappings: Sequence[MappingInstance] | None = None
    launches: Launches | None = None
    profile_name: str = "machine.json"

    def section_names(self) -> list[str]:
        """Return the ids of the sections for which there are figures, in order of reading."""
        names = ["machine", "latency", "bandwidth"] if self.profile is not None else []
        return names + ["exchange"] * bool(self.validation) + ["mapping"] * bool(self.mappings)


def conclusion_of(inputs: Inputs) -> Conclusion:
    """Return what the report concludes."""
    return conclude(inputs.profile, inputs.validation, inputs.mappings, inputs.profile_name)


def render(inputs: Inputs) -> str:
    """Return the page. The same figures give the same bytes."""
    found, profile = conclusion_of(inputs), inputs.profile
    badges = []
    if profile is not None:
        badges = [machine_badge(profile), figures_badge(profile.trust, inputs.validation)]
    return Document(
        kind="rankwise report",
        origin=_origin(inputs),
        headline=found.headline,
        why=[found.why],
        sections=all_sections(inputs.profile, inputs.validation, inputs.mappings, inputs.launches),
        badges=badges,
        figures=found.figures,
        changes=found.changes,
        next=found.next,
        record="rankwise report --json",
    ).html()


def record(inputs: Inputs) -> dict[str, Any]:
    """Return the page's figures as JSON."""
    profile = inputs.profile
    links = {} if profile is None else figures_of({name: profile.links[name] for name in LINK_CLASSES if name in profile.links})
    return {
        "sections": inputs.section_names(),
        **conclusion_of(inputs).to_dict(),
        "links": {name: figures.to_dict() for name, figures in links.items()},
    }


def _origin(inputs: Inputs) -> str:
    profile = inputs.profile
    if profile is None:
        return ""
    mpi = profile.machine.get("mpi")
    version = mpi.get("library_version") if isinstance(mpi, dict) else None
    parts = [profile.machine.get("hostname"), version, profile.created[:16].replace("T", ", ")]
    return " · ".join(" ".join(str(part).split()) for part in parts if part)
