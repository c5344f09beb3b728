"""CPU lists as Linux writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.machine.sysfs import parse_cpu_list
from rankwise.units import format_ranges


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("", ()), ("\n", ()), ("0\n", (0,)), ("0-3,8,10-11", (0, 1, 2, 3, 8, 10, 11)), ("8,0-1,1", (0, 1, 8))],
)
def test_read(text, cpus):
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "0-", "-1", "3-1", "0,,1", "0-3:1", "0 1", "65536", "0-999999999", "9" * 5000, "٣"])
def test_refused_with_its_name(text):
    with pytest.raises(InputError, match="online .* 0-3,8"):
        parse_cpu_list(text, "online")


@given(st.sets(st.integers(0, 65535)))
def test_what_is_written_reads_back(cpus):
    assert parse_cpu_list(format_ranges(sorted(set(cpus)), between=",")) == tuple(sorted(cpus))


@given(st.one_of(st.text(), st.text(alphabet="0123456789-,\n ")))
def test_any_text_is_a_list_or_an_input_error(text):
    try:
        cpus = parse_cpu_list(text)
    except InputError:
        return
    assert parse_cpu_list(format_ranges(sorted(set(cpus)), between=",")) == cpus
