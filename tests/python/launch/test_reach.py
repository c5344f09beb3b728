"""Hosts that answer, and those that stop to."""

from __future__ import annotations

import socket
import time

import pytest

from rankwise.launch import reach
from rankwise.launch.reach import Reach

HERE = ["127.0.0.1", "127.0.0.2"]


@pytest.fixture
def port() -> int:
    """Return a port that nobody listens on: asking it is refused, which is an answer."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _look(hosts: Reach, seconds: float, quiet_s: float = 10.0) -> str:
    until = time.monotonic() + seconds
    said = ""
    while time.monotonic() < until and not said:
        said = hosts.lost(quiet_s)
        time.sleep(0.02)
    return said


def test_hosts_that_answer_are_not_lost(port: int) -> None:
    with Reach([*HERE, "nowhere.invalid", "*1"], (port,), patience_s=20.0) as hosts:
        assert _look(hosts, 0.5) == "" and set(hosts._heard_s) == set(HERE)


def test_a_host_that_stops_to_answer_is_named(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with Reach(HERE[:1], (port,), patience_s=0.1) as hosts:
        assert _look(hosts, 0.1, quiet_s=0.0) == ""
        monkeypatch.setattr(Reach, "_take", lambda self, asked, code, now_s: self._drop(asked))
        assert _look(hosts, 0.5, quiet_s=0.0) == "", "the ranks are heard"
        assert "127.0.0.1 has not answered" in _look(hosts, 5.0)
        monkeypatch.setattr(reach, "_links_up", lambda: set())
        hosts._links = {"eth7"}
        assert "the link eth7 of this node" in _look(hosts, 5.0)
    with Reach(HERE, (port,), patience_s=0.1) as hosts:
        hosts._heard_s = dict.fromkeys(HERE, time.monotonic())
        assert "has heard of no other" in _look(hosts, 5.0)


def test_who_never_answered_is_not_judged(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reach, "_take", lambda self, asked, code, now_s: self._drop(asked))
    with Reach(HERE, (port,), patience_s=0.1) as hosts:
        assert _look(hosts, 0.5) == ""
