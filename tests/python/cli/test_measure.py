from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.mpi


def test_measure_writes_a_profile_with_the_contract_s_keys(rankwise: Callable[..., Any]) -> None:
    result = rankwise("measure", "-o", "out/m.json", "--sizes", "0,8,1kB,64KiB", "--seconds", "0.3", "--launches", "1", "--json")
    assert result.code == 0, result.err
    assert result.json["source"]["statistic"] == "median"
    assert result.json["machine"]["mpi"]["library_family"] == "mpich"
    for link in result.json["links"].values():
        assert {"model", "alpha_s", "beta_s_per_byte", "alpha_ci_s", "beta_ci_s_per_byte", "samples"} <= link.keys()
        assert {"ssend", "exchange", "exchange-gap"} >= link["variants"].keys()
        assert link["alpha_loops"] == pytest.approx(link["alpha_s"] / link["reference_loop_s"])
    assert result.json["source"]["trust"] in ("good", "limited", "poor")
    assert result.json["source"]["precision"] == 0.03
    assert f"stopped b{'y the time' if result.json['source']['stopped_by'] == 'time' else 'ecause'}" in result.err
    assert f"trust in these figures: {result.json['source']['trust']}" in result.err
    assert all(warning in result.err for warning in result.json["warnings"])
    assert Path("out/m.samples.jsonl").exists()
    # What was measured stays: another campaign is appended to it.
    before = Path("out/m.samples.jsonl").read_bytes()
    again = rankwise("measure", "-o", "out/m.json", "--sizes", "0,8,64", "--seconds", "0.1", "--launches", "1",
                     "--statistic", "smallest-20")  # fmt: skip
    assert again.code == 0, again.err
    assert Path("out/m.samples.jsonl").read_bytes().startswith(before)
    assert rankwise("profile", "show", "out/m.json", "--json").json["source"]["statistic"] == "smallest-20"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--sizes", "8"], "at least 3"),
        (["--sizes", "8,8"], "at least 3"),
        (["--sizes", "0,2GiB"], "up to 1 GiB"),
        (["--sizes", "0,-8"], "not a size"),
        (["--launches", "0"], "at least 1"),
        (["--seconds", "0"], "above 0"),
        (["--seconds", "-1"], "above 0"),
        (["--seconds", "nan"], "above 0"),
        (["--statistic", "mode"], "choose one of median"),
        (["--precision", "0"], "between 0 and 1"),
        (["--precision", "3"], "between 0 and 1"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(rankwise: Callable[..., Any], arguments: list[str], says: str) -> None:
    result = rankwise("measure", *arguments)
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert says in result.err
    assert not list(Path().iterdir())


def test_a_place_that_cannot_be_written_is_said(rankwise: Callable[..., Any]) -> None:
    result = rankwise("measure", "-o", "/proc/nowhere/machine.json", "--sizes", "0,8,64")
    assert result.code == 1
    assert len(result.err.splitlines()) == 1
    assert "/proc/nowhere" in result.err
