"""The order of candidates in words."""

from types import SimpleNamespace

import pytest

from rankwise.decide.ranking import Ranking


def ranking(*times_s: float) -> Ranking:
    return Ranking(tuple(
        SimpleNamespace(case=SimpleNamespace(way=f"w{number}"), time_s=time_s, interval_s=(time_s, time_s), engine="model")
        for number, time_s in enumerate(times_s)
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("times_s", "said"),
    [
        ((1.0, 1.1), "w0 is fastest: 1.00 s; w1 takes 10.0 % longer"),
        ((1.0, 1.0, 2.5), "w0 is fastest: 1.00 s, as w1 is; w2 takes 2.5 times as long"),
        ((1.0, 1.0, 1.0, 1.5), "w0 is fastest: 1.00 s, as w1 and w2 are; w3 takes 50.0 % longer"),
        ((*[1.0] * 6, 1.5), "w0 is fastest: 1.00 s, as w1 and w2 and 3 more are; w6 takes 50.0 % longer"),
        ((1.0, 1.0004, 1.0006), "w0 is fastest: 1.00 s, as w1 is; w2 takes 0.1 % longer"),
        ((1.0, 1.0004), "all 2 candidates take as long: 1.00 s"),
        ((1.0, 1.0), "all 2 candidates take as long: 1.00 s"),
        ((0.0, 0.0), "Nothing is sent: no rank has a partner"),
    ],
)
def test_the_first_is_named_with_its_equals_and_the_next(times_s: tuple[float, ...], said: str) -> None:
    assert ranking(*times_s).reason == said
