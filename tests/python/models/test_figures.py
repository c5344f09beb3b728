"""What is fitted to machines that are sampled with noise, in figures: whatever goes into a fit shows here.

That it is right the other tests show. RANKWISE_WRITE_GOLDEN=1 writes the files again, to be read in a diff.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rankwise.machine.link import Interval, Parameter
from rankwise.machine.profile import Link
from rankwise.models.curve import limited
from rankwise.models.selection import fit_link
from synthetic_machine import LOGGP, STALLING, loggp_times, max_rate_times, measure

FOLDER = Path(__file__).parents[2] / "data" / "fits"


def _figure(value: float, ends: Interval | None) -> str:
    return f"{value:.5g}" + ("" if ends is None else f" ({ends[0]:.4g} to {ends[1]:.4g})")


def _told(link: Link) -> Iterator[str]:
    yield link.reason or "no choice"
    for way, curve in {"send": link.send, **link.variants}.items():
        yield f"  {way} by {curve.model}, {_figure(curve.alpha_s, curve.alpha_ci_s)} {curve.alpha_method}"
        yield f"    beta {_figure(curve.beta_s_per_byte, curve.beta_ci_s_per_byte)}, {curve.samples} samples"
        for name, model in curve.models.items():
            known = (e for e in (model.relative_error, model.cross_validated_error) if e is not None)
            errors = ", ".join(f"{e:.4g}" if e > 1e-12 else "0" for e in known)  # below, the processor's own rounding
            yield f"    {name}: {model.parameter_count} parameters, off {errors}; {model.method}"
            for key, parameter in model.parameters.items() if way == "send" else ():
                yield f"      {key} {_figure(parameter.value, parameter.ci)}"
            shown = model.segments if len(model.segments) < 9 else (*model.segments[:4], *model.segments[-4:])
            for s in shown:
                alpha, beta = _figure(s.alpha_s, s.alpha_ci_s), _figure(s.beta_s_per_byte, s.beta_ci_s_per_byte)
                yield f"      {s.from_bytes} to {s.to_bytes}: {alpha}, {beta}"


FEW = np.array([8.0, 100, 3000, 50_000, 400_000])
EIGHT = np.array([1.0, 8, 100, 3000, 20_000, 50_000, 100_000, 400_000])
LEAPING = (2e-6 + 0.2e-9 * EIGHT) * np.array([1, 1, 3, 1, 1, 1, 4, 1])


def _sampled() -> Link:
    return fit_link(measure(loggp_times(p=LOGGP), 1, 5, common=0.05), "median")


def _stalling() -> Link:
    ways = measure(loggp_times(p=STALLING), 2, 4)
    return fit_link({name: way for name, way in ways.items() if name != "ssend"}, "median")


def _uneven() -> Link:
    some = measure({"exchange": 3e-6 + 0.3e-9 * EIGHT[1:6]}, 8, 3, sizes=EIGHT[1:6])
    return fit_link({**measure({"send": 2e-6 + 0.2e-9 * EIGHT}, 9, 3, sizes=EIGHT), **some}, "median")


def _limited() -> Link:
    link, card = _sampled(), Parameter(3e9, (2.9e9, 3.2e9))
    return Link(limited(link.send, card), {"ssend": limited(link.variants["ssend"], card)})


def _line(count: int, model: str = "auto", method: str = "regression") -> Link:
    return fit_link(measure({"send": 2e-6 + 1e-9 * FEW[:count]}, count, 3, sizes=FEW[:count]), "median", model, method)


LINKS: dict[str, Callable[[], Link]] = {
    "loggp": _sampled,
    "limited": _limited,
    "stalling": _stalling,
    "max-rate": lambda: fit_link(measure(max_rate_times(), 3, 5, common=0.05), "minimum", injection=Parameter(7e9, (6e9, 8e9))),
    "table": lambda: fit_link(measure(loggp_times(EIGHT), 4, 3, sizes=EIGHT), "median", "piecewise", "table"),
    "five-sizes": lambda: _line(5),
    "four-sizes": lambda: _line(4, "hockney"),
    "three-sizes": lambda: _line(3, "hockney"),
    "two-sizes": lambda: _line(2, "auto", "table"),
    "leaping": lambda: fit_link(measure({"send": LEAPING}, 6, 3, sizes=EIGHT), "median"),
    "uneven": _uneven,
    "no-bytes": lambda: fit_link(
        measure({name: np.full(8, 2e-6) for name in ("send", "exchange")}, 7, 3, sizes=EIGHT), "median"
    ),
}


@pytest.mark.parametrize("name", LINKS)
def test_figures_of_fits(name: str) -> None:
    path, told = FOLDER / f"{name}.txt", list(_told(LINKS[name]()))
    if os.environ.get("RANKWISE_WRITE_GOLDEN"):
        path.write_text("".join(f"{line}\n" for line in told), encoding="utf-8")
    assert told == path.read_text(encoding="utf-8").splitlines()
