"""Reading /sys and /proc below a golden root."""

import os
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.machine.hwloc import parse_xml
from rankwise.machine.sysfs import cpu_model, memory_bytes, read_sysfs

CPU = "sys/devices/system/cpu"


def test_a_two_socket_smt_machine(sysfs_tree):
    topology = read_sysfs(sysfs_tree)
    assert topology.host == "node17"
    assert topology.cpu_model == "Intel(R) Xeon(R) Gold 6132 CPU @ 2.60GHz"
    assert (topology.socket_count, topology.core_count, len(topology.pus)) == (2, 4, 8)
    assert topology.numa_nodes == (0, 1)
    assert topology.memory_bytes == 196608000 * 1024
    assert topology.representative_pairs() == {"same-core": (0, 4), "same-socket": (0, 1), "other-socket": (0, 2)}
    assert [(cache.level, cache.size_bytes) for cache in topology.caches] == (
        [(1, 32768)] * 4 + [(2, 2**20)] * 4 + [(3, 22 * 2**20)] * 2
    )
    assert topology.caches[-1].pus == (2, 3, 6, 7)


def test_hwloc_read_the_same_tree_alike(sysfs_tree, machine_xml):
    # The XML was written by lstopo from this very tree; hwloc takes the host name from the system call, not from it.
    of_hwloc = parse_xml(machine_xml("two-socket-smt"), "lstopo")
    assert replace(of_hwloc, source="sysfs", host="node17") == read_sysfs(sysfs_tree)


def test_older_kernels_name_the_files_otherwise(sysfs_tree):
    before = read_sysfs(sysfs_tree)
    for name in ("core_cpus_list", "package_cpus_list"):
        for path in sysfs_tree.glob(f"{CPU}/cpu*/topology/{name}"):
            path.unlink()
    assert read_sysfs(sysfs_tree) == before


def test_offline_processors_are_not_there(sysfs_tree):
    (sysfs_tree / CPU / "online").write_text("0-3\n")
    for cpu in range(4):
        (sysfs_tree / CPU / f"cpu{cpu}/topology/core_cpus_list").write_text(f"{cpu}\n")
    topology = read_sysfs(sysfs_tree)
    assert (topology.core_count, len(topology.pus)) == (4, 4)
    assert topology.caches[-1].pus == (2, 3)


def test_a_sandbox_that_hides_sys(sysfs_tree, tmp_path):
    bare = tmp_path / "bare"
    (bare / "proc").mkdir(parents=True)
    (bare / "proc/cpuinfo").write_bytes((sysfs_tree / "proc/cpuinfo").read_bytes())
    topology = read_sysfs(bare)
    assert (topology.socket_count, topology.core_count, len(topology.pus)) == (1, 8, 8)
    assert (topology.numa_nodes, topology.caches, topology.memory_bytes) == ((0,), (), 0)
    assert topology.host == "unknown"


def test_nothing_at_all_is_refused(tmp_path):
    with pytest.raises(InputError, match="mount /sys and /proc"):
        read_sysfs(tmp_path)
    assert memory_bytes(tmp_path) == 0
    assert cpu_model(tmp_path) == "unknown"


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        (f"{CPU}/online", "0-x", "not a list of CPU numbers"),
        (f"{CPU}/cpu1/topology/core_cpus_list", "2", "lacks CPU 1 itself"),
        (f"{CPU}/cpu0/cache/index0/level", "one", "level is 'one'"),
        (f"{CPU}/cpu0/cache/index2/size", "1 MiB", "size is '1 MiB'"),
        ("sys/devices/system/node/online", "?", "not a list of CPU numbers"),
    ],
)
def test_a_malformed_file_is_named(sysfs_tree, path, content, reason):
    (sysfs_tree / path).write_text(content)
    with pytest.raises(InputError, match=reason) as raised:
        read_sysfs(sysfs_tree)
    assert path in str(raised.value)


def test_files_that_contradict_each_other_are_refused(sysfs_tree):
    (sysfs_tree / CPU / "cpu0/topology/core_cpus_list").write_text("0,2")
    with pytest.raises(InputError, match="a core that lies in two sockets"):
        read_sysfs(sysfs_tree)


def test_a_size_that_is_not_told_is_zero(sysfs_tree):
    (sysfs_tree / CPU / "cpu0/cache/index3/size").unlink()
    assert [cache.size_bytes for cache in read_sysfs(sysfs_tree).caches if cache.level == 3] == [0, 22 * 2**20]


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_damaged_files_are_read_or_refused(sysfs_tree, data):
    folders = ("cpu/online", "cpu/cpu0", "node/online", "node/node0/cpulist")
    base = sysfs_tree / "sys/devices/system"
    files = sorted(path for name in folders for path in [base / name, *(base / name).rglob("*")] if path.is_file())
    path = data.draw(st.sampled_from(files))
    before = path.read_bytes()
    damage = st.one_of(st.text("0123456789-,KMG\n", max_size=12).map(str.encode), st.binary(max_size=12))
    try:
        path.write_bytes(data.draw(damage))
        read_sysfs(sysfs_tree)
    except InputError:
        pass
    finally:
        path.write_bytes(before)


def test_this_machine_is_read_quickly():
    best = min(_timed(read_sysfs) for _ in range(5))
    assert best < 0.05 * max(1, (os.cpu_count() or 1) / 128)


def _timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
