import importlib.util
import math
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from histories import FIGURES, KEY, launches, session, slower
from rankwise.health.judge import COMPOSITE, Rules, eligible, judge
from rankwise.health.record import Session

EQUAL = [session(3 * i) for i in range(10)]
SINGLE = Rules(least_single=10)


def _after(value: float, hour: float = 40) -> Session:
    return session(hour, value)


def test_ten_equal_sessions_and_a_slow_down_by_a_known_limit() -> None:
    found = judge(_after(math.log(1.2)), EQUAL, SINGLE)
    assert [row.figure for row in found.rows] == list(FIGURES)
    # t(1 - .01/6; 9) = 3.95, the scatter held at 1 %.
    assert found.rows[0].limit == pytest.approx(3.95 * 0.01 * math.sqrt(1.1), rel=2e-3)
    assert found.over == FIGURES and found.verdict == "unclear" and "a second session" in found.reason
    assert judge(_after(math.log(1.04)), EQUAL, SINGLE).verdict == "same"
    too_few = judge(_after(math.log(1.2)), EQUAL[:9], SINGLE)
    assert too_few.verdict == "unclear" and "9 earlier sessions" in too_few.reason and not too_few.over


def test_a_second_session_confirms_when_half_an_hour_has_passed() -> None:
    first = slower(40, verdict="unclear")
    for hours, verdict in ((0.4, "unclear"), (0.5, "slower")):
        assert judge(_after(math.log(1.3), 40 + hours), [*EQUAL, first], SINGLE).verdict == verdict
    # The run began long ago, however near its last session is.
    assert judge(_after(math.log(1.3), 41), [*EQUAL, first, slower(40.9)], SINGLE).verdict == "slower"
    # Another figure does not confirm it; and what was chance belongs to the usual scatter again.
    other = replace(first, over=(FIGURES[0],))
    assert judge(session(41, {**dict.fromkeys(FIGURES, 0.0), FIGURES[1]: 0.3}), [*EQUAL, other], SINGLE).verdict == "unclear"
    assert len(eligible([*EQUAL, other, session(41)])) == 12 and len(eligible([*EQUAL, other])) == 10


def test_before_twenty_sessions_there_is_one_figure() -> None:
    assert [row.figure for row in judge(_after(0.1), EQUAL).rows] == [COMPOSITE]
    assert len(judge(_after(0.1), [session(3 * i) for i in range(20)]).rows) == 3


def test_what_could_not_have_been_seen_is_unclear_and_what_is_huge_is_slower_all_the_same() -> None:
    wild = [session(3 * i, 0.3 * (-1) ** i) for i in range(10)]
    found = judge(_after(0.0), wild)
    assert found.verdict == "unclear" and found.could_see > 1 and "could not have been seen" in found.reason
    first = slower(40, 16.7, verdict="unclear")
    assert judge(_after(math.log(16.7), 41), [*wild, replace(first, over=(COMPOSITE,))]).verdict == "slower"


def test_a_disturbed_session_is_unusable_and_never_raises_the_alarm() -> None:
    first = slower(40, verdict="unclear")
    quiet, busy = launches([16.7] * 10), launches([16.7] * 11, foreign_cpus=1.0)
    for at, verdict in (([*quiet, *busy], "unusable"), (quiet[:9], "unusable"), ([*quiet, *busy[:10]], "slower")):
        measured = Session.of(_after(0, 41).at, KEY, at, "d1")
        assert judge(measured, [*EQUAL, first], SINGLE).verdict == verdict
    assert "other programs" in judge(Session.of(_after(0, 41).at, KEY, busy, "d1"), EQUAL).reason
    assert judge(replace(_after(3.0), poor=True), EQUAL).verdict == "unusable"


def test_what_is_slower_is_no_usual_until_it_is_accepted() -> None:
    level = [slower(40 + i) for i in range(8)]
    assert judge(_after(math.log(1.3), 60), [*EQUAL, *level], SINGLE).verdict == "slower"
    accepted = [*EQUAL, *(replace(s, accepted="now") for s in level[:2])]
    assert judge(_after(math.log(1.3), 60), accepted, SINGLE).verdict == "same"
    assert judge(_after(math.log(1.6), 60), accepted, SINGLE).over == FIGURES
    # Slower again, and accepted again.
    twice = [*accepted, slower(61, 1.6, "unclear"), *(replace(slower(62 + i, 1.6), accepted="later") for i in range(2))]
    assert judge(_after(math.log(1.6), 70), twice, SINGLE).rows[0].difference == pytest.approx(0.0)
    # A change to the faster needs no acceptance.
    faster = [*EQUAL, *(session(40 + i, math.log(0.7)) for i in range(8))]
    assert judge(_after(0.0, 60), faster, SINGLE).over == FIGURES
    # A change to the slower that nobody noticed does not creep in.
    creeping = [*(session(3 * i, 0.001 * (-1) ** i) for i in range(10)), *(session(40 + i, 0.039) for i in range(10))]
    assert judge(_after(0.039, 60), creeping, SINGLE).rows[0].usual == pytest.approx(0.0, abs=1e-9)


def test_a_figure_that_was_not_measured_is_told_and_spoils_no_later_session() -> None:
    lacking = session(40, {FIGURES[0]: 0.0})
    found = judge(lacking, EQUAL, SINGLE)
    assert found.verdict == "unclear" and FIGURES[1] in found.reason and [row.figure for row in found.rows] == [FIGURES[0]]
    assert len(judge(_after(0.0, 43), [*EQUAL, lacking], SINGLE).rows) == 3


def test_other_machines_and_unusable_sessions_are_passed_over() -> None:
    others = [session(3 * i, 5.0, key={**KEY, "mpi": "Open MPI 5"}) for i in range(20)]
    broken = [session(3 * i, 5.0, verdict="unusable") for i in range(20)]
    found = judge(_after(0.0), [*others, *broken, *EQUAL], SINGLE)
    assert (found.verdict, found.sessions) == ("same", 10)
    changed = [session(3 * i, key={**KEY, "kernel_release": str(i)}) for i in range(10)]
    assert judge(_after(0.0), changed, SINGLE).verdict == "same"  # the machine may get a new kernel


@pytest.fixture(scope="module")
def alarms() -> ModuleType:
    path = Path(__file__).parents[3] / "benchmarks" / "alarms.py"
    spec = importlib.util.spec_from_file_location("alarms", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_no_false_alarm_and_hardly_a_missed_one_on_a_machine_with_states(alarms: ModuleType) -> None:
    """A slice of benchmarks/alarms.py: 20 sessions known, a slow state of 25 %; +20 % in all figures."""
    false = alarms.alarm_rates(100, 20, 0.25, np.zeros(3), seed=1)
    assert false.get("slower", 0.0) <= 0.01
    assert alarms.alarm_rates(100, 20, 0.25, np.full(3, math.log(1.2)), seed=1)["slower"] >= 0.95
