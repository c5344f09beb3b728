"""What benchmarks share: the programs that they run, ratios of paired times, nodes in namespaces, and how they end."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def records(words: Sequence[object], environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """What a program prints, a line of JSON each."""
    done = subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


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


def ended(missed: Sequence[object], says: str = "missed: {}", between: str = ", ") -> int:
    """The exit code of a benchmark, after a line that names what missed its bar in place of {}."""
    if missed:
        print(says.format(between.join(map(str, missed))), file=sys.stderr)
    return int(bool(missed))


def busy_s() -> float:
    """Return how long this machine's processors have worked since it started, in seconds of one."""
    user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def require_nodes() -> None:
    """Ends the benchmark where nodes cannot be had."""
    from nodes import why_not

    if (why := why_not()) is not None:
        sys.exit(f"no nodes here: {why}")


@dataclass(frozen=True)
class OnNodes:
    """Commands on the first of some nodes, in a folder; one that fails ends the benchmark."""

    up: Nodes
    folder: str
    more: Mapping[str, str] | None = None  # of the environment

    def run(self, *words: str) -> str:
        done = subprocess.run(
            self.up.command(self.up.hosts[0], words), cwd=self.folder, env={**self.up.environment(), **(self.more or {})},
            capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode not in (0, 6):  # 6: disturbed
            sys.exit(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    def rankwise(self, *words: str) -> str:
        return self.run(sys.executable, "-m", "rankwise", *words)
