"""Werner et al. 2023, the paper's own question: from which cutoff on does Team Shift beat the Shift on JURECA?

Answered from Table 1 alone, by the judge of all verbs, for 64 boxes in a row. Both are priced alike, in three orders of
sending: in turns (a rank sends or receives, sections 4.1 and 4.2: what ssend does in the paper), with receives posted first (a
rank sends and receives at once, Eq. 1 undoubled), and both directions of a hop together (section 6.2.1). Teams are read in two
ways: pooled (64 ranks, a team shares its ranks' boxes) and replicated (64 boxes, c ranks a box).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from rankwise.blocks import Column, Table
from rankwise.engines.predict import predict_rows
from rankwise.machine.profile import Profile
from rankwise.records import Interval, Record, computed, key, record, told
from rankwise.report.reproduction import Section
from rankwise.units import format_size, format_time
from rankwise.workloads.base import Span
from rankwise.workloads.exchange import Asked, make_cases

BOXES = 64
CUTOFFS = range(1, 11)
TEAMS = (2, 4)
READINGS = ("pooled", "replicated")
_AS_LONG_S = 1e-12  # times that differ by less are the same but for rounding
ORDERS = {
    "in turns": ("shift", "ssend"),
    "receives posted first": ("shift-posted", "ssend"),
    "both directions together": ("shift", "isend"),
}


@record
class Duel(Record):
    """The Shift against the best team size, for one order, reading, block size and cutoff."""

    order: str = key("order of sending")
    reading: str = key("how teams are read: pooled or replicated")
    message_bytes: int = key("size of a box's block")
    cutoff: int = key("layers of neighbours, k")
    shift: Span
    team: Span
    shift_s = computed("predicted time of the Shift", float, lambda duel: duel.shift.time_s)
    shift_ci_s = computed("", Interval, lambda duel: duel.shift.ends_s)
    team_shift_s = computed("predicted time of Team Shift", float, lambda duel: duel.team.time_s)
    team_shift_ci_s = computed("", Interval, lambda duel: duel.team.ends_s)
    replication: int = key("ranks of a team, the better of 2 and 4")

    @property
    @told("which is faster: shift or team-shift")
    def faster(self) -> str:
        return "team-shift" if self.team.time_s < self.shift.time_s - _AS_LONG_S else "shift"

    intervals_overlap = computed("whether the intervals of both meet", bool, lambda duel: not duel.apart)

    @property
    def apart(self) -> bool:
        """Whether the two intervals do not meet."""
        return self.team.ends_s[1] < self.shift.ends_s[0] or self.shift.ends_s[1] < self.team.ends_s[0]

    @property
    def mark(self) -> str:
        """S or T, who is faster; in small letters where the intervals overlap."""
        letter = "T" if self.faster == "team-shift" else "S"
        return letter if self.apart else letter.lower()


@record
class Crossover(Record):
    """From which cutoff on Team Shift is faster than the Shift."""

    order: str = key("order of sending")
    reading: str = key("how teams are read: pooled or replicated")
    message_bytes: int = key("size of a box's block")
    first: int | None = key("least cutoff at which Team Shift is faster; null: at none up to 10")
    always: int | None = key("least cutoff from which on it stays faster, up to 10; null: none")
    surely: int | None = key("the same, faster beyond both intervals; null: none")


@record
class Tradeoff(Record):
    """Team Shift against the Shift."""

    boxes = computed("boxes in a row", int, lambda _: BOXES)
    crossovers = computed("where Team Shift takes over", Sequence[Crossover], lambda of: crossovers(of.rows))
    rows: Sequence[Duel] = key("both by order, reading, size and cutoff")


def duels(profile: Profile, sizes: Sequence[int]) -> list[Duel]:
    """Price both for every order, reading, size and cutoff from 1 to 10, on the profile's links."""
    found = []
    for order, (algorithm, mode) in ORDERS.items():
        shifts = _times(profile, algorithm, mode, sizes, None, "pooled")
        for reading in READINGS:
            teams = {c: _times(profile, "team-shift", mode, sizes, c, reading) for c in TEAMS}
            for size, k in product(sizes, CUTOFFS):
                priced = {c: times[size, k] for c, times in teams.items()}
                if order == "in turns":
                    alone_s = profile.links["other-node"].send.time_s(size)
                    priced = {c: _in_turns(time, reading, c, alone_s) for c, time in priced.items()}
                best = min(priced, key=lambda c: priced[c].time_s)
                found.append(Duel(order, reading, size, k, shifts[size, k], priced[best], best))
    return found


def crossovers(found: Sequence[Duel]) -> list[Crossover]:
    """Find from where on Team Shift is faster, by order, reading and size."""
    groups: dict[tuple[str, str, int], list[Duel]] = {}
    for duel in found:
        groups.setdefault((duel.order, duel.reading, duel.message_bytes), []).append(duel)
    result = []
    for (order, reading, size), group in groups.items():
        wins = [duel.cutoff for duel in group if duel.faster == "team-shift"]
        losses = [duel.cutoff for duel in group if duel.faster == "shift"]
        open_ = [duel.cutoff for duel in group if not (duel.faster == "team-shift" and duel.apart)]
        last = max(CUTOFFS)
        result.append(Crossover(order, reading, size, min(wins, default=None), _after(losses, last), _after(open_, last)))
    return result


def section(found: Sequence[Duel]) -> Section:
    """The part of the page: the answer, the map, and where Team Shift takes over."""
    return Section.of("tradeoff", "From which cutoff on Team Shift wins", *paragraphs(found), _map(found), _table(found))


def paragraphs(found: Sequence[Duel]) -> tuple[str, ...]:
    """Say what the duels come to; every figure is taken from them."""
    said = [
        "The paper asks for the tradeoff points and leaves them to a Team Shift model. Table 1 is enough for one: the "
        f"schedules of both, walked by the same judge, for {BOXES} boxes in a row. Like is compared with like: in turns, a "
        "message that is sent and one that is received in the same step take two, of both; with receives posted first, one, "
        "of both; and with both directions together the Shift alone gains, since blocks of teams travel one way."
    ]
    said += [f"{order.capitalize()}: {sentence(found, order)}" for order in ORDERS]
    return tuple(said)


def sentence(found: Sequence[Duel], order: str) -> str:
    """Say from which cutoff on Team Shift is faster in one order, for both readings, and where it is sure."""
    parts = []
    for reading in READINGS:
        cases = [c for c in crossovers(found) if c.order == order and c.reading == reading]
        always, surely = [c.always for c in cases], [c.surely for c in cases]
        sure = f"at no cutoff up to {max(CUTOFFS)} beyond both intervals"
        if any(surely):
            sure = f"beyond both intervals {_from(surely)}"
        parts.append(f"{reading} teams win {_from(always)}, {sure}")
    return "; ".join(parts) + "."


def _times(
    profile: Profile, algorithm: str, mode: str, sizes: Sequence[int], replication: int | None, reading: str
) -> Mapping[tuple[int, int], Span]:
    replications = None if replication is None else [replication]
    asked = Asked([algorithm], [mode], list(CUTOFFS), sizes, replications=replications, team_boxes=reading)
    cases = make_cases(asked, [BOXES], [True])
    rows = predict_rows(profile, cases)
    return {
        (case.message_bytes, case.cutoff): Span(row.time_s, row.time_lo_s, row.time_hi_s)
        for case, row in zip(cases, rows, strict=True)
    }


def _in_turns(time: Span, reading: str, replication: int, alone_s: float) -> Span:
    """A team's round where a rank sends or receives: each of its exchanges takes two; what goes down a tree goes one way."""
    if reading == "pooled":
        return time.scaled(2)
    tree_s = 2 * math.log2(replication) * alone_s  # there and back
    return time.scaled(2 - tree_s / time.time_s)


def _after(cutoffs: Sequence[int], last: int) -> int | None:
    first = max(cutoffs, default=0) + 1
    return first if first <= last else None


def _from(cutoffs: Sequence[int | None]) -> str:
    known = [k for k in cutoffs if k is not None]
    if not known:
        return "at no cutoff for good"
    span = f"from k = {min(known)} on" if min(known) == max(known) else f"from k = {min(known)} to {max(known)} on (by size)"
    return span if len(known) == len(cutoffs) else f"{span} for {len(known)} of {len(cutoffs)} sizes"


def _map(found: Sequence[Duel]) -> Table[Any]:
    groups: dict[tuple[str, str, int], dict[int, str]] = {}
    for duel in found:
        groups.setdefault((duel.order, duel.reading, duel.message_bytes), {})[duel.cutoff] = duel.mark

    def mark(k: int) -> Column[tuple[str, str, int]]:
        return Column(f"k = {k}", lambda key: groups[key][k], key=f"k_{k}")

    columns: Sequence[Column[tuple[str, str, int]]] = (
        Column("order", lambda key: key[0], key="order"),
        Column("teams", lambda key: key[1], key="teams"),
        Column("block", lambda key: key[2], format_size, "message_bytes"),
        *map(mark, CUTOFFS),
    )
    caption = (
        "Who is faster on JURECA: S the Shift, T Team Shift with the better of 2 and 4 ranks a team; a small letter where the "
        "intervals of both overlap (the band)."
    )
    return Table(columns, list(groups), name="tradeoff", caption=caption)


def _table(found: Sequence[Duel]) -> Table[Crossover]:
    at_five = {(d.order, d.reading, d.message_bytes): d for d in found if d.cutoff == 5}

    def five(crossover: Crossover) -> Duel:
        return at_five[crossover.order, crossover.reading, crossover.message_bytes]

    def team(duel: Duel) -> str:
        return f"{format_time(duel.team.time_s)} (c = {duel.replication})"

    columns: Sequence[Column[Crossover]] = (
        Column("order", "order"),
        Column("teams", "reading", key="teams"),
        Column("block", "message_bytes", format_size),
        Column("first faster", "first"),
        Column("from there on", "always"),
        Column("beyond intervals", "surely"),
        Column("Shift at k = 5", lambda crossover: five(crossover).shift.time_s, format_time, "shift_k5_s"),
        Column("Team Shift at k = 5", five, team),
        Column(None, lambda crossover: five(crossover).team.time_s, key="team_shift_k5_s"),
    )
    caption = (
        "The least cutoff at which Team Shift is faster, from which on it stays so up to 10, and from which on the intervals "
        "part."
    )
    return Table(columns, crossovers(found), name="crossovers", caption=caption)
