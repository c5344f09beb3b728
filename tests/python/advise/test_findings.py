"""What is advised of programs whose truth is known: rings whose ranks sit apart, or one of which is slow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from observed_rings import HOSTS, PROFILE, RANKS, SIZE, STEPS, link, record_of
from rankwise.advise import findings
from rankwise.advise.evidence import evidence_of
from rankwise.advise.findings import CROWDED, PLACEMENT, SENDING, WAITING, Advice, Finding, Question, advise, start_of
from rankwise.api.map_blocks import traffic_words
from rankwise.engines.model import Model
from rankwise.machine.profile import Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.mapping import How
from rankwise.mapping.levels import Above
from rankwise.observe.record import TIME_ONLY, Record
from rankwise.report import advice_page
from rankwise.units import format_time
from synthetic_events import Op, ring


def advice_of(record: Record, on: Profile | None = PROFILE, sizes: Sequence[int] = (2, 2, 2, 2)) -> Advice:
    question = Question(sizes, HOSTS[: len(sizes)], None if on is None else Model(on))
    return advise(evidence_of(record, "app.comm"), question)


def test_a_ring_dealt_out_cyclically_is_placed_by_a_file() -> None:
    record = record_of(ring(RANKS, STEPS, 100_000, SIZE), [rank % 4 for rank in range(RANKS)])
    advice = advice_of(record)
    first = advice.findings[0]
    # All 16 messages of a step cross; of pairs of neighbours on a node, 8.
    assert (advice.headroom.now_bytes, advice.headroom.best_bytes) == (16 * SIZE, 8 * SIZE)
    assert first.kind == PLACEMENT and "1.6 MB" in first.why and "-50 %" in first.why
    assert (advice.headroom.floor_bytes, advice.headroom.floor_by) == (8 * SIZE, "partners")
    # A card of 1e8 bytes/s passes 400 kB of a node in 4 ms, then 200 kB; no more is gained than the time spent at moving.
    assert advice.headroom.now_s == pytest.approx(4e-3, rel=0.05) and advice.headroom.best_s == pytest.approx(2e-3, rel=0.05)
    assert (
        advice.headroom.floor_s == pytest.approx(advice.headroom.best_s, rel=0.05) and advice.headroom.floor_s_by == "card-out"
    )
    assert advice.headroom.words("step").startswith("800 kB is optimal: no placement sends fewer bytes between nodes; at most ")
    moving_s = float(advice.evidence.shares.moving_s.mean())
    assert first.gain_s == pytest.approx(min(moving_s, 2e-3), rel=0.1)
    assert first.gain_lo_s is not None and first.gain_hi_s is not None and first.gain_lo_s <= first.gain_s <= first.gain_hi_s
    assert first.command == "rankwise try app.comm -- mpiexec -n 8 './a b'"
    assert advice.headline.startswith("Place the ranks by a rank file: a step ")
    # The events' messages are quicker than those of the profile.
    longer = [note for note in advice.notes if note.startswith("predicted message time 4") and "exceeds the step of" in note]
    assert len(longer) == 1 and "messages overlapped computing, or the links" in longer[0]
    assert longer[0].endswith(f"gains are capped at {format_time(moving_s)} of transfer")
    slower = record_of(ring(RANKS, STEPS, 10_000_000, SIZE), [rank % 4 for rank in range(RANKS)])
    assert not any("exceeds the step" in note for note in advice_of(slower).notes)


def test_what_is_placed_well_has_nothing_to_gain() -> None:
    advice = advice_of(record_of(ring(RANKS, STEPS, 100_000, SIZE), [rank // 2 for rank in range(RANKS)]))
    assert not any(finding.kind == PLACEMENT for finding in advice.findings)
    assert "no placement that was found sends fewer bytes between nodes" in advice.nothing
    room = advice.headroom
    assert room.to_best_s == (0, 0, 0) and room.to_floor_s is not None
    assert room.to_floor_s[2] < 0.1 * room.now_s  # type: ignore[operator]
    assert replace(advice, findings=()).headline.startswith(
        "Nothing to gain: 800 kB is optimal: no placement sends fewer bytes between nodes."
    )


def test_a_gain_within_the_error_of_the_prediction_is_none() -> None:
    """Half the bytes would stay in the nodes, where messages take a tenth less: less than such times are known to."""
    links = {"same-socket": link(9e-4, 9e-10), "other-node": link(1e-3, 1e-9)}
    profile = Profile({}, links, "", {}, shared=Shared(card=Resource(1e10)))
    advice = advice_of(record_of(ring(RANKS, STEPS, 100_000, SIZE), [rank % 4 for rank in range(RANKS)]), profile)
    assert not advice.findings
    assert advice.headline.startswith(
        "Nothing to gain: another placement gains no more than the prediction's error (800 kB of 1.6 MB"
    )


def test_one_node_has_no_other_placement() -> None:
    advice = advice_of(record_of(ring(RANKS, STEPS, 100_000, SIZE), [0] * RANKS), sizes=(8,))
    assert advice.nothing[0].startswith("all ranks are on one node")


def _slow(slow: int) -> Callable[[int, int], int]:
    return lambda rank, step: 3_000_000 if rank == slow else 100_000


def test_a_slow_rank_is_named_with_what_it_costs() -> None:
    advice = advice_of(record_of(ring(RANKS, STEPS, _slow(5), 1000), [rank // 2 for rank in range(RANKS)]))
    (late,) = [finding for finding in advice.findings if finding.kind == WAITING]
    assert late.what == "Rank 5 delays the others" and "on n3" in late.why and "it computes 3.00 ms a step" in late.why
    # Seven of eight wait 2.9 ms a step.
    assert late.gain_s == pytest.approx(2.9e-3 * 7 / 8, rel=0.15)
    shares = advice.evidence.shares
    assert np.allclose(shares.computing_s + shares.moving_s + shares.waiting_s, shares.total_s)


def test_more_ranks_than_cores_come_first() -> None:
    record = record_of(ring(RANKS, STEPS, _slow(5), 1000), [rank % 4 for rank in range(RANKS)])
    advice = advice_of(replace(record, header={**record.header, "cores_of_host": [1, 4, 4, 4]}))
    assert (
        advice.findings[0].what == "Run at most one rank per core"
        and "2 ranks ran on the 1 cores of n1" in advice.findings[0].why
    )
    assert not any(finding.kind == WAITING for finding in advice.findings)


def test_many_small_messages_are_merged() -> None:
    advice = advice_of(record_of(_fields(10), [rank // 2 for rank in range(RANKS)]))
    merged = [finding for finding in advice.findings if finding.kind == SENDING and finding.what.startswith("Merge")]
    assert merged and merged[0].gain_s is not None and merged[0].gain_s > 0


def _fields(count: int) -> list[list[Op]]:
    """A ring that sends so many fields one after the other to each side."""
    programs: list[list[Op]] = []
    for rank in range(RANKS):
        left, right = (rank - 1) % RANKS, (rank + 1) % RANKS
        step = [
            (kind, *ends)
            for tag in range(2, 2 + count)
            for kind, ends in (
                ("irecv", (left, tag)),
                ("irecv", (right, tag + 100)),
                ("isend", (right, tag, 64)),
                ("isend", (left, tag + 100, 64)),
                ("waitall", ()),
            )
        ]
        programs.append([*step, ("compute", 10_000)] * STEPS)
    return programs  # fmt: skip


def _by_axis(packing_ns: int, last: tuple[Op, ...] = ()) -> list[list[Op]]:
    """A torus of 4 x 2 whose ranks exchange with one neighbour after the other, and compute 0.1 ms."""
    programs: list[list[Op]] = []
    for rank in range(RANKS):
        x, y = divmod(rank, 2)
        east, west, other = (x + 1) % 4 * 2 + y, (x - 1) % 4 * 2 + y, 2 * x + 1 - y
        step: list[Op] = [("sendrecv", east, west, 1, SIZE), ("compute", packing_ns), ("sendrecv", west, east, 2, SIZE)]
        step += [("compute", packing_ns), ("sendrecv", other, other, 3, SIZE), *last, ("compute", 100_000)]
        programs.append(step * STEPS)
    return programs


def _at_once(programs: list[list[Op]]) -> list[Any]:
    advice = advice_of(record_of(programs, [rank // 2 for rank in range(RANKS)]))
    return [finding for finding in advice.findings if finding.what.endswith("at once that follow one another")]


def test_exchanges_in_a_row_could_be_in_flight_at_once() -> None:
    (finding,) = _at_once(_by_axis(1000))
    # Within a node and between them the last exchange takes nothing beside the first two, whose cards send both ways at once.
    assert finding.what.startswith("Send 3 exchanges ") and finding.kind == SENDING
    assert finding.gain_lo_s <= finding.gain_s <= finding.gain_hi_s and finding.gain_s > 0
    assert "Only where no message carries on" in finding.why
    assert finding.command == "MPI_Irecv of all, MPI_Isend of all, one MPI_Waitall, instead of call 5"


def test_exchanges_with_work_or_a_collective_between_them_stay_apart() -> None:
    assert not _at_once(_by_axis(100_000))
    (finding,) = _at_once(_by_axis(1000, (("allreduce", 8),)))
    assert finding.what.startswith("Send 3 exchanges ")


def test_without_a_profile_bytes_are_told_and_seconds_asked_for() -> None:
    advice = advice_of(record_of(ring(RANKS, STEPS, 100_000, SIZE), [rank % 4 for rank in range(RANKS)]), on=None)
    assert advice.headline == "Place the ranks by a rank file: 50 % fewer bytes between nodes."
    assert advice.findings[0].gain_s is None and not advice.notes
    record = advice.to_dict()
    assert {"what", "why", "gain_s", "gain_lo_s", "gain_hi_s", "command"} <= set(record["findings"][0])
    assert record["headroom"]["now_bytes"] == 16 * SIZE and record["per"] == "step" and len(record["placement"]) == RANKS


def test_a_gain_between_switches_alone_is_told_as_one() -> None:
    record = record_of(ring(RANKS, STEPS, 100_000, SIZE), [rank // 2 for rank in range(RANKS)])
    above = (Above("switch", (0, 1, 0, 1), 5),)  # neighbours in the ring of nodes are never below one switch
    question = Question((2, 2, 2, 2), HOSTS[:4], how=How(above=above))
    advice = advise(evidence_of(record, "app.comm"), question)
    assert advice.headline == "Place the ranks by a rank file: 50 % fewer bytes between switches."
    assert advice.findings[0].why.startswith("800 kB a step between switches, then 400 kB (-50 %)")
    assert "-0 %" not in advice.findings[0].why and "between nodes" not in advice.findings[0].why
    assert "sends 50 % fewer bytes between switches" in advice_page.render(advice, HOSTS[:4], None)


def test_where_the_search_for_a_step_is_given_up_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankwise.observe.steps.MOST_SECONDS", -1.0)
    evidence = evidence_of(record_of(ring(RANKS, STEPS, 100_000, SIZE), [0] * RANKS), "app.comm")
    assert evidence.per == "run" and evidence.notes == ("no step found within 20 s: times are of the whole run",)


def test_of_two_ranks_the_other_one_is_told() -> None:
    """Their median is the computing of neither."""
    programs = ring(2, STEPS, lambda rank, step: 4_850_000 if rank else 1_620_000, SIZE)
    advice = advice_of(record_of(programs, [0, 1]), sizes=(1, 1))
    (finding,) = [one for one in advice.findings if one.kind == WAITING]
    assert finding.what == "Rank 1 delays the others"
    assert finding.why.startswith("it computes 4.85 ms a step, the other rank 1.62 ms; that causes ")


def test_what_leaves_the_busiest_node_is_told_where_nothing_else_is_less() -> None:
    """As much crosses between nodes as before: a gain of 0 % would be none."""
    programs: list[list[Op]] = [[] for _ in range(6)]
    for _ in range(STEPS):
        for source, dest in ((0, 1), (3, 1), (0, 3)):
            programs[source].append(("isend", dest, 1, 1000))
            programs[dest].append(("irecv", source, 1))
        for program in programs:
            program += [("waitall",), ("compute", 1000), ("allreduce", 8)]
    advice = advice_of(record_of(programs, [0, 2, 0, 2, 1, 1]), None, (2, 2, 2))
    assert advice.headline == "Place the ranks by a rank file: 50 % fewer bytes out of the busiest node."
    assert advice.findings[0].why == "the busiest node sends 2 kB, then 1 kB"
    words = traffic_words(advice.evidence.traffic, advice.mappings, list(advice.mappings.results), start_of(advice.mappings))
    assert ": 1 kB out of the busiest node instead of 2 kB as observed (-50.0 %)" in words


def test_other_nodes_than_the_crowded_ones_are_answered_first_and_in_bytes() -> None:
    record = record_of(ring(RANKS, STEPS, 100_000, SIZE), [rank % 4 for rank in range(RANKS)])
    record.header["cores_of_host"] = [1] * 4
    crowded = advice_of(record)
    assert (
        crowded.headline == "No advice yet: 2 ranks ran on the 1 cores of n1, so they mostly waited for a core."
        and crowded.headroom.now_s is None
    )
    assert any(note.startswith("seconds are not predicted: 2 ranks ran on the 1 cores of n1") for note in crowded.notes)
    elsewhere = advice_of(record, sizes=(4, 4))
    assert elsewhere.findings[-1].kind == CROWDED or not elsewhere.findings[:-1]


def test_a_profile_without_links_between_nodes_is_answered_in_bytes() -> None:
    record = record_of(ring(RANKS, STEPS, 100_000, SIZE), [rank % 4 for rank in range(RANKS)])
    alone = replace(PROFILE, links={"same-socket": link(1e-6, 1e-10)})
    advice = advice_of(record, alone)
    assert advice.headline == "Place the ranks by a rank file: 50 % fewer bytes between nodes."
    assert any("seconds are not predicted: the profile has no link class other-node" in note for note in advice.notes)


def test_threads_are_named_where_no_step_is_found() -> None:
    record = record_of([[("send", 1, 1, 8)], [("recv", 0, 1)]], [0, 0])
    for threaded, words in ((False, "ranks: "), (True, "ranks (several threads may call MPI at once, whose calls mix): ")):
        record.header["threaded"] = threaded
        assert evidence_of(record, "a").notes == (f"no step repeats on all {words}times are of the whole run",)


def test_that_one_sided_traffic_is_not_in_the_step_is_told() -> None:
    record = record_of(ring(4, STEPS, 100_000, SIZE), [0] * 4)
    assert not any("one-sided" in note for note in evidence_of(record, "a").notes)
    record.header["calls"][10] = "MPI_Put"
    for events in record.events.values():  # as older records have such calls: without a target
        last = events[-1:].copy()
        last["call"], last["kind"], last["peer"], last["request"] = 10, TIME_ONLY, -1, 0
        events[-1:] = last
    assert any("one-sided is not in the step" in note for note in evidence_of(record, "a").notes)


@pytest.mark.parametrize(
    ("kind", "shares", "poor", "is_told"),
    [
        (PLACEMENT, (0.3, 0.2, 0.4), False, True),
        (PLACEMENT, (0.3, 0.2, 0.4), True, False),
        (SENDING, (0.3, 0.2, 0.4), True, False),
        (WAITING, (0.3, 0.2, 0.4), True, True),  # what was observed is no matter of the profile
        (SENDING, (1.65, 0.9, 2.5), False, False),  # 637 us of a step of 385 us
        (PLACEMENT, (0.97, 0.5, 1.0), False, False),  # 2 to 1000 times as fast
    ],
)
def test_gains_that_cannot_be_are_unknown(
    monkeypatch: pytest.MonkeyPatch, kind: str, shares: tuple[float, float, float], poor: bool, is_told: bool
) -> None:
    evidence = evidence_of(record_of(ring(RANKS, STEPS, 100_000, SIZE), [rank % 4 for rank in range(RANKS)]), "app.comm")
    gains = [share * evidence.time_s for share in shares]
    made = Finding(kind, "Do it", "so", *gains, "do")
    monkeypatch.setattr(findings, "_placement", lambda *given: made)
    advice = advise(evidence, Question((2, 2, 2, 2), HOSTS[:4], Model(PROFILE), poor=poor))
    told = next(one for one in advice.findings if one.what == "Do it")
    assert (told.gain_s is not None) == is_told
    assert ("times as fast" in findings.gain_in_words(told, evidence)) == is_told
    assert not poor or all(one.kind != SENDING or one is told for one in advice.findings)
