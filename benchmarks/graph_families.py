"""Graphs of programs' traffic for benchmarks/graph_quality.py: families, each drawn from a seed. Needs scipy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay, cKDTree

Edges = tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Vertices, both ends of each edge (each pair once, the first end the smaller), and weights."""


def _edges(count: int, a: NDArray[np.int64], b: NDArray[np.int64], weight: NDArray[np.int64] | None = None) -> Edges:
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    weight = np.ones(len(low), np.int64) if weight is None else weight.astype(np.int64)
    apart = low != high
    keys, inverse = np.unique(low[apart] * count + high[apart], return_inverse=True)
    sums = np.bincount(inverse, weight[apart], len(keys)).astype(np.int64)
    return count, keys // count, keys % count, sums


def _unit(edges: Edges) -> Edges:
    return edges[0], edges[1], edges[2], np.ones_like(edges[3])


def renamed(edges: Edges, rng: np.random.Generator) -> Edges:
    """Give the vertices numbers drawn at random: no mapper shall profit from their order."""
    names = rng.permutation(edges[0])
    return _edges(edges[0], names[edges[1]], names[edges[2]], edges[3])


def triangulation(count: int, rng: np.random.Generator, graded: bool = True, axes: int = 2) -> Edges:
    """Delaunay triangulation (tetrahedra for 3 axes) of points drawn at random, denser towards one corner where graded."""
    points = rng.random((count, axes)) ** (1.6 if graded else 1.0)
    simplices = Delaunay(points).simplices
    pairs = [(i, j) for i in range(axes + 1) for j in range(i)]
    a, b = (np.concatenate([simplices[:, pair[end]] for pair in pairs]) for end in (0, 1))
    return _unit(_edges(count, a, b))


def ranks_of_mesh(ranks: int, rng: np.random.Generator, each: int = 60) -> Edges:
    """Ranks that hold a graded triangulation by recursive coordinate bisection; weights: edges of the mesh between them."""
    points = rng.random((ranks * each, 2)) ** 1.6
    simplices = Delaunay(points).simplices
    owner = np.zeros(len(points), np.int64)
    stack = [(np.arange(len(points)), 0, ranks)]
    while stack:
        own, first, parts = stack.pop()
        if parts == 1:
            owner[own] = first
            continue
        axis = int(np.ptp(points[own], axis=0).argmax())
        own = own[np.argsort(points[own, axis], kind="stable")]
        cut = len(own) * (parts // 2) // parts
        stack += [(own[:cut], first, parts // 2), (own[cut:], first + parts // 2, parts - parts // 2)]
    a, b = (np.concatenate([simplices[:, pair[end]] for pair in ((0, 1), (1, 2), (2, 0))]) for end in (0, 1))
    a, b = owner[a], owner[b]
    return _edges(ranks, a[a != b], b[a != b])


def grid_pairs(dims: tuple[int, ...], offsets: list[tuple[int, ...]], periodic: bool) -> tuple[NDArray[np.int64], ...]:
    """Both ends of all edges along these offsets (one of each pair of opposite ones), and the number of the offset."""
    cells = np.stack(np.meshgrid(*map(np.arange, dims), indexing="ij"), -1).reshape(-1, len(dims))
    ends: list[tuple[NDArray[np.int64], ...]] = []
    for number, offset in enumerate(offsets):
        to = cells + np.array(offset)
        inside = np.ones(len(cells), bool) if periodic else ((to >= 0) & (to < np.array(dims))).all(axis=1)
        there = np.ravel_multi_index(tuple((to[inside] % np.array(dims)).T), dims)
        ends.append((np.flatnonzero(inside), there.astype(np.int64), np.full(len(there), number)))
    return tuple(np.concatenate([end[i] for end in ends]) for i in range(3))


def md_halo(dims: tuple[int, ...], rng: np.random.Generator) -> Edges:
    """26 neighbours of ranks that hold boxes of atoms of uneven number: faces heavy, edges light, corners lighter."""
    offsets = [(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) > (0, 0, 0)]
    a, b, number = grid_pairs(dims, offsets, bool(rng.integers(2)))
    atoms = rng.uniform(0.7, 1.3, int(np.prod(dims)))
    base = np.array([20.0, 4.0, 1.0])[np.array([sum(map(abs, offset)) for offset in offsets]) - 1]
    return _edges(int(np.prod(dims)), a, b, np.maximum(1, base[number] * (atoms[a] + atoms[b]) / 2))


def geometric(count: int, rng: np.random.Generator, axes: int = 2, degree: float = 8.0) -> Edges:
    """Points drawn at random, joined where they are near."""
    points = rng.random((count, axes))
    volume = degree / count
    radius = np.sqrt(volume / np.pi) if axes == 2 else (volume * 3 / (4 * np.pi)) ** (1 / 3)
    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray")
    return _edges(count, pairs[:, 0], pairs[:, 1])


def power_law(count: int, rng: np.random.Generator, each: int = 4) -> Edges:
    """Preferential attachment (Barabasi, Albert 1999): each new vertex joins some old ones, drawn by their degree."""
    ends = list(range(each + 1)) * each
    a, b = [], []
    for v in range(each + 1, count):
        for u in {ends[i] for i in rng.integers(0, len(ends), each)}:
            a.append(v)
            b.append(u)
            ends += [u, v]
    return _edges(count, np.array(a), np.array(b))


def holes(side: int, rng: np.random.Generator) -> Edges:
    """A square grid of nearest neighbours out of which rectangles are taken, largest piece."""
    kept = np.ones((side, side), bool)
    for _ in range(side // 8):
        x, y = rng.integers(0, side, 2)
        w, h = rng.integers(2, max(3, side // 10), 2)
        kept[x : x + w, y : y + h] = False
    a, b, _ = grid_pairs((side, side), [(1, 0), (0, 1)], False)
    flat = kept.ravel()
    both = flat[a] & flat[b]
    a, b = a[both], b[both]
    piece = np.arange(side * side)
    while True:
        least = piece.copy()
        np.minimum.at(least, a, piece[b])
        np.minimum.at(least, b, piece[a])
        least = least[least]
        if (least == piece).all():
            break
        piece = least
    main = np.bincount(piece[flat]).argmax()
    number = np.cumsum(piece * 0 + ((piece == main) & flat)) - 1
    inner = piece[a] == main
    return _edges(int(number[-1]) + 1, number[a[inner]], number[b[inner]])


def pencils(rows: int, columns: int, rng: np.random.Generator) -> Edges:
    """A pencil FFT: all-to-all in each row and each column of a grid of ranks, of which one is heavier."""
    ranks = np.arange(rows * columns).reshape(rows, columns)
    a, b, weight = [], [], []
    for lines, heavy in ((ranks, 1), (ranks.T, int(rng.integers(2, 9)))):
        i, j = np.triu_indices(lines.shape[1], 1)
        a.append(lines[:, i].ravel())
        b.append(lines[:, j].ravel())
        weight.append(np.full(a[-1].size, heavy))
    return _edges(ranks.size, *(np.concatenate(part) for part in (a, b, weight)))


def mixed_program(dims: tuple[int, ...], rng: np.random.Generator) -> Edges:
    """What a simulation sends: a halo of uneven weights along the axes, a tree of reductions, a few far pairs."""
    count = int(np.prod(dims))
    offsets = [tuple(int(i == axis) for i in range(len(dims))) for axis in range(len(dims))]
    a, b, number = grid_pairs(dims, offsets, True)
    weight = rng.integers(20, 200, len(dims))[number]
    child = np.arange(1, count)
    far = rng.integers(0, count, (2, count // 8))
    ends = [np.concatenate(part) for part in ((a, child, far[0]), (b, (child - 1) // 2, far[1]))]
    return _edges(count, ends[0], ends[1], np.concatenate((weight, np.full(count - 1, 3), np.full(count // 8, 10))))


def drawn(number: int, seed: int) -> tuple[str, Edges, int]:
    """Return the family, the graph and the number of nodes of one of the random graphs of a benchmark."""
    rng = np.random.default_rng([seed, number])
    size = int(rng.integers(200, 2500))
    side = max(4, round(size ** (1 / 3)))
    square = max(8, round(size**0.5))
    families: dict[str, Callable[[], Edges]] = {
        "triangulation": lambda: triangulation(size, rng, bool(rng.integers(2))),
        "ranks of a mesh": lambda: ranks_of_mesh(size // 2, rng, 40),
        "tetrahedra": lambda: triangulation(size, rng, False, 3),
        "geometric 2-D": lambda: geometric(size, rng, 2, float(rng.uniform(5, 14))),
        "geometric 3-D": lambda: geometric(size, rng, 3, float(rng.uniform(6, 16))),
        "MD halo": lambda: md_halo((side, side + int(rng.integers(0, 4)), max(3, side - int(rng.integers(0, 4)))), rng),
        "grid with holes": lambda: holes(square, rng),
        "power law": lambda: power_law(size, rng, int(rng.integers(2, 6))),
        "pencil FFT": lambda: pencils(max(6, square // 2), max(4, square // 2 + int(rng.integers(-3, 4))), rng),
        "simulation": lambda: mixed_program((square, square) if rng.integers(2) else (side, side, side), rng),
    }
    name = list(families)[number % len(families)]
    edges = renamed(families[name](), rng)
    ppn = int(rng.choice([8, 16, 24, 32, 36, 48, 64]))
    return name, edges, max(2, round(edges[0] / ppn))
