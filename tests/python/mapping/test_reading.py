"""Mappings from files: whatever a file holds, it is a mapping or a one-line InputError."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.machine.rank_map import MISREAD
from rankwise.mapping.formats import FORMATS, Placed, default_hosts, warning_of, write_mapping
from rankwise.mapping.reading import read_mapping

SIZES = [3, 4, 5]
NODE_OF_CELL = [0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 2, 2]

RANKFILE_LINE = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["rank ", "rank", "rank  ", "ran k ", "# rank ", ""]),
    st.one_of(st.integers(-2, 13), st.sampled_from(["99999999999999999999", "x", ""])),
    st.sampled_from(["=", " = ", "", "=="]),
    st.sampled_from(["a", "b", "c", "d", "+n0", "", "n[1-2]"]),
    st.sampled_from([" slot=0", " slots = 0:1-3", " slot=", "", " slot=0 slot=1"]),
)
HOST_LINE = st.sampled_from(["a", "b", "c", "a:3", "b:4", "c:5", "a:0", "b:99999999999", "a:b", "c slots=5", ":3"])
ANY_FILE = st.one_of(
    st.binary(max_size=80),
    st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.lists(RANKFILE_LINE, max_size=14).map(lambda lines: "\n".join(lines).encode()),
    st.lists(HOST_LINE, max_size=14).map(lambda lines: "\n".join(lines).encode()),
    st.text(alphabet="0123456789,-\n #", max_size=60).map(str.encode),
    st.text(alphabet='{}[]"nodeofcell_:results,0123456789.eE+-\n', max_size=60).map(str.encode),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=ANY_FILE)
@example(content=b'{"node_of_cell": [Infinity]}')
@example(content=b'{"node_of_cell": [1e400, true]}')
@example(content=b'{"results": [{"algorithm": "a", "node_of_cell": 3}]}')
@example(content=b"[" * 100_000)
@example(content=b'node\n"1\n')
@example(content=b"node\n\x00\n")
@example(content=b"0-99999999999999999\n")
@example(content=b"rank 0=a\nrank 0=b")
def test_any_file_is_a_mapping_or_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "given"
    path.write_bytes(content)
    try:
        found = read_mapping(path, SIZES)
    except InputError as error:
        assert "\n" not in str(error) and str(path) in str(error)
    else:
        for nodes in found.values():
            assert sorted(nodes.count(node) for node in range(len(SIZES))) == sorted(SIZES)


@given(seed=st.integers(0, 2**32), kind=st.sampled_from(sorted(FORMATS)))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(tmp_path: Path, seed: int, kind: str) -> None:
    nodes = list(NODE_OF_CELL)
    random.Random(seed).shuffle(nodes)
    path = tmp_path / "mapping"
    path.write_text(write_mapping(kind, [3, 4], nodes, default_hosts(3)))
    (found,) = read_mapping(path, SIZES).values()
    # Files of hosts say which ranks share a node, not the node's number.
    pairs = {(found[i], nodes[i]) for i in range(12)}
    assert len(pairs) == 3
    if kind in ("json", "csv", "cray-rank-order"):
        assert found == nodes


def test_an_order_of_ranks_may_have_ranges(tmp_path: Path) -> None:
    (tmp_path / "order").write_text("0,2-3,1\n")
    (nodes,) = read_mapping(tmp_path / "order", [2, 2]).values()
    assert list(nodes) == [0, 1, 0, 1]


def test_a_rankfile_may_be_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "rankfile"
    lines = [f"rank {rank}=n{node} slot=0:{rank}" for rank, node in enumerate(NODE_OF_CELL)]
    path.write_text("\n".join(["# a comment", *reversed(lines)]))
    assert read_mapping(path, SIZES) == {"rankfile": NODE_OF_CELL}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["rank 0=a", "rank 2=b"], "is no mapping"),
        (["a", "b"], "maps 2 cells"),
        (["a:6", "b:6"], "puts 6 ranks on node 0, which holds 3"),
    ],
)
def test_what_does_not_fit_says_why(tmp_path: Path, lines: list[str], says: str) -> None:
    path = tmp_path / "file"
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=says):
        read_mapping(path, SIZES)


def test_hosts_are_the_nodes_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "seq").write_text("b\nb\na\nc\n")
    assert read_mapping(tmp_path / "seq", [1, 2, 1], hosts=["a", "b", "c"]) == {"seq": [1, 1, 0, 2]}
    assert read_mapping(tmp_path / "seq", [2, 1, 1], hosts=["x", "y", "z"]) == {"seq": [0, 0, 1, 2]}


def test_a_rank_map_that_mpich_5_0_misreads_is_warned_of() -> None:
    nodes = [node for row in (0, 2, 4) for node in [row, row, row + 1, row + 1] * 2]  # blocks of 2x2 on a grid of 6x4
    placed = Placed((6, 4), nodes, default_hosts(6))
    assert warning_of("hydra-hostfile", placed) == MISREAD
    assert warning_of("openmpi-seq", placed) == "" != warning_of("intel-machinefile", placed)
    assert warning_of("hydra-hostfile", Placed((4, 4), nodes[:16], default_hosts(4))) == ""
