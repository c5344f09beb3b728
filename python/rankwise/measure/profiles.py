"""From a samples file to a profile: the newest measurement of each kind, one added to the other as 'measure' adds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.machine.trust import worst
from rankwise.measure.additions import added
from rankwise.measure.collective_costs import last_of, with_costs
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.samples import Campaign, read_campaigns, require_one_machine
from rankwise.measure.trust import judge
from rankwise.reading import Trace, read_through

_MOST_SESSIONS = 5  # of earlier campaigns that tell how much launches differ
_FAR_APART_S = 3600.0


def profile_of_samples(path: Path, statistic: str = "median", model: str = "auto", method: str = "regression") -> Profile:
    """Fit the newest measurement of each kind in a samples file; older ones tell how much launches and sessions differ.

    Raises InputError for a file without measurements or with those of several machines.
    """

    def read(trace: Trace) -> Profile:
        every = read_campaigns(path, trace)
        campaigns = [campaign for campaign in every if "plan" in campaign.head]
        if not campaigns:
            raise InputError(f"{path} holds no measurement: measure without --resume first")
        profile = _of_campaigns(campaigns, path, statistic, model, method)
        costs = last_of([campaign for campaign in every if campaign.complete])
        return profile if costs is None else with_costs(profile, costs)

    return read_through(read, f"samples {path}", "measure again, or remove the measurement's lines")


def _of_campaigns(campaigns: Sequence[Campaign], path: Path, statistic: str, model: str, method: str) -> Profile:
    require_one_machine(campaigns, path)
    newest = newest_of_each_kind(campaigns)
    warnings = [
        f"the {campaign.kind} measurement of {campaign.head.get('created')} in {path.name} is left out: there is "
        "a newer one"
        for campaign in campaigns if all(campaign is not one for one in newest) and campaign.samples
    ]  # fmt: skip
    profile: Profile | None = None
    for campaign in newest:
        notes = () if campaign.complete else (f"the measurement in {path.name} was interrupted: go on with --resume",)
        try:
            one = profile_from_campaign(campaign, path, statistic, notes, model, method, history_of(campaign, campaigns))
        except InputError as error:
            if len(newest) == 1:
                raise
            warnings.append(f"the {campaign.kind} measurement of {campaign.head.get('created')} adds nothing: {error}")
            continue
        profile = one if profile is None else added(profile, one, campaign.kind)
    if profile is None:
        raise InputError(f"samples {path} hold no measurement that a model can be fitted to: {warnings[-1]}")
    apart_s = _at(newest[-1]) - _at(newest[0])
    if apart_s > _FAR_APART_S:
        warnings.append(f"measurements {apart_s / 3600:.1f} h apart stand together: the machine may have changed between them")
    return replace(profile, warnings=tuple(dict.fromkeys((*warnings, *profile.warnings))))


def newest_of_each_kind(campaigns: Sequence[Campaign]) -> list[Campaign]:
    """Return the newest measurement of each kind and set of links, a complete one before an interrupted one, oldest first.

    Those of another MPI library than the newest measurement's tell nothing of it.
    """
    chosen: dict[object, Campaign] = {}
    for campaign in campaigns:
        if campaign.mpi != campaigns[-1].mpi:
            continue
        links = tuple(sorted({str(sample["class"]) for sample in campaign.samples}))
        kind = campaign.kind, links, campaign.plan.get("background", 0) > 0
        if kind not in chosen or campaign.complete or not chosen[kind].complete:
            chosen[kind] = campaign
    return [campaign for campaign in campaigns if any(campaign is one for one in chosen.values())]


def history_of(campaign: Campaign, campaigns: Sequence[Campaign]) -> list[Campaign]:
    """Return what tells how much launches differ: earlier complete campaigns of the same kind and MPI library that were judged
    no better than this one."""
    earlier = []
    for other in campaigns:
        if other.id == campaign.id:
            break
        if other.complete and "plan" in other.head and (other.kind, other.mpi) == (campaign.kind, campaign.mpi):
            earlier.append(other)
    if not earlier:
        return []
    level = judge([campaign]).level
    return [other for other in earlier[-_MOST_SESSIONS:] if worst([known := judge([other]).level, level]) == known]


def _at(campaign: Campaign) -> float:
    try:
        return datetime.fromisoformat(str(campaign.head.get("created"))).timestamp()
    except ValueError:
        return 0.0
