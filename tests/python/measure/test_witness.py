import os
import time
from pathlib import Path

import pytest

from rankwise.measure.witness import Watch, network_changes


def _machine(root: Path, busy: int, idle: int, steal: int, waited_us: int) -> None:
    (root / "proc/pressure").mkdir(parents=True, exist_ok=True)
    lines = [f"cpu{cpu} {busy} 0 0 {idle} 0 0 0 {steal} 0 0" for cpu in os.sched_getaffinity(0)]
    (root / "proc/stat").write_text("\n".join(lines) + "\n")
    (root / "proc/pressure/cpu").write_text(f"some avg10=0.00 avg60=0.00 avg300=0.00 total={waited_us}\n")


def test_a_witness_tells_foreign_load_steal_and_pressure(tmp_path: Path) -> None:
    _machine(tmp_path, 0, 0, 0, 0)
    watch = Watch(tmp_path)
    time.sleep(0.05)
    _machine(tmp_path, 70, 20, 10, 10**9)
    seen = watch.witness()
    cpus = len(os.sched_getaffinity(0))
    foreign, steal, pressure = seen["foreign_cpus"], seen["steal_share"], seen["pressure_share"]
    assert foreign is not None and 0.7 * cpus - 1 < foreign <= 0.7 * cpus  # less what this test itself used
    assert steal == pytest.approx(0.1)
    assert pressure is not None and pressure > 1


def test_a_system_that_tells_nothing_gives_none(tmp_path: Path) -> None:
    seen = Watch(tmp_path).witness()
    assert (seen["foreign_cpus"], seen["steal_share"], seen["pressure_share"]) == (0.0, 0.0, None)


def test_what_the_network_did_is_that_those_of_the_time_between_for_each_host_and_interface() -> None:
    before = [
        {
            "host": "a",
            "network_bytes": {"record": "network", "eth0": [100, 10], "gone": [1, 1]},
            "network_faults": {"eth0": [3, 0]},
        },
        {"host": "b", "network_bytes": {"eth0": [5, 5]}},
    ]
    after = [
        {
            "host": "a",
            "network_bytes": {"record": "network", "eth0": [150, 20], "new": [7, 7]},
            "network_faults": {"eth0": [5, 1]},
        },
        {"host": "b", "network_bytes": {"eth0": [15, 55]}},
    ]
    assert network_changes(before, after) == {
        "network_bytes": {"a": {"eth0": [50, 10]}, "b": {"eth0": [10, 50]}},
        "network_faults": {"a": {"eth0": [2, 1]}},
    }
