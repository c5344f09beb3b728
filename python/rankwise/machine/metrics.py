"""Gauges as Prometheus text, for a collector that reads files; those of a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from rankwise.machine.profile import Profile, figures_of
from rankwise.machine.trust import LEVELS

Sample = tuple[Mapping[str, str], float]


def gauge(name: str, help_text: str, samples: Sequence[Sample]) -> list[str]:
    """Return the lines of a gauge: one HELP, one TYPE, a sample each labels;
    none without samples. Base units, no time stamps."""
    if not samples:
        return []
    lines = [f"# HELP {name} {help_text}", f"# TYPE {name} gauge"]
    for labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.append(f"{name}{{{inside}}} {value:.9g}" if inside else f"{name} {value:.12g}")
    return lines


def text(profile: Profile) -> str:
    """Return a profile's gauges: latency, bandwidth and samples of each link, what ranks share, and how far that can be
    trusted.

    ``bound`` low and high are the ends of the 95 % interval, where it is known.
    """
    latency: list[Sample] = []
    bandwidth: list[Sample] = []
    samples: list[Sample] = []
    for link, figures in figures_of(profile.links).items():
        latency += bounds({"link": link}, figures.latency_s, figures.latency_ci_s)
        bandwidth += bounds({"link": link}, figures.bandwidth_bytes_per_s, figures.bandwidth_ci_bytes_per_s)
        samples.append(({"link": link}, float(figures.samples)))
    shared: list[Sample] = []
    for name, resource in profile.shared.resources():
        shared += bounds({"resource": name}, resource.bytes_per_s, resource.ci)
    lines = [
        *gauge("rankwise_profile_link_latency_seconds", "Time of the smallest message over a link class, one way.", latency),
        *gauge(
            "rankwise_profile_link_bandwidth_bytes_per_second", "Size / time of the largest message over a link class, one "
                                                                "way.", bandwidth
        ),
        *gauge("rankwise_profile_link_samples", "Samples of plain sends behind a link class.", samples),
        *gauge("rankwise_profile_shared_bytes_per_second", "What messages share, one way, all pairs together.", shared),
        *gauge(
            "rankwise_profile_trust", "Quality of the measurement: 1 for the level that holds.",
            [({"level": level}, float(level == profile.trust.level)) for level in LEVELS],
        ),
    ]  # fmt: skip
    try:
        created = datetime.fromisoformat(profile.created).timestamp()
        lines += gauge("rankwise_profile_created_timestamp_seconds", "When the profile was made.", [({}, created)])
    except ValueError:  # of an imported one
        pass
    return "\n".join(lines) + "\n"


def bounds(labels: Mapping[str, str], value: float, interval: Sequence[float] | None) -> list[Sample]:
    """Return the samples of a value and of its interval, where that is known."""
    ends = {} if interval is None else {"low": interval[0], "high": interval[1]}
    return [({**labels, "bound": bound}, end) for bound, end in {"value": value, **ends}.items()]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
