"""Czechowski et al. (ICS 2012), section 4 and the note on stacked memory: Eqs. 6, 7 and 11, on the paper's designs and on what
was built.

Eq. 6 and 7 are Eq. 2 and Eq. 4 or 5 with P = R_peak / C_node; Eq. 11 asks whether T_mem <= T_flops. Orders there have constants
here: those of Eq. 1 and 2, by which a node is balanced where C / beta_mem <= 5 log2(Z) / (A w), w bytes a word, n at least Z.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rankwise.blocks import Column, Table, yes_or_no
from rankwise.machine.description import Description
from rankwise.machine.library import load_machine
from rankwise.models import fft3d
from rankwise.records import Record, computed, key, record
from rankwise.report.reproduction import Section

WORD_BYTES = 16.0
KAPPAS = {"Eq. 5, bisection": 2 / 3, "Eq. 4, ideal mapping": 5 / 6}
DESIGNS = (
    "hopper",
    "keeneland",
    "paper-cpu-2020",
    "paper-gpu-2020",
    "summit",
    "fugaku",
    "frontier",
    "h100-cluster",
    "el-capitan",
)
STACKED = ("summit", "fugaku", "frontier", "h100-cluster", "el-capitan")  # their memory is HBM, on the package
_N = 21_000.0


@record
class Balance(Record):
    """How balanced the nodes of a machine are: its two sides of Eq. 11, in flops a word of 16 bytes."""

    machine: str = key("name of the machine")
    year: int | None = key("year of the machine; null: its description has none")
    flops_per_word: float = key("C_node / beta_mem, flops for each word of 16 bytes that memory delivers")
    allowed: float | None = key("what the FFT allows of that, 5 log2(Z / rho) / A; null: its cache is not known")
    stacked: bool = key("whether its memory is stacked on the package")
    excess = computed(
        "flops_per_word by allowed; null: its cache is not known", float | None,
        lambda one: None if one.allowed is None else one.flops_per_word / one.allowed,
    )  # fmt: skip


@record
class Balances(Record):
    """Eqs. 6, 7 and 11 on the paper's designs and on what was built."""

    sensitivity_to_twice_the_node_peak = computed(
        "growth of each term at the same peak of the machine, nodes twice as fast",
        Mapping[str, float],
        lambda _: sensitivities(),
    )
    balance = computed("by machine, Eq. 11", Sequence[Balance], lambda _: balances())  # fmt: skip


def memory_time_at_peak(peak_flop_per_s: float, flops_per_byte: float, cache_bytes: float | None) -> float:
    """Eq. 6: T_mem of a machine of so much peak, whose nodes do so many flops a byte of memory; seconds for 21,000^3."""
    words = fft3d.literal().words_per_point(_N, None if cache_bytes is None else cache_bytes / WORD_BYTES)
    return 3 * _N**3 * words * WORD_BYTES * flops_per_byte / peak_flop_per_s


def network_time_at_peak(peak_flop_per_s: float, node_flop_per_s: float, link_bytes_per_s: float, kappa: float) -> float:
    """Eq. 7: T_net of a torus of so much peak; seconds for 21,000^3."""
    return 2 * _N**3 * WORD_BYTES * math.pow(node_flop_per_s / peak_flop_per_s, kappa) / link_bytes_per_s


def balance_of(machine: Description, a: float = fft3d.PAPER_A) -> Balance:
    """Both sides of Eq. 11 for a machine. Raises InputError where peak or memory bandwidth is missing."""
    peak = machine.need("node_peak", "its balance").value
    memory = machine.need("memory_bandwidth", "its balance").value
    cache, cores = machine.get("cache"), machine.get("cores") or 1.0
    allowed = None if cache is None else 5 * max(math.log2(cache / WORD_BYTES / cores), 1.0) / a
    return Balance(machine.name, machine.year, peak * WORD_BYTES / memory, allowed, machine.name in STACKED)


def balances() -> list[Balance]:
    """Eq. 11 for all machines."""
    return [balance_of(load_machine(name)) for name in DESIGNS]


def sensitivities(factor: float = 2.0) -> dict[str, float]:
    """By how much times grow at the same machine peak when nodes are ``factor`` times as fast and nothing else changes."""
    gpu = load_machine("paper-gpu-2020")
    peak, node = gpu.machine_peak() or 1.0, gpu.need("node_peak", "").value
    memory, link = gpu.need("memory_bandwidth", "").value, gpu.need("link_bandwidth", "").value

    def memory_s(scale: float) -> float:
        return memory_time_at_peak(peak, scale * node / memory, gpu.get("cache"))

    def network_s(scale: float, kappa: float) -> float:
        return network_time_at_peak(peak, scale * node, link, kappa)

    found = {"T_mem (Eq. 6)": memory_s(factor) / memory_s(1)}
    return found | {f"T_net (Eq. 7, {name})": network_s(factor, of) / network_s(1, of) for name, of in KAPPAS.items()}


def section() -> Section:
    """The part of the page."""
    found = balances()
    doubled = sensitivities()
    least = min(doubled, key=lambda name: doubled[name])
    most = max(doubled, key=lambda name: doubled[name])
    before = [one for one in found if not one.stacked and one.year is not None and one.year <= 2010]
    stacked = [one for one in found if one.stacked]
    start = max(one.flops_per_word for one in before)
    low, high = (end(one.flops_per_word for one in stacked) for end in (min, max))
    kept = [one.machine for one in stacked if one.flops_per_word <= start]
    lost = [one.machine for one in stacked if one.flops_per_word > start]
    over = [one for one in found if one.excess is not None and one.excess > 1]
    known = [one for one in found if one.excess is not None]
    return Section.of(
        "balance",
        "Balance (Eqs. 6, 7 and 11), and what stacked memory did",
        "At the same peak, nodes twice as fast with the same memory and links take "
        + ", ".join(f"{value:.2f} times the {name}" for name, value in doubled.items())
        + f": {most} is the most sensitive to C_node, {least} the least. The paper says that T_mem is more sensitive than "
        f"T_net, which {'follows' if most.startswith('T_mem') else 'does not follow'}.",
        f"Eq. 11: a node is balanced where its flops a word stay below a logarithm of its cache. Of {len(known)} machines "
        f"whose cache is known {len(over)} are beyond it"
        + (f" ({', '.join(f'{one.machine} {one.excess:.1f} times' for one in over)})" if over else "")
        + ".",
        f"Stacked memory was to keep the left side constant. In 2010 it was at most {start:.0f} flops a word; with "
        f"stacked memory it is {low:.0f} to {high:.0f}: "
        + (f"kept by {', '.join(kept)}" if kept else "kept by none")
        + (f", lost by {', '.join(lost)}" if lost else "")
        + (". It delayed the imbalance rather than solved it, as the paper feared." if lost else ". It kept nodes balanced."),
        Table(_COLUMNS, found, name="balance", caption=_CAPTION),
    )


def _memory_s(one: Balance) -> float:
    cache = load_machine(one.machine).get("cache")
    return memory_time_at_peak(4e18, one.flops_per_word / WORD_BYTES, cache)


_COLUMNS: Sequence[Column[Balance]] = (
    Column("machine", "machine"),
    Column("year", "year"),
    Column("stacked", "stacked", yes_or_no),
    Column("flops a word", "flops_per_word", "{:.0f}".format),
    Column("allowed", "allowed", "{:.1f}".format),
    Column("times allowed", "excess", "{:.1f}".format),
    Column("T_mem at 4 EF/s (Eq. 6)", _memory_s, "{:.3f} s".format, "memory_s_at_4_exaflop"),
)
_CAPTION = "Both sides of Eq. 11 with A = 6.3, and what Eq. 6 gives for 21,000³ points at the same peak."
