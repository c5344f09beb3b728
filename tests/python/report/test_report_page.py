"""The page: valid, complete, offline, deterministic, small, and safe against hostile names."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sample_figures
from rankwise.machine.profile import Profile
from rankwise.machine.trust import Reason, Trust
from rankwise.report.inputs import MappingInstance, mappings_from_record, validation_from_record
from rankwise.report.page import Inputs, conclusion_of, render, section_names
from rankwise.workloads.comparison import Validation

_VOID = {"meta", "br", "hr", "img", "link", "input"}
# Of namespaces and messages in the library's script; nothing loads them.
_NAMES = {
    "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", "http://www.w3.org/2000/xmlns/",
    "https://github.com/vega/vega-lite/issues/2415", "https://vega.github.io/schema/vega/v6.json",
    "https://vega.github.io/editor/",
}  # fmt: skip


class Page(HTMLParser):
    """Checks that elements close in order, and keeps ids, references, pictures and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.labels: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in _VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._note(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "aria-label":
                self.labels.append(str(value))
            if key == "id":
                self.ids.append(str(value))
            if key in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
                self.references.append(str(value))
            assert not key.startswith("on")


def checked(text: str) -> Page:
    """Parse a page and check what every page has."""
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert all(reference == "data:," or (reference[:1] == "#" and reference[1:] in page.ids) for reference in page.references)
    assert all(target in page.ids for target in re.findall(r'"url\(#([^)"]*)\)"', text))
    assert set(re.findall(r"https?://[^\s\"'<)`]*", text)) <= _NAMES
    assert not {"iframe", "img", "image", "object", "embed"} & set(page.tags)
    charts = page.tags.count("figure") - text.count('class="mach"')
    assert page.tags.count("title") == 1 + charts == 1 + page.tags.count("desc")
    assert page.tags.count("script") == (charts + 2 if charts else 1)
    assert len(text) < 3_000_000
    return page


GOOD = Trust("good", (), {}, 0.02, 10)


def test_a_full_report(profile: Profile, validation: Validation, mappings: list[MappingInstance]) -> None:
    profile = replace(profile, trust=GOOD, warnings=("The machine is busy: stop other programs.",))
    inputs = Inputs(profile, validation, mappings)
    text = render(inputs)
    page = checked(text)
    assert page.tags.count("figure") == 1 + 1 + 1 + 1 + 1 + 3 + 1
    for words in (
        "Your exchange takes 4.22 us. With isend it takes 2.67 us.",
        "Why: ssend returns only when its partner has begun to receive",
        "isend instead of ssend: 1.58 times as fast",
        "1.51–1.66, measured",
        "2 ranks in a row, cutoff 2, 1000 B a rank",
        "predictions off by 7.4 % on average",
        "isend is up to 1.6 times as fast as ssend",
        "stencil-strips sends 72 % fewer messages between nodes",
        "The grid 50x48 on 50 nodes of 48 ranks",
        "Machine: with warnings",
        "The machine is busy: stop other programs.",
        "rankwise observe -o app.comm -- mpiexec -n 2 ./app",
        "machine.samples.jsonl",
        "Example CPU 9000",
        "level 3, 32 MiB, count 2",
        "MPICH Version: 5.0.0",
        "graph was left out (no partitioner is installed)",
    ):
        assert words in page.text, words
    assert text == render(inputs)
    found = inputs.to_dict()
    assert found["headline"] in page.text and found["changes"][0]["gain"] == "1.58×"
    assert found["links"]["same-socket"]["latency_s"] == profile.links["same-socket"].send.table[0].time_s


@pytest.mark.parametrize(("with_profile", "with_validation", "with_mappings"), [*product([True, False], repeat=3)][:-1])
def test_every_subset_of_figures(
    profile: Profile,
    validation: Validation,
    mappings: list[MappingInstance],
    with_profile: bool,
    with_validation: bool,
    with_mappings: bool,
) -> None:
    inputs = Inputs(
        replace(profile, trust=GOOD) if with_profile else None,
        validation if with_validation else None,
        mappings[:1] if with_mappings else None,
    )
    page = checked(render(inputs))
    names = section_names(inputs)
    assert set(names) <= set(page.ids)
    for there, command in ((with_profile, "rankwise measure -o machine.json"),
        (with_mappings, "rankwise map --grid 50x48 --nodes 50 --ppn 48 --stencil nearest-neighbor --json")):  # fmt: skip
        assert (command in page.text) != there
    assert ("latency" in names, "exchange" in names, "mapping" in names) == (
        with_profile,
        with_validation,
        with_mappings,
    )


def test_poor_figures_give_no_advice(profile: Profile, validation: Validation, mappings: list[MappingInstance]) -> None:
    reason = Reason("others", 1.7, "other programs kept 1.7 processors busy", "take a node of your own")
    found = conclusion_of(Inputs(replace(profile, trust=Trust("poor", (reason,))), validation, mappings))
    assert found.headline == "No advice: the measurement has poor quality."
    assert "1.7 processors" in found.why and not found.changes
    assert [step.command for step in found.next] == ["rankwise doctor", "rankwise measure -o machine.json"]
    page = checked(render(Inputs(replace(profile, trust=Trust("poor", (reason,))), validation, mappings)))
    assert "times as fast" not in page.text.partition("Everything else")[0]
    assert "Quality: poor" in page.text and "take a node of your own" in page.text
    assert "Machine: no verdict" in page.text


def test_nothing_to_gain_is_an_answer() -> None:
    rows = [
        sample_figures.comparison(
            mode, 2, measured_time_s=time_s, measured_time_lo_s=time_s * 0.97, measured_time_hi_s=time_s * 1.03
        )
        for mode, time_s in (("send", 5.0e-6), ("isend", 4.97e-6), ("persistent", 5.1e-6))
    ]
    found = conclusion_of(Inputs(validation=validation_from_record(sample_figures.validation_record(rows), "v.json")))
    assert found.headline == "Nothing to gain from another mode: your exchange takes 5.00 us."
    assert "3 ways were measured" in found.why and "at most 1.05 times as fast would not have been seen" in found.why
    assert not found.changes


@settings(max_examples=200, deadline=None)
@given(st.floats(1e-7, 1e-2), st.floats(0.2, 5), st.floats(0.001, 0.9), st.floats(0.001, 0.9))
def test_a_gain_is_told_only_where_its_interval_leaves_out_none(now_s: float, ratio: float, a: float, b: float) -> None:
    rows = [
        sample_figures.comparison(mode, 2, measured_time_s=time_s, measured_time_lo_s=time_s / (1 + width),
            measured_time_hi_s=time_s * (1 + width))
        for mode, time_s, width in (("ssend", now_s, a), ("isend", now_s / ratio, b))
    ]  # fmt: skip
    validation = validation_from_record(sample_figures.validation_record(rows), "v.json")
    found = conclusion_of(Inputs(validation=validation))
    told = math.log(ratio) > math.hypot(math.log1p(a), math.log1p(b))
    assert bool(found.changes) == told
    assert found.headline.startswith("Your exchange takes" if told else "Nothing to gain")


def test_an_example_is_called_one(profile: Profile, validation: Validation, mappings: list[MappingInstance]) -> None:
    inputs = Inputs(
        replace(profile, trust=GOOD), replace(validation, example=True), [replace(item, example=True) for item in mappings]
    )
    page = checked(render(inputs))
    assert "The example exchange takes 4.22 us. With isend it takes 2.67 us." in page.text
    assert "Your exchange" not in page.text
    first, _, folded = page.text.partition("Everything else")
    assert "50x48" not in first and "Where to put the ranks, on an example grid" in folded


def test_several_link_classes_and_a_grid_of_three_axes(validation: Validation) -> None:
    profile = sample_figures.profile(("other-node", "same-core", "other-socket", "same-socket"))
    mappings = mappings_from_record(sample_figures.mapping_record_3d(), "map.json")
    page = checked(render(Inputs(profile, validation, mappings)))
    assert "Between nodes latency decides below" in page.text
    # Every class is an edge of the machine, and a row of the table, nearer ones first.
    for name in ("other-node", "same-core", "other-socket", "same-socket"):
        assert f"{name}, between " in " ".join(page.labels)
    table = page.text.partition("All links4 classes")[2]
    places = [table.index(name) for name in ("same-core", "same-socket", "other-socket", "other-node")]
    assert places == sorted(places)


def test_an_imported_profile_with_few_facts(profile: Profile) -> None:
    bare = replace(profile, machine={}, source={"kind": "imported", "file": "osu_latency.txt"}, warnings=())
    page = checked(render(Inputs(bare)))
    assert "osu_latency.txt" in page.text and "Quality: unknown" in page.text
    odd = replace(profile, machine={"hostname": None, "cores": [1, {"x_bytes": 2048}], "mpi": "none", "ok": False})
    assert "1; 2 KiB" in checked(render(Inputs(odd))).text


def test_hostile_names_stay_text() -> None:
    hostile = "<script>alert(1)</script>\"'><img src=http://evil.example/x>&amp;\u202e\n${7*7}{{7*7}}</script><!--"
    profile = sample_figures.profile(hostname=hostile, warnings=[f"busy {hostile}"])
    profile = replace(profile, machine={**profile.machine, "cpu_model": hostile, hostile: hostile}, source={hostile: hostile})
    rows = [sample_figures.comparison("<b>&\"'", notes=[hostile])]
    validation = validation_from_record(sample_figures.validation_record(rows), "v.json")
    record: Any = sample_figures.mapping_record_3d()
    record["instances"][0]["stencil"] = "</svg><script>\"'&"
    record["instances"][0]["results"][0]["algorithm"] = "</text><script src=x>"
    record["instances"][0]["skipped"][0]["reason"] = hostile
    mappings = mappings_from_record(record, "m.json")
    page = Page(render(Inputs(profile, validation, mappings)))
    assert not {"img", "iframe"} & set(page.tags) and page.tags.count("b") < 40
    assert all(reference == "data:," for reference in page.references)
    assert page.tags.count("script") == page.tags.count("figure") - 1 + 2
    assert "<script>alert(1)</script>" in page.text
    assert "{{7*7}}" in page.text


def test_doubts_about_the_exchanges_stand_with_the_remarks() -> None:
    rows = [
        sample_figures.comparison("isend", 1, verified=False, notes=["the size lies beyond the measured ones"]),
        sample_figures.comparison("isend", 2, oversubscribed=True),
    ]
    validation = validation_from_record(sample_figures.validation_record(rows), "v.json")
    page = checked(render(Inputs(validation=validation)))
    assert "1 of 2 exchanges delivered wrong bytes" in page.text
    assert "1 of 2 exchanges ran more ranks than there are cores" in page.text
    assert "the size lies beyond the measured ones" in page.text
    assert "the measurement has poor quality" in page.text


def test_maps_without_cells_keep_their_table(mappings: list[MappingInstance]) -> None:
    bare = [replace(item, results=tuple(replace(result, node_of_cell=None) for result in item.results)) for item in mappings]
    page = checked(render(Inputs(mappings=bare)))
    assert page.tags.count("figure") == 1
    assert "no map is drawn" in page.text
    assert "4704" in page.text
