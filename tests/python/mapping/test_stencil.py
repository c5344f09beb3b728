"""Reading stencils, from Python: anything that is no stencil is a ValueError of one line, never anything else."""

from hypothesis import example, given
from hypothesis import strategies as st

from rankwise import _core

STENCIL_LIKE = st.text(alphabet="+-0123456789,;* \t", max_size=40)
NAMES_ALMOST = st.from_regex(r"(nearest-neighbor(-with-hops)?|component|moore:[+-]?[0-9]{0,25})[ x;,]?", fullmatch=True)


@given(st.one_of(st.text(max_size=60), STENCIL_LIKE, NAMES_ALMOST), st.integers(-3, 70))
@example("moore:9223372036854775807", 6)
@example("moore:-9223372036854775808", 1)
@example("9223372036854775808,0", 2)
@example("1\0,0", 2)
@example(";".join(["1,0"] * 1000), 2)
def test_anything_else_than_a_stencil_is_a_value_error(text: str, ndim: int) -> None:
    try:
        offsets, weights = _core.parse_stencil(text, ndim)
    except ValueError as error:
        message = str(error)
        assert message and len(message) < 300 and message.isprintable()
    else:
        assert offsets and len(weights) == len(offsets) and min(weights) >= 1
        assert all(len(offset) == ndim and any(offset) for offset in offsets)
        assert len({tuple(offset) for offset in offsets}) == len(offsets)


OFFSETS = st.integers(1, 6).flatmap(
    lambda ndim: st.lists(st.tuples(*[st.integers(-(2**31), 2**31)] * ndim).filter(any), min_size=1, max_size=8, unique=True)
)


@given(OFFSETS)
def test_offsets_come_back_as_they_were_written(offsets: list[tuple[int, ...]]) -> None:
    text = ";".join(",".join(map(str, offset)) for offset in offsets)
    assert [tuple(offset) for offset in _core.parse_stencil(text, len(offsets[0]))[0]] == offsets
