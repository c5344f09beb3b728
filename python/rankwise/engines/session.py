"""Asking an engine on this machine: predictions from a profile, real runs on its cores, and both side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rankwise.engines.exchange import ExchangeCase, Row
from rankwise.engines.placement import Location, blocked_locations, locations_on_cpus
from rankwise.engines.predict import Model
from rankwise.engines.run import Runner
from rankwise.engines.simulate import Simulator
from rankwise.engines.stencil import StencilCase, StencilRow
from rankwise.engines.system import System, make_system
from rankwise.engines.validate import Comparison, Validation
from rankwise.errors import InputError, InterruptedWorkError
from rankwise.launch import find_mpi
from rankwise.launch.smpi import find_simgrid
from rankwise.machine.profile import Profile
from rankwise.machine.topology import Topology
from rankwise.progress import Meter, meter

ENGINES = ("model", "simgrid", "run")  # in the order of belief: the last at hand is what the others are held against


def predict_rows(
    profile: Profile, cases: Sequence[ExchangeCase], ranks_per_node: int | None = None, link_model: str | None = None
) -> list[Row]:
    """Ask the model for all cases, ranks placed by default (nodes filled one after the other)."""
    placement = {ranks: blocked_locations(ranks, profile, ranks_per_node) for ranks in {case.ranks for case in cases}}
    return list(Model(profile, link_model).rows(cases, placement))


def run_rows(cases: Sequence[ExchangeCase], topology: Topology, samples: Path, seconds: float) -> list[Row]:
    """Run all cases on this machine, one rank a core. Raises RankwiseError and its kinds."""
    if not 0 < seconds < 1e6:
        raise InputError(f"--seconds {seconds:g} is not a time to spend: give one above 0")
    mpi = find_mpi()
    try:
        with meter("running", len(cases)) as progress:
            return list(Runner(mpi, topology.pus_one_per_core(), samples, seconds, progress).rows(cases))
    except KeyboardInterrupt:
        raise InterruptedWorkError(f"interrupted: the samples so far are in {samples}") from None


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
    simgrid = find_simgrid()
    with _campaign(folder, len(cases)) as progress:
        return Simulator(simgrid, folder, progress, jobs).exchange_rows(cases, platform, placement)


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
    platform = system.platform([*blocked, (nodes - 1, 0, 0)], topology, None)
    per_socket = -(-ranks_per_node // platform.sockets)
    simgrid = find_simgrid()
    with _campaign(folder, len(cases)) as progress:
        return Simulator(simgrid, folder, progress, jobs).stencil_rows(cases, platform, per_socket)


@contextmanager
def _campaign(folder: Path, runs: int) -> Iterator[Meter]:
    try:
        with meter("simulating", runs) as progress:
            yield progress
    except KeyboardInterrupt:
        raise InterruptedWorkError(
            f"interrupted: the runs so far are in {folder}; the same command goes on where it was"
        ) from None


def compare_engines(
    profile_path: Path,
    cases: Sequence[ExchangeCase],
    engines: Sequence[str],
    topology: Topology | None,
    samples: Path,
    seconds: float,
    folder: Path = Path("simulated"),
) -> Validation:
    """Ask several engines (model, simgrid, run) for all cases with the same placement.

    The real run, or else the simulation, is what the others are held against. ``topology`` is this machine's, on whose
    cores ranks are placed; None without a real run, when they are placed as the profile's scheduler would.
    """
    if len(engines) < 2 or len(set(engines)) < len(engines) or not set(engines) <= set(ENGINES):
        raise InputError(f"--engines {','.join(engines)} does not name two or three of {', '.join(ENGINES)}: each once")
    profile = Profile.load(profile_path)
    placement = _common_placement(profile, cases, topology if "run" in engines else None)
    rows: dict[str, list[Row]] = {}
    if "model" in engines:
        rows["model"] = list(Model(profile).rows(cases, placement))
    if "simgrid" in engines:
        rows["simgrid"] = _simulate(make_system(profile_path, None), cases, placement, "crossbar", None, folder, None)
    if "run" in engines and topology is not None:
        rows["run"] = run_rows(cases, topology, samples, seconds)
    reference = list(rows)[-1]
    return Validation(
        str(profile_path),
        [
            Comparison(p, m, _profile_pingpong_s(profile, placement[m.case.ranks], m))
            for engine in rows
            if engine != reference
            for p, m in zip(rows[engine], rows[reference], strict=True)
        ],
    )


def _common_placement(
    profile: Profile, cases: Sequence[ExchangeCase], topology: Topology | None
) -> dict[int, list[Location]]:
    numbers = {case.ranks for case in cases}
    if topology is None:
        return {ranks: blocked_locations(ranks, profile, None) for ranks in numbers}
    cpus = topology.pus_one_per_core()
    places = {pu.os_index: (pu.socket, pu.core) for pu in topology.pus}
    return {
        # More ranks than cores share them; their rows say that such a time means nothing.
        ranks: locations_on_cpus([cpus[rank % len(cpus)] for rank in range(ranks)], places)
        if ranks <= len(cpus)
        else [(0, 0, rank) for rank in range(ranks)]
        for ranks in numbers
    }


def _profile_pingpong_s(profile: Profile, locations: Sequence[Location], measured: Row) -> float | None:
    """Return what the profile says of a block between ranks 0 and 1."""
    if measured.oversubscribed or len(locations) < 2:
        return None
    (_, socket_a, core_a), (_, socket_b, core_b) = locations[:2]
    name = "other-socket" if socket_a != socket_b else "same-socket" if core_a != core_b else "same-core"
    link = profile.links.get(name)
    return None if link is None else link.send.time_s(measured.case.message_bytes)
