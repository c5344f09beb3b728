"""Real output of OSU benchmarks, and the damages and options that its users meet."""

import re
from pathlib import Path

import pytest

from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.measure.imports import import_profile, read_tables

SAMPLES = Path(__file__).parents[3] / "data" / "osu-samples"
PINGPONGS = sorted(path for path in SAMPLES.glob("*latency*.txt") if path.name != "osu57_latency_validate.txt")
NO_PINGPONGS = {
    "osu57_bw_default.txt": "bandwidth-window-64",
    "osu74_bw_default.txt": "bandwidth-window-64",
    "osu74_bibw.txt": "bandwidth-bidirectional-window-64",
    "osu57_mbw_mr.txt": "bandwidth-pairs-1-window-64",
    "osu74_mbw_mr.txt": "bandwidth-pairs-1-window-64",
    "osu74_multi_lat.txt": "latency-multi-pair",
}
LATENCY = "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"


def _import(tmp_path: Path, text: str, **options: int) -> Profile:
    path = tmp_path / "osu.txt"
    path.write_text(text)
    return import_profile([path], "other-node", "x", **options)


def test_every_sample_is_imported_or_refused_for_its_reason() -> None:
    refused = {"osu57_latency_validate.txt", "osu74_allreduce.txt", "osu74_barrier.txt"}
    known = {path.name for path in PINGPONGS} | NO_PINGPONGS.keys() | refused
    assert {path.name for path in SAMPLES.glob("*.txt")} == known | {"imb-mpi1-pingpong-impi2021.18.txt"}


@pytest.mark.parametrize("path", PINGPONGS, ids=lambda path: path.stem)
def test_a_pingpong_becomes_the_send_curve(path: Path) -> None:
    profile = import_profile([path], "same-socket", "vm")
    curve = profile.links["same-socket"].send
    rows = [line.split() for line in path.read_text().splitlines() if re.match(r"\d", line)]
    assert [point.size_bytes for point in curve.table] == [int(row[0]) for row in rows]
    column = 2 if "tail" in path.name else 1
    for point, row in zip(curve.table, rows, strict=True):
        assert point.time_s == pytest.approx(float(row[column]) * 1e-6)
        assert point.interval_s is None  # how finely it prints says nothing of the spread
        assert curve.time_s(point.size_bytes) == pytest.approx(point.time_s)
    assert curve.statistic == ("median" if "tail" in path.name else "mean")
    # Outside the table, too, times stay positive.
    assert curve.time_s(0) > 0 and curve.time_s(1 << 30) > 0 and curve.beta_s_per_byte >= 0
    assert Profile.from_dict(profile.to_dict(), "memory").to_dict() == profile.to_dict()


def test_version_7_says_that_alpha_is_not_in_the_file() -> None:
    old = import_profile([SAMPLES / "osu57_latency_default.txt"], "other-node", "x")
    assert old.links["other-node"].send.alpha_s == pytest.approx(5.00e-6)
    assert old.links["other-node"].send.alpha_method == "time at 0 B"
    new = import_profile([SAMPLES / "osu74_latency_tail.txt"], "other-node", "x")
    curve = new.links["other-node"].send
    assert "intercept" in curve.alpha_method and curve.alpha_ci_s is None
    assert curve.alpha_s == pytest.approx(1.2e-6, rel=0.1)
    assert any("no 0 B row" in warning and "intercept" in warning for warning in new.warnings)


@pytest.mark.parametrize(("name", "variant"), NO_PINGPONGS.items())
def test_what_is_no_pingpong_is_refused_alone_and_kept_beside_one(name: str, variant: str) -> None:
    with pytest.raises(InputError, match=rf"{name}, line \d+: .*no ping-pong.*osu_latency"):
        import_profile([SAMPLES / name], "other-node", "x")
    pingpong = SAMPLES / "osu57_latency_default.txt"
    profile = import_profile([SAMPLES / name, pingpong], "other-node", "x")
    link = profile.links["other-node"]
    assert set(link.variants) == {variant}
    assert link.send.alpha_s == pytest.approx(5e-6)
    added = import_profile([SAMPLES / name], "other-node", "x", base=import_profile([pingpong], "other-node", "x"))
    assert set(added.links["other-node"].variants) == {variant}
    assert [record["kept_as"] for record in added.source["imports"]] == ["send", variant]


def test_a_bandwidth_is_the_time_of_one_message(tmp_path: Path) -> None:
    latency = SAMPLES / "osu57_latency_default.txt"
    files = [latency, SAMPLES / "osu74_bw_default.txt", SAMPLES / "osu74_bibw.txt", SAMPLES / "osu74_mbw_mr.txt"]
    variants = import_profile(files, "other-node", "x").links["other-node"].variants
    first = variants["bandwidth-window-64"].table[0]  # 0.44 MB/s at 1 B
    assert first.time_s == pytest.approx(1 / 0.44e6)
    assert (first.time_lo_s, first.time_hi_s) == (None, None)
    # Both directions are counted together: one message each way takes 2 x size / bandwidth.
    assert variants["bandwidth-bidirectional-window-64"].time_s(65536) == pytest.approx(2 * 65536 / 2722.37e6)
    # The message rate has more digits than the bandwidth.
    assert variants["bandwidth-pairs-1-window-64"].time_s(1) == pytest.approx(1 / 179233.95)
    other = import_profile(files[:2], "other-node", "x", window=8).links["other-node"]
    assert set(other.variants) == {"bandwidth-window-8"}


def test_refusals_of_what_is_not_point_to_point() -> None:
    for name, says in (
        ("osu74_allreduce.txt", "line 2: OSU's 'Allreduce Latency' test has no place in a profile: .*predict collective --osu"),
        ("osu74_barrier.txt", "line 2: OSU's 'Barrier Latency' test has no place in a profile"),
        ("osu57_latency_validate.txt", r"line 1: the benchmark printed its usage.*Invalid option \[-c\]"),
    ):
        with pytest.raises(InputError, match=says):
            import_profile([SAMPLES / name], "other-node", "x")


def test_columns_of_options_are_read(tmp_path: Path) -> None:
    text = (
        "srun: job 5 started\n# OSU MPI Latency Test v7.5\n# Datatype: MPI_CHAR.\n"
        "# Size       Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations  Validation  P50 Tail Lat(us)"
        "  P99.9 Tail Lat(us)  Transmit Size\n"
        "1 2.00 1.00 3.00 1000 Pass 1.50 9.00 1\n[node1:77] MCW rank 1 bound to socket 0\n"
        "8 2.10 1.00 3.00 1000 Pass 1.60 9.00 8\n16 2.10 1.00 3.00 1000 Pass 1.60 9.00 16\n"
    )
    curve = _import(tmp_path, text).links["other-node"].send
    assert [(p.size_bytes, p.samples) for p in curve.table] == [(1, 1000), (8, 1000), (16, 1000)]
    assert (curve.statistic, curve.table[0].time_s) == ("median", pytest.approx(1.5e-6))
    assert any("line 6: 1 line(s) of other text" in warning for warning in _import(tmp_path, text).warnings)


def test_of_several_datatypes_the_first_counts(tmp_path: Path) -> None:
    text = LATENCY + ("1 1.00\n2 1.10\n4 1.20\n# Datatype: MPI_INT.\n# Size       Avg Latency(us)\n4 9.00\n8 9.10\n16 9.20\n")
    assert _import(tmp_path, text).links["other-node"].send.time_s(1) == pytest.approx(1e-6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LATENCY + "1 1.00\n2 1.\n", "line 5: .*'1.' is not a number"),
        (LATENCY + "1 1.00\n2 1.1\n", "line 5: .*1 decimals, the rows above 2"),
        (LATENCY + "1 1.00\n2\n", "line 5: 1 columns where the header has 2"),
        (LATENCY + "1 1.00\n2 nan\n", "line 5: .*'nan' is not a number"),
        (LATENCY + "1 1.00\n2 -1.00\n", "line 5"),
        (LATENCY + "1 1.00\n-2 1.00\n", "line 5: size '-2'"),
        (LATENCY + "1 1.00\nx2 1.00\n", "line 5: size 'x2'"),
        (LATENCY + "2 1.00\n1 1.00\n", "line 5: size 1 B is out of order"),
        (LATENCY + "1 1.00\n1 1.00\n", "line 5: size 1 B stands there twice"),
        (LATENCY + "1 1.00\n2 [vm:3] rank 1 bound\n", "line 5: 5 columns.*two programs"),
        (LATENCY + "1 1.00\n2 1.10\n", "line 3: the table has 2 size.*at least 3"),
        (LATENCY, "line 3: the table has 0 size"),
        ("# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n", "line 2: the file ends before the table"),
        ("# OSU MPI Latency Test v7.4\n# Size  Colour\n1 2.00\n", "line 2: the columns 'Colour'"),
        ("# OSU MPI Latency Test v7.4\n# Size  Bandwidth (MB/s)\n1 2.00\n", "line 2: no column of latency"),
        ("# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)  Validation\n1 2.00 Fail\n", "line 3: 'Fail'"),
        ("# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)  Transmit Size\n8 2.00 4\n", "line 3: 4 of 8 B travel"),
        ("# OSU MPI_Fetch_and_op latency Test v7.4\n", "line 1: OSU's 'MPI_Fetch_and_op latency' test has no place"),
        ("# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 1 ] [ window size: varied ]\n", "line 2: window"),
    ],
)
def test_a_damaged_file_gets_its_line_and_reason(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        _import(tmp_path, text)


def test_a_bandwidth_of_zero_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "bw.txt"
    path.write_text("# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n1 0.00\n2 0.01\n4 0.02\n8 0.03\n")
    profile = import_profile([SAMPLES / "osu57_latency_default.txt", path], "other-node", "x")
    table = profile.links["other-node"].variants["bandwidth-window-64"].table
    assert [point.size_bytes for point in table] == [2, 4, 8]
    assert any("line 3" in warning and "left out" in warning for warning in profile.warnings)


@pytest.mark.parametrize("sample", PINGPONGS, ids=lambda path: path.stem)
def test_cut_anywhere_inside_a_row_is_noticed(tmp_path: Path, sample: Path) -> None:
    text = sample.read_text()
    rows = [match.span() for match in re.finditer(r"^\d.*$", text, re.MULTILINE)]
    for start, end in rows[3:]:
        for at in range(start + 1, end):
            path = tmp_path / "cut.txt"
            path.write_text(text[:at])
            with pytest.raises(InputError, match=r"line \d+"):
                read_tables(path)


def test_a_datatype_between_the_titles_and_the_rows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "seven-two.txt"
    rows = "1 1.50\n8 1.60\n64 2.10\n"
    titles = "# OSU MPI Latency Test v7.2\n# Size  Latency (us)\n"
    path.write_text(f"{titles}# Datatype: MPI_CHAR.\n{rows}\n# Datatype: MPI_INT.\n{rows}")
    tables = read_tables(path)
    assert [(table.keeps_as, table.line, len(table.points)) for table in tables] == [("send", 2, 3), ("latency-mpi-int", 2, 3)]


def test_other_lines_may_stand_between_a_datatype_and_the_titles(tmp_path: Path) -> None:
    path = tmp_path / "rates.txt"
    rows = "1 1.50 1500000.00\n8 8.00 1000000.00\n64 32.00 500000.00\n"
    table = f"# [ pairs: 2 ] [ window size: 64 ]\n\n# Size  MB/s  Messages/s\n{rows}"
    title = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n"
    path.write_text(f"{title}# Datatype: MPI_CHAR.\n{table}\n# Datatype: MPI_INT.\n{table}")
    names = [table.keeps_as for table in read_tables(path)]
    assert names == ["bandwidth-pairs-2-window-64", "bandwidth-pairs-2-window-64-mpi-int"]
