import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_werner2023_writes_a_page_tables_and_pictures(rankwise: Callable[..., Any]) -> None:
    result = rankwise("reproduce", "werner2023", "--json", "-o", "out")
    assert result.code == 0, result.err
    assert result.json["published_prediction_max_abs_diff_ns"] <= 20
    files = [Path(name) for name in result.json["files"]]
    assert files[0] == Path("out/werner2023.html") and all(path.stat().st_size > 0 for path in files)
    page = files[0].read_text()
    assert page.count('class="still"') == 3 and "look-up" in page
    assert all(f"Table {number}: " in page for number in range(1, 7))
    with Path("out/werner2023-table-2.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["k"]) for row in rows] == list(range(1, 11))
    assert rows[0]["measured_s"] == "1.3804e-05"


def test_the_same_figures_give_the_same_bytes(rankwise: Callable[..., Any]) -> None:
    for folder in ("a", "b"):
        assert rankwise("reproduce", "werner2023", "-o", folder).code == 0
    for path in Path("a").iterdir():
        assert path.read_bytes() == (Path("b") / path.name).read_bytes()


@pytest.mark.parametrize("paper", ["czechowski2012", "hunold2020", "wagner2024", "werner2023"])
def test_a_screen_begins_with_the_sentences_that_do_not_hold(rankwise: Callable[..., Any], paper: str) -> None:
    result = rankwise("reproduce", paper)
    assert result.code == 0
    lines = result.out.splitlines()
    assert len(lines) + len(result.err.splitlines()) <= 25 and max(map(len, lines)) <= 80
    assert "sentences with a figure hold" in lines[0] and any(line.startswith("✗") for line in lines[1:3])
    assert f"-o {paper}" in result.err


def test_a_file_in_place_of_the_folder_is_refused(rankwise: Callable[..., Any]) -> None:
    Path("out").write_text("")
    result = rankwise("reproduce", "werner2023", "-o", "out")
    assert result.code == 2
    assert "name a folder" in result.err
