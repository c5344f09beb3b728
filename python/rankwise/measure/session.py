"""Measuring this machine: discovery, campaign, fit, and the profile written at the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rankwise.errors import InputError, InterruptedWorkError, RankwiseError, UnusableEnvironmentError
from rankwise.launch import find_mpi
from rankwise.launch.allocation import allocated_hosts
from rankwise.machine.discover import discover
from rankwise.machine.link import LEAST_SIZES
from rankwise.machine.profile import Profile
from rankwise.machine.record import machine_record
from rankwise.machine.snapshot import cpu_quota
from rankwise.measure.campaign import Plan, default_sizes, last_campaign
from rankwise.measure.campaign import measure as run_campaign
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.places import find_places
from rankwise.measure.profiles import profile_of_samples, require_one_machine, same_hardware
from rankwise.measure.samples import Campaign, read_campaigns
from rankwise.measure.workloads import WHAT
from rankwise.progress import meter, tell
from rankwise.statistics import STATISTICS

MOST_BACKGROUND_PAIRS = 64
_INTERRUPTED = "interrupted:"


def samples_path_of(profile: Path) -> Path:
    """Return where the raw samples of a profile lie: machine.samples.jsonl beside machine.json."""
    return profile.with_name(profile.stem + ".samples.jsonl")


def measure_machine(
    output: Path,
    resume: bool,
    sizes: tuple[int, ...] | None = None,
    launches: int = 3,
    seconds: float = 15.0,
    statistic: str = "median",
    precision: float | None = None,
    what: str = "pingpong",
    background: int = 0,
    hosts: tuple[str, ...] = (),
    links: tuple[str, ...] = (),
) -> Profile:
    """Measure this machine, or the link between ``hosts``, and write its profile; return it.

    ``what`` is one of WHAT; what is no complete ping-pong campaign is added to the profile that is there. ``background`` pairs
    keep the link busy for a second measurement of plain sends. ``links`` restricts the link classes.
    With ``precision`` it goes on until every cell's 95 % interval is that narrow (0.03: ± 3 %) or the seconds are spent.
    Raises RankwiseError and its kinds.
    """
    if precision is not None and not 0 < precision < 1:
        raise InputError(f"precision {precision:g} is not a share between 0 and 1: give 0.03 for ± 3 %")
    if statistic not in STATISTICS:
        raise InputError(f"statistic '{statistic}' is unknown: choose one of {', '.join(STATISTICS)}")
    if what not in WHAT:
        raise InputError(f"'{what}' cannot be measured: choose one of {', '.join(WHAT)}")
    if not 0 <= background <= MOST_BACKGROUND_PAIRS:
        raise InputError(f"background {background} is not a number of pairs: give 0 to {MOST_BACKGROUND_PAIRS}")
    if launches < 1:
        raise InputError(f"launches {launches} is too small: it must be at least 1")
    if not 0 < seconds < 1e6:
        raise InputError(f"seconds {seconds:g} is not a time to spend: give one above 0")
    sizes = sizes or default_sizes()
    if len(sizes) < LEAST_SIZES or max(sizes) > 1 << 30:
        raise InputError(
            f"sizes need at least {LEAST_SIZES} different ones, up to 1 GiB: a line is fitted through them and tested"
        )
    topology = discover()
    hosts = hosts or allocated_hosts()
    places = find_places(topology, hosts, links, cpu_quota())
    if not places:
        raise UnusableEnvironmentError(
            "this process may use one CPU only: two ranks need two (see 'taskset -p $$', or ask for more cores)"
        )
    mpi = find_mpi()
    mpi.require_match()
    machine = machine_record(topology, mpi)
    if samples_path_of(output).exists():
        require_one_machine(read_campaigns(samples_path_of(output)), samples_path_of(output), machine)
    plan = Plan(
        places, sizes, what, background, launches=launches, seconds=seconds, precision=precision, statistic=statistic
    )
    samples_path = samples_path_of(output)
    try:
        with meter("measuring", plan.steps()) as progress:
            campaign = run_campaign(mpi, plan, machine, samples_path, resume, progress, hosts)
    except KeyboardInterrupt:
        raise InterruptedWorkError(
            f"interrupted: all samples so far are in {samples_path}{_keep_what_there_is(samples_path, output, statistic)}; "
            f"go on with 'rankwise measure -o {output} --resume'"
        ) from None
    what = str(campaign.head["plan"]["what"])  # a resumed campaign's own
    profile = profile_of_samples(samples_path, statistic)
    if campaign.stop:
        tell(_why_it_stopped(campaign))
    for line in (*profile.warnings, f"profile {output}: {profile.trust.line()}", *map(str, profile.trust.reasons[1:])):
        tell(line)
    if output.exists():
        present = Profile.load(output)
        if (what != "pingpong" or same_hardware(present.machine, profile.machine)) and present.lost_in(profile):
            profile = replace(profile.with_additions(present), warnings=profile.warnings)
    profile.save(output)
    return profile


def _keep_what_there_is(samples_path: Path, output: Path, statistic: str) -> str:
    """Write the profile of an interrupted campaign where its samples suffice and no complete one is there; say so."""
    try:
        if output.exists() and not any(warning.startswith(_INTERRUPTED) for warning in Profile.load(output).warnings):
            return ""
        campaign = last_campaign(samples_path)
        profile = profile_from_campaign(campaign, samples_path, statistic)
    except (RankwiseError, ValueError):
        return ", too few yet for a profile"
    left_out = Plan.from_dict(campaign.head["plan"]).steps() - len(campaign.samples)
    warning = f"{_INTERRUPTED} {max(0, left_out)} of the planned visits are not in it; go on with --resume"
    replace(profile, warnings=(*profile.warnings, warning)).save(output)
    return f", and what they tell is in {output}"


def _why_it_stopped(campaign: Campaign) -> str:
    if "visits_left_out" in campaign.stop:
        return (
            f"stopped by the time: {campaign.stop['visits_left_out']} of the planned visits were left out: give it more --seconds"
        )
    percent = f"± {100 * campaign.stop['precision']:g} %"
    if campaign.stop["stopped_by"] == "precision":
        return f"stopped because every cell is known to {percent}"
    plan = Plan.from_dict(campaign.head["plan"])
    return (
        f"stopped by the time: {campaign.stop['imprecise_cells']} of {plan.cell_count()} cells are known less well than {percent}: "
        "give it more --seconds, or a coarser --precision"
    )
