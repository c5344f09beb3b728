"""A profile for halos."""

from __future__ import annotations

import pytest

from rankwise.machine.profile import Packing, Profile
from straight import link, machine


@pytest.fixture
def profile() -> Profile:
    """Two classes of links without spread, and packing at 1 ns a byte for rows of 8 B, 0.1 ns for those of 64 B and more."""
    links = {"same-socket": link(5e-7, 1e-10), "other-node": link(2e-6, 1e-9)}
    packing = Packing.from_dict({"8": [[1000, 1e-6]], "64": [[1000, 1e-7]], "256": [[1000, 1e-7]]})
    return machine({"sockets": 1, "cores": 4}, links, packing=packing)
