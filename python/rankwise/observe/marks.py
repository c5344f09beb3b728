"""Steps of a program whose messages come in no order (particles, polls): a collective ends each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.epochs import GET, PUT
from rankwise.observe.needs import begun_ns
from rankwise.observe.record import BLOCKING_RECEIVE, BLOCKING_SEND, COLLECTIVE, RECEIVE, SEND

_MOST_MARKS, _LEAST_MARKS = 24, 4  # collectives that may end steps; how often at least
_LEAST_ENDS = 2 / 3  # of them with messages before
_LITTLE, _ALIKE = 0.05, 0.5  # of the mean bytes of a step; of the bytes of a step and the next, for both to be steps
_STAGES_AN_OCTAVE = 16  # of bytes are told apart
_LEAST_COVER = 0.3  # of time, calls and bytes
_MEET = (COLLECTIVE, RECEIVE, BLOCKING_RECEIVE)


def marked(
    events: Mapping[int, Array], at: Array, first: int, cut: Callable[[Array], tuple[Array, Array, bool]]
) -> tuple[float, Array]:
    """Return what share of time, calls and bytes lies in steps that a collective ends, and the cuts; 0 where there is none.

    ``at``: where the first rank's collectives lie. Those alike in call, communicator, root and bytes are a mark. Of the marks
    that cover most of the time, calls and bytes, those are taken between which about as much is sent each time, and of these
    the one with the most steps; of stages that only in turn send as much, the heaviest ends a step. Where next to nothing is
    sent between two, and the first rank does not call what it calls in all others, it is a part of the following step. What
    precedes the first mark is a step as far back as its calls are those of steps.
    """
    own, column = events[first], sorted(events).index(first)
    symbols = _numbers(own)
    order = np.argsort(symbols, kind="stable")
    of_symbol = np.split(order, np.cumsum(np.bincount(symbols))[:-1])
    moved = [
        np.append(0.0, np.cumsum(of_rank["bytes"] * np.isin(of_rank["kind"], (SEND, BLOCKING_SEND, PUT, GET))))
        for _, of_rank in sorted(events.items())
    ]
    until_ns = min((of_rank["end_ns"].max() for of_rank in events.values() if len(of_rank)), default=0)  # of records
    if until_ns <= 0:  # of no clock: no share of the time can be named
        return 0.0, np.array([])
    upto = [int(np.searchsorted(of_rank["start_ns"], until_ns, side="right")) for _, of_rank in sorted(events.items())]
    all_moved = sum(of_rank[end] for of_rank, end in zip(moved, upto, strict=True))
    counts = np.bincount(symbols[at])
    found: list[tuple[float, Array]] = []  # cover, cuts
    for mark in np.argsort(-counts, kind="stable")[:_MOST_MARKS].tolist():
        if counts[mark] <= _LEAST_MARKS:
            break
        places = at[symbols[at] == mark] + 1
        strange = np.flatnonzero(~np.isin(symbols[: places[0]], symbols[places[0] : places[-1]]))
        cuts = cut(np.append(strange[-1] + 1 if len(strange) else 0, places))[1]
        if not len(cuts):
            continue
        sent = np.sum([of_rank[cuts[:, i]] for i, of_rank in enumerate(moved)], axis=0)
        steps = np.diff(sent) > _LITTLE * np.diff(sent).mean()
        begin, end = cuts[np.argmax(steps) :, column][:2]
        light = ~steps
        for one in np.unique(symbols[begin:end][np.isin(own["kind"][begin:end], _MEET)]).tolist():
            made = np.diff(np.searchsorted(of_symbol[one], cuts[:, column])) > 0
            light &= made | ~made[steps].all()
        steps |= light
        if steps.mean() < _LEAST_ENDS:
            continue
        kept = np.append(steps[0], steps)
        cuts, sent = cuts[kept], sent[kept]
        if _alike(np.diff(sent)) < _ALIKE:  # the last of several stages may move as much each time
            whole = _heaviest_stage(np.diff(sent))
            cuts, sent = cuts[whole], sent[whole]
        volume = np.diff(sent)
        if len(volume) >= _LEAST_MARKS - 1 and _alike(volume) >= _ALIKE:
            ends = cuts[[0, -1], column]
            lasted = np.diff(begun_ns(own, ends))[0] / float(until_ns)
            shares = (lasted, np.diff(ends)[0] / upto[column], volume.sum() / max(all_moved, 1.0))
            found.append((float(np.mean(shares)), cuts))
    most = max((cover for cover, _ in found), default=0.0)
    if most < _LEAST_COVER:
        return 0.0, np.array([])
    return max((one for one in found if one[0] >= 0.75 * most), key=lambda one: len(one[1]))


def _alike(volume: Array) -> float:
    """Return the share of the bytes of steps that the next step has in common."""
    return float(np.minimum(volume[1:], volume[:-1]).sum() / max(1.0, np.maximum(volume[1:], volume[:-1]).sum()))


def _heaviest_stage(volume: Array) -> Array:
    """Return the cuts behind stages of about as many bytes as move most in all, and one before the first, as far apart."""
    about = np.round(np.log2(np.maximum(volume, 1.0)) * _STAGES_AN_OCTAVE).astype(int)
    most = np.bincount(about, volume).argmax() if len(about) else 0
    ends = np.flatnonzero(about == most) + 1
    begin = ends[:1] - int(np.median(np.diff(ends))) if len(ends) > 1 else ends[:0]
    return np.append(begin[begin >= 0], ends).astype(int)


def _numbers(events: Array) -> Array:
    """Return a number for each call: of those alike in call and communicator, of collectives in root and bytes, too."""
    whole = events["kind"] == COLLECTIVE
    columns = [events[name].astype(np.int64) for name in ("kind", "call", "comm")]
    columns += [events[name].astype(np.int64) * whole for name in ("peer", "bytes")]
    return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
