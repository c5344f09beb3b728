"""The model engine: prices the programs of all workloads by the judge, with a profile's link times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from rankwise import _core
from rankwise.engines.injection import bounded
from rankwise.engines.judge import judge
from rankwise.engines.placement import Location, Placement
from rankwise.errors import InputError
from rankwise.machine.link import Curve
from rankwise.machine.profile import VARIANTS, Link, Profile
from rankwise.workloads.base import Case, Price, Program, Row, Span
from rankwise.workloads.exchange import ExchangeCase

_NOTES = {
    "ssend": "the profile has no synchronous ping-pong: ssend is costed as a plain send",
    "exchange": "the profile has no overlap of both directions: {mode} is costed as full overlap (an optimist's bound)",
    "exchange-gap": "the profile has no sender's share: a sender is busy for the bytes alone",
}
_NEEDS = {
    "ssend": "ssend", "send": "exchange-gap", "isend": "exchange", "isend-self": "exchange", "persistent": "exchange",
}  # fmt: skip


class Model:
    """Predicts cases of any workload from a profile.

    ``link_model`` overrides the model that the profile chose for its links; ``loaded`` takes the parameters that were
    measured beside background traffic.
    """

    name = "model"

    def __init__(self, profile: Profile, link_model: str | None = None, loaded: bool = False) -> None:
        """Raises InputError when the profile does not have the link model, or nothing measured beside traffic."""
        self.profile = profile
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
        self._width_of: dict[tuple[str, int], float] = {}

    def rows(self, cases: Sequence[Case], placement: Placement) -> list[Row]:
        """Return one row a case. Raises InputError when the profile lacks a link class that the placement needs."""
        pricer = _Pricer(self, placement)
        return [pricer.row(case) for case in cases]

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


class _Pricer:
    """The model on ranks that are placed: what a case is given to be priced by."""

    def __init__(self, model: Model, placement: Placement) -> None:
        self.profile = model.profile
        self._model = model
        self._placement = placement

    def row(self, case: Case) -> Row:
        row = case.predict(self)
        # Until the judge knows what the ranks of a node share.
        return bounded(row, case, self.profile, self._placement.of(case)) if isinstance(case, ExchangeCase) else row

    def price(
        self, case: Case, program: Program, block_bytes: int, members: Callable[[int], bool] | None = None
    ) -> Price:
        """Price a program among the ranks of a case that are ``members`` of it (None: all)."""
        locations: Sequence[Location] = self._placement.of(case)
        if members is not None:
            locations = [location for rank, location in enumerate(locations) if members(rank)]
        cost = judge(program, block_bytes, locations, self._model.machine)
        sizes = message_sizes(program.message_blocks, block_bytes)
        span = Span(cost.time_s, *self._model.interval(program.mode, cost.time_s, sizes))
        notes = (*program.notes, *self._model.notes(program.mode, sizes))
        return Price(span, cost.messages_per_rank, cost.bytes_per_rank, notes)


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
