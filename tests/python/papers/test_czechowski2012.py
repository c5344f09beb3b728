"""The paper's published figures beside ours, within the digits that were worked out for both readings."""

import math

import pytest

from rankwise.models import fft3d
from rankwise.papers import czechowski2012 as page
from rankwise.papers import czechowski2012_model as paper
from rankwise.papers import fft_since_2012 as since

LITERAL, EFFECTIVE = fft3d.LITERAL, fft3d.EFFECTIVE
OURS = {reading: paper.reproduced(reading) for reading in paper.READINGS}


@pytest.mark.parametrize(
    ("key", "literal", "effective", "digits"),
    [
        ("overlapped_time", 0.525, 0.525, 5e-4),
        ("cpu1_net_over_gpu", 0.212, 0.212, 5e-4),
        ("gpu_performance", 3.69e15, 2.79e15, 5e12),
        ("gpu_net_over_mem", 34.5, 2.79, 0.05),
        ("cpu1_over_gpu", 4.44, 3.15, 5e-3),
        ("cpu2_processors", 162e3, 352e3, 5e2),
        ("cpu2_peak", 0.48e18, 1.05e18, 5e15),
        ("cpu3_processors", 131.6e3, 295.3e3, 50),
        ("cpu3_processors_over_gpu", 1.0, 2.24, 5e-3),
        ("gpu_share", 0.00092, 0.00070, 5e-6),
    ],
)
def test_every_row_of_the_worked_out_table(key: str, literal: float, effective: float, digits: float) -> None:
    assert OURS[LITERAL][key] == pytest.approx(literal, abs=digits)
    assert OURS[EFFECTIVE][key] == pytest.approx(effective, abs=digits)


def test_which_figures_reproduce_within_5_percent() -> None:
    literal = {row.name for row in paper.PUBLISHED if row.literal_within_5_percent}
    effective = {row.name for row in paper.PUBLISHED if row.paper_effective_within_5_percent}
    assert literal == {"overlapped_time", "cpu1_processors_over_gpu"}
    assert effective == literal | {
        "gpu_performance", "gpu_net_over_mem", "cpu1_over_gpu", "cpu2_processors", "cpu2_peak", "cpu3_processors",
        "cpu3_processors_over_gpu",
    }  # fmt: skip


@pytest.mark.parametrize("reading", paper.READINGS)
def test_the_designs_are_solved_for(reading: str) -> None:
    gpu, cpu1, cpu2, cpu3 = paper.figure5(reading)
    assert cpu1.peak_flop_per_s == pytest.approx(gpu.peak_flop_per_s)
    assert cpu2.sequential_s == pytest.approx(gpu.sequential_s, rel=1e-9)
    assert cpu3.overlapped_s == pytest.approx(gpu.overlapped_s, rel=1e-9)


def test_the_gpu_design_by_hand() -> None:
    processors = 4e18 / (515e9 * 59.0)
    assert processors == pytest.approx(131_644, abs=0.5)
    link_words = 10e9 * 21.8 / 16
    network_s = 2 * 21_000**3 / (processors ** (2 / 3) * link_words)
    memory_s = 3 * 21_000**3 * 6.3 / (processors * 144e9 * 9.7 / 16)
    gpu = paper.figure5(LITERAL)[0]
    assert gpu.network_s == pytest.approx(network_s)
    assert gpu.memory_s == pytest.approx(memory_s)
    assert OURS[LITERAL]["gpu_performance"] == pytest.approx(15 * 21_000**3 * math.log2(21_000) / (network_s + memory_s))


def test_the_logarithm_is_below_1_for_both_designs() -> None:
    for design, expected in (("gpu", 0.64), ("cpu", 0.61)):
        words = paper.TREND["cache"].at(design, 2020) / 16
        assert math.log(paper.N) / math.log(words) == pytest.approx(expected, abs=5e-3)


def test_the_effective_constants_are_what_the_figures_need() -> None:
    assert fft3d.EFFECTIVE_X["gpu"] / 6.3 == pytest.approx(12.4, abs=0.05)
    assert fft3d.EFFECTIVE_X["cpu"] / 6.3 == pytest.approx(11.5, abs=0.06)


def test_the_exact_bisection() -> None:
    assert paper.exact_performance()[LITERAL] == pytest.approx(24.7e15, abs=5e13)


@pytest.mark.parametrize("reading", paper.READINGS)
def test_figure_6_grows_as_worked_out(reading: str) -> None:
    growth = {name: curve[-1][1] / curve[0][1] for name, curve in paper.figure6(reading).items()}
    assert growth == pytest.approx(
        {"3-D torus": 0.875, "4-D torus": 1.11, "5-D torus": 1.28, "3-D torus, ideal": 1.40}, abs=5e-3
    )


def test_figure_6_levels_depend_on_the_reading() -> None:
    literal, effective = paper.figure6(LITERAL), paper.figure6(EFFECTIVE)
    assert literal["3-D torus, ideal"][0][1] == pytest.approx(0.68, abs=5e-3)
    assert literal["3-D torus, ideal"][-1][1] == pytest.approx(0.95, abs=5e-3)
    assert max(ratio for curve in literal.values() for _, ratio in curve) < 1
    assert effective["3-D torus"][0][1] == pytest.approx(1.18, abs=5e-3)
    assert effective["3-D torus"][-1][1] == pytest.approx(1.03, abs=5e-3)
    rows = {(row.reading, row.topology): row for row in paper.figure6_statements()}
    assert all(row.trend_agrees for row in rows.values())
    assert rows[(LITERAL, "3-D torus")].level_agrees is True
    assert rows[(EFFECTIVE, "3-D torus")].level_agrees is False


def test_the_ideal_mapping_is_p_to_the_sixth_faster() -> None:
    assert OURS[LITERAL]["ideal_over_bisection"] == pytest.approx(10.5, abs=0.05)


def test_the_cells_that_contradict_the_table() -> None:
    wrong = {(cell.name, cell.design, cell.column) for cell in paper.cells() if cell.verdict == paper.CONTRADICTS}
    assert wrong == {("cores", "cpu", "2020"), ("nodes", "cpu", "2020")}
    for cell in paper.cells():
        if (cell.name, cell.design, cell.column) not in wrong:
            assert abs(cell.difference) < 0.05, cell


def test_printed_figures_hold_what_rounds_to_them() -> None:
    for text, value, low, high in (
        ("59.0", 59, 58.95, 59.05), ("1.3M", 1.3e6, 1.25e6, 1.35e6), ("79,400", 79400, 79350, 79450),
        ("18k", 18e3, 17500, 18500),
        ("134", 134, 133.5, 134.5),
    ):  # fmt: skip
        printed = paper.Printed.of(text)
        assert (printed.value, printed.low, printed.high) == pytest.approx((value, low, high))


def test_extrapolation_gives_the_table_at_both_ends() -> None:
    first = {(row.name, row.design): row.value for row in paper.table_at(2010)}
    last = {(row.name, row.design): row.value for row in paper.table_at(2020)}
    assert first[("node_peak", "gpu")] == 515e9
    assert last[("node_peak", "gpu")] == pytest.approx(30.385e12)
    assert last[("nodes", "cpu")] == pytest.approx(1.345e6, rel=1e-3)
    doubled = paper.TREND["link_bandwidth"].at_by_doubling("both", 2012.25)
    assert doubled == pytest.approx(20e9)


def test_slips_name_what_follows() -> None:
    follows = {slip.what: slip.follows for slip in paper.slips()}
    assert follows["ten-year factor of the memory bandwidth"] == pytest.approx(10.08, abs=5e-3)
    assert follows["share of 4 EF/s that 2.8 PF/s are"] == pytest.approx(0.0007)
    assert follows["processors of CPU-1 over those of the GPU system, by Table 1"] == pytest.approx(9.6, abs=0.05)


def test_what_was_run_since() -> None:
    step = since.largest_step()
    assert step.field_bytes_per_node == pytest.approx(34.4e9, rel=2e-3)
    assert step.exchange_s == pytest.approx(0.344, abs=5e-4)
    assert step.network_connected_s == pytest.approx(6.2, abs=0.05)
    assert step.network_torus_s == pytest.approx(99, abs=0.5)
    assert step.share_of_injection == pytest.approx(0.73, abs=5e-3)
    assert step.memory_literal_s == pytest.approx(0.9, abs=0.05)
    assert step.memory_effective_cpu_s == pytest.approx(10.4, abs=0.06)
    assert step.memory_constant_measured == pytest.approx([19, 24], abs=0.6)
    assert step.net_over_mem_measured == pytest.approx([2.5, 3.1], abs=0.06)
    assert step.fraction_of_peak == pytest.approx([0.007, 0.007], abs=6e-4)
    assert since.CUFFTMP.share_explained == pytest.approx(0.67, abs=5e-3)
    assert since.balance().frontier_die == pytest.approx(0.0078, abs=5e-5)
    assert since.balance().predicted_2020 == pytest.approx(0.156, abs=5e-4)


@pytest.mark.parametrize(
    ("quantity", "assumed", "shortest", "longest"),
    [
        ("processor peak", 1.7, 2.0, 2.4),
        ("memory bandwidth", 3.0, 2.4, 2.9),
        ("link", 2.25, 5.2, 7.6),
        ("machine peak", 1.0, 1.35, 1.5),
    ],
)
def test_real_doubling_times(quantity: str, assumed: float, shortest: float, longest: float) -> None:
    found = since.doubling_ranges()[quantity]
    assert found.assumed == assumed
    assert found.shortest == pytest.approx(shortest, abs=0.05)
    assert found.longest == pytest.approx(longest, abs=0.05)


def test_verdicts_follow_from_the_figures() -> None:
    assert [row.held for row in since.verdicts()] == [False, None, False]
    assert "links fell behind" in since.verdict_sentence()


def test_pictures_are_well_formed() -> None:
    import re
    import xml.etree.ElementTree as ElementTree

    for picture in page.reproduce().pictures():
        svg = picture.draw().svg()
        root = ElementTree.fromstring(svg)
        assert root.get("role") == "img" and root[0].text and root[1].text
        ids = re.findall(r' id="([^"]+)"', svg)
        assert len(ids) == len(set(ids))
