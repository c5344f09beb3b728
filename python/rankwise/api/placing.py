"""Where ranks should sit: of a process grid or a mesh, or of a program whose traffic is known."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.api.questions import make_system_asked
from rankwise.api.requests import Placing
from rankwise.api.results import TRUST, Plot, Result
from rankwise.blocks import Block
from rankwise.engines.step import Described, Priced, step_pricer, traffic_pricer
from rankwise.errors import InputError, RankwiseError
from rankwise.machine.hosts import parse_hosts
from rankwise.machine.profile import Profile, open_profile
from rankwise.machine.switches import Switches, read_switches
from rankwise.mapping import How, Mappings, MapResult, map_grid, optimum
from rankwise.mapping.dims import GridChoices, MeshQuestion, choose_grid, count_factorisations
from rankwise.mapping.formats import default_hosts
from rankwise.mapping.levels import Above, Inner, Unit, levels_above, levels_asked, levels_of, levels_read, parse_levels, seats
from rankwise.mapping.mapper import DEFAULT_EFFORT_S, steps_of
from rankwise.mapping.problem import Problem
from rankwise.mapping.reading import read_mapping
from rankwise.mapping.slots import Slots, choose_slots, node_sizes_of, parse_node_sizes
from rankwise.mapping.traffic import Traffic, place_traffic, read_graph, traffic_of, unchosen, unplaced
from rankwise.observe.record import read_record
from rankwise.progress import meter
from rankwise.records import Record, computed, key, record
from rankwise.units import parse_ints, parse_periodic, parse_shape, parse_size


@dataclass(frozen=True)
class Levels:
    """Levels that were asked for: below the node, above it by number, above it as a topology says (None: not given)."""

    inner: Sequence[Inner]
    units: Sequence[Unit]
    switches: Switches | None

    @classmethod
    def read(cls, levels: str | None, topology: str | None, known: Profile | None) -> Levels:
        """Read both options; levels below the node are else those of the profile. Raises InputError."""
        inner, units = ([] if known is None else levels_of(known), []) if levels is None else parse_levels(levels)
        return cls(inner, units, None if topology is None else _switches(topology))

    def above(self, names: Sequence[str], on: Priced | None) -> list[Above]:
        """Return the levels above these nodes: those asked for, else the machine's. Raises InputError."""
        if self.switches is not None:
            return levels_read(self.switches, names, self.units)
        if self.units:
            return levels_asked(self.units, len(names))
        return [] if on is None else levels_above(on.machine, len(names))


def seats_of(above: Sequence[Above], on: Priced | None) -> list[int]:
    """Return each node's number on the machine whose switches have costs; empty where none have. Raises InputError."""
    uplinks = [] if on is None else [nodes for nodes, _ in on.machine.levels]
    return seats(above, uplinks) if uplinks else []


def _switches(topology: str) -> Switches:
    from rankwise.launch.allocation import ask_slurm

    if topology == "slurm":
        return ask_slurm()
    if not Path(topology).is_file():
        raise InputError(f"--topology {topology} is no file: give Slurm's topology.conf, topology.yaml, or slurm to ask it")
    return read_switches(Path(topology))


_PROGRAMS = ("observed", "graph")
_GRIDS = ("grid", "mesh")
_ONLY_FOR: Mapping[str, Sequence[str]] = {  # options that not every kind of input has a meaning for
    "ranks": ("mesh",), "halo": ("mesh",), "slots": ("grid",), "weights": ("grid",), "check": _PROGRAMS,
    **dict.fromkeys(("stencil", "periodic", "message_bytes", "front", "prove", "int64"), _GRIDS),
}  # fmt: skip


def _require_input(asked: Placing) -> None:
    """Raise InputError where there is not one input, or an option is not for it."""
    given = [name for name in (*_GRIDS, *_PROGRAMS) if getattr(asked, name) is not None]
    if set(given) & set(_PROGRAMS) and set(given) & set(_GRIDS):
        raise InputError("--observed and --graph say who sends to whom: leave --grid and --mesh out")
    if set(given) >= set(_PROGRAMS):
        raise InputError("--observed and --graph are two programs: give one of them")
    if len(given) != 1:
        raise InputError("give either --grid (50x48) or --mesh (1000x800x400) with --ranks")
    for name, kinds in _ONLY_FOR.items():
        if given[0] not in kinds and asked.differs(name):
            option, meant = asked.called(name), " and ".join(f"--{kind}" for kind in kinds)
            raise InputError(f"{option} is for {meant}: leave {option} out with --{given[0]}")


@record
class CheckedRank(Record):
    """Where a rank was started."""

    rank: int = key("number of the rank")
    host: str = key("name of its host")
    memory_group: int = key("the lowest rank with which MPI lets it share memory")
    cpu: int = key("hardware thread on which it ran")


@record
class Mapped(Result, rows="results"):
    """All placements of one grid, or of one program, with what was asked.

    ``mappings`` has all that were asked for, scored. ``hosts``: the nodes' names; ``unplaced`` scores ranks where they are when
    nobody chooses; ``traffic``: of a program; ``choices``: the grids of a mesh; ``room``: which slots stay free.
    """

    asked: Placing
    mappings: Mappings
    hosts: Sequence[str]
    unplaced: Callable[[], MapResult]
    traffic: Traffic | None = None
    choices: GridChoices | None = key("the grid that was chosen", default=None, omit=True, name="choice", after="switched")
    room: Slots | None = key(
        "nodes with free places", kind="list[rankwise.mapping.slots.Left] | None", default=None, omit="null", name="left_out",
        write=lambda room: room and room.left_out, after="choices",
    )  # fmt: skip
    shape: Sequence[int] = ()
    profile: Profile | None = key(TRUST, default=None)
    checked: Sequence[CheckedRank] = key("where each rank was started", default=(), omit=True)

    placements = computed(
        "all of it", "Mappings", lambda of: of.mappings if of.asked.with_mapping else of.mappings.without_maps(), inline=True
    )
    named = computed(
        "names of the hosts", "list[str]", lambda of: of.traffic and of.hosts, name="hosts", omit=True, after="placements"
    )
    rounds = computed(
        "messages of the median pair; time_s is that of one round", int, lambda of: of.traffic and of.traffic.rounds,
        omit=True, after="named",
    )  # fmt: skip
    bytes = computed(
        "bytes of all pairs", int, lambda of: of.traffic and int(of.traffic.bytes.sum()), omit=True, after="rounds"
    )
    switched = computed(
        "names of the hosts", "list[str]", lambda of: of.hosts if of.traffic is None and of.mappings.above else None,
        name="hosts", omit=True, after="profile",
    )  # fmt: skip

    @property
    def best(self) -> MapResult:
        """The placement to take."""
        return self.mappings.best

    def records(self) -> list[dict[str, Any]]:
        left_out = ("levels", "node_of_cell", "parts", "busiest")
        rows = self.mappings.without_maps().to_dict()[self._rows]
        return [{name: value for name, value in row.items() if name not in left_out} for row in rows]

    def blocks(self) -> Iterator[Block]:
        from rankwise.api.map_blocks import grid_blocks, map_blocks, traffic_blocks

        if self.traffic is not None:
            yield from traffic_blocks(self.traffic, self.mappings, self.shown, self.start, self.asked.check)
            return
        if self.choices is not None:
            yield from grid_blocks(self.choices, self.mappings.message_bytes)
        yield from map_blocks(self.mappings, self.shown, self.asked.words())

    @cached_property
    def start(self) -> MapResult:
        """Where the ranks are when nobody chooses, which all else is held against: observed, or blocked."""
        return unchosen(self.mappings.results) or self.unplaced()

    @property
    def shown(self) -> list[MapResult]:
        """All results, and the start where no algorithm asked for gives it."""
        results = list(self.mappings.results)
        return results if self.start in results else [self.start, *results]

    def plot(self) -> Plot:
        """Draw the node of every cell, or of every rank of a program. Raises InputError for grids of more than three axes."""
        from rankwise.report.inputs import MappingInstance
        from rankwise.report.nodemaps import can_draw, node_map_picture

        instance = MappingInstance.of(self.mappings, None if self.traffic is None else self.traffic.rounds)
        if not can_draw(instance):
            raise InputError(
                f"--plot draws grids of up to three axes, and this one has {len(self.mappings.grid)}: leave it out"
            )
        return Plot(node_map_picture(instance, "map"), [self.conclusion])


def map(asked: Placing, keep_maps: bool = True) -> Mapped:
    """Map ranks to nodes with several algorithms and score each placement; ``keep_maps``: with the maps, not only the scores.

    Raises InputError for input that does not fit together.
    """
    if not 0 <= asked.seed < 2**64:
        raise InputError(f"--seed {asked.seed} is out of range: give 0 to 2^64 - 1")
    _require_input(asked)
    grid = _grid_of(asked) if asked.observed is None and asked.graph is None else None
    size_bytes = parse_size(asked.message_bytes, "--bytes")
    on, known = machine_asked(asked.profile, asked.machine, asked.settings)
    levels = Levels.read(asked.levels, asked.topology, known)
    how = How(
        keep_maps=keep_maps, effort_s=asked.effort_s, steps=asked.steps, threads=asked.threads, objective=asked.objective,
        seed=asked.seed, levels=levels.inner, message_bytes=size_bytes,
    )  # fmt: skip
    if grid is None:
        return _map_traffic(asked, levels, how, on, known)
    return _map_grid(asked, grid, levels, how, (on, known))


@dataclass(frozen=True)
class _Grid:
    """What is mapped: the shape of the grid, or of the mesh; slots or ranks of
    each node; their names; axes that wrap around."""

    shape: list[int]
    sizes: list[int]
    names: list[str]
    flags: list[bool]


def _grid_of(asked: Placing) -> _Grid:
    if asked.slots is None:
        sizes, shape = _sizes(asked)
    elif (asked.nodes, asked.ppn, asked.node_sizes) != (None, None, None):
        raise InputError("--slots stands for --nodes, --ppn and --node-sizes: give either the one or the others")
    else:
        assert asked.grid is not None
        sizes, shape = _parse_slots(asked.slots), parse_shape(asked.grid, "--grid")
    flags = parse_periodic(asked.periodic, len(shape))
    names = default_hosts(len(sizes)) if asked.hosts is None else parse_hosts(asked.hosts)
    if len(names) < len(sizes):
        raise InputError(f"--hosts names {len(names)} nodes but the mapping has {len(sizes)}: name one for each node")
    return _Grid(shape, sizes, names[: len(sizes)], flags)


def _map_grid(asked: Placing, of: _Grid, levels: Levels, how: How, machine: tuple[Priced | None, Profile | None]) -> Mapped:
    (on, known), size_bytes = machine, how.message_bytes
    price = None if on is None else step_pricer(on, size_bytes)
    heavy = None if asked.weights is None else parse_ints(asked.weights, "--weights")
    shape, sizes, names = of.shape, of.sizes, of.names
    room: Slots | None = None
    if asked.slots is not None:
        room = choose_slots(shape, sizes, asked.stencil, of.flags, heavy, size_bytes, price)
        sizes, names = [room.ranks[node] for node in room.kept], [names[node] for node in room.kept]
    choices: GridChoices | None = None
    above = levels.above(names, None)
    if on is not None and above:
        price = step_pricer(on, size_bytes, seats_of(above, on))
    if asked.mesh is not None:
        mesh = MeshQuestion(of.shape, of.sizes, asked.stencil, of.flags, asked.halo)
        steps = steps_of(DEFAULT_EFFORT_S if asked.effort_s is None else asked.effort_s)
        with meter("grids", count_factorisations(sum(of.sizes), len(of.shape))) as bar:
            choices = choose_grid(mesh, steps, asked.objective, asked.seed, bar)
        shape, heavy = list(choices.best.grid), list(choices.best.weights)
    how = replace(
        how, weights=heavy, front=asked.front, prove=prove if asked.prove else None, price=price, int64=asked.int64,
        sharp=True, above=above, given=None if asked.compare is None else read_mapping(asked.compare, sizes, hosts=names),
    )  # fmt: skip
    mappings = map_grid(shape, sizes, asked.stencil, of.flags, asked.algorithms, how)
    plain = replace(how, keep_maps=False, front=False, prove=None, given=None, sharp=False)

    def unplaced() -> MapResult:
        return map_grid(shape, sizes, asked.stencil, of.flags, ["blocked"], plain).results[0]

    return Mapped(asked, mappings, names, unplaced, choices=choices, room=room, shape=shape, profile=known)


def _map_traffic(asked: Placing, levels: Levels, how: How, on: Priced | None, known: Profile | None) -> Mapped:
    """Read the traffic and place it. Raises InputError."""
    traffic = read_traffic(asked.observed, asked.graph)
    sizes, names = nodes_asked(traffic, asked.nodes, asked.ppn, asked.node_sizes, asked.hosts)
    above = levels.above(names, on)
    how = replace(how, above=above, price=None if on is None else traffic_pricer(on, seats_of(above, on)))
    given = None if asked.compare is None else read_mapping(asked.compare, sizes, hosts=names)
    mappings = place_traffic(traffic, sizes, asked.algorithms, replace(how, given=given))
    found: Sequence[CheckedRank] = ()
    if asked.check:
        assert mappings.best.node_of_cell is not None
        found = checked([names[node] for node in mappings.best.node_of_cell.tolist()])
    start = partial(unplaced, traffic, sizes, how)
    return Mapped(asked, mappings, names, start, traffic, shape=[traffic.ranks], profile=known, checked=found)


def _parse_slots(text: str) -> list[int]:
    """Return the slots of each node, from 24,24,16 or 4x24."""
    if "x" in text and "," not in text:
        nodes, each = (parse_shape(text, "--slots") + [0])[:2]
        if text.count("x") != 1:
            raise InputError(f"--slots '{text}' is neither a list nor nodes x slots: write 24,24,16 or 4x24")
        return [each] * nodes
    return parse_ints(text, "--slots")


def machine_asked(
    profile: Path | None, machine: str | None, settings: list[str] | None
) -> tuple[Priced | None, Profile | None]:
    """Return what prices a step of messages (None: nothing asked for), and the profile of the nodes where there is one."""
    if machine is not None or settings:
        system = make_system_asked(profile, machine, settings, "0s")
        return Described(system.links, system.notes), system.profile
    if profile is None:
        return None, None
    from rankwise.engines.model import Model

    known = open_profile(profile)
    return Model(known), known


def _sizes(asked: Placing) -> tuple[list[int], list[int]]:
    """Return the ranks of each node, and the shape of the grid or of the mesh."""
    grid, mesh, ranks, nodes, ppn, node_sizes = asked.grid, asked.mesh, asked.ranks, asked.nodes, asked.ppn, asked.node_sizes
    if grid is not None:
        shape = parse_shape(grid, "--grid")
        return parse_node_sizes(shape, nodes, ppn, node_sizes), shape
    assert mesh is not None
    if ranks is None:
        if node_sizes is not None:
            ranks = sum(parse_ints(node_sizes, "--node-sizes"))
        elif nodes is not None and ppn is not None:
            ranks = nodes * ppn
        else:
            raise InputError("--mesh needs the number of ranks: give --ranks and --ppn, or --nodes and --ppn")
    if ranks < 1:
        raise InputError(f"--ranks {ranks} is too small: it must be at least 1")
    if node_sizes is None:
        for option, given, other, value in (("--nodes", nodes, "--ppn", ppn), ("--ppn", ppn, "--nodes", nodes)):
            if given is None and value is not None and value >= 1:
                if ranks % value:
                    raise InputError(
                        f"--ranks {ranks} is no multiple of {other} {value}: change one of them, or list unequal nodes "
                        "with --node-sizes"
                    )
                nodes, ppn = (ranks // value, ppn) if option == "--nodes" else (nodes, ranks // value)
    return node_sizes_of("--ranks asks for", ranks, nodes, ppn, node_sizes), parse_shape(mesh, "--mesh")


def read_traffic(observed: Path | None, graph: Path | None) -> Traffic:
    """Read what a program sent from its record or from a graph. Raises InputError."""
    if observed is None:
        assert graph is not None
        return read_graph(graph)
    return traffic_of(read_record(observed), observed.name)


def nodes_asked(
    traffic: Traffic, nodes: int | None, ppn: int | None, node_sizes: str | None, hosts: str | None
) -> tuple[list[int], list[str]]:
    """Return the ranks of each node and the nodes' names: those asked for, or those on which the program ran.

    Raises InputError.
    """
    names = None if hosts is None else parse_hosts(hosts)
    if nodes is None and ppn is None and node_sizes is None:
        if names is not None:
            each, more = divmod(traffic.ranks, len(names))
            sizes = [each + (node < more) for node in range(len(names))]
        elif traffic.node_of_rank is not None:
            sizes = np.bincount(traffic.node_of_rank, minlength=len(traffic.hosts)).tolist()
        else:
            raise InputError(f"{traffic.name} does not tell its nodes: give --nodes and --ppn, --node-sizes or --hosts")
    else:
        if nodes is None and ppn is not None and names is not None:
            nodes = len(names)
        sizes = node_sizes_of(f"{traffic.name} has", traffic.ranks, nodes, ppn, node_sizes)
    if names is None:
        own = len(traffic.hosts) == len(sizes)
        names = list(traffic.hosts) if own else default_hosts(len(sizes))
    if len(names) < len(sizes):
        raise InputError(f"--hosts names {len(names)} nodes and the program's ranks fill {len(sizes)}: name one for each")
    if any(size < 1 for size in sizes):
        raise InputError(
            f"{len(sizes)} nodes are more than the {traffic.ranks} ranks of {traffic.name}: give at most one a rank"
        )
    return sizes, names[: len(sizes)]


def checked(hosts: Sequence[str]) -> list[CheckedRank]:
    """Start ranks on their hosts and return what each found there: host, memory group, CPU. Raises RankwiseError."""
    from rankwise.launch.mpi import find_mpi, stream_kernel
    from rankwise.launch.probe import require_placement

    mpi, found = find_mpi(), []
    for told in stream_kernel(mpi, ["hello"], len(hosts), True, "checking the placement", hosts):
        found += told.get("placements", [])
    require_placement(found, "placed as asked", hosts=hosts)
    return [CheckedRank.from_dict(one) for one in found]


def prove(problem: Problem) -> tuple[int | None, str]:
    """Return the least J_sum of a tiny problem, or None and why it is not known: the time was over, or the user ended it."""
    from rankwise.launch.process import Child

    most_s = optimum.MOST_SECONDS
    asked = json.dumps({**asdict(problem), "most_seconds": most_s})
    try:
        command = [sys.executable, "-m", optimum.__name__, asked]
        with meter("the optimum's proof", round(most_s)) as bar, Child(command) as child:
            said = list(child.lines(4 * most_s + 60.0, lambda _: bar.advance()))
            if child.wait() != 0 or not said:
                raise RankwiseError(f"the optimum's proof ended early ({child.complaint()}): leave --prove out")
    except KeyboardInterrupt:
        return None, "interrupted"
    found = json.loads(said[-1])
    return (None, f"{most_s:g} s were too short") if found is None else (int(found), "")
