"""Topologies as they are asked for: their sizes multiply up, or one line says what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.engines.platform import TOPOLOGIES, Network, parse_network
from rankwise.errors import InputError


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("crossbar", Network("crossbar", (12,))),
        ("crossbar:16", Network("crossbar", (16,))),
        ("fat-tree", Network("fat-tree", (4, 3))),
        ("fat-tree:6x4:2", Network("fat-tree", (6, 4), 2)),
        ("torus", Network("torus", (3, 2, 2))),
        ("torus:4x4", Network("torus", (4, 4))),
        ("dragonfly:3x4x2", Network("dragonfly", (3, 4, 2))),
    ],
)
def test_topologies_are_read(text: str, network: Network) -> None:
    assert parse_network(text, None, 12) == network


@given(st.sampled_from(TOPOLOGIES), st.integers(1, 5000))
def test_a_topology_without_sizes_has_enough_nodes(name: str, needed: int) -> None:
    network = parse_network(name, None, needed)
    assert needed <= network.nodes
    assert parse_network(network.label(), network.nodes, needed) == network


@pytest.mark.parametrize(
    ("text", "nodes", "needed", "words"),
    [
        ("hypercube", None, 4, "none that is known"),
        ("torus:", None, 4, "none that is known"),
        ("torus:4x4x4", 60, 4, "4x4x4 = 64 nodes but --nodes is 60"),
        ("torus:2x2", None, 5, "has 4 nodes but the ranks need 5"),
        ("crossbar", 3, 5, "has 3 nodes but the ranks need 5"),
        ("fat-tree:4", None, 4, "does not have the sizes of a fat-tree"),
        ("fat-tree:5x4:2", None, 4, "no multiple of the taper"),
        ("torus:4x4:2", None, 4, "only a fat tree is tapered"),
        ("dragonfly:5x4x2", None, 4, "5 groups need as many routers"),
        ("torus:1000x1000", None, 4, "give at most"),
        ("torus:0x4", None, 4, "does not have the sizes"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(text: str, nodes: int | None, needed: int, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_network(text, nodes, needed)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
