"""The workload "collective" by all verbs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankwise import _core
from rankwise.engines.machines import machine_of_profile
from rankwise.machine.profile import open_profile
from rankwise.workloads.collective_schedule import Extrapolated, Schedule
from verbs import Rankwise, Refused

FROZEN = Path(__file__).parents[1] / "frozen" / "inputs"


@pytest.fixture(autouse=True)
def machine(rankwise: Rankwise) -> Path:
    path = Path("machine.json")
    path.write_text((FROZEN / "nodes.json").read_text(encoding="utf-8"), encoding="utf-8")
    return path


def predicted(rankwise: Rankwise, asked: str) -> list[dict[str, Any]]:
    return list(rankwise(f"predict collective {asked} --json").answer["rows"])


def test_the_librarys_choice_stands_beside_the_best(rankwise: Rankwise) -> None:
    asked = "bcast --bytes 8,4MiB --ranks 7 --library openmpi-4.1"
    rows = predicted(rankwise, asked)
    assert [(row["message_bytes"], row["selected_by"]) for row in rows] == [
        (8, "library"), (8, "best"), (4 << 20, "library"), (4 << 20, "best"),
    ]  # fmt: skip
    # Without a segment size a chain stores and forwards the whole message: 6 hops against the best's little more than one.
    chain, best = rows[2:]
    assert (chain["library_name"], chain["algorithm"], chain["segment_bytes"]) == ("2 chain", "pipeline", 0)
    assert chain["why"] == "tuned: ranks >= 4, ranks < 8, bytes >= 1048576"
    assert (best["algorithm"], best["times_best"]) == ("pipeline", 1.0)
    assert chain["times_best"] == pytest.approx(chain["time_s"] / best["time_s"]) and chain["times_best"] > 4
    shown = rankwise(f"predict collective {asked}")
    assert shown.out.startswith("✓ openmpi-4.1 takes up to 4.3 times as long as the best bcast: ")
    lines = shown.out.splitlines()
    assert len(lines) <= 25 and max(len(line) for line in lines if " MiB " in line and "–" in line) <= 80


SAMPLES = Path(__file__).parents[2] / "data" / "osu-samples"


@pytest.mark.parametrize(("name", "sizes"), [("allreduce", [1 << k for k in range(2, 11)]), ("barrier", [0])])
def test_what_osu_measured_stands_beside_the_prediction(rankwise: Rankwise, name: str, sizes: list[int]) -> None:
    asked = f"--osu {SAMPLES}/osu74_{name}.txt --ranks 8 --library mpich-5.0"
    rows = [row for row in predicted(rankwise, asked) if row["selected_by"] == "library"]
    assert [(row["collective"], row["message_bytes"]) for row in rows] == [(name, size) for size in sizes]
    assert rows[0]["measured_s"] == pytest.approx({"allreduce": 11746.58e-6, "barrier": 12969.55e-6}[name])
    assert all(row["error"] == pytest.approx(row["time_s"] / row["measured_s"] - 1) for row in rows)
    shown = rankwise(f"predict collective {asked}").out
    assert "measured" in shown and {"allreduce": " 11.7", "barrier": " 13.0"}[name] in shown


def test_the_slowest_rank_counts_where_osu_prints_it(rankwise: Rankwise) -> None:
    """A collective is done when its last rank is: the mean is of ranks that end apart where there is a root."""
    full = SAMPLES.parent / "cluster-samples" / "osu70_alltoall_full.txt"
    rows = predicted(rankwise, f"--osu {full} --ranks 4 --library mpich-5.0")
    assert rows[0]["measured_s"] == pytest.approx(667.87e-6)  # under Max, of 436.55 on average
    for kind, noted in (("Broadcast", True), ("Allreduce", False)):
        Path("osu.txt").write_text(f"# OSU MPI {kind} Latency Test v7.0\n# Size       Avg Latency(us)\n8 3.5\n")
        words = "--osu osu.txt --ranks 4 --library mpich-5.0"
        shown = rankwise(f"predict collective {words}")
        assert shown.code == 0, shown.err
        assert ("osu.txt has the mean over ranks, which end apart: osu_bcast -f prints" in shown.err) == noted


def test_osu_files_of_no_collective(refused: Refused) -> None:
    for file, says in (
        (SAMPLES / "osu74_latency_default.txt", "is not the output of an OSU benchmark of a blocking collective"),
        (Path("gone.txt"), "gone.txt does not exist: give the output of osu_allreduce"),
        (FROZEN / "nodes.json", "is not the output of an OSU benchmark"),
    ):
        assert says in refused(f"predict collective --osu {file} --ranks 8")


def test_a_rule_may_know_nodes(rankwise: Rankwise) -> None:
    asked = "allreduce --bytes 64kB --ranks 16 --library openmpi-5.0 --ranks-per-node"
    (han, _), (flat, _) = (predicted(rankwise, f"{asked} {each}") for each in ("4", "1"))
    assert (han["algorithm"], han["library_name"]) == ("node-aware", "han")
    assert (flat["algorithm"], flat["library_name"]) == ("rabenseifner", "6 rabenseifner")
    assert any("the library's own stages and segments differ" in note for note in han["notes"])


def test_of_an_unknown_library_the_interval_holds_all_candidates(rankwise: Rankwise) -> None:
    (row, _) = predicted(rankwise, "bcast --bytes 4MiB --ranks 7 --library fancy-1")
    (named, _) = predicted(rankwise, "bcast --bytes 4MiB --ranks 7 --library openmpi-4.1")
    (other, _) = predicted(rankwise, "bcast --bytes 4MiB --ranks 7 --library mpich-5.0")
    assert row["library_name"] is None and "are not known" in row["notes"][0]
    assert row["time_lo_s"] == other["time_lo_s"] < row["time_hi_s"] == named["time_hi_s"]


def test_the_mpi_that_measured_the_profile_selects(rankwise: Rankwise) -> None:
    profile = json.loads(Path("machine.json").read_text(encoding="utf-8"))
    profile["machine"]["mpi"] = {"library_version": "Open MPI v4.1.4, package: Debian OpenMPI", "launcher": "mpirun"}
    Path("machine.json").write_text(json.dumps(profile), encoding="utf-8")
    (row, _) = predicted(rankwise, "bcast --bytes 4MiB --ranks 7")
    assert (row["library"], row["library_name"]) == ("openmpi-4.1", "2 chain")


def test_named_algorithms_are_compared_and_chosen_from(rankwise: Rankwise) -> None:
    rows = predicted(rankwise, "allgather --bytes 100 --ranks 8 --algorithm ring,bruck")
    assert {row["algorithm"] for row in rows} == {"ring", "bruck"} and {row["selected_by"] for row in rows} == {None}
    times = {row["algorithm"]: row["time_s"] for row in rows}
    assert times["ring"] == pytest.approx(7 / 3 * times["bruck"], rel=0.2)  # 7 rounds against 3, of latency
    chosen = rankwise("choose collective allgather --bytes 100 --ranks 8 --json").json
    assert chosen["best"]["time_s"] == min(row["time_s"] for row in chosen["candidates"]) <= times["bruck"]
    assert len(chosen["candidates"]) > 4


@pytest.mark.parametrize(
    ("kind", "algorithm", "ranks", "most"),
    [
        ("bcast", "binomial", 1024, 256),
        ("bcast", "scatter-ring-allgather", 512, 128),
        ("allreduce", "ring", 512, 128),
        ("allreduce", "rabenseifner", 1024, 256),
        ("allreduce", "recursive-doubling", 1024, 256),
        ("allgather", "bruck", 1024, 256),
        ("alltoall", "pairwise", 512, 128),
        ("reduce_scatter", "recursive-halving", 1024, 256),
        ("barrier", "dissemination", 1024, 256),
        ("allreduce", "recursive-multiplying", 1024, 256),
        ("bcast", "pipeline", 512, 128),
        ("gather", "binomial", 1024, 256),
        ("alltoall", "bruck", 512, 128),
        ("allgather", "gather-bcast", 1024, 256),
        ("allgather", "neighbor-exchange", 480, 128),
    ],
)
def test_many_ranks_are_extrapolated_from_fewer(kind: str, algorithm: str, ranks: int, most: int) -> None:
    machine = machine_of_profile(open_profile(Path("machine.json")))
    radix = 8 if algorithm == "recursive-multiplying" else 2
    schedule = Schedule(kind, ranks, 0 if kind == "barrier" else 512 if kind == "gather" else 65536, algorithm, radix)
    placement = _core.Placement.blocked(ranks, 8)
    found, full = Extrapolated(schedule, placement, most).cost(1, machine), schedule.core.judged(placement).cost(1, machine)
    assert found.time_s == pytest.approx(full.time_s, rel=0.01)
    assert found.messages_per_rank == pytest.approx(full.messages_per_rank, rel=0.02)


def test_a_hundred_thousand_ranks_are_asked_for(rankwise: Rankwise) -> None:
    (row, best) = predicted(rankwise, "allreduce --bytes 1MiB --ranks 100000 --ranks-per-node 8")
    assert row["ranks"] == 100_000 and row["time_s"] > best["time_s"] > 0


@pytest.mark.simgrid
@pytest.mark.parametrize("kind", ["bcast", "allreduce", "allgather", "alltoall", "barrier"])
def test_its_messages_are_simulated(rankwise: Rankwise, imported: Callable[..., Path], kind: str) -> None:
    imported("other-node")  # of ping-pongs alone, as a simulator knows links
    (row,) = rankwise(
        f"validate collective {kind} --ranks 6 --bytes 20kB --engines model,simgrid --library openmpi-4.1 --json"
    ).answer["rows"]
    assert row["verified"] is True and abs(row["error"]) < 0.25


@pytest.mark.mpi
@pytest.mark.parametrize(
    "kind",
    ["bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter", "reduce_scatter_block", "gather", "scatter",
     "barrier", "scan"],
)  # fmt: skip
def test_the_mpis_own_call_is_run_and_checked(rankwise: Rankwise, kind: str) -> None:
    rows = rankwise(f"run collective {kind} --ranks 2 --bytes 0,7,4000 --seconds 0.01 --json").answer["rows"]
    assert [row["message_bytes"] for row in rows] == ([0] if kind == "barrier" else [0, 7, 4000])
    assert all(row["verified"] is True and row["library"] for row in rows), json.dumps(rows)[:500]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("gossip", "collective 'gossip' is unknown"),
        ("allreduce --algorithm magic", "--algorithm 'magic' is unknown"),
        ("allgather --ranks 6 --algorithm recursive-doubling", "needs a power of two of ranks, not 6"),
        ("allreduce --ranks 2000000", "give at most 1048576"),
        ("bcast --bytes much", "not a size"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(refused: Refused, arguments: str, says: str) -> None:
    assert says in refused(f"predict collective {arguments}")
