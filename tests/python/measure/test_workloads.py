"""What a campaign starts for each thing that can be measured, and where its ranks go."""

from dataclasses import asdict, replace

import pytest

from rankwise.errors import InputError, RankwiseError
from rankwise.launch.probe import require_placement
from rankwise.machine.topology import Cache, Topology, pus_of
from rankwise.measure.campaign import Plan
from rankwise.measure.places import Places, find_places
from rankwise.measure.workloads import WHAT, Part, bytes_in_a_row, fitted_stream, parts_of, ring_of

FOUR = Places(((0, 4), (1, 5), (2, 6), (3, 7), (8, 9)), (0, 4, 1, 2))
ONE = Places(((0, 1),), (0, 1))
NODES = Places(((0, 1), (1, 0)), (0, 1, 0), ("a", "b", "c"))


def _topology(cores: int, sockets: int = 1, threads: int = 1) -> Topology:
    cpus = range(cores * threads)
    socket_of = {i: i % cores * sockets // cores for i in cpus}
    return Topology(
        host="here", cpu_model="", memory_bytes=0, numa_nodes=[0],
        pus=pus_of(core_of={i: i % cores for i in cpus}, socket_of=socket_of,
        numa_node_of=dict.fromkeys(cpus, 0)), caches=[Cache(1, 2**15, tuple(cpus[core::cores])) for core in range(cores)],
            allowed=cpus, source="sysfs",
    )  # fmt: skip


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("places", [FOUR, ONE, NODES])
def test_each_has_a_plain_send_and_ranks_for_what_it_needs(what: str, places: Places) -> None:
    parts = parts_of(what, places, 0)
    assert "send" in parts[0].operations
    assert all(part.operations and not part.shared_cpus for part in parts)
    assert all(len(part.cpus) % max(1, len(part.hosts)) == 0 for part in parts)


def test_pairs_grow_to_all_there_are() -> None:
    (_, part) = parts_of("pairs", FOUR, 0)
    assert part.operations == (
        "bandwidth-pairs-5-window-64", "bandwidth-pairs-5-bidirectional-window-64",
        *(f"bandwidth-pairs-{pairs}-window-64" for pairs in (4, 2, 1)),
    )  # fmt: skip
    assert part.cpus == (0, 1, 2, 3, 8, 4, 5, 6, 7, 9)  # rank i talks to rank i + 5
    assert parts_of("pairs", ONE, 0)[1].operations == (
        "bandwidth-pairs-1-window-64",
        "bandwidth-pairs-1-bidirectional-window-64",
    )


def test_a_ping_pong_has_what_fills_a_resource_beside_it() -> None:
    assert parts_of("pingpong", replace(FOUR, fills="memory"), 0) == parts_of("pingpong", FOUR, 0)
    assert len(parts_of("pingpong", FOUR, 0, True)) == 1  # caches are no resource
    assert len(parts_of("bandwidth", replace(FOUR, fills="memory"), 0, True)) == 2
    _, part = parts_of("pingpong", replace(FOUR, fills="memory", in_one_socket=3), 0, True)
    counts = [int(operation.split("-")[2]) for operation, _ in part.aside]
    assert set(counts) == {1, 2, 3, 4, 5} and counts.index(1) > 12  # what fills the node and a socket comes first
    both = {(operation.split("-")[2], size) for operation, size in part.aside if "bidirectional" in operation}
    assert both == {(count, size) for count in "53" for size in (8, 8000, 64_000, 1 << 18)}
    assert part.aside[:2] == (("bandwidth-pairs-5-window-4", 1 << 18), ("bandwidth-pairs-5-window-64", 8))
    assert len(part.aside) == len(set(part.aside)) == 4 * (5 + 2)
    assert part.cpus == tuple(FOUR.cpus_of_pairs(5))


def test_pairs_have_a_share_of_the_time_and_the_ping_pong_the_rest() -> None:
    plan = Plan({"same-socket": replace(FOUR, fills="memory"), "same-core": ONE}, (0, 8, 64), seconds=80.0)
    assert plan.cell_count() == 2 * 4 * 3 and plan.cell_count(aside=True) == 4 * 5
    assert [(p.link, p.index, p.share) for p in plan.progresses()] == [
        ("same-socket", 0, 0.375), ("same-socket", 1, 0.125), ("same-core", 0, 0.5),
    ]  # fmt: skip
    without = replace(plan, pairs_share=0.0, what="loggp", background=1)
    assert [p.share for p in without.progresses()] == pytest.approx([1 / 6] * 6)
    assert {
        p.wanted for p in replace(plan, places={"other-node": replace(NODES, hosts=tuple(map(str, range(41))))}).progresses()
    } == {21}


def test_what_crosses_a_link_and_what_a_slow_one_carries_at_once() -> None:
    counted = {
        "send": 2,
        "ssend": 2,
        "exchange": 1,
        "burst": 4,
        "bandwidth-window-64": 64,
        "bandwidth-pairs-3-window-4": 12,
        "alltoall-ranks-8": 8,
        "ring-nodes-4-ranks-3": 6,
    }
    assert {operation: bytes_in_a_row(operation, 1000) // 1000 for operation in counted} == counted
    at_once = ("bandwidth-pairs-2-bidirectional-window-16", 64_000)
    assert fitted_stream(at_once, 1 / 12.5e9, False) == at_once == fitted_stream(at_once, 0.0, True)
    for bytes_per_s, window in ((12.5e9, 64), (125e6, 64), (12.5e6, 32), (1.25e6, 3), (0.4e6, 1)):
        assert fitted_stream(at_once, 1 / bytes_per_s, True) == (f"bandwidth-pairs-2-bidirectional-window-{window}", 64_000)
    assert fitted_stream(at_once, 1 / 1e5, True) is None and fitted_stream(("send", 64_000), 1.0, True) == ("send", 64_000)


def test_collectives_take_a_rank_of_each_host_and_pairs_two_hosts() -> None:
    assert parts_of("alltoall", NODES, 0)[1] == Part("alltoall", ("alltoall-ranks-3",), (0, 1, 0), ("a", "b", "c"))
    assert parts_of("bandwidth", NODES, 0)[1].hosts == ("a", "b")
    assert parts_of("one-to-all", FOUR, 0)[1].operations == tuple(f"one-to-all-peer-{k}" for k in (1, 2, 3))


def test_a_ring_takes_as_many_ranks_of_each_node_as_stream_at_once_and_two() -> None:
    places = replace(FOUR, hosts=tuple("abcdefghij"), fills="card", at_once=3)
    rings = [part for part in parts_of("pingpong", places, 0, pairs_aside=True) if part.kernel == "ring"]
    # Each size is measured, however little time there is: neither stands for the other.
    assert [part.aside for part in rings] == [
        tuple((f"ring-nodes-8-ranks-{ranks}", size) for size in sizes)
        for ranks in (3, 2)
        for sizes in ((100_000, 1_000_000), (30_000,))
    ]
    large = ("ring-nodes-8-ranks-2", 1_000_000)
    assert (fitted_stream(large, 1 / 12.5e6, True), fitted_stream(large, 1 / 1.25e6, True)) == (large, None)
    assert rings[2].cpus == (0, 1) * 8 and rings[2].host_of_rank == tuple(host for host in "abcdefgh" for _ in range(2))
    assert not [part for part in parts_of("pairs", replace(places, hosts=("a", "b")), 0) if part.kernel == "ring"]
    assert (ring_of("ring-nodes-8-ranks-3"), ring_of("alltoall-ranks-3")) == ((8, 3), None)


def test_a_load_has_cpus_of_its_own_where_there_are_enough() -> None:
    assert parts_of("pingpong", FOUR, 2)[-1] == Part("pingpong", ("send-loaded",), (0, 1, 2, 4, 5, 6))
    shared = parts_of("pingpong", ONE, 1)[-1]
    assert shared.cpus == (0, 0, 1, 1) and shared.shared_cpus
    # Ranks 0 and 1 on one node, 2 and 3 on the other: each has a processor.
    assert not parts_of("pingpong", NODES, 1)[-1].shared_cpus


def test_places_of_hosts_and_classes() -> None:
    found = find_places(_topology(2), ("n1", "n2"))
    assert list(found) == ["same-socket", "other-node"]
    assert found["other-node"] == Places(((0, 1), (1, 0)), (0, 1), ("n1", "n2"), "card", 2)
    assert list(find_places(_topology(2), ("n1", "n2"), ("other-node",))) == ["other-node"]
    assert find_places(_topology(1)) == {}
    for hosts in (("n1",), ("n1", "n1")):
        with pytest.raises(InputError, match="two or more different"):
            find_places(_topology(2), hosts)
    with pytest.raises(InputError, match="other-node.*needs --hosts"):
        find_places(_topology(2), (), ("other-node",))
    with pytest.raises(InputError, match="'same-core' is not offered here: give one of same-socket"):
        find_places(_topology(2), (), ("same-core",))


def test_what_pairs_fill_is_told_by_the_class_and_the_sockets() -> None:
    one = find_places(_topology(8), ("n1", "n2"))
    assert {link: (len(p.pairs), p.fills, p.in_one_socket) for link, p in one.items()} == {
        "same-socket": (4, "memory", 0), "other-node": (8, "card", 0),
    }  # fmt: skip
    two = find_places(_topology(16, 2), (), ("same-socket", "other-socket"))
    assert two["same-socket"].in_one_socket == 4 and [two["same-socket"].resource_of(n) for n in (4, 8)] == ["socket", "memory"]
    assert [two["other-socket"].resource_of(n) for n in (1, 8)] == ["sockets", "sockets"]
    # A core a socket, as virtual machines have it: all pairs lie across.
    assert find_places(_topology(2, 2))["other-socket"].resource_of(1) == "memory"
    # No more pairs at once than there are granted CPUs for.
    granted = find_places(_topology(16, 2), ("n1", "n2"), (), 6.5)
    assert {link: p.most_at_once for link, p in granted.items()} == {"same-socket": 3, "other-socket": 3, "other-node": 6}
    assert find_places(_topology(4), (), (), 0.5)["same-socket"].most_at_once == 1
    # One rank a core: a load in the background may have the other hardware threads.
    threads = find_places(_topology(8, 2, threads=2))
    assert {link: (len(p.pairs), p.most_at_once, p.in_one_socket) for link, p in threads.items() if p.fills} == {
        "same-socket": (8, 4, 2), "other-socket": (8, 4, 0),
    }  # fmt: skip
    assert len(parts_of("pingpong", threads["same-socket"], 0, True)[1].cpus) == 8


def test_a_plan_is_read_back_as_it_was_written() -> None:
    plan = Plan({"same-socket": FOUR, "other-node": NODES}, (0, 8, 1 << 22), "pairs", 2, precision=0.05, spread_s=60.0)
    assert Plan.from_dict(asdict(plan)) == plan
    assert Plan.from_dict({**asdict(plan), "precision": None, "launches": 3}) == replace(plan, precision=None, launches=3)
    filling = replace(plan, places=find_places(_topology(16, 2)))
    assert Plan.from_dict(asdict(filling)) == filling
    # A stream of large messages needs no larger ones.
    assert max(size for operation, size in plan.cells(plan.parts("same-socket")[1])) == 8
    with pytest.raises(InputError, match="measure again"):
        Plan.from_dict({"sizes": [1]})


def _placement(rank: int, host: str, group: int, cpu: int) -> dict:
    return {"rank": rank, "host": host, "memory_group": group, "cpu": cpu, "cpus_allowed": [cpu]}


def test_ranks_that_are_not_where_their_label_says_are_refused() -> None:
    local, nodes = Part("pingpong", ("send",), (0, 1)), Part("pingpong", ("send",), (0, 1), ("a", "b"))
    here = [_placement(0, "a", 0, 0), _placement(1, "a", 0, 1)]
    there = [_placement(0, "a", 0, 0), _placement(1, "b", 1, 1)]
    require_placement(here, "same-socket", local.cpus, local.host_of_rank)
    require_placement(there, "other-node", nodes.cpus, nodes.host_of_rank)
    for placements, part, says in [
        (there, local, "2 host"),
        (here, nodes, "rank 1 ran on a instead of b"),
        ([there[0], {**there[1], "memory_group": 0}], nodes, "2 host.*1 by what MPI shares"),
        ([here[0], {**here[1], "cpu": 0}], local, "CPU 0 instead of 1"),
        ([here[0], {**here[1], "cpus_allowed": [0, 1]}], local, "rebinds"),
    ]:
        with pytest.raises(RankwiseError, match=says):
            require_placement(placements, "x", part.cpus, part.host_of_rank)
