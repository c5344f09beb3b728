"""``rankwise map --observed`` and ``--graph``: where the ranks of any program should sit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.cli.base import print_json, tell
from rankwise.cli.levels import Levels, seats_of
from rankwise.cli.table import Table
from rankwise.errors import InputError
from rankwise.units import format_percent, format_time, format_volume

if TYPE_CHECKING:
    from rankwise.engines.step import Priced
    from rankwise.machine.profile import Profile
    from rankwise.mapping import Mappings, MapResult
    from rankwise.mapping.levels import Above
    from rankwise.mapping.traffic import Search, Traffic


@dataclass(frozen=True)
class Asked:
    """What of the options of ``map`` is for a program's traffic."""

    observed: Path | None
    graph: Path | None
    nodes: int | None
    ppn: int | None
    node_sizes: str | None
    hosts: str | None
    algorithms: Sequence[str]
    search: Search
    levels: Levels
    file_format: str | None
    compare: Path | None
    check: bool
    with_mapping: bool
    output: Path | None
    as_json: bool


def map_traffic(asked: Asked, on: Priced | None, known: Profile | None) -> None:
    """Read the traffic, place it, and tell. Raises InputError."""
    from rankwise.cli.rows import trust_record
    from rankwise.engines.step import traffic_pricer
    from rankwise.files import write_json
    from rankwise.mapping.formats import Placed, use_of, write_mapping
    from rankwise.mapping.reading import read_mapping
    from rankwise.mapping.traffic import place_traffic

    traffic = read_traffic(asked.observed, asked.graph)
    sizes, names = nodes_asked(traffic, asked.nodes, asked.ppn, asked.node_sizes, asked.hosts)
    given = None if asked.compare is None else read_mapping(asked.compare, sizes)
    above = asked.levels.above(names, on)
    price = None if on is None else traffic_pricer(on, seats_of(above, on))
    mappings = place_traffic(traffic, sizes, asked.algorithms, replace(asked.search, above=above), price, given)
    best = mappings.best
    assert best.node_of_cell is not None
    placed = Placed(
        [traffic.ranks], best.node_of_cell.tolist(), names, {name: part.tolist() for name, part in best.parts.items()}
    )
    extra: dict[str, Any] = {
        "hosts": list(names), "rounds": traffic.rounds, "bytes": int(traffic.bytes.sum()), **trust_record(known)
    }  # fmt: skip
    if above:
        extra["above"] = [
            {
                "level": level.name,
                "units": len(set(level.unit_of_node)),
                "cost": level.cost,
                "bytes": _between(traffic, mappings, level),
            }
            for level in above
        ]
    if asked.check:
        extra["checked"] = checked([names[node] for node in placed.node_of_cell])
    record = {**mappings.to_dict(with_maps=asked.with_mapping), **extra}
    if asked.output is not None:
        write_json(asked.output, record)
    if asked.file_format is not None:
        from rankwise.mapping.formats import FORMATS

        print(write_mapping(asked.file_format, placed.grid, placed.node_of_cell, names, placed.parts), end="")
        tell(f"{_conclusion(mappings, traffic)} Use it with: {use_of(asked.file_format, placed)}")
        if FORMATS[asked.file_format].warning:
            tell(f"beware: {FORMATS[asked.file_format].warning}")
    elif asked.as_json:
        print_json(record)
    else:
        _show(mappings, traffic, above)
        if asked.check:
            tell(f"checked: all {traffic.ranks} ranks were started there, and those of a node share its memory")


def read_traffic(observed: Path | None, graph: Path | None) -> Traffic:
    """Read what a program sent from its record or from a graph. Raises InputError."""
    from rankwise.mapping.graph_files import read_graph, traffic_of

    if observed is not None and graph is not None:
        raise InputError("--observed and --graph are two programs: give one of them")
    if observed is None:
        assert graph is not None
        return read_graph(graph)
    from rankwise.observe.record import read_record

    return traffic_of(read_record(observed), observed.name)


def nodes_asked(
    traffic: Traffic, nodes: int | None, ppn: int | None, node_sizes: str | None, hosts: str | None
) -> tuple[list[int], list[str]]:
    """Return the ranks of each node and the nodes' names: those asked for, or those on which the program ran.

    Raises InputError.
    """
    from rankwise.machine.hosts import parse_hosts
    from rankwise.mapping.formats import default_hosts
    from rankwise.mapping.node_sizes import node_sizes_of

    names = None if hosts is None else parse_hosts(hosts)
    if nodes is None and ppn is None and node_sizes is None:
        if names is not None:
            each, more = divmod(traffic.ranks, len(names))
            sizes = [each + (node < more) for node in range(len(names))]
        elif traffic.node_of_rank is not None:
            import numpy as np

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


def _between(traffic: Traffic, mappings: Mappings, level: Above) -> dict[str, int]:
    """Return the bytes between the units of a level by each algorithm's placement."""
    import numpy as np

    unit = np.array(level.unit_of_node, np.int32)
    return {
        result.algorithm: int(traffic.bytes[traffic.crossing(unit[result.node_of_cell])].sum())
        for result in mappings.results if result.node_of_cell is not None
    }  # fmt: skip


def checked(hosts: Sequence[str]) -> list[dict[str, Any]]:
    """Start ranks on their hosts and return what each found there: host, memory group, CPU. Raises RankwiseError."""
    from rankwise.launch.mpi import find_mpi, stream_kernel
    from rankwise.launch.placement import require_placement

    mpi, found = find_mpi(), []
    for record in stream_kernel(mpi, ["hello"], len(hosts), True, "checking the placement", hosts):
        found += record.get("placements", [])
    require_placement(found, "placed as asked", hosts=hosts)
    return [{key: one[key] for key in ("rank", "host", "memory_group", "cpu")} for one in found]


def _start(mappings: Mappings) -> MapResult:
    """The placement to compare with: the observed one, else the first."""
    return next((result for result in mappings.results if result.algorithm == "observed"), mappings.results[0])


def _conclusion(mappings: Mappings, traffic: Traffic) -> str:
    from rankwise.mapping import hardly_better, quicker
    from rankwise.mapping.mapper import LEAST_GAIN

    best, start = mappings.best, _start(mappings)
    if len(mappings.nodes) == 1:
        return "Nothing to gain between nodes: all ranks are on one."
    if best is start or (best.j_sum, best.j_max, best.time_s) == (start.j_sum, start.j_max, start.time_s):
        return f"Nothing to gain: no other placement here is better than {start.algorithm}."
    if hardly_better(best, start):
        return f"Nothing to gain: {best.algorithm}, the best here, is less than {LEAST_GAIN:.0%} better than {start.algorithm}."
    sent, before = format_volume(best.j_sum), format_volume(start.j_sum)
    text = f"Take {best.algorithm}: {sent} between nodes instead of {before} as {start.algorithm} ({_change(best.j_sum, start.j_sum)})"
    if best.time_s is not None and start.time_s is not None:
        step = "one round of messages" if traffic.rounds > 1 else "its messages"
        text += f", {step} take{'s' if traffic.rounds > 1 else ''} {format_time(best.time_s)} instead of {format_time(start.time_s)}"
        text += "" if quicker(best, start) else ", no less as far as can be told"
    return text + "."


def _change(value: float, start: float) -> str:
    return "0.0 %" if value == start else "–" if start == 0 else format_percent(value / start - 1)


def _show(mappings: Mappings, traffic: Traffic, above: Sequence[Above]) -> None:
    print(_conclusion(mappings, traffic))
    start, best = _start(mappings), mappings.best
    sent, nodes = format_volume(int(traffic.bytes.sum())), len(mappings.nodes)
    title = f"{traffic.name}: {traffic.ranks} ranks, {len(traffic.bytes)} pairs, {sent} on {nodes} node{'s' * (nodes > 1)}"
    print(f"{title}:")
    timed = best.time_s is not None
    versus = f"vs {start.algorithm}"
    farther = [_between(traffic, mappings, level) for level in above]
    outer = [f"between {level.name}{'es' if level.name == 'switch' else 's'}" for level in above]
    rounds = ("a round", versus) if timed else ()
    heads = ("placement", "", "between nodes", versus, *outer, "busiest node", *rounds, "to map")
    table = Table(*heads, leave=("to map", *outer, "busiest node"))
    for result in mappings.results:
        times = [format_time(result.time_s or 0), _change(result.time_s or 0, start.time_s or 0)] if timed else []
        table.add_row(
            result.algorithm, "best" if result is best else "", format_volume(result.j_sum), _change(result.j_sum, start.j_sum),
            *(format_volume(sent_between[result.algorithm]) for sent_between in farther), format_volume(result.j_max), *times,
            format_time(result.seconds), bold=result is best,
        )  # fmt: skip
    table.show()
    if best.step is not None:
        from rankwise.cli.map_table import why_so_long

        print(why_so_long(best.step))
        if traffic.rounds > 1:
            print(f"A round: each pair sends a {traffic.rounds}th of its bytes as one message, all at once.")
    for skipped in mappings.skipped:
        tell(f"skipped {skipped.algorithm}: {skipped.reason}")
    for note in mappings.notes:
        tell(f"note: {note}")
