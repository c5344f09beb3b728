from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).parents[2] / "data" / "werner2023_pingpong.csv"


def test_a_table_becomes_a_profile_that_shows(rankwise: Callable[..., Any]) -> None:
    result = rankwise("profile", "import", TABLE, "-o", "jureca.json")
    assert (result.code, result.out) == (0, "jureca.json\n")
    shown = rankwise("profile", "show", "jureca.json")
    assert shown.code == 0
    assert "2.12 us" in shown.out and "other-node" in shown.out
    record = rankwise("profile", "show", "jureca.json", "--json").json
    assert record["schema"] == 1
    assert record["links"]["other-node"]["alpha_s"] == pytest.approx(2.122e-6)


@pytest.mark.parametrize("content", ["", "{", '{"schema": 1, "links": {"same-', "[]", "null", '{"schema": 2}'])
def test_an_unreadable_profile_is_one_line_and_exit_2(rankwise: Callable[..., Any], content: str) -> None:
    Path("machine.json").write_text(content)
    for command in (["profile", "show"], ["predict", "exchange"]):
        result = rankwise(*command)
        assert result.code == 2
        assert len(result.err.splitlines()) == 1
        assert "machine.json" in result.err


def test_a_missing_profile_names_the_command_that_makes_one(rankwise: Callable[..., Any]) -> None:
    result = rankwise("profile", "show")
    assert result.code == 2
    assert "rankwise measure" in result.err


def test_an_unknown_link_class_is_refused(rankwise: Callable[..., Any]) -> None:
    result = rankwise("profile", "import", TABLE, "--link", "wormhole")
    assert result.code == 2
    assert "same-socket" in result.err
