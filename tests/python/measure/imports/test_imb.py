from pathlib import Path

import pytest

from rankwise.errors import InputError
from rankwise.measure.imports import import_profile

SAMPLE = Path(__file__).parents[3] / "data" / "osu-samples" / "imb-mpi1-pingpong-impi2021.18.txt"
HEAD = "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"
PINGPONG = "# Benchmarking PingPong \n# #processes = 2 \n       #bytes #repetitions      t[usec]   Mbytes/sec\n"
SENDRECV = (
    "# Benchmarking Sendrecv \n# #processes = 4 \n"
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
)
ROWS = (
    "            0         1000         0.50         0.00\n            8         1000         0.60        13.33\n"
    "           12         1000         0.60        20.00\n"
)


def test_a_pingpong_is_the_send_curve() -> None:
    curve = import_profile([SAMPLE], "same-socket", "x").links["same-socket"].send
    assert len(curve.table) == 24
    assert curve.alpha_s == pytest.approx(1298.95e-6)
    assert curve.time_s(4194304) == pytest.approx(14976.21e-6)
    assert (curve.table[-1].samples, curve.statistic) == (10, "mean")


def test_a_ring_is_a_variant_and_other_benchmarks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "imb.txt"
    ring = "0 1000 0.70 0.90 0.80 0.00\n8 1000 0.80 1.00 0.90 17.78\n16 1000 0.80 1.00 0.90 35.56\n"
    others = (
        "# Benchmarking Allreduce \n       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n0 1000 1.00 1.00 1.00\n"
    )
    path.write_text(HEAD + PINGPONG + ROWS + "\n\n" + SENDRECV + ring + others)
    profile = import_profile([path], "other-node", "x")
    assert profile.links["other-node"].variants["sendrecv-ranks-4"].alpha_s == pytest.approx(0.8e-6)
    assert any("Allreduce (line" in warning for warning in profile.warnings)


def test_a_size_without_a_figure_is_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "imb.txt"
    path.write_text(HEAD + PINGPONG + ROWS + '  16  out-of-mem.; needed X=  0.5 GB; use flag "-mem X"\n')
    profile = import_profile([path], "other-node", "x")
    assert len(profile.links["other-node"].send.table) == 3
    assert any("no figure at 16 B" in warning for warning in profile.warnings)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD, "holds no benchmark"),
        (HEAD + "# Benchmarking Barrier \n", r"only Barrier \(line 2\): give the output"),
        (HEAD + "# Benchmarking PingPong \n", "line 2: the file ends before the table"),
        (HEAD + PINGPONG.replace("t[usec]", "t[msec]") + ROWS, "line 4: PingPong prints"),
        (HEAD + PINGPONG + ROWS + "16 1000 0.7", "line 8: 3 columns"),
        (HEAD + PINGPONG + ROWS + "4 1000 0.70 1.00\n", "line 8: size 4 B is out of order"),
        (
            HEAD + PINGPONG.replace("Mbytes/sec", "Mbytes/sec defects") + "0 10 1.00 0.00 0.00\n8 10 1.00 8.00 3.00\n",
            "line 6: wrong bytes",
        ),
        (HEAD + PINGPONG + "0 10 1.00 0.00\n8 10 1.00 8.00\n", "line 4: the table has 2 size.*at least 3"),
        (HEAD + SENDRECV + "0 10 1.00 1.00 1.00 0.00\n8 10 1.00 1.00 1.00 8.00\n16 10 1.00 1.00 1.00 16.00\n", "no ping-pong"),
    ],
)
def test_a_damaged_file_gets_its_line_and_reason(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "imb.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        import_profile([path], "other-node", "x")
