from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.units import (
    format_bandwidth,
    format_interval,
    format_parameter,
    format_percent,
    format_size,
    format_span,
    format_time,
    parse_ints,
    parse_seconds,
    parse_shape,
    parse_share,
    parse_size,
    parse_sizes,
)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("0", 0), ("1000", 1000), ("1kB", 1000), ("1KiB", 1024), ("4MiB", 4 << 20), ("2 GB", 2 * 10**9), ("7B", 7)],
)
def test_sizes_are_read_with_decimal_and_binary_units(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize("text", ["", "-1", "1.5kB", "1TB", "kB", "1 000", "0x10", "9" * 5000])
def test_what_is_not_a_size_is_refused_by_name(text: str) -> None:
    with pytest.raises(InputError, match="not a size"):
        parse_size(text)


def test_integers_come_as_numbers_lists_and_ranges() -> None:
    assert parse_ints("1:4,8", "k") == [1, 2, 3, 4, 8]


@pytest.mark.parametrize("text", ["", "a", "4:1", "1:", "0", "-3", "1:10000000", "1.5", "9" * 5000])
def test_wrong_ranges_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_ints(text, "k")


@pytest.mark.parametrize("text", ["", "50x", "x48", "0x3", "-1x3", "50*48", "3.5x2", "9" * 5000])
def test_wrong_shapes_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_shape(text)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6))
def test_shapes_read_back(sizes: list[int]) -> None:
    assert parse_shape("x".join(map(str, sizes))) == sizes


@given(st.text(max_size=30))
def test_parsers_raise_nothing_but_input_errors(text: str) -> None:
    for parse in (parse_size, parse_sizes, parse_shape, lambda value: parse_ints(value, "k")):
        try:
            parse(text)  # type: ignore[operator]
        except InputError as error:
            assert "\n" not in str(error) or "\n" in text


def test_figures_are_written_with_three_digits_and_a_unit() -> None:
    assert format_time(1.2345e-6) == "1.23 us"
    assert format_time(2.5e-8) == "25.0 ns" and format_time(0) == "0 s"
    assert format_time(0.25) == "250 ms"
    assert format_time(float("nan")) == "–"
    assert format_size(4 << 20) == "4 MiB"
    assert [format_size(size) for size in (1000, 64_000, 10**6, 4096, 62_500 << 10, 849_408, 65_537)] == [
        "1000 B", "64 kB", "1 MB", "4 KiB", "64 MB", "849 kB", "65537 B",
    ]  # fmt: skip
    assert format_bandwidth(11.24e9) == "11.2 GB/s"
    assert format_percent(-0.031) == "-3.1 %"
    assert format_percent(-2e-5) == format_percent(2e-5) == "+0.0 %"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("overhead_s", 3e-7, "300 ns"),
        ("gap_s_per_byte", 0.2e-9, "0.2 ns/B"),
        ("injection_bytes_per_s", 6e9, "6.00 GB/s"),
        ("rendezvous_from_bytes", 8192.0, "8 KiB"),
        ("overlap", 0.4, "0.4"),
    ],
)
def test_a_parameter_is_written_in_the_unit_of_its_name(name: str, value: float, text: str) -> None:
    assert format_parameter(name, value) == text


def test_times_are_read_with_their_units() -> None:
    times = {"10ms": 0.01, "0.5": 0.5, "2min": 120.0, "30m": 1800.0, "1h": 3600.0}
    assert {text: parse_seconds(text) for text in times} == pytest.approx(times)


@pytest.mark.parametrize(
    ("values", "said"), [([48], "48"), ([48, 40, 44], "40 to 48"), ([9.8, 10.2], "10"), ([9.2, 10.2], "9 to 10")]
)
def test_ends_that_read_alike_are_said_once(values: list[float], said: str) -> None:
    assert format_span(values, "{:.0f}".format) == said


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.0, 22016060393824145408.0), "unknown"),
        ((1e-9, 2e-6), "unknown"),
        ((0.0, 1e-6), "unknown"),
        ((1e-9, 9e-7), "1.00–900 ns"),
        ((0.0, 0.0), None),
        ((-1e-6, 1e-6), None),
        (None, "–"),
    ],
)
def test_an_interval_that_says_nothing_is_unknown(ends: tuple[float, float] | None, words: str | None) -> None:
    assert format_interval(ends) == words or (words is None and "unknown" not in format_interval(ends))


@pytest.mark.parametrize("odd", ["1\x1c", "²", "1\u2028", "٣"])
@pytest.mark.parametrize(
    "read", [parse_size, parse_seconds, parse_share, lambda text: parse_ints(text, "n"), lambda text: parse_shape(f"{text}x2")]
)
def test_odd_signs_are_read_or_refused(read: Callable[[str], object], odd: str) -> None:
    with suppress(InputError):
        read(odd)
