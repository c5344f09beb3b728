"""What people bring from clusters: many kinds of benchmarks, several runs, and words about where the ranks were."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwise.distributions import t_quantile
from rankwise.errors import InputError
from rankwise.measure.imports import import_profile, read_tables
from rankwise.measure.imports.table import Whereabouts, find_ranks, link_between

DATA = Path(__file__).parents[3] / "data"
SAMPLES, MAPS = DATA / "cluster-samples", DATA / "osu-samples"
ROWS = "4 2.00\n8 3.00\n16 4.00\n"
OSU = "# OSU MPI{} Test v7.4\n# Size       Avg Latency(us)\n" + ROWS
PINGPONG = OSU.format(" Latency")


@pytest.mark.parametrize(
    ("name", "kept_as", "size_bytes", "time_s"),
    [
        ("osu70_latency_mt.txt", "multi-threaded-latency", 1, None),
        ("osu70_multi_lat_pairs.txt", "latency-multi-pair", 1, None),
        ("osu70_mbw_mr_pairs.txt", "bandwidth-pairs-2-window-64", 64, 2 / 22810.32),
        ("osu70_put_latency.txt", "put-latency", 1, None),
        ("osu70_get_bw.txt", "get-bandwidth-window-64", 64, None),
        ("osu70_put_bibw.txt", "put-bandwidth-bidirectional-window-64", 64, None),
        ("osu70_alltoall_full.txt", "alltoall", 1, None),
        ("osu70_ialltoall.txt", "ialltoall", 1, None),
        ("imb-mpi1-multi0.txt", "latency-multi-pair", 0, None),
        ("mpi4py_bench_pingpong.txt", "send", 1, 2.1079980e-05),
    ],
)
def test_each_kind_has_a_name_of_its_own(name: str, kept_as: str, size_bytes: int, time_s: float | None) -> None:
    table = read_tables(SAMPLES / name)[0]
    assert table.keeps_as == kept_as
    point = next(point for point in table.points if point.size_bytes == size_bytes)
    assert point.interval_s is None or point.interval_s[0] <= point.time_s <= point.interval_s[1]
    assert time_s is None or point.time_s == pytest.approx(time_s)


def test_imb_s_groups_are_one_row_between_the_least_and_the_greatest() -> None:
    tables = {table.keeps_as: table for table in read_tables(SAMPLES / "imb-mpi1-multi1.txt")}
    assert list(tables) == ["latency-multi-pair", "pingping-groups-2", "exchange-ranks-4", "alltoall-ranks-4"]
    point = tables["latency-multi-pair"].points[0]
    assert point.time_s == pytest.approx((19.90e-6 + 17.86e-6) / 2) and point.samples == 40
    assert (point.time_lo_s, point.time_hi_s) == pytest.approx((17.86e-6, 19.90e-6))
    names = [table.keeps_as for table in read_tables(SAMPLES / "imb-mpi1-pingping-exchange-alltoall.txt")]
    assert names == ["pingping", "exchange-ranks-2", "alltoall-ranks-2"]


@pytest.mark.parametrize(
    ("title", "kept_as"),
    [
        (" Latency Persistent", "persistent-latency"),
        (" Neighborhood All-to-Allv Latency", "neighbor-alltoallv"),
        (" Non-blocking Neighborhood Allgather Latency", "ineighbor-allgather"),
        (" All-to-Allw Personalized Exchange Latency", "alltoallw"),
        ("-CUDA Latency", "latency-cuda"),
        ("_Get latency", "get-latency"),
        ("_Put-CUDA Latency", "put-latency-cuda"),
    ],
)
def test_a_title_says_what_was_counted(tmp_path: Path, title: str, kept_as: str) -> None:
    (tmp_path / "a.txt").write_text(OSU.format(title))
    assert [table.keeps_as for table in read_tables(tmp_path / "a.txt")] == [kept_as]


def test_every_datatype_of_t_all_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "# OSU MPI Latency Test v7.4\n"
        + "".join(f"# Datatype: {kind}.\n# Size       Avg Latency(us)\n{ROWS}" for kind in ("MPI_CHAR", "MPI_INT", "MPI_FLOAT"))
    )
    profile = import_profile([tmp_path / "a.txt"], "same-socket", "vm")
    assert list(profile.links["same-socket"].variants) == ["latency-mpi-int", "latency-mpi-float"]


def test_buffers_on_a_device_are_kept_as_such(tmp_path: Path) -> None:
    text = (
        "# OSU MPI-CUDA Latency Test v7.4\n# Send Buffer on {} and Receive Buffer on HOST (H)\n# Size       Avg Latency(us)\n"
        + ROWS
    )
    (tmp_path / "host.txt").write_text(text.format("HOST (H)"))
    (tmp_path / "device.txt").write_text(text.format("DEVICE (D)"))
    link = import_profile([tmp_path / "host.txt", tmp_path / "device.txt"], "other-node", "vm").links["other-node"]
    assert list(link.variants) == ["latency-device-to-host"]


def test_several_runs_are_one_table_with_their_spread(tmp_path: Path) -> None:
    paths = [tmp_path / f"run-{i}.txt" for i in range(3)]
    for path, shift in zip(paths, (-0.1, 0.0, 0.1), strict=True):
        path.write_text(
            f"# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n4 {2 + shift:.2f}\n8 {3 + shift:.2f}\n16 4.00\n"
        )
    paths[2].write_text(paths[2].read_text() + "32 9.00\n")
    profile = import_profile(paths, "other-node", "vm")
    first = profile.links["other-node"].send.table[0]
    assert first.time_s == pytest.approx(2e-6)
    assert first.time_hi_s - first.time_s == pytest.approx(t_quantile(0.975, 2) * 0.1e-6 / 3**0.5)
    assert any("mean of 3 runs" in warning and "1 row(s)" in warning for warning in profile.warnings)
    assert len(profile.source["imports"]) == 3
    with pytest.raises(InputError, match="is named twice"):
        import_profile([paths[0], paths[0]], "other-node", "vm")
    paths[1].write_text("# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)\n4 20.00\n8 30.00\n16 40.00\n")
    apart = import_profile(paths, "other-node", "vm")
    assert any("run-1.txt takes 10" in warning and "same link?" in warning for warning in apart.warnings)


MAP = """Data for node: {0}\tState: 3
        Data for proc: [prterun-vm-1@1,0]
        \tBinding: package[0][core:L0]
Data for node: {1}\tState: 3
        Data for proc: [prterun-vm-1@1,1]
        \tBinding: package[{2}][core:L{3}]
"""


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (MAP.format("n1", "n2", 0, 0), "other-node"),
        (MAP.format("n1", "n1", 0, 1), "same-socket"),
        (MAP.format("n1", "n1.domain", 1, 8), "other-socket"),
        (MAP.format("n1", "n1", 0, 0), "same-core"),
        (
            "[n1:7] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/.]\n[n1:7] MCW rank 1 bound to socket 1[core 9[hwt 0]]: "
            "[./B]\n",
            "other-socket",
        ),
        ("[n1:7] Rank 0 bound to package[0][core:0]\n[n2:9] Rank 1 bound to package[0][core:0]\n", "other-node"),
        (
            "[0] MPI startup(): 0       4242     n1         {0,1}\n[0] MPI startup(): 1       4243     n2         {0}\n",
            "other-node",
        ),
        ("Hello, World! I am process 0 of 2 on n1.\nHello, World! I am process 1 of 2 on n2.\n", "other-node"),
        ("rank 0 on host n1\nrank 1 on host n1\n", None),
        ("nothing of the kind\n", None),
    ],
)
def test_the_link_is_read_where_a_file_tells_it(tmp_path: Path, text: str, link: str | None) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text + PINGPONG)
    if link is not None:
        assert list(import_profile([path], None, "vm").links) == [link]
        return
    with pytest.raises(InputError, match="does not say between whom it was measured .*add --link same-core, .* or other-node"):
        import_profile([path], None, "vm")
    assert list(import_profile([path], "other-socket", "vm").links) == ["other-socket"]


def test_a_link_that_the_file_contradicts_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(MAP.format("n1", "n2", 0, 0) + PINGPONG)
    profile = import_profile([tmp_path / "a.txt"], "same-socket", "vm")
    assert list(profile.links) == ["same-socket"] and "the ranks were other-node" in profile.warnings[0]


def test_the_real_maps_of_open_mpi() -> None:
    for name in ("ompi5_osu74_latency_displaymap_bindcore.txt", "ompi4deb_osu74_latency_reportbindings.txt"):
        ranks = find_ranks((MAPS / name).read_text().splitlines())
        assert len(ranks) == 2 and ranks[0].host == "vm"
        assert link_between(ranks, neighbours=True) in ("same-socket", "same-core")
    # Pairs of osu_mbw_mr are a rank of the first half and one of the second.
    four = {0: Whereabouts("a"), 1: Whereabouts("a"), 2: Whereabouts("b"), 3: Whereabouts("b")}
    assert (link_between(four, neighbours=False), link_between(four, neighbours=True)) == ("other-node", None)
