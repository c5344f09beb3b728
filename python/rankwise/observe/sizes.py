"""How large a program's messages are, and from which size on its MPI let senders wait for receivers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwise.arrays import Array
from rankwise.observe.record import HISTOGRAM_BINS, Record
from rankwise.observe.summary import crowded_host
from rankwise.observe.waits import waits_of_calls
from rankwise.records import Record as JsonRecord
from rankwise.records import key, record
from rankwise.units import format_share, format_size

_LEAST_SEEN = 3  # sends that waited, for a size to be sent by rendezvous
_MOST_SHOWN = 4


@record
class SizeClass(JsonRecord):
    """Messages of about one size."""

    least_bytes: int = key("the smallest size that it counts")
    most_bytes: int | None = key("the largest; null: there is none")
    messages: int = key("how many messages, of all ranks together")

    @property
    def words(self) -> str:
        """The class as a range: ``4 to 8 KiB``, ``0 B``."""
        if self.most_bytes is None:
            return f"{format_size(self.least_bytes)} and more"
        if self.most_bytes <= 1:
            return f"{self.most_bytes} B"
        low, high = format_size(self.least_bytes), format_size(self.most_bytes + 1)
        return f"{low.split(' ')[0] if low.split(' ')[1] == high.split(' ')[1] else low} to {high}"


@record
class MessageSizes(JsonRecord):
    """The messages of a run by size, and how the MPI sent them, as far as sends before their receives show."""

    classes: tuple[SizeClass, ...] = key("messages by size, powers of two")
    eager_bytes: int | None = key(
        "largest message whose send ended before its receive was posted; null: none was seen", default=None
    )
    rendezvous_bytes: int | None = key(
        "smallest size from which on sends waited until their receive was posted; null: none was seen", default=None
    )

    @property
    def words(self) -> str:
        """The classes with most: ``1 to 2 KiB 60%, 32 to 64 KiB 37%; eager up to 8 KiB, rendezvous from 64 KiB on``."""
        total = sum(one.messages for one in self.classes)
        most = sorted((one for one in self.classes if one.messages >= 0.005 * total), key=lambda one: -one.messages)
        shown = sorted(most[:_MOST_SHOWN], key=lambda one: one.least_bytes)
        words = [f"{one.words} {format_share(one.messages / total)}" for one in shown]
        if (rest := total - sum(one.messages for one in shown)) > 0:
            words.append(f"others {format_share(max(0.01, rest / total))}")
        return "; ".join([", ".join(words), *([self.protocol] if self.protocol else [])])

    @property
    def protocol(self) -> str:
        """What was seen of the MPI's protocols; empty: nothing."""
        parts = [] if self.eager_bytes is None else [f"eager up to {format_size(self.eager_bytes)}"]
        parts += [] if self.rendezvous_bytes is None else [f"rendezvous from {format_size(self.rendezvous_bytes)} on"]
        return ", ".join(parts)


def message_sizes(record: Record, events: Mapping[int, Array]) -> MessageSizes:
    """Return the sizes of a record's messages, and the protocols that these events (of all ranks, between cuts) show."""
    counts = record.histogram.sum(axis=0, dtype=np.int64).tolist()
    classes = [
        SizeClass(1 << number - 1 if number else 0, None if number == HISTOGRAM_BINS - 1 else (1 << number) - 1, count)
        for number, count in enumerate(counts)
        if count
    ]
    return MessageSizes(tuple(classes), *_protocols(events, crowded_host(record) is not None))


def _protocols(events: Mapping[int, Array], crowded: bool) -> tuple[int | None, int | None]:
    """Return the largest size of a send that ended before its receive was posted, and the smallest above it of several that
    waited for theirs, if each rank had a core."""
    found = waits_of_calls(events)
    early, waited = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for rank, mine in found.sends.by_rank(found.calls):
        calls = found.calls[rank]
        where = calls.waits_in[found.sends.position[mine]]
        mine, where = mine[where >= 0], where[where >= 0]
        size, posted = events[rank]["bytes"][found.sends.position[mine]], found.receives.posted[mine]
        early.append(size[calls.end[where] < posted])
        waited.append(size[calls.sends_only[where] & (calls.start[where] < posted) & (posted <= calls.end[where])])
    eager = max(np.concatenate(early).tolist(), default=None)
    if crowded:  # a sender that waits for a core looks like one that waits for its receiver
        return eager, None
    sizes, seen = np.unique(np.concatenate(waited), return_counts=True)
    above = sizes[(seen >= _LEAST_SEEN) & (sizes > (-1 if eager is None else eager))]
    return eager, int(above[0]) if len(above) and eager is not None else None
