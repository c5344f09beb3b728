"""Pure questions to a topology: link classes, representative pairs, placement, JSON."""

import json
import time
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.machine.profile import LINK_CLASSES
from rankwise.machine.topology import LINK_TABLE, Cache, Topology, pus_of


def machine(sockets=2, cores=2, threads=2, numa_per_socket=1, allowed=None):
    """A machine numbered as Linux does: first the first threads of all cores, then the second ones."""
    total = sockets * cores
    pus = range(total * threads)
    return Topology(
        host="node17",
        cpu_model="model",
        memory_bytes=2**34,
        numa_nodes=range(sockets * numa_per_socket),
        pus=pus_of(
            core_of={pu: pu % total for pu in pus},
            socket_of={pu: pu % total // cores for pu in pus},
            numa_node_of={pu: pu % total * numa_per_socket // cores for pu in pus},
        ),
        caches=[Cache(2, 2**20, tuple(pu for pu in pus if pu % total == core)) for core in range(total)],
        allowed=pus if allowed is None else allowed,
        source="sysfs",
    )


def test_counts():
    topology = machine(sockets=2, cores=24, threads=2)
    assert (topology.socket_count, topology.core_count, len(topology.pus)) == (2, 48, 96)


@pytest.mark.parametrize(
    ("pair", "name"),
    [((0, 4), "same-core"), ((0, 1), "same-socket"), ((0, 5), "same-socket"), ((1, 2), "other-socket")],
)
def test_link_class(pair, name):
    assert machine().link_class(*pair) == name
    assert machine().link_class(*reversed(pair)) == name


def test_a_pu_has_no_link_to_itself_nor_to_a_stranger():
    with pytest.raises(ValueError, match="no link to itself"):
        machine().link_class(3, 3)
    with pytest.raises(ValueError, match="no processor 8"):
        machine().link_class(0, 8)


def test_the_table_holds_the_profile_s_classes_of_one_computer():
    assert tuple(name for name, _ in LINK_TABLE) == LINK_CLASSES[: len(LINK_TABLE)]
    assert LINK_CLASSES[len(LINK_TABLE) :] == ("other-node",)


def test_representative_pairs_of_a_full_machine():
    assert machine().representative_pairs() == {"same-core": (0, 4), "same-socket": (0, 1), "other-socket": (0, 2)}


@pytest.mark.parametrize(
    ("allowed", "pairs"),
    [
        ([0], {}),
        ([0, 4], {"same-core": (0, 4)}),
        ([0, 1], {"same-socket": (0, 1)}),
        ([1, 2], {"other-socket": (1, 2)}),
        ([0, 3, 7], {"same-core": (3, 7), "other-socket": (0, 3)}),
        ([5, 4], {"same-socket": (4, 5)}),
    ],
)
def test_representative_pairs_of_what_is_allowed(allowed, pairs):
    assert machine(allowed=allowed).representative_pairs() == pairs


@given(
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 2)),
    st.sets(st.integers(0, 23), min_size=1),
)
def test_every_class_that_exists_has_one_pair_and_it_is_of_that_class(shape, wanted):
    topology = machine(*shape)
    allowed = wanted & {pu.os_index for pu in topology.pus}
    assume(allowed)
    offered = {topology.link_class(a, b) for a, b in permutations(allowed, 2)}
    pairs = replace(topology, allowed=tuple(allowed)).representative_pairs()
    assert pairs.keys() == offered
    for name, (a, b) in pairs.items():
        assert {a, b} <= allowed
        assert topology.link_class(a, b) == name


def test_a_pair_on_a_socket_is_near():
    topology = machine(sockets=1, cores=8, threads=1, numa_per_socket=4, allowed=[1, 6, 7])
    a, b = topology.representative_pairs()["same-socket"]
    assert (a, b) == (1, 6)  # rank 0 and its nearest neighbour in placement order
    assert topology.pus_one_per_core() == [1, 6, 7]


def test_one_pu_for_each_core_socket_by_socket():
    # On a machine that numbers the cores of its sockets in turn, placement still fills a socket first.
    interleaved = Topology(
        host="h",
        cpu_model="m",
        memory_bytes=0,
        numa_nodes=[0, 1],
        pus=pus_of(
            core_of={pu: pu % 4 for pu in range(8)},
            socket_of={pu: pu % 2 for pu in range(8)},
            numa_node_of={pu: pu % 2 for pu in range(8)},
        ),
        caches=[],
        allowed=range(8),
        source="sysfs",
    )
    assert interleaved.pus_one_per_core() == [0, 2, 1, 3]
    assert replace(interleaved, allowed=(4, 1, 5, 7)).pus_one_per_core() == [4, 1, 7]
    assert machine().pus_one_per_core() == [0, 1, 2, 3]
    assert machine(allowed=[4, 1]).allowed_core_count == 2


def test_large_machines_are_quick_to_ask():
    topology = machine(sockets=1, cores=192, threads=2)
    start = time.process_time()
    assert topology.representative_pairs().keys() == {"same-core", "same-socket"}
    assert time.process_time() - start < 1.0


def test_json_round_trip():
    topology = machine()
    assert Topology.from_dict(json.loads(json.dumps(topology.to_dict()))) == topology


@pytest.mark.parametrize(
    "change",
    [
        {"pus": []},
        {"pus": 3},
        {"pus": [{"os_index": 0}]},
        {"host": None},
        {"memory_bytes": -1},
        {"memory_bytes": True},
        {"allowed": []},
        {"allowed": [99]},
        {"allowed": ["0"]},
        {"numa_nodes": []},
        {"caches": [{"level": 1, "size_bytes": 1, "pus": [77]}]},
        {"source": "guess"},
        {"source": []},
    ],
)
def test_a_bad_record_is_refused(change):
    with pytest.raises(InputError, match="discover the machine again"):
        Topology.from_dict(machine().to_dict() | change)


@pytest.mark.parametrize("record", [None, 3, [], {}, "text"])
def test_what_is_no_record_is_refused(record):
    with pytest.raises(InputError, match="discover the machine again"):
        Topology.from_dict(record)


def test_contradictions_are_refused():
    topology = machine()
    with pytest.raises(ValueError, match="twice"):
        replace(topology, pus=topology.pus + topology.pus[:1])
    with pytest.raises(ValueError, match="two sockets"):
        replace(topology, pus=(*topology.pus[:-1], replace(topology.pus[-1], socket=0)))


def chiplets(allowed=None):
    """One socket of 8 cores, 2 hardware threads each, in which 4 cores share a cache; and another socket alike."""
    plain = machine(sockets=2, cores=8, threads=2, allowed=allowed)
    shared = [Cache(3, 2**25, tuple(pu.os_index for pu in plain.pus if pu.core // 4 == chiplet)) for chiplet in range(4)]
    return replace(plain, caches=(*plain.caches, *shared))


def test_a_cache_of_a_part_of_the_socket_makes_a_class():
    topology = chiplets()
    for a, b, name in [
        (topology.pus_one_per_core()[0], topology.pus_one_per_core()[1], "shared-cache"),
        (topology.pus_one_per_core()[0], topology.pus_one_per_core()[4], "same-socket"),
        (topology.pus_one_per_core()[0], topology.pus_one_per_core()[8], "other-socket"),
    ]:
        assert topology.link_class(a, b) == topology.link_class(b, a) == name
    assert list(topology.representative_pairs()) == ["same-core", "shared-cache", "same-socket", "other-socket"]


def test_a_cache_of_all_usable_cores_makes_none():
    one_chiplet = [pu.os_index for pu in chiplets().pus if pu.core < 4]
    assert list(chiplets(allowed=one_chiplet).representative_pairs()) == ["same-core", "same-socket"]


@given(st.integers(1, 2), st.integers(1, 5), st.integers(1, 2), st.booleans())
def test_pairs_have_nothing_in_common_and_stars_are_of_their_class(sockets, cores, threads, with_chiplets):
    topology = chiplets() if with_chiplets else machine(sockets=sockets, cores=cores, threads=threads)
    for link, first in topology.representative_pairs().items():
        pairs = topology.disjoint_pairs(link)
        assert pairs[0] == first
        assert len({pu for pair in pairs for pu in pair}) == 2 * len(pairs)
        assert all(topology.link_class(*pair) == link for pair in pairs)
        centre, *others = topology.star(link)
        assert [centre, others[0]] == list(first) and len(set(others)) == len(others)
        assert all(topology.link_class(centre, other) == link for other in others)
        if link != "same-core":
            assert len({topology.pu(other).core for other in others}) == len(others)


def test_a_star_on_two_sockets_of_24_cores_reaches_all_of_them():
    topology = machine(sockets=2, cores=24, threads=2)
    sizes = {link: (len(topology.disjoint_pairs(link)), len(topology.star(link))) for link in topology.representative_pairs()}
    # 48 hardware threads a socket; between sockets every one has a partner.
    assert sizes == {"same-core": (48, 2), "same-socket": (48, 24), "other-socket": (48, 25)}
