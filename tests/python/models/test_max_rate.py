import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.machine.link import LinkModel, Segment
from rankwise.models.max_rate import with_contention

MODEL = LinkModel("piecewise", (Segment(0, 100, 1e-6, 1e-9), Segment(100, None, 5e-6, 2e-10)), "by hand")


@given(st.integers(0, 10**6), st.integers(1, 10**5), st.floats(0.5, 3.0))
def test_contention_multiplies_times_from_its_size_on(size: int, from_bytes: int, factor: float) -> None:
    busy = with_contention(MODEL, factor, from_bytes)
    expected = MODEL.time_s(size) * (factor if size >= from_bytes else 1.0)
    assert busy.time_s(size) == pytest.approx(expected, rel=1e-12)
    assert busy.name == "max-rate" and f"from {from_bytes} B" in busy.method
