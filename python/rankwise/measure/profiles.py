"""From a samples file to a profile: the newest measurement of each kind, one added to the other.

What a measurement adds to the profile that is there: better figures are never replaced by worse ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, RankwiseError
from rankwise.files import opened_to_append
from rankwise.launch.mpi import find_mpi, stream_kernel
from rankwise.machine.link import Curve
from rankwise.machine.profile import LINK_CLASSES, VARIANTS, Link, Packing, Profile, open_profile
from rankwise.machine.shared import KINDS, Resource, Shared
from rankwise.machine.trust import worst
from rankwise.measure.collective_costs import last_of, with_costs
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.samples import Campaign, read_campaigns, require_one_machine
from rankwise.measure.trust import judge
from rankwise.reading import Trace, read_through

_MOST_SESSIONS = 5  # of earlier campaigns that tell how much launches differ
_FAR_APART_S = 3600.0
_OVERLAP = "overlap"  # of a ping-pong's ways


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


def added(present: Profile, new: Profile, what: str) -> Profile:
    """Return the profile of one machine after a further measurement.

    A ping-pong campaign (``what``) renews the ping-pong and its profile's source; any other one keeps the better ping-pong of
    the two, link by link, and adds what else it measured: the better one has all models of the other and more sizes. What only
    one of the two has is kept. A profile of another machine, or one that was not measured, is replaced by what a ping-pong
    measurement found.
    """
    if what == "pingpong" and not _same_machine(present, new):
        return new
    renewed = what == "pingpong" or not present.links
    links = {**present.links, **new.links}
    for name in present.links.keys() & new.links.keys():
        links[name] = _link(present.links[name], new.links[name], renewed)
    takes_new = renewed or all(links[name].send is new.links[name].send for name in new.links)
    base = new if takes_new else present
    # What was told of figures that are gone need not be told again.
    warnings = new.warnings if renewed else tuple(dict.fromkeys((*present.warnings, *new.warnings)))
    return replace(
        base,
        machine={**present.machine, **new.machine} if _same_machine(present, new) else base.machine,
        links={name: links[name] for name in LINK_CLASSES if name in links},
        warnings=warnings,
        fft3d=new.fft3d or present.fft3d,
        packing=new.packing or present.packing,
        collectives=new.collectives or present.collectives,
        shared=_shared(present.shared, new.shared),
        trust=base.trust.with_additions((present if takes_new else new).trust),
        source={**base.source, **_campaigns(present, new)},
    )


def _campaigns(present: Profile, new: Profile) -> dict[str, list[dict[str, Any]]]:
    """Return the measurements that figures come from: of each kind the newest."""
    kinds = {str(one["kind"]): one for profile in (present, new) for one in profile.source.get("campaigns", [])}
    return {"campaigns": list(kinds.values())} if kinds else {}


def _same_machine(a: Profile, b: Profile) -> bool:
    keys = ("hostname", "cpu_model", "cores", "mpi")
    return a.source.get("kind") == "measured" and all(a.machine.get(key) == b.machine.get(key) for key in keys)


def _link(present: Link, new: Link, renewed: bool) -> Link:
    keeps_models = present.send.models.keys() <= new.send.models.keys()
    is_new = renewed or (keeps_models and _worth(new.send) > _worth(present.send))
    base, other = (new, present) if is_new else (present, new)
    # The ways of a ping-pong belong together; of any other the newest stays that has as many sizes.
    added = {
        name: curve for name, curve in new.variants.items()
        if name not in VARIANTS and (name not in present.variants or len(curve.table) >= len(present.variants[name].table))
    }  # fmt: skip
    of_ping_pong = {name: value for name, value in base.parameters.items() if name == _OVERLAP}
    return replace(
        base,
        variants={**other.variants, **base.variants, **added},
        parameters={**present.parameters, **new.parameters, **of_ping_pong},
        loaded=new.loaded or present.loaded,
    )


def _worth(curve: Curve) -> tuple[int, int]:
    return len(curve.table), curve.samples


def _shared(present: Shared, new: Shared) -> Shared:
    found: dict[str, Any] = {}
    for kind in KINDS:
        old, newer = getattr(present, kind), getattr(new, kind)
        found[kind] = newer if old is None or (newer is not None and _reach(newer) >= _reach(old)) else old
        if old is not None and newer is not None:
            found[kind] = replace(found[kind], exchange=newer.exchange or old.exchange)
    return Shared(levels=new.levels or present.levels, **found)


def _reach(resource: Resource) -> tuple[int, int]:
    """Return by how many pairs a resource was filled, and by what size of messages."""
    most = resource.most_pairs or 0
    return most, max((size for pairs, size, _ in resource.pairs if pairs == most), default=0)


def measure_packing(profile_path: Path) -> Packing:
    """Measure, add the curves to the profile, and return them.

    Raw figures are appended to machine.pack.samples.jsonl for machine.json. Raises RankwiseError and its kinds.
    """
    profile = open_profile(profile_path)
    curves: dict[str, list[list[float]]] = {}
    with opened_to_append(profile_path.with_name(profile_path.stem + ".pack.samples.jsonl")) as samples:
        for record in stream_kernel(find_mpi(), ["pack"], 1, False, "measuring what packing takes"):
            if record["record"] == "packed":
                samples.write(json.dumps(record).encode() + b"\n")
                curves.setdefault(str(record["row_bytes"]), []).append([record["size_bytes"], record["time_s"]])
    if not curves:
        raise RankwiseError("a kernel ended without a result: see 'rankwise doctor'")
    packing = Packing.from_dict(curves)
    replace(profile, packing=packing).save(profile_path)
    return packing
