from pathlib import Path

import pytest

from synthetic_machine import LOGGP, SIZES, loggp_times, write_samples
from verbs import Rankwise, Refused

TABLE = Path(__file__).parents[2] / "data" / "werner2023_pingpong.csv"


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "machine.samples.jsonl"
    write_samples(path, loggp_times())
    return path


def test_raw_samples_become_a_profile_with_the_machine_s_parameters(rankwise: Rankwise, samples: Path) -> None:
    before = samples.read_bytes()
    result = rankwise(f"fit {samples} -o machine.json --json").answer
    link = result["links"]["same-socket"]
    assert (link["model"], link["variants"]["exchange"]["model"]) == ("pchip", "pchip")
    assert "on held-out sizes" in link["reason"]
    found = {name: parameter["value"] for name, parameter in link["models"]["loggp"]["parameters"].items()}
    assert found == pytest.approx(LOGGP, rel=0.1)
    assert set(link["models"]) == {"hockney", "piecewise", "loggp", "max-rate", "pchip"}
    assert samples.read_bytes() == before
    shown = rankwise("profile show machine.json --json")
    assert shown.json == result


def test_predictions_use_the_chosen_model_or_the_one_asked_for(rankwise: Rankwise, samples: Path) -> None:
    assert rankwise(f"fit {samples} -o machine.json").code == 0
    case = "predict exchange --mode ssend --cutoff 1 --bytes 3000 --profile machine.json --json"
    rows = {name: rankwise(case, *(["--link-model", name] if name else [])).json["rows"][0]
            for name in ("", "hockney", "piecewise", "loggp", "max-rate")}  # fmt: skip
    assert rows[""]["time_s"] == pytest.approx(rows["loggp"]["time_s"], rel=0.1)
    # Four messages, and the acknowledgement of the last one, which no answer covers.
    truth_s = 4 * float(loggp_times(SIZES * 0 + 3000)["ssend"][0]) + float(loggp_times(SIZES * 0)["send"][0])
    assert rows["loggp"]["time_s"] == pytest.approx(truth_s, rel=0.05)
    for row in rows.values():
        assert 0 <= row["time_lo_s"] < row["time_s"] < row["time_hi_s"]
    assert rows["loggp"]["time_lo_s"] <= truth_s <= rows["loggp"]["time_hi_s"]


def test_the_report_says_which_model_answers_and_why(rankwise: Rankwise, samples: Path) -> None:
    assert rankwise(f"fit {samples} -o machine.json").code == 0
    assert rankwise("report -o report.html").code == 0
    page = Path("report.html").read_text()
    assert "same-socket: pchip answers for predictions" in page and "overhead_s" in page


def test_statistic_and_method_are_recorded(rankwise: Rankwise, samples: Path) -> None:
    median = rankwise(f"fit {samples} --json").json
    fifth = rankwise(f"fit {samples} --statistic smallest-20 --method table --json").json
    assert (fifth["source"]["statistic"], fifth["source"]["method"]) == ("smallest-20", "table")
    assert fifth["links"]["same-socket"]["statistic"] == "smallest-20"
    assert fifth["links"]["same-socket"]["alpha_s"] < median["links"]["same-socket"]["alpha_s"]
    assert "interpolation" in fifth["links"]["same-socket"]["models"]["piecewise"]["method"]


def test_a_table_is_fitted_with_what_it_has(rankwise: Rankwise) -> None:
    link = rankwise(f"fit {TABLE} --json").answer["links"]["other-node"]
    assert set(link["models"]) == {"hockney", "piecewise", "pchip"}
    assert "loggp needs both directions" in link["reason"]


def test_what_cannot_be_fitted_says_what_it_needs(refused: Refused) -> None:
    assert "exchange and exchange-gap not measured; choose another model" in refused(f"fit {TABLE} --model loggp")


def test_the_samples_are_never_overwritten(rankwise: Rankwise, samples: Path) -> None:
    before = samples.read_bytes()
    result = rankwise(f"fit {samples} -o {samples}")
    assert result.code == 2
    assert "holds the samples" in result.err and samples.read_bytes() == before


def test_two_sizes_are_refused(rankwise: Rankwise, samples: Path) -> None:
    lines = [line for line in samples.read_text().splitlines() if '"size_bytes"' not in line or
             '"size_bytes": 0,' in line or '"size_bytes": 8,' in line]  # fmt: skip
    samples.write_text("\n".join(lines) + "\n")
    result = rankwise(f"fit {samples}")
    assert result.code == 2
    assert "2 size(s) of same-socket" in result.err and "at least 3" in result.err


def test_an_exported_profile_is_fitted_with_all_its_ways_and_links(rankwise: Rankwise, samples: Path) -> None:
    profile = rankwise(f"fit {samples} -o machine.json --json").json["links"]["same-socket"]
    assert rankwise("profile export machine.json -o machine.csv").code == 0
    with Path("machine.csv").open("a") as stream:
        stream.writelines(f"same-socket,bandwidth-window-64,{size},1e-6,1e-6,1e-6,1,mean\n" for size in (1, 2, 3))
    again = rankwise("fit machine.csv --json").json
    link = again["links"]["same-socket"]
    assert list(again["links"]) == ["same-socket"] and set(link["variants"]) == set(profile["variants"])
    assert (link["model"], link["statistic"], link["samples"]) == ("pchip", "median", profile["samples"])
    assert again["source"]["imports"][0]["link"] == "same-socket"
    assert again["warnings"] == ["machine.csv: bandwidth-window-64 left aside: no link model knows it"]


def test_a_file_without_a_ping_pong_is_not_fitted(refused: Refused) -> None:
    Path("table.csv").write_text("sending,message_bytes,time_us\nssend,0,1\nssend,8,2\nssend,9,2\n")
    assert "no ping-pong of other-node" in refused("fit table.csv")


def test_alpha_says_how_it_is_known_by_every_method(rankwise: Rankwise) -> None:
    rows = [row for row in TABLE.read_text().splitlines() if not row.startswith("0,")]
    Path("table.csv").write_text("\n".join(rows) + "\n")
    for method in ("regression", "table"):
        link = rankwise(f"fit table.csv --method {method} --json").json["links"]["other-node"]
        assert link["alpha_method"].startswith(f"intercept of the line through {rows[1].split(',')[0]} to "), method
        assert link["alpha_s"] > 0


def test_a_model_asked_for_is_not_asked_of_an_imported_bandwidth(rankwise: Rankwise, samples: Path) -> None:
    assert rankwise(f"fit {samples} -o machine.json").code == 0
    bandwidth = TABLE.parent / "osu-samples" / "osu74_bw_default.txt"
    added = rankwise(f"profile import {bandwidth} --link same-socket --add -o machine.json --json").json
    link = added["links"]["same-socket"]
    assert "bandwidth-window-64" in link["variants"] and "on held-out sizes" in link["reason"]
    case = "predict exchange --mode ssend --cutoff 1 --bytes 3000 --profile machine.json"
    assert rankwise(f"{case} --link-model loggp --json").code == 0
