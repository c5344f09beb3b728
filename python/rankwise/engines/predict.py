"""The model engine: walks the schedule of every rank through the cost function with a profile's link times."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rankwise.engines.exchange import ExchangeCase, Row
from rankwise.engines.placement import Location
from rankwise.errors import InputError
from rankwise.machine.link import Curve
from rankwise.machine.profile import VARIANTS, Link, Profile

if TYPE_CHECKING:
    from rankwise import _core

_NOTES = {
    "ssend": "the profile has no synchronous ping-pong: ssend is costed as a plain send",
    "exchange": "the profile has no overlap of both directions: {mode} is costed as full overlap (an optimist's bound)",
    "exchange-gap": "the profile has no sender's share: a sender is busy for the bytes alone",
}
_NEEDS = {
    "ssend": "ssend", "send": "exchange-gap", "isend": "exchange", "isend-self": "exchange", "persistent": "exchange",
}  # fmt: skip


class Model:
    """Predicts exchanges from a profile.

    ``link_model`` overrides the model that the profile chose for its links; ``loaded`` takes the parameters that were
    measured beside background traffic.
    """

    name = "model"

    def __init__(self, profile: Profile, link_model: str | None = None, loaded: bool = False) -> None:
        """Raises InputError when the profile does not have the link model, or nothing measured beside traffic."""
        from rankwise import _core

        # Places know of cores and sockets: a pair that shares a cache is costed as any of its socket.
        self.links = {
            name: _with_model(name, link, link_model) for name, link in profile.links.items() if name != "shared-cache"
        }
        self._loaded = loaded
        if missing := [name for name, link in self.links.items() if loaded and link.loaded is None]:
            raise InputError(
                f"link {missing[0]} was not measured beside background traffic: run 'rankwise measure --background 1', "
                "or leave --loaded out"
            )
        try:
            self.machine = _core.Machine.from_profile(json.dumps(profile.to_dict()), link_model or "", loaded)
        except ValueError as error:
            raise InputError(str(error)) from None
        self._exchange_of: dict[tuple[object, ...], _core.Exchange] = {}
        self._width_of: dict[tuple[str, int], float] = {}

    def rows(self, cases: Sequence[ExchangeCase], placement: Mapping[int, Sequence[Location]]) -> Iterator[Row]:
        """Yield one row a case; ``placement`` gives the locations of all ranks for each number of ranks.

        Raises InputError when the profile lacks a link class that the placement needs.
        """
        for case in cases:
            locations = placement[case.ranks]
            try:
                time_s, messages, bytes_sent = self._exchange(case).cost(
                    case.message_bytes, list(locations), self.machine
                )
            except ValueError as error:
                raise InputError(str(error)) from None
            sizes = self._sizes(case)
            low_s, high_s = self.interval(case.mode, time_s, sizes)
            yield Row(
                engine=self.name,
                case=case,
                time_s=time_s,
                time_lo_s=low_s,
                time_hi_s=high_s,
                messages_per_rank=messages,
                bytes_per_rank=bytes_sent,
                verified=None,
                notes=tuple(self.notes(case.mode, sizes)),
            )

    def _exchange(self, case: ExchangeCase) -> _core.Exchange:
        key = (
            case.algorithm, case.mode, case.grid, case.periodic, case.cutoff, case.shell, case.replication,
            case.team_boxes,
        )  # fmt: skip
        if key not in self._exchange_of:
            self._exchange_of[key] = case.schedules()
        return self._exchange_of[key]

    def _sizes(self, case: ExchangeCase) -> list[int]:
        """Return the sizes of the messages: later steps forward what earlier ones gathered."""
        return message_sizes(self._exchange(case).message_blocks, case.message_bytes)

    def interval(self, mode: str, time_s: float, sizes: Sequence[int]) -> tuple[float, float]:
        """Return the 95 % interval of the time of an exchange that sends messages of some sizes."""
        width = max(self._width(_NEEDS[mode], size) for size in sizes)
        return max(0.0, time_s * (1 - width)), time_s * (1 + width)

    def _width(self, need: str, size: int) -> float:
        """Return the widest relative interval of a message's time over the profile's links."""
        if (need, size) not in self._width_of:
            self._width_of[need, size] = max(
                _variant(link, need).relative_half_width(size) for link in self.links.values()
            )
        return self._width_of[need, size]

    def notes(self, mode: str, sizes: Sequence[int]) -> Iterator[str]:
        """Yield what weakens a prediction: ways of sending and sizes of messages that were not measured."""
        need = _NEEDS[mode]
        if any(need not in link.variants for link in self.links.values()):
            yield _NOTES[need].format(mode=mode)
        beyond = [
            size for size in sizes if any(_variant(link, need).extrapolates(size) for link in self.links.values())
        ]
        if beyond:
            yield f"extrapolated: messages of {max(beyond)} B lie beyond the measured sizes"
        if self._loaded:
            pairs = ", ".join(str(link.loaded.pairs) for link in self.links.values() if link.loaded is not None)
            yield f"as beside background traffic of {pairs} pairs: every way of sending slowed down as a plain send was"


def message_sizes(message_blocks: Sequence[int], block_bytes: int) -> list[int]:
    """Return the sizes of messages that have some numbers of blocks; never empty."""
    return [block_bytes * count for count in message_blocks if count > 0] or [block_bytes]


def _variant(link: Link, name: str) -> Curve:
    return link.variants.get(name, link.send)


def _with_model(name: str, link: Link, link_model: str | None) -> Link:
    if link_model is None:
        return link

    def choose(curve: Curve) -> Curve:
        if link_model not in curve.models:
            raise InputError(
                f"link {name} has no model '{link_model}': choose one of {', '.join(curve.models)}"
            )
        return Curve(**{**curve.__dict__, "model": link_model})

    # What was imported beside these knows tables only, and no prediction asks for it.
    ways = {way: choose(link.variants[way]) for way in VARIANTS if way in link.variants}
    return Link(choose(link.send), ways, loaded=link.loaded)
