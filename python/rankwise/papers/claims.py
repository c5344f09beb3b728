"""What papers say, held against figures: how many of some claims hold, and which do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Claim = TypeVar("Claim")


@dataclass(frozen=True)
class Tally(Generic[Claim]):
    """Claims of one kind, records or their JSON; ``whether`` is the name of what says whether one holds (None: nothing can be
    said of it)."""

    every: Sequence[Claim]
    whether: str = "holds"

    def _of(self, *outcomes: bool) -> list[Claim]:
        def holds(claim: Claim) -> bool | None:
            found: bool | None = claim[self.whether] if isinstance(claim, Mapping) else getattr(claim, self.whether)
            return found

        return [claim for claim in self.every if holds(claim) in outcomes]

    @property
    def claims(self) -> list[Claim]:
        """Those that something can be said of."""
        return self._of(True, False)

    @property
    def wrong(self) -> list[Claim]:
        return self._of(False)

    @property
    def held(self) -> int:
        return len(self._of(True))

    def __str__(self) -> str:
        return f"{self.held} of {len(self.claims)}"
