"""What is said of machines beside each other follows their times."""

from rankwise.engines.machines import MachineTime, conclusion

A, B, C = MachineTime("a", 1e-6, 0.9e-6, 1.1e-6), MachineTime("b", 2e-6, 1.8e-6, 2.2e-6), MachineTime("c", 9e-6, 8e-6, 1e-5)


def test_the_fastest_is_named_with_what_it_cannot_be_told_from() -> None:
    assert conclusion([C, A, B], "it") == "it is fastest on a, 1.00 us; c takes 9 times as long"
    near = MachineTime("b", 1.05e-6, 0.95e-6, 1.2e-6)
    assert "not clearly different from b" in conclusion([A, near, C], "it")
    assert "no machine is faster beyond its interval" in conclusion([A, near], "it")
    assert conclusion([A], "it") == "it takes 1.00 us on a"
