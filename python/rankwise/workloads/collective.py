"""The workload "collective": a collective of MPI by the algorithm that its library selects, and by the best of all.

Predictions and simulations carry out an algorithm's messages (src/schedule/collective_algorithms.cpp); real runs time the MPI's
own call, whatever the library does in it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise import _core
from rankwise.collectives.selection import Call, known_libraries, libraries_of, select
from rankwise.errors import InputError, unreadable
from rankwise.files import plain
from rankwise.progress import tell
from rankwise.records import key, record
from rankwise.units import format_count, format_size, format_time, parse_ints, parse_sizes
from rankwise.workloads.base import (
    Case,
    Figures,
    Options,
    Pricer,
    Program,
    Row,
    Site,
    Times,
    Workload,
    joined,
    option,
    require_known,
    require_ranks,
)
from rankwise.workloads.collective_schedule import NOTE, Schedule, candidates_of, measured_in_nodes
from rankwise.workloads.exchange import DEFAULT_RANKS
from rankwise.workloads.observed import ReplayedCase

if TYPE_CHECKING:
    from rankwise.observe.phases import PhasedStep

KINDS = ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter", "reduce_scatter_block", "gather", "scatter",
         "barrier", "scan")  # fmt: skip
_ROOTED = ("bcast", "reduce", "gather", "scatter")
_MOST_RANKS = 2**20
_INEXACT = "predicted by an algorithm of the same kind: the library's own stages and segments differ"


@record
class CollectiveCase(Case):
    """A collective of ``number`` ranks by an algorithm; ``message_bytes``: of the vector, or of a block of each rank."""

    workload, kernel = "collective", "collective"

    collective: str = key("which collective: bcast, allreduce and so on")
    number: int = key("number of ranks", name="ranks")
    message_bytes: int = key("bytes of the vector, or of one rank's block (to one other, alltoall)")
    schedule: Schedule = key("the algorithm", inline=True)
    selected_by: str | None = key("library: the MPI library's own choice; best: the fastest; null: named, or a candidate")
    library: str | None = key("the library that selects it; null: none")
    library_name: str | None = key("what the library calls the algorithm")
    why: str | None = key("the library's rule, in words")
    nodes_of_ranks: tuple[int, ...] = ()
    others: tuple[Schedule, ...] = ()  # what else the library may select
    remark: str = ""
    measured_s: float | None = None  # by OSU's benchmark

    @property
    def ranks(self) -> int:
        return self.number

    @property
    def way(self) -> str:
        return self.schedule.label

    @property
    def question(self) -> Hashable:
        return self.collective, self.number, self.message_bytes

    @property
    def size(self) -> str:
        """The size in words; empty of a barrier, which has none."""
        return "" if self.collective == "barrier" else format_size(self.message_bytes)

    def cells(self) -> dict[str, str]:
        by = {"selected": self.selected_by} if self.selected_by else {}
        size = {"size": self.size} if self.size else {}
        return {"ranks": str(self.ranks), **size, **by, "algorithm": self.way}

    def program(self) -> Program:
        return Program(self.schedule, notes=(self.remark,) if self.remark else (), limits_count=True)

    def predict(self, model: Pricer) -> Row:
        row = self._in_nodes(model, self.priced(model, self.program(), 1, self.others))
        if self.measured_s is None:
            return row
        measured = {"measured_s": self.measured_s, "error": row.time_s / self.measured_s - 1}
        return replace(row, figures={**row.figures, **measured})

    def _in_nodes(self, model: Pricer, row: Row) -> Row:
        """Return the row of what a library selects with what was measured of it within nodes."""
        costs = model.profile.collectives
        if costs is None or self.selected_by != "library" or self.others or self.library not in libraries_of(costs.mpi)[0]:
            return row
        call = Call(self.collective, self.number, self.message_bytes, self.nodes_of_ranks)
        span = measured_in_nodes(
            call, self.schedule, costs, lambda leaders: model.price(self, Program(leaders, limits_count=True), 1).span
        )
        if span is None:
            return row
        notes = (*(note for note in row.notes if note != self.remark), NOTE)
        return replace(row, time_s=span.time_s, time_lo_s=span.lo_s, time_hi_s=span.hi_s, notes=notes)

    def by(self, schedules: Schedule) -> CollectiveCase:
        return replace(self, schedule=schedules)

    @property
    def together(self) -> Hashable:
        return self.collective, self.ranks

    @property
    def item(self) -> str:
        return f"{self.collective}:{self.message_bytes}"

    def arguments(self, items: Sequence[str], node_of_rank: Sequence[int], simulated: bool) -> list[str]:
        return ["--cases", joined(items)]

    def as_simulated(self) -> Case:
        import numpy as np

        places = self.nodes_of_ranks or tuple(range(self.ranks))
        step = self.schedule.step(_core.Placement.on_nodes(np.array(places, np.int32)))
        return CollectiveReplay(self.collective, step)

    def read(self, record: Mapping[str, Any], times_s: Times) -> dict[str, Any]:
        sent = record.get("bytes_per_rank")
        return {"bytes_per_rank": None if sent is None else int(sent)}


@record
class CollectiveReplay(ReplayedCase):
    """The messages of a collective, as they are simulated."""

    workload = "collective"

    collective: str
    step: PhasedStep = field(hash=False, compare=False)

    @property
    def way(self) -> str:
        return self.collective

    def cells(self) -> dict[str, str]:
        return {"collective": self.collective}

    @property
    def together(self) -> Hashable:
        return self.step.text


@record
class CollectiveFigures(Figures):
    """What only collectives have of a row."""

    times_best: float = key("how many times as long as the best algorithm", optional=True)
    measured_s: float = key("what OSU's benchmark measured", optional=True)
    error: float = key("of the prediction against it, as a share", optional=True)


@dataclass(frozen=True)
class CollectiveOptions(Options):
    collective: str = option("allreduce", f"Which: {', '.join(KINDS)}.", "KIND")
    size: str = option(
        "8,64kB,4MiB", "Bytes of the vector; of allgather, alltoall, gather, scatter of each rank's block: 8,64kB.", "--bytes"
    )
    ranks: str | None = option(None, "Numbers of ranks: 8, or 16,64,256.")
    library: str | None = option(
        None, f"Whose rules select: {', '.join(known_libraries())}. Default: the MPI of the profile, or at hand."
    )
    algorithm: str = option("", "Algorithms to compare: all, or ids: ring,rabenseifner. Default: the library's and the best.")
    element_bytes: int = option(4, "Bytes of the datatype, for rules that count elements.", least=1)
    osu: Path | None = option(
        None, "Output of osu_allreduce or its like (best with -f): the collective, sizes, and what they took."
    )


class CollectiveWorkload(Workload):
    id = "collective"
    title = "a collective of MPI"
    wrong = "collectives delivered wrong data: this MPI is unreliable"
    options = CollectiveOptions
    examples = {
        "predict": "rankwise predict collective allreduce --bytes 8,64kB,4MiB --ranks 64 --ranks-per-node 8",
        "simulate": "rankwise simulate collective bcast --profile machine.json --ranks 16 --bytes 1MiB --algorithm pipeline",
        "run": "rankwise run collective allreduce --ranks 2 --bytes 8,64kB",
        "validate": "rankwise validate collective allgather --ranks 2 --bytes 8,64kB --profile machine.json",
        "choose": "rankwise choose collective bcast --ranks 64 --bytes 4MiB --profile machine.json",
    }
    details = {
        "predict": "It says which algorithm the MPI library selects, by which of its rules, and what the best one would take."
    }

    def cases(self, options: CollectiveOptions, site: Site) -> list[CollectiveCase]:
        found: list[CollectiveCase] = []
        options, measured_s = _measured(options)
        for call in self._calls(options, site):
            if options.algorithm:
                found += self._candidates(options, call)
                continue
            found.append(replace(self._selected(options, call, site), measured_s=measured_s.get(call.size_bytes)))
            if site.verb == "predict":
                found += self._candidates(options, call)
        return found

    def candidates(self, options: CollectiveOptions, site: Site) -> list[CollectiveCase]:
        options, _ = _measured(options)
        return [case for call in self._calls(options, site) for case in self._candidates(options, call)]

    def _calls(self, o: CollectiveOptions, site: Site) -> Iterator[Call]:
        require_known(o.collective, KINDS, "collective")
        ranks = parse_ints(o.ranks, "--ranks") if o.ranks is not None else [site.ranks or DEFAULT_RANKS]
        require_ranks(max(ranks), "a collective", _MOST_RANKS)
        sizes = [0] if o.collective == "barrier" else parse_sizes(o.size, "--bytes")
        for number in ranks:
            nodes = tuple(site.layout(number)) if site.layout is not None else ()
            for size in sizes:
                yield Call(o.collective, number, size, nodes, o.element_bytes)

    def _selected(self, o: CollectiveOptions, call: Call, site: Site) -> CollectiveCase:
        """Return what the library selects; where its rules are not known, all that known ones select."""
        libraries, unknown = libraries_of(o.library if o.library is not None else site.mpi() if site.mpi is not None else "")
        selections = [select(library, call) for library in libraries]
        schedules = list(dict.fromkeys(Schedule.of(one, call) for one in selections))
        first = selections[0]
        remark = "" if first.exact else f"{first.name}: {_INEXACT}"
        if unknown is not None:
            remark = f"{unknown}: predicted between what {libraries[0]} to {libraries[-1]} select; name one with --library"
        return CollectiveCase(
            call.kind, call.ranks, call.size_bytes, schedules[0], "library", o.library if unknown else first.library,
            None if unknown else first.name, None if unknown else first.why, call.node_of_rank, tuple(schedules[1:]), remark,
        )  # fmt: skip

    def _candidates(self, o: CollectiveOptions, call: Call) -> list[CollectiveCase]:
        """Return what is compared: the named algorithms, or all that the ranks allow. Raises InputError."""
        import numpy as np

        known = sorted({one.id for one in _core.collective_algorithms() if one.collective == call.kind.removesuffix("_block")})
        named = [] if o.algorithm in ("", "all") else o.algorithm.split(",")
        for name in named:
            require_known(name, known, "--algorithm")
        places = _core.Placement.on_nodes(np.array(call.node_of_rank or range(call.ranks), np.int32))
        schedules = []
        for one in candidates_of(call.kind, call.ranks, call.size_bytes, call.holds("several nodes of several ranks")):
            if named and one.algorithm not in named:
                continue
            why = one.core.why_not(places)
            if why and named:
                raise InputError(f"--algorithm {one.algorithm}: {why}")
            if not why:
                schedules.append(one)
        if not schedules:
            raise InputError(f"no algorithm of {call.kind} is left for {call.ranks} ranks: name others with --algorithm")
        return [
            CollectiveCase(call.kind, call.ranks, call.size_bytes, one, None, None, None, None, call.node_of_rank)
            for one in schedules
        ]  # fmt: skip

    def finish(self, rows: Sequence[Row]) -> list[Row]:
        """Leave of candidates that nobody named the best, next to what the library selects."""
        groups: dict[Hashable, list[Row]] = {}
        for row in rows:
            groups.setdefault(row.case.question, []).append(row)
        return [row for group in groups.values() for row in self._finished(group)]

    def _finished(self, rows: list[Row]) -> list[Row]:
        selected = [row for row in rows if row.case.selected_by == "library"]  # type: ignore[attr-defined]
        if len(rows) == 1 or any(_measured_on_a_node(row) for row in selected):
            return selected or rows  # what messages would take is no match for what was measured through shared memory
        best = min(rows, key=lambda row: row.time_s)
        rows = [replace(row, figures={**row.figures, "times_best": _times_as_long(row, best)}) for row in rows]
        selected = [row for row in rows if row.case.selected_by == "library"]  # type: ignore[attr-defined]
        if not selected:
            return rows
        rest = [row for row in rows if row not in selected]
        best = min((*rest, *selected), key=lambda row: row.time_s)  # what was measured of the library may beat all messages
        measured_s = selected[0].case.measured_s  # type: ignore[attr-defined]
        nobodys = {"library": None, "library_name": None, "why": None}
        best_case = replace(best.case, selected_by="best", measured_s=measured_s, **nobodys)  # type: ignore[type-var]
        return [*selected, replace(best, case=best_case)]

    def columns(self, row: Row) -> dict[str, str]:
        cells = {"times best": f"{row.figures['times_best']:.2f}"} if "times_best" in row.figures else {}
        if row.case.measured_s is not None:  # type: ignore[attr-defined]
            measured, error = row.figures.get("measured_s"), row.figures.get("error")
            cells["measured"] = "" if measured is None else format_time(measured)
            cells["error"] = "" if error is None else f"{100 * error:+.1f} %"
        return cells

    def headline(self, rows: Sequence[Row]) -> str | None:
        """Say where the library's choice loses most against the best."""
        pairs = [
            (row, best) for row, best in zip(rows, rows[1:], strict=False) if _selected_by(row, best) == ("library", "best")
        ]
        measured = [row for row in rows if _measured_on_a_node(row)]
        if measured and not pairs:
            worst = max(measured, key=lambda row: row.time_s)
            case = worst.case
            assert isinstance(case, CollectiveCase)
            size = f" of {case.size}" if case.size else ""
            takes = f"takes {'up to ' * (len(measured) > 1)}{format_time(worst.time_s)}"
            return f"{case.library} {takes} for {case.collective}{size} within the node, as measured"
        if not any(best.time_s for _, best in pairs):
            return None
        row, best = max(pairs, key=lambda pair: _times_as_long(*pair))
        case = row.case
        assert isinstance(case, CollectiveCase)
        who = case.library or "The library"
        ratio = _times_as_long(row, best)
        size = f"{case.size} on " if case.size else ""
        nodes = f", {format_count(len(set(case.nodes_of_ranks)), 'node')}" if case.nodes_of_ranks else ""
        if ratio < 1.02:
            everywhere = f", in all {len(pairs)} cases" if len(pairs) > 1 else ""
            return f"{who} selects the fastest {case.collective}, or one within 2 %{everywhere}"
        return (
            f"{who} takes {'up to ' * (len(pairs) > 1)}{ratio:.1f} times as long as the best {case.collective}: "
            f"{format_time(row.time_s)}, not {format_time(best.time_s)}, for {size}{case.ranks} ranks{nodes}"
        )

    def remarks(self, rows: Sequence[Row]) -> list[str]:
        told: dict[str, list[str]] = {}
        for row in rows:
            case = row.case
            if isinstance(case, CollectiveCase) and case.why:
                told.setdefault(f"{case.library} selects {case.library_name} ({case.why})", []).append(case.size)
        return [": ".join(filter(None, (", ".join(dict.fromkeys(sizes)), words))) for words, sizes in told.items()]


def _measured(options: CollectiveOptions) -> tuple[CollectiveOptions, dict[int, float]]:
    """Return options for what an OSU benchmark measured, and its times by size. Raises InputError."""
    if options.osu is None:
        return options, {}
    from rankwise.measure.imports.osu import read_collective

    try:
        lines = plain(options.osu).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{options.osu} {unreadable(error)}: give the output of osu_allreduce or its like") from None
    found = read_collective(options.osu, lines)
    require_known(found.collective, KINDS, f"{options.osu}: collective")
    times_s = {point.size_bytes: point.time_s for point in found.points}
    sizes = ",".join(map(str, times_s))
    if found.collective in _ROOTED and not found.of_last:
        tell(
            f"note: {options.osu} has the mean over ranks, which end apart: osu_{found.collective} -f prints the slowest's time"
        )
    return replace(options, collective=found.collective, size=sizes, element_bytes=found.element_bytes, osu=None), times_s


def _measured_on_a_node(row: Row) -> bool:
    return NOTE in row.notes and len(set(row.case.nodes_of_ranks)) == 1  # type: ignore[attr-defined]


def _times_as_long(row: Row, best: Row) -> float:
    return row.time_s / best.time_s if best.time_s > 0 else 1.0


def _selected_by(*rows: Row) -> tuple[str | None, ...]:
    return tuple(row.case.selected_by for row in rows if isinstance(row.case, CollectiveCase))


WORKLOAD = CollectiveWorkload()
