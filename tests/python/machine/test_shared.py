"""What ranks share: kept and read back, refused where it makes no sense, found in profiles of before."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.machine.compare import compare
from rankwise.machine.profile import SCHEMA, Profile
from rankwise.machine.shared import KINDS, Level, Resource, Shared

OLD = Path(__file__).parents[2] / "data" / "profile-schema-1.json"
CARD = Resource(3.4e9, 2e6, 6.1e9, ((1, 8, 5e6), (4, 262144, 3.4e9)), (3.3e9, 3.5e9))
MEMORY = Resource(9e9, ci=(8e9, 10e9))

_rates = st.floats(1e-3, 1e15)
_resources = st.builds(
    Resource, _rates, st.none() | _rates, st.none() | _rates,
    st.lists(st.tuples(st.integers(1, 512), st.integers(1, 1 << 30), _rates), max_size=4).map(tuple),
    st.none() | st.tuples(_rates, _rates).map(lambda ends: (min(ends), max(ends))),
)  # fmt: skip
_levels = st.dictionaries(st.integers(1, 10**6), _rates, max_size=3).map(
    lambda levels: tuple(Level(nodes, levels[nodes]) for nodes in sorted(levels))
)
_shared = st.builds(Shared, *(st.none() | _resources for _ in KINDS), _levels)


@pytest.fixture
def record() -> dict[str, Any]:
    return Profile.load(OLD).to_dict()


@given(_shared)
def test_it_reads_back_as_it_was_written(shared: Shared) -> None:
    assert Shared.from_dict(json.loads(json.dumps(shared.to_dict()))) == shared


def test_a_profile_keeps_it(record: dict[str, Any], tmp_path: Path) -> None:
    profile = replace(
        Profile.from_dict(record, "x"), shared=Shared(card=CARD, memory=MEMORY, levels=(Level(32, 5e10), Level(512, 4e11)))
    )
    profile.save(tmp_path / "m.json")
    assert Profile.load(tmp_path / "m.json") == profile


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ({"card": {"bytes_per_s": 0}}, "shared.card.bytes_per_s 0 is not above 0"),
        ({"card": {"bytes_per_s": -3.4e9}}, "shared.card.bytes_per_s"),
        ({"card": {"bytes_per_s": float("nan")}}, "shared.card.bytes_per_s nan is not a finite number"),
        ({"card": {"bytes_per_s": True}}, "shared.card.bytes_per_s True"),
        ({"card": {"messages_per_s": 1e6}}, "shared.card.bytes_per_s is missing"),
        ({"memory": {"bytes_per_s": 1e9, "messages_per_s": 0.0}}, "shared.memory.messages_per_s 0.0 is not above 0"),
        ({"socket": {"bytes_per_s": 1e9, "both_ways_bytes_per_s": float("inf")}}, "shared.socket.both_ways_bytes_per_s inf"),
        ({"sockets": {"bytes_per_s": 1e9, "ci": [2e9, 1e9]}}, "shared.sockets.ci .* low end above"),
        ({"card": {"bytes_per_s": 1e9, "ci": [0, 1e9]}}, "shared.card.ci 0.* is not above 0"),
        ({"card": {"bytes_per_s": 1e9, "pairs": [[0, 8, 1e6]]}}, "shared.card.pairs 0 is not a whole number of at least 1"),
        ({"card": {"bytes_per_s": 1e9, "pairs": [[1, 8]]}}, r"shared.card.pairs \[1, 8\] is not a list of 3"),
        ({"card": {"bytes_per_s": 1e9, "pairs": [[1, 8, 0]]}}, "shared.card.pairs 0 is not above 0"),
        ({"levels": [{"nodes": 32, "up_bytes_per_s": 0}]}, r"shared.levels\[0\].up_bytes_per_s 0 is not above 0"),
        ({"levels": [{"nodes": 0, "up_bytes_per_s": 1e9}]}, r"shared.levels\[0\].nodes 0"),
        ({"levels": [{"nodes": n, "up_bytes_per_s": 1e9} for n in (64, 32)]}, "shared.levels are not in order"),
        ({"levels": [{"nodes": 32}]}, r"shared.levels\[0\].up_bytes_per_s is missing"),
        ({"crad": {"bytes_per_s": 1e9}}, "shared.crad is no resource"),
        ({"card": 5}, "shared.card 5 is not an object"),
        (5, "shared is not an object"),
    ],
)
def test_figures_that_make_no_sense_are_refused_by_name(record: dict[str, Any], damage: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as refused:
        Profile.from_dict({**record, "shared": damage}, "m.json")
    assert "\n" not in str(refused.value) and "m.json" in str(refused.value)


def test_a_profile_of_schema_1_is_read_and_written_anew() -> None:
    old = json.loads(OLD.read_text())
    assert (old["schema"], SCHEMA) == (1, 2)
    profile = Profile.load(OLD)
    measured = old["links"]["other-node"]["parameters"]["injection_bytes_per_s"]
    assert profile.shared == Shared(card=Resource(measured["value"], ci=tuple(measured["ci"])))
    assert all("injection_bytes_per_s" not in link.parameters for link in profile.links.values())
    assert all("overlap" in link.parameters for link in profile.links.values())
    assert profile.lacks == ("memory",) and profile.notes()[0].startswith("not measured: the memory")
    new = profile.to_dict()
    assert new["schema"] == 2 and Profile.from_dict(new, "again") == profile


def test_schema_1_has_the_card_in_either_of_two_places_or_in_none() -> None:
    old = json.loads(OLD.read_text())
    link = old["links"]["other-node"]
    del link["parameters"]["injection_bytes_per_s"]
    link["models"]["max-rate"]["parameters"]["injection_bytes_per_s"] = {"value": 1.25e9, "ci": None}
    profile = Profile.from_dict(old, "x")
    assert profile.shared == Shared(card=Resource(1.25e9))
    assert profile.links["other-node"].send.models["max-rate"].parameters["injection_bytes_per_s"].value == 1.25e9
    del link["models"]["max-rate"]["parameters"]["injection_bytes_per_s"]
    nothing = Profile.from_dict(old, "x")
    assert nothing.shared == Shared() and nothing.lacks == ("card", "memory") and len(nothing.notes()) == 2
    link["parameters"]["injection_bytes_per_s"] = {"value": 0, "ci": None}
    with pytest.raises(InputError, match="not above 0"):
        Profile.from_dict(old, "x")


def test_what_hardly_counts_is_said() -> None:
    assert not CARD.half_duplex and not MEMORY.half_duplex and replace(CARD, both_ways_bytes_per_s=4e9).half_duplex
    assert (CARD.most_pairs, MEMORY.most_pairs) == (4, None)
    one = Shared(card=CARD, memory=replace(MEMORY, pairs=((1, 8, 1e7),)))
    assert one.notes() == ["memory bandwidth: tested with 1 pair, for want of cores or nodes"]


def test_profiles_are_compared_by_what_they_share() -> None:
    base = replace(Profile.load(OLD), shared=Shared(card=CARD, memory=MEMORY))
    half = replace(CARD, bytes_per_s=1.7e9, ci=(1.6e9, 1.8e9), messages_per_s=1e6)
    compared = compare(base, replace(base, shared=Shared(card=half)), 0.1)
    found = {c.quantity: (c.ratio, c.verdict) for c in compared.comparisons if c.link == "card"}
    # Where no interval is known, one of 8 % is assumed.
    assert found == {"beta": (2.0, "slower"), "both-ways": (1.0, "unclear"), "message": (2.0, "slower")}
    assert {c.link for c in compared.of("slower")} == {"card"}
    assert not any(c.link == "memory" for c in compared.comparisons)
