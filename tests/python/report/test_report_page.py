"""The page: valid, complete, offline, deterministic, small, and safe against hostile names."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from typing import Any

import pytest

import sample_figures
from rankwise.machine.profile import Profile
from rankwise.report.inputs import MappingInstance, mappings_from_record, validation_from_record
from rankwise.report.page import render, section_names
from rankwise.workloads.comparison import Validation

_VOID = {"meta", "br", "hr", "img", "link", "input"}
_NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


class Page(HTMLParser):
    """Checks that elements close in order, and keeps ids, references, pictures and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
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
            if key == "id":
                self.ids.append(str(value))
            if key in ("src", "href", "xlink:href", "action", "data", "srcset", "poster"):
                self.references.append(str(value))
            assert not key.startswith("on")


def checked(text: str) -> Page:
    """Parse a page and check what every page has."""
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert all(reference.startswith("#") and reference[1:] in page.ids for reference in page.references)
    assert all(target in page.ids for target in re.findall(r"url\(#([^)]*)\)", text))
    assert not re.findall(r"url\((?!#)|@import", text)
    assert set(re.findall(r"https?://[^\s\"'<)]*", text)) <= _NAMESPACES
    assert not {"script", "iframe", "img", "image", "link", "object", "embed"} & set(page.tags)
    assert page.tags.count("title") == 1 + page.tags.count("svg") == 1 + page.tags.count("desc")
    assert len(text) < 3_000_000
    return page


def test_a_full_report(profile: Profile, validation: Validation, mappings: list[MappingInstance]) -> None:
    text = render(profile, validation, mappings, ["The machine is busy: stop other programs."], "rankwise map --next")
    page = checked(text)
    assert page.tags.count("svg") == 2 + 1 + 1 + 3
    for words in (
        "Between cores of one socket, a message of 0 B takes",
        "exchange with 2 layers of neighbours (k = 2) and 1000 B per rank takes 2.67 us (2.59 to 2.77) with isend",
        "off by 7.4 % on average and 24 % at most; 6 of 8",
        "On a 50x48 grid over 50 nodes of 48 ranks, the best mapping cuts the messages between nodes by 72 %",
        "The machine is busy: stop other programs.",
        "rankwise map --next",
        "machine.samples.jsonl",
        "Example CPU 9000",
        "level 3, 32 MiB, count 2",
        "MPICH Version: 5.0.0",
        "graph was left out (no partitioner is installed)",
    ):
        assert words in page.text
    assert text == render(profile, validation, mappings, ["The machine is busy: stop other programs."], "rankwise map --next")


@pytest.mark.parametrize(("with_profile", "with_validation", "with_mappings"), [*product([True, False], repeat=3)])
def test_every_subset_of_figures(
    profile: Profile,
    validation: Validation,
    mappings: list[MappingInstance],
    with_profile: bool,
    with_validation: bool,
    with_mappings: bool,
) -> None:
    figures = (
        profile if with_profile else None,
        validation if with_validation else None,
        mappings[:1] if with_mappings else None,
    )
    page = checked(render(*figures, (), "rankwise quick"))
    names = section_names(*figures)
    assert set(names) <= set(page.ids)
    for there, command in (
        (with_profile, "rankwise measure -o machine.json"),
        (with_validation, "rankwise validate exchange"),
        (with_mappings, "rankwise map --grid 50x48"),
    ):
        assert (command in page.text) != there
    assert ("latency" in names, "exchange" in names, "mapping" in names) == (
        with_profile,
        with_validation,
        with_mappings,
    )


def test_several_link_classes_and_a_grid_of_three_axes(validation: Validation) -> None:
    profile = sample_figures.profile(("other-node", "same-core", "other-socket", "same-socket"))
    mappings = mappings_from_record(sample_figures.mapping_record_3d(), "map.json")
    page = checked(render(profile, validation, mappings, (), "rankwise quick"))
    assert page.tags.count("svg") == 4 + 1 + 1 + 2
    places = [page.text.index(words) for words in ("Between hardware threads", "Between sockets", "Between nodes")]
    assert places == sorted(places)


def test_an_imported_profile_with_few_facts(profile: Profile) -> None:
    bare = replace(profile, machine={}, source={"kind": "imported", "file": "osu_latency.txt"}, warnings=())
    page = checked(render(bare, None, None, (), "rankwise quick"))
    assert "osu_latency.txt" in page.text
    odd = replace(profile, machine={"hostname": None, "cores": [1, {"x_bytes": 2048}], "mpi": "none", "ok": False})
    assert "1; 2 KiB" in checked(render(odd, None, None, (), "rankwise quick")).text


def test_hostile_names_stay_text() -> None:
    hostile = "<script>alert(1)</script>\"'><img src=http://evil.example/x>&amp;\u202e\n${7*7}{{7*7}}"
    profile = sample_figures.profile(hostname=hostile, warnings=[f"busy {hostile}"])
    profile = replace(profile, machine={**profile.machine, hostile: hostile}, source={hostile: hostile})
    rows = [sample_figures.comparison("<b>&\"'", notes=[hostile])]
    validation = validation_from_record(sample_figures.validation_record(rows), "v.json")
    record: Any = sample_figures.mapping_record_3d()
    record["instances"][0]["stencil"] = "</svg><script>\"'&"
    record["instances"][0]["results"][0]["algorithm"] = "</text><script src=x>"
    record["instances"][0]["skipped"][0]["reason"] = hostile
    mappings = mappings_from_record(record, "m.json")
    text = render(profile, validation, mappings, [hostile], hostile)
    page = Page(text)
    assert not {"script", "img", "b"} & set(page.tags)
    assert page.references and all(reference.startswith("#") for reference in page.references)
    assert "<script>alert(1)</script>" in page.text
    assert "{{7*7}}" in page.text


def test_doubts_about_the_exchanges_stand_with_the_warnings() -> None:
    rows = [
        sample_figures.comparison("isend", 1, verified=False, notes=["the size lies beyond the measured ones"]),
        sample_figures.comparison("isend", 2, oversubscribed=True),
    ]
    validation = validation_from_record(sample_figures.validation_record(rows), "v.json")
    page = checked(render(None, validation, None, (), "rankwise quick"))
    assert "1 of 2 exchanges delivered wrong bytes" in page.text
    assert "1 of 2 exchanges ran more ranks than there are cores" in page.text
    assert "the size lies beyond the measured ones" in page.text


def test_warnings_are_told_once(profile: Profile) -> None:
    warned = replace(profile, warnings=("busy: stop other programs",))
    page = checked(render(warned, None, None, ["busy: stop other programs"], "rankwise quick"))
    assert page.text.count("busy: stop other programs") == 1


def test_maps_without_cells_keep_their_table(mappings: list[MappingInstance]) -> None:
    bare = [replace(item, results=tuple(replace(result, node_of_cell=None) for result in item.results)) for item in mappings]
    page = checked(render(None, None, bare, (), "rankwise quick"))
    assert page.tags.count("svg") == 1
    assert "no map is drawn" in page.text
    assert "4704" in page.text
