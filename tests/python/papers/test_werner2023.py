"""The paper's figures as its text and the notes on it have them, from its tables alone."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankwise.papers import DATA, printed
from rankwise.papers.werner2023 import published_rows
from rankwise.report.reproduction import Reproduction

TEST_DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def reproduction(redone: Callable[[str], Reproduction]) -> Reproduction:
    return redone("werner2023")


@pytest.fixture(scope="module")
def record(reproduction: Reproduction) -> Any:
    return reproduction.figures.to_dict()


def test_the_package_s_tables_are_those_that_the_tests_use() -> None:
    for name in ("werner2023_pingpong.csv", "werner2023_shift_1d.csv"):
        assert (DATA / name).read_bytes() == (TEST_DATA / name).read_bytes()


def test_the_published_prediction_comes_out_of_the_walk(record: Any) -> None:
    assert len(record["rows"]) == record["rows_count"] == 50
    assert 0 < record["published_prediction_max_abs_diff_ns"] <= 20
    for row in record["rows"]:
        assert row["our_prediction_s"] == pytest.approx(row["published_prediction_s"], abs=20e-9)


def test_the_statistics_of_the_published_model(record: Any) -> None:
    assert record["mape_unit"] == "percent"
    assert record["mape_published"] == pytest.approx(7.05, abs=0.05)
    assert record["bias_published"] == pytest.approx(-5.5, abs=0.05)
    assert record["share_inside_sigma_published"] == 1.0
    assert record["median_sigma_of_mean"] == pytest.approx(0.22, abs=0.005)
    published = record["models"][0]
    assert published["mape"] == record["mape_published"]
    assert list(published["mape_by_size"].values()) == pytest.approx([9.5, 3.6, 3.2, 9.8, 9.1], abs=0.05)


def test_hockney_fitted_to_the_table_beside_the_two_points(record: Any) -> None:
    fitted, two_point = record["models"][1:3]
    assert fitted["mape"] == pytest.approx(9.9, abs=0.1)
    assert two_point["parameters"] == {"alpha_s": 2122e-9, "beta_s_per_byte": pytest.approx(0.129e-9)}
    assert two_point["mape"] == pytest.approx(20.2, abs=0.05)


def test_a_contention_factor_predicts_unseen_sizes_better_than_the_look_up(record: Any) -> None:
    (ours,) = [model for model in record["models"] if model["model"] == record["best_model"]]
    assert ours["parameters"] == {"contention_factor": pytest.approx(1.10, abs=0.005), "contention_from_bytes": 10000}
    assert ours["mape_leave_one_size_out"] == pytest.approx(5.07, abs=0.005)
    low, high = ours["parameters_ci"]["contention_factor"]
    assert 1.0 < low < ours["parameters"]["contention_factor"] < high
    assert record["mape_noise_floor"] == pytest.approx(4.1, abs=0.05)


def test_all_tables_stand_on_the_page_in_order(reproduction: Reproduction) -> None:
    names = [table.name for table in reproduction.tables()]
    assert names == ["claims", "models", "tradeoff", "crossovers", "raw", *(f"table-{number}" for number in range(1, 7))]
    for table in reproduction.tables():
        assert len(table.rows) == len(table.shown) - 1
        assert {len(row) for row in table.rows} == {len(table.header)}
        assert {len(row) for row in table.shown} == {len(table.shown[0])}


def test_published_figures_are_unchanged_by_units() -> None:
    with (TEST_DATA / "werner2023_shift_1d.csv").open() as stream:
        printed = {(int(r["message_bytes"]), int(r["k"])): r for r in csv.DictReader(stream)}
    for row in published_rows():
        source = printed[row.message_bytes, row.cutoff]
        assert round(row.measured_s * 1e9) == int(source["measured_ns"])
        assert round(row.sigma_s * 1e9) == int(source["measured_sigma_ns"])
        assert row.table == int(source["table"])


def test_a_printed_table_is_read_in_si_units() -> None:
    row = printed("werner2023_pingpong")[0]
    assert list(row.values()) == [0, 2122 / 1e9, 176 / 1e9, None]
    row = printed("hunold2020_neighbor_alltoall_times")[0]
    assert (row["table"], row["grid"], row["time_ms"]) == ("II", (50, 48), 0.017 / 1e3)
    row = printed("wagner2024_one_node")[1]
    assert list(row.values()) == [1, 0.16 * 1e-6, 9.58 * 1e6]
