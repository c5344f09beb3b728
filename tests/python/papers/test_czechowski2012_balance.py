"""Eqs. 6, 7 and 11 against the model's Eqs. 2, 4 and 5; verdicts over the range of what is assumed."""

from dataclasses import replace

import pytest

from rankwise.machine.library import load_machine
from rankwise.models import fft3d
from rankwise.papers import czechowski2012_balance as balance
from rankwise.papers import fft_since_2012 as since


def test_eq_6_and_7_are_eq_2_4_and_5_at_a_given_peak() -> None:
    peak, node, memory, link = 4e18, 5e13, 3e12, 25e9
    transform, nodes = fft3d.Transform(21_000.0), peak / node
    assert balance.memory_time_at_peak(peak, node / memory, 8e6) == pytest.approx(
        fft3d.memory_time(transform, nodes, memory, 8e6, fft3d.literal())
    )
    for kappa, other in ((2 / 3, fft3d.torus_bisection_time), (5 / 6, fft3d.torus_ideal_time)):
        assert balance.network_time_at_peak(peak, node, link, kappa) == pytest.approx(other(transform, nodes, link))


def test_eq_11_is_where_memory_takes_as_long_as_the_flops() -> None:
    machine = load_machine("frontier")
    found = balance.balance_of(machine)
    cache = machine.need("cache", "").value
    transform = fft3d.Transform(cache / 16)  # as many points as fit, so that the logarithm is 1
    terms = [
        fft3d.memory_time(transform, 1, machine.need("memory_bandwidth", "").value, cache, fft3d.literal()),
        fft3d.flops_time(transform, 1, machine.need("node_peak", "").value),
    ]
    assert found.excess == pytest.approx(terms[0] / terms[1], rel=1e-9)


def test_sentences_on_balance_follow_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    before = balance.section().paragraphs[2]
    assert "kept by fugaku" in before and "lost by" in before and "as the paper feared" in before

    def with_more_memory(name: str) -> object:
        machine = load_machine(name)
        figure = machine.figures["memory_bandwidth"]
        return machine.with_figure("memory_bandwidth", replace(figure, value=100 * figure.value, high=100 * figure.high))

    monkeypatch.setattr(balance, "STACKED", tuple(name for name in balance.DESIGNS if name == "fugaku"))
    monkeypatch.setattr(
        balance, "load_machine", lambda name: with_more_memory(name) if name == "fugaku" else load_machine(name)
    )
    assert balance.section().paragraphs[2].endswith("It kept nodes balanced.")


def test_verdicts_hold_over_the_range_of_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    first = since.verdicts()[0]
    low, high = first.interval
    assert first.held is False and high / low == pytest.approx(4 * 13.1 / 12.1)
    assert since.largest_step(36).memory_constant_measured[0] == pytest.approx(
        since.largest_step().memory_constant_measured[0] / 2
    )
    assert 19 <= min(since.largest_step().memory_constant_measured) + 0.5 and fft3d.IMPLIED_A == (19, 23)
    monkeypatch.setattr(since, "GESTS_TRANSFORMS_RANGE", (2, 36))
    assert since.verdicts()[0].held is None
