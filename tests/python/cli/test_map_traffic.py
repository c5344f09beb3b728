"""``rankwise map --observed`` and ``--graph`` on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankwise.observe.record import Record, write_record
from verbs import Rankwise, Refused

RANKS = 8


@pytest.fixture
def record() -> Path:
    """Eight ranks on four nodes, dealt out one by one; those with numbers r and
    r ^ 1 send to each other, and to r + 2 a little."""
    pairs = sorted({(r, r ^ 1): 900_000 for r in range(RANKS)} | {(r, (r + 2) % RANKS): 1000 for r in range(RANKS)})
    sent = [900_000 if b == a ^ 1 else 1000 for a, b in pairs]
    edges = len(pairs)
    none = np.full(RANKS, -1, np.int32)
    write_record(
        Path("app.comm"),
        Record(
            {"calls": []}, RANKS, ("a", "b", "c", "d"), np.arange(RANKS, dtype=np.int32) % 4, none, none,
            np.arange(0, edges + 1, 2), np.array([b for _, b in pairs], np.uint32), np.full(edges, 10, np.uint64),
            np.array(sent, np.uint64), np.zeros(edges, np.uint64), np.zeros((edges, 32), np.uint32),
        ),
    )  # fmt: skip
    return Path("app.comm")


def test_an_observed_program_is_placed_on_its_own_nodes(rankwise: Rankwise, record: Path, two_level_profile: Path) -> None:
    done = rankwise(f"map --observed {record} --profile {two_level_profile} --with-mapping --json").json
    assert done["nodes"] == [2] * 4 and done["hosts"] == ["a", "b", "c", "d"] and done["rounds"] == 10
    rows = {row["algorithm"]: row for row in done["results"]}
    assert rows["observed"]["bytes_between_nodes"] == RANKS * 901_000
    assert rows["refined"]["bytes_between_nodes"] == RANKS * 1000
    assert rows["refined"]["time_s"] < rows["observed"]["time_s"] / 2
    nodes = rows["refined"]["node_of_cell"]
    assert all(nodes[r] == nodes[r ^ 1] for r in range(RANKS))
    out = rankwise(f"map --observed {record}").out
    assert out.startswith("✓ Take blocked: 8 kB between nodes instead of 7.21 MB as observed (-99.9 %).")


@pytest.mark.parametrize(
    ("kind", "first", "use"),
    [
        ("hydra-hostfile", "a:2", "mpiexec -f FILE -rankmap 0,0,1,1,2,2,3,3 -n 8 PROGRAM"),
        ("openmpi-seq", "a", "mpirun --hostfile FILE --map-by seq --bind-to none -n 8 PROGRAM"),
        ("openmpi-rankfile", "rank 0=a slot=0", "mpirun --host a:2,b:2,c:2,d:2 --map-by rankfile:file=FILE -n 8 PROGRAM"),
        ("slurm-hostfile", "a", "SLURM_HOSTFILE=FILE srun --mpi=pmix --distribution=arbitrary -n 8 PROGRAM"),
        ("intel-machinefile", "a:1", "mpiexec -machinefile FILE -n 8 PROGRAM"),
        ("flux-taskmap", "a", "flux run --taskmap=hostfile:FILE -N4 -n8 PROGRAM"),
        ("cray-rank-order", "0,1,", "MPICH_RANK_REORDER_METHOD=3"),
    ],
)  # fmt: skip
def test_every_launcher_gets_its_file_and_the_exact_command(
    rankwise: Rankwise, record: Path, kind: str, first: str, use: str
) -> None:
    done = rankwise(f"map --observed {record} --algorithm blocked --format {kind}")
    assert [line for line in done.out.splitlines() if not line.startswith("#")][0] == first
    assert use in done.err
    assert ("beware" in done.err) == (kind not in ("hydra-hostfile", "openmpi-seq"))


def test_a_graph_needs_nodes_and_takes_hosts(rankwise: Rankwise, refused: Refused) -> None:
    Path("g.mtx").write_text("%%MatrixMarket matrix coordinate real symmetric\n4 4 2\n3 1 8\n4 2 8\n")
    assert "give --nodes and --ppn" in refused("map --graph g.mtx")
    done = rankwise("map --graph g.mtx --hosts x,y --json").json
    assert done["hosts"] == ["x", "y"] and done["nodes"] == [2, 2]
    assert "has 4 ranks but --nodes 2 x --ppn 1 are 2 ranks" in refused("map --graph g.mtx --hosts x,y --ppn 1")
    assert min(row["bytes_between_nodes"] for row in done["results"]) == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--nodes 3 --ppn 2", "give --nodes 4"),
        ("--grid 2x4", "leave --grid"),
        ("--algorithm kd-tree", "not for a program's traffic"),
        ("--graph g", "two programs"),
        ("--hosts a,b,c,d,e,f,g,h,i", "at most one a rank"),
        ("--threads 0", "0 threads are out of range"),
        ("--threads 5000", "5000 threads are out of range"),
        ("--steps -1", "-1 steps are out of range"),
        ("--effort 1s --steps 10", "give one of them"),
        ("--halo 2", "--halo is for --mesh: leave"),
        ("--ranks 8", "--ranks is for --mesh: leave"),
        ("--slots 8x2", "--slots is for --grid: leave"),
        ("--weights 1,1", "--weights is for --grid: leave"),
        *((f"{option} {value}", f"{option} is for --grid and --mesh: leave {option} out with --observed") for option, value in
            (("--stencil", "moore:1"), ("--periodic", "all"), ("--bytes", "64"))),
        *((option, f"{option} is for --grid and --mesh: leave") for option in ("--prove", "--front", "--int64")),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(refused: Refused, record: Path, words: str, why: str) -> None:
    assert why in refused(f"map --observed {record} {words}")


@pytest.fixture
def four() -> tuple[str, ...]:
    """Four ranks on two nodes: blocked 42 B cross, best 30 B."""
    Path("g.metis").write_text("4 4 001\n2 10 4 1\n1 10 3 20\n2 20 4 5\n3 5 1 1\n")
    return ("map", "--graph", "g.metis", "--nodes", "2", "--ppn", "2")


@pytest.mark.parametrize(
    "words", [["--levels=switch:1"], ["--levels=switch:2*5"], ["--algorithm", "refined,cyclic"], ["--machine", "frontier"]]
)
def test_every_placement_is_held_against_what_launchers_do(rankwise: Rankwise, four: tuple[str, ...], words: list[str]) -> None:
    out = rankwise(*four, *words).out
    assert out.startswith("✓ Take refined: 30 B between nodes instead of 42 B as blocked (-28.6 %)")
    assert any(line.startswith("blocked ") and "best" not in line for line in out.splitlines())


def test_a_placement_that_sends_more_between_switches_is_not_taken(rankwise: Rankwise) -> None:
    """Two rings of four ranks, linked a little, on nodes of two: a ring shares a switch, or the link does."""
    ring = [(4 * half + i, 4 * half + (i + 1) % 4) for half in (0, 1) for i in range(4)]
    lines = [f"{a + 1} {b + 1} 8" for a, b in ring] + ["1 5 1"]
    Path("g.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n8 8 9\n" + "\n".join(lines) + "\n")
    Path("other").write_text("rank,node\n" + "".join(f"{rank},{node}\n" for rank, node in enumerate([0, 0, 2, 2, 1, 1, 3, 3])))
    asked = "map --graph g.mtx --nodes 4 --ppn 2 --levels switch:2*5 --compare other"
    record = rankwise(f"{asked} --json").json
    between = record["above"][0]["bytes"]
    assert {row["algorithm"]: row["j_sum"] for row in record["results"]}["other"] == 33
    assert (between["refined"], between["other"]) == (1, 32)
    out = rankwise(f"{asked} --algorithm cyclic").out
    assert out.startswith("✓ Nothing to gain: no other placement here is better than blocked.")
    assert "A byte between nodes of one switch costs 1, between switches 5." in out


def test_the_nodes_of_a_program_s_ranks_can_be_drawn(rankwise: Rankwise, four: tuple[str, ...]) -> None:
    assert rankwise(*four, "--plot", "g.svg").code == 0
    picture = Path("g.svg").read_text()
    assert "Nodes of the 4 ranks of g.metis" in picture and "30 B between nodes, 15 B of the busiest" in picture


def test_where_no_placement_asked_for_is_better_the_ranks_stay(rankwise: Rankwise, four: tuple[str, ...], record: Path) -> None:
    out = rankwise(*four, "--algorithm", "cyclic").out
    assert out.startswith("✓ Nothing to gain: no other placement here is better than blocked.")
    assert rankwise(*four, "--algorithm", "cyclic", "--json").json["recommended"] == "cyclic"
    out = rankwise(f"map --observed {record} --algorithm refined").out
    assert "as observed (-99.9 %)" in out.splitlines()[0]
