import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.distributions import t_quantile
from rankwise.errors import InputError
from rankwise.machine.compare import compare, in_words, ratio_interval
from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.machine.trust import Level, Trust
from rankwise.models.curve import curve_from_table

SIZES = (0, 8, 64, 512, 4096, 32768)


def _profile(
    factors: dict[int, float] | float = 1.0, half_width: float = 0.02, link: str = "same-socket", trust: Level = "good"
) -> Profile:
    """A machine of 1 us and 1 GB/s, its times multiplied by the factors, with a relative half-width of the interval."""
    points = []
    for size in SIZES:
        factor = factors.get(size, 1.0) if isinstance(factors, dict) else factors
        time_s = (1e-6 + 1e-9 * size) * factor
        points.append(Point(size, time_s, time_s * (1 - half_width), time_s * (1 + half_width), 10))
    return Profile(
        {"hostname": "x"}, {link: Link(curve_from_table(points, "median"))}, "now", {"kind": "measured"}, trust=Trust(trust)
    )


def test_a_profile_is_the_same_as_itself() -> None:
    for half_width, trust in ((0.02, "good"), (0.9, "poor")):
        found = compare(_profile(half_width=half_width, trust=trust), _profile(half_width=half_width, trust=trust), 0.1)
        assert {c.verdict for c in found.comparisons} == {"same"} and found.outcome == "same" and not found.notes
        assert {c.size_bytes for c in found.comparisons} == {None, *SIZES}
        assert in_words(found, 0.1) == "the same within 10 %"


@pytest.mark.parametrize(
    ("b", "tolerance", "outcome", "words"),
    [
        (_profile(1.3), 0.1, "slower", "slower: "),
        (_profile(1.3), 0.5, "same", "the same within 50 %"),
        (_profile(0.7), 0.1, "faster", "faster"),
        (_profile({64: 1.5}), 0.1, "slower", "slower: 1 of"),  # a size alone, but for certain
        (_profile(1.11), 0.1, "unclear", "unclear"),  # every figure beyond 10 %, none for certain
        (_profile(16.7, half_width=0.3), 0.1, "slower", "16.70 times"),
        (_profile(16.7, half_width=0.3, trust="poor"), 0.1, "unclear", "the second profile are poor"),
    ],
)
def test_outcomes(b: Profile, tolerance: float, outcome: str, words: str) -> None:
    found = compare(_profile(), b, tolerance)
    assert found.outcome == outcome
    assert words in in_words(found, tolerance)


def test_two_poor_profiles_are_unusable() -> None:
    found = compare(_profile(trust="poor"), _profile(1.3, trust="poor"), 0.1)
    assert found.outcome == "unusable" and not found.of("slower") and "both profiles are poor" in in_words(found, 0.1)


def test_all_figures_together_are_rarely_called_slower_by_chance() -> None:
    """Two measurements of one machine, ten launches each, every figure's noise by itself: at most 5 of 100 raise the alarm."""
    rng, alarms, runs = np.random.default_rng(4), 0, 200
    for _ in range(runs):
        a, b = (_measured(np.zeros(len(SIZES)), rng) for _ in range(2))
        alarms += compare(a, b, 0.0).outcome == "slower"
    assert alarms <= 0.05 * runs
    slower = compare(_measured(np.zeros(len(SIZES)), rng), _measured(np.full(len(SIZES), math.log(1.5)), rng), 0.1)
    assert slower.outcome == "slower"


def _measured(logs: np.ndarray, rng: np.random.Generator, launches: int = 10, noise: float = 0.1) -> Profile:
    """A machine of 1 us and 1 GB/s, times e to the logs, as so many launches find it, with Student's intervals."""
    points = []
    for size, log in zip(SIZES, logs, strict=True):
        drawn = math.log(1e-6 + 1e-9 * size) + log + noise * rng.standard_normal(launches)
        half = t_quantile(0.975, launches - 1) * drawn.std(ddof=1) / math.sqrt(launches)
        points.append(Point(size, *(math.exp(drawn.mean() + k * half) for k in (0, -1, 1)), launches))
    return Profile({"hostname": "x"}, {"same-socket": Link(curve_from_table(points, "median"))}, "now", {"kind": "measured"})


def test_a_figure_without_an_interval_is_judged_by_itself() -> None:
    for factor, verdict in ((1.3, "slower"), (1.12, "unclear"), (1.0, "unclear")):  # to 8 %, as a single run of a benchmark
        beta = next(c for c in compare(_profile(), _profile(factor, half_width=0.03), 0.1).comparisons if c.quantity == "beta")
        assert (beta.ratio_ci, beta.verdict, beta.to_dict()["ratio_lo"]) == (None, verdict, None)


def test_what_only_one_profile_has_is_told() -> None:
    a, b = _profile(), _profile()
    both = Profile(b.machine, {**b.links, **_profile(link="other-node").links}, b.created, b.source)
    assert compare(a, both, 0.1).notes == ["only the second profile has other-node"]
    with pytest.raises(InputError, match="no link class in common"):
        compare(a, _profile(link="other-node"), 0.1)


def test_a_slower_processor_is_told_apart_from_a_slower_link() -> None:
    def with_loop(profile: Profile, loop_s: float) -> Profile:
        links = {name: replace(link, reference_loop_s=loop_s) for name, link in profile.links.items()}
        return Profile(profile.machine, links, profile.created, profile.source)

    assert compare(with_loop(_profile(), 20e-6), with_loop(_profile(1.3), 26e-6), 0.1).notes == [
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
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        a, b = 1.0 + 0.05 * rng.standard_normal(), 1.3 + 0.05 * rng.standard_normal()
        w = 1.96 * 0.05
        interval = ratio_interval(a, (a - w, a + w), b, (b - w, b + w))
        assert interval is not None
        covered += interval[0] <= 1.3 <= interval[1]
    assert 0.93 <= covered / 2000 <= 0.975, covered
