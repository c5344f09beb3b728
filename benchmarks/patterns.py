"""How often the grid in a traffic matrix is found, on planted patterns drawn anew at every run; and how fast.

    python benchmarks/patterns.py [--patterns 500] [--seed N]

Planted: grids of 2 to 4 axes with 2 to 22 ranks a side (16 to 4000 ranks), each axis open or periodic, with 4 to 26
neighbours (nearest, hops along one axis, Moore, faces and edges), weights equal, by axis, or by orbit; ranks numbered row
by row, column by column, at random, or node by node (boxes); other traffic beside: none, a gather to one rank, weights
scattered by 3 %, or 3 % of the pairs missing and as many drawn at random with full weight. Right is the planted grid, or
an equivalent one that explains as many pairs with no more offsets. Not grids: random graphs, and quadtrees refined
around a circle (as in adaptive meshes), numbered along a Z-curve, row by row or at random; wrong is any grid claimed.
"""

from __future__ import annotations

import itertools
import math
import secrets
import time
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
from harness import options

from rankwise import _core

NUMBERINGS = ("row-major", "column-major", "permuted", "node by node")
NOISES = ("none", "gather", "scattered weights", "missing and extra pairs")


@dataclass
class Planted:
    """A pattern: its flows (sender, receiver, messages, bytes) and what was planted."""

    ranks: int
    flows: np.ndarray
    clean: np.ndarray
    dims: tuple[int, ...]
    periodic: tuple[bool, ...]
    offsets: int
    stencil: str
    noise: str


def stencil(random: np.random.Generator, name: str, ndim: int) -> list[tuple[int, ...]]:
    """Return the offsets of a stencil."""
    unit = [tuple(int(i == axis) * sign for i in range(ndim)) for axis in range(ndim) for sign in (1, -1)]
    if name == "hops":
        axis, reach = int(random.integers(ndim)), int(random.integers(2, 4))
        return unit + [
            tuple(int(i == axis) * hop * sign for i in range(ndim)) for hop in range(2, reach + 1) for sign in (1, -1)
        ]
    most = {"nearest": 1, "faces and edges": 2, "Moore": ndim}[name]
    return [o for o in itertools.product((-1, 0, 1), repeat=ndim) if 0 < sum(map(abs, o)) <= most]


def draw_sides(random: np.random.Generator, ndim: int, offsets: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return sides from 2 to 22, at least twice as long as the longest hop, of 16 to 4000 ranks."""
    while True:
        sides = tuple(int(side) for side in random.integers(2, 23, ndim))
        reach = [max(abs(o[axis]) for o in offsets) for axis in range(ndim)]
        if 16 <= math.prod(sides) <= 4000 and all(side >= 2 * hop or hop == 1 for side, hop in zip(sides, reach, strict=True)):
            return sides


def grid_flows(dims: tuple[int, ...], periodic: tuple[bool, ...], offsets: dict[tuple[int, ...], int]) -> np.ndarray:
    """Return the flows of a grid by cell: sender, receiver, messages, bytes; both ways around a ring of two are one pair."""
    shape, size = np.array(dims), math.prod(dims)
    cells = np.stack(np.unravel_index(np.arange(size), dims), axis=1)
    parts = []
    for offset, weight in offsets.items():
        to = cells + offset
        inside = np.all((to >= 0) & (to < shape) | np.array(periodic), axis=1)
        peer = np.ravel_multi_index(tuple((to[inside] % shape).T), dims)
        parts.append(np.stack([np.nonzero(inside)[0], peer, np.full(len(peer), 10), np.full(len(peer), 10 * weight)], axis=1))
    flows = np.concatenate(parts)
    flows = flows[flows[:, 0] != flows[:, 1]]
    keys, where = np.unique(flows[:, 0] * size + flows[:, 1], return_inverse=True)
    sums = [np.bincount(where, flows[:, column]).astype(np.int64) for column in (2, 3)]
    return np.stack([keys // size, keys % size, *sums], axis=1)


def numbering(random: np.random.Generator, name: str, dims: tuple[int, ...]) -> np.ndarray:
    """Return the rank of each row-major cell."""
    size = math.prod(dims)
    if name == "permuted":
        return random.permutation(size)
    cells = np.stack(np.unravel_index(np.arange(size), dims))
    if name == "column-major":
        return np.ravel_multi_index(tuple(cells[::-1]), dims[::-1])
    if name == "row-major":
        return np.arange(size)
    box = [int(random.choice([side for side in range(1, dim + 1) if dim % side == 0 and side <= 4])) for dim in dims]
    keys = [cells[axis] // box[axis] for axis in range(len(dims))] + [cells[axis] % box[axis] for axis in range(len(dims))]
    rank = np.empty(size, np.int64)
    rank[np.lexsort(keys[::-1])] = np.arange(size)
    return rank


def planted(random: np.random.Generator, number: str) -> Planted:
    """Draw a pattern."""
    ndim = int(random.integers(2, 5))
    name = str(random.choice(["nearest", "hops"] + ["faces and edges", "Moore"] * (ndim < 4)))
    offsets = stencil(random, name, ndim)
    dims = draw_sides(random, ndim, offsets)
    periodic = tuple(bool(p) for p in random.integers(0, 2, ndim))
    how = random.choice(["equal", "by axis", "by orbit"])
    weights: dict[tuple[int, ...], int] = {}
    drawn: dict[tuple[int, ...], int] = defaultdict(lambda: int(random.integers(1000, 100_000)))
    base = [int(random.integers(1000, 100_000)) for _ in dims]
    for offset in offsets:
        orbit = tuple(map(abs, offset))
        if how == "equal":
            weights[offset] = base[0]
        elif how == "by orbit":
            weights[offset] = drawn[orbit]
        else:  # a face is as heavy as its area, an edge or corner as what is left
            weights[offset] = max(8, int(math.prod(base[axis] / 1000 for axis in range(ndim) if not orbit[axis]) * 100))
    clean = grid_flows(dims, periodic, weights)
    rank = numbering(random, number, dims)
    clean[:, :2] = rank[clean[:, :2]]
    noise = str(random.choice(NOISES))
    size = math.prod(dims)
    flows = clean
    if noise == "gather":
        root = int(random.integers(size))
        others = np.array([r for r in range(size) if r != root])
        count = int(random.choice([1, 10]))
        flows = np.concatenate(
            [flows, np.stack([others, others * 0 + root, others * 0 + count, others * 0 + count * 5000], axis=1)]
        )
    elif noise == "scattered weights":
        flows = flows.copy()
        flows[:, 3] = (flows[:, 3] * random.uniform(0.97, 1.03, len(flows))).astype(np.int64)
    elif noise == "missing and extra pairs":
        kept = flows[random.random(len(flows)) >= 0.03]
        extra = kept[random.integers(0, len(kept), round(0.03 * len(flows)))].copy()
        extra[:, :2] = random.integers(0, size, (len(extra), 2))
        flows = np.concatenate([kept, extra])
    return Planted(size, flows, clean, dims, periodic, len(np.unique(np.array(offsets), axis=0)), name, noise)


def matrix(ranks: int, flows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return flows in compressed rows: pointer, peer, messages, bytes."""
    keys, where = np.unique(flows[:, 0] * ranks + flows[:, 1], return_inverse=True)
    messages, volume = (np.bincount(where, flows[:, column]).astype(np.uint64) for column in (2, 3))
    pointer = np.searchsorted(keys // ranks, np.arange(ranks + 1)).astype(np.int64)
    return pointer, (keys % ranks).astype(np.uint32), messages, volume


def share_along_offsets(found: _core.FoundPattern, flows: np.ndarray) -> float:
    """Return the share of pairs whose cells lie apart by one of the found offsets, by the found periods."""
    dims = np.array(found.dims)
    cells = np.stack(np.unravel_index(np.array(found.cell_of_rank), found.dims), axis=1)
    apart = cells[flows[:, 1]] - cells[flows[:, 0]]
    around = np.where(np.array(found.periodic), dims, 0)
    offsets = np.array([row[0] for row in found.offsets])
    apart = np.where((around > 0) & (2 * apart > dims), apart - around, apart)
    apart = np.where((around > 0) & (2 * apart < -dims), apart + around, apart)
    known = {tuple(offset) for offset in offsets.tolist()}
    return sum(tuple(step) in known for step in apart.tolist()) / len(flows)


def is_right(pattern: Planted, found: _core.FoundPattern) -> bool:
    """Return whether the planted grid was found, or an equivalent one with no more offsets."""
    if found.kind != "grid":
        return False
    share = share_along_offsets(found, pattern.clean)
    if sorted(found.dims) == sorted(pattern.dims):
        return share >= 0.95
    return share >= 0.99 and len(found.offsets) <= pattern.offsets


def random_graph(random: np.random.Generator) -> tuple[int, np.ndarray]:
    """Return the ranks and flows of a symmetric random graph of 4 to 26 neighbours."""
    ranks = int(random.integers(16, 2000))
    degree = min(int(random.integers(4, 27)), ranks // 2)
    pairs = random.integers(0, ranks, (ranks * degree // 2, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weights = random.choice([1000, 4000, 9000], len(pairs))
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return ranks, np.stack([both[:, 0], both[:, 1], np.full(len(both), 10), 10 * np.tile(weights, 2)], axis=1)


def adaptive_mesh(random: np.random.Generator) -> tuple[int, np.ndarray]:
    """Return the ranks and flows of a quadtree refined around a circle: a leaf a rank, neighbours across edges and corners."""
    depth = int(random.integers(4, 7))
    centre, radius = random.uniform(0.3, 0.7, 2), random.uniform(0.15, 0.4)
    size = 2**depth
    owner = np.full((size, size), -1)
    leaves = []

    def split(x: int, y: int, side: int) -> None:
        low = np.array([x, y]) / size
        corners = [math.dist(low + np.array(c) * side / size, centre) for c in itertools.product((0, 1), repeat=2)]
        cut = min(corners) < radius < max(corners)
        if side > 1 and (side > size // 4 or cut):
            for dx, dy in itertools.product((0, 1), repeat=2):
                split(x + dx * side // 2, y + dy * side // 2, side // 2)
        else:
            owner[x : x + side, y : y + side] = len(leaves)
            leaves.append((x, y))

    split(0, 0, size)
    touching: Counter[tuple[int, int]] = Counter()
    for dx, dy in ((0, 1), (1, 0), (1, 1), (1, -1)):
        a = owner[: size - dx, max(0, -dy) : size - max(0, dy)]
        b = owner[dx:, max(0, dy) : size + min(0, dy)]
        touching.update((int(p), int(q)) for p, q in zip(a.ravel(), b.ravel(), strict=True) if p != q)
    number = random.permutation(len(leaves)) if random.random() < 0.3 else np.arange(len(leaves))
    if random.random() < 0.3:
        number = np.argsort(np.lexsort(np.array(leaves).T))
    flows = [(number[s], number[r], 10, 10 * 800 * count) for (p, q), count in touching.items() for s, r in ((p, q), (q, p))]
    return len(leaves), np.array(flows, dtype=np.int64)


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--patterns", type=int, default=500)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32), help="default: drawn")
    parser.add_argument("--failures", action="store_true", help="print what was not found")
    parser.add_argument("--ranks", type=int, nargs=3, default=(47, 46, 46), help="of the large grid")
    given = parser.parse_args()
    print(f"seed {given.seed}")
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    slowest = 0.0
    for i in range(given.patterns):
        number = NUMBERINGS[i % len(NUMBERINGS)]
        pattern = planted(np.random.default_rng([given.seed, i]), number)
        start = time.perf_counter()
        found = _core.find_grid(*matrix(pattern.ranks, pattern.flows))
        took = time.perf_counter() - start
        slowest = max(slowest, took)
        good = is_right(pattern, found)
        for key in (number, pattern.noise, pattern.stencil, f"{len(pattern.dims)}-D"):
            total[key] += 1
            right[key] += good
            wrong[key] += not good and found.kind == "grid"
        if given.failures and (not good or took > 5):
            around = "".join("op"[p] for p in pattern.periodic)
            print(
                f"  {i}: {number}, {pattern.dims} {around} {pattern.stencil} ({pattern.offsets}), {pattern.noise}: "
                f"{found.kind} {found.dims} {len(found.offsets)} {found.explained:.2f} {found.bits / found.noise_bits:.2f} "
                f"{took:.1f} s",
                flush=True,
            )
    print(f"{'':26}{'right':>12}{'wrong grid claimed':>22}")
    for key, count in total.items():
        print(f"{key:26}{right[key]:5} of {count:<4}{right[key] / count:6.1%}{wrong[key]:8}")
    for name, draw in (("random graphs", random_graph), ("adaptive meshes", adaptive_mesh)):
        kinds: Counter[str] = Counter()
        for i in range(given.patterns // 2):
            ranks, flows = draw(np.random.default_rng([given.seed, 1, i]))
            kinds[_core.find_grid(*matrix(ranks, flows)).kind] += 1
        print(f"{name:26}{kinds['grid']:5} of {kinds.total():<4} claimed as grids; {dict(kinds)}")
    print(f"slowest of the planted {slowest:.2f} s")
    dims = tuple(given.ranks)
    offsets = {o: 1000 for o in itertools.product((-1, 0, 1), repeat=3) if any(o)}
    large = grid_flows(dims, (True, False, True), offsets)
    for number in NUMBERINGS:
        flows = large.copy()
        flows[:, :2] = numbering(np.random.default_rng(given.seed), number, dims)[large[:, :2]]
        arrays = matrix(math.prod(dims), flows)
        start = time.perf_counter()
        found = _core.find_grid(*arrays)
        took = time.perf_counter() - start
        print(f"{math.prod(dims)} ranks, {len(arrays[1])} pairs, {number:14}{took:7.2f} s  {found.kind} {found.dims}")


if __name__ == "__main__":
    main()
