from dataclasses import replace
from pathlib import Path

import pytest

from rankwise.errors import InputError
from rankwise.measure.imports import import_profile

DATA = Path(__file__).parents[3] / "data"


def test_the_published_table_comes_in_with_its_units() -> None:
    profile = import_profile([DATA / "werner2023_pingpong.csv"], "other-node", "jureca")
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
        ("message_bytes,time_ns,time_lo_us\n0,100,1\n8,110,1\n9,110,1\n", "line 1: time_lo_us is in another unit"),
        ("sending,message_bytes,time_ns\nsend,0,1\nsend,1,1\nsend,2,1\nssend,0,2\n", "line 5: the table ssend ends.*1 size"),
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
        import_profile([path], "other-node", "x")


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none.csv does not exist"):
        import_profile([tmp_path / "none.csv"], "other-node", "x")


def test_columns_for_link_sending_interval_and_samples_are_read(tmp_path: Path) -> None:
    path = tmp_path / "all.csv"
    path.write_text(
        "link,sending,size_bytes,time_us,time_lo_us,time_hi_us,samples\n"
        "same-socket,send,0,1,0.9,1.2,30\nsame-socket,send,8,2,2,2,30\nsame-socket,send,9,2,2,2,30\n"
        "same-socket,ssend,0,3,3,3,1\nsame-socket,ssend,8,4,4,4,1\nsame-socket,ssend,9,4,4,4,1\n"
    )
    link = import_profile([path], "other-node", "x").links["same-socket"]
    first = link.send.table[0]
    assert (first.time_s, first.time_lo_s, first.time_hi_s) == pytest.approx((1e-6, 0.9e-6, 1.2e-6))
    assert (first.samples, link.variants["ssend"].alpha_s) == (30, pytest.approx(3e-6))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("wormhole,send,8,1,1,1,1", "'wormhole' is no link class"),
        ("same-core,../x,8,1,1,1,1", "no name"),
        ("same-core,send,8,1,2,1,1", "upside down"),
        ("same-core,send,8,1,1,1,0.5", "not a count"),
    ],
)
def test_wrong_values_in_the_further_columns_are_refused(tmp_path: Path, row: str, says: str) -> None:
    path = tmp_path / "all.csv"
    path.write_text(f"link,sending,size_bytes,time_us,time_lo_us,time_hi_us,samples\n{row}\n")
    with pytest.raises(InputError, match=f"line 2.*{says}"):
        import_profile([path], "other-node", "x")


def test_a_new_send_curve_drops_what_was_said_of_the_old_one() -> None:
    path = DATA / "werner2023_pingpong.csv"
    base = import_profile([path], "other-node", "x")
    link = replace(base.links["other-node"], reason="asked for", reference_loop_s=1e-5)
    new = import_profile([path], "other-node", "x", base=replace(base, links={"other-node": link})).links["other-node"]
    assert (new.reason, new.reference_loop_s) == (None, None)
