"""Halos of unequal faces between four nodes whose links are shaped: predicted to within 15 % of the least time that they take.

``benchmarks/predicted_on_nodes.py`` measures the links first, and has boxes and more ranks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import nodes
from nodes import Nodes
from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.models.curve import curve_from_table

pytestmark = [pytest.mark.namespaces, pytest.mark.mpi]

RATE = 12.5e6  # bytes/s, 100 Mbit/s
FACES = (("4x1x1", "200kB,1,1"), ("2x2x1", "98kB,140kB,1"))


def test_unequal_faces_take_what_is_predicted(tmp_path: Path) -> None:
    if (why := nodes.why_not()) is not None:
        pytest.skip(why)
    points = [Point(size, *3 * [20e-6 + size / RATE], 1) for size in (0, 1000, 1_000_000)]
    links = {"other-node": Link(curve_from_table(points, "as shaped"))}
    shared = Shared(card=Resource(RATE))
    Profile({"cores": 2}, links, "2026-01-01T00:00:00Z", {"kind": "imported"}, shared=shared).save(tmp_path / "m.json")
    with Nodes("100mbit", ("n1", "n2", "n3", "n4")) as four:

        def rows(*words: str) -> list[dict[str, float]]:
            done = subprocess.run(
                four.command(four.hosts[0], [sys.executable, "-m", "rankwise", *words, "--json"]),
                cwd=tmp_path, env=four.environment(), capture_output=True, text=True, timeout=200,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)["rows"]  # type: ignore[no-any-return]

        for number, (grid, faces) in enumerate(FACES):
            asked = ("halo", "--grid", grid, "--halo", faces)
            predicted = rows("predict", *asked, "--profile", "m.json", "--ranks-per-node", "1")
            samples = f"{number}.jsonl"
            measured = rows("run", *asked, "--hosts", ",".join(four.hosts), "--samples", samples, "--seconds", "0.8")
            assert [row["verified"] for row in measured] == [True, True]
            records = [json.loads(line) for line in (tmp_path / samples).read_text().splitlines()]
            least = [min(record["time_s"]) for record in records if record.get("record") == "samples"]
            assert len(least) == len(predicted) == 2
            # Load only makes exchanges slower: the least is the link's.
            for row, least_s in zip(predicted, least, strict=True):
                assert row["time_s"] == pytest.approx(least_s, rel=0.15), (grid, row["algorithm"])
