"""The time line of a step: spans without gaps, and a critical path that adds up."""

from __future__ import annotations

import pytest

from rankwise.observe.steps import common_steps
from rankwise.observe.timeline import Timeline, timeline_of
from rankwise.report.program import path_words, timeline_picture, timeline_title
from synthetic_events import Op, ring, simulate

_SIZE = 100_000  # takes 12 us


def ring_with_a_slow_rank(slow_ns: int) -> Timeline:
    programs: list[list[Op]] = [
        30
        * [
            ("compute", slow_ns if rank == 3 else 40_000),
            ("irecv", (rank - 1) % 8, 1),
            ("isend", (rank + 1) % 8, 1, _SIZE),
            ("waitall",),
        ]
        for rank in range(8)
    ]
    events = simulate(programs)
    steps = common_steps(events)
    assert steps is not None
    return timeline_of(events, steps)


def test_spans_follow_each_other_and_messages_go_forward() -> None:
    line = ring_with_a_slow_rank(60_000)
    for spans in line.spans.values():
        assert all(one.end_s == other.start_s for one, other in zip(spans, spans[1:], strict=False))
        assert all(span.length_s > 0 for span in spans)
    assert len(line.messages) == 8
    assert all(message.arrived_s > message.sent_s and message.bytes == _SIZE for message in line.messages)


def test_the_critical_path_leads_over_the_slow_rank_and_adds_up() -> None:
    line = ring_with_a_slow_rank(90_000)
    assert all(one.end_s == pytest.approx(other.start_s) for one, other in zip(line.path, line.path[1:], strict=False))
    assert line.length_s == pytest.approx(line.path[-1].end_s - line.path[0].start_s)
    assert line.path[-1].end_s == max(spans[-1].end_s for spans in line.spans.values())
    assert not any(span.kind == "waiting" for span in line.path)
    (rank, kind), seconds = next(iter(line.terms().items()))
    assert (rank, kind) == (3, "computing") and seconds == pytest.approx(90e-6, rel=0.05)
    assert sum(line.terms().values()) == pytest.approx(line.length_s)
    assert path_words(line).startswith("Critical path: compute on rank 3 ")
    assert "at rank 3 is 8" in timeline_title(line, "step")


def test_without_a_slow_rank_the_picture_says_each_piece() -> None:
    events = simulate(ring(4, 20, 50_000, _SIZE))
    steps = common_steps(events)
    assert steps is not None
    line = timeline_of(events, steps)
    chart = timeline_picture(line, "step")
    assert len(chart.stops) == len(line.path) + 4
    assert "critical path" in chart.svg() and "rank 3" in chart.svg()
