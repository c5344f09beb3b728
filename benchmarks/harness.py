"""What benchmarks share: the programs that they run, ratios of paired times, nodes in namespaces, figures beside bars."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.statistics import median_interval_95

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "python" / "cluster"))  # of the module nodes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from nodes import Nodes


def options(about: str | None, *, program: bool = False) -> argparse.ArgumentParser:
    """The parser of a benchmark; program: of one that is built, and started by a launcher."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if program:
        parser.add_argument("program")
        parser.add_argument("--mpiexec", default="mpiexec", help="with its options, as one word")
    return parser


def linked_with(prefix: Path) -> list[str]:
    """What a compiler is given to link a program with the MPI that is installed in a folder."""
    return [f"-I{prefix}/include", f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-lmpi"]


AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # Open MPI's
COLLECTIVE = Path(__file__).with_name("collective.c")


def compiled(source: Path, program: Path, compiler: str | Path, *linked: str) -> Path:
    """Compile a program in C; return it."""
    subprocess.run([compiler, "-O2", "-w", source, *linked, "-o", program], check=True)
    return program


def records(words: Sequence[object], environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """What a program prints, a line of JSON each."""
    done = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


def asked(*words: str, cwd: Path, ends: Sequence[int] = ()) -> dict[str, Any]:
    """Return what rankwise answers in JSON, run in a folder, that ends with 0, with 6 (poor quality), or with what is given."""
    command = [sys.executable, "-m", "rankwise", *words, "--json"]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode not in (0, 6, *ends):
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return dict(json.loads(done.stdout))


@dataclass(frozen=True)
class Median:
    """A median with its 95 % interval by order statistics."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def median(samples: ArrayLike) -> Median:
    return Median(float(np.median(samples)), *median_interval_95(np.asarray(samples)))


def ratio(row: Mapping[str, Any], name: str, other: str) -> Median:
    """Of times that were taken by turns: a ratio within each repetition."""
    return median(np.array(row[name]) / np.array(row[other]))


ROWS = "RANKWISE_BENCHMARK_ROWS"  # names a file for rows of the table of peers (peers.py)


def keep_row(what: str, peer: str, found: Median) -> None:
    """Keep a ratio of rankwise to a peer for the table of peers, where that is being made."""
    if path := os.environ.get(ROWS):
        with Path(path).open("a", encoding="utf-8") as file:
            row = {"what": what, "peer": peer, "ratio": found.value, "low": found.low, "high": found.high}
            file.write(json.dumps(row) + "\n")


class Table:
    """Prints figures beside their bars, and counts the bars that are missed."""

    def __init__(self) -> None:
        self.missed = 0

    def title(self, text: str) -> None:
        print(f"\n{text}", flush=True)

    def row(self, what: str, figure: float, most: float | None = None, unit: str = "%", least: float | None = None) -> None:
        bars = ([f">= {least:g}"] if least is not None else []) + ([f"<= {most:g}"] if most is not None else [])
        good = (least is None or figure >= least) and (most is None or figure <= most)
        self.missed += not good
        verdict = f"{', '.join(bars):<16}{'reached' if good else 'NOT reached'}" if bars else ""
        print(f"  {what:<58}{figure:>9.3g} {unit:<3} {verdict}".rstrip(), flush=True)

    def errors(self, errors: ArrayLike, *bars: tuple[float, float | None]) -> None:
        """Rows of percentiles (50: the median, 100: the largest) of absolute errors, each with its bar in per cent."""
        for p, most in bars:
            self.row({50: "median", 100: "largest"}.get(p, f"{p}th percentile"), percentile(errors, p), most)


def percentile(values: ArrayLike, p: float) -> float:
    """Return a percentile of absolute values, in per cent."""
    return float(np.percentile(np.abs(values), p)) * 100


def ended(missed: Sequence[object], says: str = "missed: {}", between: str = ", ") -> int:
    """The exit code of a benchmark, after a line that names what missed its bar in place of {}."""
    if missed:
        print(says.format(between.join(map(str, missed))), file=sys.stderr)
    return int(bool(missed))


def busy_s() -> float:
    """Return how long this machine's processors have worked since it started, in seconds of one."""
    user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


@dataclass
class OnNodes:
    """Commands on the first of some nodes, in a folder; one that fails ends the benchmark."""

    up: Nodes
    folder: Path
    more: dict[str, str] = field(default_factory=dict)  # of the environment

    @property
    def hosts(self) -> str:
        return ",".join(self.up.hosts)

    def run(self, *words: str, ends: Sequence[int] = ()) -> str:
        """Return what a command prints that ends with 0, with 6 (figures of poor quality), or with what is given."""
        around = {name: value for name, value in self.up.environment().items() if not name.startswith("SLURM")}
        done = subprocess.run(
            self.up.command(self.up.hosts[0], words), cwd=self.folder, env={**around, **self.more},
            capture_output=True, text=True, timeout=1800,
        )  # fmt: skip
        if done.returncode not in (0, 6, *ends):
            sys.exit(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    def rankwise(self, *words: str, ends: Sequence[int] = ()) -> str:
        return self.run(sys.executable, "-m", "rankwise", *words, ends=ends)

    def asked(self, *words: str, ends: Sequence[int] = ()) -> dict[str, Any]:
        return dict(json.loads(self.rankwise(*words, "--json", ends=ends)))


@contextmanager
def nodes_up(rate: str, count: int = 4, **of_nodes: Any) -> Iterator[OnNodes]:
    """Nodes in namespaces with links of a rate, and an empty folder; ends the benchmark where nodes cannot be had."""
    from nodes import Nodes, why_not

    if (why := why_not()) is not None:
        sys.exit(f"no nodes here: {why}")
    with tempfile.TemporaryDirectory() as folder, Nodes(rate, [f"n{i}" for i in range(1, count + 1)], **of_nodes) as up:
        yield OnNodes(up, Path(folder))
