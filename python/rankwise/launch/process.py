"""Child processes that are ended with us: their output line by line, their whole group killed when we leave."""

from __future__ import annotations

import ctypes
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from rankwise.errors import UnusableEnvironmentError

_PR_SET_PDEATHSIG = 1
_TAIL_BYTES = 8000
_TELLING = re.compile(
    r"error|cannot|could not|denied|unable|not found|no such|refused|no route|timed out|resolve|queued|retrying|not enough",
    re.IGNORECASE,
)


def _die_with_parent() -> None:
    """Ask the kernel to end this process when its parent dies, however that happens."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


_libc = ctypes.CDLL(None)


class Child:
    """A running command. Use as a context manager: leaving it ends the command and everything it started."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, log: BinaryIO | None = None
    ) -> None:
        """Start a command (never through a shell). Raises UnusableEnvironmentError when it cannot be started.

        All that it says on stderr is written to ``log`` while its lines are read.
        """
        self._log = log
        self.command = list(command)
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        except OSError as error:
            raise UnusableEnvironmentError(
                f"{Path(self.command[0]).name} cannot be started ({error.strerror}: {self.command[0]}): see 'rankwise doctor'"
            ) from None
        self._stderr = b""

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def lines(self, silence_s: float, meanwhile: Callable[[float], None] | None = None) -> Iterator[str]:
        """Yield stdout line by line until the command ends.

        ``meanwhile`` is called about every second, with the seconds since something was printed. Raises TimeoutError when nothing
        is printed for ``silence_s`` seconds, and what ``meanwhile`` raises.
        """
        assert self._process.stdout is not None and self._process.stderr is not None
        pending = b""
        heard_s = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            selector.register(self._process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                left_s = max(0.1, silence_s - (time.monotonic() - heard_s))
                events = selector.select(timeout=left_s if meanwhile is None else min(1.0, left_s))
                if meanwhile is not None:
                    meanwhile(time.monotonic() - heard_s if not events else 0.0)
                if not events and time.monotonic() - heard_s >= silence_s:
                    raise TimeoutError
                for key, _ in events:
                    chunk = os.read(key.fd, 1 << 16)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is self._process.stderr:
                        self._stderr = (self._stderr + chunk)[-_TAIL_BYTES:]
                        if self._log is not None:
                            self._log.write(chunk)
                    else:
                        heard_s = time.monotonic()
                        *complete, pending = (pending + chunk).split(b"\n")
                        for line in complete:
                            yield line.decode("utf-8", "replace")
        if pending:
            yield pending.decode("utf-8", "replace")

    def wait(self) -> int:
        """Wait for the end; return the exit code (negative: the signal that ended it)."""
        return self._process.wait()

    def complaint(self) -> str:
        """Return the end of what the command said on stderr, as one line."""
        text = self._stderr.decode("utf-8", "replace")
        return " / ".join(line.strip() for line in text.splitlines() if line.strip())[-600:]

    def error_line(self) -> str:
        """Return the line of stderr that tells best why a launcher gave up; empty where it said nothing."""
        lines = [line.strip() for line in self._stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        return next((line for line in lines if _TELLING.search(line)), lines[-1] if lines else "")[:300]

    def end(self) -> None:
        """End the command and its group, gently first; does nothing when it has ended."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                pass
        # The group may outlive its leader.
        self._signal(signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def kill(self) -> None:
        """End the command and its group at once; another thread may be reading its lines, which then end."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass


def output_of(command: Sequence[str], timeout_s: float = 30.0) -> tuple[int, str]:
    """Run a short command; return its exit code and stdout (stderr when stdout is empty).

    Raises UnusableEnvironmentError when it cannot be started or takes too long.
    """
    with Child(command) as child:
        try:
            text = "\n".join(child.lines(timeout_s))
        except TimeoutError:
            raise UnusableEnvironmentError(
                f"'{' '.join(command)}' said nothing for {timeout_s:.0f} s: see 'rankwise doctor'"
            ) from None
        return child.wait(), text or child.complaint()
