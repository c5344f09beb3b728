"""Pictures of messages and exchanges: well formed, deterministic, labelled, and robust against odd figures."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sample_figures
from rankwise.machine.link import Curve, LinkModel, Point, Segment
from rankwise.machine.profile import Link, Profile
from rankwise.report.chart import Chart, SizeAxis
from rankwise.report.exchanges import exchange_groups, exchange_picture
from rankwise.report.inputs import MappingInstance, validation_from_record
from rankwise.report.links import link_picture, links_picture
from rankwise.workloads.comparison import Validation

DOCS = Path(__file__).parents[3] / "docs"
_SVG = "{http://www.w3.org/2000/svg}"


def texts(chart: Chart) -> list[str]:
    """Draw a picture, check what every picture has, and return its texts."""
    root = ElementTree.fromstring(chart.svg())
    assert root.tag == f"{_SVG}svg"
    assert root.get("role") == "img"
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids)) and all(str(name).startswith(f"{chart.name}-") for name in ids)
    assert str(root.get("aria-labelledby")).split() == [root[0].get("id"), root[1].get("id")]
    assert root[0].tag == f"{_SVG}title" and root[0].text
    assert root[1].tag == f"{_SVG}desc" and root[1].text
    assert not root.findall(f".//{_SVG}image") and not root.findall(f".//{_SVG}style")
    assert min(float(element.get("font-size", "99px").removesuffix("px")) for element in root.iter()) >= 10
    stops = {row["stop"] for row in data_of(chart.panels) if row.get("stop") is not None}
    assert stops == set(range(len(chart.stops))) if chart.stops else not stops
    return ["".join(element.itertext()) for element in root.iter(f"{_SVG}text")]


def data_of(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all rows of data in a spec."""
    if isinstance(value, dict):
        data = value.get("data")
        yield from data.get("values", []) if isinstance(data, dict) else []
        value = list(value.values())
    for part in value if isinstance(value, list) else []:
        yield from data_of(part)


def compared(rows: list[dict[str, object]]) -> Validation:
    return validation_from_record(sample_figures.validation_record(rows), "validate.json")


def test_a_link_shows_figures_models_break_and_units(profile: Profile) -> None:
    chart = link_picture("same-socket", profile.links["same-socket"])
    words = texts(chart)
    for expected in ("0 B", "4 KiB", "1 us", "100 us", "hockney", "piecewise", "break 8112 B"):
        assert expected in words
    assert {"ssend", "exchange", "exchange-gap"} <= set(words)
    assert "size of the message" in words
    assert chart.stops[0].startswith("At 0 B: send 3") and "(model 310 ns)" in chart.stops[0]


def test_a_link_without_variants_or_zero_bytes() -> None:
    words = texts(link_picture("other-node", Link(sample_figures.curve(sizes=(10, 100, 1000, 10000, 100000)))))
    assert "0 B" not in words
    assert "modes, measured" not in words
    assert "16 B" in words


def test_an_interpolated_table_has_no_breaks() -> None:
    points = tuple(Point(size, 1e-6 + size * 1e-9, 1e-6, 1e-6 + size * 2e-9, 10) for size in (0, 10, 100, 1000))
    segments = (Segment(0, 10, 1e-6, 1e-9), Segment(10, 100, 1e-6, 1e-9), Segment(100, None, 1e-6, 1e-9))
    model = LinkModel("piecewise", segments, "interpolation")
    curve = Curve("piecewise", 1e-6, None, 1e-9, None, 40, "mean", points, {"piecewise": model})
    assert not any(word.startswith("break") for word in texts(link_picture("other-node", Link(curve))))


def test_odd_figures_are_drawn() -> None:
    """Intervals that do not enclose the figure or reach below 0, a model below 0, only two sizes, one of them 0 B."""
    points = (Point(0, 2e-6, -1e-7, 1.5e-6, 3), Point(100, 3e-6, 4e-6, 9e-6, 3))
    model = LinkModel("hockney", (Segment(0, None, -1e-6, 1e-9),), "least squares")
    link = Link(Curve("hockney", 2e-6, None, 1e-9, None, 6, "median", points, {"hockney": model}))
    assert "100 B" in texts(link_picture("same-core", link))
    assert "100 B" in texts(links_picture({"same-core": link}))


def test_all_links_stand_in_one_picture_with_what_lies_behind_a_point() -> None:
    links = sample_figures.profile(("same-core", "same-socket", "other-socket", "other-node")).links
    launches = {"same-core": {0: [[2e-7, 3e-7, 3e-7], [4e-7]], 8: [[3e-7 + 1e-12 * i for i in range(5000)]]}}
    chart = links_picture(links, launches, 1000)
    words = texts(chart)
    assert set(links) <= set(words)
    assert {"1 GB/s", "here: 1000 B", "Bandwidth: size / time"} <= set(words)
    sampled = [row for layer in chart.panels[0]["layer"] if "flatten" in str(layer) for row in layer["data"]["values"]]
    assert [sorted(row["samples"]) for row in sampled][0] == [2e-7, 3e-7, 3e-7, 4e-7] and len(sampled[1]["samples"]) <= 401
    assert "in 2 launches of 300 ns to 400 ns" in chart.stops[0] and "same-socket" in chart.stops[0]
    assert len(set(re.findall(r'stroke-dasharray="[^"]*"', chart.svg()))) >= 3


def test_exchange_has_a_panel_for_each_mode_and_an_error_for_each_pair(validation: Validation) -> None:
    (group,) = exchange_groups(validation.comparisons)
    chart = exchange_picture(group, "exchange-0")
    words = texts(chart)
    assert {"ssend", "isend", "measured", "predicted"} <= set(words)
    assert sum(bool(re.fullmatch(r"[+-]\d+ %", word)) for word in words) == 8
    assert "-24 %" in words and "6 us" in words
    assert words.count("cutoff k (layers of neighbours)") == 2
    assert chart.stops[0].startswith("ssend, k = 1, 1000 B: measured 2.11 us (2.05 to 2.20), predicted ")


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
    assert {"0 B", "1000 B", "100 kB"} <= set(words)


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


def test_pictures_are_drawn_anew_at_each_width(profile: Profile) -> None:
    chart = link_picture("same-socket", profile.links["same-socket"])
    assert [chart.fitted(width)["columns"] for width in (330, 1040)] == [1, 2]
    for width in (330, 700, 1040):
        found = re.search(r'width="([\d.]+)"', chart.svg(width))
        assert found is not None and 0.85 * width < float(found[1]) <= width + 1


def test_summary_holds_the_three_panels(
    monkeypatch: pytest.MonkeyPatch, profile: Profile, validation: Validation, mappings: list[MappingInstance]
) -> None:
    monkeypatch.syspath_prepend(DOCS)
    import make_images

    svg = make_images.summary_picture(profile, validation, mappings).file(1040)
    for words in ("Time of a message, one way", "shift, isend", "blocked", "stencil-strips"):
        assert f">{words}</text>" in svg
    assert len(svg) < 200_000


def test_summary_needs_a_mapping_before_and_after(
    monkeypatch: pytest.MonkeyPatch, profile: Profile, validation: Validation, mappings: list[MappingInstance]
) -> None:
    monkeypatch.syspath_prepend(DOCS)
    import make_images

    blocked_only = [replace(item, results=item.results[:1]) for item in mappings]
    with pytest.raises(ValueError, match="blocked"):
        make_images.summary_picture(profile, validation, blocked_only)


def test_size_axis_breaks_before_zero_and_labels_no_more_than_eight() -> None:
    axis = SizeAxis.of([0, 1, 2**22])
    assert axis.place(0) < axis.place(1) == 0
    assert axis.ticks()[0] == 0 and 4 <= len(axis.ticks()) <= 8
    assert SizeAxis.of([100]).ticks() == [100]
    assert SizeAxis.of([100, 120]).ticks() == [100, 120]
    with pytest.raises(ValueError, match="0 B"):
        SizeAxis.of([1, 2]).place(0)
