"""From a samples file to a profile: the newest campaign of each kind, what each adds to the others, and the verdict on them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rankwise.errors import InputError
from rankwise.machine.profile import LINK_CLASSES, Link, Profile
from rankwise.machine.trust import worst
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.samples import Campaign, read_campaigns
from rankwise.measure.trust import judge
from rankwise.measure.workloads import COMPLETE

_HARDWARE = ("cpu_model", "sockets", "cores")
_MOST_SESSIONS = 5  # of earlier campaigns that tell how much launches differ
_FAR_APART_S = 3600.0
_WORSE = 0.5  # of the best campaign's samples of plain sends: a newer one with fewer does not replace it


def profile_of_samples(path: Path, statistic: str = "median", model: str = "auto", method: str = "regression") -> Profile:
    """Fit the newest campaign of each kind in a samples file; older ones tell how much launches and sessions differ.

    Raises InputError for a file without campaigns or with those of another machine.
    """
    campaigns = [campaign for campaign in read_campaigns(path) if "plan" in campaign.head]
    if not campaigns:
        raise InputError(f"{path} holds no campaign: measure without --resume first")
    require_one_machine(campaigns, path)
    newest = campaigns[-1]
    like = [campaign for campaign in campaigns if _setting(campaign) == _setting(newest)]
    warnings = [
        f"the campaign of {campaign.head.get('created')} in {path.name} is left out: {_difference(campaign, newest)}"
        for campaign in campaigns if _setting(campaign) != _setting(newest)
    ]  # fmt: skip
    found: list[tuple[Campaign, Profile]] = []
    for campaign in newest_of_each_kind(like):
        notes = () if campaign.complete else (f"the campaign in {path.name} was interrupted: go on with --resume",)
        try:
            history = _history(campaign, like)
            found.append((campaign, profile_from_campaign(campaign, path, statistic, notes, model, method, history)))
        except InputError as error:
            if campaign is newest and len(like) == 1:
                raise
            warnings.append(f"the campaign of {campaign.head.get('created')} adds nothing: {error}")
    if not found:
        raise InputError(f"samples {path} hold no campaign that a model can be fitted to: {warnings[-1]}")
    return _together(found, warnings)


def require_one_machine(campaigns: Sequence[Campaign], path: Path, machine: Mapping[str, Any] | None = None) -> None:
    """Raise InputError where campaigns (or what is measured now) are of different machines; names them."""
    records = [campaign.head.get("machine", {}) for campaign in campaigns] + ([] if machine is None else [machine])
    kinds = {tuple(record.get(key) for key in _HARDWARE): record.get("hostname") for record in records}
    if len(kinds) > 1:
        names = "; ".join(f"{host} ({cpu}, {cores} cores)" for (cpu, _, cores), host in kinds.items())
        raise InputError(f"{path} mixes samples of {len(kinds)} machines: {names}: keep a file for each machine")


def same_hardware(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Tell whether two machine records are of machines of one kind."""
    return all(a.get(key) == b.get(key) for key in _HARDWARE)


def newest_of_each_kind(campaigns: Sequence[Campaign]) -> list[Campaign]:
    """Return the newest campaign of each kind and set of links, a complete one before an interrupted one, oldest first."""
    chosen: dict[object, Campaign] = {}
    for campaign in campaigns:
        plan = campaign.head["plan"]
        kind = plan.get("what", "pingpong"), tuple(sorted({str(s["class"]) for s in campaign.samples})), plan.get("background", 0) > 0
        if kind not in chosen or campaign.complete or not chosen[kind].complete:
            chosen[kind] = campaign
    return [campaign for campaign in campaigns if any(campaign is one for one in chosen.values())]


def _setting(campaign: Campaign) -> object:
    machine = campaign.head.get("machine", {})
    return machine.get("hostname"), str(machine.get("mpi"))


def _difference(campaign: Campaign, newest: Campaign) -> str:
    host, now = (one.head.get("machine", {}).get("hostname") for one in (campaign, newest))
    return f"it is of {host}, the newest of {now}" if host != now else "it is of another MPI library than the newest"


def _history(campaign: Campaign, campaigns: Sequence[Campaign]) -> list[Campaign]:
    """Return earlier complete campaigns of the same kind that were judged no better than this one."""
    earlier = [
        other for other in campaigns[: next(i for i, one in enumerate(campaigns) if one is campaign)]
        if other.complete and other.head["plan"].get("what") == campaign.head["plan"].get("what")
    ]  # fmt: skip
    if not earlier:
        return []
    level = judge([campaign]).level
    return [other for other in earlier[-_MOST_SESSIONS:] if worst([known := judge([other]).level, level]) == known]


def _together(found: Sequence[tuple[Campaign, Profile]], warnings: Sequence[str]) -> Profile:
    """Return what campaigns tell together: of a link each way's newest figures, plain sends from a campaign that is good for it."""
    *_, (newest, profile) = found
    links: dict[str, Link] = {}
    used = []
    for name in LINK_CLASSES:
        having = [(campaign, one) for campaign, one in found if name in one.links]
        if not having:
            continue
        main = _main(having, name)
        links[name] = main[1].links[name]
        used.append(main[0])
        for campaign, one in having:
            if campaign is not main[0]:
                newer = found.index((campaign, one)) > found.index(main)
                links[name] = links[name].with_additions(one.links[name], newer)
    shared = found[0][1].shared
    for _, one in found[1:]:
        shared = shared.updated_by(one.shared)
    others = [campaign for campaign, _ in found if all(campaign is not one for one in used)]
    # Of what several measured the last one judged counts: that whose figures are taken.
    trust = judge([*others, *(campaign for campaign, _ in found if any(campaign is one for one in used))])
    apart = (_at(newest) - _at(found[0][0])).total_seconds() if len(found) > 1 else 0.0
    if apart > _FAR_APART_S:
        warnings = [*warnings, f"campaigns {apart / 3600:.1f} h apart stand together: the machine may have changed between them"]
    return replace(
        profile,
        links=links,
        shared=shared,
        warnings=tuple(dict.fromkeys((*warnings, *(warning for _, one in found for warning in one.warnings)))),
        trust=trust,
        source={
            **profile.source,
            "campaigns": [
                {
                    "id": campaign.id,
                    "kind": campaign.head["plan"].get("what", "pingpong"),
                    "created": campaign.head.get("created"),
                    "launches": len({int(sample["launch"]) for sample in campaign.samples}),
                    "level": one.trust.level,
                }
                for campaign, one in found
            ],
        },
    )


def _main(having: Sequence[tuple[Campaign, Profile]], link: str) -> tuple[Campaign, Profile]:
    """Return the campaign whose plain sends stand for a link: the newest that measured all ways, unless it has far fewer samples."""
    complete = [one for one in having if one[0].head["plan"].get("what", "pingpong") in COMPLETE] or list(having)
    most = max(one.links[link].send.samples for _, one in complete)
    return next(one for one in reversed(complete) if one[1].links[link].send.samples >= _WORSE * most)


def _at(campaign: Campaign) -> datetime:
    try:
        at = datetime.fromisoformat(str(campaign.head.get("created")))
    except ValueError:
        return datetime.min
    return at.replace(tzinfo=None)
