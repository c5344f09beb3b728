"""How far the figures of a profile can be trusted: a level, its reasons, and the level of each link and way of sending."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from rankwise.records import Record, key, record

if TYPE_CHECKING:
    from typing import Self

Level = Literal["good", "limited", "poor", "unknown"]
LEVELS: tuple[Level, ...] = get_args(Level)
_RANK = {"good": 0, "unknown": 1, "limited": 2, "poor": 3}  # of what is worse
_WORDS = {
    "good": "nothing disturbed them",
    "limited": "with care",
    "poor": "do not build on them",
    "unknown": "nothing is known of how they were measured",
}


@record
class Reason(Record):
    """What spoiled figures: a short name, how grave it is (1 and above: poor), what was seen, and its cure."""

    code: str = key("short name of a reason, the same in all versions")
    severity: float = key("how grave it is; 1 and above makes figures poor, 0 is only told")
    words: str = key("the reason in a sentence")
    cure: str = key("what to do about what was found")

    def __str__(self) -> str:
        return f"{self.words}: {self.cure}" if self.cure else self.words


@record
class Trust(Record):
    """The verdict on figures: its level, its reasons (the gravest first), and the level of each link and way of sending.

    ``half_width`` is the share to which half of the rows are known, ``launches`` how many there were at least.
    """

    level: Level = key("good, limited, poor or unknown", default="unknown")
    reasons: tuple[Reason, ...] = key("what spoiled the figures, the gravest first", default=())
    of: Mapping[str, Mapping[str, Level]] = key("by link class and way of sending", factory=dict)
    half_width: float | None = key("share to which half of the rows are known", default=None)
    launches: int | None = key("how many there were at least", default=None)

    @property
    def words(self) -> str:
        """The level and what it means, in a few words."""
        return f"{self.level}, {_WORDS[self.level]}"

    def line(self) -> str:
        """Return the verdict in one line: the level and the gravest reason, or how well figures are known."""
        grave = [reason for reason in self.reasons if reason.severity > 0]
        if grave:
            return f"trust {self.level}: {grave[0]}"
        known = "" if self.half_width is None else f"; half of the rows are known to ± {100 * self.half_width:.1f} % or better"
        return f"trust {self.level}: {_WORDS[self.level]}{known}"

    def further(self) -> list[str]:
        """Return the reasons that ``line`` does not name."""
        grave = [reason for reason in self.reasons if reason.severity > 0]
        return [str(reason) for reason in self.reasons if reason not in grave[:1]]

    def of_ways(self, links: Iterable[str], ways: Iterable[str]) -> Level:
        """Return the worst level of some ways of sending over some links, that of all where nothing is said of one."""
        wanted = list(ways)
        return worst(self.of.get(link, {}).get(way, self.level) for link in links for way in wanted)

    def with_additions(self, other: Trust) -> Trust:
        """Return the verdict on these figures and what others there are beside them."""
        of = {link: {**ways, **self.of.get(link, {})} for link, ways in {**self.of, **other.of}.items()}
        beside = [level for link, ways in other.of.items() for way, level in ways.items() if way not in self.of.get(link, {})]
        level = worst([self.level, *beside])
        reasons = self.reasons if level == self.level else other.reasons
        return Trust(level, reasons, of, self.half_width, self.launches)

    @classmethod
    def from_dict(cls, value: Any, what: str = "trust") -> Self:
        """Read a verdict; where there is none it is unknown. Raises ValueError or KeyError for a bad one."""
        return cls() if value is None else super().from_dict(value, what)


def worst(levels: Iterable[Level]) -> Level:
    """Return the worst of some levels; of none ``unknown``."""
    return max(levels, key=_RANK.__getitem__, default="unknown")
