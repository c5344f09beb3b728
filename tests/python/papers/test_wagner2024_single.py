"""Table 1 as printed, the sentences on Tables 1 to 3, and reasons that follow the figures when these change."""

from dataclasses import replace

import pytest

from rankwise.papers.claims import Verdict, judge
from rankwise.papers.wagner2024 import published, tables
from rankwise.papers.wagner2024_claims import CLAIMS, Tables
from rankwise.papers.wagner2024_effects import tabled, why


def _of(of: Tables, where: str, says: str) -> Verdict:
    (found,) = [one for one in judge(CLAIMS, of, "") if one.where == where and says in one.says]
    return found


def test_table_1_is_as_printed() -> None:
    one = tabled("wagner2024_one_node")
    assert len(one.sizes) == 24
    assert one.latency_s[-1] == pytest.approx(765.60e-6) and one.bandwidth[17 + 1] == pytest.approx(12506.14e6)


def test_what_is_said_of_table_2_is_held_against_table_2() -> None:
    of = tables()
    latency, bandwidth = (
        _of(of, f"Table 2, Fig. {number}", what) for number, what in ((7, "latency rises"), (8, "bandwidth falls"))
    )
    assert latency.holds is False and latency.figures == "contradicted by 1 of the sizes: sockets of a node at 4 MiB"
    assert bandwidth.holds
    near, far, nodes = of.single
    longer = far.latency_s.copy()
    longer[-1] *= 2
    assert _of(replace(of, single=[near, replace(far, latency_s=longer), nodes]), "Table 2, Fig. 7", "latency rises").holds
    # Over ten runs it is otherwise.
    assert _of(of, "Tables 2, 3", "bandwidth falls").ours == 8


def test_a_sentence_holds_once_the_figures_say_so() -> None:
    of = tables()
    assert _of(of, "Table 1", "759 us").holds is False
    latency_s = of.one.latency_s.copy()
    latency_s[-1] = 759e-6
    assert _of(replace(of, one=replace(of.one, latency_s=latency_s)), "Table 1", "759 us").holds
    halved = replace(of, one=replace(of.one, bandwidth=of.one.bandwidth / 2))
    assert _of(of, "Table 1", "fluctuates").holds and _of(halved, "Table 1", "fluctuates").holds is False


def test_why_follows_from_the_figures() -> None:
    eager, cache = why(published())
    assert "2.1 times what single ones do at 8 KiB, 1.2 times at 16 KiB" in eager
    assert "16 MiB in the one cache of 12 MiB" in cache and cache.endswith("which is what is seen.")
    near, far, nodes = published()
    smooth = near.latency_s.copy()
    smooth[-1] = 2 * smooth[-2]
    assert why([replace(near, latency_s=smooth), far, nodes])[-1].endswith("which is not what is seen.")
