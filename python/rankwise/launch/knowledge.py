"""Where what was learnt about FFTs on this machine is kept: FFTW's wisdom,
plans that were tried, transforms that were timed."""

from __future__ import annotations

import os
from pathlib import Path

from rankwise.cache import cache_folder


def knowledge_folder() -> Path | None:
    """Return the folder of what was learnt about transforms on this machine (as src/fft/library.cpp); None: none is kept."""
    given = os.environ.get("RANKWISE_FFT_KNOWLEDGE")
    if given is not None:
        return Path(given) if given else None
    lines = []
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if not line:
                break
            if line.startswith(("model name", "CPU part", "cache size")):
                lines.append(line + "\n")
    except OSError:
        pass
    digest = 0xCBF29CE484222325
    for byte in ("".join(lines) + str(os.sysconf("SC_NPROCESSORS_CONF"))).encode():
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return cache_folder() / f"fft-{digest:016x}"


def wisdom_arguments(precision: str) -> list[str]:
    """Return the kernel's arguments that let it keep what the local library learns while it plans."""
    folder = knowledge_folder()
    return [] if folder is None else ["--knowledge", str(folder / f"wisdom-{precision}")]
