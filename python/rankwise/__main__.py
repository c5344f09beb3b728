"""``python -m rankwise``."""

from rankwise.cli.main import main

main()
