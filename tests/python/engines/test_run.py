"""What differs between the machine that runs a case and the one that its profile was measured on is said."""

from __future__ import annotations

from pathlib import Path

from rankwise.engines.run import Here
from rankwise.machine.profile import Profile
from rankwise.machine.record import short_version

PROFILE = Profile.load(Path(__file__).parents[2] / "data" / "profile-schema-1.json")


def _measured(library: str, **more: object) -> Profile:
    return Profile({"mpi": {"library_version": library}, **more}, PROFILE.links, "now", {})


def test_another_mpi_and_another_tcp_are_named() -> None:
    here = Here(_tcp={"cubic": 1448})
    library = short_version(here.mpi.library_version)
    assert here.changes_since(_measured(library, tcp={"cubic": 1448})) == []
    assert here.changes_since(_measured(library)) == here.changes_since(PROFILE) == []  # nothing is known of it
    assert here.changes_since(_measured("Open MPI 1.0", tcp={"bbr": 8948})) == [
        f"this is {library}, and the profile was measured with Open MPI 1.0: measure with the same MPI",
        "TCP uses cubic (segments of 1448 B), and used bbr (segments of 8948 B) when the profile was measured: measure again",
    ]
    assert Here().changes_since(_measured(library, tcp={"bbr": 8948})) == []  # no ranks talked between nodes


def test_bbr_weakens_predictions() -> None:
    assert [note for note in _measured("", tcp={"bbr": 8948}).notes() if "bbr" in note]
    assert not [note for note in _measured("", tcp={"reno": 8948}).notes() if "TCP" in note]
