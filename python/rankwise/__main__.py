"""The ``rankwise`` command, also as ``python -m rankwise``."""

import os
import signal
from types import FrameType
from typing import NoReturn


def _leave(signum: int, frame: FrameType | None) -> None:
    """End at once: nothing is under way yet, and an exception in the middle of an import comes out as another one."""
    os.write(2, b"rankwise: interrupted\n")
    os._exit(130)


def main() -> NoReturn:
    """Run the command line; a signal before it stands ends in a line, too."""
    for ends in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ends) is not signal.SIG_IGN:  # as nohup leaves SIGHUP
            signal.signal(ends, _leave)
    from rankwise.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
