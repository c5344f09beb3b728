"""``rankwise measure collectives``: what it adds to a profile, and that it goes on where it was interrupted."""

import json
from pathlib import Path
from typing import Any

import pytest

from rankwise.machine.profile import Profile
from rankwise.machine.topology import Topology, pus_of
from rankwise.measure import collective_costs
from rankwise.measure.collective_costs import last_of, launches_of, with_costs
from rankwise.measure.imports import import_profile
from rankwise.measure.samples import Campaign, SamplesFile, read_campaigns
from rankwise.measure.workloads import limits_words
from verbs import Rankwise, Refused

DATA = Path(__file__).parents[2] / "data"
pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def profile(rankwise: Rankwise) -> Path:
    path = Path("machine.json")
    assert rankwise(f"measure -o {path} --seconds 1 --sizes 0,8,1kB,64kB").code in (0, 6)  # 6: a busy machine
    return path


@pytest.mark.mpi
def test_a_profile_gets_reductions_limits_and_collectives_within_a_node(rankwise: Rankwise, profile: Path) -> None:
    result = rankwise(f"measure collectives -o {profile} --seconds 2 --ranks 2")
    assert result.code == 0, result.err
    assert result.out.startswith("✓ 46 figures were added to machine.json.\n")
    assert "MPI_SUM of doubles, in one rank: " in result.out and "MPI_Barrier of 2 ranks on a node: " in result.out
    read = Profile.load(profile)
    found = read.collectives
    assert found is not None and found.mpi == read.mpi_version
    sizes, times_s = zip(*found.combine, strict=True)
    assert list(sizes) == sorted(sizes) and list(times_s) == sorted(times_s)
    assert found.handover_s > 0  # a processor that two ranks share goes from one to the other
    assert {row.collective for row in found.in_node} == {*collective_costs._VECTORS, *collective_costs._OF_BLOCKS, "barrier"}
    assert all(row.ci_s is not None and row.ci_s[0] <= row.time_s <= row.ci_s[1] for row in found.in_node)
    # An eager limit is where MPI_Send begins to wait; every MPI has one between a cache line and the largest size tried.
    limits = [link.parameters["send_returns_up_to_bytes"].value for link in read.links.values()]
    assert limits and all(64 <= limit <= 1 << 22 for limit in limits)
    # What it measured is kept by a further ping-pong, and predicts.
    assert rankwise(f"measure -o {profile} --seconds 1 --sizes 0,8,1kB,64kB").code in (0, 6)
    assert Profile.load(profile).collectives == found
    asked = "allreduce --ranks 2 --ranks-per-node 2 --bytes 8"
    row = rankwise(f"predict collective {asked} --json").json["rows"][0]
    known_s = next(of.time_s for of in found.in_node if (of.collective, of.size_bytes) == ("allreduce", 8))
    assert row["time_s"] == pytest.approx(known_s)
    assert any(note.startswith("within nodes as measured") for note in row["notes"])


@pytest.mark.mpi
def test_an_interrupted_measurement_goes_on_where_it_was(
    rankwise: Rankwise, refused: Refused, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    start = collective_costs._start

    def interrupted(mpi: Any, launch: Any, samples: SamplesFile, identity: str) -> None:
        if launch.name == "token shared" and launch.name not in started:
            started.append(launch.name)
            raise KeyboardInterrupt
        started.append(launch.name)
        start(mpi, launch, samples, identity)

    monkeypatch.setattr(collective_costs, "_start", interrupted)
    stopped = rankwise(f"measure collectives -o {profile} --seconds 1")
    assert stopped.code == 130 and "go on with 'rankwise measure collectives -o machine.json --resume'" in stopped.err
    assert Profile.load(profile).collectives is None
    before = list(started)
    assert rankwise(f"measure collectives -o {profile} --seconds 1 --resume").code == 0
    assert started[len(before) :][0] == "token shared" and "combine" not in started[len(before) :]
    assert Profile.load(profile).collectives is not None
    assert "holds no measurement of collectives to go on with: leave --resume out" in refused(
        f"measure collectives -o {profile} --resume"
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--ranks 1", "--ranks 1: this node has "),
        ("--ranks 4097", "cores, one for each rank: give at least 2, and no more"),
        ("--seconds 0", "--seconds 0 is not a time to spend"),
        ("--hosts a,a", "--hosts names a twice: name each node once"),
    ],
)  # fmt: skip
@pytest.mark.mpi
def test_wrong_words_are_refused(refused: Refused, profile: Path, words: str, says: str) -> None:
    assert says in refused(f"measure collectives -o {profile} {words}")


@pytest.mark.mpi
def test_a_profile_of_another_mpi_is_not_mixed_with_this_one(refused: Refused, profile: Path) -> None:
    record = json.loads(profile.read_text())
    record["machine"]["mpi"]["library_version"] = "Another MPI 1.0"
    profile.write_text(json.dumps(record))
    assert "was measured with another MPI (Another MPI 1.0)" in refused(f"measure collectives -o {profile}")
    assert "none.json" in refused("measure collectives -o none.json")


def test_figures_come_from_the_samples_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.samples.jsonl"
    with SamplesFile(path) as samples:
        head = samples.begin(collectives=True, processors=6, machine={"mpi": {"library_version": "MPICH 5.0.2"}})
        of = {"record": "samples", "campaign": head["campaign"]}
        samples.append({**of, "kernel": "combined", "launch": "combine", "size_bytes": 800, "time_s": [2e-7]})
        for time_s in (3e-7, 1e-7):  # cut off, and begun again
            samples.append({**of, "kernel": "combined", "launch": "combine", "size_bytes": 8, "time_s": [time_s]})
        samples.append({**of, "kernel": "token", "launch": "token", "ranks": 2, "time_s": [1e-6, 9e-6, 2e-6]})
        samples.append({**of, "kernel": "token", "launch": "token shared", "ranks": 4, "time_s": [12e-6]})
        for launch, times_s in (("in node, 2 ranks, 0", [3e-6, 5e-6, 4e-6]), ("in node, 2 ranks, 1", [6e-6])):
            samples.append({**of, "kernel": "collective", "collective": "bcast", "ranks": 2, "message_bytes": 8,
                            "launch": launch, "time_s": times_s})  # fmt: skip
        samples.append({"record": "limits", "campaign": head["campaign"], "launch": "limits other-node",
                        "send_returns_up_to_bytes": 4096})  # fmt: skip
    campaign = last_of(read_campaigns(path))
    assert isinstance(campaign, Campaign) and not campaign.complete
    known = with_costs(import_profile([DATA / "werner2023_pingpong.csv"], "other-node", "jureca"), campaign)
    costs = known.collectives
    assert costs is not None and costs.combine == ((8, 1e-7), (800, 2e-7))
    assert costs.handover_s == pytest.approx(10e-6) and costs.processors == 6
    [row] = costs.in_node
    assert (row.collective, row.time_s, row.ci_s) == ("bcast", pytest.approx(5e-6), (4e-6, 6e-6))
    assert known.links["other-node"].parameters["send_returns_up_to_bytes"].value == 4096


def test_launches_share_the_time_and_pin_one_rank_a_core() -> None:
    cpus = range(6)
    one = dict.fromkeys(cpus, 0)
    topology = Topology(
        host="six", cpu_model="", memory_bytes=0, numa_nodes=[0], pus=pus_of(dict(zip(cpus, cpus, strict=True)), one, one),
        caches=[], allowed=cpus, source="sysfs",
    )  # fmt: skip
    launches = {launch.name: launch for launch in launches_of(topology, ("n1", "n2"), (), 60.0)}
    assert launches["limits other-node"].arguments[-len(limits_words()) :] == limits_words()
    assert launches["limits other-node"].hosts == ("n1", "n2") and not launches["limits other-node"].shared_cpus
    assert launches["token"].cpus == (0, 1, 2, 3, 4, 5) and not launches["token"].shared_cpus
    assert launches["token shared"].cpus == 2 * launches["token"].cpus and launches["token shared"].shared_cpus
    assert [name for name in launches if name.endswith(", 0")] == [f"in node, {count} ranks, 0" for count in (2, 4, 6)]
