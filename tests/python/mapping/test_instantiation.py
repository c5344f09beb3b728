"""How long ranks take to compute their cells."""

from rankwise.mapping.instantiation import instantiate


def test_every_algorithm_is_timed_for_every_rank() -> None:
    found = {one.algorithm: one for one in instantiate([8, 6], [12] * 4, "nearest-neighbor", ["all"])}
    assert {"hyperplane", "kd-tree", "stencil-strips", "nodecart", "refined"} <= set(found)
    assert all(0 < one.median_s <= one.slowest_s for one in found.values())
    assert found["kd-tree"].ranks == 48
    assert found["refined"].ranks == 1  # one rank searches for all
    assert "nodecart" not in {one.algorithm for one in instantiate([8, 6], [24, 12, 12], "component", ["all"])}
