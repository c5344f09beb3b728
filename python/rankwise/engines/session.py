"""Asking an engine on this machine: predictions from a profile, real runs on its cores, and both side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rankwise.engines.exchange import ExchangeCase, Row
from rankwise.engines.injection import bounded
from rankwise.engines.placement import Location, blocked_locations, locations_on_cpus, locations_on_nodes
from rankwise.engines.predict import Model
from rankwise.engines.run import Runner
from rankwise.engines.validate import Comparison, Validation
from rankwise.errors import InputError, InterruptedWorkError
from rankwise.launch import find_mpi
from rankwise.machine.hosts import distinct
from rankwise.machine.profile import Profile
from rankwise.machine.topology import Topology
from rankwise.progress import meter


def predict_rows(
    profile: Profile,
    cases: Sequence[ExchangeCase],
    ranks_per_node: int | None = None,
    link_model: str | None = None,
    loaded: bool = False,
    node_of_rank: Sequence[int] = (),
) -> list[Row]:
    """Ask the model for all cases, ranks placed by default (nodes filled one after the other) or as ``node_of_rank`` says."""
    placement = {
        ranks: locations_on_nodes(node_of_rank, profile)
        if node_of_rank
        else blocked_locations(ranks, profile, ranks_per_node)
        for ranks in {case.ranks for case in cases}
    }
    return _predicted(Model(profile, link_model, loaded), profile, cases, placement)


def _predicted(
    model: Model, profile: Profile, cases: Sequence[ExchangeCase], placement: Mapping[int, Sequence[Location]]
) -> list[Row]:
    """Ask the model, and let no node send more than it can."""
    return [bounded(row, profile, placement[row.case.ranks]) for row in model.rows(cases, placement)]


def run_rows(
    cases: Sequence[ExchangeCase], topology: Topology, samples: Path, seconds: float, hosts: Sequence[str] = ()
) -> list[Row]:
    """Run all cases on this machine, or each rank on its host, one rank a core. Raises RankwiseError and its kinds."""
    if not 0 < seconds < 1e6:
        raise InputError(f"--seconds {seconds:g} is not a time to spend: give one above 0")
    mpi = find_mpi()
    try:
        with meter("running", len(cases)) as progress:
            return list(Runner(mpi, topology.pus_one_per_core(), samples, seconds, progress, hosts).rows(cases))
    except KeyboardInterrupt:
        raise InterruptedWorkError(f"interrupted: the samples so far are in {samples}") from None


def validate_cases(
    profile_path: Path,
    cases: Sequence[ExchangeCase],
    topology: Topology,
    samples: Path,
    seconds: float,
    twice: bool = True,
    hosts: Sequence[str] = (),
) -> Validation:
    """Predict and run all cases with the same placement; a second run tells the noise of the first."""
    profile = Profile.load(profile_path)
    placement = {ranks: locations_here(ranks, topology) for ranks in {case.ranks for case in cases}}
    if hosts:
        names = distinct(hosts)
        placement = {len(hosts): locations_on_nodes([names.index(host) for host in hosts], profile)}
    predicted = _predicted(Model(profile), profile, cases, placement)
    measured = run_rows(cases, topology, samples, seconds, hosts)
    again: Sequence[Row | None] = run_rows(cases, topology, samples, seconds, hosts) if twice else [None] * len(measured)
    return Validation(
        str(profile_path),
        [
            Comparison(p, m, _profile_pingpong_s(profile, placement[m.case.ranks], m), a)
            for p, m, a in zip(predicted, measured, again, strict=True)
        ],
    )


def locations_here(ranks: int, topology: Topology) -> list[Location]:
    """Return where run_rows puts ranks. More ranks than cores share them; their rows say that such a time means nothing."""
    cpus = topology.pus_one_per_core()
    if ranks > len(cpus):
        return [(0, 0, rank) for rank in range(ranks)]
    return locations_on_cpus(cpus[:ranks], {pu.os_index: (pu.socket, pu.core) for pu in topology.pus})


def _profile_pingpong_s(profile: Profile, locations: Sequence[Location], measured: Row) -> float | None:
    """Return what the profile says of a block between ranks 0 and 1."""
    if measured.oversubscribed or len(locations) < 2:
        return None
    (node_a, socket_a, core_a), (node_b, socket_b, core_b) = locations[:2]
    name = "other-node" if node_a != node_b else "other-socket" if socket_a != socket_b else "same-socket" if core_a != core_b else "same-core"
    link = profile.links.get(name)
    return None if link is None else link.send.time_s(measured.case.message_bytes)
