"""How often the alarms cry wolf, and how often they sleep: simulated histories of a machine with states, and a real link.

    python benchmarks/alarms.py [--runs 1000] [--sessions 20] [--seed 1]
    python benchmarks/alarms.py --real 80mbit [--sessions 20]               # root needed

The machine: a slow state for a fifth of the time (2.5 minutes at a time), a drift of 3 % that forgets itself in half an
hour, 5 % between launches, figure by figure. Sessions of 20 launches over 30 minutes, 3 hours apart; the last one is
confirmed by another half an hour after it. A false alarm is exit code 3 with nothing changed; power is exit code 3 with the
machine slower by 20 % in all figures, or in one of three. Beside it the rule of before: two profiles of three launches,
slower where the interval of a ratio lies beyond 10 %. Also: false change points in series without a change, and found ones.
Exits with 1 when a bar is missed: at most 1 % false alarms, at least 95 % power with 20 sessions.

Real: sessions of ten launches one after the other over a link of 100 Mbit/s between two nodes in namespaces; then the kernel
shapes it anew (80 Mbit/s: 25 % more time per byte) and two sessions more decide. Below stands what the same launches say when
what their witnesses saw is set aside: on a machine that is never quiet every session ends as unusable. Exits with 1 when a
session before the change was found slower, or the last one neither slower nor unusable, or with its witnesses aside not slower.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from rankwise.arrays import Floats
from rankwise.health.judge import Rules, change_points, judge
from rankwise.health.record import Session, read

FIGURES = ("link.latency_s", "link.exchange_s", "link.s_per_byte")
LAUNCHES, SPAN_MIN, APART_H, CONFIRMED_AFTER_H = 20, 30.0, 3.0, 1.0  # half an hour between end and start
FAST_MIN, SLOW_MIN = 10.0, 2.5
DRIFT, DRIFT_MIN, NOISE = 0.03, 30.0, 0.05
START = datetime(2026, 1, 1, tzinfo=UTC)
MOST_FALSE, LEAST_POWER = 0.01, 0.95


def machine(times_min: Floats, runs: int, slow: float, rng: np.random.Generator) -> Floats:
    """Return the logarithm of what a launch takes at these times (sorted), in so many histories: runs x times."""
    gaps = np.diff(times_min, prepend=times_min[0] - 1e6)
    # A Markov chain of two states and an AR(1), both at uneven times.
    share = SLOW_MIN / (FAST_MIN + SLOW_MIN)
    keeps = np.exp(-gaps * (1 / FAST_MIN + 1 / SLOW_MIN))
    state = np.empty((runs, times_min.size))
    drift = np.empty((runs, times_min.size))
    is_slow, level = np.zeros(runs), np.zeros(runs)
    for i, (kept, gap) in enumerate(zip(keeps, gaps, strict=True)):
        is_slow = (rng.random(runs) < share + (is_slow - share) * kept).astype(float)
        rho = math.exp(-gap / DRIFT_MIN)
        level = rho * level + DRIFT * math.sqrt(1 - rho**2) * rng.standard_normal(runs)
        state[:, i], drift[:, i] = is_slow, level
    return math.log1p(slow) * state + drift


def histories(runs: int, sessions: int, slow: float, rng: np.random.Generator) -> tuple[Floats, list[float]]:
    """Return the values of all sessions (runs x sessions + 2 x figures), the last two being judged, and when they began."""
    begins_h = [APART_H * i for i in range(sessions + 1)]
    begins_h.append(begins_h[-1] + CONFIRMED_AFTER_H)
    starts = np.repeat(60 * np.array(begins_h), LAUNCHES)
    times = starts + np.tile((np.arange(LAUNCHES) + 0.5) * SPAN_MIN / LAUNCHES, len(begins_h))
    logs = machine(times, runs, slow, rng)[:, :, None] + NOISE * rng.standard_normal((runs, times.size, len(FIGURES)))
    by_session = logs.reshape(runs, len(begins_h), LAUNCHES, len(FIGURES))
    return np.quantile(by_session, 0.25, axis=2), begins_h


def replay(values: Floats, begins_h: list[float], slower: Floats, rules: Rules) -> str:
    """Return the verdict of the last session of one history whose last two are slower by logarithms; the others are known."""
    sessions: list[Session] = []
    for i, at_h in enumerate(begins_h):
        judged = i >= len(begins_h) - 2
        logs = values[i] + (slower if judged else 0.0)
        at = (START + timedelta(hours=at_h)).isoformat()
        value = dict(zip(FIGURES, map(float, logs), strict=True))
        session = Session(at, {"hostname": "simulated"}, 60 * SPAN_MIN, (), value, "", "same")
        if judged:
            found = judge(session, sessions, rules)
            session = session.judged(found.verdict, found.over)
        sessions.append(session)
    return sessions[-1].verdict


def alarm_rates(runs: int, sessions: int, slow: float, slower: Floats, seed: int) -> dict[str, float]:
    """Return how often each verdict is given."""
    values, begins_h = histories(runs, sessions, slow, np.random.default_rng(seed))
    verdicts = Counter(replay(one, begins_h, slower, Rules()) for one in values)
    return {verdict: count / runs for verdict, count in verdicts.items()}


def rule_of_before(runs: int, slow: float, slower: float, seed: int) -> float:
    """Return how often two profiles of three launches in 15 s each, 3 hours apart, were told apart by more than 10 %."""
    rng = np.random.default_rng(seed)
    times = np.array([0.0, 0.1, 0.2, 180.0, 180.1, 180.2])
    logs = machine(times, runs, slow, rng) + NOISE * rng.standard_normal((runs, times.size))
    means = [logs[:, :3].mean(axis=1), logs[:, 3:].mean(axis=1) + slower]
    drawn = rng.integers(0, 3, size=(200, 3))
    half = [np.quantile(part[:, drawn].mean(axis=2), [0.025, 0.975], axis=1) for part in (logs[:, :3], logs[:, 3:] + slower)]
    down = np.hypot(means[1] - half[1][0], half[0][1] - means[0])
    return float(np.mean(means[1] - means[0] - down > math.log(1.1)))


def change_point_rates(runs: int, seed: int) -> list[tuple[str, float]]:
    """Return shares of series with a (false or right) change point: AR(1) of 0.3 without one, and independent ones of 4 %."""
    rng = np.random.default_rng(seed)
    rows = []
    for count in (20, 40, 100):
        series = np.zeros((runs, count))
        series[:, 0] = rng.standard_normal(runs)
        for i in range(1, count):
            series[:, i] = 0.3 * series[:, i - 1] + math.sqrt(1 - 0.3**2) * rng.standard_normal(runs)
        rows.append((f"{count} sessions, none there (AR 0.3)", float(np.mean([bool(change_points(0.04 * s)) for s in series]))))
    for step, at in ((0.1, 20), (0.1, 34), (0.2, 20), (0.2, 35)):
        series = 0.04 * rng.standard_normal((runs, 40))
        series[:, at:] += math.log1p(step)
        found = [change_points(s) for s in series]
        rows.append((f"40 sessions, +{100 * step:.0f} % at {at}, found", float(np.mean([bool(points) for points in found]))))
        near = [any(abs(point - at) <= 2 for point in points) for points in found]
        rows.append((f"40 sessions, +{100 * step:.0f} % at {at}, placed within 2", float(np.mean(near))))
    return rows


def aside(history: Path) -> list[str]:
    """Return the verdicts that the launches of a history give when nothing is held against them."""
    sessions: list[Session] = []
    for one in read(history):
        launches = [replace(launch, foreign_cpus=0.0, steal_share=0.0, switches_per_s=0.0) for launch in one.launches]
        undisturbed = Session.of(one.at, one.key, launches, one.digest)
        found = judge(undisturbed, sessions, Rules(apart_s=1.0))
        sessions.append(undisturbed.judged(found.verdict, found.over))
        rows = ", ".join(f"{row.figure} {row.difference:+.3f} (limit {row.limit:.3f})" for row in found.rows)
        print(f"   {found.verdict:8s} {rows}")
    return [one.verdict for one in sessions]


def real(sessions: int, slower: str) -> bool:
    """Print a line a session on a link that becomes slower; return whether the alarm went off then, and not before."""
    from harness import load, nodes_up

    words = ("health", "--links", "other-node", "--as", "nodes", "--launches", "10", "--seconds", "15", "--confirm-after", "1s")
    with nodes_up("100mbit", 2, frame_bytes=4500) as on:
        for rate, count in (("100mbit", sessions), (slower, 2)):
            print(f"{rate}:")
            for host in on.up.hosts:
                on.up.slow(host, rate, receives=False)
            for _ in range(count):
                found = on.asked(*words, "--hosts", on.hosts, ends=(3, 5))
                print(f"   {load()}   {found['verdict']}: {found['reason']}", flush=True)
        print("with what the witnesses saw set aside:")
        bare = aside(on.folder / "health.jsonl")
        told = [one.verdict for one in read(on.folder / "health.jsonl")]
    return "slower" not in told[:-2] + bare[:-2] and told[-1] in ("slower", "unusable") and bare[-1] == "slower"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", metavar="RATE", help="a real link, held to this rate at last, instead")
    options = parser.parse_args()
    if options.real:
        return 0 if real(options.sessions, options.real) else 1
    all_slower, one_slower = np.full(3, math.log(1.2)), np.array([math.log(1.2), 0.0, 0.0])
    print(f"{options.runs} histories of {options.sessions} sessions, per cent:")
    print("states   rule of before: false, power   new: false, power in all, in one of three   unclear with nothing changed")
    missed = False
    for slow in (0.0, 0.1, 0.25):
        before = [rule_of_before(options.runs, slow, slower, options.seed) for slower in (0.0, math.log(1.2))]
        none, everything, one = (
            alarm_rates(options.runs, options.sessions, slow, slower, options.seed)
            for slower in (np.zeros(3), all_slower, one_slower)
        )
        false, power, alone = (rates.get("slower", 0.0) for rates in (none, everything, one))
        print(
            f"{100 * slow:4.0f} %   {100 * before[0]:20.1f}, {100 * before[1]:5.1f}   {100 * false:10.1f}, "
            f"{100 * power:12.1f}, {100 * alone:15.1f}   {100 * none.get('unclear', 0):28.1f}"
        )
        missed |= false > MOST_FALSE or (options.sessions >= 20 and power < LEAST_POWER)
    print("change points, per cent:")
    for name, share in change_point_rates(options.runs, options.seed):
        print(f"   {name:45s} {100 * share:5.1f}")
    print("a bar is missed" if missed else "all bars are kept")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
