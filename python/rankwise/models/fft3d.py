"""The time of a distributed 3-D FFT after Czechowski et al. (ICS 2012), each term by name.

Units are explicit: flop/s for the node's peak, bytes/s for every bandwidth (one direction), bytes for the cache, and a
*word* of ``word_bytes`` (16 for a double complex value, the paper's unit) for everything that is counted per point of
the grid. ``n`` points an axis, ``nodes`` nodes, one processor a node. Equation numbers are the paper's.

The paper's text contradicts its own figures on the memory term, so the reading of that term is a parameter:
``literal`` is Eq. 2 with A = 6.3; ``paper-effective`` multiplies by the constants that its figures need (fitted to
them: 77.9 for the GPU-like design, 72.1 for the CPU-like one). See docs/project.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rankwise.records import Record, key, record

PAPER_A = 6.3
# What published runs on Frontier imply (papers/fft_since_2012.py), and from which year on machines are taken to be alike.
IMPLIED_A, IMPLIED_SINCE = (19.0, 23.0), 2020
EFFECTIVE_X = {"gpu": 77.9, "cpu": 72.1}
LITERAL, EFFECTIVE = "literal", "paper-effective"
READINGS = (LITERAL, EFFECTIVE)

BISECTION, IDEAL = "bisection", "ideal"
BOUNDS = (BISECTION, IDEAL)
# Eq. 5 prints 2; a k^3 torus has 2 P^(2/3) links across its middle, over which n^3/4 words go each way in each
# exchange: 2 (exchanges) * (n^3/4) / (2 P^(2/3)) = 1/4, an eighth of what is printed.
TORUS_CONSTANTS = {"printed": 1.0, "exact": 1.0 / 8.0}


@dataclass(frozen=True)
class Transform:
    """What is transformed: n^3 points of ``word_bytes`` each, with ``exchanges`` all-to-all exchanges in between.

    A pencil decomposition has two exchanges, a slab decomposition one. ``flops`` of a real transform are half.
    """

    n: float
    word_bytes: float = 16.0
    exchanges: int = 2
    real: bool = False

    @property
    def points(self) -> float:
        """Number of grid points, N = n^3."""
        return self.n**3

    @property
    def flops(self) -> float:
        """Scalar flops of the whole transform: 15 n^3 log2 n (5 n log2 n a 1-D FFT), half of it for real data."""
        return 15.0 * self.points * math.log2(self.n) * (0.5 if self.real else 1.0)


@dataclass(frozen=True)
class Memory:
    """A reading of the memory term: words moved for each point in each of the three computation phases."""

    reading: str
    constant: float

    def words_per_point(self, n: float, cache_words: float | None) -> float:
        """A * max(log_Z n, 1) of Eq. 2; the effective constant stands for the whole product.

        Without a cache size the logarithm is taken as 1, which holds while a pencil of n words fits in the cache.
        """
        if self.reading == EFFECTIVE or cache_words is None:
            return self.constant
        return self.constant * max(math.log(n) / math.log(cache_words), 1.0)

    def label(self) -> str:
        """Say in words which reading this is."""
        if self.reading == EFFECTIVE:
            return f"paper-effective: X = {self.constant:g}, fitted to the paper's figures"
        return f"literal: Eq. 2 with A = {self.constant:.4g}" + ("" if self.constant == PAPER_A else " (given)")


def literal(a: float = PAPER_A) -> Memory:
    """Eq. 2 as printed, with the paper's A = 6.3 or another."""
    return Memory(LITERAL, a)


def effective(processor: str) -> Memory:
    """The constant that the paper's figures need for its ``gpu``-like or ``cpu``-like design."""
    return Memory(EFFECTIVE, EFFECTIVE_X[processor])


def memory_of(reading: str, processor: str) -> Memory:
    """The memory term of a reading for the ``cpu`` or ``gpu`` design."""
    return literal() if reading == LITERAL else effective(processor)


@dataclass(frozen=True)
class Network:
    """The network of a machine as the model sees it.

    ``link_bytes_per_s`` is one link of a torus; ``injection_bytes_per_s`` what a node injects at most (None: no limit
    but the links); ``taper`` the share of it that the upper level of a switched network carries.
    """

    topology: str
    link_bytes_per_s: float | None = None
    injection_bytes_per_s: float | None = None
    dimensions: int = 3
    taper: float = 1.0
    bound: str = BISECTION
    torus_constant: str = "printed"


@dataclass(frozen=True)
class System:
    """Nodes and their rates; ``cache_bytes`` and ``io_bus_bytes_per_s`` may be unknown."""

    nodes: float
    node_flop_per_s: float
    memory_bytes_per_s: float
    network: Network
    cache_bytes: float | None = None
    io_bus_bytes_per_s: float | None = None


@record
class Terms(Record):
    """The terms of the model."""

    flops_s: float = key("time of the arithmetic, Eq. 1")
    memory_s: float = key("time of the traffic with memory, Eq. 2")
    shuffle_s: float = key("time of moving data within a node, Eq. 8")
    io_bus_s: float | None = key("time on the bus to the accelerator, Eq. 9; null: no such bus is described")
    network_s: float = key("time on the network, Eq. 3, 4 or 5")

    @property
    def compute_s(self) -> float:
        """T_comp = max(T_flops, T_mem): arithmetic and memory traffic overlap (section 3.1.3)."""
        return max(self.flops_s, self.memory_s)

    def total_s(self, overlap: bool = False, artifacts: bool = False) -> float:
        """T_comp + T_net, or the greater of the two with ``overlap``; ``artifacts`` adds Eq. 8 and Eq. 9 to T_comp."""
        node_s = self.compute_s + (self.shuffle_s + (self.io_bus_s or 0.0) if artifacts else 0.0)
        return max(node_s, self.network_s) if overlap else node_s + self.network_s


def flops_time(transform: Transform, nodes: float, node_flop_per_s: float) -> float:
    """Eq. 1: 3 n^2/P FFTs of 5 n log2 n flops each, at the node's peak."""
    return transform.flops / (nodes * node_flop_per_s)


def memory_time(
    transform: Transform, nodes: float, memory_bytes_per_s: float, cache_bytes: float | None, memory: Memory
) -> float:
    """Eq. 2: 3 n^2/P FFTs that move A n max(log_Z n, 1) words each through main memory."""
    cache_words = None if cache_bytes is None else cache_bytes / transform.word_bytes
    words = 3.0 * transform.points / nodes * memory.words_per_point(transform.n, cache_words)
    return words * transform.word_bytes / memory_bytes_per_s


def shuffle_time(transform: Transform, nodes: float, memory_bytes_per_s: float) -> float:
    """Eq. 8: before each exchange every point is loaded and stored once."""
    return 2.0 * transform.exchanges * _bytes_per_node(transform, nodes) / memory_bytes_per_s


def io_bus_time(transform: Transform, nodes: float, io_bus_bytes_per_s: float) -> float:
    """Eq. 9 for all three computation phases: each moves every point to the accelerator and back."""
    return 3.0 * 2.0 * _bytes_per_node(transform, nodes) / io_bus_bytes_per_s


def connected_network_time(transform: Transform, nodes: float, bytes_per_s: float) -> float:
    """Eq. 3: on a fully connected network each node sends all its points once an exchange."""
    return transform.exchanges * _bytes_per_node(transform, nodes) / bytes_per_s


def torus_ideal_time(transform: Transform, nodes: float, link_bytes_per_s: float) -> float:
    """Eq. 4: exchanges within P^(1/6)-wide cubes of a 3-D torus.

    The paper prints an order without a constant; it carries the factor of Eq. 3 and 5 (one an exchange) here, by
    which Eq. 4 and Eq. 5 differ by P^(1/6), the "10x" of the paper's section 6.
    """
    return transform.exchanges * transform.points * transform.word_bytes / (math.pow(nodes, 5 / 6) * link_bytes_per_s)


def torus_bisection_time(
    transform: Transform, nodes: float, link_bytes_per_s: float, dimensions: int = 3, constant: str = "printed"
) -> float:
    """Eq. 5, for a torus of any number of axes: all points over the P^((k-1)/k) links of the bisection.

    ``constant``: ``printed`` is the paper's 2 for two exchanges; ``exact`` counts the links across the middle of a
    k-ary torus and the words that cross it (an eighth of it).
    """
    kappa = (dimensions - 1) / dimensions
    moved = transform.exchanges * transform.points * transform.word_bytes * TORUS_CONSTANTS[constant]
    return moved / (math.pow(nodes, kappa) * link_bytes_per_s)


def network_time(transform: Transform, nodes: float, network: Network) -> float:
    """T_net on a network: Eq. 3, 4 or 5, never below what the nodes can inject; 0 on a single node.

    Switched networks (fat tree, dragonfly) take Eq. 3, over their taper where the exchange is global (``bisection``).
    """
    if nodes <= 1:
        return 0.0
    injection = network.injection_bytes_per_s
    injected_s = connected_network_time(transform, nodes, injection) if injection is not None else 0.0
    if network.topology == "torus":
        assert network.link_bytes_per_s is not None
        link = network.link_bytes_per_s
        if network.bound == IDEAL:
            return max(injected_s, torus_ideal_time(transform, nodes, link))
        return max(injected_s, torus_bisection_time(transform, nodes, link, network.dimensions, network.torus_constant))
    assert injection is not None
    return injected_s / (1.0 if network.bound == IDEAL else network.taper)


def predict(transform: Transform, system: System, memory: Memory) -> Terms:
    """All terms of one transform on one system."""
    bus = system.io_bus_bytes_per_s
    return Terms(
        flops_s=flops_time(transform, system.nodes, system.node_flop_per_s),
        memory_s=memory_time(transform, system.nodes, system.memory_bytes_per_s, system.cache_bytes, memory),
        shuffle_s=shuffle_time(transform, system.nodes, system.memory_bytes_per_s),
        io_bus_s=None if bus is None else io_bus_time(transform, system.nodes, bus),
        network_s=network_time(transform, system.nodes, system.network),
    )


def solve_nodes(time_of: Callable[[float], float], target_s: float) -> float:
    """The number of nodes at which a time that falls with the nodes equals ``target_s``.

    Raises ValueError when no number between 2 and 1e12 does.
    """
    if not time_of(1e12) <= target_s <= time_of(2.0):
        raise ValueError("no number of nodes gives that time")
    left, right = math.log(2.0), math.log(1e12)
    for _ in range(200):
        middle = (left + right) / 2
        if time_of(math.exp(middle)) > target_s:
            left = middle
        else:
            right = middle
    return math.exp((left + right) / 2)


def _bytes_per_node(transform: Transform, nodes: float) -> float:
    return transform.points * transform.word_bytes / nodes
