"""``rankwise health``: sessions, exit codes, what is shown and written."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from histories import FIGURES, session, slower
from rankwise.health import record as history
from verbs import Rankwise, Refused

HISTORY = Path("health.jsonl")


def _keep(*sessions: Any) -> None:
    for one in sessions:
        history.add(HISTORY, one)


@pytest.mark.mpi
def test_sessions_are_measured_kept_and_judged(rankwise: Rankwise) -> None:
    quick = "health --launches 10 --seconds 100"  # far more than it takes
    result = rankwise(f"{quick} --json --page h.html --prometheus h.prom")
    # Too few sessions on a quiet machine, a disturbed one elsewhere.
    assert (result.code, result.json["verdict"]) in ((5, "unclear"), (6, "unusable"))
    assert "<svg" in Path("h.html").read_text() and "rankwise_health_state" in Path("h.prom").read_text()
    assert rankwise(f"{quick} --strict").code == 1
    assert len(HISTORY.read_text().splitlines()) == 2 and not list(Path().glob("*.session.jsonl"))
    assert len(rankwise("health show --json").json["trend"]) == 2


def test_profiles_are_sessions_too(rankwise: Rankwise, refused: Refused) -> None:
    rows = {0: 1.0, 8: 1.1, 8192: 3.0, 1 << 20: 100.0}
    text = "".join(f"{size},{time},{0.01 * time}\n" for size, time in rows.items())
    Path("a.csv").write_text("message_bytes,latency_us,sigma_us\n" + text)
    assert rankwise("profile import a.csv -o a.json --link same-socket").code == 0
    profile = json.loads(Path("a.json").read_text())
    del profile["checksums"]

    def add(day: int, factor: float, trust: str = "good", *words: str) -> Any:
        link = profile["links"]["same-socket"]
        table = [{**row, "time_s": 1e-6 * factor * rows[row["size_bytes"]]} for row in link["table"]]
        record = {**profile, "created": f"2026-01-{day:02}T00:00:00+00:00", "links": {"same-socket": {**link, "table": table}}}
        Path("m.json").write_text(json.dumps({**record, "source": {"kind": "measured"}, "trust": {"level": trust}}))
        return rankwise("health add m.json", *words)

    assert [add(day, 1.0).code for day in range(1, 12)] == [5] * 10 + [0]
    assert add(12, 9.0, "poor").code == 6
    first = add(13, 1.5)
    assert first.code == 5 and first.out.startswith("? Cannot tell: above the baseline once")
    second = add(14, 1.5)
    assert second.code == 3 and second.out.startswith("✗ Slower: all figures together +50.0 %") and "since 13 Jan" in second.out
    assert "in health.jsonl already" in refused("health add m.json")
    assert rankwise("health accept").out.startswith("Accepted: 2 sessions")
    as_usual = add(15, 1.5, "good", "--json")
    assert as_usual.code == 0 and as_usual.json["verdict"] == "same"
    assert "nothing to accept" in refused("health accept")


def test_show_tells_the_trend_and_the_changes(rankwise: Rankwise, refused: Refused, tmp_path: Path) -> None:
    assert "no session in health.jsonl yet" in refused("health show")
    wobble = [0.01 * (-1) ** i for i in range(24)]
    _keep(*(session(24 * i, w) for i, w in enumerate(wobble)), *(slower(24 * i) for i in range(24, 30)))
    shown = rankwise("health show --page trend.html")
    assert shown.code == 0 and shown.out.startswith("✗ Slower: same-socket latency +30.0 %")
    assert "Changed: same-socket latency +30.0 % since 25 Jan 2026" in shown.out and "▁" in shown.out
    assert "      rankwise health accept" in shown.out and shown.err.startswith("wrote ")
    found = rankwise("health show --json").json
    assert (found["verdict"], found["sessions"], len(found["trend"]), len(found["changes"])) == ("slower", 24, 30, 3)
    assert [row["figure"] for row in found["figures"]] == list(FIGURES)
    assert found["figures"][0]["ratio"] == pytest.approx(1.3, rel=1e-3)
    assert found["trend"][-1]["value"][FIGURES[0]] == pytest.approx(math.exp(math.log(1.3)))
    page = Path("trend.html").read_text()
    assert page.count('class="still"') == 3 and "Slower: same-socket latency" in page
    assert page == (rankwise("health show --page trend.html"), Path("trend.html").read_text())[1]


@pytest.mark.parametrize(
    "options",
    [
        "--launches 5",
        "--spread soon",
        "--tolerance 0",
        "--links wormhole",
        "--seconds -1",
        "--confirm-after x",
    ],
)
def test_wrong_options_are_one_line_and_exit_2(rankwise: Rankwise, options: str) -> None:
    result = rankwise(f"health {options}")
    assert result.code == 2 and len(result.err.splitlines()) == 1
