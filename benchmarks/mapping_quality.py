"""How good refined is on the 432 instances of hunold2020: against every other algorithm, the general mappers, the bound.

    python benchmarks/mapping_quality.py [--effort 10ms] [--objective j_sum]
    python benchmarks/mapping_quality.py --families 90 [--effort 1s] [--seed 7] [--most-ranks 20000]
    python benchmarks/mapping_quality.py --prove 200 [--seed 7]       # tiny problems of the same families, beside proven optima

With --families: auto on stencils and grids drawn at random (a new seed each run, unless given), beside METIS, KaHIP, KaMinPar
and Scotch where they are installed, each made exactly balanced; ties, wins and losses counted.
One core, one instance after the other. The other algorithms run here; the general mappers' scores were measured.
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict

import numpy as np
from harness import keep_row, median, options

from rankwise.mapping import How, Mappings, map_grid
from rankwise.mapping.mapper import steps_of
from rankwise.papers.hunold2020_scores import PAPERS_ALGORITHMS, STENCILS, Instance, instances, peers
from rankwise.progress import meter
from rankwise.units import format_time, parse_seconds

OTHERS = ["blocked", *PAPERS_ALGORITHMS, "stencil-strips:code"]


def mapped(instance: Instance, algorithms: list[str], effort_s: float = 0.0, objective: str = "j_sum") -> Mappings:
    nodes = [instance.ranks_per_node] * instance.nodes
    return map_grid(
        instance.grid, nodes, instance.stencil, algorithms=algorithms, how=How(keep_maps=False, steps=steps_of(effort_s),
        objective=objective),
    )  # fmt: skip


def compare_families(count: int, seed: int, most_ranks: int, effort_s: float) -> None:
    from mapping_families import drawn, own_map, peers_maps

    outcome: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    lost: list[str] = []
    gaps: dict[str, list[float]] = defaultdict(list)
    ratios: dict[str, list[float]] = defaultdict(list)
    with meter("problems", count) as bar:
        for number in range(count):
            problem = drawn(seed, number, most_ranks)
            j_sum, j_max, bound = own_map(problem, effort_s)
            if bound > j_sum:
                raise SystemExit(f"the bound {bound} is above {j_sum}: {problem}")
            if bound:
                gaps[problem.family].append(j_sum / bound - 1)
            for name, theirs, their_max in peers_maps(problem, seed):
                for who in (name, problem.family):
                    outcome[who][0 if j_sum < theirs else 1 if j_sum == theirs else 2] += 1
                    outcome[who][3] += j_max > their_max
                ratios[name].append(j_sum / theirs if theirs else 1.0)
                if j_sum > theirs:
                    lost.append(
                        f"{problem}: {j_sum}, {name} {theirs} ({100 * (j_sum / theirs - 1):.1f} % more)"
                        if theirs
                        else str(problem)
                    )
            bar.advance()
    print(f"{count} problems of seed {seed}, up to {most_ranks} ranks, {effort_s:g} s each")
    for who, (wins, ties, losses, peaks) in outcome.items():
        gap = f", mean gap to the bound {100 * statistics.mean(gaps[who]):.1f} %" if gaps.get(who) else ""
        print(f"{who:16} J_sum: {wins} wins, {ties} ties, {losses} losses; J_max larger {peaks} times{gap}")
    for name, of_peer in ratios.items():
        keep_row(f"map of {count} grids and stencils, J_sum, {format_time(effort_s)} each", name, median(np.array(of_peer)))
    for line in lost:
        print(f"  {line}")


def compare_with_optima(count: int, seed: int) -> None:
    from mapping_families import own_map, tiny

    from rankwise.mapping.optimum import proven_optimum

    optimal = 0
    with meter("problems", count) as bar:
        for number in range(count):
            problem = tiny(seed, number)
            least = proven_optimum(problem.grid, problem.sizes, problem.offsets, problem.weights, problem.periodic)
            j_sum, _, bound = own_map(problem, 0.1)
            if least is None or bound > least:
                raise SystemExit(f"the bound {bound} is above the optimum {least}, or that was not proved: {problem}")
            optimal += j_sum == least
            if j_sum != least:
                print(f"  {problem}: {j_sum}, optimum {least}")
            bar.advance()
    print(f"{optimal} of {count} tiny problems of seed {seed} are optimal, no bound is above an optimum")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--effort", default="10ms", help="as for rankwise map: 10ms, 1s")
    parser.add_argument("--objective", default="j_sum", choices=["j_sum", "j_max"])
    parser.add_argument("--families", type=int, default=0, help="problems to draw")
    parser.add_argument("--prove", type=int, default=0, help="tiny problems to draw")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--most-ranks", type=int, default=20_000)
    given = parser.parse_args()
    if given.prove:
        compare_with_optima(given.prove, given.seed)
        return
    if given.families:
        compare_families(given.families, given.seed, given.most_ranks, parse_seconds(given.effort, "--effort"))
        return
    effort_s = parse_seconds(given.effort, "--effort")
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    seconds: list[float] = []
    worse: list[str] = []
    j_max_worse: list[str] = []
    beaten = {"that of the other mapper with the least J_sum": 0, "that of others with no more J_sum": 0}
    chosen = instances()
    mapped(chosen[0], ["refined"])  # what is imported and built once must not count
    with meter(f"refined, {given.effort} each", len(chosen)) as bar:
        for instance in chosen:
            start_s = time.process_time()
            own = mapped(instance, ["refined"], effort_s, given.objective)
            seconds.append(time.process_time() - start_s)
            refined = own.results[0]
            rivals = {result.algorithm: (result.j_sum, result.j_max) for result in mapped(instance, OTHERS).results}
            rivals |= peers()[instance]
            name = f"{'x'.join(map(str, instance.grid))} on {instance.nodes}, {instance.stencil}"
            fewest = min(rivals, key=lambda mapper: rivals[mapper])
            flattest = min(rivals, key=lambda mapper: rivals[mapper][1])
            if refined.j_sum > rivals[fewest][0]:
                worse.append(f"{name}: {refined.j_sum}, {fewest} {rivals[fewest][0]}")
            even = [j_max for j_sum, j_max in rivals.values() if j_sum <= refined.j_sum]
            for what, most in zip(beaten, (rivals[fewest][1], min(even, default=refined.j_max)), strict=True):
                beaten[what] += refined.j_max > most
            if refined.j_max > rivals[flattest][1]:
                j_max_worse.append(f"{name}: {refined.j_max}, {flattest} {rivals[flattest][1]}")
            kind = sums[instance.stencil, len(instance.grid)]
            kind[0] += refined.j_sum
            kind[1] += own.bound
            bar.advance()
    count = len(seconds)
    print(f"{count} instances, effort {given.effort}, objective {given.objective}; processor time of refined: median "
          f"{format_time(statistics.median(seconds))}, longest {format_time(max(seconds))}")  # fmt: skip
    for stencil in STENCILS:
        for axes in (2, 3):
            total, bound = sums[stencil, axes]
            print(f"{stencil:28} {axes}-D  sum of J_sum / sum of bounds = {total / bound:.4f}")
    print(f"J_sum is no larger than any other mapper's in {count - len(worse)} of {count} instances")
    for line in worse:
        print(f"  {line}")
    for what, times in beaten.items():
        print(f"J_max is no larger than {what} in {count - times} ({100 * (1 - times / count):.1f} %)")
    share = 1 - len(j_max_worse) / count
    print(
        f"J_max is no larger than any other mapper's, whatever its J_sum, in {count - len(j_max_worse)} ({100 * share:.1f} %)"
    )
    for line in j_max_worse:
        print(f"  {line}")


if __name__ == "__main__":
    main()
