"""A session on real ranks: measured, cut off, gone on with."""

import json
from pathlib import Path

import pytest

from rankwise.errors import InputError, InterruptedWorkError
from rankwise.health import session as sessions
from rankwise.launch.mpi import Mpi
from rankwise.machine.discover import discover
from rankwise.machine.record import machine_record
from rankwise.measure.places import find_places
from rankwise.progress import SILENT
from verbs import Rankwise


class _Stop:
    """Interrupts as Ctrl-C does, after so many launches."""

    def __init__(self, after: int) -> None:
        self.left = after

    def advance(self, steps: int = 1) -> None:
        self.left -= steps
        if steps and self.left <= 0:
            raise KeyboardInterrupt

    def say(self, what: str) -> None: ...


@pytest.mark.mpi
def test_a_session_cut_off_goes_on_with_its_launches(mpi: Mpi, tmp_path: Path) -> None:
    topology = discover()
    places = find_places(topology)
    plan = sessions.SessionPlan(places, launches=10, spread_s=0.0, seconds=200.0)  # far more than it takes
    key, machine = sessions.key_of(topology, mpi, places, "here"), machine_record(topology, mpi)
    history = tmp_path / "health.jsonl"
    path = sessions.samples_path(history, key)
    with pytest.raises(InterruptedWorkError, match="the same command goes on"):
        sessions.measure_session(mpi, plan, key, machine, history, _Stop(3))
    half = path.read_text()
    session = sessions.measure_session(mpi, plan, key, machine, history, SILENT)
    assert path.read_text().startswith(half) and path.read_text().count('"complete"') == 10
    assert len(session.launches) == 10 and key["hostname"] == "here"
    figures = {f"{link}.{kind}" for link in places for kind in ("latency_s", "exchange_s", "s_per_byte")}
    assert session.value.keys() == figures and all(launch.figures.keys() == figures for launch in session.launches)
    assert all(1e-13 < launch.figures[name] < 1 for launch in session.launches for name in figures)
    # Launches of other kernels, or of long ago, are not gone on with.
    records = [json.loads(line) for line in half.splitlines()]
    for record in records:
        if record["record"] == "campaign":
            record["machine"]["kernels"] = "others"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert sessions._campaigns(path, plan, sessions.digest_of(mpi)) == [] and not path.exists()


def test_launches_are_spread_at_random_and_in_order() -> None:
    plan = sessions.SessionPlan({}, launches=20, spread_s=1800.0)
    begins = plan.begins_s("now")
    assert begins == sorted(begins) and begins[0] == 0.0 and begins[-1] <= 1800.0
    assert all(90 * i <= begin < 90 * (i + 1) for i, begin in enumerate(begins))
    for wrong in ({"launches": 9}, {"spread_s": -1.0}, {"seconds": 0.0}):
        with pytest.raises(InputError):
            sessions.SessionPlan({}, **wrong)


def test_a_second_session_at_once_is_refused(rankwise: Rankwise, tmp_path: Path) -> None:
    with sessions.alone(tmp_path / "h.jsonl", {"a": 1}), sessions.alone(tmp_path / "h.jsonl", {"a": 2}):
        with pytest.raises(Exception, match="under way"), sessions.alone(tmp_path / "h.jsonl", {"a": 1}):
            pass
