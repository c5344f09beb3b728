"""Quantiles against printed tables of the distributions, and against themselves."""

import math

import pytest

from rankwise.distributions import beta_fraction, f_quantile, t_quantile, t_tail


@pytest.mark.parametrize(
    ("p", "df", "value"),
    [(0.975, 1, 12.7062), (0.975, 2, 4.3027), (0.975, 9, 2.2622), (0.975, 11, 2.2010), (0.995, 5, 4.0321), (0.95, 30, 1.6973)],
)
def test_students_t_is_that_of_the_tables(p: float, df: float, value: float) -> None:
    assert t_quantile(p, df) == pytest.approx(value, abs=1e-4)
    assert t_quantile(1 - p, df) == -t_quantile(p, df)
    assert t_tail(t_quantile(p, df), df) == pytest.approx(2 * (1 - p), rel=1e-9)


def test_of_many_degrees_of_freedom_it_is_the_normal_distribution() -> None:
    assert t_quantile(0.975, 1e6) == pytest.approx(1.95996, abs=1e-4)
    assert t_quantile(0.5, 3) == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize(("df1", "df2", "value"), [(2, 9, 4.2565), (1, 1, 161.4476), (9, 9, 3.1789), (4, 20, 2.8661)])
def test_fishers_f_is_that_of_the_tables(df1: float, df2: float, value: float) -> None:
    assert f_quantile(0.95, df1, df2) == pytest.approx(value, rel=1e-4)


def test_f_of_one_is_t_squared() -> None:
    for df in (1.0, 3.5, 40.0):
        assert f_quantile(0.95, 1, df) == pytest.approx(t_quantile(0.975, df) ** 2, rel=1e-9)


def test_the_incomplete_beta_function_has_its_closed_forms() -> None:
    for x in (0.01, 0.3, 0.5, 0.9, 0.999):
        assert beta_fraction(x, 1, 1) == pytest.approx(x, rel=1e-13)
        assert beta_fraction(x, 3, 1) == pytest.approx(x**3, rel=1e-13)
        assert beta_fraction(x, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)), rel=1e-12)
