"""Planted clock offsets are found again within what is said of them."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import numpy as np
import pytest

from rankwise.api.advising import _bar
from rankwise.errors import InputError
from rankwise.observe.parts import _EDGES_AT, _REGION, _REGIONS_AT, LAYOUT, aligned, host_offsets, merged
from rankwise.observe.record import EVENT, Record, record_of_events

AHEAD_NS = np.array([0, 5_000_000, -70_000_000, 123_456])


def a_ring(seed: int, cut: bool = False) -> Record:
    """Two ranks on each of four hosts send around rings, in both directions, with
    latencies of 20 to 80 us; clocks are ahead as planted."""
    draw = np.random.default_rng(seed)
    ranks = 8
    node = np.arange(ranks) // 2
    lines: list[list[tuple[int, ...]]] = [[] for _ in range(ranks)]
    for step in range(60):
        for rank in range(ranks):
            for way in (1, -1):
                peer, sent = (rank + way) % ranks, 1_000_000 * step + int(draw.integers(0, 500_000))
                if cut and 3 in (node[rank], node[peer]) and node[rank] != node[peer]:
                    continue
                came = sent + int(draw.integers(20_000, 80_000))
                a, b = AHEAD_NS[node[rank]], AHEAD_NS[node[peer]]
                serial, posted = 2 * step + (way > 0) + 1, 1_000_000 * step - 10
                lines[rank].append((sent + a, sent + 100 + a, 8, peer, way, 0, 0, 0, 2))
                lines[peer].append((posted + b, posted + 5 + b, 8, -1, -1, serial, 0, 1, 1))  # from anyone, as posted
                lines[peer].append((came - 5 + b, came + b, 8, rank, way, serial, 0, 2, 4))
    events = {rank: np.sort(np.array(line, EVENT), order="start_ns") for rank, line in enumerate(lines)}
    windows = [{"rank": rank, "first_call": 0, "first_event": 0, "events": len(line)} for rank, line in enumerate(lines)]
    header = {"calls": ["MPI_Send", "MPI_Irecv", "MPI_Wait"], "windows": windows}
    return record_of_events(events, header, ["a", "b", "c", "d"], node.tolist())


def test_offsets_lie_within_their_uncertainty() -> None:
    for seed in range(5):
        offsets, uncertainty = host_offsets(a_ring(seed))
        assert (uncertainty[1:] < 200_000).all() and uncertainty[0] == 0
        assert (np.abs(offsets - AHEAD_NS) <= uncertainty).all()
        record = aligned(a_ring(seed))
        assert max(record.header["clock_uncertainty_ns"]) < 200_000
        again, _ = host_offsets(record)
        assert np.abs(again).max() < 10


def test_a_host_without_messages_cannot_be_told() -> None:
    record = aligned(a_ring(1, cut=True))
    assert record.header["clock_uncertainty_ns"][3] is None
    assert None not in record.header["clock_uncertainty_ns"][:3]


def test_a_rank_whose_numbers_cannot_be_is_left_out_with_a_note(tmp_path: Path) -> None:
    whole = lzma.decompress((Path(__file__).parents[2] / "fuzz" / "corpus" / "parts" / "two.node.xz").read_bytes())
    page = _REGIONS_AT + _REGION  # of the second rank
    for at, broken in ((8, False), (page + 8, True), (page + _EDGES_AT + 8, True)):  # lock; its rank; messages beyond a partner
        content = bytearray(whole)
        content[at : at + 8] = bytes(8) if at == 8 else b"\xff" * 8
        (tmp_path / "n0.node").write_bytes(content)
        record = merged(tmp_path, {})
        assert record is not None and record.ranks == 2
        assert ("what 1 rank left is damaged and is not in the record" in record.header["notes"]) == broken
        assert ("rank 1 left no record" in record.header["notes"]) == broken
        assert set(record.events) == {0} if broken else {0, 1}


def test_what_another_versions_tracer_left_is_told_so(tmp_path: Path) -> None:
    whole = lzma.decompress((Path(__file__).parents[2] / "fuzz" / "corpus" / "parts" / "two.node.xz").read_bytes())
    older = bytearray(whole)
    for page in (_REGIONS_AT, _REGIONS_AT + _REGION):
        older[page] = LAYOUT - 1
    (tmp_path / "n1.node").write_bytes(older)
    words = f"the tracer on n1 is of another version of rankwise .it writes layout {LAYOUT - 1}, this one reads {LAYOUT}"
    with pytest.raises(InputError, match=words):
        merged(tmp_path, {})
    (tmp_path / "n0.node").write_bytes(whole)
    record = merged(tmp_path, {})
    assert record is not None and set(record.events) == {0, 1} and any(map(re.compile(words).match, record.header["notes"]))


def test_a_share_that_cannot_be_has_a_bar_within_its_line() -> None:
    assert (len(_bar(1e12)), _bar(-1.0)) == (50, "")
