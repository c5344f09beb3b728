"""What settings gain an observed program, in short: what 'rankwise advise' says of them."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.collectives.selection import library_to_set, publishes_rules
from rankwise.collectives.written import Library
from rankwise.engines.model import Model
from rankwise.observe.record import Record
from rankwise.observe.steps import Steps
from rankwise.tune.calls import of_record
from rankwise.tune.choice import Gain, together
from rankwise.tune.protocol import chooser_of, words_of
from rankwise.units import format_size, format_time


@dataclass(frozen=True)
class Recommended:
    """The gain of all settings, of a step (or the run, where no step is known), and the collective that gains most."""

    gain: Gain
    why: str


def recommended(record: Record, steps: Steps | None, model: Model) -> Recommended | None:
    """Return what settings gain; None where no collective is called, or the library's rules are not known."""
    library, _ = library_to_set(str(record.header.get("mpi") or ""))
    if library is None:
        return None
    called, _ = of_record(record, steps, timed=not publishes_rules(library))
    if not called:
        return None
    choices = [one for one in chooser_of(Library(library), model.profile).choose(called) if not one.is_left]
    each = [(one, one.gain.times(one.in_run if one.in_step is None else one.in_step)) for one in choices]
    each = [(one, gain) for one, gain in each if gain.s > 0]
    if not each:
        return Recommended(Gain(0.0, 0.0, 0.0), "")
    best, _ = max(each, key=lambda pair: pair[1].s)
    return Recommended(
        together(gain for _, gain in each),
        f"a {best.kind} of {format_size(best.size_bytes)} takes {format_time(best.now_s)} as {library} selects "
        f"({best.selected.name}); {words_of(best)} takes {format_time(best.new_s)}",
    )  # fmt: skip
