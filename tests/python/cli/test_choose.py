"""``rankwise choose``: against closed forms evaluated here, the paper's figures, and what a person may get wrong."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from breadth import some
from rankwise.decide.choice import Chooser, Question, cutoff_steps, steps_of
from rankwise.decide.ranking import times_as_long
from rankwise.machine.link import Curve, LinkModel, Point, Segment
from rankwise.machine.profile import Link, Loaded, Profile
from rankwise.units import format_size
from verbs import Rankwise, Refused

# werner2023 section 6: one alpha and beta for the machine of its tables.
ALPHA_S, BETA_S = 2.122e-6, 0.129e-9


def _curve(alpha_s: float, beta_s: float) -> Curve:
    sizes = (0, 10, 10**3, 10**5, 10**9)
    table = tuple(Point(size, t := max(alpha_s + beta_s * size, 1e-15), t, t, 9) for size in sizes)
    model = LinkModel("hockney", (Segment(0, None, alpha_s, beta_s),), "given")
    return Curve("hockney", alpha_s, None, beta_s, None, 9, "median", table, {"hockney": model})


def _profile(path: Path, overhead_s: float = 0.0, loaded: Loaded | None = None) -> Path:
    """Write a profile with the paper's alpha and beta, where both directions overlap as far as processors let them."""
    ways = {
        "ssend": _curve(ALPHA_S, BETA_S),
        "exchange": _curve(ALPHA_S, BETA_S),
        "exchange-gap": _curve(2 * overhead_s, BETA_S),
    }
    link = Link(_curve(ALPHA_S, BETA_S), ways, loaded=loaded)
    Profile({}, {"other-node": link}, "", {}).save(path)
    return path


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    return _profile(tmp_path / "paper.json")


@pytest.fixture
def choose(rankwise: Rankwise) -> Callable[[str], Any]:
    """Ask ``choose`` with some options and return its JSON."""

    def asked(options: str, profile: str = "paper.json") -> Any:
        return rankwise(f"choose --json --profile {profile} {options}").answer

    return asked


Choose = Callable[..., Any]


def test_the_keys_that_programs_rely_on(paper: Path, choose: Choose) -> None:
    answer = choose("--dims 3 --cutoff 2 --bytes 4096 --ranks 64")
    times = [candidate["time_s"] for candidate in answer["candidates"]]
    assert times == pytest.approx(sorted(times), rel=1e-6)
    assert answer["best"] == answer["candidates"][0]
    assert answer["auto"]["algorithm"] in ("direct", "comb", "shift")
    assert {(c["algorithm"], c["replication"]) for c in answer["candidates"]} == {
        ("direct", 1), ("neighbor-alltoall", 1), ("shift", 1), ("shift-posted", 1), ("comb", 1),
        ("team-shift", 2), ("team-shift", 4), ("team-shift", 8),
    }  # fmt: skip
    assert all(c["time_lo_s"] <= c["time_s"] <= c["time_hi_s"] for c in answer["candidates"])
    assert "decide" in answer["reason"]
    assert {crossover["axis"] for crossover in answer["crossovers"]} <= {"bytes", "cutoff"}


@pytest.mark.parametrize("placed", ["blocked", "cyclic"])
def test_a_placement_is_priced_as_predict_does(paper: Path, choose: Choose, rankwise: Rankwise, placed: str) -> None:
    profile = Profile.load(paper)
    near = Link(_curve(ALPHA_S / 10, BETA_S / 3), {"ssend": _curve(ALPHA_S / 5, BETA_S / 3)})
    replace(profile, links={**profile.links, "same-socket": near}).save(paper)
    about = f"--dims 4x3 --cutoff 1 --ranks-per-node 3 --placement {placed} --algorithm direct --mode isend"
    (row,) = rankwise(f"predict exchange --json {about} --bytes 4096 --profile paper.json").json["rows"]
    assert choose(about)["best"]["time_s"] == row["time_s"]


def test_a_placement_file_that_is_not_there_is_named(paper: Path, refused: Refused) -> None:
    for verb in ("choose", "predict"):
        assert "--placement nofile is neither" in refused(f"{verb} exchange --profile paper.json --placement nofile")


# The closed forms of the specification, for full shells on large periodic grids; m in bytes. Shift and direct one
# message at a time; overlapping ones with no processor overhead, where further messages cost their bytes alone.
def _message(m: float) -> float:
    return ALPHA_S + BETA_S * m


def _shift_ssend(d: int, k: int, m: int) -> float:
    return (
        sum(4 * k * _message((2 * k + 1) ** axis * m) for axis in range(d)) + d * ALPHA_S
    )  # no answer covers an axis' last acknowledgement


def _shift_isend(d: int, k: int, m: int) -> float:
    slabs = [(2 * k + 1) ** axis * m for axis in range(d)]
    return sum(k * (_message(slab) + BETA_S * slab) for slab in slabs)


def _comb_isend(d: int, k: int, m: int) -> float:
    slabs = [(2 * k + 1) ** axis * m for axis in range(d)]
    return sum(_message(slab) + (2 * k - 1) * BETA_S * slab for slab in slabs)


def _direct_isend(d: int, k: int, m: int) -> float:
    return _message(m) + ((2 * k + 1) ** d - 2) * BETA_S * m


@pytest.mark.parametrize("d", [1, 2, 3])
def test_times_are_those_of_the_closed_forms(d: int, paper: Path) -> None:
    chooser = Chooser(Profile.load(paper))
    for k in (1, 2, 3):
        for m in (0, 100, 20_000):
            question = Question((16,) * d, (True,) * d, k, m, modes=("ssend", "isend"), algorithms=("direct", "comb", "shift"))
            times = {c.name: c.time_s for c in chooser.choose(question).candidates}
            assert times["shift, ssend"] == pytest.approx(_shift_ssend(d, k, m))
            assert times["shift, isend"] == pytest.approx(_shift_isend(d, k, m))
            assert times["comb, isend"] == pytest.approx(_comb_isend(d, k, m))
            assert times["direct, isend"] == pytest.approx(_direct_isend(d, k, m))


def test_blocking_and_non_blocking_sends_are_decided_differently_at_the_papers_alpha_and_beta(paper: Path) -> None:
    """Shift against team shift: one message at a time teams save messages; overlapping, shift's hops cost half."""
    chooser = Chooser(Profile.load(paper))
    picked: dict[str, list[str]] = {}
    for mode in ("ssend", "isend"):
        picked[mode] = []
        for d, k, m in [(d, k, m) for d in (1, 2, 3) for k in (1, 2, 3, 4) for m in (8, 100, 1000, 20_000)]:
            question = Question((16,) * d, (True,) * d, k, m, modes=(mode,), algorithms=("direct", "shift"))
            picked[mode].append(chooser.choose(question).best.case.algorithm)
            direct, shift = (
                (_direct_isend(d, k, m), _shift_isend(d, k, m))
                if mode == "isend"
                # n messages one after the other, each acknowledged, against hops whose answers acknowledge them.
                else (((2 * k + 1) ** d - 1) * (_message(m) + ALPHA_S), _shift_ssend(d, k, m))
            )
            assert picked[mode][-1] == ("direct" if direct <= shift else "shift"), (mode, d, k, m)
    # In two and three dimensions blocking direct pays for its many messages; in flight together they cost bytes alone.
    assert picked["ssend"] != picked["isend"]
    assert picked["ssend"].count("shift") > 16 > picked["isend"].count("shift")


@pytest.mark.parametrize(("d", "k", "c"), [(1, 4, 2), (2, 2, 4), (3, 2, 8), (1, 1, None), (3, 1, None)])
def test_teams_pay_where_the_specification_says_so_for_blocking_sends_only(d: int, k: int, c: int | None, paper: Path) -> None:
    """One message at a time: 1-D c = 2 from k = 4 on, 2-D c = 4 from k = 2 on, 3-D c = 8 from k = 2 on, never at k = 1."""
    chooser = Chooser(Profile.load(paper))
    grid = {1: (512,), 2: (32, 16), 3: (8, 8, 8)}[d]
    blocking, overlapping = (
        chooser.choose(Question(grid, (True,) * d, k, 100, modes=(mode,))).best.case for mode in ("ssend", "isend")
    )
    assert (blocking.replication if blocking.algorithm == "team-shift" else None) == c
    assert overlapping.algorithm != "team-shift"


def test_hockney_decides_for_direct_only_where_overlap_is_known(tmp_path: Path) -> None:
    """With a processor's overhead a message, direct's advantage of overlapping sends ends: max(2no, ...)."""
    question = Question((16,) * 3, (True,) * 3, 2, 8, modes=("isend",), algorithms=("direct", "comb"))
    free = Chooser(Profile.load(_profile(tmp_path / "free.json", overhead_s=0.0)))
    busy = Chooser(Profile.load(_profile(tmp_path / "busy.json", overhead_s=0.5e-6)))
    assert free.choose(question).best.case.algorithm == "direct"
    assert busy.choose(question).best.case.algorithm == "comb"
    direct = next(c for c in busy.choose(question).candidates if c.case.algorithm == "direct")
    assert direct.time_s == pytest.approx(124 * 2 * 0.5e-6, rel=0.05)


@pytest.mark.parametrize(("dims", "cutoff"), some([*product(("64x1", "8x8", "5x4x3", "8x8x8"), ("1", "3"))], 1, 2, 4))
def test_open_grids_are_answered_for_every_algorithm(dims: str, cutoff: str, paper: Path, choose: Choose) -> None:
    asked = f"--dims {dims} --cutoff {cutoff} --bytes 1000"
    open_grid, ring = choose(f"{asked} --periodic none")["candidates"], choose(asked)["candidates"]
    of = lambda found, what: {(c["algorithm"], c["mode"], c["replication"]): c[what] for c in found}  # noqa: E731
    assert {c["algorithm"] for c in open_grid} == {"direct", "neighbor-alltoall", "shift", "shift-posted", "comb", "team-shift"}
    for key, messages in of(open_grid, "messages_per_rank").items():
        assert messages <= of(ring, "messages_per_rank").get(key, messages)


@pytest.mark.parametrize("d", some([1, 2, 3], 0, 2))
def test_crossovers_are_where_the_winner_changes(d: int, paper: Path) -> None:
    chooser = Chooser(Profile.load(paper))
    question = Question((16,) * d, (True,) * d, 2, 512)
    for crossover in chooser.choose(question).crossovers:

        def winner(at: int, axis: str = crossover.axis) -> str:
            asked = Question(question.grid, question.periodic, *((2, at) if axis == "bytes" else (at, 512)))
            return chooser.choose(asked).best.name

        assert (winner(crossover.at - 1), winner(crossover.at)) == (crossover.before, crossover.after)


def test_auto_is_the_best_of_those_with_a_window(paper: Path, choose: Choose, rankwise: Rankwise) -> None:
    options = "--dims 3 --cutoff 2 --bytes 4096 --ranks 512"
    everything, windows = choose(options), choose(f"{options} --algorithm direct,comb,shift")
    assert everything["best"]["algorithm"] == "team-shift"
    assert everything["auto"] == windows["best"] == windows["auto"]
    assert windows["otherwise"] is None
    assert "processes received data block by block" in everything["otherwise"] and windows["reason"] in everything["otherwise"]
    # The text comes to the same: what anybody can use first, then what is faster.
    lines = rankwise(f"choose {options} --profile paper.json").out.splitlines()
    assert lines[0].startswith("? No choice: the 95 % intervals of the fastest ")
    assert not any(line.startswith(("Why", "Also", "Size", "Cutoff")) for line in lines)
    assert next(line for line in lines if " best " in line and "x best" not in line).startswith("team-shift")


def test_the_answer_in_words(rankwise: Rankwise) -> None:
    _profile(Path("paper.json"), overhead_s=0.05e-6)
    out = rankwise("choose --profile paper.json --dims 2 --cutoff 1 --ranks 64 --bytes 8").out
    assert out.startswith("✓ Use direct, isend: 2.83 us (") and out.splitlines()[1].startswith("Quality: unknown (")
    out = " ".join(out.split())
    assert "Why direct, isend takes 2.83 us; comb, isend would take 4.45 us, 1.57 times as long" in out
    assert "the latency of messages decides: messages in 1 step instead of 2 take" in out
    assert re.search(r"Cutoff direct, isend up to [23]( to \d)?; comb, isend above\.", out)


def test_far_cutoffs_are_looked_at_in_half_octaves_and_counted(paper: Path) -> None:
    question = Question((64,), (True,), 50, 1000, algorithms=("direct", "shift"), modes=("isend",))
    assert cutoff_steps(question) == [*range(1, 9), 11, 16, 23, 32, 45, 50]
    assert cutoff_steps(replace(question, cutoff=2)) == [*range(1, 9)]
    counted: list[int] = []

    class Counts:
        def advance(self, steps: int = 1) -> None:
            counted.append(steps)

        def say(self, what: str) -> None:
            raise AssertionError(what)

    Chooser(Profile.load(paper)).choose(question, Counts())
    assert sum(counted) == steps_of(question)


def test_one_rank_sends_nothing_and_all_ways_take_as_long(paper: Path, rankwise: Rankwise) -> None:
    lines = rankwise("choose --profile paper.json --ranks 1").out.splitlines()
    rows = [line.split() for line in lines if line.startswith(("direct", "shift", "comb"))]
    assert len(rows) > 2
    assert all(row[-3:] == ["1.00", "~", "0"] for row in rows[2:])  # after the reason and the best
    assert times_as_long(3.0, 2.0) == 1.5
    assert times_as_long(3.0, 0.0) == math.inf


def test_equal_bytes_are_not_set_against_each_other(paper: Path, choose: Choose) -> None:
    answer = choose("--dims 3 --cutoff 2 --bytes 8 --ranks 512 --algorithm direct,comb")
    sent = {candidate["bytes_per_rank"] for candidate in answer["candidates"]}
    assert sent == {992} and "992 B instead" not in answer["reason"]


def test_the_map_is_drawn_with_its_borders(choose: Choose) -> None:
    _profile(Path("paper.json"), overhead_s=0.05e-6)
    crossovers = choose("--dims 3 --cutoff 2 --ranks 512 --algorithm comb,team-shift --plot map.svg")["crossovers"]
    text = " ".join(ElementTree.parse("map.svg").getroot().itertext())
    assert f"{format_size(crossovers[0]['at'])} →" in text
    for words in (
        "team-shift c=8, isend",
        "comb, isend",
        "size of a block",
        "cutoff in layers",
        "grid 8x8x8",
        "the intervals of two overlap",
    ):
        assert words in text


def test_sizes_beyond_the_measured_ones_are_answered_and_marked(paper: Path, choose: Choose) -> None:
    profile = json.loads(paper.read_text())
    for curve in (profile["links"]["other-node"], *profile["links"]["other-node"]["variants"].values()):
        curve["table"] = curve["table"][:-1]
    del profile["checksums"]
    paper.write_text(json.dumps(profile))
    for size, beyond in (("200kB", True), ("100", False)):
        answer = choose(f"--dims 1 --cutoff 1 --bytes {size} --ranks 8")
        assert any(note.startswith("extrapolated") for note in answer["best"]["notes"]) is beyond


def test_parameters_measured_beside_traffic_can_be_taken(choose: Choose) -> None:
    _profile(Path("loaded.json"), loaded=Loaded(2 * ALPHA_S, 3 * BETA_S, None, None, 4, 2.0, 3.0))
    options = "--dims 1 --cutoff 1 --bytes 1000 --ranks 8 --mode isend --algorithm direct"
    idle, busy = choose(options, "loaded.json"), choose(f"{options} --loaded", "loaded.json")
    assert idle["best"]["time_s"] == pytest.approx(ALPHA_S + 2000 * BETA_S)
    assert busy["best"]["time_s"] == pytest.approx(2 * ALPHA_S + 6000 * BETA_S)
    assert any("background traffic of 4 pairs" in note for note in busy["best"]["notes"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--ranks-per-node 4", "no link class same-socket, which ranks of one node need"),
        ("--loaded", "not measured under background traffic"),
        ("--link-model loggp", "no model 'loggp'"),
        ("--mode isend-self --algorithm direct", "only shift does"),
        ("--algorithm team-shift -c 1000", "1000"),
    ],
)
def test_what_cannot_be_answered_is_said(options: str, words: str, paper: Path, refused: Refused) -> None:
    assert words in refused(f"choose --profile paper.json --ranks 16 {options}")
