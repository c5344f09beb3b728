"""What a better placement saves, on four nodes: bytes by the kernel's counters, and time where the links are slow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nodes
from nodes import Nodes
from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.models.curve import curve_from_table

pytestmark = [pytest.mark.namespaces, pytest.mark.mpi]

BLOCK_BYTES = 100_000
RATE = 12.5e6  # bytes/s, 100 Mbit/s
GRID = (
    "--algorithm",
    "direct",
    "--mode",
    "isend",
    "--dims",
    "4x4",
    "--cutoff",
    "1",
    "--periodic",
    "none",
    "--bytes",
    str(BLOCK_BYTES),
)


def _rankwise(four: Nodes, folder: Path, *words: str) -> str:
    done = subprocess.run(
        four.command(four.hosts[0], [sys.executable, "-m", "rankwise", *words]),
        cwd=folder, env=four.environment(), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode in ((0, 6) if words[0] == "measure" else (0,)), done.stderr
    return done.stdout


@pytest.fixture
def four(request: pytest.FixtureRequest) -> Iterator[Nodes]:
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    with Nodes(request.param, ("n1", "n2", "n3", "n4")) as up:
        yield up


@pytest.mark.parametrize("four", ["1gbit"], indirect=True)
def test_two_link_classes_are_found_and_the_shaped_one_has_its_bandwidth(four: Nodes, tmp_path: Path) -> None:
    # Nothing is faster than the shaper, and what else the machine does only makes it slower: the minimum is the link's.
    _rankwise(four, tmp_path, "measure", "one-to-all", "--hosts", ",".join(four.hosts[2:]), "--launches", "1", "--seconds",
        "20",
              "--sizes", "0,300kB,500kB,900kB", "--precision", "0.9", "--statistic", "minimum", "-o", "m.json")  # fmt: skip
    profile = json.loads((tmp_path / "m.json").read_text())
    assert set(profile["machine"]["tcp"]) == {"reno"} and 8800 < profile["machine"]["tcp"]["reno"] < 9000
    shown = _rankwise(four, tmp_path, "profile", "show", "m.json")
    assert f"between nodes: TCP, reno (segments of {profile['machine']['tcp']['reno']} B)" in shown
    links = profile["links"]
    assert list(links) == ["same-socket", "other-node"]
    assert 1 / links["other-node"]["beta_s_per_byte"] == pytest.approx(125e6, rel=0.05)
    assert 1 / links["same-socket"]["beta_s_per_byte"] > 4 * 125e6


def _write_profile(path: Path) -> None:
    """Write a profile of links as the shaper keeps them, and of messages in a node that cost next to nothing."""

    def link(alpha_s: float, bytes_per_s: float) -> Link:
        sizes = (0, 1000, BLOCK_BYTES)
        points = [Point(size, alpha_s + size / bytes_per_s, alpha_s, alpha_s + 2 * size / bytes_per_s, 1) for size in sizes]
        return Link(curve_from_table(points, "as shaped"))

    machine = {"hostname": "node", "sockets": 1, "cores": 4}
    links = {"same-socket": link(1e-6, 5e9), "other-node": link(20e-6, RATE)}
    shared = Shared(card=Resource(RATE))
    Profile(machine, links, "2024-01-01T00:00:00+00:00", {"kind": "imported"}, shared=shared).save(path)


@pytest.mark.parametrize("four", ["100mbit"], indirect=True)
def test_the_recommended_placement_sends_less_and_is_as_much_faster_as_predicted(four: Nodes, tmp_path: Path) -> None:
    hosts = ",".join(four.hosts)
    _write_profile(tmp_path / "m.json")
    mapped = ("map", "--grid", "4x4", "--nodes", "4", "--ppn", "4", "--stencil", "moore:1")
    (tmp_path / "best").write_text(_rankwise(four, tmp_path, *mapped, "--format", "slurm-hostfile", "--hosts", hosts))
    scores = {row["algorithm"]: row for row in json.loads(_rankwise(four, tmp_path, *mapped, "--json"))["results"]}
    best = min(scores.values(), key=lambda row: (row["j_sum"], row["j_max"]))
    assert (scores["blocked"]["j_sum"], best["j_sum"]) == (60, 36) and (scores["blocked"]["j_max"], best["j_max"]) == (20, 9)

    predicted, measured, crossed = {}, {}, {}
    for placement in ("blocked", "cyclic", "best"):
        row = json.loads(
            _rankwise(
                four,
                tmp_path,
                "predict",
                "exchange",
                *GRID,
                "--profile",
                "m.json",
                "--ranks-per-node",
                "4",
                "--placement",
                placement,
                "--json",
            )  # fmt: skip
        )["rows"][0]
        predicted[placement] = row["time_s"]
        assert row["busiest"]["resource"].startswith("card") and row["busiest"]["held_s"] > 0.9 * row["time_s"]
        before = sum(map(four.crossed_bytes, four.hosts))
        row = json.loads(
            _rankwise(
                four,
                tmp_path,
                "run",
                "exchange",
                *GRID,
                "--hosts",
                hosts,
                "--placement",
                placement,
                "--seconds",
                "1",
                "--samples",
                f"{placement}.jsonl",
                "--json",
            )  # fmt: skip
        )["rows"][0]
        assert row["verified"]
        # Sent and received: each byte is counted at both ends. A warm-up and what is checked come on top of the rounds timed.
        crossed[placement] = (sum(map(four.crossed_bytes, four.hosts)) - before) / 2 / (row["repetitions"] + 2) / BLOCK_BYTES
        measured[placement] = row["time_s"]
    # Of all directed edges those between nodes crossed the wire, headers and handshakes beside them.
    assert crossed["blocked"] / crossed["best"] == pytest.approx(60 / 36, rel=0.2)
    assert predicted["blocked"] / predicted["best"] == pytest.approx(20 / 9, rel=0.02)
    assert measured["blocked"] / measured["best"] > 1.5 and measured["cyclic"] / measured["best"] > 1.5, (measured, predicted)
