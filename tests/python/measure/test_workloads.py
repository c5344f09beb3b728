"""What a campaign starts for each thing that can be measured, and where its ranks go."""

from dataclasses import asdict

import pytest

from rankwise.errors import InputError, RankwiseError
from rankwise.launch.placement import require_placement
from rankwise.machine.topology import Cache, Topology
from rankwise.measure.campaign import Plan
from rankwise.measure.places import Places, find_places
from rankwise.measure.workloads import WHAT, Part, parts_of

FOUR = Places(((0, 4), (1, 5), (2, 6), (3, 7), (8, 9)), (0, 4, 1, 2))
ONE = Places(((0, 1),), (0, 1))
NODES = Places(((0, 1), (1, 0)), (0, 1, 0), ("a", "b", "c"))


def _topology(cores: int) -> Topology:
    cpus = range(cores)
    return Topology.assemble(
        host="here", cpu_model="", memory_bytes=0, numa_nodes=[0], core_of={i: i for i in cpus}, socket_of=dict.fromkeys(cpus, 0),
        numa_node_of=dict.fromkeys(cpus, 0), caches=[Cache(1, 2**15, (i,)) for i in cpus], allowed=cpus, source="sysfs",
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
    assert [operation.split("-")[2] for operation in part.operations] == ["1", "2", "4", "5"]
    assert part.cpus == (0, 1, 2, 3, 8, 4, 5, 6, 7, 9)  # rank i talks to rank i + 5
    assert [p.operations for p in parts_of("pairs", ONE, 0)][1] == ("bandwidth-pairs-1-window-64",)


def test_collectives_take_a_rank_of_each_host_and_pairs_two_hosts() -> None:
    assert parts_of("alltoall", NODES, 0)[1] == Part("alltoall", ("alltoall-ranks-3",), (0, 1, 0), ("a", "b", "c"))
    assert parts_of("bandwidth", NODES, 0)[1].hosts == ("a", "b")
    assert parts_of("one-to-all", FOUR, 0)[1].operations == tuple(f"one-to-all-peer-{k}" for k in (1, 2, 3))


def test_a_load_has_cpus_of_its_own_where_there_are_enough() -> None:
    assert parts_of("pingpong", FOUR, 2)[-1] == Part("pingpong", ("send-loaded",), (0, 1, 2, 4, 5, 6))
    shared = parts_of("pingpong", ONE, 1)[-1]
    assert shared.cpus == (0, 0, 1, 1) and shared.shared_cpus
    # Ranks 0 and 1 on one node, 2 and 3 on the other: each has a processor.
    assert not parts_of("pingpong", NODES, 1)[-1].shared_cpus


def test_places_of_hosts_and_classes() -> None:
    found = find_places(_topology(2), ("n1", "n2"))
    assert list(found) == ["same-socket", "other-node"]
    assert found["other-node"] == Places(((0, 1), (1, 0)), (0, 1), ("n1", "n2"))
    assert list(find_places(_topology(2), ("n1", "n2"), ("other-node",))) == ["other-node"]
    assert find_places(_topology(1)) == {}
    for hosts in (("n1",), ("n1", "n1")):
        with pytest.raises(InputError, match="two or more different"):
            find_places(_topology(2), hosts)
    with pytest.raises(InputError, match="other-node.*needs --hosts"):
        find_places(_topology(2), (), ("other-node",))
    with pytest.raises(InputError, match="'same-core' is not offered here: choose of same-socket"):
        find_places(_topology(2), (), ("same-core",))


def test_a_plan_is_read_back_as_it_was_written() -> None:
    plan = Plan({"same-socket": FOUR, "other-node": NODES}, (0, 8, 1 << 22), "pairs", 2, precision=0.05)
    assert Plan.from_dict(asdict(plan)) == plan
    assert Plan.from_dict({**asdict(plan), "precision": None}).precision is None
    # A stream of large messages needs no larger ones.
    assert max(size for operation, size in plan.cells(plan.parts("same-socket")[1])) == 8
    with pytest.raises(InputError, match="measure anew"):
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
