"""``rankwise machines``: what people read, the JSON, one's own descriptions, bad files."""

import re
from pathlib import Path

import pytest

from verbs import Rankwise, Refused

MINE = """
name = "mine"
[figures]
node_peak = { value = 2, unit = "TF/s", kind = "published", source = "a page", date = "2026" }
"""


def test_show_gives_each_figure_and_with_wide_its_source(rankwise: Rankwise) -> None:
    narrow, wide = (rankwise("machines show frontier", *words).out for words in ((), ("--wide",)))
    shown = " ".join(wide.split())
    for key, figure in rankwise("machines show frontier --json").json["figures"].items():
        assert f"{figure['source']} ({figure['date']})" in shown and f"\n{key} " in narrow, key
    assert "More columns with --wide: what it is, source" in narrow and max(map(len, narrow.splitlines())) <= 80


def test_one_s_own_by_path_and_by_folder(rankwise: Rankwise, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("machines").mkdir()
    Path("machines/mine.toml").write_text(MINE)
    result = rankwise("machines show machines/mine.toml")
    assert result.code == 0 and "TF/s" in result.out and re.search("node_peak +2 ", result.out)
    assert "not known: nodes, memory_bandwidth" in result.err
    monkeypatch.setenv("RANKWISE_MACHINES", "machines")
    assert "mine" in rankwise("machines list").out
    assert "no topology" in refused("project fft3d --machine mine --n 512 --nodes 8")
    assert "--set link_bandwidth=VALUE" in refused("project fft3d --machine mine --n 512 --nodes 8 --topology fat-tree")


def test_a_bad_file_is_named_with_its_line(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("bad.toml").write_text(MINE.replace('unit = "TF/s"', 'unit = "furlongs"'))
    monkeypatch.setenv("RANKWISE_MACHINES", ".")
    assert "bad.toml, line 4: figures.node_peak.unit 'furlongs'" in refused("machines list")
