"""How profiles come to be: measured here, from samples files, and by adding to the one that is there.

Of a samples file the newest measurement of each kind counts, one added to the other. What a measurement adds to a profile:
better figures are never replaced by worse ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from rankwise.errors import InputError, InterruptedWorkError, RankwiseError, UnusableEnvironmentError, UnusableFiguresError
from rankwise.files import opened_to_append
from rankwise.launch.allocation import allocated_hosts, find_allocation
from rankwise.launch.mpi import find_mpi, stream_kernel
from rankwise.launch.reach import require_hosts
from rankwise.launch.under_way import require_seconds
from rankwise.machine.discover import discover
from rankwise.machine.link import LEAST_SIZES, Curve
from rankwise.machine.profile import LINK_CLASSES, VARIANTS, Link, Packing, Profile, open_profile
from rankwise.machine.record import machine_record
from rankwise.machine.shared import KINDS, Resource, Shared
from rankwise.machine.snapshot import cpu_quota
from rankwise.machine.trust import worst
from rankwise.measure.campaign import Plan, last_campaign
from rankwise.measure.campaign import measure as run_campaign
from rankwise.measure.collective_costs import last_of, with_costs
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.places import find_places
from rankwise.measure.samples import Campaign, read_campaigns, require_one_machine, samples_path_of
from rankwise.measure.saturation import uncarried
from rankwise.measure.trust import judge
from rankwise.measure.workloads import WHAT
from rankwise.progress import meter, tell
from rankwise.reading import Trace, read_through
from rankwise.statistics import STATISTICS
from rankwise.units import format_size

_MOST_SESSIONS = 5  # of earlier campaigns that tell how much launches differ
_FAR_APART_S = 3600.0
MOST_BACKGROUND_PAIRS = 64
_INTERRUPTED = "interrupted:"
_OVERLAP = "overlap"  # of a ping-pong's ways


def _check(plan: Plan) -> None:
    """Raise InputError for what cannot be measured."""
    if plan.precision is not None and not 0 < plan.precision < 1:
        raise InputError(f"--precision {plan.precision:g} is not a share between 0 and 1: give 0.03 for ± 3 %")
    if plan.statistic not in STATISTICS:
        raise InputError(f"statistic '{plan.statistic}' is unknown: choose one of {', '.join(STATISTICS)}")
    if plan.what not in WHAT:
        raise InputError(f"'{plan.what}' cannot be measured: choose one of {', '.join(WHAT)}")
    if not 0 <= plan.background <= MOST_BACKGROUND_PAIRS:
        raise InputError(f"--background {plan.background} is not a number of pairs: give 0 to {MOST_BACKGROUND_PAIRS}")
    if plan.launches is not None and plan.launches < 1:
        raise InputError(f"--launches {plan.launches} is too small: it must be at least 1")
    require_seconds(plan.seconds)
    if not 0 <= plan.spread_s < 1e6:
        raise InputError(f"--spread {plan.spread_s:g} s is no time to wait between launches: give 10m")
    if len(plan.sizes) < LEAST_SIZES or max(plan.sizes) > 1 << 30:
        raise InputError(
            f"--sizes has {len(plan.sizes)}, up to {format_size(max(plan.sizes))}, and a model needs at least {LEAST_SIZES}, "
            "up to 1 GiB: give more, as in --sizes 0,8,1kB"
        )


def measure_machine(output: Path, resume: bool, plan: Plan, hosts: Sequence[str] = (), links: Sequence[str] = ()) -> Profile:
    """Measure this machine, and the link between ``hosts`` (default: those of the allocation); write and return its profile.

    The plan's places are found here; ``links`` restricts the link classes. What is no plain ping-pong measurement is added to
    the profile that is there. Raises RankwiseError and its kinds.
    """
    _check(plan)
    statistic = plan.statistic
    topology = discover()
    hosts = hosts or allocated_hosts()
    require_hosts(hosts, find_allocation())
    places = find_places(topology, hosts, links, cpu_quota())
    if not places:
        raise UnusableEnvironmentError(
            "this process may use one CPU only: two ranks need two (see 'taskset -p $$', or ask for more cores)"
        )
    mpi = find_mpi()
    mpi.require_match()
    plan = replace(plan, places=places)
    samples_path = samples_path_of(output)
    try:
        with meter("measuring", int(plan.seconds)) as progress:
            campaign = run_campaign(mpi, plan, machine_record(topology, mpi), samples_path, resume, progress, hosts)
    except KeyboardInterrupt:
        raise InterruptedWorkError(
            f"interrupted: all samples so far are in {samples_path}{_keep_what_there_is(samples_path, output, statistic)}; "
            f"go on with 'rankwise measure -o {output} --resume'"
        ) from None
    profile = _profile_of(campaign, samples_path, statistic)
    for line in _how_it_went(campaign):
        tell(line)
    if output.exists():
        profile = added(Profile.load(output), profile, campaign.kind)  # a resumed campaign's own
    profile.save(output)
    return profile


def _profile_of(campaign: Campaign, samples_path: Path, statistic: str) -> Profile:
    """Fit what a measurement has samples for, with a warning of what it lacks."""
    try:
        profile = profile_from_campaign(
            campaign, samples_path, statistic, history=history_of(campaign, read_campaigns(samples_path))
        )
    except InputError as error:
        if campaign.complete and judge([campaign]).is_poor:
            raise UnusableFiguresError(
                f"this machine is too busy to be measured: {error}; the samples are saved: measure again when it is less busy"
            ) from None
        raise
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:  # nothing that is derived loses samples
        raise RankwiseError(
            f"all samples are in {samples_path}, but nothing could be derived from them ({type(error).__name__}: {error}): "
            "measure with more --seconds or fewer --sizes, and report it with that file"
        ) from error
    lines = []
    if hosts := campaign.hosts_left_out():
        named = ", ".join(hosts[:8]) + (f" and {len(hosts) - 8} more" if len(hosts) > 8 else "")
        lines.append(f"not measured (time limit): {named}; use more --seconds (each launch measures two nodes)")
    if (jump_s := campaign.clock_jump_s) > 0:
        lines.append(
            f"the wall clock was set by {jump_s:.1f} s while ranks measured: times are by the steady clock and stand, dates "
            "do not"
        )
    if refused := uncarried(campaign):
        lines.append(
            f"other-node: {len(refused)} launch(es) of streams sent more than the nodes' interfaces counted and are left out: "
            "messages went another way in part"
        )
    return replace(profile, warnings=(*profile.warnings, *lines))


def _keep_what_there_is(samples_path: Path, output: Path, statistic: str) -> str:
    """Write the profile of an interrupted measurement where its samples suffice and no complete one is there; say so."""
    try:
        if output.exists() and not any(warning.startswith(_INTERRUPTED) for warning in Profile.load(output).warnings):
            return ""
        campaign = last_campaign(samples_path)
        profile = _profile_of(campaign, samples_path, statistic)
    except RankwiseError:
        return ", too few yet for a profile"
    warning = f"{_INTERRUPTED} the measurement was cut off before its end; go on with --resume"
    replace(profile, warnings=(*profile.warnings, warning)).save(output)
    return f", and what they tell is in {output}"


def _how_it_went(campaign: Campaign) -> list[str]:
    """Say how much was measured and what ended it, and what the time did not suffice for."""
    stop, plan = campaign.stop, Plan.from_dict(campaign.plan)
    launches = f"{stop['launches']} launch{'es' if stop['launches'] != 1 else ''}"
    lines = []
    if stop.get("stopped_by") == "precision":
        lines.append(f"precision reached after {launches}: all measurement points within ± {100 * stop['precision']:g} %")
    elif stop.get("imprecise_cells"):
        ended = "time limit reached" if plan.launches is None else "stopped"
        lines.append(
            f"{ended} after {launches}: {stop['imprecise_cells']} of {plan.cell_count()} measurement points are not within "
            f"± {100 * stop['precision']:g} %; use more {'--seconds' if plan.launches is None else '--launches'}"
        )
    for link in plan.places:
        seen = {one["size_bytes"] for one in campaign.samples if one["class"] == link and one["operation"] == "send"}
        if sizes := [size for size in plan.sizes if size not in seen]:
            more = len(sizes) - 1
            larger = f" and {more} larger size{'s' * (more > 1)}" if more else ""
            lines.append(f"{link}: {format_size(sizes[0])}{larger} not measured (time limit)")
    return lines


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
