import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.machine.compare import compare, in_words, ratio_interval, regressions
from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.models.curve import curve_from_table

SIZES = (0, 8, 64, 512, 4096, 32768)


def _profile(factors: dict[int, float] | float = 1.0, half_width: float = 0.02, link: str = "same-socket") -> Profile:
    """A machine of 1 us and 1 GB/s, its times multiplied by the factors, with a relative half-width of the interval."""
    points = []
    for size in SIZES:
        factor = factors.get(size, 1.0) if isinstance(factors, dict) else factors
        time_s = (1e-6 + 1e-9 * size) * factor
        points.append(Point(size, time_s, time_s * (1 - half_width), time_s * (1 + half_width), 10))
    return Profile({"hostname": "x"}, {link: Link(curve_from_table(points, "median"))}, "now", {"kind": "measured"})


def test_a_profile_is_the_same_as_itself() -> None:
    comparisons, notes = compare(_profile(), _profile(), 0.1)
    assert {c.verdict for c in comparisons} == {"same"} and not regressions(comparisons) and not notes
    assert {c.size_bytes for c in comparisons} == {None, *SIZES}
    assert in_words(comparisons, 0.1) == "the same within 10 %"


@pytest.mark.parametrize(
    ("b", "tolerance", "slower", "words"),
    [
        (_profile(1.3), 0.1, True, "slower: "),
        (_profile(1.3), 0.5, False, "the same within 50 %"),
        (_profile(0.7), 0.1, False, "faster"),
        (_profile({64: 1.5}), 0.1, False, "the same"),  # a size alone among its neighbours
        (_profile({64: 1.5, 512: 1.5}), 0.1, True, "slower: 2 of"),
    ],
)
def test_verdicts(b: Profile, tolerance: float, slower: bool, words: str) -> None:
    comparisons, _ = compare(_profile(), b, tolerance)
    assert bool(regressions(comparisons)) == slower
    assert words in in_words(comparisons, tolerance)


def test_an_interval_across_the_tolerance_is_unclear() -> None:
    comparisons, _ = compare(_profile(), _profile(1.3, half_width=0.5), 0.1)
    assert {c.verdict for c in comparisons if c.quantity != "beta"} == {"unclear"}


def test_a_figure_without_an_interval_is_judged_by_itself() -> None:
    comparisons, _ = compare(_profile(), _profile(1.3), 0.1)
    beta = next(c for c in comparisons if c.quantity == "beta")
    assert (beta.ratio_ci, beta.verdict, beta.to_dict()["ratio_lo"]) == (None, "slower", None)


def test_what_only_one_profile_has_is_told() -> None:
    a, b = _profile(), _profile()
    both = Profile(b.machine, {**b.links, **_profile(link="other-node").links}, b.created, b.source)
    assert compare(a, both, 0.1)[1] == ["only the second profile has other-node"]
    with pytest.raises(InputError, match="no link class in common"):
        compare(a, _profile(link="other-node"), 0.1)


def test_a_slower_processor_is_told_apart_from_a_slower_link() -> None:
    def with_loop(profile: Profile, loop_s: float) -> Profile:
        links = {name: replace(link, reference_loop_s=loop_s) for name, link in profile.links.items()}
        return Profile(profile.machine, links, profile.created, profile.source)

    _, notes = compare(with_loop(_profile(), 20e-6), with_loop(_profile(1.3), 26e-6), 0.1)
    assert notes == [
        "same-socket: the processor itself took 1.30 times as long for the reference loop; divided by that, send alpha "
        "is 1.00 times"
    ]


@given(st.floats(1e-9, 1e-3), st.floats(1e-9, 1e-3), st.floats(0, 0.9), st.floats(0, 0.9))
def test_the_ratio_s_interval_holds_the_ratio_and_is_wider_than_either(a: float, b: float, wa: float, wb: float) -> None:
    interval = ratio_interval(a, (a * (1 - wa), a * (1 + wa)), b, (b * (1 - wb), b * (1 + wb)))
    assert interval is not None
    low, high = interval
    assert low <= b / a * (1 + 1e-9) and high >= b / a * (1 - 1e-9)
    assert math.log(high / low) >= max(math.log((1 + w) / (1 - w)) for w in (wa, wb)) * 0.7 - 1e-9


def test_the_ratio_s_interval_covers_the_truth_in_95_of_100() -> None:
    import numpy as np

    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        a, b = 1.0 + 0.05 * rng.standard_normal(), 1.3 + 0.05 * rng.standard_normal()
        w = 1.96 * 0.05
        interval = ratio_interval(a, (a - w, a + w), b, (b - w, b + w))
        assert interval is not None
        covered += interval[0] <= 1.3 <= interval[1]
    assert 0.93 <= covered / 2000 <= 0.975, covered
