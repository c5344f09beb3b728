"""Switches above nodes: the same groups from every form of Slurm's, and one line where a file is wrong."""

from __future__ import annotations

import pytest

from rankwise.errors import InputError
from rankwise.machine.switches import parse_switches

TREE = """# leaf switches
SwitchName=s0 Nodes=n[0-2,12]
switchname=s1 nodes=n[3-5] LinkSpeed=100
SwitchName=s2 Nodes=n6,n7
SwitchName=g0 Switches=s[0-1]
SwitchName=g1 Switches=s2
SwitchName=top \\
  Switches=g[0-1]
"""
SCONTROL = """SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-2,12]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-5]
SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[6-7]
SwitchName=g0 Level=1 LinkSpeed=1 Nodes=n[0-5,12] Switches=s[0-1]
SwitchName=g1 Level=1 LinkSpeed=1 Nodes=n[6-7] Switches=s2
SwitchName=top Level=2 LinkSpeed=1 Nodes=n[0-7,12] Switches=g[0-1]
"""
YAML = """---
- topology: flat
  cluster_default: false
  flat: true
- topology: real
  cluster_default: true
  tree:
    switches:
      - switch: top
        children: g[0-1]
      - switch: g0
        children: s[0-1]
      - switch: g1
        children: s2
      - switch: s0
        nodes: n[0-2,12]
      - switch: s1
        nodes: n[3-5]
      - switch: s2
        nodes: "n[6-7]"
"""
ADDRESSES = "".join(
    f"top.{group}.{switch}.n{node}\n"
    for group, switch, nodes in (("g0", "s0", (0, 1, 2, 12)), ("g0", "s1", (3, 4, 5)), ("g1", "s2", (6, 7)))
    for node in nodes
)
HOSTS = ["n12", "n3", "n0", "n7", "n5"]


@pytest.mark.parametrize("text", [TREE, SCONTROL, YAML, ADDRESSES])
def test_every_form_of_a_tree_gives_the_same_groups(text: str) -> None:
    assert parse_switches(text, "file").of_hosts(HOSTS) == [(0, 1, 0, 2, 1), (0, 0, 0, 1, 0)]


BLOCKS = "BlockName=b1 Nodes=n[0-3]\nBlockName=b2 Nodes=n[4-7]\nBlockName=b3 Nodes=n[8-11]\nBlockSizes=4,8\n"
BLOCKS_TOLD = """BlockName=b1 BlockIndex=0 Nodes=n[0-3] BlockSize=4
BlockName=b2 BlockIndex=1 Nodes=n[4-7] BlockSize=4
BlockName=b3 BlockIndex=2 Nodes=n[8-11] BlockSize=4
AggregatedBlock=b[1-2] BlockIndex=3 Nodes=n[0-7] BlockSize=8
"""
BLOCKS_YAML = """- topology: blocks
  cluster_default: true
  block:
    block_sizes: [4, 8]
    blocks:
      - block: b1
        nodes: n[0-3]
      - block: b2
        nodes: n[4-7]
      - block: b3
        nodes: n[8-11]
"""


@pytest.mark.parametrize("text", [BLOCKS, BLOCKS_TOLD, BLOCKS_YAML])
def test_blocks_are_switches_and_larger_sizes_groups(text: str) -> None:
    assert parse_switches(text, "file").of_hosts(["n0", "n5", "n9", "n1"]) == [(0, 1, 2, 0), (0, 0, 1, 0)]


def test_a_switch_nearer_to_the_top_and_one_switch_for_all() -> None:
    uneven = "SwitchName=s0 Nodes=a\nSwitchName=s1 Nodes=b\nSwitchName=g Switches=s0\nSwitchName=t Switches=g,s1\n"
    assert parse_switches(uneven, "file").of_hosts(["a", "b"]) == [(0, 1), (0, 1)]
    assert parse_switches("SwitchName=s0 Nodes=a,b\n", "file").of_hosts(["a", "b"]) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (TREE.replace("Switches=s2", "Switches=s2,top"), "switch .* hangs on "
                                                         "itself"), (TREE.replace("=s2\nS", "=s3\nS"), "line 6: switch s3"),
        (TREE.replace("n6,n7", "n5,n7"), "line 4: node n5 is on "
                                         "s1"), (TREE.replace("=top", "=s1"), "line 7: switch s1 stands twice"),
        (TREE.replace("Switches=g[0-1]", "Switches=g0"), "line [67]: g1 and top|line 7: g1|both "
                                                         "tops"), (TREE.replace("n6,n7", "n[6-"), "line 4: 'n\\[6-'"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c Nodes=n1\n", "line 1: switch a hangs on itself"),
        (BLOCKS.replace("4,8", "4,6"), "line 4: the "
                                       "sizes"), (BLOCKS_TOLD.replace("Size=4", "Size=n"), "line 1: the sizes .*'n'"),
        (BLOCKS_TOLD.replace("Size=4", "Size=0"), "line 1: the sizes"), ("", "is empty"), ("what is this", "line 1: 'what"),
        (YAML.replace("nodes: n[3-5]", "nodes n[3-5]"), "line 18"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_with_its_line(text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        parse_switches(text, "file").of_hosts(["n0"])


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(InputError, match="file, lines 1 to [0-9]+, does not know the node n99"):
        parse_switches(TREE, "file").of_hosts(["n0", "n99"])
