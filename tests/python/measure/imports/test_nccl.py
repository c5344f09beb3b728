"""What nccl-tests print, by their source (src/util.cu of version 2.19): written here, with figures that fit."""

from pathlib import Path

import pytest

from rankwise.errors import InputError
from rankwise.measure.imports import import_profile, read_tables

PINGPONG = "# OSU MPI Latency Test v7.4\n# Size Latency (us)\n1 2.00\n8 2.10\n64 2.20\n"
UNITS = "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
TITLES = "size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
ROWS = (  # of two ranks: a size of 2,000 B is 1,000 B to each in an all-to-all
    "        2000           500     float    none      -1    10.00    0.20    0.20       0    11.00    0.18    0.18     N/A\n"
    "     4000000       1000000     float    none      -1    100.0   40.00   40.00       0    101.0   39.60   39.60     N/A\n"
    "  8000000000    2000000000     float    none      -1   160000   50.00   50.00       0  1.6e+05   50.00   50.00     N/A\n"
)


def output(test: str = "sendrecv", ranks: int = 2, rows: str = ROWS, titles: str = TITLES, hosts: int = 1) -> str:
    devices = "".join(
        f"# Rank {rank:2} Group  0 Pid {4000 + rank} on  node{rank * hosts // ranks:03} device {rank:2} [0000:0{rank}:00] A\n"
        for rank in range(ranks)
    )
    return (
        "node000:4000 [0] NCCL INFO Bootstrap: Using eth0\n# nccl-tests version 2.18.3 nccl-headers=23003 nccl-library=23003\n"
        f"# Collective test starting: {test}_perf\n# nThread 1 nGpus 1 minBytes 2000 maxBytes 8000000000 step: 2(factor) "
        f"warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n{devices}#\n"
        f"#                                        out-of-place                       in-place\n# {titles}\n{UNITS}{rows}"
        "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 30.0667 \n#\n# Collective test concluded: sendrecv_perf\n"
    )


def test_a_ring_stands_beside_the_send_curve_by_what_a_rank_sends(tmp_path: Path) -> None:
    (tmp_path / "ring.txt").write_text(output())
    (tmp_path / "pingpong.txt").write_text(PINGPONG)
    profile = import_profile([tmp_path / "ring.txt", tmp_path / "pingpong.txt"], "other-node", "x")
    ring = profile.links["other-node"].variants["sendrecv-ranks-2-nccl"]
    assert [(point.size_bytes, point.time_s, point.samples) for point in ring.table] == [
        (2000, pytest.approx(10e-6), 20), (4_000_000, pytest.approx(100e-6), 20), (8_000_000_000, pytest.approx(0.16), 20)
    ]  # fmt: skip
    (record,) = (one for one in profile.source["imports"] if "nccl" in one["program"])
    assert record["program"] == "nccl-tests 2.18.3 sendrecv_perf"


@pytest.mark.parametrize(("test", "name"), [("alltoall", "alltoall"), ("all_gather", "allgather")])
def test_a_message_of_a_collective_is_one_ranks_part(tmp_path: Path, test: str, name: str) -> None:
    path = tmp_path / "all.txt"
    nothing = "           0             0     float    none      -1     9.00    0.00    0.00       0     9.00  0.00 0.00 N/A\n"
    path.write_text(output(test, ranks=4, rows=2 * nothing + ROWS))
    (table,) = read_tables(path)
    assert (table.keeps_as, table.told) == (f"{name}-ranks-4-nccl", None)
    assert [point.size_bytes for point in table.points] == [500, 1_000_000, 2_000_000_000]
    assert sum("nothing was sent at 0 B" in note for note in table.notes) == 2


def test_where_ranks_were_is_read_of_their_devices(tmp_path: Path) -> None:
    path = tmp_path / "ring.txt"
    path.write_text(output(hosts=2))
    assert read_tables(path)[0].told == "other-node"


def test_older_and_newer_columns_are_read_by_their_titles(tmp_path: Path) -> None:
    path = tmp_path / "ring.txt"
    rows = [row.split() for row in ROWS.splitlines()]
    old = "".join(" ".join([*row[:3], *row[5:8], "2e-07", *row[9:12], "N/A"]) + "\n" for row in rows)
    path.write_text(output(rows=old, titles="size count type time algbw busbw error time algbw busbw error"))
    assert [point.time_s for point in read_tables(path)[0].points] == pytest.approx([1e-5, 1e-4, 0.16])
    timed = TITLES + " timestamp"
    path.write_text(output(rows=ROWS.replace("N/A\n", "N/A  2026-01-02 03:04:05\n"), titles=timed))
    assert len(read_tables(path)[0].points) == 3
    each = TITLES.replace("#wrong", "#wrong i_min i_max i_p99 i_cv%")
    of_each = "".join(" ".join([*row[:9], "9.0 12.0 11.5 3.1", *row[9:], "9.0 12.0 11.5 3.1"]) + "\n" for row in rows)
    path.write_text(output(rows=of_each, titles=each))
    assert len(read_tables(path)[0].points) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (output("all_reduce"), "all_reduce_perf has no place in a profile: give the output of sendrecv_perf"),
        (output().replace("# Collective test starting: sendrecv_perf\n", ""), "nothing above the table says which test it was"),
        (output(ranks=1), "1 device.s. stand under '# Using devices'"),
        (output().replace("Rank  1", "Rank  0"), "rank 0 stands there twice: each process ran a test of its own"),
        (output(titles=TITLES.replace("time", "cputime")), "run it without -C"),
        (output(rows=ROWS.replace(" 0    11", " 3    11")), "line 13: wrong values arrived"),
        (output().replace("values : 0 OK", "values : 7 FAILED"), "line 16: wrong values arrived"),
        (output(rows=ROWS + "  9000000000  225\n"), "line 16: 2 columns where the header has 13"),
        (output(rows=ROWS.replace("100.0 ", "10.00 ")), "line 14: 4000000 B in 10 us are not 40 GB/s"),
        (output(rows=ROWS.replace("100.0 ", "1oo.0 ")), "line 14: time '1oo.0' is not a number"),
        (output(rows=ROWS + ROWS.splitlines()[0] + "\n"), "size 2000 B is out of order"),
        (output("alltoall", ranks=3), "line 14: 2000 B do not go round among 3 devices"),
        (output().split("# Rank")[0], "the file ends before a table of nccl-tests begins"),
    ],
)  # fmt: skip
def test_what_is_damaged_or_is_no_message_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "ring.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_tables(path)
