"""rankwise and its peers: one table of all comparisons that can be made here, won or lost, as docs/peers.md.

    python benchmarks/peers.py [--output docs/peers.md] [--only exchange,fft]        # make bench; about ten minutes

Each row is the time (or, of maps, the messages between nodes) of rankwise over its peer's: the median of ratios with its 95 %
interval, interleaved in one run. A comparison whose program was not built, or whose peer is not installed, is skipped and
listed. On a busy machine no figure is valid: the table says so, and the exit code is 6.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import metadata
from pathlib import Path

from harness import AS_ROOT, ROWS, busy_s, options

from rankwise.errors import EXIT_UNUSABLE
from rankwise.launch.mpi import find_mpi

HERE = Path(__file__).parent
_BUSY = 0.3  # of a core that other programs took, per core
_HEAD = """# rankwise and its peers

Of each comparison the time of rankwise over its peer's, or of maps what crosses nodes: below 1 rankwise is better. The
median of interleaved ratios of one run, with its 95 % interval; all rows of all comparisons, those that are lost too.
`make bench` measures them again.
"""


@dataclass(frozen=True)
class Comparison:
    """A benchmark that keeps rows; ``needs``: a program built for it, or modules of Python; ``why_lost``: of a row that was
    lost, by its beginning, the reason and what was tried."""

    name: str
    command: str  # below benchmarks
    peer: str
    needs: tuple[str, ...] = ()
    why_lost: tuple[tuple[str, str], ...] = ()

    def reason(self, what: str) -> str:
        """Return why a row was lost."""
        return next((why for begins, why in self.why_lost if what.startswith(begins)), "the reason is not known.")

    def missing(self) -> str:
        """Return what is not here; empty where the comparison can be made."""
        for need in self.needs:
            if "/" in need:
                if not Path(need).exists():
                    return f"{need} is not built"
            elif not _version(need):
                return f"{need} is not installed"
        return ""


_BENCH, _SYSTEM, _PREFIX = "build/benchmarks/tests/cpp", "build/benchmarks-system/tests/cpp", "build/benchmarks/prefix"
COMPARISONS = (
    Comparison("ping-pong", f"beside.py ping-pong {_BENCH}/pingpong_osu", "loop of osu_latency", (f"{_BENCH}/pingpong_osu",)),
    Comparison("exchange", f"beside.py exchange {_BENCH}/exchange_direct", "MPI", (f"{_BENCH}/exchange_direct",)),
    Comparison("halo", f"beside.py halo {_BENCH}/halo 8,1,1 16,1,4 32,2,1 64,1,4", "MPI", (f"{_BENCH}/halo",)),
    Comparison("neighbor lists", f"halo_ports.py {_PREFIX} --only atoms --no-bytes --mpi 'mpicc_abi mpifort mpiexec'",
               "an exchange of atoms as in LAMMPS, by hand", (f"{_PREFIX}/lib/librankwise.so",)),
    Comparison("preload", "preload.py neighbor --cases 8,1 16,4 32,4 64,1", "MPI"),
    Comparison("fft", f"fft3d.py {_SYSTEM}/fft3d_peers --mpiexec mpiexec.openmpi --sizes 32,64,128 --ranks 1,2", "FFTW-MPI",
               (f"{_SYSTEM}/fft3d_peers",),
               (("FFT of 32^3 on 1 rank",
                 "FFTW-MPI leaves axes 0 and 1 exchanged, so that its last lines lie in a row. In the order that rankwise "
                 "keeps, FFTW takes 65 us on one core, rankwise 58. Planning with FFTW_PATIENT gained nothing."),)),
    Comparison("fft-batch", f"fft3d.py {_SYSTEM}/fft3d_batch --mpiexec mpiexec.openmpi --batch 16", "FFTW-MPI",
               (f"{_SYSTEM}/fft3d_batch",),
               (("16 FFTs of 32^3",
                 "both transform field after field in place, and where the memory of a launch lies decides: launches gave 0.83 "
                 "to 1.05. Ranks of one node save little by fewer messages, and more fields at once leave the cache: 2, 4, 8 "
                 "and 16 fields together gave 1.09, 1.27, 1.23 and 1.44. FFTW over and over on one field, which stays in the "
                 "cache, takes 0.73 of its time for 16."),)),
    Comparison("grids", "mapping_quality.py --families 24 --seed 5 --effort 10ms --most-ranks 5000",
               "METIS, KaHIP, KaMinPar, Scotch", ("pymetis",)),
    Comparison("graphs", "graph_quality.py --graphs 24 --seed 5 --effort 1s", "METIS, KaHIP, KaMinPar, Scotch", ("pymetis",)),
)  # fmt: skip


def _version(module: str) -> str:
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return ""


def _said(*words: str) -> str:
    """Return the first version number that a program prints; empty where it is not here."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    found = re.search(r"\d+\.[\d.]+", done.stdout + done.stderr)
    return found[0] if found else ""


def versions() -> str:
    """Return which version of each peer is here."""
    known = {
        "MPICH": _said(str(find_mpi().launcher_path), "--version"), "Open MPI": _said("mpiexec.openmpi", "--version"),
        "FFTW": _said("pkg-config", "--modversion", "fftw3"), "METIS (pymetis)": _version("pymetis"),
        "KaHIP": _version("kahip"), "KaMinPar": _version("kaminpar"), "Scotch": _said("scotch_gpart", "-V"),
    }  # fmt: skip
    return ", ".join(f"{name} {version}" for name, version in known.items() if version)


def _busy_cores(seconds: float = 2.0) -> float:
    """Return how many cores other programs take now."""
    before_s, began_s = busy_s(), time.monotonic()
    time.sleep(seconds)
    return (busy_s() - before_s) / (time.monotonic() - began_s)


def rows_of(one: Comparison) -> Iterator[dict[str, object]]:
    """Run a comparison and yield what it keeps."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "rows"
        words = shlex.split(one.command)
        command = [sys.executable, str(HERE / words[0]), *words[1:]]
        environment = os.environ | {ROWS: str(kept), **AS_ROOT}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        lines = kept.read_text().splitlines() if kept.exists() else []
        if not lines:
            raise RuntimeError((done.stderr.strip().splitlines() or ["it printed no figure"])[-1])
        for row in map(json.loads, lines):
            yield row | {"command": one.command, "why_lost": one.reason(row["what"])}


def table(rows: Sequence[dict[str, object]], skipped: Sequence[str], busy: float, cores: int) -> str:
    """Return the page in Markdown."""
    lost = sum(float(str(row["low"])) > 1 for row in rows)
    text = [
        _HEAD,
        f"{date.today().isoformat()}, {cores} cores: {len(rows)} rows, {lost} of them lost beyond doubt. {versions()}.\n",
        "| comparison | peer | ratio | 95 % | |",
        "|---|---|---|---|---|",
    ]
    if busy > _BUSY * cores:
        text.insert(2, f"**Not valid: other programs took {busy:.1f} of {cores} cores.**\n")
    for row in rows:
        low, high = float(str(row["low"])), float(str(row["high"]))
        verdict = "lost" if low > 1 else "won" if high < 1 else ""
        text.append(f"| {row['what']} | {row['peer']} | {row['ratio']:.2f} | {low:.2f} to {high:.2f} | {verdict} |")
    reasons = [f"- {row['what']}: {row['why_lost']}" for row in rows if float(str(row["low"])) > 1]
    text += ["", "Why rows were lost, and what was tried:", "", *reasons] if reasons else []
    commands = sorted({f"python benchmarks/{row['command']}" for row in rows})
    text += ["", "Measured by:", "", "<!-- not run: takes minutes -->", "```sh", *commands, "```"]
    text += ["", "Not measured here:", "", *(f"- {why}" for why in skipped)] if skipped else []
    return "\n".join(text) + "\n"


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--output", type=Path, help="the page; default: docs/peers.md, with --only printed")
    parser.add_argument("--only", default="", help="comparisons, separated by commas")
    asked = parser.parse_args()
    names = [one.name for one in COMPARISONS]
    chosen = asked.only.split(",") if asked.only else names
    for name in chosen:
        if name not in names:
            parser.error(f"--only '{name}' is no comparison: choose from {', '.join(names)}")
    rows, skipped, cores = [], [], len(os.sched_getaffinity(0))
    busy = _busy_cores()
    for one in COMPARISONS:
        if one.name not in chosen:
            continue
        why = one.missing()
        try:
            found = [] if why else list(rows_of(one))
        except RuntimeError as error:
            found, why = [], str(error)
        rows += found
        if why:
            skipped.append(f"{one.name} ({one.peer}): {why}")
        print(f"{one.name}: {why or f'{len(found)} rows'}", flush=True)
        busy = max(busy, _busy_cores(1.0))
    page, output = table(rows, skipped, busy, cores), asked.output or (None if asked.only else Path("docs/peers.md"))
    if output is None:
        print(page)
    else:
        output.write_text(page, encoding="utf-8")
        print(output)
    return EXIT_UNUSABLE if busy > _BUSY * cores else 0


if __name__ == "__main__":
    sys.exit(main())
