"""Files of settings, read as the libraries read them: a rule holds where it should, and the default everywhere else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rankwise.collectives.selection import Call, Setting, rules_of, settable, settable_libraries
from rankwise.collectives.settings import FILE, Library, Rule, Settings, write_settings, written
from rankwise.errors import InputError
from rankwise.launch.mpi import Mpi

PIPELINE = Setting("3 pipeline", "pipeline", segment_bytes=131072)
RING = Setting("4 ring", "ring")
RULES = [
    Rule("bcast", 7, 65536, 1 << 22, PIPELINE, by_nodes=True),
    Rule("bcast", 7, 8, 16, Setting("6 binomial", "binomial")),
    Rule("bcast", 8, 100, 100, Setting("2 chain", "chain", 4, 8192)),
    Rule("allgather", 6, 10, 20, RING, by_nodes=True),
]


def words(text: str) -> list[str]:
    return [word for line in text.splitlines() for word in line.partition("#")[0].split()]


def numbers(text: str) -> list[int]:
    return list(map(int, words(text)))


def tuned(text: str, collective: int, ranks: int, size: int) -> tuple[int, ...]:
    """Return algorithm, fan and segment as coll_tuned_dynamic_file.c and coll_tuned_dynamic_rules.c find them."""
    left = iter(numbers(text))
    found = (0, 0, 0)
    for _ in range(next(left)):
        number = next(left)
        best: list[tuple[int, tuple[int, ...]]] = []
        for place in range(next(left)):
            of, messages = next(left), [(next(left), (next(left), next(left), next(left))) for _ in range(next(left))]
            if place == 0 or of <= ranks:
                best = messages
        if number == collective:
            assert best[0][0] == 0
            found = [what for least, what in best if least <= size][-1]
    assert next(left, None) is None
    return found


@pytest.mark.parametrize("library", ["openmpi-4.1", "openmpi-5.0"])
def test_a_rule_of_open_mpi_holds_for_its_ranks_and_bytes_alone(library: str) -> None:
    files = written(Library(library), RULES).files
    text = files["tuned.rules"]
    assert tuned(text, 7, 7, 65536) == tuned(text, 7, 7, 1 << 22) == (3, 0, 131072)
    assert tuned(text, 7, 7, 8) == tuned(text, 7, 7, 16) == (6, 0, 0)
    assert tuned(text, 7, 8, 100) == (2, 4, 8192)
    # allgather: of all ranks together
    assert tuned(text, 0, 6, 60) == tuned(text, 0, 6, 120) == (4, 0, 0)
    default = [(7, 7, 7), (7, 7, 17), (7, 7, 65535), (7, 7, (1 << 22) + 1), (7, 8, 99), (7, 8, 101), (7, 8, 65536),
               (7, 6, 65536), (7, 9, 100), (7, 2, 65536), (0, 6, 59), (0, 6, 121), (0, 7, 100), (2, 7, 65536)]  # fmt: skip
    assert {tuned(text, *where) for where in default} == {(0, 0, 0)}
    assert ("han.rules" in files) == (library == "openmpi-5.0")


def test_han_leaves_to_tuned_what_has_a_rule_and_nothing_else() -> None:
    found = written(Library("openmpi-5.0"), RULES)
    left = iter(words(found.files["han.rules"]))
    serving: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for _ in range(int(next(left))):
        number = int(next(left))
        assert next(left) == "1"  # level
        assert next(left) == "2"  # the whole communicator
        for _ in range(int(next(left))):
            ranks = int(next(left))
            serving[number, ranks] = [(int(next(left)), next(left)) for _ in range(int(next(left)))]  # components by name
    assert serving[7, 7] == [(0, "han"), (65536, "tuned"), ((1 << 22) + 1, "han")]
    assert serving[0, 6] == [(0, "han"), (10, "tuned"), (21, "han")]  # of one rank
    assert {tuple(serving[key]) for key in serving.keys() - {(7, 7), (0, 6)}} == {((0, "han"),)}
    assert found.variables["OMPI_MCA_coll_han_use_dynamic_file_rules"] == "1"
    assert found.variables["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"  # without which the file is ignored


def leaf(tree: Any, call: dict[str, Any]) -> dict[str, Any]:
    """Return what a selection tree of MPICH leads to: of siblings the first that holds, and no way back (csel.c)."""
    while True:
        first = next(iter(tree), "")
        if first.startswith(("algorithm=", "composition=")):
            return {first: tree[first]}
        for test in tree:
            match = re.fullmatch(r"(\w+)(<=|<|=)(.+)", test)
            assert match
            name, sign, wanted = match.groups()
            value = call[name] if name in call else call.get("others", {}).get(name)
            if wanted == "any" or (sign == "=" and str(value) == wanted):
                break
            if sign != "=" and wanted.isdigit() and (value < int(wanted) or (sign == "<=" and value == int(wanted))):
                break
            if wanted == "pow2" and ((name == "comm_size" and value & (value - 1) == 0) or (name == "count" and value < 4)):
                break
        else:
            raise AssertionError(f"no branch of {list(tree)} holds")
        tree = tree[test]


def test_a_rule_of_mpich_changes_its_branch_of_the_librarys_own_tree(mpi: Mpi) -> None:
    if mpi.library_family != "mpich":
        pytest.skip("another MPI is at hand")
    library = Library.at("mpich-5.0", mpi.library_path)
    assert library.trees.keys() >= {"mpir", "ch4"}
    pipelined = next(one for one in settable("mpich-5.0", Call("bcast", 7, 1 << 22)) if one.segment_bytes == 131072)
    rules = [
        Rule("bcast", 7, 1 << 16, 1 << 22, pipelined, by_nodes=True),
        Rule("allgather", 7, 100, 200, Setting("ring", "ring")),
        Rule("alltoall", 7, 100, 200, Setting("scattered", "linear")),
        Rule("allreduce", 7, 1 << 16, 1 << 20, Setting("reduce_scatter_allgather", "rabenseifner")),
    ]
    found = written(library, rules)
    mpir, ch4 = (json.loads(found.files[name]) for name in ("mpir.json", "ch4.json"))

    def call(kind: str, ranks: int, size: int, **others: Any) -> dict[str, Any]:
        plain = {
            "is_commutative": "yes",
            "is_op_built_in": "yes",
            "count": size // 4,
            "comm_hierarchy": "parent",
            "is_sendbuf_inplace": "no",
        }
        return {"collective": kind, "comm_type": "intra", "comm_size": ranks, "avg_msg_size": size,
                "total_msg_size": size * ranks, **plain, **others}  # fmt: skip

    name = "algorithm=MPIR_Bcast_intra_pipelined_tree"
    for size in (1 << 16, 1 << 22):
        assert leaf(mpir, call("bcast", 7, size))[name].keys() >= {"tree_type=kary", "k=1", "chunk_size=131072"}
        assert "composition=MPIDI_Bcast_intra_composition_gamma" in leaf(ch4, call("bcast", 7, size))
    assert leaf(mpir, call("allgather", 7, 150)) == {"algorithm=MPIR_Allgather_intra_ring": {}}
    assert leaf(mpir, call("allreduce", 7, 1 << 18)) == {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}}
    same = [("bcast", 7, 65535), ("bcast", 7, (1 << 22) + 1), ("bcast", 6, 1 << 20), ("bcast", 8, 1 << 20),
            ("allgather", 7, 99), ("allgather", 7, 201), ("allreduce", 7, 100), ("alltoall", 7, 1 << 20)]  # fmt: skip
    for kind, ranks, size in same:
        assert leaf(mpir, call(kind, ranks, size)) == leaf(library.trees["mpir"], call(kind, ranks, size)), (kind, ranks, size)
    in_place = call("alltoall", 7, 150, is_sendbuf_inplace="yes")
    assert leaf(mpir, in_place) == leaf(library.trees["mpir"], in_place)
    assert leaf(mpir, call("alltoall", 7, 150)) == {"algorithm=MPIR_Alltoall_intra_scattered": {}}
    # An operation of the user's own cannot be scattered.
    own = call("allreduce", 7, 1 << 18, is_op_built_in="no")
    assert leaf(mpir, own) == leaf(library.trees["mpir"], own)


def test_without_the_librarys_own_trees_nothing_is_written_for_mpich(tmp_path: Path) -> None:
    (tmp_path / "libmpi.so").write_bytes(b"\x7fELF nothing of the kind")
    with pytest.raises(InputError, match="has no selection trees to start from"):
        written(Library.at("mpich-5.0", tmp_path / "libmpi.so"), [Rule("bcast", 7, 1, 2, Setting("binomial", "binomial"))])


def test_every_collective_of_mpich_that_can_be_set_can_be_written(mpi: Mpi) -> None:
    library = Library.at("mpich-5.0", mpi.library_path)
    for kind in rules_of("mpich")["settable"]:
        (one, *_) = settable(library.name, Call(kind, 7, 1 << 20))
        tree = json.loads(written(library, [Rule(kind, 7, 1 << 20, 1 << 20, one)]).files["mpir.json"])
        assert f"algorithm=MPIR_{kind.capitalize()}_intra_{one.name}" in json.dumps(tree[f"collective={kind}"])


def test_intel_mpi_is_set_by_variables_alone() -> None:
    pair, ring = Setting("3 pair wise exchange", "pairwise"), Setting("8 ring", "ring")
    rules = [Rule("alltoall", 7, 4096, 8191, pair), Rule("allreduce", 7, 65536, 99999, ring),
             Rule("allreduce", 7, 8, 16, Setting("1 recursive doubling", "recursive-doubling"))]  # fmt: skip
    found = written(Library("intelmpi-2021"), rules)
    assert found.files == {} and found.variables == {
        "I_MPI_ADJUST_ALLTOALL": "3:4096-8191@7-7", "I_MPI_ADJUST_ALLREDUCE": "1:8-16@7-7;8:65536-99999@7-7",
    }  # fmt: skip


@pytest.mark.parametrize("library", settable_libraries())
def test_all_that_can_be_set_has_a_schedule(library: str) -> None:
    """Of every collective that has settings; algorithms whose messages are not the library's own are none."""
    from rankwise import _core

    for kind in ("bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter"):
        found = list(settable(library, Call(kind, 8, 1 << 20)))
        assert len(found) > 1
        known = {one.id for one in _core.collective_algorithms() if one.collective == kind}
        assert {one.algorithm for one in found} <= known
    # Of so many ranks Open MPI's has a step of its own before; gather by linear_sync is only of the same kind.
    of_six = {one.algorithm for one in settable(library, Call("allreduce", 6, 1 << 20)) if one.name == "6 rabenseifner"}
    assert of_six <= {"rabenseifner-halves"}
    assert "3 linear_sync" not in [one.name for one in settable(library, Call("gather", 6, 1 << 20))]


MADE_FOR = {"library": "openmpi-4.1", "mpi": "Open MPI v4.1.4, package", "machine": "here", "nodes": 2, "ranks": 8}


def test_a_folder_is_read_back_and_what_is_stale_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "of mine"
    write_settings(folder, written(Library("openmpi-4.1"), RULES), MADE_FOR)
    settings = Settings.read(folder)
    assert settings.environment(folder)["OMPI_MCA_coll_tuned_dynamic_rules_filename"] == str(folder / "tuned.rules")
    assert f"filename='{folder}/tuned.rules'" in (folder / "env.sh").read_text()
    assert list(settings.stale("Open MPI v4.1.4, another package", 8, 2, "here")) == []
    assert list(settings.stale("Open MPI v5.0.9, package", 16, 3, "there")) == [
        "made for Open MPI v4.1.4, used with Open MPI v5.0.9", "made for 8 ranks, used with 16",
        "made for 2 nodes, used with 3", "made for here, used on there",
    ]  # fmt: skip


def test_what_others_wrote_is_not_overwritten(tmp_path: Path) -> None:
    found = written(Library("openmpi-4.1"), RULES)
    (tmp_path / "tuned.rules").write_text("mine\n")
    with pytest.raises(InputError, match="is there already and is not overwritten"):
        write_settings(tmp_path, found, MADE_FOR)
    assert (tmp_path / "tuned.rules").read_text() == "mine\n"
    assert not (tmp_path / FILE).exists()
    (tmp_path / "tuned.rules").unlink()
    write_settings(tmp_path, found, MADE_FOR)
    write_settings(tmp_path, found, MADE_FOR)  # our own are
    (tmp_path / "tuned.rules").write_text("mine\n")
    with pytest.raises(InputError, match="changed by hand and is not overwritten"):
        write_settings(tmp_path, found, MADE_FOR)
