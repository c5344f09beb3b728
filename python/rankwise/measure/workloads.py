"""What can be measured: the kernels that a campaign starts, their operations, sizes and ranks."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.measure.places import Places

PINGPONG_OPERATIONS = ("send", "ssend", "exchange", "burst")
LOADED = "send-loaded"
WINDOW = 64
COMPLETE = ("pingpong", "pairs", "loggp")  # these measure all that link models are fitted to
WHAT = ("pingpong", "bandwidth", "pairs", "one-to-all", "alltoall", "loggp")

_LARGEST_BYTES = {
    "exchange": 1 << 20,  # several messages in flight still fit in a cache of today
    "burst": 1 << 20,
    "send-overhead": 1 << 16,
    "receive-overhead": 1 << 16,
    "gap": 1 << 16,
}
_LARGEST_IN_WINDOW_BYTES = 1 << 18
_LIMITS_UP_TO_BYTES = 1 << 22


@dataclass(frozen=True)
class Part:
    """What one launch measures: a kernel, its operations and further arguments, and the CPUs of its ranks."""

    kernel: str
    operations: tuple[str, ...]
    cpus: tuple[int, ...]
    hosts: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    @property
    def shared_cpus(self) -> bool:
        """Whether ranks of a host share a CPU."""
        on_host = len(self.cpus) // max(1, len(self.hosts))
        hosts = [self.cpus[i : i + on_host] for i in range(0, len(self.cpus), on_host)]
        return any(len(set(cpus)) < len(cpus) for cpus in hosts)


def parts_of(what: str, places: Places, background: int) -> list[Part]:
    """Return what a launch consists of for one link class; a plain send is always among it, as what all compares with."""
    pair, two = tuple(places.cpus_of_pairs(1)), places.hosts[:2]
    parts = [Part("pingpong", PINGPONG_OPERATIONS if what in COMPLETE else ("send",), pair, two)]
    window = f"window-{WINDOW}"
    match what:
        case "loggp":
            limits = ("--limits-up-to", str(_LIMITS_UP_TO_BYTES))
            parts.append(Part(what, ("send-overhead", "receive-overhead", "gap"), pair, two, limits))
        case "bandwidth":
            parts.append(Part("bandwidth", (f"bandwidth-{window}", f"bandwidth-bidirectional-{window}"), pair, two))
        case "pairs":
            counts = _growing(len(places.pairs))
            operations = tuple(f"bandwidth-pairs-{count}-{window}" for count in counts)
            parts.append(Part("bandwidth", operations, tuple(places.cpus_of_pairs(counts[-1])), two))
        case "one-to-all":
            peers = range(1, len(places.star))
            parts.append(Part(what, tuple(f"one-to-all-peer-{k}" for k in peers), places.star, places.hosts))
        case "alltoall":
            parts.append(Part(what, (f"alltoall-ranks-{len(places.star)}",), places.star, places.hosts))
    if background:
        parts.append(Part("pingpong", (LOADED,), tuple(places.cpus_of_pairs(1 + background)), two))
    return parts


def largest_bytes(operation: str) -> int | None:
    """Return the largest size that an operation is measured at; None: as large as asked."""
    if operation.startswith(("bandwidth-", "alltoall-")):
        return _LARGEST_IN_WINDOW_BYTES
    return _LARGEST_BYTES.get(operation)


def _growing(most: int) -> list[int]:
    """Return 1, 2, 4, ... and the most."""
    counts = [1]
    while counts[-1] * 2 < most:
        counts.append(counts[-1] * 2)
    return counts if most <= 1 else [*counts, most]
