"""Figures 2 to 4 of the paper beside its equations, worked out by hand."""

import pytest

from rankwise.models import fft3d
from rankwise.papers import czechowski2012_measured as paper

ROWS = {row.name: row for row in paper.statements()}


def test_terms_of_figure_4_are_the_equations_by_hand() -> None:
    terms = paper.keeneland(fft3d.LITERAL)
    array = 2048**3 * 16 / 64  # bytes a node
    assert terms.io_bus_s == pytest.approx(6 * array / 8e9)
    assert terms.network_s == pytest.approx(2 * array / 4e9)
    assert terms.shuffle_s == pytest.approx(4 * array / 432e9)
    assert terms.memory_s == pytest.approx(3 * 6.3 * array / 432e9)
    assert sum(paper.shares(fft3d.LITERAL).values()) == pytest.approx(1.0) == sum(paper.SHARES.values())


def test_computation_does_not_outgrow_communication_in_the_equations() -> None:
    # Lines of the sizes run fit in the cache: Eq. 2 and Eq. 5 both grow with n cubed.
    row = ROWS["hopper_computation_grows"]
    assert row.literal_agrees is False and row.effective_agrees is False
    assert ROWS["hopper_network_dominates"].literal_agrees and ROWS["hopper_overhead"].literal_agrees is None


def test_the_verdict_counts_what_agrees() -> None:
    assert paper.verdict().startswith("Of 8 things measured in 2012") and "gives 2 and" in paper.verdict()
