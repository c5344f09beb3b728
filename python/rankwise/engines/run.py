"""The real engine: runs cases under the launcher of this machine, checks what arrived, keeps every sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rankwise import _core
from rankwise.engines.placement import Placement, Seats, node_of_each_rank
from rankwise.errors import InputError, RankwiseError, UnusableEnvironmentError
from rankwise.launch.launchers import ANY_HOST
from rankwise.launch.mpi import Mpi, find_mpi, stream_kernel
from rankwise.launch.probe import require_placement
from rankwise.launch.under_way import require_room
from rankwise.machine.discover import discover
from rankwise.machine.hosts import distinct, shortened
from rankwise.machine.profile import Profile
from rankwise.machine.record import short_version, tcp_words
from rankwise.machine.topology import Topology
from rankwise.measure.cells import SMALLEST_TIME_S
from rankwise.measure.samples import SamplesFile
from rankwise.measure.witness import tcp_of
from rankwise.progress import SILENT, Meter
from rankwise.workloads.base import Case, Row, Span, joined


@dataclass
class Here:
    """This machine and the nodes that its launcher starts ranks on; ``hosts``: each filled with as many (none: this node).

    ``placed`` says which host each rank is on, as the option: blocked, cyclic, or a file. With ``ranks_per_node`` each of the
    first hosts has so many, on as many as that takes; srun then finds hosts by itself where none are named.
    """

    hosts: Sequence[str] = ()
    placed: str = "blocked"
    ranks_per_node: int | None = None
    topology: Topology = field(default_factory=discover)
    _found: dict[int, list[int]] = field(default_factory=dict)
    _tcp: dict[str, int] = field(default_factory=dict)  # what connections between nodes were seen to use

    def __post_init__(self) -> None:
        option = f"--placement {self.placed}" if self.placed != "blocked" else "--ranks-per-node"
        if self.ranks_per_node is not None and self.ranks_per_node < 1:
            raise InputError(f"--ranks-per-node {self.ranks_per_node} is too small: it must be at least 1")
        if self.hosts or (self.placed == "blocked" and self.ranks_per_node is None):
            return
        if self.ranks_per_node is None or not self.mpi.launcher.finds_hosts:
            raise InputError(f"{option} needs nodes: name them with --hosts, or run inside a Slurm allocation")

    @cached_property
    def mpi(self) -> Mpi:
        return find_mpi()

    @cached_property
    def cpus(self) -> list[int]:
        """One CPU a core of a node, that ranks are bound to."""
        return self.topology.pus_one_per_core()

    def hosts_of(self, ranks: int) -> list[str]:
        """Return the host of each rank; none where all run on this node. Raises InputError."""
        each = self.ranks_per_node
        if not self.hosts and each is None:
            return []
        if each is None:
            if ranks % len(self.hosts):
                raise InputError(
                    f"{ranks} ranks are no multiple of {len(self.hosts)} nodes: give each node as many, or say how many with "
                    "--ranks-per-node"
                )
            each = ranks // len(self.hosts)
        if ranks % each:
            raise InputError(f"{ranks} ranks are no multiple of --ranks-per-node {each}: give each node as many")
        nodes = ranks // each
        hosts = self.hosts or [f"{ANY_HOST}{node}" for node in range(nodes)]
        if nodes > len(hosts):
            raise InputError(
                f"{ranks} ranks with --ranks-per-node {each} need {nodes} nodes and there are {len(hosts)} "
                f"({shortened(hosts)}): ask for more nodes, or put more ranks on each"
            )
        return [hosts[node] for node in node_of_each_rank(self.placed, ranks, each, hosts)]

    def node_of_rank(self, ranks: int) -> list[int]:
        """Return the node of each rank, nodes numbered by their lowest rank: as told, or as the launcher puts them."""
        if ranks not in self._found:
            hosts = self.hosts_of(ranks)
            if not hosts:
                require_room(ranks, len(self.cpus), "make the grid smaller")
                crowded = ranks > len(self.cpus)
                records = list(stream_kernel(self.mpi, ["hello"], ranks, crowded, f"starting {ranks} ranks"))
                hosts = [str(place["host"]) for place in records[0]["placements"]]
            names = distinct(hosts)
            self._found[ranks] = [names.index(host) for host in hosts]
        return self._found[ranks]

    def locations(self, ranks: int) -> _core.Placement:
        """Return where ranks of this node sit. More ranks than cores share them; their rows say that a time means nothing."""
        if ranks > len(self.cpus):
            return _core.Placement.blocked(ranks, ranks)
        places = {pu.os_index: (0, pu.socket, self.topology.part_cache(pu), pu.core) for pu in self.topology.pus}
        return _core.Placement.at([places[cpu] for cpu in self.cpus[:ranks]])

    def placement(self, profile: Profile) -> Placement:
        """Return where the ranks of cases sit, for engines that are to be held against real runs."""
        seats = Seats.of_profile(profile)

        @lru_cache(maxsize=64)
        def of_nodes(nodes: Sequence[int]) -> _core.Placement:
            return seats.on_nodes(nodes) if max(nodes) > 0 else self.locations(len(nodes))

        return Placement(
            lambda ranks: of_nodes(tuple(self.node_of_rank(ranks)) if self.hosts_of(ranks) else (0,) * ranks), of_nodes
        )

    def start(self, case: Case) -> Start:
        """Return how the ranks of a case are started. Raises InputError where this machine cannot carry them."""
        hosts = self.hosts_of(case.ranks)
        # Who maps cells to nodes has to know the nodes, also those of a launcher that asks nobody.
        nodes = self.node_of_rank(case.ranks) if hosts or case.nodes is not None else [0] * case.ranks
        on_node = max(Counter(nodes).values())
        crowded = on_node > len(self.cpus)
        require_room(on_node, len(self.cpus), f"ask the model ('rankwise predict {case.workload}')")
        is_told = bool(hosts) or max(nodes) == 0
        return Start(hosts, nodes, on_node, crowded, [] if crowded or not is_told else self._cpus_of_ranks(nodes), is_told)

    def stream(self, start: Start, arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Start a kernel and yield its records, once the ranks are seen to be
        where they should. Raises RankwiseError and its kinds."""
        ranks = len(start.nodes)
        bound = ["--cpus", joined(start.cpus)] if start.cpus else []
        for record in stream_kernel(
            self.mpi, [*arguments, *bound], ranks, start.crowded, f"running on {ranks} ranks", start.hosts
        ):
            self._tcp |= tcp_of(record.get("placements", ()))
            if record["record"] in ("start", "end") and start.is_told:
                require_placement(record["placements"], "of this placement", start.cpus, start.hosts)
            yield record
            if record["record"] == "unavailable":
                raise UnusableEnvironmentError(str(record["what"]))

    def changes_since(self, profile: Profile) -> list[str]:
        """Say what of the MPI and, after runs over it, of TCP differs from when a profile was measured."""
        library, measured, tcp = short_version(self.mpi.library_version), profile.mpi_version, profile.machine.get("tcp")
        changes = []
        if measured and measured != library:
            changes.append(f"this is {library}, and the profile was measured with {measured}: measure with the same MPI")
        if self._tcp and tcp and self._tcp != tcp:
            here, there = tcp_words(self._tcp), tcp_words(tcp)
            changes.append(f"TCP uses {here}, and used {there} when the profile was measured: measure again")
        return changes

    def sampled(self, start: Start, arguments: Sequence[str], samples: SamplesFile, **tags: object) -> Iterator[dict[str, Any]]:
        """Do so, and keep each record with its tags in a file, which a complaint then names."""
        try:
            for record in self.stream(start, arguments):
                samples.append({**record, **tags})
                yield record
        except (InputError, UnusableEnvironmentError):
            raise
        except RankwiseError as error:
            raise type(error)(f"{error}; samples so far are in {samples.path}") from None

    def _cpus_of_ranks(self, nodes: Sequence[int]) -> list[int]:
        """Return the CPU of each rank: on every node the first rank has the first CPU, and so on."""
        seen: Counter[int] = Counter()
        cpus = []
        for node in nodes:
            cpus.append(self.cpus[seen[node]])
            seen[node] += 1
        return cpus


@dataclass(frozen=True)
class Start:
    """How ranks are started: the host of each (none: all here), its node, and its CPU where it is bound to one."""

    hosts: Sequence[str]
    nodes: Sequence[int]
    on_node: int
    crowded: bool
    cpus: Sequence[int]
    is_told: bool  # the launcher is told where each rank goes


@dataclass(frozen=True)
class Runner:
    """Runs cases of one workload, each rank on a CPU of its own while there are enough.

    With more ranks than CPUs nothing is bound, and rows say that they were oversubscribed: their times are not the machine's,
    only the check of the bytes counts. Where ranks ran is verified from inside them.
    """

    here: Here
    samples_path: Path
    seconds_per_case: float = 0.3
    meter: Meter = SILENT
    name = "real"

    def rows(self, cases: Sequence[Case]) -> list[Row]:
        """Return one row a case, in order. Raises RankwiseError when a rank dies or what arrived is not what was sent.

        Whatever happens, the samples so far are in the samples file.
        """
        found: dict[int, Row] = {}
        launches: dict[object, list[tuple[int, Case]]] = {}
        for place, case in enumerate(cases):
            launches.setdefault(case.together, []).append((place, case))
        head = {"workload": cases[0].workload} if cases else {}
        with SamplesFile(self.samples_path) as samples, samples.campaign(**head) as identity:
            for group in launches.values():
                most = group[0][1].most_a_launch
                for first in range(0, len(group), most):
                    part = group[first : first + most]
                    rows = self._launch([case for _, case in part], samples, identity)
                    found.update(zip([place for place, _ in part], rows, strict=True))
        return [found[place] for place in range(len(cases))]

    def _launch(self, cases: Sequence[Case], samples: SamplesFile, identity: str) -> Iterator[Row]:
        case, start = cases[0], self.here.start(cases[0])
        arguments = [
            case.kernel,
            *case.arguments([one.item for one in cases], start.nodes, simulated=False),
            *case.effort(self.seconds_per_case, start.crowded),
        ]
        waiting = iter(cases)
        timer_cost_s = 0.0
        for record in self.here.sampled(start, arguments, samples, campaign=identity):
            if record["record"] == "start":
                timer_cost_s = float(record["timer_cost_s"])
            elif record["record"] == "samples":
                self.meter.advance()
                yield self._row(next(waiting), record, timer_cost_s, start.on_node)

    def _row(self, case: Case, whole: dict[str, Any], timer_cost_s: float, on_node: int) -> Row:
        record, disturbed = case.undisturbed(whole)
        times_s = np.maximum(np.asarray(record["time_s"], dtype=np.float64) - timer_cost_s, SMALLEST_TIME_S)
        crowded, cpus, late = on_node > len(self.here.cpus), len(self.here.cpus), record.get("late", 0)
        notes = [disturbed] if disturbed and not crowded else []
        if crowded:
            notes.append(f"oversubscribed: {on_node} ranks on {cpus} CPUs, the time is not the machine's")
        elif late > times_s.size / 4:
            notes.append(f"{late} of {times_s.size} repetitions began late on some rank: the machine was busy")
        round_trips_s = record.get("pingpong_time_s")
        fields = {"messages_per_rank": record.get("messages_per_rank"), "bytes_per_rank": None} | case.read(record, times_s)
        return Row.of(
            self.name, case, Span.of(times_s), fields.pop("messages_per_rank"), fields.pop("bytes_per_rank"),
            bool(record["verified"]), notes,
            repetitions=int(times_s.size),
            oversubscribed=crowded,
            pingpong_time_s=(float(np.median(round_trips_s)) - timer_cost_s) / 2 if round_trips_s else None,
            samples_s=times_s,
            **fields,
        )  # fmt: skip
