"""Collectives of observed programs are the messages of the algorithms that their own library selects."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rankwise import _core
from rankwise.collectives.selection import known_libraries
from rankwise.engines.step import Described
from rankwise.observe.collectives import Carried, Carrier, Member
from rankwise.observe.phases import PhasedStep, observed_step
from rankwise.observe.record import Record, read_record, write_record
from rankwise.observe.start import observe
from rankwise.workloads.base import Price, Program
from synthetic_events import Op, recorded
from verbs import Rankwise

RANKS = 6
Build = Callable[..., Path]
Start = Callable[[str, int], list[str]]


def carried(library: str, call: str, sizes: Sequence[int], nodes: Sequence[int] = (), root: int = -1, **header: Any) -> Carried:
    """What a library does in one collective to which each rank contributes some bytes."""
    shapes = header.pop("shapes", [])
    carrier = Carrier(library, {"calls": [call], "shapes": shapes, **header}, tuple(nodes))
    shape = iter(range(len(shapes)) if len(shapes) > 1 else [len(shapes) - 1] * len(sizes))
    return carrier.carried(0, [Member(rank, 0, size, root, next(shape)) for rank, size in enumerate(sizes)])


def by(one: Carried) -> str:
    assert one.selected is not None
    return one.selected.words


def rows(one: Carried) -> list[list[int]]:
    return sorted(one.messages.tolist())


def reduces(element_bytes: int, commutative: bool = True) -> list[dict[str, Any]]:
    return [{"element_bytes": element_bytes, "commutative": commutative, "in_place": False}]


def test_an_all_to_all_is_the_blocks_of_each_pair() -> None:
    """Its bytes are those to all peers together, the own block included: 4 blocks of 25."""
    one = carried("mpich-5.0", "MPI_Alltoall", [100] * 4)
    assert rows(one) == sorted([0, a, b, 25] for a in range(4) for b in range(4) if a != b)
    assert "by scattered" in by(one) and one.rounds == 1


def test_blocks_that_differ_and_empty_ones() -> None:
    counts = [[9, 0, 2], [3, 9, 0], [0, 0, 9]]
    shapes = [{"element_bytes": 0, "commutative": True, "in_place": False, "counts": of_rank} for of_rank in counts]
    one = carried("mpich-5.0", "MPI_Alltoallv", [sum(of_rank) for of_rank in counts], shapes=shapes)
    assert rows(one) == [[0, 0, 2, 2], [0, 1, 0, 3]]
    without = carried("mpich-5.0", "MPI_Alltoallv", [11, 12, 9])
    assert {row[3] for row in rows(without)} == {round(32 / 9)} and any("no counts" in note for note in without.notes)
    gathered = carried("openmpi-4.1", "MPI_Gatherv", [7, 0, 5], root=1)
    assert sorted(row[1:] for row in rows(gathered)) == [[0, 1, 7], [2, 1, 5]]


def test_members_are_in_the_order_of_the_communicator() -> None:
    """A pipeline passes the vector on from the root, from each to its next."""
    known = [{"size": 5, "ranks": [3, 1, 4, 0, 2]}]
    one = carried("openmpi-4.1", "MPI_Bcast", [1 << 20] * 5, root=4, communicators=known)
    assert [row[1:3] for row in sorted(one.messages.tolist())] == [[4, 0], [0, 2], [2, 3], [3, 1]]


@pytest.mark.parametrize(
    ("call", "of", "selected"),
    [
        ("MPI_Allreduce", reduces(4), "6 rabenseifner"),
        ("MPI_Allreduce", reduces(4, commutative=False), "3 recursive_doubling"),
        ("MPI_Reduce", reduces(4, commutative=False), "1 linear"),
        ("MPI_Alltoall", [{"element_bytes": 0, "commutative": True, "in_place": True}], "in place"),
        ("MPI_Iallreduce", reduces(4), "6 rabenseifner"),
        ("MPI_Allreduce_init", reduces(4), "6 rabenseifner"),
    ],
)
def test_what_a_rule_asks_for_beside_the_bytes(call: str, of: list[dict[str, Any]], selected: str) -> None:
    one = carried("openmpi-4.1", call, [1 << 20] * 5, root=0, shapes=of)
    assert by(one).endswith(f"by {selected}"), by(one)
    assert any("does not commute" in note for note in one.notes) is not of[0]["commutative"]
    assert any("blocking" in note for note in one.notes) is (call in ("MPI_Iallreduce", "MPI_Allreduce_init"))


def test_elements_decide_a_fall_back() -> None:
    """Open MPI's Rabenseifner is linear where there are fewer elements than a power of two of ranks."""
    size, ranks = 1 << 20, 16
    few, many = (carried("openmpi-4.1", "MPI_Allreduce", [size] * ranks, shapes=reduces(each)) for each in (size // 8, 4))
    assert by(few) == by(many) == "MPI_Allreduce 1 MiB by 6 rabenseifner"
    assert max(Counter(dest for _, _, dest, _ in few.messages.tolist()).values()) == ranks - 1
    assert max(Counter(dest for _, _, dest, _ in many.messages.tolist()).values()) < ranks - 1


def test_what_is_no_collective_of_mpi_is_named() -> None:
    one = carried("mpich-5.0", "MPI_Win_fence", [8] * 3)
    assert len(one.messages) == 6 and "MPI_Win_fence: taken as a dissemination" in one.notes[0]


def record_of(size: int, ranks: int, mpi: str, **header: Any) -> Record:
    """Of a program that sends a byte around a ring and calls MPI_Allreduce, a rank a node."""
    programs: list[list[Op]] = []
    for rank in range(ranks):
        ring: list[Op] = [("irecv", (rank - 1) % ranks, 7), ("send", (rank + 1) % ranks, 7, 1), ("waitall",)]
        programs.append([*ring, ("allreduce", size), ("compute", 5000)] * 12)
    return recorded(programs, **{"mpi": mpi, "seconds": 1.0, **header})


def inside(step: PhasedStep) -> list[tuple[int, int]]:
    """Who sends to whom in the collective of such a step."""
    pairs = zip(step.source.tolist(), step.dest.tolist(), step.bytes.tolist(), strict=True)
    return [(source, dest) for source, dest, size in pairs if size > 1]


def test_an_unknown_version_is_predicted_between_what_known_ones_select() -> None:
    known = observed_step(record_of(1 << 20, 8, "MPICH Version: 5.0.2"))
    assert known.others == () and "mpich-5.0 selects: MPI_Allreduce 1 MiB by reduce_scatter_allgather" in known.notes[-1]
    unknown = observed_step(record_of(64, 128, "Some MPI 1.0"))
    assert known_libraries()[0] in unknown.notes[0] and len(unknown.others) == 1
    assert len(inside(unknown)) != len(inside(unknown.others[0]))
    model = Described(_core.Machine({name: {"send": [(0, 1e-6, 1e-9)]} for name in ("same-socket", "other-node")}), ())
    prices = [model.price(Program(one), 1, _core.Placement.blocked(128, 1)) for one in (unknown, *unknown.others)]
    cost_s = [one.span.time_s for one in prices]
    place, price = Price.slowest(prices)
    assert price.span.time_s == max(cost_s) == cost_s[place] and price.span.ends_s[0] <= min(cost_s) < max(cost_s)


def test_ranks_elsewhere_are_carried_out_otherwise() -> None:
    """MPICH reduces within nodes first, where several have several ranks; the record's own nodes have one rank each."""
    step = observed_step(record_of(8, 4, "MPICH Version: 4.3.0"))
    assert len(inside(step)) == 8 and len(inside(step.on((0, 1, 2, 3)))) == 8
    paired = step.on((0, 0, 1, 1))
    assert sorted(inside(paired)) == [(0, 1), (0, 2), (1, 0), (2, 0), (2, 3), (3, 2)]
    assert paired.compute_s.any() and not step.without_computing().on((0, 0, 1, 1)).compute_s.any()
    placed = _core.Placement.blocked(4, 2)
    assert step.judged(placed).message_blocks == paired.judged(placed).message_blocks


def test_records_of_before_say_less_and_are_read(tmp_path: Path) -> None:
    write_record(tmp_path / "old.comm", record_of(8, 4, "MPICH Version: 4.3.0"))
    step = observed_step(read_record(tmp_path / "old.comm"))
    assert len(inside(step)) == 8 and any("taken as a commuting operation" in note for note in step.notes)


def test_an_inter_communicator_is_predicted_as_an_interval() -> None:
    known = [{"size": 2, "ranks": None, "inter": True}]
    step = observed_step(record_of(64, 8, "MPICH Version: 4.3.0", communicators=known))
    assert len(step.others) == 1 and any("inter-communicator" in note for note in step.notes)


def test_which_algorithm_is_behind_a_collective(rankwise: Rankwise, tmp_path: Path) -> None:
    write_record(tmp_path / "app.comm", record_of(1 << 20, 8, "Open MPI v4.1.4, package: Debian OpenMPI"))
    shown = rankwise("observe show app.comm --which").out
    assert "openmpi-4.1 carries out the collectives of a step by 6 rabenseifner." in shown
    assert "6 rabenseifner (tuned: ranks >= 8, ranks < 16" in " ".join(shown.split())
    listed = rankwise("observe show app.comm --json").json["collective_algorithms"]
    assert [(one["call"], one["ranks"], one["nodes"], one["calls"], one["schedule"]) for one in listed] == [
        ("MPI_Allreduce", 8, 8, 1, "rabenseifner")
    ]


@pytest.mark.parametrize("kind", ["pip", pytest.param("openmpi", marks=pytest.mark.system_mpi)])
def test_a_record_holds_what_rules_ask_for(build: Build, start: Start, tmp_path: Path, kind: str) -> None:
    program = str(build(kind, "collectives.c"))
    code, record = observe([*start(kind, RANKS), program, "12", "between"], tmp_path / "app.comm")
    assert code == 0 and record is not None
    shapes = record.header["shapes"]
    assert [shape for shape in shapes if not shape["commutative"]] == [
        {"element_bytes": 8, "commutative": False, "in_place": False}
    ]
    assert {"element_bytes": 4, "commutative": True, "in_place": False, "counts": [4, 8, 12, 16, 20, 24]} in shapes
    assert {"element_bytes": 0, "commutative": True, "in_place": True} in shapes
    assert {"size": 3, "ranks": [4, 2, 0]} in record.header["communicators"]
    assert {"size": 3, "ranks": None, "inter": True} in record.header["communicators"]
    step = observed_step(record)
    sent = set(zip(step.source.tolist(), step.dest.tolist(), step.bytes.tolist(), strict=True))
    assert sent >= {(a, b, 10 * a + b) for a in range(RANKS) for b in range(RANKS) if a != b}
    assert len(step.others) == 1


@pytest.mark.system_mpi
@pytest.mark.parametrize(("kind", "ranks"), [("openmpi", RANKS), ("openmpi5", 4)])
def test_each_pair_exchanges_what_open_mpi_counts(
    build: Build, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, ranks: int
) -> None:
    """Open MPI's monitoring component counts all messages: those of ten steps more are ten times the observed step's."""
    program = str(build(kind, "collectives.c"))

    def counted(steps: int) -> Counter[tuple[int, int, str]]:
        folder = tmp_path / str(steps)
        folder.mkdir()
        for name, value in (("enable", 2), ("enable_output", 3), ("filename", folder / "pairs")):
            monkeypatch.setenv(f"OMPI_MCA_pml_monitoring_{name}", str(value))
        command = [*start(kind, ranks), program, str(steps)]
        subprocess.run(command, check=True, env=os.environ, capture_output=True, timeout=120)
        found: Counter[tuple[int, int, str]] = Counter()
        for words in (line.split() for path in folder.glob("pairs.*") for line in path.read_text().splitlines()):
            if words[:1] in (["I"], ["E"]):
                found[int(words[1]), int(words[2]), "bytes"] += int(words[3])
                found[int(words[1]), int(words[2]), "messages"] += int(words[5])
        return found

    more = counted(12)
    more.subtract(counted(2))
    monkeypatch.delenv("OMPI_MCA_pml_monitoring_enable")
    code, record = observe([*start(kind, ranks), program, "12"], tmp_path / "app.comm")
    assert code == 0 and record is not None
    step = observed_step(record)
    ours: Counter[tuple[int, int, str]] = Counter()
    for a, b, size in zip(step.source.tolist(), step.dest.tolist(), step.bytes.tolist(), strict=True):
        ours[a, b, "bytes"] += 10 * size
        ours[a, b, "messages"] += 10
    assert ours == more
