"""Measuring this machine: discovery, measurement, fit, and the profile written at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rankwise.errors import InputError, InterruptedWorkError, RankwiseError, UnusableEnvironmentError, UnusableFiguresError
from rankwise.launch.allocation import allocated_hosts, find_allocation
from rankwise.launch.mpi import find_mpi
from rankwise.launch.reach import require_hosts
from rankwise.launch.under_way import require_seconds
from rankwise.machine.discover import discover
from rankwise.machine.link import LEAST_SIZES
from rankwise.machine.profile import Profile
from rankwise.machine.record import machine_record
from rankwise.machine.snapshot import cpu_quota
from rankwise.measure.campaign import Plan, last_campaign
from rankwise.measure.campaign import measure as run_campaign
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.places import find_places
from rankwise.measure.profiles import added, history_of
from rankwise.measure.samples import Campaign, read_campaigns, samples_path_of
from rankwise.measure.saturation import uncarried
from rankwise.measure.trust import judge
from rankwise.measure.workloads import WHAT
from rankwise.progress import meter, tell
from rankwise.statistics import STATISTICS
from rankwise.units import format_size

MOST_BACKGROUND_PAIRS = 64
_INTERRUPTED = "interrupted:"


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
