"""Message sizes are counted by powers of two; eager and rendezvous are told by sends whose receives are posted late."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from rankwise.observe.record import HISTOGRAM_BINS, Record, read_record
from rankwise.observe.sizes import message_sizes
from synthetic_events import Op, simulate

LIMIT = 4096


def record_of(counts: dict[int, int]) -> Record:
    histogram = np.zeros((1, HISTOGRAM_BINS), "<u4")
    for number, count in counts.items():
        histogram[0, number] = count
    nothing = np.zeros(1, "<i4")
    return Record({}, 1, ("a",), nothing, nothing, nothing, np.array([0, 1]), nothing, nothing, nothing, nothing, histogram)


def late_receiver(sizes: list[int]) -> list[list[Op]]:
    """Return a sender and a receiver that posts each receive 50 us after the send began."""
    sender: list[Op] = []
    receiver: list[Op] = []
    for size in sizes:
        sender += [("send", 1, 0, size), ("recv", 1, 1)]
        receiver += [("compute", 50_000), ("recv", 0, 0), ("send", 0, 1, 8)]
    return [sender, receiver]


def test_protocols_are_told_by_late_receivers() -> None:
    events = simulate(late_receiver([100, 1000, 8000, 16000] * 4), rendezvous_bytes=LIMIT)
    sizes = message_sizes(record_of({10: 8, 13: 4, 14: 4, 7: 1, 0: 3, 1: 2, 31: 1}), events)
    assert (sizes.eager_bytes, sizes.rendezvous_bytes) == (1000, 8000)
    assert [one.words for one in sizes.classes] == [
        "0 B", "1 B", "64 to 128 B", "512 B to 1 KiB", "4 to 8 KiB", "8 to 16 KiB", "1 GiB and more",
    ]  # fmt: skip
    assert sizes.words.startswith("0 B 13 %, 512 B to 1 KiB 35 %, 4 to 8 KiB 17 %, 8 to 16 KiB 17 %, others 17 %; ")
    assert sizes.words.endswith("; eager up to 1000 B, rendezvous from 8000 B on")
    crowded = replace(record_of({7: 1}), header={"cores_of_host": [0.5]})
    assert message_sizes(crowded, events).rendezvous_bytes is None


def test_nothing_is_told_where_receives_are_posted_first() -> None:
    events = simulate([[("irecv", 1, 0)] * 4 + [("waitall",)], [("compute", 9000), *([("send", 0, 0, 100)] * 4)]])
    sizes = message_sizes(record_of({7: 4}), events)
    assert sizes.words == "64 to 128 B 100 %"
    assert (sizes.eager_bytes, sizes.rendezvous_bytes, sizes.protocol) == (None, None, "")


def test_the_sizes_of_a_program_are_those_of_its_messages() -> None:
    """LULESH with 4 elements a side: corners of 8 or 3 x 8 B, edges of 4 to 5, faces of 16 to 25."""
    found = read_record(Path(__file__).parent / "programs" / "lulesh.comm")
    classes = message_sizes(found, {}).classes
    assert sum(one.messages for one in classes) == int(found.messages.sum())
    assert classes[0].least_bytes == 8 and classes[-1].most_bytes == 2047
