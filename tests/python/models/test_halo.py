"""The Shift on described machines: werner2023's equations, and the cost walk of the real schedule."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.models.halo import HaloCode, shift_time

ALPHA, BETA = 2e-6, 1e-10


def test_werner2023_eq_3_in_three_dimensions() -> None:
    """12 k alpha + 2 beta m (8k^3 + 12k^2 + 6k)."""
    for k in range(1, 5):
        expected = 12 * k * ALPHA + 2 * BETA * 1000 * (8 * k**3 + 12 * k**2 + 6 * k)
        assert shift_time(ALPHA, BETA, 3, k, 1000, "ssend") == pytest.approx(expected)
        both_ways = 3 * k * ALPHA + BETA * 1000 * (8 * k**3 + 12 * k**2 + 6 * k)
        assert shift_time(ALPHA, BETA, 3, k, 1000, "isend") == pytest.approx(both_ways)


@pytest.mark.parametrize(("mode", "dims", "cutoff"), [("ssend", 1, 3), ("ssend", 2, 2), ("isend", 1, 2), ("isend", 3, 1)])
def test_the_walk_of_the_schedule_costs_the_same(mode: str, dims: int, cutoff: int) -> None:
    from rankwise import _core

    line, bytes_alone = [(0, ALPHA, BETA)], [(0, 0.0, BETA)]
    machine = _core.Machine({"other-node": {"send": line, "ssend": line, "exchange": line, "exchange-gap": bytes_alone}})
    grid = [8] * dims
    exchange = _core.Exchange("shift", mode, grid, [True] * dims, [cutoff] * dims)
    time_s, messages, _ = exchange.cost(1000, [(rank, 0, 0) for rank in range(math.prod(grid))], machine)
    assert time_s == pytest.approx(shift_time(ALPHA, BETA, dims, cutoff, 1000, mode))
    assert messages == 2 * cutoff * dims


def test_a_halo_as_wide_as_its_blocks_is_the_shift_of_whole_blocks() -> None:
    code = HaloCode(width=20, cell_bytes=8, flops_per_cell=1, memory_bytes_per_cell=1, mode="ssend")
    block, grid = (10.0, 10.0, 10.0), (8, 8, 8)
    assert code.cutoffs(block, grid) == [2, 2, 2]
    assert code.exchange_time(block, grid, ALPHA, BETA) == pytest.approx(shift_time(ALPHA, BETA, 3, 2, 8000, "ssend"))


def test_a_thin_halo_sends_faces_with_edges() -> None:
    code = HaloCode(width=1, cell_bytes=8, flops_per_cell=8, memory_bytes_per_cell=16)
    assert code.halo_cells((10.0, 10.0, 10.0), (4, 4, 4)) == [100, 120, 144]
    assert code.halo_cells((10.0, 10.0, 10.0), (4, 1, 1)) == [100, 0, 0]
    assert code.compute_time((10.0, 10.0, 10.0), 1e9, 1e9) == pytest.approx(16e-6)


def test_no_more_is_sent_than_there_is() -> None:
    code = HaloCode(width=1000, cell_bytes=8, flops_per_cell=1, memory_bytes_per_cell=1)
    assert code.cutoffs((10.0,), (4,)) == [3]
    assert code.halo_cells((10.0,), (4,)) == [30]
    assert code.exchange_time((10.0,), (1,), ALPHA, BETA) == 0.0


@settings(deadline=None)
@given(
    edge=st.floats(4, 500), width=st.integers(1, 60), ranks=st.integers(2, 64), factor=st.floats(1.1, 5),
    alpha=st.floats(1e-7, 1e-4), beta=st.floats(1e-12, 1e-8),
)  # fmt: skip
def test_an_exchange_costs_more_with_width_latency_and_time_a_byte(
    edge: float, width: int, ranks: int, factor: float, alpha: float, beta: float
) -> None:
    block, grid = (edge, edge, edge), (ranks, ranks, ranks)

    def time(width: float, alpha: float, beta: float) -> float:
        return HaloCode(width, 8, 1, 1).exchange_time(block, grid, alpha, beta)

    point = time(width, alpha, beta)
    assert time(width + 1, alpha, beta) >= point
    assert time(width, alpha * factor, beta) > point
    assert time(width, alpha, beta * factor) > point
