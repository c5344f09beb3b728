from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.measure.tables import profile_from_table

DATA = Path(__file__).parents[2] / "data"


def test_the_published_table_comes_in_with_its_units() -> None:
    profile = profile_from_table(DATA / "werner2023_pingpong.csv", "other-node", "jureca")
    curve = profile.links["other-node"].send
    assert curve.alpha_s == pytest.approx(2122e-9)
    assert curve.time_s(1000) == pytest.approx(2881e-9)
    assert curve.table[-1].time_hi_s - curve.table[-1].time_s == pytest.approx(1.96 * 749e-9)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1"),
        ("size,time\n1,2\n", "line 1: the header needs message_bytes"),
        ("message_bytes,latency_ns,latency_us\n1,2,3\n", "line 1"),
        ("message_bytes,latency_ns\n0,100\n8,110\n", "line 3 with 2 size.*at least 3.*add sizes"),
        ("message_bytes,latency_ns,sigma_us\n0,100,1\n8,110,1\n9,110,1\n", "line 1: sigma_us is in another unit"),
        ("message_bytes,latency_ns\n0,100\n8,fast\n", "line 3: latency_ns 'fast' is not a number"),
        ("message_bytes,latency_ns\n0,100\n8,nan\n", "line 3"),
        ("message_bytes,latency_ns\n0,100\n8,0\n", "line 3.*not a time"),
        ("message_bytes,latency_ns\n0,100\n8,-5\n", "line 3.*not a time"),
        ("message_bytes,latency_ns\n0,100\n-8,5\n", "line 3.*not a size"),
        ("message_bytes,latency_ns\n0,100\n1.5,5\n", "line 3.*not a size"),
        ("message_bytes,latency_ns\n0,100\n8\n", "line 3: latency_ns '' is not a number"),
        ("message_bytes,latency_ns\n8,100\n8,110\n", "line 3.*twice"),
        ("message_bytes,latency_ns,sigma_ns\n0,100,-1\n8,110,1\n", "line 2.*negative"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        profile_from_table(path, "other-node", "x")


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        profile_from_table(tmp_path / "none.csv", "other-node", "x")


@given(st.binary(max_size=300))
def test_any_bytes_give_a_profile_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "table.csv"
    path.write_bytes(b"message_bytes,latency_ns\n" + content)
    try:
        profile_from_table(path, "other-node", "x")
    except InputError:
        pass
