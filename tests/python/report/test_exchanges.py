"""Pictures of exchanges: the map of the fastest ones."""

from rankwise.decide.choice import Crossover, MapRow, Question, WinnerMap
from rankwise.report.exchanges import tradeoff_picture


def _border(at: int, before: str, after: str, low: int | None, high: int | None) -> Crossover:
    return Crossover("bytes", at, before, after, extrapolated=False, low=low, high=high)


def test_bands_that_meet_are_drawn_once() -> None:
    borders = (
        _border(16, "a", "b", 12, 40), _border(64, "b", "a", 32, 128), _border(256, "a", "b", 30, 512),
        _border(8192, "b", "c", 4096, None),
    )  # fmt: skip
    winners = ((8, "a"), *((border.at, border.after) for border in borders))
    question = Question((4, 4), (True, True), 1, 64)
    picture = tradeoff_picture(WinnerMap(8, 65536, (MapRow(1, winners, borders, 65536),)), question)
    assert [stop for stop in picture.stops if "overlap" in stop] == [
        "cutoff 1, 12 B to 512 B: the fastest on either side of 3 crossovers overlap",
        "cutoff 1, 4.1 kB to 65.5 kB: b and c overlap",
    ]
