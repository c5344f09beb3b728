"""The machine as hwloc draws it, nested boxes, with latency and bandwidth on each
edge that was measured; what is alike is folded."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from rankwise.machine.profile import LINK_CLASSES, LinkFigures, Profile
from rankwise.report.words import with_interval
from rankwise.units import format_bandwidth, format_size, format_time

_MOST_CORES = 16  # drawn in a box
_MOST_BOXES = 2  # of a kind that are drawn next to each other; the rest are alike
_BETWEEN = {
    "same-core": "hardware threads of one core",
    "shared-cache": "cores that share a cache",
    "same-socket": "cores of one socket",
    "other-socket": "sockets of one node",
    "other-node": "nodes",
}


def between(link: str) -> str:
    """Return what lies at both ends of a class of link: ``cores of one socket``."""
    return _BETWEEN[link]


def machine_boxes(profile: Profile, figures: Mapping[str, LinkFigures]) -> str:
    """Return the boxes as HTML; edges can be focused and say their intervals and samples."""
    machine = profile.machine
    sockets = _count(machine.get("sockets"), 1)
    cores = max(1, _count(machine.get("cores"), sockets) // sockets)
    threads = max(1, _count(machine.get("hardware_threads"), sockets * cores) // (sockets * cores))
    caches = _caches(machine, sockets, cores, threads)
    host = " ".join(str(machine.get("hostname") or "this node").split())
    title = f"{html.escape(host)} {_small(machine)}"

    def box(number: int, caches_before: int, first_core: int) -> str:
        drawn = min(caches, _MOST_BOXES)
        parts = []
        of_cache = max(1, cores // caches)
        for i in range(drawn):
            numbers = range(first_core + i * of_cache, first_core + (i + 1) * of_cache)
            near = ["shared-cache"] if drawn > 1 else ["shared-cache", "same-socket"]
            inside = near * (of_cache > 1) + ["same-core"] * (threads > 1)
            edges = " ".join(_edge(link, figures, "") for link in inside if link in figures)
            name = f"cache {caches_before + i}" if caches > 1 else "cores"
            parts.append(
                f'<div class="l3"><b class="t">{name}<small>{_cache_words(machine)}</small></b>{_cores(numbers)}{edges}</div>'
            )
        edge = _edge("same-socket", figures, "h") if drawn > 1 and "same-socket" in figures else ""
        more = f"<p>and {caches - drawn} caches more, alike</p>" if caches > drawn else ""
        return (
            f'<div class="sock"><b class="t">socket {number}<small>{cores} cores</small></b><div '
            f'class="row">{edge.join(parts)}</div>{more}</div>'
        )

    drawn = min(sockets, _MOST_BOXES)
    edge = _edge("other-socket", figures, "v") if drawn > 1 and "other-socket" in figures else ""
    boxes = edge.join(box(i, i * caches, i * cores) for i in range(drawn))
    more = f"<p>and {sockets - drawn} sockets more, alike</p>" if sockets > drawn else ""
    node = f'<div class="node big"><b class="t">{title}</b>{boxes}{more}</div>'
    if "other-node" not in figures:
        return f'<div class="mach">{node}</div>'
    other = '<div class="node small"><b class="t">other nodes</b>folded: taken to be like this one</div>'
    return f'<div class="mach">{node}{_edge("other-node", figures, "h")}{other}</div>'


def undrawn(profile: Profile) -> bool:
    """Tell whether the record of the machine says too little to draw it."""
    return not isinstance(profile.machine.get("cores"), int) or not isinstance(profile.machine.get("sockets"), int)


def figure_words(name: str, figures: LinkFigures) -> str:
    """Return a link's latency and bandwidth with their intervals, and the number of samples."""
    latency = with_interval(figures.latency_s, figures.latency_ci_s, format_time)
    bandwidth = with_interval(figures.bandwidth_bytes_per_s, figures.bandwidth_ci_bytes_per_s, format_bandwidth)
    return (
        f"{name}, between {_BETWEEN[name]}: latency {latency} ({format_size(figures.latency_bytes)}, one way), bandwidth "
        f"{bandwidth} ({format_size(figures.bandwidth_bytes)}); {figures.samples} samples"
    )


def _edge(link: str, figures: Mapping[str, LinkFigures], kind: str) -> str:
    of_link = figures[link]
    words = html.escape(figure_words(link, of_link))
    colour = f"var(--c{1 + LINK_CLASSES.index(link) % 5})"
    return (
        f'<span class="lk {kind}" style="--k:{colour}" tabindex="0" role="note" aria-label="{words}" data-tip="{words}">'
        f"<b>{format_time(of_link.latency_s)}</b><span>{format_bandwidth(of_link.bandwidth_bytes_per_s)}</span></span>"
    )


def _cores(numbers: range) -> str:
    shown = list(numbers)
    if len(shown) <= _MOST_CORES:
        return f'<div class="cores">{"".join(f"<i>{number}</i>" for number in shown)}</div>'
    first = "".join(f"<i>{number}</i>" for number in shown[: _MOST_CORES - 2])
    return f'<div class="cores">{first}<i>…</i><i>{shown[-1]}</i></div>'


def _caches(machine: Mapping[str, Any], sockets: int, cores: int, threads: int) -> int:
    """Return how many of the largest caches that cores share a socket has; 1 where it has no more than one."""
    largest = _largest_cache(machine)
    if largest is None:
        return 1
    count = max(1, _count(largest.get("count"), sockets) // sockets)
    return count if _count(largest.get("shared_by"), 1) > threads and count <= cores else 1


def _largest_cache(machine: Mapping[str, Any]) -> Mapping[str, Any] | None:
    known = [cache for cache in machine.get("caches") or () if isinstance(cache, Mapping)]
    return max(known, key=lambda cache: _count(cache.get("level"), 0), default=None)


def _cache_words(machine: Mapping[str, Any]) -> str:
    largest = _largest_cache(machine)
    if largest is None:
        return ""
    return html.escape(f"L{_count(largest.get('level'), 0)} {format_size(_count(largest.get('size_bytes'), 0))}")


def _small(machine: Mapping[str, Any]) -> str:
    memory = machine.get("memory_bytes")
    known = [
        str(machine.get("cpu_model") or ""),
        f"{memory / 2**30:.0f} GiB memory" if isinstance(memory, int) and memory else "",
    ]
    return f"<small>{html.escape(', '.join(' '.join(part.split()) for part in known if part))}</small>"


def _count(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and value > 0 else otherwise
