"""The two badges of a page: on the machine, and on how far its figures can be trusted."""

from __future__ import annotations

from rankwise.machine.profile import OTHER_NODE, Profile
from rankwise.machine.trust import Trust
from rankwise.report.document import Badge, Kind
from rankwise.workloads.comparison import Validation

_FIGURES: dict[str, tuple[Kind, str, str]] = {
    "good": ("good", "Figures: good", "nothing disturbed them"),
    "limited": ("warn", "Figures: indicative", "with care"),
    "poor": ("bad", "Figures: poor", "do not build on them"),
    "unknown": ("unknown", "Figures: spread unknown", "nothing is known of how they were measured"),
}


def figures_badge(trust: Trust | None, validation: Validation | None = None) -> Badge:
    """Return the badge of the figures with the gravest reason, and with its cure where they are not good."""
    if trust is None:
        return Badge("unknown", "Figures: bytes only", "no profile was given: seconds are not predicted")
    kind, name, words = _FIGURES[trust.level]
    grave = [reason for reason in trust.reasons if reason.severity > 0]
    if grave and trust.level != "good":
        return Badge(kind, name, f"{grave[0].words}. Cure: {grave[0].cure}" if grave[0].cure else grave[0].words)
    known = [] if trust.launches is None else [f"{trust.launches} launches"]
    if trust.half_width is not None:
        known.append(f"half of the intervals within ± {100 * trust.half_width:.1f} %")
    if validation is not None:
        known.append(f"predictions off by {100 * validation.summary()['mape']:.1f} % on average")
    return Badge(kind, name, ", ".join(known) or words)


def machine_badge(profile: Profile) -> Badge:
    """Return the badge of the machine: what was noticed about it, or that nothing was."""
    if profile.warnings:
        more = f", and {len(profile.warnings) - 1} more below" if len(profile.warnings) > 1 else ""
        return Badge("warn", "Machine: with remarks", f"{profile.warnings[0]}{more}")
    if profile.trust.level == "poor":
        return Badge("unknown", "Machine: not judged", "its figures are too poor for that")
    told = "nothing noticed; its nodes were not compared" if OTHER_NODE in profile.links else "nothing noticed on this node"
    return Badge("good", "Machine: sound", told)


def is_poor(profile: Profile | None, validation: Validation | None) -> str | None:
    """Say why nothing is to be built on these figures; None where that is not so."""
    if validation is not None and (wrong := sum(row.measured.verified is False for row in validation.comparisons)):
        return f"{wrong} of {len(validation.comparisons)} exchanges delivered wrong bytes"
    if validation is not None and any(row.measured.oversubscribed for row in validation.comparisons):
        return "more ranks ran than there are cores, so that they waited for each other's turns"
    if profile is not None and profile.trust.level == "poor":
        grave = [reason for reason in profile.trust.reasons if reason.severity > 0]
        return grave[0].words if grave else "the machine was disturbed"
    return None
