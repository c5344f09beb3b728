"""``--levels`` and ``--topology`` of every verb that places ranks."""

from __future__ import annotations

from typing import Annotated

import typer

from rankwise.api.levels import LEVELS, TOPOLOGY

LevelsText = Annotated[str | None, typer.Option("--levels", help=LEVELS)]
TopologyText = Annotated[str | None, typer.Option("--topology", help=TOPOLOGY)]
