"""Machines of known truth: times by the models' own formulas, replayed as noisy samples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankwise.machine.link import LinkModel
from rankwise.measure.cells import Cells, ways_of
from rankwise.measure.samples import SCHEMA
from rankwise.models.measured import Way

Array = NDArray[np.float64]
SIZES = np.array([0, 8, 64, 256, 512, 1024, 2048, 4096, 6144, 8192, 16384, 32768, 65536, 131072, 262144, 1048576], float)

LOGGP = {
    "latency_s": 1e-6, "overhead_s": 0.3e-6, "gap_s": 0.8e-6, "gap_s_per_byte": 0.3e-9, "overlap": 0.4,
    "handshake_s": 2e-6, "rendezvous_from_bytes": 8192.0, "rendezvous_gap_s_per_byte": 0.1e-9,
}  # fmt: skip
MAX_RATE = {
    "alpha_s": 2e-6, "alpha_at_once_s": 1.2e-6, "beta_s_per_byte": 0.2e-9, "injection_bytes_per_s": 6e9, "handshake_s": 1e-6,
    "contention_factor": 1.4, "contention_from_bytes": 8192.0,
}  # fmt: skip


# A machine on which a blocked receive is slow to notice its message, which hides the overhead.
STALLING = {**LOGGP, "overhead_s": 0.0, "stall_s": 0.6e-6}


def loggp_times(sizes: Array = SIZES, p: Mapping[str, float] = LOGGP) -> dict[str, Array]:
    alpha = 2 * p["overhead_s"] + p["latency_s"]
    late = sizes >= p["rendezvous_from_bytes"]
    ssend = alpha + p["handshake_s"] + p["rendezvous_gap_s_per_byte"] * sizes
    send = np.where(late, ssend, alpha + p["gap_s_per_byte"] * sizes)
    bytes_s = np.where(late, p["rendezvous_gap_s_per_byte"], p["gap_s_per_byte"]) * sizes
    return {
        "send": send,
        "ssend": ssend,
        "exchange": send - p.get("stall_s", 0.0) + np.maximum(p["overhead_s"], (1 - p["overlap"]) * bytes_s),
        "exchange-gap": np.maximum(p["gap_s"], (2 - p["overlap"]) * bytes_s),
    }


def max_rate_times(sizes: Array = SIZES) -> dict[str, Array]:
    p = MAX_RATE
    one = p["alpha_s"] + p["beta_s_per_byte"] * sizes
    rate = min(p["injection_bytes_per_s"], 2 / p["beta_s_per_byte"])
    two = p["alpha_at_once_s"] + 2 * sizes / rate
    two = two * np.where(sizes >= p["contention_from_bytes"], p["contention_factor"], 1.0)
    return {"send": one, "ssend": one + p["handshake_s"], "exchange": two, "exchange-gap": two.copy()}


def measure(
    times: Mapping[str, Array], seed: int, launches: int = 10, common: float = 0.0, sigma: float = 0.03, sizes: Array = SIZES
) -> dict[str, Way]:
    """Sample a machine in some launches that have noise in common, beside that of each cell of each launch."""
    rng = np.random.default_rng(seed)
    effect = rng.normal(0.0, common, launches)
    return ways_of(cells_of_effect(times, effect, sigma, rng, sizes), "median")


def cells_of_effect(
    times: Mapping[str, Array], effect: Array, sigma: float, rng: np.random.Generator, sizes: Array = SIZES
) -> Cells:
    """Return one sample a cell and launch: the truth, times what the launch and the cell in it add."""
    return {
        name: {
            int(size): {launch: np.array([time_s * np.exp(add + rng.normal(0.0, sigma))]) for launch, add in enumerate(effect)}
            for size, time_s in zip(sizes, truth, strict=True)
        }
        for name, truth in times.items()
    }


def known(times: Mapping[str, Array], sizes: Array = SIZES) -> dict[str, Way]:
    """Return the ways of a machine of which nothing but the times is known."""
    return {name: Way.exact(sizes, truth) for name, truth in times.items()}


def write_samples(
    path: Path, times: Mapping[str, Array], seed: int = 1, link: str = "same-socket", launches: int = 10, common: float = 0.02
) -> None:
    """Write a samples file as 'measure' would, of a machine with these times, whose launches differ."""
    rng = np.random.default_rng(seed)
    effects = np.exp(rng.normal(0.0, common, launches))
    plan = {"pairs": {link: [0, 1]}, "sizes": [int(s) for s in SIZES], "launches": 1, "visits": 1, "seconds": 1, "seed": 1}
    records: list[dict[str, object]] = [
        {"record": "campaign", "campaign": "a", "schema": SCHEMA, "created": "2026-01-01", "plan": plan,
         "machine": {"hostname": "synthetic"}},
        {"record": "start", "campaign": "a", "timer_cost_s": 0.0},
    ]  # fmt: skip
    messages = 8
    raw = {
        "send": 2 * times["send"],
        "ssend": 2 * times["ssend"],
        "exchange": 4 * times["exchange"],
        "burst": 4 * (times["exchange"] + (messages - 1) * times["exchange-gap"]),
    }
    for operation, truth in raw.items():
        for size, time_s in zip(SIZES, truth, strict=True):
            noisy = time_s * effects[:, None] * rng.lognormal(0.0, 0.05, size=(launches, 12))
            records += [
                {"record": "samples", "campaign": "a", "launch": launch, "class": link, "operation": operation,
                 "size_bytes": int(size), "rounds": 4, "messages": messages if operation == "burst" else 1,
                 "verified": True, "time_s": noisy[launch].tolist()}
                for launch in range(launches)
            ]  # fmt: skip
    records.append({"record": "complete", "campaign": "a"})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def several_at_once_s(model: LinkModel, messages: int, size_bytes: int) -> float:
    """Return the time of so many messages of a size that leave a node at once: alpha + n m / min(R_N, n R)."""
    alpha_s, beta = model.parameters["alpha_s"].value, model.parameters["beta_s_per_byte"].value
    limit = model.parameters.get("injection_bytes_per_s")
    alone = messages / beta if beta > 0 else float("inf")
    return alpha_s + messages * size_bytes / min(alone, limit.value if limit else float("inf"))
