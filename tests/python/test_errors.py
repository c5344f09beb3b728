"""What is meant by a word that is nearly right is guessed, wherever the complaint comes from."""

import pytest

from rankwise.errors import InputError, closest


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("send mode 'sendd' is unknown: choose ssend, send or isend", "send mode 'sendd' is unknown: did you mean send?"),
        ("--x 'J-SUM' is unknown: choose one of j_sum, j_max", "--x 'J-SUM' is unknown: did you mean j_sum?"),
        ("map 'kdtree' is unknown: take all, or some of kd-tree", "map 'kdtree' is unknown: did you mean kd-tree?"),
        ("class 'nod' is unknown: choose one of node; more with --hosts", "class 'nod' is unknown: did you mean node?"),
        ("mode 'x' is unknown: choose ssend or send", "mode 'x' is unknown: choose ssend or send"),
        ("--time 'soon' is no time: write 30 or 1:30:00", "--time 'soon' is no time: write 30 or 1:30:00"),
    ],
)  # fmt: skip
def test_the_word_that_is_meant_is_guessed(message: str, says: str) -> None:
    assert str(InputError(message)) == says


def test_the_beginning_of_a_word_is_meant_by_it() -> None:
    assert closest("openmpi", ["slurm-hostfile", "openmpi-rankfile", "openmpi-seq"]) == "openmpi-rankfile"
    assert closest("al", ["all"]) == "all" and closest("wings", ["links"]) is None
