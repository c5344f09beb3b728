"""What libraries select, against values read in their sources."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankwise import _core
from rankwise.collectives.selection import Call, known_libraries, libraries_of, library_to_set, named, publishes_rules, select
from rankwise.errors import InputError
from rankwise.workloads.collective_schedule import Schedule

KINDS = (
    "bcast", "reduce", "allreduce", "allgather", "alltoall", "reduce_scatter", "reduce_scatter_block", "gather", "scatter",
    "barrier", "scan",
)  # fmt: skip
FOUR_A_NODE = tuple(rank // 4 for rank in range(64))


# coll_tuned_decision_fixed.c of Open MPI 4.1.8 and 5.0.9.
@pytest.mark.parametrize(
    ("kind", "ranks", "size", "name"),
    [
        ("bcast", 5, 63, "5 binary_tree"),
        ("bcast", 5, 64, "6 binomial"),
        ("bcast", 7, 1 << 20, "2 chain"),
        ("bcast", 7, (1 << 20) - 1, "1 basic_linear"),
        ("bcast", 12, 32768, "1 basic_linear"),
        ("bcast", 16, 1 << 20, "8 scatter_allgather"),
        ("bcast", 100, 4, "7 knomial"),
        ("bcast", 500, 20000, "4 split_binary_tree"),
        ("bcast", 2048, 262144, "8 scatter_allgather"),
        ("allreduce", 64, 262143, "3 recursive_doubling"),
        ("allreduce", 64, 262144, "6 rabenseifner"),
        ("allreduce", 128, 1000, "2 nonoverlapping"),
        ("allgather", 2, 8, "6 two_proc"),
        ("allgather", 31, 1 << 20, "3 recursive_doubling"),
        ("allgather", 63, 65536, "4 ring"),
        ("alltoall", 32, 511, "3 modified_bruck"),
        ("alltoall", 64, 262144, "2 pairwise"),
        ("barrier", 100, 0, "4 bruck"),
        ("reduce", 3, 100, "1 linear"),
        ("reduce_scatter", 16, 262143, "2 recursive_halving"),
        ("gather", 6, 1 << 20, "3 linear_sync"),
        ("scatter", 100, 512, "3 linear_nb"),
    ],
)
def test_the_fixed_rules_of_open_mpi(kind: str, ranks: int, size: int, name: str) -> None:
    for library in ("openmpi-4.1", "openmpi-5.0"):
        assert select(library, Call(kind, ranks, size, element_bytes=1)).name == name


@pytest.mark.parametrize(
    ("kind", "ranks", "size", "says"),
    [
        # coll_base_allreduce.c: count < 2^floor(log2 p) is linear (ompi#12550).
        ("allreduce", 100, 4, ""),
        ("allreduce", 10, 8192, ""),
        ("allgather", 31, 100, "bruck: not a power of two"),
        ("allgather", 33, 2000, "ring: an odd number"),
    ],
)
def test_fall_backs_come_before_the_cost(kind: str, ranks: int, size: int, says: str) -> None:
    assert says in select("openmpi-4.1", Call(kind, ranks, size)).why


def test_stages_are_selected_by_the_rules_of_their_own_collectives() -> None:
    """coll_base: allgather's basic linear gathers blocks and sends all of them; non-overlapping reduces, then scatters."""
    call = Call("allgather", 12, 1000)
    found = named("openmpi-4.1", "1 linear", call, "")
    gather, bcast = select("openmpi-4.1", replace(call, kind="gather")), select("openmpi-4.1", Call("bcast", 12, 12000))
    assert found is not None and (found.algorithm, found.within, found.between) == (
        "gather-bcast", gather.algorithm, bcast.algorithm,
    )  # fmt: skip
    found = named("openmpi-4.1", "1 non-overlapping", Call("reduce_scatter", 24, 96), "")
    reduce = select("openmpi-4.1", Call("reduce", 24, 96))
    assert found is not None and (found.within, found.between) == (reduce.algorithm, "linear") and found.exact
    # HAN gathers by tuned's rule in the nodes, and without blocking among one rank of each.
    found = select("openmpi-5.0", Call("gather", 24, 1000, tuple(rank // 8 for rank in range(24))))
    assert (found.algorithm, found.within, found.between, found.exact) == (
        "node-aware",
        "binomial",
        "linear-nonblocking",
        False,
    )
    found = select("openmpi-5.0", Call("scatter", 24, 1000, tuple(rank // 8 for rank in range(24))))
    assert (found.algorithm, found.between) == ("node-aware", "linear-nonblocking")


@pytest.mark.parametrize("library", known_libraries())
@pytest.mark.parametrize(("ranks", "each"), [(2, 1), (8, 2), (24, 8), (15, 3), (7, 1), (31, 4)])
def test_what_is_selected_can_be_carried_out_at_every_size(library: str, ranks: int, each: int) -> None:
    nodes = tuple(rank // each for rank in range(ranks))
    placement = _core.Placement.on_nodes(np.array(nodes, np.int32))
    for kind in KINDS:
        for size in (0, *(1 << power for power in range(0, 23, 2)), 5_000_000):
            call = Call(kind, ranks, size, nodes)
            schedule = Schedule.of(select(library, call), call)
            assert schedule.core.why_not(placement) == "" and schedule.core.messages(placement), (kind, size, schedule)


def test_rabenseifner_falls_back_on_linear_where_there_are_few_elements() -> None:
    found = select("openmpi-4.1", Call("allreduce", 65536, 32768, element_bytes=1))
    assert (found.name, found.algorithm) == ("6 rabenseifner", "linear")
    assert "fewer elements" in found.why
    found = select("openmpi-4.1", Call("allreduce", 12, 1 << 20))
    assert found.algorithm == "rabenseifner-halves" and "falls back" not in found.why
    found = select("openmpi-4.1", Call("allreduce", 8, 16384, commutative=False))
    assert found.algorithm == "recursive-doubling"


# maint/tuning/coll of MPICH 5.0.1.
@pytest.mark.parametrize(
    ("kind", "ranks", "size", "name"),
    [
        ("bcast", 7, 1 << 20, "binomial"),
        ("bcast", 16, 12288, "binomial"),
        ("bcast", 16, 524288, "scatter_recursive_doubling_allgather"),
        ("bcast", 16, 524289, "scatter_ring_allgather"),
        ("bcast", 15, 12289, "scatter_ring_allgather"),
        ("allreduce", 16, 8, "recursive_doubling"),
        ("allreduce", 16, 60, "recursive_doubling"),
        ("allreduce", 16, 64, "reduce_scatter_allgather"),
        ("allgather", 16, 32767, "recursive_doubling"),
        ("allgather", 16, 32768, "ring"),
        ("allgather", 15, 100, "brucks"),
        ("alltoall", 7, 100, "scattered"),
        ("alltoall", 8, 256, "brucks"),
        ("alltoall", 8, 32769, "pairwise"),
        ("reduce", 16, 2049, "reduce_scatter_gather"),
        ("reduce_scatter_block", 16, 524288, "pairwise"),
        ("gather", 16, 8, "binomial"),
        ("barrier", 16, 0, "k_dissemination"),
    ],
)
def test_the_rules_of_mpich(kind: str, ranks: int, size: int, name: str) -> None:
    for library in ("mpich-4.0", "mpich-5.0"):
        assert select(library, Call(kind, ranks, size)).name == name


def test_layers_that_know_nodes_come_first_and_leave_the_rest_to_the_next() -> None:
    # HAN: several nodes of several ranks; with one rank a node it steps aside.
    han = select("openmpi-5.0", Call("bcast", 64, 1 << 20, FOUR_A_NODE))
    assert (han.name, han.algorithm, han.segment_bytes, han.exact) == ("han", "node-aware", 65536, False)
    assert select("openmpi-5.0", Call("bcast", 64, 1 << 20)).name == "7 knomial"
    assert select("openmpi-4.1", Call("bcast", 64, 1 << 20, FOUR_A_NODE)).name == "7 knomial"
    assert select("openmpi-5.0", Call("alltoall", 64, 8, FOUR_A_NODE)).name == "3 modified_bruck"
    # ch4: composition gamma leaves a large bcast to the rules that know no nodes.
    assert select("mpich-5.0", Call("bcast", 64, 1000, FOUR_A_NODE)).name == "composition_alpha"
    assert select("mpich-5.0", Call("bcast", 64, 524288, FOUR_A_NODE)).name == "scatter_recursive_doubling_allgather"
    alpha = select("mpich-5.0", Call("allreduce", 64, 1 << 20, FOUR_A_NODE))
    assert (alpha.name, alpha.within, alpha.between) == ("composition_alpha", "binomial", "rabenseifner")
    assert select("mpich-5.0", Call("allreduce", 4, 1 << 20, (0,) * 4)).name == "reduce_scatter_allgather"


@pytest.mark.parametrize(
    ("text", "libraries", "unknown"),
    [
        ("Open MPI v4.1.4, package: Debian OpenMPI", ["openmpi-4.1"], None),
        ("MPICH Version:      5.0.2\nMPICH Release date:", ["mpich-5.0"], None),
        ("openmpi-5.0", ["openmpi-5.0"], None),
        ("Open MPI v3.1.0", ["openmpi-4.1", "openmpi-5.0"], "the rules of Open MPI 3.1 are not known"),
        ("Intel MPI", known_libraries(), "the rules of the MPI library 'Intel MPI' are not known"),
        ("", known_libraries(), "the rules of the MPI library are not known"),
    ],
)  # fmt: skip
def test_a_library_is_known_by_what_it_calls_itself(text: str, libraries: list[str], unknown: str | None) -> None:
    assert libraries_of(text) == (libraries, unknown)


@pytest.mark.parametrize(
    ("text", "library", "why"),
    [
        ("Intel(R) MPI Library 2021.19.0 for Linux* OS", "intelmpi-2021", ""),
        ("intelmpi-2021", "intelmpi-2021", ""),
        ("Intel(R) MPI Library 2018 Update 4 for Linux* OS", None, "the algorithms of Intel MPI 2018 are not known"),
        ("MPICH Version:      5.0.2\nMPICH Release date:", "mpich-5.0", ""),
        ("MVAPICH2 2.3.7", None, "the rules of the MPI library 'MVAPICH2 2.3.7' are not known"),
    ],
)
def test_what_a_library_can_be_set_to_is_known_of_more_than_publish_rules(text: str, library: str | None, why: str) -> None:
    assert library_to_set(text) == (library, why)
    assert library is None or publishes_rules(library) == library.startswith("mpich")


def test_an_unknown_library_is_refused() -> None:
    with pytest.raises(InputError, match="openmpi-9.9.*is unknown"):
        select("openmpi-9.9", Call("bcast", 4, 8))
