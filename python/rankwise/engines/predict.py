"""The model engine: walks the schedule of every rank through the cost function with a profile's link times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rankwise.engines.exchange import ExchangeCase, Row
from rankwise.engines.placement import Location
from rankwise.errors import InputError
from rankwise.machine.link import Curve, LinkModel, Segment
from rankwise.machine.profile import VARIANTS, Link, Profile

if TYPE_CHECKING:
    from rankwise import _core

Lines = list[tuple[int, float, float]]

_NOTES = {
    "ssend": "the profile has no synchronous ping-pong: ssend is costed as a plain send",
    "exchange": "the profile has no overlap of both directions: {mode} is costed as full overlap (an optimist's bound)",
    "exchange-gap": "the profile has no sender's share: a sender is busy for the bytes alone",
}
_NEEDS = {
    "ssend": "ssend", "send": "exchange-gap", "isend": "exchange", "isend-self": "exchange", "persistent": "exchange",
}  # fmt: skip


class Model:
    """Predicts exchanges from a profile. ``link_model`` overrides the model that the profile chose for its links."""

    name = "model"

    def __init__(self, profile: Profile, link_model: str | None = None) -> None:
        """Raises InputError when the profile does not have the link model."""
        from rankwise import _core

        self._profile = profile
        self._links = {name: _with_model(name, link, link_model) for name, link in profile.links.items()}
        self._machine = _core.Machine({name: _cost_lines(link) for name, link in self._links.items()})
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
                    case.message_bytes, list(locations), self._machine
                )
            except ValueError as error:
                raise InputError(str(error)) from None
            width = self._relative_half_width(case)
            yield Row(
                engine=self.name,
                case=case,
                time_s=time_s,
                time_lo_s=max(0.0, time_s * (1 - width)),
                time_hi_s=time_s * (1 + width),
                messages_per_rank=messages,
                bytes_per_rank=bytes_sent,
                verified=None,
                notes=tuple(self._notes(case)),
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
        blocks = self._exchange(case).message_blocks
        return [case.message_bytes * count for count in blocks if count > 0] or [case.message_bytes]

    def _relative_half_width(self, case: ExchangeCase) -> float:
        return max(self._width(_NEEDS[case.mode], size) for size in self._sizes(case))

    def _width(self, need: str, size: int) -> float:
        """Return the widest relative interval of a message's time over the profile's links."""
        if (need, size) not in self._width_of:
            self._width_of[need, size] = max(
                _variant(link, need).relative_half_width(size) for link in self._links.values()
            )
        return self._width_of[need, size]

    def _notes(self, case: ExchangeCase) -> Iterator[str]:
        need = _NEEDS[case.mode]
        if any(need not in link.variants for link in self._links.values()):
            yield _NOTES[need].format(mode=case.mode)
        beyond = [
            size
            for size in self._sizes(case)
            if any(_variant(link, need).extrapolates(size) for link in self._links.values())
        ]
        if beyond:
            yield f"extrapolated: messages of {max(beyond)} B lie beyond the measured sizes"


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
    return Link(choose(link.send), {way: choose(link.variants[way]) for way in VARIANTS if way in link.variants})


def cost_machine(profile: Profile) -> _core.Machine:
    """Return a profile's links as the cost function takes them."""
    from rankwise import _core

    return _core.Machine({name: _cost_lines(link) for name, link in profile.links.items()})


def _cost_lines(link: Link) -> dict[str, Lines]:
    send = link.send.chosen()
    return {
        "send": _lines(send),
        "ssend": _lines(_variant(link, "ssend").chosen()),
        "exchange": _lines(_variant(link, "exchange").chosen()),
        "exchange-gap": _lines(link.variants["exchange-gap"].chosen())
        if "exchange-gap" in link.variants
        else [(s.from_bytes, s.alpha_s, s.beta_s_per_byte) for s in _without_alpha(send, link.send.alpha_s)],
    }


def _without_alpha(model: LinkModel, alpha_s: float) -> list[Segment]:
    """Return T(m) - T(0): what the bytes alone cost, when no overhead per message was measured."""
    return [
        Segment(segment.from_bytes, segment.to_bytes, max(0.0, segment.alpha_s - alpha_s), segment.beta_s_per_byte)
        for segment in model.segments
    ]


def _lines(model: LinkModel) -> Lines:
    return [(segment.from_bytes, segment.alpha_s, segment.beta_s_per_byte) for segment in model.segments]

