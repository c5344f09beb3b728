"""Processes that tests have started, seen from outside."""

import time
from pathlib import Path


def runs(pid: int) -> bool:
    """Tell whether a process runs; one that has ended and that nobody has reaped, or is reaped meanwhile, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] not in b"ZX"
    except OSError:
        return False


def ends(pid: int, within_s: float = 5.0) -> bool:
    """Wait for a process to end; False where it still runs after `within_s`."""
    end_s = time.monotonic() + within_s
    while runs(pid):
        if time.monotonic() > end_s:
            return False
        time.sleep(0.02)
    return True
