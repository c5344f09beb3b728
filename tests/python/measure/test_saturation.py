"""What pairs at once share, found again in samples and tables of machines whose truth is known."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from rankwise.machine.link import Point
from rankwise.machine.shared import Resource, Shared
from rankwise.machine.topology import Topology, pus_of
from rankwise.measure.campaign import Plan
from rankwise.measure.fitting import profile_from_campaign
from rankwise.measure.imports import import_profile
from rankwise.measure.places import Places, find_places
from rankwise.measure.samples import Campaign
from rankwise.measure.saturation import Stream, resource_of, stream_of, uncarried, with_exchange
from rankwise.models.measured import Way

SIZES = (0, 8, 1000, 100_000)
NOISE = 0.02
LAUNCHES = 3

# Seconds of one message of one pair, while so many pairs are at it, one way or both.
Truth = Callable[[int, int, bool], float]


def _truth(lane: float, bytes_per_s: float, messages_per_s: float, both_ways: float) -> Truth:
    def time_s(pairs: int, size: int, both: bool) -> float:
        rate = both_ways / 2 if both else bytes_per_s
        return max(size / lane, pairs * size / rate, pairs / messages_per_s)

    return time_s


def _campaign(plan: Plan, truths: Mapping[str, Truth]) -> Campaign:
    """Samples of what a plan asks for, launches 1 % apart, with noise."""
    rng = np.random.default_rng(11)
    samples = []
    for launch in range(LAUNCHES):
        for link, truth in truths.items():
            for part in plan.parts(link):
                for operation, size in plan.cells(part):
                    stream = stream_of(operation) or Stream(1, False)
                    alone_s = (1e-6 + size * 1e-9) * (4 if operation == "burst" else 1)
                    time_s = alone_s if part.kernel == "pingpong" else truth(stream.pairs, size, stream.both_ways)
                    noise = (1 + 0.01 * (launch - 1)) * rng.lognormal(0.0, NOISE, 30)
                    samples.append(
                        {"class": link, "operation": operation, "size_bytes": size, "launch": launch, "parts": 2, "messages": 4,
                         "kernel": part.kernel, "time_s": (2 * time_s * noise).tolist()}
                    )  # fmt: skip
    head = {"campaign": "a", "created": "2026-01-01", "machine": {}, "plan": asdict(plan)}
    return Campaign(head, samples, [])


def _topology(cores: int, sockets: int) -> Topology:
    cpus = range(cores)
    return Topology(
        host="here", cpu_model="", memory_bytes=0, numa_nodes=[0], pus=pus_of(core_of={i: i for i in cpus},
        socket_of={i: i * sockets // cores for i in cpus}, numa_node_of=dict.fromkeys(cpus, 0)), caches=[], allowed=cpus,
        source="sysfs",
    )  # fmt: skip


def _holds(resource: Resource | None, bytes_per_s: float, messages_per_s: float, both_ways: float) -> bool:
    assert resource is not None and resource.ci is not None
    assert resource.ci[0] <= bytes_per_s <= resource.ci[1] and resource.ci[1] < 1.1 * resource.ci[0]
    found = (resource.bytes_per_s, resource.messages_per_s, resource.both_ways_bytes_per_s)
    return found == pytest.approx((bytes_per_s, messages_per_s, both_ways), rel=0.02)


def test_a_card_of_1_gb_per_s_and_a_million_messages_is_found_by_four_pairs(tmp_path: Path) -> None:
    plan = Plan(find_places(_topology(4, 1), ("n1", "n2")), SIZES)
    truths = {"same-socket": _truth(2e9, 5e9, 3e6, 6e9), "other-node": _truth(0.6e9, 1e9, 1e6, 1.9e9)}
    campaign = _campaign(plan, truths)
    profile = profile_from_campaign(campaign, tmp_path / "x")
    card, memory = profile.shared.card, profile.shared.memory
    assert _holds(card, 1e9, 1e6, 1.9e9) and card is not None and not card.half_duplex
    # Two pairs do not fill the memory of this machine.
    assert _holds(memory, 4e9, 3e6, 6e9) and profile.lacks == () and profile.notes() == []
    table = {(pairs, size): rate for pairs, size, rate in card.pairs}
    assert set(table) == {(pairs, size) for pairs in (1, 2, 4) for size in (8, 8000, 64_000, 1 << 18)}
    assert table[1, 64_000] == pytest.approx(0.6e9, rel=0.02) and table[2, 64_000] == pytest.approx(1e9, rel=0.02)
    # They are no ways of sending that a model is fitted to, their number of sizes is no warning, and max-rate takes the limit.
    other = profile.links["other-node"]
    assert set(other.variants) == {"ssend", "exchange", "exchange-gap"} and profile.warnings == ()
    assert "injection_bytes_per_s" not in other.parameters
    assert other.send.models["max-rate"].parameters["injection_bytes_per_s"].value == card.bytes_per_s
    # A rank that moved is no part of it, and without the most pairs the next lower number answers.
    campaign.samples[:] = [{**s, "moved_ranks": int("pairs-4" in s["operation"])} for s in campaign.samples]
    fewer = profile_from_campaign(campaign, tmp_path / "x").shared.card
    assert fewer is not None and (fewer.most_pairs, fewer.both_ways_bytes_per_s) == (2, None)
    assert fewer.bytes_per_s == pytest.approx(1e9, rel=0.02)


def test_sockets_have_memory_of_their_own_and_a_link_between_them(tmp_path: Path) -> None:
    def within(pairs: int, size: int, both: bool) -> float:
        return _truth(2e9, 5e9 if pairs <= 4 else 9e9, 1e6 if pairs <= 4 else 2e6, 6e9 if pairs <= 4 else 11e9)(
            pairs, size, both
        )

    plan = Plan(find_places(_topology(16, 2)), SIZES)
    shared = profile_from_campaign(
        _campaign(plan, {"same-socket": within, "other-socket": _truth(2e9, 3e9, 4e6, 3.5e9)}), tmp_path / "x"
    ).shared
    assert _holds(shared.socket, 5e9, 1e6, 6e9) and _holds(shared.memory, 9e9, 2e6, 11e9)
    assert _holds(shared.sockets, 3e9, 4e6, 3.5e9) and shared.sockets is not None and shared.sockets.half_duplex
    assert shared.card is None


def test_pairs_measured_for_long_tell_the_same(tmp_path: Path) -> None:
    places = find_places(_topology(4, 1), ("n1", "n2"), ("other-node",))
    truths = {"other-node": _truth(0.6e9, 1e9, 1e6, 1.9e9)}
    long = Plan(places, SIZES, "pairs")
    profile = profile_from_campaign(_campaign(long, truths), tmp_path / "x")
    assert _holds(profile.shared.card, 1e9, 1e6, 1.9e9)
    assert "bandwidth-pairs-4-window-64" in profile.links["other-node"].variants
    # Campaigns of before say nothing of what their pairs fill: the class does.
    old = _campaign(Plan({"other-node": replace(places["other-node"], fills=None)}, SIZES, "pairs"), truths)
    assert profile_from_campaign(old, tmp_path / "x").shared == profile.shared


def test_one_pair_alone_is_said_and_limits_no_model(tmp_path: Path) -> None:
    plan = Plan({"same-socket": Places(((0, 1),), (0, 1), (), "memory")}, SIZES)
    profile = profile_from_campaign(_campaign(plan, {"same-socket": _truth(2e9, 5e9, 3e6, 3.9e9)}), tmp_path / "x")
    assert _holds(profile.shared.memory, 2e9, 3e6, 3.9e9)
    assert profile.notes() == ["memory bandwidth: tested with 1 pair, for want of cores or nodes"]
    limit = profile.links["same-socket"].send.models["max-rate"].parameters["injection_bytes_per_s"]
    assert limit.value != pytest.approx(2e9, rel=1e-6)


def _way(times_s: Mapping[int, float]) -> Way:
    return Way(np.array([*times_s]), np.array([*times_s.values()]), (9,) * len(times_s), np.empty((len(times_s), 0)))


def test_a_ring_of_nodes_tells_what_a_nic_sends_in_exchanges() -> None:
    send, card = _way({0: 1e-3, 8: 1e-3}), Resource(1.2e6, 5e4)
    rings = {(4, 3): _way({100_000: 0.601, 30_000: 0.001}), (4, 2): _way({100_000: 0.401})}
    found = with_exchange(card, rings, send)
    # 6 messages of 100 kB in 600 ms after the latency, 4 in 400 ms; what hardly takes longer than the latency tells nothing.
    assert found.exchange == ((4, 2, 100_000, pytest.approx(1e6)), (4, 3, 100_000, pytest.approx(1e6)))
    assert (found.bytes_per_s, found.in_exchange_bytes_per_s) == (1.2e6, pytest.approx(1e6))
    (note,) = Shared(card=found).notes()
    assert note == (
        "while 4 nodes of 2 ranks exchange messages of 100 kB, a NIC sends 1.00 MB/s, 83 % of its rate between two nodes"
    )
    # What it sends there it can send: streams that were slower were disturbed.
    quicker = with_exchange(replace(card, bytes_per_s=0.9e6), rings, send)
    assert quicker.bytes_per_s == pytest.approx(1e6) and Shared(card=quicker).notes() == []
    # Small messages in a burst do not tell what it can send.
    # A NIC that sends and receives in a ring at its full rate is not half-duplex, whatever streams of large messages say.
    late = with_exchange(replace(card, both_ways_bytes_per_s=1.1e6), {(4, 2): _way({30_000: 0.121, 100_000: 0.8})}, send)
    assert late.both_ways_bytes_per_s == 2e6 and not late.half_duplex
    slow = with_exchange(replace(card, both_ways_bytes_per_s=1.1e6), {(4, 2): _way({30_000: 0.3, 100_000: 0.8})}, send)
    assert slow.both_ways_bytes_per_s == 1.1e6 and slow.half_duplex
    burst = with_exchange(card, {(4, 2): _way({30_000: 0.081, 100_000: 0.401})}, send)
    assert (burst.bytes_per_s, burst.exchange[0][3]) == (1.2e6, pytest.approx(1.5e6))
    # A NIC that sends and receives in turn sends half as much in a ring.
    assert Shared(card=replace(found, both_ways_bytes_per_s=1.3e6)).notes() == []
    read = Resource.from_dict(found.to_dict(), "card")
    assert read == found and "exchange" not in card.to_dict()


def test_what_the_time_cut_off_is_left_out() -> None:
    assert resource_of({}) is None
    assert resource_of({Stream(4, True): {8: Point(8, 1e-6, 1e-6, 1e-6, 1)}}) is None
    assert resource_of({Stream(4, False): {0: Point(0, 1e-6, 1e-6, 1e-6, 1)}}) is None
    single = resource_of({Stream(4, False): {8: Point(8, 1e-6, 1e-6, 1e-6, 1), 4096: Point(4096, 1e-5, 1e-5, 1e-5, 1)}})
    assert single is not None and single.ci is None
    large = resource_of({Stream(4, False): {1 << 18: Point(1 << 18, 1e-3, 0.0, 2e-3, 1)}})
    assert large == Resource(4e3 * (1 << 18), pairs=((4, 1 << 18, 4e3 * (1 << 18)),))


def test_a_burst_of_small_messages_is_no_rate_of_a_link() -> None:
    points = {size: Point(size, size / 23.3e6, 0.0, 1.0, 9) for size in (8, 512, 1024)}
    assert resource_of({Stream(2, False): points}) is None
    # What a second pair did not come to in its time does not tell the rate of both.
    large = {1 << 16: Point(1 << 16, (1 << 16) / 12.5e6, 0.0, 1.0, 9)}
    found = resource_of({Stream(2, False): points, Stream(1, False): {**points, **large}})
    assert found is not None and found.bytes_per_s == pytest.approx(12.5e6)


def test_streams_that_sent_more_than_the_interfaces_counted_are_refused() -> None:
    sample = {"class": "other-node", "part": 1, "launch": 0, "kernel": "bandwidth", "operation": "bandwidth-pairs-2-window-4",
        "size_bytes": 1 << 18,
              "pairs": 2, "parts": 4.0, "time_s": [0.1] * 5}  # fmt: skip
    sent = 2 * 4 * (1 << 18) * 5

    def refused(counted: int) -> set[tuple[int, int]]:
        crossed = {"a": {"eth0": [9, counted]}, "b": {"eth0": [counted, 9]}}
        witness = {"class": "other-node", "part": 1, "launch": 0, "network_bytes": crossed}
        return uncarried(Campaign({}, [sample], [], [witness]))

    assert refused(sent + 1) == set() and refused(sent // 2) == {(1, 0)}
    assert refused(100) == set()  # another network than these interfaces'


def _osu(title: str, pairs: str, rows: Mapping[int, float]) -> str:
    lines = [f"# OSU MPI {title} Test v5.7", *([pairs] if pairs else [])]
    if pairs:
        lines += ["# Size                  MB/s        Messages/s"]
        return "\n".join([*lines, *(f"{size}  {size * rate / 1e6:.2f}  {rate:.2f}" for size, rate in rows.items()), ""])
    return "\n".join([*lines, "# Size      Bandwidth (MB/s)", *(f"{size}  {rate:.2f}" for size, rate in rows.items()), ""])


def _latency() -> str:
    return "# OSU MPI Latency Test v5.7\n# Size          Latency (us)\n0 1.00\n8 1.10\n65536 60.00\n262144 240.00\n"


@pytest.mark.parametrize(("link", "kind"), [("other-node", "card"), ("same-socket", "memory"), ("other-socket", "sockets")])
def test_osu_s_message_rates_of_pairs_tell_what_they_share(tmp_path: Path, link: str, kind: str) -> None:
    (tmp_path / "lat").write_text(_latency())
    for pairs, rows in ((2, {8: 6e5, 65536: 9000.0, 262144: 3000.0}), (8, {8: 1e6, 65536: 14000.0, 262144: 4000.0})):
        (tmp_path / f"mr{pairs}").write_text(
            _osu("Multiple Bandwidth / Message Rate", f"# [ pairs: {pairs} ] [ window size: 64 ]", rows)
        )
    profile = import_profile([tmp_path / name for name in ("lat", "mr2", "mr8")], link, "x")
    resource = getattr(profile.shared, kind)
    assert resource.bytes_per_s == pytest.approx(4000 * 262144) and resource.messages_per_s == pytest.approx(1e6)
    assert (resource.most_pairs, len(resource.pairs), resource.both_ways_bytes_per_s) == (8, 6, None)
    assert resource.ci is None  # a single run says nothing of its spread
    assert list(profile.shared.resources()) == [(kind, resource)]
    # A single pair that is added later does not take its place.
    (tmp_path / "bw").write_text(_osu("Bandwidth", "", {8: 8.0, 65536: 900.0, 262144: 990.0}))
    (tmp_path / "bibw").write_text(_osu("Bi-Directional Bandwidth", "", {8: 9.0, 65536: 1000.0, 262144: 1100.0}))
    added = import_profile([tmp_path / "bw", tmp_path / "bibw"], link, "x", base=profile)
    assert added.shared == profile.shared
    # What large messages alone lose both ways is a handshake's, not the link's.
    (tmp_path / "late").write_text(_osu("Bi-Directional Bandwidth", "", {8: 9.0, 65536: 1700.0, 262144: 1100.0}))
    late = getattr(import_profile([tmp_path / name for name in ("lat", "bw", "late")], link, "x").shared, kind)
    assert late.both_ways_bytes_per_s == pytest.approx(1700e6) and not late.half_duplex
    # Where nothing better is known it counts, if it is known both ways.
    alone = getattr(import_profile([tmp_path / name for name in ("lat", "bw", "bibw")], link, "x").shared, kind)
    assert (
        alone.bytes_per_s == pytest.approx(990e6) and alone.both_ways_bytes_per_s == pytest.approx(1100e6) and alone.half_duplex
    )
    assert import_profile([tmp_path / "lat", tmp_path / "bw"], link, "x").shared == Shared()
