"""The simulating engine under SimGrid: simulated ping-pongs give back the profile, links are shared, runs resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankwise import _core
from rankwise.engines.machines import machine_of_description, machine_of_profile
from rankwise.engines.placement import Placement, Seats
from rankwise.engines.platform import Platform, parse_network
from rankwise.engines.simulate import Simulator
from rankwise.errors import InputError, RankwiseError
from rankwise.launch.smpi import SMPI_EAGER_BYTES, SimGrid, cause_of_failure, find_simgrid
from rankwise.machine.library import load_machine
from rankwise.measure.imports import import_profile
from rankwise.papers import hunold2020_simgrid
from rankwise.workloads.exchange import ExchangeCase
from rankwise.workloads.stencil import StencilCase, stencil_cases

DATA = Path(__file__).parents[2] / "data"
needs_simgrid = pytest.mark.simgrid


@pytest.fixture(scope="module")
def simgrid() -> SimGrid:
    return find_simgrid()


@pytest.fixture
def simulator(simgrid: SimGrid, tmp_path: Path) -> Simulator:
    return Simulator(simgrid, tmp_path / "simulated")


# A rank a node.
APART = Placement(lambda ranks: Seats().blocked(ranks, 1), Seats().on_nodes)
INSIDE = [(0, 3e-7, 2e-11)]
ACROSS = [(0, 5e-7, 4e-11)]
# Below a threshold slow bytes, above it a dearer start: as eager and rendezvous messages.
OUTSIDE = [(0, 1e-6, 2e-10), (5000, 2e-6, 1e-10)]


def platform_of(
    topology: str = "crossbar:8", sockets: int = 2, hop_latency_s: float = 0.0, **shared: dict[str, float]
) -> Platform:
    links = {name: {"send": lines} for name, lines in zip(CLASSES, (INSIDE, ACROSS, OUTSIDE), strict=True)}
    machine = _core.Machine(links, {"card": {"bytes_per_s": 1e10}, **shared})
    return Platform("a test", parse_network(topology, None, 1), sockets, machine, hop_latency_s)


CLASSES = ("same-socket", "other-socket", "other-node")


def ping_pong(simulator: Simulator, platform: Platform, places: Sequence[tuple[int, int]], sizes: Sequence[int]) -> list[float]:
    """Return the one-way times between two ranks on (node, socket) each, by the kernel that measures real machines."""
    cells = ",".join(f"send:{size}" for size in sizes)
    at = _core.Placement.at([(node, 2 * node + socket, -1, rank) for rank, (node, socket) in enumerate(places)])
    (records,) = simulator.records(
        [(platform.simulation(at, ("pingpong", "--cells", cells, "--least", "3", "--most", "3")), 1)]
    )
    return [min(record["time_s"]) / 2 for record in records if record["record"] == "samples"]


@needs_simgrid
def test_a_ping_pong_gives_back_the_profile_that_it_was_made_from(simulator: Simulator) -> None:
    profiles = [
        import_profile([DATA / "werner2023_pingpong.csv"], "other-node", "JURECA"),
        import_profile([DATA / "osu-samples/osu74_latency_default.txt"], "other-node", "osu"),
    ]
    for profile in profiles:
        send = profile.links["other-node"].send
        model = send.chosen()
        # All measured sizes, and some between and beyond them, on both sides of where one segment ends.
        sizes = [point.size_bytes for point in send.table]
        sizes = sorted({*sizes, *(size + 1 for size in sizes), *(3 * size // 2 for size in sizes), 2 * sizes[-1]})
        platform = Platform("of a profile", parse_network("crossbar", 2, 2), 1, machine_of_profile(profile))
        times = ping_pong(simulator, platform, [(0, 0), (1, 0)], sizes)
        for size, time_s in zip(sizes, times, strict=True):
            assert time_s == pytest.approx(model.time_s(size), rel=0.01), size


@needs_simgrid
@pytest.mark.parametrize("topology", ["crossbar:8", "fat-tree:2x4:2", "torus:2x2x2", "dragonfly:2x2x2"])
def test_each_class_of_link_has_its_own_times_on_every_topology(simulator: Simulator, topology: str) -> None:
    sizes = [0, 1, 4999, 5000, 1_000_000]
    pairs = {
        (0, 0): INSIDE,
        (0, 1): ACROSS,
        (0, 2): OUTSIDE,  # hosts by number: two sockets a node
        (0, 15): OUTSIDE,
    }
    for (first, second), lines in pairs.items():
        places = [(first // 2, first % 2), (second // 2, second % 2)]
        times = ping_pong(simulator, platform_of(topology), places, sizes)
        for size, time_s in zip(sizes, times, strict=True):
            _, alpha_s, beta_s_per_byte = [line for line in lines if line[0] <= size][-1]
            assert time_s == pytest.approx(alpha_s + beta_s_per_byte * size, rel=0.01)


@needs_simgrid
def test_hops_cost_what_they_are_given(simulator: Simulator) -> None:
    platform = platform_of("torus:8", hop_latency_s=1e-7)
    near, far = (ping_pong(simulator, platform, [(0, 0), (node, 0)], [0])[0] for node in (1, 4))
    assert far - near == pytest.approx(3 * 1e-7, rel=0.01)


def _pairs(simulator: Simulator, platform: Platform, nodes: Sequence[int], stencil: str, grid: tuple[int, ...]) -> float:
    """Return the time of one halo exchange of a megabyte whose ranks sit on the given nodes."""
    case = StencilCase(grid, (False,) * len(grid), stencil, "test", tuple(nodes), 0, 0, 1_000_000)
    return simulator.rows([case], platform, APART)[0].time_s


@needs_simgrid
def test_messages_that_meet_share_the_bandwidth(simulator: Simulator) -> None:
    alone_s = 2e-6 + 1e-10 * 1e6
    transfer_s = 1e-10 * 1e6
    on = lambda *nodes: nodes  # noqa: E731

    # One pair; two pairs between the same nodes share the cards; both directions at once do not.
    one = _pairs(simulator, platform_of("crossbar:8", 1), on(0, 1), "1,0", (2, 1))
    two = _pairs(simulator, platform_of("crossbar:8", 1), on(0, 0, 1, 1), "1,0", (2, 2))
    both = _pairs(simulator, platform_of("crossbar:8", 1), on(0, 1), "1,0;-1,0", (2, 1))
    assert one == pytest.approx(alone_s, rel=0.01)
    assert two == pytest.approx(alone_s + transfer_s, rel=0.01)
    assert both == pytest.approx(alone_s, rel=0.01)

    # Four nodes of a leaf send to four of another: a taper of 4 leaves them one link up.
    crossing = on(0, 1, 2, 3, 4, 5, 6, 7)
    full = _pairs(simulator, platform_of("fat-tree:4x2:1", 1), crossing, "1,0", (2, 4))
    tapered = _pairs(simulator, platform_of("fat-tree:4x2:4", 1), crossing, "1,0", (2, 4))
    assert full == pytest.approx(alone_s, rel=0.01)
    assert tapered == pytest.approx(alone_s + 3 * transfer_s, rel=0.01)

    # A memory that carries one message at a time.
    inside_s = 3e-7 + 2e-11 * 1e6
    memory = platform_of("crossbar:8", 1, memory={"bytes_per_s": 1 / 2e-11})
    assert _pairs(simulator, memory, on(0, 0, 0, 0), "1,0", (2, 2)) == pytest.approx(inside_s + 2e-5, rel=0.01)

    # Memory and a card that carry more than one message can use: two messages do not hinder each other, four do.
    roomy = platform_of("crossbar:8", 1, memory={"bytes_per_s": 2 / 2e-11}, card={"bytes_per_s": 2e10})
    assert _pairs(simulator, roomy, on(0, 0, 0, 0), "1,0", (2, 2)) == pytest.approx(inside_s, rel=0.01)
    assert _pairs(simulator, roomy, on(*[0] * 8), "1,0", (2, 4)) == pytest.approx(inside_s + 2e-5, rel=0.01)
    assert _pairs(simulator, roomy, on(0, 0, 1, 1), "1,0", (2, 2)) == pytest.approx(alone_s, rel=0.01)
    assert _pairs(simulator, roomy, on(0, 0, 0, 0, 1, 1, 1, 1), "1,0", (2, 4)) == pytest.approx(alone_s + transfer_s, rel=0.01)


@needs_simgrid
@pytest.mark.parametrize(
    ("algorithm", "mode"),
    [("direct", "ssend"), ("direct", "send"), ("comb", "isend"), ("shift", "isend-self"), ("team-shift", "isend")],
)
def test_many_ranks_a_node_share_its_nic_as_predicted(simulator: Simulator, algorithm: str, mode: str) -> None:
    """By SimGrid's lazy updates the blocking ones took a third longer; members of a team are ahead of others."""
    of_links = {"same-socket": INSIDE, "other-node": [(0, 1e-6, 2e-10)]}
    machine = _core.Machine({name: {"send": lines, "rendezvous": [(0, 65536.0, 0.0)]} for name, lines in of_links.items()})
    by_turns = _core.Placement.on_nodes(np.arange(80, dtype=np.int32) % 8)
    case = ExchangeCase(algorithm, mode, (80,), (True,), 2, 14_000, "full", 2 if algorithm == "team-shift" else 1)
    platform = Platform("a test", parse_network("crossbar:8", None, 8), 1, machine.alone())
    (row,) = simulator.rows([case], platform, Placement(lambda ranks: by_turns, lambda nodes: by_turns))
    assert row.time_s == pytest.approx(case.schedules().judged(by_turns).cost(14_000, machine.alone()).time_s, rel=2e-3)


@needs_simgrid
@pytest.mark.parametrize("size", [500, 3000, 9000])
def test_messages_that_a_shaped_link_lets_pass_at_once_share_it_all_the_same(simulator: Simulator, size: int) -> None:
    """A lone message of up to 4 kB takes 1 us more than an empty one, as through a token bucket; many take the wire."""
    outside = [(0, 5e-5, 2.5e-10), (4000, 5.1e-5 - 4000 * 8e-7, 8e-7)]
    links = {"same-socket": {"send": INSIDE}, "other-node": {"send": outside}}
    machine = _core.Machine(links, {"card": {"bytes_per_s": 1 / 8e-7}})
    by_turns = _core.Placement.on_nodes(np.arange(16, dtype=np.int32) % 4)
    case = ExchangeCase("direct", "isend", (16,), (True,), 2, size, "full", 1)
    platform = Platform("a test", parse_network("crossbar:4", None, 4), 1, machine.alone())
    (row,) = simulator.rows([case], platform, Placement(lambda ranks: by_turns, lambda nodes: by_turns))
    predicted = case.schedules().judged(by_turns).cost(size, machine.alone()).time_s
    assert row.time_s == pytest.approx(predicted, rel=0.05)


def test_sends_wait_from_the_limit_on_that_the_machine_knows() -> None:
    places = _core.Placement.blocked(2, 1)
    known = _core.Machine({"other-node": {"send": OUTSIDE, "rendezvous": [(0, 2000.0, 0.0)]}})
    platform = replace(platform_of("crossbar:2"), machine=known)
    assert platform.simulation(places, ()).eager_bytes == 2000
    assert platform.simulation(places, (), buffers_sends=False).eager_bytes == 0
    assert platform_of("crossbar:2").simulation(places, ()).eager_bytes == SMPI_EAGER_BYTES


@needs_simgrid
def test_sends_that_never_wait_are_simulated(simulator: Simulator) -> None:
    """A limit beyond all messages is beyond SimGrid's numbers, too."""
    limitless = _core.Machine({"other-node": {"send": OUTSIDE, "rendezvous": [(0, 2.0**62, 0.0)]}})
    platform = replace(platform_of("crossbar:2"), machine=limitless)
    assert ping_pong(simulator, platform, [(0, 0), (1, 0)], [8]) == pytest.approx([1e-6 + 8 * 2e-10], rel=0.01)


@needs_simgrid
def test_ranks_that_are_mixed_do_not_stop_the_solver(simulator: Simulator) -> None:
    """Thousands of messages of small weights leave sums that do not come out even: SimGrid's solver then stops."""
    (case,) = stencil_cases((16, 24), [48] * 8, "nearest-neighbor-with-hops", (False, False), ["random"], [64])
    machine = hunold2020_simgrid.system()
    placement = machine.placement(48)
    (row,) = simulator.rows([case], machine.platform([placement.of(case)], "fat-tree:4x4:2", None), placement)
    assert row.verified and row.time_s > 2e-6


@needs_simgrid
def test_every_exchange_delivers_its_bytes_and_says_what_smpi_lacks(simulator: Simulator) -> None:
    platform = platform_of("crossbar:8", 1)
    cases = [
        ExchangeCase(algorithm, mode, (8,), (True,), 2, 1000, "full", replication)
        for algorithm, mode, replication in (
            ("direct", "isend", 1), ("neighbor-alltoall", "isend", 1), ("shift", "ssend", 1), ("comb", "isend", 1),
            ("shift", "persistent", 1), ("team-shift", "isend", 2),
        )
    ]  # fmt: skip
    rows = simulator.rows(cases, platform, APART)
    assert all(row.verified for row in rows)
    assert [any("no neighbourhood collectives" in note for note in row.notes) for row in rows] == [
        case.algorithm == "neighbor-alltoall" for case in cases
    ]
    # Synchronous sends go one after the other, 2 k each way doubled; the same messages at once overlap.
    assert rows[2].time_s == pytest.approx(8 * (1e-6 + 2e-10 * 1000), rel=0.01)
    assert rows[1].time_s == pytest.approx(rows[0].time_s, rel=0.01)


class _Counter:
    """A meter that counts."""

    steps = 0

    def advance(self, steps: int = 1) -> None:
        self.steps += steps

    def say(self, what: str) -> None: ...


@needs_simgrid
def test_sizes_go_in_several_runs_and_maps_that_are_alike_in_one(simulator: Simulator) -> None:
    meter = _Counter()
    counting = replace(simulator, meter=meter)
    sizes = [1000 * 2**power for power in range(6)]
    cases = [
        StencilCase((4,), (True,), "1;-1", mapping, nodes, 0, 0, size)
        for size in sizes
        for mapping, nodes in (("one", (0, 0, 1, 1)), ("other", (0, 1, 0, 1)), ("as-one", (0, 0, 1, 1)))
    ]
    rows = counting.rows(cases, platform_of("crossbar:8", 1), APART)
    assert [row.case for row in rows] == cases
    assert all(row.verified for row in rows)
    time_s = {(case.mapping, case.message_bytes): row.time_s for case, row in zip(cases, rows, strict=True)}
    for size in sizes:
        # What a card carries both ways at once: a neighbour's messages there and back, or both neighbours'.
        assert time_s["one", size] == time_s["as-one", size] < time_s["other", size]
    assert len((simulator.folder / "simulations.jsonl").read_text().splitlines()) == 4  # two maps in two runs each
    assert meter.steps == len(cases)


@needs_simgrid
def test_a_campaign_goes_on_where_it_was(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    from rankwise.engines import simulate

    case = ExchangeCase("shift", "isend", (4,), (True,), 1, 100)
    first = simulator.rows([case], platform_of("crossbar:8", 1), APART)
    path = simulator.folder / "simulations.jsonl"
    with path.open("a") as stream:
        stream.write('{"record":"simulation","key":"cut o')  # as a power cut leaves it
    started: list[Any] = []
    run_simulation = simulate.run_simulation

    def counted(*arguments: Any) -> Any:
        started.append(arguments)
        return run_simulation(*arguments)

    monkeypatch.setattr(simulate, "run_simulation", counted)
    other = ExchangeCase("shift", "isend", (4,), (True,), 1, 200)
    rows = simulator.rows([other, case], platform_of("crossbar:8", 1), APART)
    assert len(started) == 1
    assert rows[1].time_s == first[0].time_s
    # Another platform is another run; and its file can be read beside the samples.
    simulator.rows([case], platform_of("torus:8", 1), APART)
    assert len(started) == 2
    assert any("topology torus" in path.read_text() for path in simulator.folder.glob("*.platform"))


@needs_simgrid
def test_a_kernel_that_fails_leaves_its_log_and_one_line(simulator: Simulator) -> None:
    places = _core.Placement.blocked(4, 1)
    with pytest.raises(InputError, match="loggp takes 2 ranks, not 4"):
        simulator.records([(platform_of("crossbar:8", 1).simulation(places, ("loggp", "--cells", "send-overhead:0")), 1)])
    # Hosts that the platform does not have: SimGrid's own complaint.
    with pytest.raises(RankwiseError, match="4 ranks failed") as caught:
        simulator.records([(platform_of("crossbar:2", 1).simulation(places, ("hello",)), 1)])
    assert "\n" not in str(caught.value)
    (log,) = simulator.folder.glob("*.log")
    assert "n2s0" in log.read_text() and log.name in str(caught.value)
    assert "n2s0" in str(caught.value)


def test_the_cause_is_read_out_of_a_log() -> None:
    deadlock = (
        "[0.000000] ./src/kernel/EngineImpl.cpp:718: [ker_engine/CRITICAL] Oops! Deadlock detected, some activities are "
        "still around\n[0.000000] [ker_engine/INFO] 1 actors are still running\n"
    )
    assert cause_of_failure(deadlock, 0).startswith("Oops! Deadlock detected")
    assert cause_of_failure("rankwise-kernels: out of memory\nsomething else\n", 1) == "out of memory"
    assert cause_of_failure("", 9) == "exit code 9"
    assert cause_of_failure("", 137) == "exit code 137, as where memory runs out: simulate fewer ranks"


def test_a_description_gives_links_and_says_what_it_does_not_know() -> None:
    machine, notes = machine_of_description(load_machine("hopper"))
    assert machine.lines("other-node")[0][1] == pytest.approx(1e-6)
    assert any("inside a node" in note for note in notes)
    with pytest.raises(InputError, match="no latency"):
        machine_of_description(load_machine("keeneland"))
    profile = import_profile([DATA / "werner2023_pingpong.csv"], "same-socket", "JURECA")
    mixed, notes = machine_of_description(load_machine("hopper"), machine_of_profile(profile))
    assert mixed.lines("same-socket") == machine_of_profile(profile).lines("same-socket")
    assert mixed.lines("other-node") == machine.lines("other-node")
    assert notes == []


def test_a_platform_file_can_be_read() -> None:
    text = platform_of("fat-tree:4x2:2").text()
    assert "topology fat-tree\ndown 4 2\nup 1 2\n" in text
    assert "segment other-node 5000 2e-06 1e-10\n" in text
    assert all(line.startswith("#") or len(line.split()) >= 2 for line in text.splitlines())
