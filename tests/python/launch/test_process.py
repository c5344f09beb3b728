import signal
import subprocess
import sys
import time

import pytest

from processes import ends, runs
from rankwise.errors import UnusableEnvironmentError
from rankwise.launch.process import Child, output_of


def test_lines_come_as_they_are_printed_and_stderr_apart() -> None:
    with Child(["sh", "-c", "echo one; echo oops >&2; printf two"]) as child:
        assert list(child.lines(10)) == ["one", "two"]
        assert child.wait() == 0
        assert child.complaint() == "oops"


def test_leaving_ends_the_whole_group() -> None:
    with Child(["sh", "-c", "sleep 1000 & echo $!; sleep 1000"]) as child:
        grandchild = int(next(child.lines(10)))
        assert runs(grandchild)
    assert ends(grandchild)


def test_a_child_dies_with_a_parent_that_is_killed() -> None:
    script = (
        "import sys, time; from rankwise.launch.process import Child\n"
        "child = Child(['sleep', '1000']); print(child._process.pid, flush=True); time.sleep(1000)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert ends(pid)


def test_silence_is_noticed() -> None:
    with Child(["sleep", "1000"]) as child, pytest.raises(TimeoutError):
        list(child.lines(0.2))


def test_what_cannot_be_started_is_named() -> None:
    with pytest.raises(UnusableEnvironmentError, match="no-such-program cannot be started"):
        Child(["/nowhere/no-such-program"])


def test_output_of_gives_the_exit_code_and_the_words() -> None:
    assert output_of(["sh", "-c", "echo hi; exit 3"]) == (3, "hi")
    assert output_of(["sh", "-c", "echo bad >&2; exit 1"]) == (1, "bad")


def test_last_words_that_come_while_something_else_is_done_are_heard() -> None:
    """As on a busy machine: the command says its last and ends between two looks, while its reader has no processor."""
    with Child([sys.executable, "-c", "import time; time.sleep(1.5); print('end')"]) as child:
        assert list(child.lines(60, lambda _: time.sleep(2.5))) == ["end"]
