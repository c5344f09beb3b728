"""What further campaigns do to a profile: they add to it, and no better figure is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rankwise.machine.link import Curve, Parameter, Point
from rankwise.machine.profile import Link, Profile
from rankwise.machine.shared import Resource, Shared
from rankwise.measure.profiles import added
from rankwise.models.curve import curve_from_table


def _curve(samples: int, factor: float = 1.0, sizes: tuple[int, ...] = (0, 8, 64)) -> Curve:
    return curve_from_table([Point(size, factor * (1e-6 + 1e-9 * size), 0.0, 1.0, samples) for size in sizes], "median")


def _profile(samples: int, host: str = "n1", **link: object) -> Profile:
    links = {"same-socket": Link(_curve(samples), **link)}  # type: ignore[arg-type]
    return Profile({"hostname": host}, links, "now", {"kind": "measured", "of": samples})


@pytest.mark.parametrize("what", ["pairs", "loggp", "bandwidth"])
def test_a_ping_pong_of_many_samples_is_not_replaced_by_one_of_few(what: str) -> None:
    present = _profile(1878, variants={"ssend": _curve(900)}, parameters={"overlap": Parameter(0.9), "gap_s": Parameter(1.0)})
    new = _profile(35, variants={"ssend": _curve(30), "bandwidth-window-64": _curve(9)},
                   parameters={"overlap": Parameter(0.1), "gap_s": Parameter(2.0)})  # fmt: skip
    both = added(present, new, what)
    link = both.links["same-socket"]
    assert (link.send, link.variants["ssend"], both.source["of"]) == (present.links["same-socket"].send, _curve(900), 1878)
    assert link.variants["bandwidth-window-64"] == _curve(9)
    assert {name: one.value for name, one in link.parameters.items()} == {"overlap": 0.9, "gap_s": 2.0}
    # The other way round it renews what is worse.
    better = added(new, present, what)
    assert better.links["same-socket"].send == link.send and better.source["of"] == 1878
    assert better.links["same-socket"].variants.keys() == {"ssend", "bandwidth-window-64"}


def test_a_ping_pong_of_more_sizes_replaces_none_whose_models_it_lacks() -> None:
    present, new = _profile(30), _profile(30)
    longer = _curve(90, sizes=(0, 8, 64, 512))
    new = replace(new, links={"same-socket": Link(longer)})
    assert added(present, new, "bandwidth").links["same-socket"].send == longer
    send = present.links["same-socket"].send
    send = replace(send, models={**send.models, "loggp": replace(send.models[send.model], name="loggp")})
    present = replace(present, links={"same-socket": Link(send)})
    assert added(present, new, "bandwidth").links["same-socket"].send == send


def test_a_new_ping_pong_renews_itself_and_keeps_all_else() -> None:
    present = _profile(500, variants={"one-to-all": _curve(5), "ssend": _curve(9)})
    present = replace(present, links={**present.links, "other-node": Link(_curve(7))}, warnings=("old",))
    both = added(present, replace(_profile(50, variants={"ssend": _curve(4)}), warnings=("new",)), "pingpong")
    assert both.links["same-socket"].send.samples == 3 * 50 and both.source["of"] == 50
    assert both.links["same-socket"].variants == {"one-to-all": _curve(5), "ssend": _curve(4)}
    assert both.links["other-node"].send.samples == 3 * 7 and both.warnings == ("new",)
    between = replace(present, machine={**present.machine, "tcp": {"cubic": 1448}})
    assert added(between, _profile(50), "pingpong").machine == added(_profile(50), between, "pairs").machine == between.machine
    # What another machine's profile said is none of this one's business.
    assert added(present, _profile(50, "else"), "pingpong") == _profile(50, "else")


def test_a_ring_of_nodes_is_kept_by_what_measured_none() -> None:
    ring = ((4, 2, 100_000, 0.8e9),)
    plain, with_ring = (Resource(1e9, pairs=((2, 9, 1e9),)), Resource(0.9e9, pairs=((1, 9, 0.9e9),), exchange=ring))
    for present, new in ((plain, with_ring), (with_ring, plain)):
        both = [replace(_profile(9), shared=Shared(card=card)) for card in (present, new)]
        assert added(*both, "pairs").shared.card == replace(plain, exchange=ring)


def test_streams_of_fewer_sizes_or_pairs_replace_none_of_more() -> None:
    many, few = _curve(3, sizes=(8, 64, 512, 4096)), _curve(90)
    for present, new, stays in ((many, few, many), (few, many, many), (few, _curve(90, 2.0), _curve(90, 2.0))):
        both = added(
            _profile(9, variants={"bandwidth-window-64": present}),
            _profile(9, variants={"bandwidth-window-64": new}),
            "bandwidth",
        )
        assert both.links["same-socket"].variants["bandwidth-window-64"] == stays
    large, small = (
        Resource(12.5e6, pairs=((2, 1 << 18, 12.5e6),)),
        Resource(23.3e6, pairs=((2, 4096, 23.3e6), (1, 1 << 20, 12e6))),
    )
    single = Resource(11e6, pairs=((1, 1 << 18, 11e6),))
    for card, other, stays in ((large, small, large), (large, single, large), (single, large, large), (None, single, single)):
        both = added(replace(_profile(9), shared=Shared(card=card)), replace(_profile(9), shared=Shared(card=other)), "pairs")
        assert both.shared.card == stays
