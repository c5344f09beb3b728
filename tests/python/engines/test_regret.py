"""The regret of a choice: its figures worked out by hand, and one measured on this machine."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rankwise.decide.choice import Candidate, Choice, Question
from rankwise.decide.regret import Regret, Trial
from rankwise.workloads.exchange import ExchangeCase
from verbs import Rankwise, Refused


def _trial(**times_s: Sequence[float]) -> Trial:
    """Make a trial whose first candidate was chosen; names are those of algorithms."""
    cases = {name: ExchangeCase(name, "isend", (8,), (True,), 1, 100) for name in times_s}
    candidates = tuple(
        Candidate(case, f"{name}, isend", 1e-6 * i, 0.0, 1e-6, 1e-6, 2, 200, ()) for i, (name, case) in enumerate(cases.items())
    )
    choice = Choice(Question((8,), (True,), 1, 100), candidates, "", ())
    return Trial(choice, {case: times_s[name] for name, case in cases.items()})


def test_who_chose_the_fastest_regrets_nothing() -> None:
    trial = _trial(direct=(1.0, 1.1, 1.0, 1.1), shift=(2.0, 2.0, 2.0, 2.0))
    assert (trial.regret, trial.regret_to_least, trial.noise) == (0.0, 0.0, 0.0)


def test_regret_is_what_the_choice_takes_longer() -> None:
    trial = _trial(direct=(3.0,) * 4, shift=(2.0,) * 4)
    assert trial.regret == trial.regret_to_least == pytest.approx(0.5)
    assert trial.noise == 0.0
    assert trial.fastest.algorithm == "shift"


def test_luck_is_noise_and_no_regret() -> None:
    """Two candidates that take as long: each is lucky in one half; who picks by luck loses as often as he wins."""
    trial = _trial(direct=(1.0, 2.0, 1.0, 2.0), shift=(2.0, 1.0, 2.0, 1.0))
    # Even rounds pick direct, in odd ones it takes 2; the choice, direct too, is just as slow there.
    # Odd rounds pick shift, which takes 2 in even ones, where the choice takes 1.
    assert trial.regret == pytest.approx((2 / 2 - 1 + 1 / 2 - 1) / 2)
    assert trial.noise == pytest.approx(1.0)


def test_a_summary_is_the_mean_over_all_trials() -> None:
    regret = Regret("machine.json", [_trial(direct=(3.0,) * 4, shift=(2.0,) * 4), _trial(direct=(1.0,) * 4, shift=(2.0,) * 4)])
    summary = regret.summary
    assert summary.to_dict() == {
        "cases": 2, "mean_regret": pytest.approx(0.25), "mean_regret_to_least": pytest.approx(0.25), "noise_floor": 0.0,
        "max_regret": pytest.approx(0.5), "share_fastest_chosen": 0.5,
    }  # fmt: skip
    row = regret.to_dict()["rows"][0]
    assert (row["chosen"]["algorithm"], row["fastest"]["algorithm"]) == ("direct", "shift")
    assert [c["measured_time_s"] for c in row["candidates"]] == [3.0, 2.0]


def test_every_candidate_is_run_in_every_round(rankwise: Rankwise, imported: Callable[..., Path]) -> None:
    imported("same-socket")
    asked = "--ranks 2 --cutoff 1 --bytes 8,1000 --algorithm direct,shift --mode isend,ssend"
    result = rankwise(f"validate choose {asked} --rounds 2 --seconds 0.005 --json").answer
    assert result["summary"]["cases"] == len(result["rows"]) == 2
    for row in result["rows"]:
        assert {(c["algorithm"], c["mode"]) for c in row["candidates"]} == {
            (algorithm, mode) for algorithm in ("direct", "shift") for mode in ("isend", "ssend")
        }
        assert all(len(c["round_times_s"]) == 2 and min(c["round_times_s"]) > 0 for c in row["candidates"])
        assert row["chosen"] == {key: row["candidates"][0][key] for key in row["chosen"]}
        fastest = min(row["candidates"], key=lambda c: c["measured_time_s"])
        assert row["fastest"] == {key: fastest[key] for key in row["fastest"]}


def test_one_round_tells_nothing(refused: Refused, imported: Callable[..., Path]) -> None:
    imported("same-socket")
    assert "--rounds 1 is too few" in refused("validate choose --ranks 2 --rounds 1")


@pytest.mark.simgrid
def test_a_choice_is_held_against_a_simulation(rankwise: Rankwise, refused: Refused, jureca: Path) -> None:
    result = rankwise(
        f"validate choose --engine simgrid --profile {jureca} --ranks 27 --dims 3 --cutoff 1 --bytes 8,64kB --json"
    ).answer
    assert result["engine"] == "simgrid"
    small, large = result["rows"]
    assert {"direct", "comb", "shift", "team-shift"} <= {c["algorithm"] for c in small["candidates"]}
    # Every message of this table may be in flight at once: where bytes cost nothing, one latency is all.
    assert small["chosen"]["algorithm"] == small["fastest"]["algorithm"] == "direct"
    assert small["regret"] == 0.0
    (alone,) = [
        c for c in small["candidates"] if (c["algorithm"], c["mode"], c["replication"]) == ("team-shift", "persistent", 8)
    ]
    assert alone["measured_time_s"] > 0
    assert small["noise"] == large["noise"] == 0.0
    assert "choose one of run, simgrid" in refused(f"validate choose --engine guess --profile {jureca}")
