"""What is asked of a record: factors and values, what is refused and why, the page and the job of an answer."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import rankwise as rw
from rankwise.api.what_if import any_source_ranks
from rankwise.errors import InputError
from rankwise.observe.record import write_record
from rankwise.observe.steps import common_steps
from synthetic_events import Op, recorded, ring, simulate


def record(path: Path, programs: list[list[Op]], cores: int = 64, nodes: int = 1, **more: Any) -> Path:
    """Write the record of a program whose ranks are dealt to nodes."""
    header = {
        "communicators": [{"size": len(programs), "ranks": None}], "seconds": 1.0, "complete": True,
        "notes": [], "mpi": "MPICH Version: 5.0.1", "cores_of_host": [cores] * nodes, **more,
    }  # fmt: skip
    write_record(path, recorded(programs, [rank % nodes for rank in range(len(programs))], **header))
    return path


@pytest.fixture
def ring8(tmp_path: Path) -> Path:
    return record(tmp_path / "ring.comm", ring(8, 30, 40_000, 100_000), nodes=8)


def test_factors_and_values_say_the_same(ring8: Path) -> None:
    on: dict[str, Any] = {"records": [ring8], "machine": "frontier"}
    half, third = rw.what_if(rw.WhatIf(latency="1/2", **on)), rw.what_if(rw.WhatIf(latency="0.5x", **on))
    assert half.rows[-1].time_s == third.rows[-1].time_s
    latency_s = half.there.machine.lines("other-node")[0][1] * 2
    value = rw.what_if(rw.WhatIf(latency=f"{latency_s / 2 * 1e9:.6f}ns", **on))
    assert value.latency == pytest.approx(0.5, rel=1e-6)
    assert value.rows[-1].time_s == pytest.approx(half.rows[-1].time_s, rel=1e-6)
    before_s, after_s = (row.time_s or 0.0 for row in half.rows)
    assert after_s < before_s
    assert half.faster == pytest.approx(before_s / after_s)
    assert (half.faster_lo or 0.0) < before_s / after_s < (half.faster_hi or 0.0)
    for wrong in ("0x", "-1x", "1/0", "nonsense", "5GB/s"):
        with pytest.raises(InputError, match="--latency"):
            rw.what_if(rw.WhatIf(latency=wrong, **on))


def test_what_cannot_be_answered_says_why(tmp_path: Path, ring8: Path) -> None:
    def asked(path: Path, **more: Any) -> Any:
        return rw.what_if(rw.WhatIf(records=[path], machine="frontier", **more))

    crowded = asked(record(tmp_path / "crowded.comm", ring(8, 30, 40_000), cores=2))
    assert crowded.rows[-1].time_s is None
    assert crowded.refused == ["8 ranks shared 2 cores of n1, so what they compute was not measured"]
    assert crowded.conclusion.startswith("No times: 8 ranks shared 2 cores")
    messages = asked(tmp_path / "crowded.comm", compute=False, ranks_per_node=1)
    assert messages.rows[-1].time_s > 0
    assert messages.rows[-1].bytes == 16 * 1000
    with pytest.raises(InputError, match="all 8 ranks are on one node"):
        asked(record(tmp_path / "one.comm", ring(8, 30, 40_000)), latency="2x")
    with pytest.raises(InputError, match="two machines"):
        asked(ring8, profile=Path("machine.json"))
    start: list[list[Op]] = [[("allreduce", 8), ("compute", 500)] for _ in range(4)]
    with pytest.raises(InputError, match="it is start-up only, and the run ended early: observe more steps"):
        asked(record(tmp_path / "start.comm", start, complete=False))
    disagree = asked(record(tmp_path / "clocks.comm", ring(4, 30, 40_000), clocks_disagree=True))
    assert disagree.refused == ["the clocks of the trace disagree, so times mean little"]


def test_receives_from_any_source_widen_the_interval(tmp_path: Path) -> None:
    programs: list[list[Op]] = [[] for _ in range(4)]
    rng = random.Random(1)
    for _ in range(30):
        programs[0] += [("recv", -1, 1)] * 3 + [("send", rank, 2, 100) for rank in (1, 2, 3)] + [("allreduce", 8)]
        for rank in (1, 2, 3):
            programs[rank] += [
                ("compute", rng.randrange(10_000, 40_000)),
                ("send", 0, 1, 100),
                ("recv", 0, 2),
                ("allreduce", 8),
            ]
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None
    assert any_source_ranks(events, steps) == [0]
    found = rw.what_if(rw.WhatIf(records=[record(tmp_path / "any.comm", programs, nodes=4)], machine="frontier"))
    row = found.rows[-1]
    assert (row.time_lo_s or 0.0) < (row.time_s or 0.0) / 1.4
    assert any("any source" in words for words in found.assumptions)


def test_the_answer_becomes_a_page_and_a_job(tmp_path: Path, ring8: Path) -> None:
    from rankwise.slurm.script import Job

    found = rw.what_if(rw.WhatIf(records=[ring8], machine="frontier", ranks_per_node=4, bandwidth="2x"))
    page = found.page()
    assert 'class="sliders"' in page
    assert "http" not in page.partition('class="sliders"')[2].partition("</section>")[0]
    (tmp_path / "answer.json").write_text(json.dumps(found.to_dict()))
    settings = Job(projected=tmp_path / "answer.json").settings()
    assert (settings.nodes, settings.tasks, settings.tasks_per_node) == (2, 8, 4)
    with pytest.raises(InputError, match="leave --nodes"):
        Job(projected=tmp_path / "answer.json", nodes=3).settings()
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(InputError, match="no answer of"):
        Job(projected=tmp_path / "wrong.json").settings()


def test_a_question_is_asked_as_the_command_line_takes_it() -> None:
    assert rw.WhatIf("app.comm", compute=False, ranks_per_node=2).words() == "app.comm --ranks-per-node 2 --no-compute"
    assert rw.WhatIf("app.comm", compute=True).words() == "app.comm"
