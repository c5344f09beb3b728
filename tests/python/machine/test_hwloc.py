"""Reading hwloc's XML: real files, damaged files, and this machine."""

import os
import re
import shutil
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.errors import InputError, UnusableEnvironmentError
from rankwise.machine import hwloc
from rankwise.machine.discover import discover
from rankwise.machine.hwloc import library_xml, lstopo_xml, parse_xml


def test_two_sockets_of_24_cores_with_smt(machine_xml):
    topology = parse_xml(machine_xml("two-socket-24-core-smt"), "lstopo")
    assert (topology.socket_count, topology.core_count, len(topology.pus)) == (2, 48, 96)
    assert topology.numa_nodes == (0, 1)
    assert topology.memory_bytes == 2 * 2**30
    assert topology.allowed == tuple(range(96))
    assert topology.source == "lstopo"
    assert topology.representative_pairs() == {"same-core": (0, 1), "same-socket": (0, 2), "other-socket": (0, 48)}
    assert topology.pus_one_per_core() == list(range(0, 96, 2))


def test_one_socket_with_four_numa_nodes(machine_xml):
    topology = parse_xml(machine_xml("one-socket-4-numa"), "lstopo")
    assert (topology.socket_count, topology.core_count, len(topology.pus)) == (1, 32, 64)
    assert topology.numa_nodes == (0, 1, 2, 3)
    assert [topology.pu(index).numa_node for index in (0, 15, 16, 63)] == [0, 0, 1, 3]
    assert topology.representative_pairs() == {
        "same-core": (0, 1),
        "shared-cache": (0, 2),  # of 4 cores
        "same-socket": (0, 8),
    }
    last_level = [cache for cache in topology.caches if cache.level == 3]
    assert len(last_level) == 8
    assert last_level[1].size_bytes == 16 * 2**20
    assert last_level[1].pus == tuple(range(8, 16))


def test_a_small_virtual_machine(machine_xml):
    topology = parse_xml(machine_xml("one-socket-vm"), "hwloc-library")
    assert (topology.host, topology.cpu_model) == ("vm", "AMD EPYC")
    assert [(pu.os_index, pu.core, pu.socket, pu.numa_node) for pu in topology.pus] == [(0, 0, 0, 0), (1, 1, 0, 0)]
    # Instruction caches carry no messages.
    assert [(cache.level, cache.size_bytes, cache.pus) for cache in topology.caches] == [
        (1, 49152, (0,)),
        (1, 49152, (1,)),
        (2, 2**20, (0,)),
        (2, 2**20, (1,)),
        (3, 32 * 2**20, (0, 1)),
    ]


@pytest.mark.parametrize(
    ("bitmap", "allowed"),
    [
        ("0x0000000c", (2, 3)),
        ("0x00000001,0x00000000,0x00000003", (0, 1, 64)),
        ("0x00000001,,0x00000003", (0, 1, 64)),
        ("0xf...f,0x00000000,0x00000000", tuple(range(64, 96))),
        ("0xf...f", tuple(range(96))),
    ],
)
def test_allowed_pus(machine_xml, bitmap, allowed):
    text = re.sub(' allowed_cpuset="[^"]*"', f' allowed_cpuset="{bitmap}"', machine_xml("two-socket-24-core-smt"))
    assert parse_xml(text, "lstopo").allowed == allowed


def test_nothing_but_processors():
    text = '<topology version="2.0"><object type="Machine"><object type="PU" os_index="3"/></object></topology>'
    topology = parse_xml(text, "lstopo")
    assert [(pu.os_index, pu.core, pu.socket, pu.numa_node) for pu in topology.pus] == [(3, 0, 0, 0)]
    assert (topology.host, topology.cpu_model, topology.numa_nodes) == ("unknown", "unknown", (0,))


def test_memory_without_processors_takes_none(machine_xml):
    far = '<object type="NUMANode" os_index="7" local_memory="1000"/>'
    text = machine_xml("two-socket-24-core-smt").replace('<object type="Package"', f'{far}<object type="Package"', 1)
    topology = parse_xml(text, "lstopo")
    assert topology.numa_nodes == (0, 1, 7)
    assert {pu.numa_node for pu in topology.pus} == {0, 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "malformed"),
        ("<topology", "malformed"),
        ("\0", "malformed"),
        ("\ud800", "malformed"),
        ('<?xml version="1.0" encoding="klingon"?><topology/>', "hwloc XML"),
        ("<html/>", "not a topology of format 2"),
        ("<topology><object/></topology>", "not a topology of format 2"),
        ('<topology version="2.0"/>', "no machine"),
        ('<topology version="2.0"><object type="Machine"/></topology>', "no processor"),
        ('<topology version="2.0"><object type="PU"/></topology>', "its PU has the os_index ''"),
        ('<topology version="2.0"><object type="PU" os_index="-1"/></topology>', "its PU has the os_index '-1'"),
        (
            '<topology version="2.0"><object type="Machine"><object type="PU" os_index="1"/>'
            '<object type="PU" os_index="1"/></object></topology>',
            "PU 1 twice",
        ),
        (
            '<topology version="2.0"><object type="Machine" allowed_cpuset="0xzz"><object type="PU" os_index="1"/>'
            "</object></topology>",
            "not a bitmap",
        ),
        (
            '<topology version="2.0"><object type="Machine" allowed_cpuset="0x1"><object type="PU" os_index="1"/>'
            "</object></topology>",
            "allowed processors are none",
        ),
        (
            '<topology version="2.0"><object type="Core"><object type="Package"><object type="PU" os_index="0"/>'
            '</object><object type="PU" os_index="1"/></object></topology>',
            "two sockets",
        ),
    ],
)
def test_bad_xml_is_named_with_its_mend(text, reason):
    with pytest.raises(InputError, match=re.escape(reason)) as raised:
        parse_xml(text, "lstopo")
    assert "remove or update hwloc" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_deep_nesting_is_no_crash():
    depth = 20_000
    text = '<topology version="2.0">' + "<object>" * depth + "</object>" * depth + "</topology>"
    with pytest.raises(InputError):
        parse_xml(text, "lstopo")


ATTRIBUTES = ("os_index", "depth", "cache_size", "cache_type", "local_memory", "allowed_cpuset")
VALUES = st.one_of(st.sampled_from(["0", "1", "2", "0x00000003", "0xf...f", "9" * 20]), st.text("0123456789xf.,-", max_size=9))
TYPES = st.sampled_from(["Machine", "Package", "Core", "PU", "NUMANode", "MemCache", "L2Cache", "L1iCache", "Group", ""])
OBJECTS = st.recursive(
    st.just(""),
    lambda inner: st.builds(
        lambda kind, attributes, children: (
            f'<object type="{kind}" '
            + " ".join(f'{name}="{value}"' for name, value in attributes.items())
            + f">{''.join(children)}</object>"
        ),
        TYPES,
        st.dictionaries(st.sampled_from(ATTRIBUTES), VALUES),
        st.lists(inner, max_size=3),
    ),
    max_leaves=20,
)


@given(OBJECTS)
@settings(max_examples=200, deadline=None)
def test_senseless_trees_are_read_or_refused(objects):
    try:
        parse_xml(f'<topology version="2.0">{objects}</topology>', "lstopo")
    except InputError:
        pass


def test_a_missing_library_and_lstopo_are_told(monkeypatch):
    monkeypatch.setattr(hwloc, "LIBRARY", "libhwloc-that-is-not-there.so.15")
    with pytest.raises(UnusableEnvironmentError, match="libhwloc-that-is-not-there"):
        library_xml()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UnusableEnvironmentError, match="lstopo is not on PATH: install hwloc"):
        lstopo_xml()


def test_a_library_that_is_not_hwloc_is_told(monkeypatch):
    monkeypatch.setattr(hwloc, "LIBRARY", "libc.so.6")
    with pytest.raises(UnusableEnvironmentError, match=r"libc.so.6 cannot be used .*hwloc_topology_init"):
        library_xml()


@pytest.mark.parametrize(
    ("script", "reason"),
    [("echo no such option >&2; exit 3", "exit code 3 .no such option"), ("exec sleep 60", "timed out")],
)
def test_a_failing_lstopo_is_told(monkeypatch, tmp_path, script, reason):
    program = tmp_path / "lstopo-no-graphics"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(hwloc, "_LSTOPO_TIMEOUT_S", 0.3)
    with pytest.raises(UnusableEnvironmentError, match=reason):
        lstopo_xml()


def test_discovery_goes_on_to_sys_when_hwloc_is_broken(monkeypatch, tmp_path):
    program = tmp_path / "lstopo-no-graphics"
    program.write_text("#!/bin/sh\necho '<topology'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(hwloc, "LIBRARY", "libhwloc-that-is-not-there.so.15")
    assert discover().source == "sysfs"


def test_discovery_without_any_source_gives_the_reasons(monkeypatch):
    monkeypatch.setattr(hwloc, "LIBRARY", "libhwloc-that-is-not-there.so.15")
    with pytest.raises(UnusableEnvironmentError, match="cannot be discovered: libhwloc-that-is-not-there"):
        discover(["hwloc-library"])


def _or_skip(read):
    try:
        return read()
    except UnusableEnvironmentError as error:
        pytest.skip(str(error))


@pytest.mark.hwloc
@pytest.mark.parametrize("source", ["hwloc-library", "lstopo"])
def test_hwloc_and_sysfs_agree_on_this_machine(source):
    of_hwloc = _or_skip(lambda: discover([source]))
    assert replace(of_hwloc, source="sysfs") == discover(["sysfs"])


@pytest.mark.hwloc
def test_the_library_s_other_machine_is_not_taken_for_this_one(monkeypatch):
    _or_skip(library_xml)
    monkeypatch.setenv("HWLOC_SYNTHETIC", "pack:2 core:24 pu:2")
    with pytest.raises(UnusableEnvironmentError, match="describes another machine: unset HWLOC_SYNTHETIC"):
        library_xml()
    assert discover(["lstopo", "sysfs"]).pus == discover(["sysfs"]).pus


def test_the_affinity_mask_limits_what_is_allowed_not_what_is_there():
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("needs two processors")
    try:
        os.sched_setaffinity(0, {max(before)})
        topology = discover()
    finally:
        os.sched_setaffinity(0, before)
    assert topology.allowed == (max(before),)
    assert len(topology.pus) >= len(before)
