from pathlib import Path
from xml.etree import ElementTree

import pytest

from rankwise.machine.profile import Profile
from rankwise.measure.export import csv_text, osu_text, simgrid_text
from rankwise.measure.imports import import_profile

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def profile() -> Profile:
    samples = DATA / "osu-samples"
    base = import_profile([samples / "osu57_latency_default.txt", samples / "osu74_bw_default.txt"], "other-node", "vm")
    return import_profile([DATA / "werner2023_pingpong.csv"], "same-socket", "vm", base=base)


def test_csv_comes_back_to_the_last_digit(tmp_path: Path, profile: Profile) -> None:
    path = tmp_path / "machine.csv"
    path.write_text(csv_text(profile))
    again = import_profile([path], "same-core", "vm")
    assert {name: link.to_dict() for name, link in again.links.items()} == {
        name: link.to_dict() for name, link in profile.links.items()
    }


def test_text_like_osu_s_comes_back(tmp_path: Path, profile: Profile) -> None:
    path = tmp_path / "osu.txt"
    path.write_text(osu_text(profile, "other-node"))
    curve = import_profile([path], "other-node", "vm").links["other-node"].send
    for point, before in zip(curve.table, profile.links["other-node"].send.table, strict=True):
        assert (point.size_bytes, point.time_s) == (before.size_bytes, pytest.approx(before.time_s))
    assert curve.statistic == "mean"
    measured = csv_text(profile).replace(",mean\n", ",median\n")
    (tmp_path / "median.csv").write_text(measured)
    medians = import_profile([tmp_path / "median.csv"], "other-node", "vm")
    path.write_text(osu_text(medians, "other-node"))
    assert import_profile([path], "other-node", "vm").links["other-node"].send.statistic == "median"


def _smpi_time_s(platform: str, size: int) -> float:
    """SMPI's time of a message: a factor holds for sizes above its threshold, and 1 below the first."""
    root = ElementTree.fromstring(platform)
    props = {prop.get("id", ""): prop.get("value", "") for prop in root.iter("prop")}
    link = next(root.iter("link"))

    def factor(name: str) -> float:
        value = 1.0
        for part in props[name].split(";"):
            threshold, number = part.split(":")
            if size > int(threshold):
                value = float(number)
        return value

    latency_s = float(link.get("latency", "").removesuffix("s"))
    bandwidth = float(link.get("bandwidth", "").removesuffix("Bps"))
    return latency_s * factor("smpi/lat-factor") + size / (bandwidth * factor("smpi/bw-factor"))


def test_simgrid_s_platform_gives_the_table_s_times(profile: Profile) -> None:
    text = simgrid_text(profile, "same-socket")
    assert text.startswith("<?xml")
    for point in profile.links["same-socket"].send.table:
        assert _smpi_time_s(text, point.size_bytes) == pytest.approx(point.time_s, rel=0.25), point.size_bytes
    root = ElementTree.fromstring(text)
    hosts = {host.get("id") for host in root.iter("host")}
    assert {(route.get("src"), route.get("dst")) for route in root.iter("route")} == {
        (a, b) for a in hosts for b in hosts if a != b
    }
