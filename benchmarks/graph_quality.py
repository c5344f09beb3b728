"""How good maps of any graph are: ours beside METIS, Scotch, KaHIP and KaMinPar on graphs drawn at random, at exact node sizes.

    pip install pymetis kahip kaminpar scipy        # and Scotch's scotch_gpart, where it is to be found
    python benchmarks/graph_quality.py [--graphs 100] [--seed 1] [--effort 2s]
    python benchmarks/graph_quality.py --switches 5  # below switches, beside Scotch's tleaf

Every part of a peer is made exact by the same repair. Peers are asked for the least imbalance they know and for 3 %, and the
better of both after the repair counts (METIS: of k-way and recursive). Ties, wins and losses are of the cut.
"""

from __future__ import annotations

import math
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from graph_families import drawn
from harness import keep_row, median, options
from numpy.typing import NDArray

from rankwise import _core
from rankwise.mapping.mapper import steps_of
from rankwise.progress import meter
from rankwise.units import parse_seconds

Parts = NDArray[np.int32]


class Rows:
    """A graph in compressed rows, both directions of each edge."""

    def __init__(self, vertices: int, a: NDArray[np.int64], b: NDArray[np.int64], weight: NDArray[np.int64]) -> None:
        source, dest, both = np.concatenate((a, b)), np.concatenate((b, a)), np.concatenate((weight, weight))
        order = np.lexsort((dest, source))
        self.vertices = vertices
        self.source = source[order]
        self.first = np.searchsorted(self.source, np.arange(vertices + 1)).astype(np.int32)
        self.others, self.weights = dest[order].astype(np.int32), both[order].astype(np.int32)

    def cut(self, parts: Parts) -> int:
        return int(self.weights[parts[self.source] != parts[self.others]].sum()) // 2

    def exact(self, parts: Parts, sizes: list[int]) -> Parts:
        return _core.balance_graph(self.first, self.others, self.weights, sizes, parts.astype(np.int32))


def _metis(graph: Rows, nodes: int, seed: int, directory: Path) -> Iterator[Parts]:
    import pymetis

    rows = pymetis.CSRAdjacency(graph.first.tolist(), graph.others.tolist())
    for recursive in (False, True):
        options = pymetis.Options(seed=seed)
        _, parts = pymetis.part_graph(nodes, rows, eweights=graph.weights.tolist(), recursive=recursive, options=options)
        yield np.array(parts, np.int32)


def _kahip(graph: Rows, nodes: int, seed: int, directory: Path) -> Iterator[Parts]:
    import kahip

    for imbalance in (0.0, 0.03):
        _, parts = kahip.kaffpa(
            [1] * graph.vertices, graph.first.tolist(), graph.weights.tolist(), graph.others.tolist(), nodes, imbalance, True,
            seed, kahip.ECO,
        )  # fmt: skip
        yield np.array(parts, np.int32)


def _kaminpar(graph: Rows, nodes: int, seed: int, directory: Path) -> Iterator[Parts]:
    import kaminpar

    path = directory / "graph.metis"
    solver = kaminpar.KaMinPar(num_threads=1, ctx=kaminpar.context_by_name("strong"))
    kaminpar.reseed(seed)
    loaded = kaminpar.load_graph(str(path), kaminpar.GraphFileFormat.METIS)
    for imbalance in (0.001, 0.03):
        yield np.array(solver.compute_partition(loaded, k=nodes, eps=imbalance), np.int32)


def _of_scotch(path: Path) -> Parts:
    """Read a map that Scotch has written: rows of a vertex and its part."""
    table = np.loadtxt(path, dtype=np.int64, skiprows=1)
    parts = np.zeros(len(table), np.int32)
    parts[table[:, 0]] = table[:, 1]
    return parts


def _scotch(graph: Rows, nodes: int, seed: int, directory: Path) -> Iterator[Parts]:
    program = shutil.which("scotch_gpart") or shutil.which("gpart")
    if program is None:
        raise ImportError("scotch_gpart")
    for balance in ("0", "0.03"):
        out = directory / "scotch.map"
        words = [program, str(nodes), str(directory / "graph.grf"), str(out), f"-b{balance}"]
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=30)
        except subprocess.TimeoutExpired:  # Scotch 7.0 never ends on some small graphs
            continue
        yield _of_scotch(out)


PEERS: dict[str, Callable[[Rows, int, int, Path], Iterator[Parts]]] = {
    "METIS": _metis, "KaHIP": _kahip, "KaMinPar": _kaminpar, "Scotch": _scotch,
}  # fmt: skip


def write_files(graph: Rows, directory: Path) -> None:
    """Write the graph as METIS and as Scotch read it."""
    rows = [
        " ".join(f"{other + offset[0]} {heavy}" if offset[1] else f"{heavy} {other}" for other, heavy in zip(
            graph.others[begin:end].tolist(), graph.weights[begin:end].tolist(), strict=True))
        for offset in ((1, True), (0, False))
        for begin, end in zip(graph.first[:-1].tolist(), graph.first[1:].tolist(), strict=True)
    ]  # fmt: skip
    count, ends = graph.vertices, len(graph.others)
    (directory / "graph.metis").write_text(f"{count} {ends // 2} 001\n" + "\n".join(rows[:count]) + "\n")
    degrees = np.diff(graph.first).tolist()
    scotch = "\n".join(f"{degree} {row}" for degree, row in zip(degrees, rows[count:], strict=True))
    (directory / "graph.grf").write_text(f"0\n{count} {ends}\n0 010\n{scotch}\n")


def compare_switches(seed: int, steps: int, cost: int) -> None:
    """Map graphs onto 8 switches of 16 nodes of 64, and print what both maps cost (Scotch's sizes are left as they are)."""
    from graph_families import geometric, ranks_of_mesh, renamed, triangulation

    switches, below, ppn = 8, 16, 64
    nodes, count = switches * below, switches * below * ppn
    rng = np.random.default_rng(seed)
    families = {
        "triangulation": triangulation(count, rng, False), "graded triangulation": triangulation(count, rng),
        "tetrahedra": triangulation(count, rng, False, 3), "geometric": geometric(count, rng),
        "ranks of a mesh": ranks_of_mesh(count, rng, 20),
    }  # fmt: skip
    program = shutil.which("scotch_gmap") or shutil.which("gmap")
    if program is None:
        raise SystemExit("scotch_gmap is not here: apt install scotch")
    ratios = []
    for name, edges in families.items():
        graph = Rows(*renamed(edges, rng))

        def costs(parts: Parts, graph: Rows = graph) -> int:
            return graph.cut(parts) + (cost - 1) * graph.cut(parts // below)

        units = [[node // below for node in range(nodes)]]
        arrays = (graph.first, graph.others, graph.weights)
        own = _core.map_graph(*arrays, [ppn] * nodes, units, [1, cost], (steps, 1, 0.0, 1))
        with tempfile.TemporaryDirectory() as folder:
            write_files(graph, Path(folder))
            target, out = Path(folder) / "target.tgt", Path(folder) / "scotch.map"
            target.write_text(f"tleaf 2 {switches} {cost - 1} {below} 1\n")
            subprocess.run([program, Path(folder) / "graph.grf", target, out, "-b0"], check=True, capture_output=True)
            theirs = _of_scotch(out)
        ratios.append(costs(own) / costs(theirs))
        largest = np.bincount(theirs).max()
        print(f"{name:22} ours {costs(own):8}, Scotch {costs(theirs):8} (largest node {largest}): {ratios[-1]:.3f}")
    print(f"mean {statistics.geometric_mean(ratios):.3f}, seed {seed}")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", default="2s", help="of our search: 2s")
    parser.add_argument("--switches", type=int, help="map onto nodes below switches, between which a byte costs so much")
    given = parser.parse_args()
    steps = steps_of(parse_seconds(given.effort, "--effort"))
    if given.switches:
        compare_switches(given.seed, steps, given.switches)
        return
    outcome: dict[str, Counter[str]] = defaultdict(Counter)
    ratios: dict[str, list[float]] = defaultdict(list)
    lines, missing, longest_s = [], set(), 0.0
    with meter("graphs", given.graphs) as bar, tempfile.TemporaryDirectory() as folder:
        for number in range(given.graphs):
            family, edges, nodes = drawn(number, given.seed)
            graph = Rows(*edges)
            sizes = [graph.vertices // nodes + (node < graph.vertices % nodes) for node in range(nodes)]
            begun_s = time.process_time()
            own = _core.map_graph(graph.first, graph.others, graph.weights, sizes, [], [1], (steps, 1, 0.0, 1))
            longest_s = max(longest_s, time.process_time() - begun_s)
            assert np.bincount(own, minlength=nodes).tolist() == sizes
            write_files(graph, Path(folder))
            cuts: dict[str, int] = {}
            for name, peer in PEERS.items():
                try:
                    found = list(peer(graph, nodes, given.seed, Path(folder)))
                except (ImportError, AttributeError, TypeError, ValueError) as error:
                    missing.add(f"{name}: {error}")
                    continue
                if found:
                    cuts[name] = min(graph.cut(graph.exact(parts, sizes)) for parts in found)
            ours, best = graph.cut(own), min(cuts.values(), default=math.inf)
            for name, cut in (*cuts.items(), ("the best of all", best)):
                outcome[name]["win" if ours < cut else "tie" if ours == cut else "loss"] += 1
                ratios[name].append(ours / cut if cut else 1.0)
            if ours > best:
                lines.append(f"  lost: {family}, {graph.vertices} vertices on {nodes} nodes: {ours}, {cuts}")
            bar.advance()
            print(number, family, graph.vertices, nodes, ours, cuts, flush=True)
    for what in sorted(missing):
        print(f"missing: {what}")
    drawn_are = f"{given.graphs} graphs, seed {given.seed}, effort {given.effort}"
    print(f"{drawn_are}, longest {longest_s:.1f} s of a core; exact sizes in all")
    for name, counts in outcome.items():
        keep_row(f"cut of {given.graphs} graphs, exact sizes, at most {given.effort} each", name, median(ratios[name]))
        mean = statistics.geometric_mean(ratios[name])
        told = ", ".join(f"{which} {counts[end]:3}" for which, end in (("wins", "win"), ("ties", "tie"), ("losses", "loss")))
        print(f"{name:16} {told}; our cut over its: {mean:.3f}")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
