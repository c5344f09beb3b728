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


def test_a_file_that_names_the_hosts_means_these(tmp_path: Path) -> None:
    """Of other names the first is the first node."""
    path = tmp_path / "hosts"
    path.write_text("b\nb\nd\nd\na\na\nc\nc\n")
    assert node_of_each_rank(str(path), 8, 2, ["a", "b", "c", "d", "e"]) == (1, 1, 3, 3, 0, 0, 2, 2)
    assert node_of_each_rank(str(path), 8, 2, ["n0", "n1", "n2", "n3"]) == (0, 0, 1, 1, 2, 2, 3, 3)
