"""Projections ask the one judge: what a profile of the same machine predicts, and werner2023's equations where they hold."""

import copy
import functools
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breadth import TIMES
from rankwise.engines.placement import profile_placement
from rankwise.engines.predict import predict_rows
from rankwise.engines.project_halo import HaloCode, project_exchange, project_stencil
from rankwise.errors import InputError
from rankwise.machine.description import PROJECTED, QUANTITIES, Description, Figure
from rankwise.machine.link import Curve, Point
from rankwise.machine.profile import Link, Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.models.curve import curve_from_table
from rankwise.models.uncertain import Range
from rankwise.workloads.exchange import Asked, ExchangeCase, make_cases, names

ALPHA_S, LINK, LINKS = 2e-6, 1e10, 3
FAR = 2**40  # bytes
LATENCIES, TRANSFERS = {"ssend": 4, "isend": 1}, {"ssend": 4, "isend": 2}


def described(**figures: float | tuple[float, float]) -> Description:
    """A machine of figures, some of them ranges."""
    known = {}
    for key, figure in figures.items():
        low, high = figure if isinstance(figure, tuple) else (figure, figure)
        known[key] = Figure(
            low if low == high else math.sqrt(low * high), low, high, QUANTITIES[key].unit, PROJECTED, "a test", "now"
        )
    return Description("drawn", "Drawn", None, None, None, known, "")


def shift(mode: str, grid: tuple[int, ...], k: int, size_bytes: int) -> ExchangeCase:
    return ExchangeCase("shift", mode, grid, (True,) * len(grid), k, size_bytes)


@functools.cache
def measured() -> dict[str, Any]:
    """Any curve, to be given lines of one's own."""
    return curve_from_table([Point(size, 1e-6, 1e-6, 1e-6, 1) for size in (0, 1, FAR)], "median").to_dict()


def straight(alpha_s: float, bytes_per_s: float) -> Link:
    """A link whose largest messages show the rate of its line: their latency is lost in the time of their bytes."""
    record = copy.deepcopy(measured())
    (segment,) = record["models"]["hockney"]["segments"]
    segment |= {"from_bytes": 0, "alpha_s": alpha_s, "beta_s_per_byte": 1 / bytes_per_s}
    record["models"]["hockney"]["segments"].append(segment | {"from_bytes": FAR, "alpha_s": 0.0})
    return Link(Curve.from_dict(record))


@settings(deadline=None, max_examples=40 * TIMES)
@given(
    latency_s=st.floats(1e-7, 1e-5), link=st.floats(1e8, 1e11), links=st.integers(1, 8), memory=st.floats(1e9, 1e12),
    grid=st.lists(st.integers(2, 6), min_size=1, max_size=3), cutoff=st.integers(1, 3), size_bytes=st.integers(0, 10**6),
    ranks_per_node=st.integers(1, 12), data=st.data(),
)  # fmt: skip
def test_the_same_machine_as_a_profile_predicts_the_same(
    latency_s: float, link: float, links: int, memory: float, grid: list[int], cutoff: int, size_bytes: int,
    ranks_per_node: int, data: st.DataObject,
) -> None:  # fmt: skip
    machine = described(latency=latency_s, link_bandwidth=link, links=links, memory_bandwidth=memory)
    curves = {"other-node": straight(latency_s, link), "same-socket": straight(latency_s / 2, max(link, memory / 8))}
    profile = Profile({}, curves, "now", {}, shared=Shared(card=Resource(link * links), memory=Resource(memory)))
    algorithm = data.draw(st.sampled_from(names().algorithms))
    asked = Asked([algorithm], None, [cutoff], [size_bytes], shares_nodes=True)
    cases = make_cases(asked, grid, [data.draw(st.booleans())] * len(grid))
    projected = project_exchange(machine, cases, ranks_per_node)
    predicted = predict_rows(profile, cases, profile_placement(profile, ranks_per_node), "hockney")
    for ours, theirs in zip(projected, predicted, strict=True):
        assert ours.time_s == theirs.time_s, ours.case
        assert (ours.messages_per_rank, ours.bytes_per_rank) == (theirs.messages_per_rank, theirs.bytes_per_rank)
        assert ours.time_lo_s <= ours.time_s <= ours.time_hi_s
        assert ours.assumed == theirs.assumed == ()


@pytest.mark.parametrize("grid", [(8,), (4, 6), (4, 4, 4), (16, 16, 16)])
@pytest.mark.parametrize("mode", ["ssend", "isend"])
def test_werner2023_s_equations_hold_for_a_rank_a_node(mode: str, grid: tuple[int, ...]) -> None:
    """Eq. 3, in three dimensions 12 k alpha + 2 beta m (8k^3 + 12k^2 + 6k); or both directions of a hop together."""
    machine = described(latency=ALPHA_S, link_bandwidth=LINK, links=LINKS)
    for k in range(1, 5):
        (row,) = project_exchange(machine, [shift(mode, grid, k, 1000)])
        blocks = ((2 * k + 1) ** len(grid) - 1) / 2  # that travel in one direction
        expected_s = LATENCIES[mode] * len(grid) * k * ALPHA_S + TRANSFERS[mode] * blocks * 1000 / LINK
        assert row.time_s == pytest.approx(expected_s)
        assert (row.messages_per_rank, row.bytes_per_rank) == (2 * k * len(grid), 2 * blocks * 1000)


def test_on_a_short_odd_ring_one_more_message_waits_its_turn() -> None:
    machine = described(latency=ALPHA_S, link_bandwidth=LINK)
    odd, even = (project_exchange(machine, [shift("ssend", (n,), 1, 1000)])[0].time_s for n in (7, 8))
    assert odd / even == pytest.approx(5 / 4)


def test_ranks_of_a_node_share_its_card_which_may_be_faster_where_nobody_counted_its_links() -> None:
    cases = [ExchangeCase("direct", "isend", (24,), (True,), 4, 10**6)]
    known = described(latency=ALPHA_S, link_bandwidth=LINK, links=1)
    (counted,) = project_exchange(known, cases, 4)
    (unknown,) = project_exchange(described(latency=ALPHA_S, link_bandwidth=LINK), cases, 4)
    assert counted.time_s == unknown.time_s > project_exchange(known, cases, 1)[0].time_s
    assert unknown.time_lo_s < 0.6 * counted.time_lo_s
    assert (counted.assumed, unknown.assumed) == ((), ("card",))
    assert "drawn has no number of links: one link a node is assumed" in unknown.notes


@settings(deadline=None, max_examples=30)
@given(
    ends=st.lists(st.floats(1.0, 3.0), min_size=3, max_size=3), at=st.lists(st.floats(0, 1), min_size=3, max_size=3),
    mode=st.sampled_from(["ssend", "isend"]), ranks_per_node=st.sampled_from([1, 4]),
)  # fmt: skip
def test_an_interval_holds_those_of_all_machines_within_the_ranges(
    ends: list[float], at: list[float], mode: str, ranks_per_node: int
) -> None:
    least = {"latency": ALPHA_S, "link_bandwidth": LINK, "memory_bandwidth": 7 * LINK}
    wide = described(links=2, **{key: (value, value * end) for (key, value), end in zip(least.items(), ends, strict=True)})
    point = described(
        links=2, **{key: value * end**share for (key, value), end, share in zip(least.items(), ends, at, strict=True)}
    )
    case = shift(mode, (4, 4), 2, 5000)
    (outer,), (inner,) = (project_exchange(machine, [case], ranks_per_node) for machine in (wide, point))
    assert outer.time_lo_s <= inner.time_lo_s * (1 + 1e-9) and inner.time_hi_s <= outer.time_hi_s * (1 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(
    edge=st.integers(20, 500), width=st.integers(1, 60), nodes=st.sampled_from([4, 16, 64, 4096, 10**6]),
    factor=st.floats(1.1, 5), latency_s=st.floats(1e-7, 1e-5), link=st.floats(1e8, 1e11), links=st.integers(1, 8),
    mode=st.sampled_from(["ssend", "isend"]),
)  # fmt: skip
def test_a_halo_code_exchanges_by_the_shift_over_all_links_of_its_nodes(
    edge: int, width: int, nodes: int, factor: float, latency_s: float, link: float, links: int, mode: str
) -> None:
    code, cells = HaloCode(width, 8, 1, 1, mode), [edge] * 3

    def exchange_s(code: HaloCode = code, latency_s: float = latency_s, link: float = link) -> float:
        figures = {"latency": latency_s, "link_bandwidth": link, "node_peak": 1e12, "memory_bandwidth": 1e11}
        (row,) = project_stencil(described(links=links, **figures), code, cells, [nodes], True, False)
        exchange = row.results["exchange_s"]
        assert exchange.low < exchange.value < exchange.high
        return exchange.value

    point_s = exchange_s()
    (row,) = project_stencil(
        described(latency=latency_s, link_bandwidth=link, links=links, node_peak=1e12, memory_bandwidth=1e11),
        code, cells, [nodes], True, False,
    )  # fmt: skip
    hops, moved = sum(row.cutoff), 8 * sum(code.halo_cells(cells, row.grid))
    closed_s = LATENCIES[mode] * hops * latency_s + TRANSFERS[mode] * moved / (link * links)
    # A message has whole bytes, and no latency is more than 99.9 % of a message's time.
    assert point_s == pytest.approx(closed_s, rel=2e-3)
    assert exchange_s(code=HaloCode(width + 1, 8, 1, 1, mode)) >= point_s
    assert exchange_s(latency_s=latency_s * factor) > point_s > exchange_s(link=link * factor)


def test_one_node_exchanges_nothing() -> None:
    machine = described(latency=ALPHA_S, injection_bandwidth=LINK, node_peak=1e12, memory_bandwidth=1e11)
    (row,) = project_stencil(machine, HaloCode(1, 8, 1, 1), [64, 64], [1], False, False)
    assert row.results["exchange_s"] == Range.exactly(0.0)
    with pytest.raises(InputError, match="send mode 'sned' is unknown"):
        project_stencil(machine, HaloCode(1, 8, 1, 1, "sned"), [64, 64], [4], False, False)


def of_accelerators(**figures: float) -> Description:
    known = described(latency=ALPHA_S, link_bandwidth=LINK, links=4, devices=4, **figures)
    return replace(known, processor="gpu")


def test_ranks_on_accelerators_use_the_links_between_them() -> None:
    """On one node a message takes what the accelerators' link takes; beyond it what the network does."""
    (case,) = make_cases(Asked(["shift"], ["ssend"], [1], [10**6]), [4], [True])
    machine = of_accelerators(device_link_bandwidth=1e11, device_latency=5e-7)
    (inside,), (apart,) = project_exchange(machine, [case], 4), project_exchange(machine, [case])
    assert inside.time_s == pytest.approx(4 * (5e-7 + 1e6 / 1e11), rel=1e-2)
    assert apart.time_s == pytest.approx(4 * (ALPHA_S + 1e6 / LINK), rel=1e-2)
    (on_processors,) = project_exchange(replace(machine, processor="cpu"), [case], 4)
    assert on_processors.time_s > 5 * inside.time_s


def test_nodes_of_one_scale_up_fabric_are_one_node_to_the_judge() -> None:
    (case,) = make_cases(Asked(["shift"], ["ssend"], [1], [10**6]), [4], [True])
    fabric = {"device_link_bandwidth": 1e11, "device_latency": 5e-7}
    (row,) = project_exchange(of_accelerators(**fabric, scale_up_devices=16), [case])
    assert row.time_s == pytest.approx(4 * (5e-7 + 1e6 / 1e11), rel=1e-2)
    assert any("4 nodes of drawn share one scale-up fabric" in note for note in row.notes)
    (smaller,) = project_exchange(of_accelerators(**fabric, scale_up_devices=8), [case])  # two domains: the network counts
    assert smaller.time_s > 2 * row.time_s


def test_energy_is_the_power_of_the_nodes_for_that_time() -> None:
    (case,) = make_cases(Asked(["shift"], ["isend"], [1], [1000]), [4, 4], [True] * 2)
    lit = described(
        latency=ALPHA_S, link_bandwidth=LINK, links=1, node_power=(400.0, 900.0), memory_bandwidth=1e11, node_peak=1e12
    )
    (row,) = project_exchange(lit, [case], 4)
    energy = row.figures["energy_j"]
    assert energy.value == pytest.approx(4 * 600 * row.time_s) and row.interval_s is not None
    assert (energy.low, energy.high) == pytest.approx((1600 * row.interval_s[0], 3600 * row.interval_s[1]))
    (step,) = project_stencil(lit, HaloCode(1, 8.0, 8.0, 16.0, "isend"), [64, 64], [16], False, False)
    assert step.results["energy_j"].value == pytest.approx(16 * 600 * step.results["total_s"].value)
    (dark,) = project_exchange(described(latency=ALPHA_S, link_bandwidth=LINK, links=1), [case], 4)
    assert dark.figures["energy_j"] is None and any("no power of a node" in note for note in dark.notes)
