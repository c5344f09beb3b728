"""``doctor --nodes`` and ``measure all-pairs`` on campaigns made up here: words, exit codes, JSON, picture."""

import json
from pathlib import Path

import numpy as np

import schemas
from rankwise.api.streams import StreamTimes
from rankwise.launch.allocation import parse_topology
from rankwise.measure.all_pairs import load
from synthetic_nodes import Fleet, circle

NODES = 8


def _campaign(
    path: Path, seed: int = 1, sweeps: int = 3, busy: int | None = None, silent: dict[str, str] | None = None, **fleet
) -> Path:
    """Write what the program would have kept of a fleet; node ``busy`` has other work in all rounds."""
    rng = np.random.default_rng(seed)
    drawn = Fleet(NODES, rng, **fleet)
    head = {"record": "campaign", "campaign": "c", "schema": 1, "kind": "all-pairs", "created": "2025-01-01T00:00:00+00:00",
            "hosts": [f"n{i}" for i in range(NODES)], "silent": silent or {}, "sizes": [1000000]}  # fmt: skip
    placements = [{"rank": i, "host": f"n{i}", "machine": i, "cpus_allowed": [0, 1]} for i in range(NODES)]
    records = [head]
    again = np.full((7, NODES), -1)
    again[:, [0, 1, 2, 3, 4, 5]] = [1, 0, 3, 2, 5, 4]
    for sweep in (*range(sweeps), -1):
        times = drawn.times(again if sweep < 0 else circle(rng.permutation(NODES).tolist()), sweep)
        tags = {"campaign": "c", "sweep": sweep}
        records.append({"record": "start", "placements": placements, **tags})
        for k, partner in enumerate(times.partner):
            work = [1.9 if i == busy else 0.2 for i in range(NODES)]
            records.append({"record": "round", "round": k, "partner": partner.tolist(), "seconds": [1.0] * NODES,
                "busy_s": work,
                            "own_s": [0.1] * NODES, **tags})  # fmt: skip
            time_s = np.exp(times.log_s[k][partner >= 0]).tolist()
            records.append(
                {"record": "samples", "round": k, "size_bytes": 1000000, "messages": 10, "repeats": 1, "time_s": time_s, **tags}
            )
        records.append({"record": "witness", "seconds": 3.0, **tags})
    path.write_text("".join(json.dumps(record) + "\n" for record in [*records, {"record": "complete", "campaign": "c"}]))
    return path


def test_a_slow_direction_is_named_with_the_line_that_leaves_it_out(rankwise, tmp_path) -> None:
    path = _campaign(tmp_path / "x.jsonl", sends={5: 1.4}, silent={"n9": "no route"})
    result = rankwise(f"doctor --nodes --from {path}")
    assert result.code == 3
    first, finding, more, silent, slurm = result.out.splitlines()
    assert first == "✗ 8 nodes, 7 rounds x 3, 12 s: 1 finding"
    assert finding.startswith("n5  sends 1.") and "times as slow as the median node (95 %: 1." in finding
    assert "1 MB): its NIC's send side" in more
    assert silent == "n9  did not answer: not measured" and slurm == "    leave out in Slurm: --exclude=n5"


def test_a_slow_pair_is_named_when_it_is_slow_again(rankwise, tmp_path) -> None:
    path = _campaign(tmp_path / "x.jsonl", pairs={(2, 3): 1.6, (3, 2): 1.6})
    answer = json.loads(rankwise(f"doctor --nodes --from {path} --json").out)
    (finding,) = answer["findings"]
    assert (finding["kind"], finding["hosts"], finding["confirmed"]) == ("pair", ["n2", "n3"], [7, 7])
    assert finding["ratio_ci"][0] < finding["ratio"] < finding["ratio_ci"][1] and answer["exclude"] == ["n2"]
    (figure,) = answer["figures"]
    assert len(figure["sends_ratio"]) == len(figure["receives_ratio_ci"]) == len(figure["residual_ratio"]) == NODES
    assert figure["residual_ratio"][0][0] is None and figure["residual_ratio"][2][3] > 1.3


def test_nothing_slow_says_what_would_have_been_seen(rankwise, tmp_path) -> None:
    result = rankwise("doctor --nodes --from", str(_campaign(tmp_path / "x.jsonl")))
    assert result.code == 0 and "nothing slow: at 1 MB a node 1" in result.out and "would have been seen" in result.out


def test_streams_are_told_size_by_size(tmp_path) -> None:
    path = _campaign(tmp_path / "x.jsonl")
    found = StreamTimes(load(path), path)
    schemas.check("measure-all-pairs", found.to_dict())
    (row,) = found.records()
    assert (row["size_bytes"], row["messages"]) == (1000000, 10) and row["p05_s"] <= row["median_s"] <= row["p95_s"]


def test_noise_is_no_answer(rankwise, tmp_path) -> None:
    result = rankwise("doctor --nodes --from", str(_campaign(tmp_path / "x.jsonl", noise=0.3)))
    assert result.code == 5 and "too noisy to see what is 20 % slower" in result.out and "would have been seen" in result.out


def test_a_busy_node_is_not_judged(rankwise, tmp_path) -> None:
    result = rankwise("doctor --nodes --from", str(_campaign(tmp_path / "x.jsonl", busy=4, sends={4: 1.5}, sweeps=6)))
    assert "n4  busy with other work in 49 of 49 rounds: no verdict" in result.out
    assert result.code == 6 and "8 nodes, 7 rounds x 6, 21 s: 1 busy, nothing slow among the others" in result.out


def test_wrong_input_is_one_line(refused, tmp_path) -> None:
    empty = tmp_path / "e.jsonl"
    empty.write_text('{"record": "campaign", "campaign": "c", "schema": 1}\n')
    path = str(_campaign(tmp_path / "x.jsonl"))
    for words, says in (
        (("--nodes", "--from", str(empty)), "rankwise measure all-pairs"),
        (("--nodes", "--from", path, "--plot", "x.png"), ".svg or .html"),
        (("--hosts", "a,b"), "doctor --nodes"),
        (("--nodes", "--hosts", "onlyone"), "--hosts n[01-16]"),
    ):
        assert says in refused("doctor", *words)


def test_leaf_switches_are_those_of_level_0() -> None:
    text = "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\n" \
           "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[3-4]\n"  # fmt: skip
    assert parse_topology(text) == {"n1": "s1", "n2": "s1", "n3": "s2", "n4": "s2"}
