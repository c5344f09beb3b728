"""``rankwise map``: which rank should sit on which node, so that few stencil messages cross nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwise.cli.base import Json, print_json, tell, verb, writable
from rankwise.cli.levels import Levels, LevelsText, TopologyText
from rankwise.errors import InputError
from rankwise.units import parse_ints, parse_periodic, parse_seconds, parse_shape, parse_size

if TYPE_CHECKING:
    from rankwise.engines.step import Priced
    from rankwise.machine.profile import Profile
    from rankwise.mapping import Mappings
    from rankwise.mapping.dims import GridChoices
    from rankwise.mapping.slots import Slots


@verb(
    "map",
    example="""
    rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor
    rankwise map --grid 50x48 --nodes 50 --ppn 48 --effort 1s --format slurm-hostfile --hosts "n[001-050]" > hosts.txt
    rankwise map --grid 16x8 --node-sizes 48,48,32 --stencil "1,0*8;-1,0*8;0,2" --algorithm kd-tree,refined --json
    rankwise map --mesh 1000x800x400 --ranks 2400 --ppn 48 --levels socket:2 --profile machine.json
    rankwise map --observed app.comm --format openmpi-rankfile > ranks
    """,
)
def map_ranks(
    grid: Annotated[str | None, typer.Option(help="Shape of the process grid: 50x48.")] = None,
    mesh: Annotated[
        str | None,
        typer.Option(
            help="Instead of --grid: the cells of the simulated mesh, 1000x800x400. The grid is chosen together with "
            "the mapping, each message weighted by the mesh cells in its halo."
        ),
    ] = None,
    ranks: Annotated[int | None, typer.Option(help="Ranks for --mesh, with --nodes or --ppn.")] = None,
    halo: Annotated[int, typer.Option(help="Mesh cells that a halo is deep, for --mesh.")] = 1,
    nodes: Annotated[int | None, typer.Option(help="Number of nodes, all of --ppn ranks.")] = None,
    ppn: Annotated[int | None, typer.Option(help="Ranks on each node.")] = None,
    node_sizes: Annotated[
        str | None, typer.Option(help="Ranks on each node where they differ, instead of --nodes and --ppn: 48,48,32.")
    ] = None,
    slots: Annotated[
        str | None,
        typer.Option(
            help="Instead of --nodes and --ppn, where there is more room than ranks: the slots of each node, 24,24,16 or 4x24. "
            "Which nodes and slots stay free is chosen."
        ),
    ] = None,
    stencil: Annotated[
        str,
        typer.Option(
            help="To whom each rank sends: nearest-neighbor, nearest-neighbor-with-hops, component, moore:K, "
            'or offsets, each with a weight where it has one: "1,0*8;-1,0*8;0,2".'
        ),
    ] = "nearest-neighbor",
    algorithm: Annotated[
        str,
        typer.Option(
            help="all, or some of blocked,hyperplane,kd-tree,stencil-strips,nodecart,refined; or random, auto, graph."
        ),
    ] = "all",
    periodic: Annotated[str, typer.Option(help="Axes that wrap around: none, all, or a flag an axis: 1,0.")] = "none",
    weights: Annotated[
        str | None, typer.Option(help="What a message along each offset counts, in their order: 8,8,1,1.")
    ] = None,
    message_bytes: Annotated[
        str, typer.Option("--bytes", help="Bytes of a message of weight 1; with --mesh: of a cell in a halo.")
    ] = "8",
    levels: LevelsText = None,
    topology: TopologyText = None,
    profile: Annotated[
        Path | None,
        typer.Option(help="Machine profile: the mapping whose step of messages takes least time there is best."),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(help="The machine whose network is taken: a name from 'rankwise machines list' or a TOML."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Change or add a figure of --machine: latency=1.2us, taper=0.5.")
    ] = None,
    effort: Annotated[
        str | None, typer.Option(help="How long refined may search, by the clock: 100ms, 1s. Otherwise as many --steps.")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="How long refined may search, in steps: the same map every time. 1800000, or about 10 ms."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(help="Processor cores for refined (1; for a program or graph all); the map of --steps is the same."),
    ] = None,
    objective: Annotated[str, typer.Option(help="What refined makes small first: j_sum or j_max.")] = "j_sum",
    front: Annotated[
        bool, typer.Option("--front", help="Show all maps that refined finds between the least J_sum and the least J_max.")
    ] = False,
    seed: Annotated[int, typer.Option(help="For what is drawn at random: random, refined, graph.")] = 1,
    prove: Annotated[
        bool, typer.Option("--prove", help="Find the proven optimum (tiny grids only; may take a minute).")
    ] = False,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="Print the recommended mapping instead: slurm-hostfile, openmpi-rankfile, openmpi-seq, hydra-hostfile, "
            "intel-machinefile, cray-rank-order, flux-taskmap, json or csv. Rank r goes to the node of cell r, row-major.",
        ),
    ] = None,
    observed: Annotated[
        Path | None,
        typer.Option(
            help="Instead of --grid: the traffic that 'rankwise observe' recorded, on the nodes where it ran, or on those asked for."
        ),
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option(help="Instead of --grid: traffic from a file, MatrixMarket (row sends to column) or METIS, in bytes."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Start ranks where --observed or --graph puts them, and see that they are there."),
    ] = False,
    hosts: Annotated[
        str | None,
        typer.Option(help="Names of the nodes for --format: n[001-050], or a file. Otherwise node0000, ..."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the node of every cell into this SVG file.")] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="Score the mapping in this file, too: JSON, CSV, a rank order, or one host a rank."),
    ] = None,
    int64: Annotated[bool, typer.Option("--int64", help="Allow more ranks than MPI's 32-bit integers can number.")] = False,
    with_mapping: Annotated[bool, typer.Option("--with-mapping", help="Put the node of every cell in the JSON.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the JSON here too, for 'rankwise report'.", callback=writable)
    ] = None,
    as_json: Json = False,
) -> None:
    """Map the ranks of a process grid to nodes with several algorithms and show how much each sends between nodes.

    J_sum counts all stencil messages between nodes, J_max those of the busiest node. With --profile or --machine the mapping
    is recommended whose messages, all sent at once, take least time there.
    """
    from rankwise.cli.map_table import show, show_grids
    from rankwise.engines.step import step_pricer
    from rankwise.files import write_json
    from rankwise.machine.hosts import parse_hosts
    from rankwise.mapping import map_grid
    from rankwise.mapping.formats import FORMATS, Placed, default_hosts, require_format, use_of, write_mapping
    from rankwise.mapping.mapper import DEFAULT_EFFORT_S
    from rankwise.mapping.reading import read_mapping

    algorithms = [name.strip() for name in algorithm.split(",")]
    effort_s = DEFAULT_EFFORT_S if effort is None else parse_seconds(effort, "--effort")
    if objective not in ("j_sum", "j_max"):
        raise InputError(f"--objective '{objective}' is unknown: take j_sum or j_max")
    if not 0 <= seed < 2**64:
        raise InputError(f"--seed {seed} is out of range: give 0 to 2^64 - 1")
    if file_format is not None:
        if as_json:
            raise InputError("--format prints the mapping and --json the scores: give one of them")
        require_format(file_format)
    if observed is None and graph is None:
        if check:
            raise InputError("--check is for --observed and --graph: 'rankwise run stencil' places a grid's ranks")
        if slots is None:
            sizes, shape = _sizes(grid, mesh, ranks, nodes, ppn, node_sizes)
        elif grid is None or (nodes, ppn, node_sizes) != (None, None, None):
            raise InputError("--slots is for --grid, instead of --nodes, --ppn and --node-sizes")
        else:
            sizes, shape = _parse_slots(slots), parse_shape(grid, "--grid")
        flags = parse_periodic(periodic, len(shape))
        names = default_hosts(len(sizes)) if hosts is None else parse_hosts(hosts)
    elif grid is not None or mesh is not None:
        raise InputError("--observed and --graph say who sends to whom: leave --grid and --mesh out")
    size_bytes = parse_size(message_bytes, "--bytes")
    on, known = _machine(profile, machine, settings)
    asked_levels = Levels.read(levels, topology, known)
    if asked_levels.units and observed is None and graph is None and topology is None:
        raise InputError("--levels above the node are for --observed and --graph: a grid's nodes are ordered by --topology")
    switches = asked_levels.switches
    if observed is not None or graph is not None:
        from rankwise.cli.map_traffic import Asked, map_traffic
        from rankwise.mapping.traffic import Search

        search = Search(objective, seed, asked_levels.inner, (), None if effort is None else effort_s, steps, threads)
        asked = Asked(
            observed, graph, nodes, ppn, node_sizes, hosts, algorithms, search, asked_levels, file_format, compare, check,
            with_mapping, output, as_json,
        )  # fmt: skip
        map_traffic(asked, on, known)
        return
    price = None if on is None else step_pricer(on, size_bytes)
    heavy = None if weights is None else parse_ints(weights, "--weights")
    room: Slots | None = None
    if slots is not None:
        from rankwise.mapping.slots import choose_slots

        room = choose_slots(shape, sizes, stencil, flags, heavy, size_bytes, price)
        sizes, names = [room.ranks[node] for node in room.kept], [names[node] for node in room.kept]
    choices: GridChoices | None = None
    if mesh is not None:
        if heavy is not None:
            raise InputError("--mesh weighs the stencil by its halos: leave --weights out, or write them in --stencil")
        choices = _choose_grid(shape, sizes, stencil, flags, halo, effort_s, objective, seed)
        shape, heavy = list(choices.best.grid), list(choices.best.weights)

    def run(names_of_algorithms: list[str], everything: bool) -> Mappings:
        return map_grid(
            shape,
            sizes,
            stencil,
            flags,
            names_of_algorithms,
            keep_maps=everything and (with_mapping or file_format is not None or plot is not None or switches is not None),
            weights=heavy,
            effort_s=None if effort is None else effort_s,
            steps=steps,
            threads=1 if threads is None else threads,
            front=front and everything,
            objective=objective,
            seed=seed,
            prove=everything and prove,
            given=read_mapping(compare, sizes) if everything and compare is not None else None,
            levels=asked_levels.inner,
            message_bytes=size_bytes,
            price=price,
            int64=int64,
            sharp=everything,
        )

    mappings = run(algorithms, everything=True)
    from rankwise.api.results import trust_record

    record = {**mappings.to_dict(with_maps=with_mapping), **trust_record(known)}
    if switches is not None:
        from rankwise.mapping.node_order import order_hosts

        names = order_hosts(mappings, names, asked_levels.above(names[: len(sizes)], None))
        record["hosts"] = names
    if choices is not None:
        record["choice"] = choices.to_dict()
    if room is not None:
        record["left_out"] = room.to_dict()
        _tell_left_out(room)
    if output is not None:
        write_json(output, record)
    if plot is not None:
        _plot(plot, mappings)
    if file_format is not None:
        best = mappings.best
        assert best.node_of_cell is not None
        parts = {level: part.tolist() for level, part in best.parts.items()}
        placed = Placed(shape, best.node_of_cell.tolist(), names, parts)
        print(write_mapping(file_format, shape, placed.node_of_cell, names, parts), end="")
        tell(f"{best.algorithm}: J_sum {best.j_sum}, J_max {best.j_max}. Use it with: {use_of(file_format, placed)}")
        if FORMATS[file_format].warning:
            tell(f"beware: {FORMATS[file_format].warning}")
        return
    if as_json:
        print_json(record)
        return
    results = list(mappings.results)
    if all(result.algorithm != "blocked" for result in results):
        results[:0] = run(["blocked"], everything=False).results
    if choices is not None:
        show_grids(choices, size_bytes)
    show(mappings, results)


def _parse_slots(text: str) -> list[int]:
    """Return the slots of each node, from 24,24,16 or 4x24."""
    if "x" in text and "," not in text:
        nodes, each = (parse_shape(text, "--slots") + [0])[:2]
        if text.count("x") != 1:
            raise InputError(f"--slots '{text}' is neither a list nor nodes x slots: write 24,24,16 or 4x24")
        return [each] * nodes
    return parse_ints(text, "--slots")


def _tell_left_out(room: Slots) -> None:
    whole = [str(node) for node, ranks in enumerate(room.ranks) if ranks == 0]
    some = sum(room.free[node] for node in room.kept)
    tell(f"left out: {'nodes ' + ', '.join(whole) if whole else 'no node'}; {some} slots stay free on the other nodes")


def _choose_grid(
    mesh: list[int],
    sizes: list[int],
    stencil: str,
    flags: list[bool],
    halo: int,
    effort_s: float,
    objective: str,
    seed: int,
) -> GridChoices:
    """Choose the grid for a mesh, with a progress bar on a terminal."""
    from rankwise.mapping.dims import choose_grid, count_factorisations
    from rankwise.mapping.mapper import steps_of
    from rankwise.progress import meter

    with meter("grids", count_factorisations(sum(sizes), len(mesh))) as bar:
        return choose_grid(mesh, sizes, stencil, flags, halo, steps_of(effort_s), objective, seed, bar)


def _machine(profile: Path | None, machine: str | None, settings: list[str] | None) -> tuple[Priced | None, Profile | None]:
    """Return what prices a step of messages (None: nothing asked for), and the profile of the nodes where there is one."""
    if machine is not None or settings:
        from rankwise.api.questions import make_system_asked
        from rankwise.engines.step import Described

        system = make_system_asked(profile, machine, settings, "0s")
        return Described(system.links, system.notes), system.profile
    if profile is None:
        return None, None
    from rankwise.engines.model import Model
    from rankwise.machine.profile import open_profile

    known = open_profile(profile)
    return Model(known), known


def _plot(path: Path, mappings: Mappings) -> None:
    """Draw the maps as one SVG file on a white ground."""
    from rankwise.files import write_whole
    from rankwise.report.inputs import mappings_from_record
    from rankwise.report.nodemaps import can_draw, node_map_picture

    (instance,) = mappings_from_record(mappings.to_dict(), "to draw")
    if not can_draw(instance):
        raise InputError(f"--plot draws grids of up to three axes, and this one has {len(mappings.grid)}: leave it out")
    write_whole(path, node_map_picture(instance, "map").file())


def _sizes(
    grid: str | None, mesh: str | None, ranks: int | None, nodes: int | None, ppn: int | None, node_sizes: str | None
) -> tuple[list[int], list[int]]:
    """Return the ranks of each node, and the shape of the grid or of the mesh."""
    if (grid is None) == (mesh is None):
        raise InputError("give either --grid (50x48) or --mesh (1000x800x400) with --ranks")
    if grid is not None:
        if ranks is not None:
            raise InputError("--ranks is for --mesh: --grid says how many there are")
        shape = parse_shape(grid, "--grid")
        from rankwise.mapping.node_sizes import parse_node_sizes

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
    from rankwise.mapping.node_sizes import node_sizes_of

    return node_sizes_of("--ranks asks for", ranks, nodes, ppn, node_sizes), parse_shape(mesh, "--mesh")
