"""What a halo code moves and computes: layers of neighbours, cells that travel, bytes of a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.engines.project_halo import HaloCode


def test_a_halo_as_wide_as_its_blocks_is_the_shift_of_whole_blocks() -> None:
    code = HaloCode(width=20, cell_bytes=8, flops_per_cell=1, memory_bytes_per_cell=1)
    block, grid = (10.0, 10.0, 10.0), (8, 8, 8)
    assert code.cutoffs(block, grid) == [2, 2, 2]
    assert code.message_bytes(block, grid) == [8000, 5 * 8000, 25 * 8000]


def test_a_thin_halo_sends_faces_with_edges() -> None:
    code = HaloCode(width=1, cell_bytes=8, flops_per_cell=8, memory_bytes_per_cell=16)
    assert code.halo_cells((10.0, 10.0, 10.0), (4, 4, 4)) == [100, 120, 144]
    assert code.halo_cells((10.0, 10.0, 10.0), (4, 1, 1)) == [100, 0, 0]
    assert code.message_bytes((10.0, 10.0, 10.0), (4, 1, 1)) == [800, 0, 0]
    assert code.compute_time((10.0, 10.0, 10.0), 1e9, 1e9) == pytest.approx(16e-6)


def test_no_more_is_sent_than_there_is() -> None:
    code = HaloCode(width=1000, cell_bytes=8, flops_per_cell=1, memory_bytes_per_cell=1)
    assert code.cutoffs((10.0,), (4,)) == [3]
    assert code.halo_cells((10.0,), (4,)) == [30]
    assert code.message_bytes((10.0,), (4,)) == [80]


@given(
    edges=st.lists(st.floats(4, 500), min_size=1, max_size=3), width=st.integers(1, 60), ranks=st.integers(2, 64),
    cell_bytes=st.floats(0.01, 100),
)  # fmt: skip
def test_messages_of_all_hops_carry_the_halo(edges: list[float], width: int, ranks: int, cell_bytes: float) -> None:
    code, grid = HaloCode(width, cell_bytes, 1, 1), [ranks] * len(edges)
    for cells, hops, size in zip(
        code.halo_cells(edges, grid), code.cutoffs(edges, grid), code.message_bytes(edges, grid), strict=True
    ):
        assert size >= 1
        assert hops * size == pytest.approx(cells * cell_bytes, abs=hops)  # a message has whole bytes
