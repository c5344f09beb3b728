"""``import rankwise``: what functions return is what verbs print, and shows itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

import rankwise as rw
from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.machine.profile import LINK_CLASSES
from rankwise.questions import words_of
from straight import link, machine
from verbs import Rankwise


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A profile of a known machine between nodes and within one."""
    links = {"same-socket": link(2e-7, 1e-10, half_width=0.1), "other-node": link(1e-6, 1e-9, half_width=0.1)}
    path = tmp_path / "machine.json"
    machine({"hostname": "here", "cores": 4}, links).save(path)
    return path


def without(record: Any, *names: str) -> Any:
    """Leave out what differs from one call to the next."""
    if isinstance(record, dict):
        return {key: without(value, *names) for key, value in record.items() if key not in names}
    return [without(value, *names) for value in record] if isinstance(record, list) else record


def shows_itself(found: Any) -> None:
    assert found.conclusion and "<table>" in found._repr_html_()
    json.dumps(found.to_dict(), allow_nan=False)


def test_predictions_and_choices_are_those_of_the_verbs(rankwise: Rankwise, profile: Path) -> None:
    rows = rw.predict(rw.Exchange(cutoff=[1, 2], size=[8, 4096], ranks=8), profile)
    printed = rankwise(f"predict exchange --cutoff 1,2 --bytes 8,4096 --ranks 8 --profile {profile} --json")
    assert rows.to_dict() == printed.json and len(rows.records()) == 8
    chosen = rw.choose(rw.Exchange(dims=(4, 4), cutoff=2, size=4096), rw.load(profile), rw.Ranks(ranks_per_node=4))
    asked = f"--dims 4x4 --cutoff 2 --bytes 4096 --ranks-per-node 4 --profile {profile} --json"
    assert chosen.to_dict() == rankwise(f"choose {asked}").json
    assert {row["algorithm"] for row in chosen.records()} > {"shift", "direct"}  # what is not named is free
    ranked = rw.choose(rw.Alltoall(ranks=4, size=1000), profile)
    assert ranked.to_dict() == rankwise(f"choose alltoall --ranks 4 --bytes 1000 --profile {profile} --json").json
    for found in (rows, chosen, ranked):
        shows_itself(found)
        assert found.plot()._repr_svg_().startswith("<svg")


def test_maps_are_those_of_the_verb(rankwise: Rankwise, profile: Path) -> None:
    found = rw.map(rw.Placing(grid=(8, 6), nodes=4, ppn=12, periodic=(True, False), profile=str(profile)))
    printed = rankwise(f"map --grid 8x6 --nodes 4 --ppn 12 --periodic 1,0 --profile {profile} --json")
    assert without(found.to_dict(), "seconds") == without(printed.json, "seconds")
    assert found.best.node_of_cell is not None and found.best.algorithm == printed.json["recommended"]
    shows_itself(found)
    assert "node" in found.plot().svg()


def test_projections_are_those_of_the_verb(rankwise: Rankwise) -> None:
    frontier = rw.Described("frontier", vary=["link_bandwidth=0.5x:2x"])
    fft = rw.project(rw.FftProjection(n=4096, nodes=512), frontier)
    words = ("--machine", "frontier", "--vary", "link_bandwidth=0.5x:2x", "--json")
    assert fft.to_dict() == rankwise("project fft3d --n 4096 --nodes 512", *words).json
    on = rw.Described("frontier", latency="2us", against="alps")
    exchange = rw.project(rw.Exchange(cutoff=1, size=1000), on)
    words = ("--machine", "frontier", "--latency", "2us", "--against", "alps", "--json")
    assert exchange.to_dict() == rankwise("project exchange --cutoff 1 --bytes 1000", *words).json
    code = rw.project(rw.StencilCode(cells=(512, 512, 512), nodes=[64, 512]), rw.Described("frontier", latency="2us"))
    words = ("--machine", "frontier", "--latency", "2us", "--json")
    assert code.to_dict() == rankwise("project stencil --cells 512x512x512 --nodes 64,512", *words).json
    for found in (fft, exchange, code):
        shows_itself(found)
        assert found.plot().svg().startswith("<svg")


def test_a_profile_is_that_of_the_verb(rankwise: Rankwise, profile: Path, tmp_path: Path) -> None:
    machine = rw.load(profile)
    assert machine.to_dict() == rankwise(f"profile show {profile} --json").json
    assert [row["link"] for row in machine.records()] == ["same-socket", "other-node"]
    shows_itself(machine)
    page = machine.plot().save(tmp_path / "links.html")
    assert page.read_text().startswith("<!doctype html>") or "<html" in page.read_text()
    with pytest.raises(InputError, match="svg or .html"):
        machine.plot().save(tmp_path / "links.png")


@pytest.mark.mpi
def test_what_is_run_has_the_keys_of_the_verb(rankwise: Rankwise, profile: Path) -> None:
    found = rw.run(rw.Exchange(cutoff=1, size=1000, ranks=2, mode="isend"), seconds=0.02)
    words = "--cutoff 1 --bytes 1000 --ranks 2 --mode isend --seconds 0.02 --json"
    printed = rankwise(f"run exchange {words}").json
    (mine,), (theirs,) = found.to_dict()["rows"], printed["rows"]
    assert mine.keys() == theirs.keys() and mine["verified"] is True and not found.wrong
    shows_itself(found)


def test_a_table_for_pandas(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rw.predict(rw.Exchange(cutoff=1, size=8, ranks=4), profile)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnusableEnvironmentError, match="pip install pandas"):
        rows.to_pandas()
    pandas = ModuleType("pandas")
    pandas.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    assert rows.to_pandas() == rows.records()


def test_words_of_questions_are_those_that_there_are() -> None:
    from rankwise.api import projecting, questions
    from rankwise.engines.project import CRITERIA
    from rankwise.measure.workloads import WHAT
    from rankwise.models import fft3d as fft_models
    from rankwise.models.selection import METHODS
    from rankwise.statistics import STATISTICS
    from rankwise.workloads import fft3d, fft3d_case

    def words(kind: Any, name: str) -> tuple[str, ...]:
        return words_of(get_type_hints(kind)[name])

    assert get_args(questions.LinkClass) == LINK_CLASSES
    assert get_args(questions.Statistic) == tuple(STATISTICS) and words(rw.Fitting, "method") == METHODS
    assert set(words(rw.Campaign, "what")) > set(WHAT)
    fft = projecting.FftProjection
    assert words(fft, "reading") == fft_models.READINGS and words(fft, "bound") == fft_models.BOUNDS
    assert words(fft, "torus_constant") == tuple(fft_models.TORUS_CONSTANTS) and words(fft, "match") == CRITERIA
    assert words(rw.Fft3d, "method") == fft3d.METHODS and words(rw.Fft3d, "network") == (fft3d_case.MEASURED, fft3d_case.WALK)
    asked = (lambda: rw.Fitting("a", statistic="best"), lambda: rw.Campaign(what="speed"), lambda: rw.Fft3d(order="sideways"))
    for wrong in asked:
        with pytest.raises(InputError, match=r"'\w+' is unknown: choose one of \w+"):
            wrong()


def test_questions_take_numbers_and_say_what_is_wrong() -> None:
    assert rw.Exchange(dims=(4, 2), cutoff=[1, 3], size=8).given == {"dims", "cutoff", "size"}
    asked = rw.Exchange(dims=(4, 2), cutoff=[1, 3], size=8, periodic=True)
    assert (asked.dims, asked.cutoff, asked.size, asked.periodic) == ("4x2", "1,3", "8", "all")
    assert rw.Exchange(periodic=(True, False)).periodic == "1,0" and rw.Placing(grid="4x2").grid == "4x2"
    with pytest.raises(InputError, match="no workload"):
        rw.predict(rw.StencilCode(cells="8x8", nodes=1))
    assert {"predict", "map", "Exchange"} <= set(dir(rw))
    with pytest.raises(AttributeError, match="predictt"):
        rw.predictt  # noqa: B018


def test_a_part_of_the_package_takes_no_function_away() -> None:
    parts = "import rankwise, rankwise.observe.record, rankwise.measure.profiles"
    subprocess.run(
        [sys.executable, "-c", f"{parts}; assert callable(rankwise.observe) and callable(rankwise.measure)"], check=True
    )
