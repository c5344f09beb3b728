"""``rankwise machines``: what people read, the JSON, one's own descriptions, bad files."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MINE = """
name = "mine"
[figures]
node_peak = { value = 2, unit = "TF/s", kind = "published", source = "a page", date = "2026" }
"""


def test_list_json(rankwise: Callable[..., Any]) -> None:
    machines = {machine["name"]: machine for machine in rankwise("machines", "list", "--json").json["machines"]}
    assert machines["frontier"]["machine_peak_flop_per_s"] == pytest.approx(1.884e18, rel=1e-3)
    assert machines["h100-cluster"]["nodes"] is None and machines["fugaku"]["topology"] == "6-D torus"


def test_show_gives_each_figure_and_with_wide_its_source(rankwise: Callable[..., Any]) -> None:
    narrow, wide = (rankwise("machines", "show", "frontier", *words).out for words in ((), ("--wide",)))
    shown = " ".join(wide.split())
    for key, figure in rankwise("machines", "show", "frontier", "--json").json["figures"].items():
        assert f"{figure['source']} ({figure['date']})" in shown and f"\n{key} " in narrow, key
    assert "More columns with --wide: what it is, source" in narrow and max(map(len, narrow.splitlines())) <= 80


def test_show_json(rankwise: Callable[..., Any]) -> None:
    figures = rankwise("machines", "show", "fugaku", "--json").json["figures"]
    assert figures["node_peak"] == {
        "value": 3.38e12, "unit": "flop/s", "kind": "published", "low": 3.07e12, "high": 3.38e12,
        "source": "vendor pages of Fugaku: 3.07 TF/s at the normal clock, 3.38 TF/s at the boosted one", "date": "read 2026",
    }  # fmt: skip


def test_one_s_own_by_path_and_by_folder(rankwise: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("machines").mkdir()
    Path("machines/mine.toml").write_text(MINE)
    result = rankwise("machines", "show", "machines/mine.toml")
    assert result.code == 0 and "TF/s" in result.out and re.search("node_peak +2 ", result.out)
    assert "not known: nodes, memory_bandwidth" in result.err
    monkeypatch.setenv("RANKWISE_MACHINES", "machines")
    assert "mine" in rankwise("machines", "list").out
    asked = rankwise("project", "fft3d", "--machine", "mine", "--n", "512", "--nodes", "8")
    assert asked.code == 2 and "no topology" in asked.err
    asked = rankwise("project", "fft3d", "--machine", "mine", "--n", "512", "--nodes", "8", "--topology", "fat-tree")
    assert asked.code == 2 and "--set link_bandwidth=VALUE" in asked.err


def test_bad_files_are_one_line_and_exit_2(rankwise: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.toml").write_text(MINE.replace('unit = "TF/s"', 'unit = "furlongs"'))
    for arguments in (["machines", "show", "bad.toml"], ["machines", "show", "nothing"], ["machines", "show", "no.toml"]):
        result = rankwise(*arguments)
        assert result.code == 2
        assert len(result.err.splitlines()) == 1
    monkeypatch.setenv("RANKWISE_MACHINES", ".")
    result = rankwise("machines", "list")
    assert result.code == 2
    assert "bad.toml, line 4: figures.node_peak.unit 'furlongs'" in result.err
