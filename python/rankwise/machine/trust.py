"""How far the figures of a profile can be trusted: a level, its reasons, and the level of each link and way of sending."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rankwise.machine.link import finite, whole

Level = Literal["good", "limited", "poor", "unknown"]
LEVELS: tuple[Level, ...] = get_args(Level)
_RANK = {"good": 0, "unknown": 1, "limited": 2, "poor": 3}  # of what is worse
_WORDS = {
    "good": "nothing disturbed them",
    "limited": "with care",
    "poor": "do not build on them",
    "unknown": "nothing is known of how they were measured",
}


@dataclass(frozen=True)
class Reason:
    """What spoiled figures: a short name, how grave it is (1 and above: poor), what was seen, and its cure."""

    code: str
    severity: float
    words: str
    cure: str

    def __str__(self) -> str:
        return f"{self.words}: {self.cure}" if self.cure else self.words


@dataclass(frozen=True)
class Trust:
    """The verdict on figures: its level, its reasons (the gravest first), and the level of each link and way of sending.

    ``half_width`` is the share to which half of the rows are known, ``launches`` how many there were at least.
    """

    level: Level = "unknown"
    reasons: tuple[Reason, ...] = ()
    of: Mapping[str, Mapping[str, Level]] = field(default_factory=dict)
    half_width: float | None = None
    launches: int | None = None

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

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "reasons": [{"code": r.code, "severity": r.severity, "words": r.words, "cure": r.cure} for r in self.reasons],
            "of": {link: dict(ways) for link, ways in self.of.items()},
            "half_width": self.half_width,
            "launches": self.launches,
        }

    @staticmethod
    def from_dict(record: Mapping[str, Any] | None) -> Trust:
        """Read a verdict; where there is none it is unknown. Raises ValueError, KeyError or TypeError for a bad one."""
        if record is None:
            return Trust()
        reasons = tuple(
            Reason(str(r["code"]), finite(r["severity"], "severity"), str(r["words"]), str(r["cure"]))
            for r in record.get("reasons", [])
        )
        of = {
            str(link): {str(way): _level(level) for way, level in ways.items()} for link, ways in record.get("of", {}).items()
        }
        half_width, launches = record.get("half_width"), record.get("launches")
        return Trust(
            _level(record["level"]), reasons, of, None if half_width is None else finite(half_width, "half_width"),
            None if launches is None else whole(launches, "launches"),
        )  # fmt: skip


def worst(levels: Iterable[Level]) -> Level:
    """Return the worst of some levels; of none ``unknown``."""
    return max(levels, key=_RANK.__getitem__, default="unknown")


def _level(value: Any) -> Level:
    if value not in LEVELS:
        raise ValueError(f"trust level {value!r} is none of {', '.join(LEVELS)}")
    found: Level = value
    return found
