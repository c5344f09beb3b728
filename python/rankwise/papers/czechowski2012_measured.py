"""What Czechowski et al. measured in 2012 (sections 5.2 and 5.3, Figures 2 to 4) beside what their Eq. 1 to 9 give.

Hopper: P3DFFT on 4096 nodes. Keeneland: DiGPUFFT on 64 nodes, 2048 points an axis. Of Figures 2 and 3 the text gives no times,
only what they show; of Figure 4 it gives three shares, and the fourth is what is left. Nothing here is fitted, but for the
effective memory term, whose constants are fitted to section 6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from rankwise.blocks import Column, records_table
from rankwise.machine.library import load_machine
from rankwise.models import fft3d
from rankwise.papers.claims import Tally
from rankwise.records import Record, computed, key, record
from rankwise.report.reproduction import Section

HOPPER_NODES, HOPPER_SIZES = 4096, (1024, 2048, 4096, 8192)
KEENELAND_NODES, KEENELAND_N = 64, 2048
# Figure 4 as the text of sections 5.2.2 and 5.3.1 gives it; the network is what is left of 100 %.
SHARES = {"io_bus": 0.27, "fft": 0.21, "shuffle": 0.16, "network": 0.36}
GPU_GAIN = (1.1, 1.2)  # section 5.3: GPU over CPU on Keeneland
BEST_FRACTION = 0.005  # section 6, Prediction 1: "about 0.5 %" of peak
# Two six-core X5660 at 2.8 GHz (section 5.1); three channels of DDR3-1333 a socket (IBM, product guide of the x3550 M3), 12 MB
# of cache (tecChannel on Xeon 5600). The 4 flops a cycle are from memory, not checked.
XEON_FLOP_PER_S, XEON_MEMORY_BYTES_PER_S, XEON_CACHE_BYTES = 134.4e9, 64e9, 12e6
_MARKS = {True: " ✓", False: " ✗", None: ""}
CLOSE = 0.25  # of a share or a ratio: the figures are printed with two digits or as ranges


@record
class Statement(Record):
    """Something that was measured, what the equations give for it under both readings, and whether they say so."""

    name: str = key("short name of the statement, the same in all versions", name="key")
    figure: str = key("number of the figure that shows it")
    measured: str = key("what was measured, in words")
    literal: str = key("what the equations give by the literal text")
    effective: str = key("what they give by the effective memory term")
    literal_agrees: bool | None = key("whether the literal text says so; null: it says nothing of it")
    effective_agrees: bool | None = key("whether the effective memory term says so; null: it says nothing of it")


def _system(name: str, nodes: int) -> fft3d.System:
    machine = load_machine(name)
    torus = machine.topology is not None and machine.topology.name == "torus"
    return fft3d.System(
        nodes=nodes,
        node_flop_per_s=machine.need("node_peak", "a transform").value,
        memory_bytes_per_s=machine.need("memory_bandwidth", "a transform").value,
        cache_bytes=machine.get("cache"),
        io_bus_bytes_per_s=machine.get("io_bus_bandwidth"),
        network=fft3d.Network(
            "torus" if torus else "fat-tree", machine.get("link_bandwidth"),
            # Eq. 5 alone for the torus, as the paper has it; Eq. 3 elsewhere.
            None if torus else machine.injection() or machine.get("link_bandwidth"),
        ),
    )  # fmt: skip


@cache
def hopper(reading: str) -> tuple[tuple[int, fft3d.Terms], ...]:
    """The terms on 4096 nodes of Hopper, size by size."""
    system = _system("hopper", HOPPER_NODES)
    return tuple((n, fft3d.predict(fft3d.Transform(n), system, fft3d.memory_of(reading, "cpu"))) for n in HOPPER_SIZES)


@cache
def keeneland(reading: str) -> fft3d.Terms:
    """The terms of Figure 4's transform on the GPUs of 64 nodes: Eq. 1, 2, 3, 8 and 9."""
    return fft3d.predict(fft3d.Transform(KEENELAND_N), _system("keeneland", KEENELAND_NODES), fft3d.memory_of(reading, "gpu"))


@cache
def keeneland_cpu(reading: str) -> fft3d.Terms:
    """The same on the processors of these nodes."""
    gpu = _system("keeneland", KEENELAND_NODES)
    cpu = fft3d.System(KEENELAND_NODES, XEON_FLOP_PER_S, XEON_MEMORY_BYTES_PER_S, gpu.network, XEON_CACHE_BYTES)
    return fft3d.predict(fft3d.Transform(KEENELAND_N), cpu, fft3d.memory_of(reading, "cpu"))


def shares(reading: str) -> dict[str, float]:
    """The shares of Figure 4 by the equations: everything one after the other, as DiGPUFFT does it."""
    terms = keeneland(reading)
    parts = {
        "io_bus": terms.io_bus_s or 0.0, "fft": terms.compute_s, "shuffle": terms.shuffle_s, "network": terms.network_s,
    }  # fmt: skip
    whole = sum(parts.values())
    return {name: time_s / whole for name, time_s in parts.items()}


def fraction_of_peak(terms: fft3d.Terms, n: int, system: fft3d.System) -> float:
    """Flops of Eq. 1 over time and peak; local transposes and the bus are part of the time."""
    return fft3d.Transform(n).flops / (terms.total_s(artifacts=True) * system.nodes * system.node_flop_per_s)


def statements() -> list[Statement]:
    """All that the text says of Figures 2 to 4, with what the equations say."""
    readings = fft3d.READINGS

    def statement(key: str, figure: str, measured: str, say: Callable[[str], tuple[str, bool | None]]) -> Statement:
        (literal, literal_agrees), (effective, effective_agrees) = (say(reading) for reading in readings)
        return Statement(key, figure, measured, literal, effective, literal_agrees, effective_agrees)

    def dominates(reading: str) -> tuple[str, bool]:
        ratios = [terms.network_s / terms.compute_s for _, terms in hopper(reading)]
        ends = dict.fromkeys(f"{ratio:.2g}" for ratio in (min(ratios), max(ratios)))
        return f"T_net / T_comp {' to '.join(ends)}", min(ratios) > 1

    def grows(reading: str) -> tuple[str, bool]:
        (_, first), (_, last) = hopper(reading)[0], hopper(reading)[-1]
        growth = (last.compute_s / last.network_s) / (first.compute_s / first.network_s)
        return f"T_comp / T_net x {growth:.2f} from {HOPPER_SIZES[0]}³ to {HOPPER_SIZES[-1]}³", growth > 1.01

    def overhead(reading: str) -> tuple[str, None]:
        terms = dict(hopper(reading))[4096]
        return f"T_comp {1e3 * terms.compute_s:.1f} ms at 4096³; Eq. 8 adds {1e3 * terms.shuffle_s:.1f} ms", None

    def gain(reading: str) -> tuple[str, bool]:
        ratio = keeneland_cpu(reading).total_s(artifacts=True) / keeneland(reading).total_s(artifacts=True)
        low, high = GPU_GAIN
        return f"{ratio:.2f}x", low * (1 - CLOSE) <= ratio <= high * (1 + CLOSE) and ratio > 1

    def share(name: str) -> Callable[[str], tuple[str, bool]]:
        def say(reading: str) -> tuple[str, bool]:
            ours = shares(reading)[name]
            return f"{100 * ours:.0f} %", abs(ours / SHARES[name] - 1) <= CLOSE

        return say

    def fraction(reading: str) -> tuple[str, bool]:
        system = _system("hopper", HOPPER_NODES)
        found = [fraction_of_peak(terms, n, system) for n, terms in hopper(reading)]
        low, high = min(found), max(found)
        return f"hopper {100 * low:.2g} to {100 * high:.2g} %", low <= BEST_FRACTION * 2 and high >= BEST_FRACTION / 2

    names = {"io_bus": "PCIe", "fft": "FFT", "shuffle": "local transpose", "network": "network (what is left)"}
    return [
        statement("hopper_network_dominates", "2", "communication takes longer than computation", dominates),
        statement("hopper_computation_grows", "2", "computation grows faster than communication", grows),
        statement("hopper_overhead", "2", "computation has a large overhead that the model does not explain", overhead),
        statement("gpu_over_cpu", "3", "GPU 10 to 20 % faster than CPU", gain),
        *(
            statement(f"share_{key}", "4", f"{name} {100 * SHARES[key]:.0f} %", share(key))
            for key, name in names.items()
        ),
        statement("best_fraction", "text of 6", "best fraction of peak so far about 0.5 %", fraction),
    ]  # fmt: skip


@record
class OnHopper(Record):
    """A transform on 4096 nodes of Hopper."""

    n: int = key("points an axis")
    terms: fft3d.Terms = key("terms of the model", inline=True)


@record
class OnKeeneland(Record):
    """The transform of Figure 4 on 64 nodes of Keeneland, by a reading of the memory term."""

    reading: str
    gpu = computed("terms of the model on the GPUs", fft3d.Terms, lambda of: keeneland(of.reading))
    cpu = computed("terms of the model on the processors", fft3d.Terms, lambda of: keeneland_cpu(of.reading))
    shares = computed("share of the time on the GPUs by part", Mapping[str, float], lambda of: shares(of.reading))


@record
class Measured(Record):
    """What was measured in 2012, beside the equations."""

    statements = computed("sentences on Figures 2 to 4", Sequence[Statement], lambda _: statements())
    hopper = computed(
        "Figure 2 by reading",
        Mapping[str, Sequence[OnHopper]],
        lambda _: {reading: [OnHopper(*of) for of in hopper(reading)] for reading in fft3d.READINGS},
    )
    keeneland = computed(
        "Figure 4 by reading", Mapping[str, OnKeeneland], lambda _: {name: OnKeeneland(name) for name in fft3d.READINGS}
    )  # fmt: skip


def verdict() -> str:
    """Say in a sentence whether the model predicted what was measured in 2012."""
    literal, effective = (Tally(statements(), f"{reading}_agrees") for reading in ("literal", "effective"))
    return (
        f"Of {len(literal.claims)} things measured in 2012 that the equations say something of, the literal text gives "
        f"{literal.held} and the effective reading {effective.held}; "
        "no time of Figures 2 and 3 is printed, so that no time can be held against them."
    )


def section() -> Section:
    """Figures 2 to 4 as a part of the page."""
    rows = statements()
    seen: Sequence[Column[Statement]] = (
        Column("figure", "figure"),
        Column("measured", "measured"),
        Column("literal", lambda one: one.literal + _MARKS[one.literal_agrees]),
        Column("effective", lambda one: one.effective + _MARKS[one.effective_agrees]),
    )
    caption = "✓: the equations say so. ✗: they do not."
    return Section.of(
        "measured",
        "Figures 2 to 4: what was measured in 2012",
        verdict(),
        "Hopper: 4096 nodes, Eq. 5 for its torus. Keeneland: 2048³ on 64 nodes, one after the other Eq. 2 (or 1), 8, 9 "
        "and 3, all GPUs of a node behind one bus of 8 GB/s; its processors' flops a cycle are from memory. A share or "
        "ratio agrees within 25 %.",
        records_table(rows, seen, name="measured", caption=caption),
    )
