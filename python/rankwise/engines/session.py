"""Asking an engine on this machine: predictions from a profile, real runs on its cores, and both side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rankwise.engines.exchange import ExchangeCase, Row
from rankwise.engines.injection import bounded
from rankwise.engines.placement import Location, blocked_locations, locations_on_cpus, locations_on_nodes
from rankwise.engines.predict import Model
from rankwise.engines.run import Runner
from rankwise.engines.simulate import Simulator, require_simulable
from rankwise.engines.stencil import StencilCase, StencilRow
from rankwise.engines.system import System, make_system
from rankwise.engines.under_way import require_seconds, under_way
from rankwise.engines.validate import Comparison, Validation
from rankwise.errors import InputError
from rankwise.files import require_folder
from rankwise.launch import find_mpi
from rankwise.launch.smpi import find_simgrid
from rankwise.machine.hosts import distinct
from rankwise.machine.profile import Profile
from rankwise.machine.topology import Topology

ENGINES = ("model", "simgrid", "run")  # in the order of belief: the last at hand is what the others are held against


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
    require_seconds(seconds)
    mpi = find_mpi()
    with under_way("running", len(cases), f"the samples so far are in {samples}") as progress:
        return list(Runner(mpi, topology.pus_one_per_core(), samples, seconds, progress, hosts).rows(cases))


def simulate_rows(
    system: System,
    cases: Sequence[ExchangeCase],
    topology: str,
    nodes: int | None,
    ranks_per_node: int | None,
    folder: Path,
    jobs: int | None = None,
) -> list[Row]:
    """Simulate all cases on one platform, nodes filled one after the other. Raises RankwiseError and its kinds."""
    placement = {ranks: system.locations(ranks, ranks_per_node) for ranks in {case.ranks for case in cases}}
    return _simulate(system, cases, placement, topology, nodes, folder, jobs)


def _simulate(
    system: System,
    cases: Sequence[ExchangeCase],
    placement: Mapping[int, Sequence[Location]],
    topology: str,
    nodes: int | None,
    folder: Path,
    jobs: int | None,
) -> list[Row]:
    platform = system.platform(placement[max(placement)], topology, nodes)
    with _simulator(folder, max(placement), len(cases), jobs) as simulator:
        return simulator.exchange_rows(cases, platform, placement)


def stencil_cases(
    grid: Sequence[int],
    node_sizes: Sequence[int],
    stencil: str,
    periodic: Sequence[bool],
    mappings: Sequence[str],
    sizes_bytes: Sequence[int],
) -> list[StencilCase]:
    """Map a grid in several ways; return a case for each mapping and message size. Raises InputError."""
    from rankwise.mapping import map_grid

    mapped = map_grid(grid, node_sizes, stencil, periodic, mappings)
    return [
        StencilCase(
            tuple(grid), tuple(periodic), stencil, result.algorithm, tuple(result.node_of_cell.tolist()), result.j_sum,
            result.j_max, size_bytes,
        )
        for size_bytes in sizes_bytes
        for result in mapped.results
        if result.node_of_cell is not None
    ]  # fmt: skip


def simulate_stencil_rows(
    system: System, cases: Sequence[StencilCase], topology: str, ranks_per_node: int, folder: Path, jobs: int | None = None
) -> list[StencilRow]:
    """Simulate halo exchanges of grids that are mapped to nodes. Raises RankwiseError and its kinds."""
    blocked = system.locations(max(case.ranks for case in cases), ranks_per_node)
    nodes = max(max(case.node_of_cell) for case in cases) + 1
    platform = system.platform(blocked, topology, None, nodes)
    per_socket = -(-ranks_per_node // platform.sockets)
    with _simulator(folder, len(blocked), len(cases), jobs) as simulator:
        return simulator.stencil_rows(cases, platform, per_socket)


@contextmanager
def _simulator(folder: Path, ranks: int, runs: int, jobs: int | None) -> Iterator[Simulator]:
    # What cannot be done is refused before anything is built for it.
    require_simulable(ranks)
    require_folder(folder)
    simgrid = find_simgrid()
    with under_way("simulating", runs, f"the runs so far are in {folder}; the same command goes on where it was") as progress:
        yield Simulator(simgrid, folder, progress, jobs)


def compare_engines(
    profile_path: Path,
    cases: Sequence[ExchangeCase],
    engines: Sequence[str],
    topology: Topology | None,
    samples: Path,
    seconds: float,
    folder: Path = Path("simulated"),
    twice: bool = True,
    hosts: Sequence[str] = (),
) -> Validation:
    """Ask several engines (model, simgrid, run) for all cases with the same placement.

    The real run, or else the simulation, is what the others are held against. ``topology`` is this machine's, on whose
    cores ranks are placed; None without a real run, when they are placed as the profile's scheduler would. With ``twice``
    a second real run tells the noise of the first. ``hosts`` holds the host of each rank of the real run (none: this node).
    """
    if len(engines) < 2 or len(set(engines)) < len(engines) or not set(engines) <= set(ENGINES):
        raise InputError(f"--engines {','.join(engines)} does not name two or three of {', '.join(ENGINES)}: each once")
    profile = Profile.load(profile_path)
    placement = _common_placement(profile, cases, topology if "run" in engines else None)
    if hosts:
        names = distinct(hosts)
        placement = {len(hosts): locations_on_nodes([names.index(host) for host in hosts], profile)}
    rows: dict[str, list[Row]] = {}
    if "model" in engines:
        rows["model"] = _predicted(Model(profile), profile, cases, placement)
    if "simgrid" in engines:
        rows["simgrid"] = _simulate(make_system(profile_path, None), cases, placement, "crossbar", None, folder, None)
    if "run" in engines and topology is not None:
        rows["run"] = run_rows(cases, topology, samples, seconds, hosts)
    reference = list(rows)[-1]
    again: Sequence[Row | None] = [None] * len(cases)
    if twice and reference == "run" and topology is not None:
        again = run_rows(cases, topology, samples, seconds, hosts)
    return Validation(
        str(profile_path),
        [
            Comparison(p, m, _profile_pingpong_s(profile, placement[m.case.ranks], m), a)
            for engine in rows
            if engine != reference
            for p, m, a in zip(rows[engine], rows[reference], again, strict=True)
        ],
    )


def locations_here(ranks: int, topology: Topology) -> list[Location]:
    """Return where run_rows puts ranks. More ranks than cores share them; their rows say that such a time means nothing."""
    cpus = topology.pus_one_per_core()
    if ranks > len(cpus):
        return [(0, 0, rank) for rank in range(ranks)]
    return locations_on_cpus(cpus[:ranks], {pu.os_index: (pu.socket, pu.core) for pu in topology.pus})


def _common_placement(
    profile: Profile, cases: Sequence[ExchangeCase], topology: Topology | None
) -> dict[int, list[Location]]:
    numbers = {case.ranks for case in cases}
    if topology is None:
        return {ranks: blocked_locations(ranks, profile, None) for ranks in numbers}
    return {ranks: locations_here(ranks, topology) for ranks in numbers}


def _profile_pingpong_s(profile: Profile, locations: Sequence[Location], measured: Row) -> float | None:
    """Return what the profile says of a block between ranks 0 and 1."""
    if measured.oversubscribed or len(locations) < 2:
        return None
    (node_a, socket_a, core_a), (node_b, socket_b, core_b) = locations[:2]
    name = "other-node" if node_a != node_b else "other-socket" if socket_a != socket_b else "same-socket" if core_a != core_b else "same-core"
    link = profile.links.get(name)
    return None if link is None else link.send.time_s(measured.case.message_bytes)
