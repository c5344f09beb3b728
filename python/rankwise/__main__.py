"""The ``rankwise`` command, also as ``python -m rankwise``."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; an interrupt before it stands ends in a line, too."""
    try:
        from rankwise.cli.main import main as run
    except KeyboardInterrupt:
        print("rankwise: interrupted", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
