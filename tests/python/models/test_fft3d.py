"""The 3-D FFT model: each equation by hand, the published figures under both readings, and what must always hold."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.models import fft3d
from rankwise.models.fft3d import Network, System, Transform
from rankwise.models.uncertain import Range, bounds

# 1024^3 double complex points (16 GiB) on 64 nodes: 256 MiB a node.
SMALL = Transform(1024)
NODE_BYTES = 1024**3 * 16 / 64


def test_eq_1_counts_15_n3_log2_n_flops() -> None:
    assert SMALL.flops == 15 * 2**30 * 10
    assert fft3d.flops_time(SMALL, 64, 1e12) == pytest.approx(150 * 2**30 / 64e12)
    assert Transform(1024, word_bytes=8, real=True).flops == 75 * 2**30


def test_eq_2_takes_the_logarithm_in_words_of_the_cache() -> None:
    literal = fft3d.literal()
    one_pass = 3 * NODE_BYTES * 6.3 / 100e9
    assert fft3d.memory_time(SMALL, 64, 100e9, 16 * 1024, literal) == pytest.approx(one_pass)
    assert fft3d.memory_time(SMALL, 64, 100e9, 1e9, literal) == pytest.approx(one_pass)
    assert fft3d.memory_time(SMALL, 64, 100e9, None, literal) == pytest.approx(one_pass)
    # 32 words: log_32 1024 = 2.
    assert fft3d.memory_time(SMALL, 64, 100e9, 16 * 32, literal) == pytest.approx(2 * one_pass)


def test_the_effective_constant_stands_for_the_whole_product() -> None:
    assert fft3d.memory_time(SMALL, 64, 100e9, 16 * 32, fft3d.effective("gpu")) == pytest.approx(3 * NODE_BYTES * 77.9 / 100e9)
    assert fft3d.effective("cpu").constant == 72.1


def test_eq_8_and_eq_9() -> None:
    assert fft3d.shuffle_time(SMALL, 64, 100e9) == pytest.approx(4 * NODE_BYTES / 100e9)
    assert fft3d.io_bus_time(SMALL, 64, 8e9) == pytest.approx(6 * NODE_BYTES / 8e9)


def test_eq_3_4_and_5() -> None:
    total = 1024**3 * 16
    assert fft3d.connected_network_time(SMALL, 64, 10e9) == pytest.approx(2 * NODE_BYTES / 10e9)
    assert fft3d.torus_ideal_time(SMALL, 64, 10e9) == pytest.approx(2 * total / (32 * 10e9))
    assert fft3d.torus_bisection_time(SMALL, 64, 10e9) == pytest.approx(2 * total / (16 * 10e9))
    assert fft3d.torus_bisection_time(SMALL, 64, 10e9, 6) == pytest.approx(fft3d.torus_ideal_time(SMALL, 64, 10e9))
    slab = Transform(1024, exchanges=1)
    assert fft3d.torus_bisection_time(slab, 64, 10e9) == pytest.approx(total / (16 * 10e9))


def test_the_exact_torus_counts_links_and_words_across_the_middle() -> None:
    """A 4 x 4 x 4 torus: 2 * 16 links across the middle; a quarter of all words crosses them each way."""
    crossing_s = (1024**3 / 4) * 16 / (2 * 16 * 10e9)
    assert fft3d.torus_bisection_time(SMALL, 64, 10e9, constant="exact") == pytest.approx(2 * crossing_s)


def test_a_torus_is_never_faster_than_what_nodes_inject() -> None:
    network = Network("torus", link_bytes_per_s=10e9, injection_bytes_per_s=1e9, torus_constant="exact")
    assert fft3d.network_time(SMALL, 64, network) == pytest.approx(2 * NODE_BYTES / 1e9)


def test_a_taper_counts_only_where_the_exchange_is_global() -> None:
    network = Network("fat-tree", injection_bytes_per_s=10e9, taper=0.5)
    ideal = Network("fat-tree", injection_bytes_per_s=10e9, taper=0.5, bound=fft3d.IDEAL)
    assert fft3d.network_time(SMALL, 64, network) == pytest.approx(4 * NODE_BYTES / 10e9)
    assert fft3d.network_time(SMALL, 64, ideal) == pytest.approx(2 * NODE_BYTES / 10e9)


def test_one_node_exchanges_nothing() -> None:
    assert fft3d.network_time(SMALL, 1, Network("fat-tree", injection_bytes_per_s=1e9)) == 0.0


def test_totals() -> None:
    terms = fft3d.Terms(flops_s=1.0, memory_s=2.0, shuffle_s=0.5, io_bus_s=0.25, network_s=4.0)
    assert terms.compute_s == 2.0
    assert terms.total_s() == 6.0
    assert terms.total_s(overlap=True) == 4.0
    assert terms.total_s(artifacts=True) == 6.75
    assert fft3d.Terms(3.0, 2.0, 0.5, None, 1.0).total_s(artifacts=True) == 4.5


def test_solving_for_nodes() -> None:
    assert fft3d.solve_nodes(lambda nodes: 100 / nodes, 4.0) == pytest.approx(25)
    with pytest.raises(ValueError, match="no number of nodes"):
        fft3d.solve_nodes(lambda nodes: 1 + 1 / nodes, 0.5)


def _system(nodes: float, memory: float, link: float, topology: str = "torus", dimensions: int = 3) -> System:
    network = Network(topology, link_bytes_per_s=link, injection_bytes_per_s=4 * link, dimensions=dimensions, taper=0.6)
    return System(nodes, 30e12, memory, network, cache_bytes=8e6, io_bus_bytes_per_s=32e9)


_NODES = st.floats(2, 1e6)
_RATE = st.floats(1e9, 1e13)
_N = st.floats(16, 1e5)
_TOPOLOGIES = st.sampled_from([("torus", 3), ("torus", 6), ("fat-tree", 3), ("dragonfly", 3)])


@settings(deadline=None)
@given(n=_N, nodes=_NODES, memory=_RATE, link=_RATE, factor=st.floats(1.01, 10), network=_TOPOLOGIES)
def test_time_falls_with_nodes_and_rates_and_rises_with_n(
    n: float, nodes: float, memory: float, link: float, factor: float, network: tuple[str, int]
) -> None:
    def total(n: float, nodes: float, memory: float, link: float) -> float:
        return fft3d.predict(Transform(n), _system(nodes, memory, link, *network), fft3d.literal()).total_s(artifacts=True)

    point = total(n, nodes, memory, link)
    assert math.isfinite(point) and point > 0
    assert total(n * factor, nodes, memory, link) > point
    assert total(n, nodes * factor, memory, link) < point
    assert total(n, nodes, memory * factor, link) <= point
    assert total(n, nodes, memory, link * factor) <= point


@settings(deadline=None)
@given(
    n=_N,
    nodes=_NODES,
    memory=_RATE,
    link=_RATE,
    widths=st.tuples(*[st.floats(1, 4)] * 4),
    inside=st.tuples(*[st.floats(0, 1)] * 4),
    network=_TOPOLOGIES,
)
def test_intervals_hold_the_point_and_every_inner_point(
    n: float, nodes: float, memory: float, link: float, widths: tuple[float, ...], inside: tuple[float, ...],
    network: tuple[str, int],
) -> None:  # fmt: skip
    point = {"n": n, "nodes": 2 * nodes, "memory": memory, "link": link}
    ranges = {
        name: Range(value, value / (min(width, 2) if name == "nodes" else width), value * width)
        for (name, value), width in zip(point.items(), widths, strict=True)
    }

    def results(values: dict[str, float]) -> dict[str, float]:
        system = _system(values["nodes"], values["memory"], values["link"], *network)
        transform = Transform(max(2.0, values["n"]))
        total = fft3d.predict(transform, system, fft3d.literal()).total_s()
        return {"total": total, "performance": transform.flops / total}

    found = bounds(results, ranges)  # type: ignore[arg-type]
    inner = {
        name: ranges[name].low * (ranges[name].high / ranges[name].low) ** share
        for name, share in zip(point, inside, strict=True)
    }
    for name, value in found.items():
        assert value.low <= value.value <= value.high
        tolerance = 1e-9 * value.high
        assert value.low - tolerance <= results(inner)[name] <= value.high + tolerance


def test_an_exact_parameter_has_no_width() -> None:
    found = bounds(lambda values: {"twice": 2 * values["x"]}, {"x": Range.exactly(3.0)})
    assert found["twice"] == Range(6.0, 6.0, 6.0) and not found["twice"].wide


def test_too_many_ranges_are_refused() -> None:
    with pytest.raises(InputError, match="12 are the most"):
        bounds(lambda values: dict(values), {f"x{i}": Range(2, 1, 3) for i in range(13)})
