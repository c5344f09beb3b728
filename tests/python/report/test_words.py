"""Figures as pages write them."""

from rankwise.report.words import figure_with_unit
from rankwise.units import format_time


def test_a_figures_interval_has_its_units_once_or_each() -> None:
    alike = figure_with_unit("latency", 2e-6, (1.5e-6, 3e-6), format_time, "0 B")
    assert (alike.value, alike.unit, alike.interval) == ("2.00", "us", "1.50 to 3.00 us")
    assert figure_with_unit("latency", 9.49e-7, (8.71e-7, 1.03e-6), format_time, "0 B").interval == "871 ns to 1.03 us"
    assert figure_with_unit("latency", 1e-6, None, format_time, "0 B").interval == "– spread unknown"
