"""Placements that files hold."""

import json
from pathlib import Path

import pytest

from rankwise.cli.main import run
from rankwise.engines.placement import node_of_each_rank
from rankwise.errors import InputError


def test_one_mapping_of_several_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["map", "--grid", "4x4", "--nodes", "4", "--ppn", "4", "--json", "--with-mapping"]) == 0
    text = capsys.readouterr().out
    (tmp_path / "maps.json").write_text(text)
    for result in json.loads(text)["results"]:
        assert list(node_of_each_rank(f"{tmp_path}/maps.json:{result['algorithm']}", 16, 4)) == result["node_of_cell"]
    for placed in (f"{tmp_path}/maps.json", f"{tmp_path}/maps.json:nobody"):
        with pytest.raises(InputError, match="give one of .*maps.json:blocked, .*maps.json:refined"):
            node_of_each_rank(placed, 16, 4)
    with pytest.raises(InputError, match="neither blocked nor cyclic nor a file"):
        node_of_each_rank(f"{tmp_path}/nothing:refined", 16, 4)
