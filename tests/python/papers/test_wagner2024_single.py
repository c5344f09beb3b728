"""Table 1 as printed, and remarks and reasons that follow the figures when these change."""

from dataclasses import replace

import pytest

from rankwise.papers.wagner2024 import published
from rankwise.papers.wagner2024_effects import Series, remarks, section, table_1, why


def _says(one: Series, start: str) -> bool:
    (found,) = [remark for remark in remarks(one, published()) if start in remark.says]
    return found.holds


def test_table_1_is_as_printed() -> None:
    one = table_1()
    assert len(one.sizes) == 24
    assert one.latency_s[-1] == pytest.approx(765.60e-6) and one.bandwidth[17 + 1] == pytest.approx(12506.14e6)


def test_the_slips_are_named() -> None:
    one = table_1()
    assert not _says(one, "759 us") and not _says(one, "latency grows exponentially") and not _says(one, "with distance")
    assert _says(one, "constant up to 16") and _says(one, "peaks at 12506.14") and _says(one, "drops between 8 KB and 65 KB")
    text = section(one, published()).paragraphs[0]
    assert "765.60 us" in text and "power 1.02" in text


def test_a_remark_holds_once_the_figures_say_so() -> None:
    one = table_1()
    latency_s = one.latency_s.copy()
    latency_s[-1] = 759e-6
    assert _says(replace(one, latency_s=latency_s), "759 us")
    assert not _says(replace(one, bandwidth=one.bandwidth / 2), "fluctuates around 11500")
    before = section(one, published()).paragraphs[0]
    assert section(replace(one, latency_s=latency_s), published()).paragraphs[0] != before


def test_why_follows_from_the_figures() -> None:
    eager, cache = why(published())
    assert "2.1 times what single ones do at 8 KiB, 1.2 times at 16 KiB" in eager
    assert "16 MiB in the one cache of 12 MiB" in cache and cache.endswith("which is what is seen.")
    near, far, nodes = published()
    smooth = near.latency_s.copy()
    smooth[-1] = 2 * smooth[-2]
    assert why([replace(near, latency_s=smooth), far, nodes])[-1].endswith("which is not what is seen.")
