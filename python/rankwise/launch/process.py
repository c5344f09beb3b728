"""Child processes that are ended with us: their output line by line, and all that they started killed when we leave."""

from __future__ import annotations

import ctypes
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.remains import MARK, Remains, new_mark, waited_s

_PR_SET_PDEATHSIG = 1
_TAIL_BYTES = 8000
_LONGEST_LINE_BYTES = 64 << 20
_LAST_WORDS_S = 1.0  # after a command's end, of others who hold its stdout
_LOOK_S = 0.05  # while lines come; a host must have been seen once before it is missed
_QUIET_S = 1.0  # a silence so long is looked into
_STARVED_TIMES = 20.0  # no silence is excused for longer than so many times what is allowed
_REFUSAL = "rankwise-kernels: "  # how the kernels begin what they say on stderr
_TELLING = re.compile(
    r"error|cannot|could not|denied|unable|not found|no such|refused|no route|timed out|resolve|queued|retrying|not enough",
    re.IGNORECASE,
)


def refusal_in(said: str) -> str:
    """Return what a kernel of ours says on stderr of why it gave up, whatever launchers add; empty where it says nothing."""
    return next((line.partition(_REFUSAL)[2].strip() for line in said.splitlines() if _REFUSAL in line), "")


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent dies, however that happens."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


_libc = ctypes.CDLL(None)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let signals that end us wait meanwhile: a second Ctrl-C must not leave half of a clean-up undone."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
        mark = new_mark()
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **(environment or {}), MARK: mark},
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            raise UnusableEnvironmentError(
                f"{Path(self.command[0]).name} cannot be started ({error.strerror}: {self.command[0]}): see 'rankwise doctor'"
            ) from None
        self._stderr = b""
        self._remains = Remains(self._process.pid, mark)
        self._ended = False
        self.left: list[int] = []  # processes that did not end

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end(thoroughly=exception[0] is not None)

    def lines(
        self, silence_s: float, meanwhile: Callable[[float], None] | None = None, all_count: bool = True
    ) -> Iterator[str]:
        """Yield stdout line by line until the command ends, whoever else still holds its stdout.

        ``meanwhile`` is called at least about every second, with the seconds since a line that counts: any, or without
        ``all_count`` those after which :meth:`heard` was called. Raises TimeoutError when :meth:`silence_s` comes to
        ``silence_s``, and what ``meanwhile`` raises.
        """
        assert self._process.stdout is not None and self._process.stderr is not None
        pending = b""
        self.heard()
        looked_s = read_s = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            selector.register(self._process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                events = selector.select(timeout=max(0.1, min(1.0, silence_s - (time.monotonic() - self._heard_s))))
                for key, _ in events:
                    chunk = os.read(key.fd, 1 << 16)
                    read_s = time.monotonic()
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is self._process.stderr:
                        self._stderr = (self._stderr + chunk)[-_TAIL_BYTES:]
                        if self._log is not None:
                            self._log.write(chunk)
                    else:
                        *complete, pending = (pending + chunk).split(b"\n")
                        pending = pending if len(pending) < _LONGEST_LINE_BYTES else b""
                        for line in complete:
                            if all_count:
                                self.heard()
                            yield line.decode("utf-8", "replace")
                now_s = time.monotonic()
                if not events or now_s - looked_s >= _LOOK_S:
                    looked_s = now_s
                    if meanwhile is not None:
                        meanwhile(now_s - self._heard_s)
                    if self.silence_s() >= silence_s:
                        raise TimeoutError
                # What it said until its end may have come since the look above.
                quiet = not events and now_s - read_s >= _LAST_WORDS_S
                if quiet and self._process.poll() is not None and not selector.select(0):
                    break
        if pending:
            yield pending.decode("utf-8", "replace")

    def heard(self) -> None:
        """Begin the silence again."""
        self._heard_s = time.monotonic()
        self._waited_s: dict[int, float] | None = None

    def silence_s(self) -> float:
        """Return for how long nothing that counts was heard, without the time for which a process of the command was ready to
        run and had no processor: on a busy machine that is none of its doing."""
        quiet_s = time.monotonic() - self._heard_s
        if quiet_s < _QUIET_S:
            return quiet_s
        if self._waited_s is None:
            self._waited_s = {pid: waited_s(pid) for pid in self._remains.processes()}
        starved_s = max((waited_s(pid) - before_s for pid, before_s in self._waited_s.items()), default=0.0)
        return max(quiet_s - starved_s, quiet_s / _STARVED_TIMES)

    def wait(self) -> int:
        """Wait for the end; return the exit code (negative: the signal that ended it)."""
        return self._process.wait()

    def complaint(self) -> str:
        """Return the end of what the command said on stderr, as one line."""
        return " / ".join(self.complaints())[-600:]

    def complaints(self) -> list[str]:
        """Return the last lines that the command said on stderr."""
        return [line.strip() for line in self._stderr.decode("utf-8", "replace").splitlines() if line.strip()]

    def error_line(self) -> str:
        """Return the line of stderr that tells best why a launcher gave up; empty where it said nothing."""
        lines = self.complaints()
        return next((line for line in lines if _TELLING.search(line)), lines[-1] if lines else "")[:300]

    def end(self, thoroughly: bool = True) -> None:
        """End the command and all that it started on this node, gently first; does nothing when that is done.

        A command that ended well by itself is believed to have left nothing but its group, unless ``thoroughly`` is set.
        ``left`` then holds the processes that did not end.
        """
        with _undisturbed():
            if self._ended:
                return
            self._ended = True
            well = not thoroughly and self._process.poll() == 0
            if not well:
                self._remains.note_segments()
            if self._process.poll() is None:
                self._signal(signal.SIGTERM)
                try:
                    self._process.wait(timeout=3)
                except subprocess.TimeoutExpired:
                    pass
            # The group may outlive its leader.
            self._signal(signal.SIGKILL)
            self._process.wait()
            if not well:
                self.left = self._remains.end()
            for stream in (self._process.stdout, self._process.stderr):
                if stream is not None:
                    stream.close()

    def note_segments(self) -> None:
        """Remember the shared memory that the ranks have by now, to be removed if they die."""
        self._remains.note_segments()

    def kill(self) -> None:
        """End the command at once; another thread may be reading its lines, which then end, and ends the rest."""
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
