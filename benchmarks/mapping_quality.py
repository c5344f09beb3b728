"""How good refined is on the 432 instances of hunold2020: against every other algorithm, the general mappers, the bound.

    python benchmarks/mapping_quality.py [--effort 10ms] [--objective j_sum]

One core, one instance after the other. The other algorithms run here; the general mappers' scores were measured.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict

from rankwise.mapping import Mappings, map_grid
from rankwise.mapping.mapper import steps_of
from rankwise.papers.hunold2020 import PAPERS_ALGORITHMS, STENCILS, Instance, instances, peers
from rankwise.progress import meter
from rankwise.units import format_time, parse_seconds

OTHERS = ["blocked", *PAPERS_ALGORITHMS, "stencil-strips:code"]


def mapped(instance: Instance, algorithms: list[str], effort_s: float = 0.0, objective: str = "j_sum") -> Mappings:
    nodes = [instance.ranks_per_node] * instance.nodes
    return map_grid(
        instance.grid, nodes, instance.stencil, algorithms=algorithms, keep_maps=False, steps=steps_of(effort_s),
        objective=objective,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", default="10ms", help="as for rankwise map: 10ms, 1s")
    parser.add_argument("--objective", default="j_sum", choices=["j_sum", "j_max"])
    given = parser.parse_args()
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
    print(f"J_max is no larger than any other mapper's, whatever its J_sum, in {count - len(j_max_worse)} ({100 * share:.1f} %)")
    for line in j_max_worse:
        print(f"  {line}")


if __name__ == "__main__":
    main()
