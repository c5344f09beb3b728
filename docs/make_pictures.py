"""Draw the pictures of the concepts page: ``python docs/make_pictures.py [FOLDER]`` writes them to docs/images, or to FOLDER.

What they show comes from rankwise itself: schedules from the core, mappings and their scores from the mapper, times from the
judge, intervals from the statistics of the profiles. The same sources give the same bytes; a test compares.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import rankwise
from rankwise import _core
from rankwise.machine.link import Point
from rankwise.machine.profile import Link, Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.mapping.mapper import How, map_grid
from rankwise.models.curve import curve_from_table
from rankwise.statistics import launch_interval

INK, QUIET, ACCENT, OTHER, PALE = "#222", "#8a8f98", "#c0392b", "#2f6ea6", "#e8eef4"
NODES = ("#f4e58c", "#a9d6ef", "#c9e7c3", "#f3c6b8")
Place = tuple[float, float]


class Picture:
    """An SVG that is written from top to bottom."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def text(
        self, x: float, y: float, words: str, anchor: str = "middle", colour: str = INK, size: int = 13, bold: bool = False
    ) -> None:
        weight = ' font-weight="bold"' if bold else ""
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"{weight}>{words}</text>'
        )

    def box(
        self, x: float, y: float, width: float, height: float, fill: str = "none", line: str = QUIET, round: float = 2
    ) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{round}" fill="{fill}" '
            f'stroke="{line}"/>'
        )

    def dot(self, x: float, y: float, radius: float = 3, colour: str = INK) -> None:
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')

    def line(
        self, start: Place, end: Place, colour: str = INK, width: float = 1.2, dashed: bool = False, arrow: bool = False
    ) -> None:
        """Draw a straight line; ``arrow``: with a head at its end."""
        more = ' stroke-dasharray="4 3"' if dashed else ""
        (x1, y1), (x2, y2) = start, end
        if arrow:
            length = math.hypot(x2 - x1, y2 - y1)
            ux, uy = (x2 - x1) / length, (y2 - y1) / length
            left, right = (x2 - 7 * ux + 3.5 * uy, y2 - 7 * uy - 3.5 * ux), (x2 - 7 * ux - 3.5 * uy, y2 - 7 * uy + 3.5 * ux)
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (end, left, right))
            self.parts.append(f'<polygon points="{points}" fill="{colour}"/>')
            x2, y2 = x2 - 5 * ux, y2 - 5 * uy
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{more}/>'
        )

    def path(self, places: Iterable[Place], colour: str, width: float = 2) -> None:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        self.parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>')

    def file(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" font-family="sans-serif" role="img" aria-label="{self.title}">'
        )
        return (
            "\n".join([head, f'<rect width="{self.width}" height="{self.height}" fill="#fff"/>', *self.parts, "</svg>"]) + "\n"
        )


def alpha_beta() -> Picture:
    """Draw the published ping-pong of werner2023 over its size, and the line that alpha and beta make of its ends."""
    table = [
        line.split(",")
        for line in (Path(__file__).parents[1] / "tests/data/werner2023_pingpong.csv").read_text().splitlines()[1:]
    ]
    points = [(int(row[0]), float(row[1]) / 1000) for row in table if int(row[0]) <= 100_000]
    alpha, (size, time) = points[0][1], points[-1]
    beta = (time - alpha) / size
    drawn = Picture(640, 300, "The time of a message grows with its size from alpha on by beta a byte")

    def at(size: float, time: float) -> Place:
        return 70 + size / 100_000 * 520, 250 - time / 16 * 220

    drawn.line((70, 250), (610, 250), QUIET)
    drawn.line((70, 250), (70, 20), QUIET)
    for tick in (0, 4, 8, 12, 16):
        drawn.text(62, at(0, tick)[1] + 4, str(tick), "end", QUIET, 12)
    for tick in (0, 25_000, 50_000, 75_000, 100_000):
        drawn.text(at(tick, 0)[0], 267, f"{tick // 1000} kB" if tick else "0", colour=QUIET, size=12)
    drawn.text(340, 290, "size of the message", colour=QUIET, size=12)
    drawn.text(12, 16, "time of a message, us", "start", QUIET, 12)
    drawn.line(at(0, alpha), at(100_000, alpha + beta * 100_000), OTHER, 2)
    for point in points:
        drawn.dot(*at(*point), 4, ACCENT)
    drawn.line(at(0, 0), at(0, alpha), ACCENT, 4)
    drawn.text(80, at(0, alpha / 2)[1] + 5, f"alpha = {alpha:.2f} us: what an empty message takes", "start", ACCENT, bold=True)
    corner = at(75_000, alpha + beta * 50_000)
    drawn.line(at(50_000, alpha + beta * 50_000), corner, QUIET, dashed=True)
    drawn.line(corner, at(75_000, alpha + beta * 75_000), QUIET, dashed=True)
    drawn.text(corner[0] + 8, corner[1] - 18, "beta = rise / run", "start", OTHER, bold=True)
    drawn.text(corner[0] + 8, corner[1] - 2, f"= {beta * 1000:.3f} ns a byte", "start", OTHER)
    return drawn


def eager_rendezvous() -> Picture:
    """Draw both protocols with a receiver that comes late: who waits for whom."""
    drawn = Picture(640, 250, "An eager message waits at the receiver; in a rendezvous the sender waits")
    for left, name, words in ((20, "eager", "short messages"), (340, "rendezvous", "long messages")):
        drawn.text(left + 140, 20, f"{name}: {words}", bold=True)
        for y, who in ((70, "sender"), (190, "receiver")):
            drawn.text(left, y - 14, who, "start", QUIET, 12)
            drawn.line((left, y), (left + 280, y), QUIET)
        drawn.text(left + 280, 226, "time", "end", QUIET, 12)
        drawn.box(left, 181, 150, 18, PALE)
        drawn.text(left + 75, 194, "computes", size=11)
    drawn.box(30, 61, 34, 18, NODES[1])
    drawn.text(47, 74, "send", size=11)
    drawn.line((64, 79), (110, 180), OTHER, 2, arrow=True)
    drawn.text(92, 120, "the bytes go at once", "start", OTHER, 12)
    drawn.box(170, 181, 40, 18, NODES[2])
    drawn.text(190, 194, "recv", size=11)
    drawn.text(215, 176, "copies", "start", QUIET, 11)
    drawn.box(350, 61, 214, 18, NODES[3])
    drawn.text(440, 74, "send waits", size=11)
    drawn.line((364, 79), (412, 180), QUIET, 1.4, dashed=True, arrow=True)
    drawn.text(396, 126, "may I?", "start", QUIET, 12)
    drawn.box(490, 181, 100, 18, NODES[2])
    drawn.text(540, 194, "recv", size=11)
    drawn.line((494, 180), (518, 80), QUIET, 1.4, dashed=True, arrow=True)
    drawn.text(478, 140, "yes", "end", QUIET, 12)
    drawn.line((526, 80), (578, 180), OTHER, 2, arrow=True)
    drawn.text(562, 120, "the bytes", "start", OTHER, 12)
    return drawn


def shells() -> Picture:
    """Draw the windows of a rank for two cutoffs and both shells."""
    drawn = Picture(640, 245, "The boxes within a cutoff: full shell and eighth shell")
    for at, (cutoff, shell) in enumerate(((1, "full"), (2, "full"), (2, "eighth"))):
        left, side = 20 + at * 212, 26
        count = len(_core.Exchange("direct", "isend", [7, 7], [True, True], [cutoff] * 2, shell).steps(24, False)[0]) // 2
        for row in range(7):
            for column in range(7):
                y, x = row - 3, column - 3
                inside = max(abs(x), abs(y)) <= cutoff and (shell == "full" or min(x, y) >= 0)
                own = (x, y) == (0, 0)
                drawn.box(left + column * side, 40 + row * side, side, side, ACCENT if own else NODES[1] if inside else "#fff")
        drawn.text(left + 91, 22, f"cutoff {cutoff}, {shell} shell", bold=True)
        drawn.text(left + 91, 240, f"{count} partners send", colour=QUIET, size=12)
    return drawn


def _journey(drawn: Picture, left: float, top: float, exchange: _core.Exchange, ranks: int, box: int) -> float:
    """Draw all messages of an exchange, a row a step, those that carry one box in colour; return where it ends."""
    steps = [exchange.steps(rank, False) for rank in range(ranks)]
    wide, high = 26, 46

    def at(rank: int, row: float) -> Place:
        return left + rank * wide, top + row * high

    for number in range(len(steps[0])):
        for rank in range(ranks):
            for op in steps[rank][number]:
                if op.kind != "send":
                    continue
                x, y = at(op.peer, number + 1)
                start = at(rank, number)
                carries = box in op.origins
                if abs(op.peer - rank) <= ranks // 2:
                    drawn.line(
                        (start[0], start[1] + 6),
                        (x, y - 6),
                        ACCENT if carries else "#d5dae1",
                        2 if carries else 1,
                        arrow=carries,
                    )
                elif carries:  # over the border
                    edge = -1 if op.peer > rank else ranks
                    half = at(edge, number + 0.5)
                    drawn.line((start[0], start[1] + 6), half, ACCENT, 2)
                    drawn.line(at(-1 if edge == ranks else ranks, number + 0.5), (x, y - 6), ACCENT, 2, arrow=True)
    reached = {box}
    for number in range(len(steps[0]) + 1):
        for rank in range(ranks):
            drawn.dot(*at(rank, number), 6, ACCENT if rank in reached else "#c3c9d2")
        if number < len(steps[0]):
            reached |= {
                op.peer for rank in range(ranks) for op in steps[rank][number] if op.kind == "send" and box in op.origins
            }
    for rank in range(ranks):
        drawn.text(left + rank * wide, top - 12, str(rank), colour=QUIET, size=11)
    return top + len(steps[0]) * high


def exchanges() -> Picture:
    """Draw how the box of one rank of eight reaches all ranks within two layers, by exchange."""
    drawn = Picture(700, 496, "The way of one rank's box to all within two layers, by five exchanges")
    ring: tuple[Sequence[int], Sequence[bool], Sequence[int]] = ([8], [True], [2])
    panels = (
        ("direct", "one message a partner, at once", _core.Exchange("direct", "isend", *ring)),
        ("shift", "to the neighbour, and on from there", _core.Exchange("shift", "isend", *ring)),
        ("comb", "axis by axis; on one axis as direct", _core.Exchange("comb", "isend", *ring)),
        (
            "team-shift, teams of 2",
            "teams pool boxes, visitors travel",
            _core.Exchange("team-shift", "isend", *ring, "full", 2),
        ),
        (
            "striped, nodes of 4",
            "once to each node, handed out there",
            _core.Exchange("striped", "isend", *ring).on_nodes([0] * 4 + [1] * 4),
        ),
    )
    for at, (name, words, exchange) in enumerate(panels):
        left, top = 34 + at % 3 * 234, 70 + at // 3 * 210
        drawn.text(left + 91, top - 44, name, bold=True)
        drawn.text(left + 91, top - 28, words, colour=QUIET, size=11)
        if name.startswith(("team", "striped")):
            width = 2 if name.startswith("team") else 4
            for first in range(0, 8, width):
                drawn.box(
                    left + first * 26 - 11,
                    top - 24,
                    width * 26 - 4,
                    26 + 16 + 46 * len(exchange.steps(0, False)),
                    "#f7f7ef",
                    "#ddd8b0",
                    6,
                )
        _journey(drawn, left, top, exchange, 8, 3)
    drawn.text(502, 300, "red: who has the box of rank 3,", "start", INK, 12)
    drawn.text(502, 318, "and the messages that carry it;", "start", INK, 12)
    drawn.text(502, 336, "grey: all other messages.", "start", QUIET, 12)
    drawn.text(502, 354, "A row is a step, time goes down.", "start", QUIET, 12)
    return drawn


def j_sum_j_max() -> Picture:
    """Draw one grid by two mappings, the messages between nodes in colour, and count them."""
    grid, ppn = (4, 6), 6
    found = map_grid(grid, [ppn] * 4, "nearest-neighbor", algorithms=["blocked", "refined"], how=How(keep_maps=True))
    drawn = Picture(640, 300, "The same grid by two mappings: messages that cross nodes in red")
    for at, result in enumerate(found.results):
        left, side = 30 + at * 310, 44
        cells = np.asarray(result.node_of_cell).reshape(grid)
        drawn.text(left + 132, 22, result.algorithm, bold=True)
        for row in range(grid[0]):
            for column in range(grid[1]):
                drawn.box(left + column * side, 40 + row * side, side, side, NODES[cells[row, column] % 4], "#fff")
        for row in range(grid[0]):
            for column in range(grid[1]):
                for down, right in ((1, 0), (0, 1)):
                    other = (row + down, column + right)
                    if other[0] < grid[0] and other[1] < grid[1]:
                        crosses = cells[row, column] != cells[other]
                        x, y = left + (column + 0.5) * side, 40 + (row + 0.5) * side
                        drawn.line(
                            (x, y), (x + right * side, y + down * side), ACCENT if crosses else "#fff", 2.4 if crosses else 1.2
                        )
        drawn.text(left + 132, 240, f"J_sum = {result.j_sum}: messages between nodes", colour=INK)
        drawn.text(left + 132, 260, f"J_max = {result.j_max}: of the busiest node", colour=INK)
    drawn.text(320, 290, "4 nodes of 6 ranks, a colour each; a red line is two messages, one each way", colour=QUIET, size=12)
    return drawn


def contention() -> Picture:
    """Draw what the judge says of 1 to 8 ranks a node that all send 1 MB to a partner on another node."""
    link = Link(
        curve_from_table(
            [Point(s, 2e-6 + s * 1e-10, 2e-6 + s * 1e-10, 2e-6 + s * 1e-10, 9) for s in (0, 1000, 1_000_000)], "median"
        )
    )
    profile = Profile(
        {"cores": 16},
        {"other-node": link, "same-socket": link},
        "2026-01-01T00:00:00Z",
        {"kind": "an example"},
        shared=Shared(card=Resource(25e9)),
    )
    drawn = Picture(640, 260, "The time of an exchange while more and more ranks share a card")
    path = Path("contention-machine.json")
    profile.save(path)
    try:
        times = {
            ranks: rankwise.predict(
                rankwise.Stencil(grid=(2, ranks), stencil="1,0;-1,0", algorithm="blocked", size=1_000_000, nodes=2, ppn=ranks),
                path,
            ).records()[0]["time_s"]
            for ranks in (1, 2, 4, 8)
        }
    finally:
        path.unlink()
    most = max(times.values())
    for at, (ranks, time) in enumerate(times.items()):
        y = 44 + at * 46
        drawn.text(20, y + 18, f"{ranks} rank{'s' if ranks > 1 else ''} a node", "start")
        drawn.box(120, y, 400 * time / most, 26, OTHER if time > 1.05 * times[1] else NODES[1])
        drawn.text(128 + 400 * time / most, y + 18, f"{1e6 * time:.0f} us", "start")
    drawn.text(20, 24, "each rank exchanges 1 MB with a partner on the other node", "start", bold=True)
    drawn.text(
        20,
        248,
        "a link carries 10 GB/s, the card of a node 25 GB/s each way: from the third rank on they share it",
        "start",
        QUIET,
        12,
    )
    return drawn


def intervals() -> Picture:
    """Draw forty campaigns of twenty launches of a machine whose true figure is known, each with its interval."""
    rng = np.random.default_rng(27)
    drawn = Picture(640, 260, "Forty campaigns: nearly all intervals hold the true value")
    missed = 0

    def at(value: float) -> float:
        return 134 - (value - 1.0) * 600

    drawn.line((60, at(1.0)), (620, at(1.0)), OTHER, 1.6)
    drawn.text(54, at(1.0) + 4, "truth", "end", OTHER, 12, True)
    for campaign in range(40):
        launches = np.log(1.0) + 0.12 * rng.standard_normal(20)
        found = launch_interval(launches)
        assert found.half_width is not None
        low, high = (math.exp(found.centre + sign * found.half_width) for sign in (-1, 1))
        holds = low <= 1.0 <= high
        missed += not holds
        x = 72 + campaign * 13.8
        drawn.line((x, at(low)), (x, at(high)), INK if holds else ACCENT, 2)
        drawn.dot(x, at(math.exp(found.centre)), 3, INK if holds else ACCENT)
    drawn.text(60, 24, "forty campaigns of twenty launches, which differ by 12 %", "start", bold=True)
    drawn.text(60, 248, f"red: {missed} of 40 intervals miss the truth; 2 of 40 are to be expected", "start", QUIET, 12)
    return drawn


PICTURES = {
    "alpha-beta": alpha_beta, "eager-rendezvous": eager_rendezvous, "shells": shells, "exchanges": exchanges,
    "j-sum-j-max": j_sum_j_max, "contention": contention, "intervals": intervals,
}  # fmt: skip


def main() -> None:
    """Write all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw().file(), encoding="utf-8")


if __name__ == "__main__":
    main()
