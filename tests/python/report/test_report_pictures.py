"""Pictures of messages and exchanges: well formed, deterministic, labelled, and robust against odd figures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

import sample_figures
from rankwise.machine.link import Curve, LinkModel, Point, Segment
from rankwise.machine.profile import Link, Profile
from rankwise.report.inputs import MappingInstance, validation_from_record
from rankwise.report.pictures import (
    bandwidth_picture,
    cost_picture,
    exchange_groups,
    exchange_picture,
    latency_picture,
    node_map_picture,
    summary_picture,
)
from rankwise.report.style import SizeAxis
from rankwise.workloads.comparison import Validation

_SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    """Parse a picture, check what every picture has, and return its texts."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{_SVG}svg"
    assert root.get("role") == "img"
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert str(root.get("aria-labelledby")).split() == [root[0].get("id"), root[1].get("id")]
    assert root[0].tag == f"{_SVG}title" and root[0].text
    assert root[1].tag == f"{_SVG}desc" and root[1].text
    assert not root.findall(f".//{_SVG}image") and not root.findall(f".//{_SVG}style")
    sizes = [float(size) for size in re.findall(r"font-size[:=][\" ]*([\d.]+)", svg)]
    sizes += [float(size) for size in re.findall(r"font: ?(?:bold )?([\d.]+)px", svg)]
    assert min(sizes) >= 8
    return ["".join(element.itertext()) for element in root.iter(f"{_SVG}text")]


def compared(rows: list[dict[str, object]]) -> Validation:
    return validation_from_record(sample_figures.validation_record(rows), "validate.json")


def test_latency_shows_figures_models_break_and_units(profile: Profile) -> None:
    words = texts(latency_picture("same-socket", profile.links["same-socket"]))
    for expected in ("0 B", "1 KiB", "1 MiB", "1 us", "100 us", "hockney", "piecewise", "measured, 95 % interval"):
        assert expected in words
    assert {"8112 B", "break (piecewise)"} <= set(words)
    assert {"ssend", "exchange", "exchange-gap"} <= set(words)
    assert {"size of the message", "time of one message"} <= set(words)


def test_latency_without_variants_or_zero_bytes() -> None:
    words = texts(latency_picture("other-node", Link(sample_figures.curve(sizes=(10, 100, 1000, 10000, 100000)))))
    assert "0 B" not in words
    assert "ways of sending" not in words
    assert "16 B" in words


def test_an_interpolated_table_has_no_breaks() -> None:
    points = tuple(Point(size, 1e-6 + size * 1e-9, 1e-6, 1e-6 + size * 2e-9, 10) for size in (0, 10, 100, 1000))
    segments = (Segment(0, 10, 1e-6, 1e-9), Segment(10, 100, 1e-6, 1e-9), Segment(100, None, 1e-6, 1e-9))
    model = LinkModel("piecewise", segments, "interpolation")
    curve = Curve("piecewise", 1e-6, None, 1e-9, None, 40, "mean", points, {"piecewise": model})
    assert not any(word.startswith("break") for word in texts(latency_picture("other-node", Link(curve))))


def test_odd_figures_are_drawn() -> None:
    """Intervals that do not enclose the figure or reach below 0, a model below 0, only two sizes, one of them 0 B."""
    points = (Point(0, 2e-6, -1e-7, 1.5e-6, 3), Point(100, 3e-6, 4e-6, 9e-6, 3))
    model = LinkModel("hockney", (Segment(0, None, -1e-6, 1e-9),), "least squares")
    link = Link(Curve("hockney", 2e-6, None, 1e-9, None, 6, "median", points, {"hockney": model}))
    assert "100 B" in texts(latency_picture("same-core", link))
    assert "100 B" in texts(bandwidth_picture({"same-core": link}))


def test_bandwidth_has_a_series_for_each_link_class() -> None:
    links = sample_figures.profile(("same-core", "same-socket", "other-socket", "other-node")).links
    svg = bandwidth_picture(links)
    words = texts(svg)
    assert {f"{name}, 95 % interval" for name in links} <= set(words)
    assert "1 GB/s" in words
    assert "0 B" not in words
    assert len(set(re.findall(r"stroke-dasharray: [^;\"]*", svg))) >= 3


def test_exchange_has_a_panel_for_each_mode_and_an_error_for_each_pair(validation: Validation) -> None:
    (group,) = exchange_groups(validation.comparisons)
    words = texts(exchange_picture(group, "exchange-0"))
    assert {"ssend", "isend", "measured, 95 % interval", "predicted, 95 % interval"} <= set(words)
    assert sum(bool(re.fullmatch(r"[+-]\d+ %", word)) for word in words) == 8
    assert "-24 %" in words and "5 us" in words
    assert words.count("cutoff k (layers of neighbours)") == 2


def test_exchanges_of_several_sizes_and_algorithms_are_set_apart() -> None:
    rows = [
        sample_figures.comparison(mode, k, message_bytes, algorithm=algorithm)
        for algorithm in ("shift", "direct")
        for mode in ("ssend", "isend")
        for message_bytes in (10, 1000)
        for k in (1, 2)
    ]
    groups = exchange_groups(compared(rows).comparisons)
    assert [len(group) for group in groups] == [4, 4, 4, 4]
    assert all(len({(row.exchange.algorithm, row.exchange.message_bytes) for row in group}) == 1 for group in groups)


def test_one_cutoff_and_several_sizes_are_drawn_over_size() -> None:
    rows = [sample_figures.comparison(mode, 2, size) for mode in ("ssend", "isend") for size in (0, 1000, 100000)]
    (group,) = exchange_groups(compared(rows).comparisons)
    words = texts(exchange_picture(group, "exchange-0"))
    assert "bytes of each rank's block" in words
    assert {"0 B", "1000 B", "100000 B"} <= set(words)


@pytest.mark.parametrize("count", [1, 3, 10, 40])
def test_any_number_of_cutoffs_fits(count: int) -> None:
    rows = [sample_figures.comparison(mode, k) for mode in ("ssend", "isend", "persistent") for k in range(1, count + 1)]
    (group,) = exchange_groups(compared(rows).comparisons)
    assert str(count) in texts(exchange_picture(group, "exchange-0"))


def test_errors_of_any_size_are_drawn() -> None:
    rows = [sample_figures.comparison("isend", 1, error=40.0)]
    (group,) = exchange_groups(compared(rows).comparisons)
    assert "+4000 %" in texts(exchange_picture(group, "exchange-0"))


def test_names_are_not_read_as_formulas_or_markup() -> None:
    rows = [sample_figures.comparison("$x^2$ <b>&", algorithm="$\\alpha$")]
    (group,) = exchange_groups(compared(rows).comparisons)
    assert "$x^2$ <b>&" in texts(exchange_picture(group, "exchange-0"))


def test_the_same_figures_give_the_same_bytes(
    profile: Profile, validation: Validation, mappings: list[MappingInstance]
) -> None:
    def all_pictures() -> list[str | None]:
        return [
            latency_picture("same-socket", profile.links["same-socket"]),
            bandwidth_picture(profile.links),
            exchange_picture(exchange_groups(validation.comparisons)[0], "exchange-0"),
            node_map_picture(mappings[0], "nodes-0"),
            cost_picture(mappings),
            summary_picture(profile, validation, mappings),
        ]

    assert all_pictures() == all_pictures()


def test_summary_holds_the_three_panels(profile: Profile, validation: Validation, mappings: list[MappingInstance]) -> None:
    svg = summary_picture(profile, validation, mappings)
    words = texts(svg)
    assert {"a message, same-socket", "shift, isend, 2 ranks", "blocked", "stencil-strips"} <= set(words)
    assert len(svg) < 100_000


def test_summary_needs_a_mapping_before_and_after(
    profile: Profile, validation: Validation, mappings: list[MappingInstance]
) -> None:
    blocked_only = [replace(item, results=item.results[:1]) for item in mappings]
    with pytest.raises(ValueError, match="blocked"):
        summary_picture(profile, validation, blocked_only)


def test_size_axis_breaks_before_zero_and_never_crowds() -> None:
    axis = SizeAxis.of([0, 1, 2**22])
    assert axis.place(0) < axis.place(1) == 0
    for room_pt in (60, 140, 250, 460):
        places = [axis.place(size) for size in [0, *axis.ticks(room_pt)]]
        assert all(after - before > 1 for before, after in zip(places, places[1:], strict=False))
    assert SizeAxis.of([100]).ticks(100) == [100]
    assert SizeAxis.of([100, 120]).ticks(100) == [100, 120]
    with pytest.raises(ValueError, match="0 B"):
        SizeAxis.of([1, 2]).place(0)
