"""Functions beside those of workloads: what they return is what their verbs print, and shows itself."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

import rankwise as rw
from rankwise.errors import InputError
from verbs import Rankwise

TABLE = Path(__file__).parents[2] / "data" / "werner2023_pingpong.csv"


def shows_itself(found: Any) -> None:
    assert found.conclusion and re.search("<(p|table|pre|dl)>", found._repr_html_())
    json.dumps(found.to_dict(), allow_nan=False)


def test_profiles(rankwise: Rankwise, tmp_path: Path) -> None:
    fitted = rw.fit(rw.Fitting(TABLE, link="same-socket", output=tmp_path / "fitted.json"))
    assert fitted.path == tmp_path / "fitted.json" and list(rw.load(fitted.path).profile.links) == ["same-socket"]
    with pytest.raises(InputError, match="they would be lost"):
        rw.fit(rw.Fitting(TABLE, output=TABLE))
    made = rw.import_tables(rw.Tables(str(TABLE), link="same-socket", output=tmp_path / "made.json"))
    compared = rw.compare(fitted.path, made.path, "20%")
    printed = rankwise(f"profile compare {fitted.path} {made.path} --tolerance 20% --json")
    assert compared.to_dict() == printed.json and compared.tolerance == 0.2
    assert made.export("osu") == rankwise(f"profile export {made.path} --format osu").out
    with pytest.raises(InputError, match="choose csv, osu, simgrid or prometheus"):
        made.export("xls")
    shows_itself(compared)


def test_pages(rankwise: Rankwise, tmp_path: Path) -> None:
    profile = rw.import_tables(rw.Tables([TABLE], link="other-node", output=tmp_path / "a.json")).path
    page = rw.report(rw.Sources(profile=profile, output=tmp_path / "mine.html"))
    told = rankwise(f"report --profile {profile} -o", tmp_path / "mine.html", "--json").json
    assert page.to_dict() == told and page.conclusion == told["headline"]
    both = rw.report(rw.Sources([profile, profile], output=tmp_path / "both.html"))
    assert both.to_dict() == rankwise(f"report {profile} {profile} -o", tmp_path / "both.html", "--json").json
    assert (tmp_path / "both.html").read_text() == rw.before_after([profile, profile]).page()
    with pytest.raises(InputError, match="would be lost"):
        rw.report(rw.Sources(profile=profile, output=profile))
    for found in (page, both):
        shows_itself(found)


def test_schedules(rankwise: Rankwise) -> None:
    steps = rw.schedule(rw.Exchange(cutoff=2, dims="1x8", size=100), rank=3)
    words = "--cutoff 2 --dims 1x8 --bytes 100"
    assert steps.to_dict() == rankwise(f"exchange show {words} --rank 3 --json").json
    assert steps.conclusion == "A rank sends at most 4 messages with 400 B."
    proofs = rw.prove(rw.Exchange(dims=(4, 3), algorithm="comb"))
    assert proofs.to_dict() == rankwise("exchange check --dims 4x3 --algorithm comb --json").json
    assert not proofs.wrong and " schedules are right: " in proofs.conclusion
    for found in (steps, proofs):
        shows_itself(found)


def test_machines_and_papers(rankwise: Rankwise, tmp_path: Path) -> None:
    assert rw.machines().to_dict() == rankwise("machines list --json").json
    frontier = rw.describe("frontier")
    assert frontier.to_dict() == rankwise("machines show frontier --json").json
    assert "overhead" in frontier.unknown and "nodes" not in frontier.unknown
    checked = rw.check_machines("frontier")
    assert checked.to_dict() == rankwise("machines check frontier --json").json and not checked.wrong
    paper = rw.reproduce("wagner2024")
    assert paper.to_dict() == rankwise("reproduce wagner2024 --json").json and not paper.files
    with pytest.raises(InputError, match="'werner' is unknown: did you mean werner2023"):
        rw.reproduce("werner")
    with pytest.raises(InputError, match="--engine 'gpu' is unknown"):
        rw.Redoing(engine="gpu")
    sentences = paper.records()
    assert len(sentences) == len(paper.to_dict()["claims"])
    assert {one["verdict"] for one in sentences} == {"reproduced", "differs", "cannot be done"}
    for found in (rw.machines(), frontier, checked, paper):
        shows_itself(found)


def test_a_function_that_is_called_like_a_part_of_the_package_stays_one() -> None:
    for name in ("measure", "observe", "report", "advise"):
        part = importlib.import_module(f"rankwise.{name}")
        assert getattr(rw, name) is part and callable(part)
    with pytest.raises(InputError, match="'speed' is unknown: choose one of pingpong, latency"):
        rw.measure(rw.Campaign(what="speed"))
