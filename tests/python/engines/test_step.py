"""The time of a mapping's messages: what every verb says of the same messages, for any grid, stencil, nodes and map."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rankwise import _core
from rankwise.engines.machines import machine_of_description
from rankwise.engines.model import Model
from rankwise.engines.placement import profile_placement
from rankwise.engines.predict import predict_rows
from rankwise.engines.step import Described, step_pricer
from rankwise.errors import InputError
from rankwise.machine.library import load_machine
from rankwise.machine.profile import Profile
from rankwise.machine.shared import Level, Resource, Shared
from rankwise.mapping import How, map_grid
from rankwise.mapping.mapper import StepTime
from rankwise.mapping.problem import problem_of
from rankwise.workloads.exchange import ExchangeCase
from rankwise.workloads.stencil import StencilCase
from straight import link

LINKS = {"same-socket": link(2e-7, 1e-10), "other-socket": link(5e-7, 4e-10), "other-node": link(1.7e-6, 3.1e-10)}
SHARED = Shared(card=Resource(3.4e9), memory=Resource(2.3e10), levels=(Level(2, 4.1e9), Level(4, 5.3e9)))
ONE_SOCKET = Profile({}, {name: LINKS[name] for name in ("same-socket", "other-node")}, "", {}, shared=SHARED)
TWO_SOCKETS = Profile({"sockets": 2}, LINKS, "", {}, shared=SHARED)
MAPS = ("blocked", "random", "kd-tree", "stencil-strips", "refined")


@st.composite
def _questions(draw: st.DrawFn) -> tuple[list[int], list[int], str, list[bool]]:
    dims = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    cells = math.prod(dims)
    cuts = draw(st.sets(st.integers(1, cells - 1), max_size=8)) if cells > 1 else set()
    edges = [0, *sorted(cuts), cells]
    offset = st.tuples(*[st.integers(-3, 3)] * len(dims)).filter(any).map(lambda offset: ",".join(map(str, offset)))
    own = st.sets(offset, min_size=1, max_size=7).map(lambda offsets: ";".join(sorted(offsets)))
    stencil = draw(st.sampled_from(["nearest-neighbor", "moore:1"]) | own)
    return dims, [b - a for a, b in zip(edges, edges[1:], strict=False)], stencil, [draw(st.booleans()) for _ in dims]


@settings(max_examples=80, deadline=None)
@given(_questions(), st.sampled_from(MAPS), st.integers(0, 10**6))
def test_a_map_takes_what_predict_stencil_says(
    question: tuple[list[int], list[int], str, list[bool]], algorithm: str, size_bytes: int
) -> None:
    dims, nodes, stencil, periodic = question
    price = step_pricer(Model(ONE_SOCKET), size_bytes)
    mapped = map_grid(
        dims, nodes, stencil, periodic, [algorithm], how=How(effort_s=1e-4, message_bytes=size_bytes, price=price)
    )
    (result,) = mapped.results
    assert result.node_of_cell is not None and result.step is not None
    cells = tuple(result.node_of_cell.tolist())
    case = StencilCase(tuple(dims), tuple(periodic), stencil, algorithm, cells, result.j_sum, result.j_max, size_bytes)
    (row,) = predict_rows(ONE_SOCKET, [case], profile_placement(ONE_SOCKET))
    assert (result.step.time_s, result.step.low_s, result.step.high_s) == (
        row.time_s,
        *(row.interval_s or (row.time_s, row.time_s)),
    )
    assert list(dict.fromkeys(result.step.notes)) == list(row.notes)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(2, 9), min_size=1, max_size=3), st.integers(1, 2), st.integers(1, 24), st.booleans(),
    st.integers(1, 10**6), st.sampled_from([ONE_SOCKET, TWO_SOCKETS]),
)  # fmt: skip
@example([6, 6, 4], 2, 2, False, 1, TWO_SOCKETS)  # the busiest uplink is one of many
def test_blocked_takes_what_predict_exchange_says_of_direct(
    dims: list[int], k: int, ranks_per_node: int, periodic: bool, size_bytes: int, profile: Profile
) -> None:
    dims = [max(size, 2 * k + 1) if periodic else size for size in dims]  # a window meets no rank twice
    ranks = math.prod(dims)
    nodes = [min(ranks_per_node, ranks - first) for first in range(0, ranks, ranks_per_node)]
    step = _blocked(profile, dims, nodes, f"moore:{k}", periodic, size_bytes)
    case = ExchangeCase("direct", "isend", tuple(dims), (periodic,) * len(dims), k, size_bytes)
    (row,) = predict_rows(profile, [case], profile_placement(profile, ranks_per_node))
    assert step.time_s == row.time_s


def _blocked(profile: Profile, dims: list[int], nodes: list[int], stencil: str, periodic: bool, size_bytes: int) -> StepTime:
    """Return the time of ranks that fill nodes and their sockets one after the other."""
    problem = problem_of(dims, nodes, stencil, [periodic] * len(dims), None)
    node_of_cell = np.repeat(np.arange(len(nodes), dtype=np.int32), nodes)
    parts = {}
    if profile is TWO_SOCKETS:
        placed = profile_placement(profile, nodes[0]).of_ranks(sum(nodes))
        parts["socket"] = np.array([placed.location(rank)[1] for rank in range(sum(nodes))], dtype=np.int32)
    return step_pricer(Model(profile), size_bytes)(problem, node_of_cell, parts)


def test_the_card_of_a_full_node_bounds_64_ranks_of_12_a_node() -> None:
    """12 ranks of a 4x4x4 torus send 240 blocks of 64 KiB off their node: 15 MiB through one card of 3.4 GB/s."""
    profile = replace(ONE_SOCKET, shared=Shared(card=Resource(3.4e9)))
    step = _blocked(profile, [4] * 3, [12] * 5 + [4], "moore:1", True, 65536)
    assert (step.resource, step.bytes) == ("card-out", 240 * 65536)
    assert step.held_s == pytest.approx(240 * 65536 / 3.4e9, rel=0.01)
    assert step.held_s <= step.time_s < 1.2 * step.held_s


def test_messages_weigh_and_sockets_share_what_they_must() -> None:
    """Two ranks on a node, two on the next; one message between nodes each way, one inside each node."""
    problem = problem_of([2, 2], [2, 2], "1,0;-1,0;0,1;0,-1", None, [3, 3, 1, 1])
    nodes = np.array([0, 0, 1, 1], dtype=np.int32)
    price = step_pricer(Model(TWO_SOCKETS), 100_000)
    together = price(problem, nodes, {"socket": np.array([0, 0, 2, 2], dtype=np.int32)})
    assert (together.resource, together.bytes) == ("card-out", 2 * 300_000)
    lone = problem_of([2, 2], [2, 2], "0,1;0,-1", None, [7, 7])
    alike, apart = (price(lone, nodes, {"socket": np.array(s, dtype=np.int32)}).time_s for s in ([0, 0, 2, 2], [0, 1, 2, 3]))
    assert apart - alike == pytest.approx(5e-7 - 2e-7 + 700_000 * (4e-10 - 1e-10), rel=0.2)


def test_a_described_machine_prices_by_its_own_figures() -> None:
    machine, notes = machine_of_description(load_machine("frontier"), figures={"latency": 2e-6})
    problem = problem_of([4, 4], [8, 8], "nearest-neighbor", None, None)
    nodes = np.repeat(np.arange(2, dtype=np.int32), 8)
    step = step_pricer(Described(machine, tuple(notes)), 1_000_000)(problem, nodes, {})
    assert step.low_s <= step.time_s <= step.high_s and step.notes == tuple(notes)
    placement = _core.Placement.blocked(16, 8)
    cost = _core.judge_stencil([4, 4], [False] * 2, problem.offsets, [], placement).cost(1_000_000, machine)
    assert step.time_s == cost.time_s


def test_wrong_input_is_refused() -> None:
    problem = problem_of([4], [2, 2], "1;-1", None, None)
    nodes = np.array([0, 0, 1, 1], dtype=np.int32)
    with pytest.raises(InputError, match="--bytes"):
        step_pricer(Model(ONE_SOCKET), 2**41)(problem, nodes, {})
    inside = Profile({}, {"same-socket": LINKS["same-socket"]}, "", {})
    with pytest.raises(InputError, match="other-node"):
        step_pricer(Model(inside), 8)(problem, nodes, {})
    with pytest.raises(ValueError, match="give each rank both"):
        _core.Placement.on_nodes(nodes, nodes[:2])
