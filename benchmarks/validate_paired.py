"""The model against itself: 138 exchanges on two ranks, each run by turns with what it is made of, against the bars.

    python benchmarks/validate_paired.py [--profile machine.json] [--launches 10] [--seconds 0.3] [--samples FILE] [-o FILE]

direct, shift and comb by ssend, send, isend and persistent; shift by isend-self; neighbor-alltoall; team-shift of two by the
same four; k = 1, 2, 4; 8 B, 1 kB, 64 kB. The profile only tells the raw error beside it: without one it is measured first.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from harness import Table, load, options

from rankwise.api.rows import validation_blocks
from rankwise.blocks.terminal import show
from rankwise.engines.run import Here
from rankwise.engines.session import compare_engines
from rankwise.files import write_json
from rankwise.measure.campaign import Plan, default_sizes
from rankwise.measure.profiles import measure_machine
from rankwise.workloads.exchange import Asked, ExchangeCase, make_cases

SIZES, CUTOFFS = (8, 1000, 64000), (1, 2, 4)
FOUR = ("ssend", "send", "isend", "persistent")
WAYS = (
    (("direct", "shift", "comb"), FOUR, CUTOFFS),
    (("shift",), ("isend-self",), CUTOFFS),
    (("neighbor-alltoall",), ("isend",), CUTOFFS),
    (("team-shift",), FOUR, (1,)),  # with one team the cutoff makes no difference
)


def cases() -> list[ExchangeCase]:
    """Return the 138 cases."""
    return [case for names, modes, ks in WAYS for case in make_cases(Asked(names, modes, ks, SIZES), (2,), (True,))]


def main() -> None:
    """Run them and say which bars hold."""
    parser = options(__doc__)
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--launches", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--samples", type=Path, help="keep the raw samples")
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        profile = given.profile or Path(folder) / "machine.json"
        if given.profile is None:
            measure_machine(profile, False, Plan({}, default_sizes(), seconds=12.0))
        before = os.getloadavg()[0]
        begin_s = time.monotonic()
        validation = compare_engines(
            profile, cases(), ("model", "run"), Here(), given.samples or Path(folder) / "paired.samples.jsonl",
            given.seconds,
            launches=given.launches,
        )  # fmt: skip
        took_s = time.monotonic() - begin_s
        if given.output is not None:
            write_json(given.output, validation.to_dict())
    show(validation_blocks(validation))
    paired = validation.summary.paired
    worst = max(paired.groups, key=lambda group: group.error)
    composed = [
        c.paired.error for c in validation.comparisons if c.paired and c.paired.error is not None and _is_composed(c.exchange)
    ]
    table = Table()
    table.title(f"load {before:.1f} before, {load()} after; {len(validation.comparisons)} rows")
    table.row("took", took_s, 60, "s")
    for name, value, least, most in (
        ("mean error", paired.error, 0.0, 0.06),
        (f"worst algorithm and mode ({worst.group})", worst.error, 0.0, 0.10),
        ("floor", paired.floor, 0.0, 0.05),
        ("share inside the interval", paired.share_inside, 0.93, 0.98),
        ("half-width of the interval", paired.half_width, 0.0, 0.20),
    ):
        table.row(name, 100 * value, 100 * most, least=100 * least)
    table.row(f"of {len(composed)} rows that are put together of several steps", 100 * sum(map(abs, composed)) / len(composed))


def _is_composed(case: ExchangeCase) -> bool:
    """Tell whether more than one step goes into a prediction: else it is an ingredient itself, and copies."""
    return case.algorithm == "team-shift" or (case.algorithm == "shift" and (case.cutoff > 1 or case.mode in ("send", "ssend")))


if __name__ == "__main__":
    main()
