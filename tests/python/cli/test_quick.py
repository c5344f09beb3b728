from pathlib import Path

import pytest

from rankwise.api import reporting
from rankwise.api.reporting import measured
from verbs import Rankwise


@pytest.mark.mpi
def test_quick_leaves_a_report_a_profile_and_the_samples(rankwise: Rankwise, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[reporting.Quick] = []
    monkeypatch.setattr(reporting, "measured", lambda *asked: found.append(measured(*asked)) or found[0])
    result = rankwise("quick --seconds 1")
    assert result.code == 0, result.err
    for name in (
        "rankwise-report.html",
        "machine.json",
        "machine.samples.jsonl",
        "exchange.samples.jsonl",
        "validate.json",
        "map.json",
    ):
        assert Path(name).stat().st_size > 0, name
    lines = result.out.splitlines()
    assert len(lines) <= 25 and all(len(line) <= 80 or line[0] not in "NlsI" for line in lines)
    assert lines[1].startswith("Quality: ") and "Quality: " not in "".join(lines[2:])
    poor = lines[1].startswith("Quality: poor")
    assert any(line.startswith("Next  rankwise doctor" if poor else "Next  rankwise observe") for line in lines)
    for word in ("same-socket", "latency", "bandwidth", "Check ", "Page ", "rankwise-report.html"):
        assert word in result.out, word
    assert [line[:5] for line in result.err.splitlines() if line.startswith("[")] == [f"[{i}/5]" for i in range(1, 6)]
    # The report can be made again from what lies there.
    Path("rankwise-report.html").rename("first.html")
    assert rankwise("report").code == 0
    assert Path("rankwise-report.html").read_text() == Path("first.html").read_text()
    # The same as JSON.
    monkeypatch.setattr(reporting, "measured", lambda *asked: found[0])
    printed = rankwise("quick --json").json
    assert printed["schema"] == 1 and len(printed["mappings"]) == 3 and printed["validation"]["rows"]
    assert Path(printed["report"]).exists()
