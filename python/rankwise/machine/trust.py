"""The quality of a measurement, which JSON calls ``trust``: its level, its reasons, and that of each link class and mode."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Literal, Self, get_args

from rankwise.records import Record, key, record

Level = Literal["good", "limited", "poor", "unknown"]
LEVELS: tuple[Level, ...] = get_args(Level)
_RANK = {"good": 0, "unknown": 1, "limited": 2, "poor": 3}  # of what is worse


@record
class Reason(Record):
    """What disturbed a measurement: a short name, how grave it is (1 and above: poor), what was seen, and the fix."""

    code: str = key("short name of a reason, the same in all versions")
    severity: float = key("how grave it is; 1 and above makes figures poor, 0 is only told")
    words: str = key("the reason in a sentence")
    cure: str = key("what to do about what was found")

    def __str__(self) -> str:
        return f"{self.words}: {self.cure}" if self.cure else self.words


@record
class Trust(Record):
    """The quality of a measurement: its level, its reasons (the gravest first), and the level of each link class and mode.

    ``half_width`` is the share to which half of the rows are known, ``launches`` how many there were at least, ``file`` the
    profile and ``day`` that of the measurement, ``24 Nov 2026``.
    """

    level: Level = key("good, limited, poor or unknown", default="unknown")
    reasons: tuple[Reason, ...] = key("what spoiled the figures, the gravest first", default=())
    of: Mapping[str, Mapping[str, Level]] = key("by link class and mode", factory=dict)
    half_width: float | None = key("share to which half of the rows are known", default=None)
    launches: int | None = key("how many there were at least", default=None)
    file: str = field(default="", compare=False)
    day: str = field(default="", compare=False)

    @property
    def words(self) -> str:
        """The gravest reason; where nothing disturbed the measurement, how large it was and how close its intervals are."""
        if grave := [reason for reason in self.reasons if reason.severity > 0]:
            return grave[0].words
        if self.level == "unknown":
            return "how it was measured is not recorded"
        known = [] if self.launches is None else [f"{self.launches} launch{'es' * (self.launches != 1)}"]
        if self.half_width is not None:
            known.append(f"half of the intervals within ± {100 * self.half_width:.1f} %")
        return ", ".join(known) or "undisturbed"

    @property
    def is_poor(self) -> bool:
        """Whether nothing is to be built on the figures."""
        return self.level == "poor"

    @property
    def option(self) -> str:
        """The option that names the profile to a verb; empty where verbs take it by themselves, or it is no file."""
        return f"--profile {shlex.quote(self.file)}" if self.file not in ("", "machine.json") else ""

    def line(self) -> str:
        """Return the quality in one line, the second of every screen that rests on a measurement."""
        if self.level == "unknown" and self.file and not self.reasons:
            return f"Quality: unknown ({self.file} does not say how it was measured)."
        source = " of ".join(part for part in (self.file, self.day) if part)
        return f"Quality: {self.level} ({': '.join(part for part in (source, self.words) if part)})."

    def further(self) -> list[str]:
        """Return the reasons that ``line`` does not name."""
        grave = [reason for reason in self.reasons if reason.severity > 0]
        return [str(reason) for reason in self.reasons if reason not in grave[:1]]

    def with_additions(self, other: Trust) -> Trust:
        """Return the quality of this measurement and of what another one adds to it."""
        of = {link: {**ways, **self.of.get(link, {})} for link, ways in {**self.of, **other.of}.items()}
        added = [level for link, ways in other.of.items() for way, level in ways.items() if way not in self.of.get(link, {})]
        level = worst([self.level, *added])
        reasons = self.reasons if level == self.level else other.reasons
        return Trust(level, reasons, of, self.half_width, self.launches, self.file, self.day)

    @classmethod
    def from_dict(cls, value: Any, what: str = "trust") -> Self:
        """Read a verdict; where there is none it is unknown. Raises ValueError or KeyError for a bad one."""
        return cls() if value is None else super().from_dict(value, what)


def worst(levels: Iterable[Level]) -> Level:
    """Return the worst of some levels; of none ``unknown``."""
    return max(levels, key=_RANK.__getitem__, default="unknown")
