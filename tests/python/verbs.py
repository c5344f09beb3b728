"""The command line as tests call it: what the fixtures ``rankwise`` and ``refused`` are, and what they give."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class Result:
    """What a command line gave: exit code, stdout, stderr."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def answer(self) -> Any:
        """The JSON of what went well."""
        assert self.code == 0, self.err
        return self.json


Rankwise = Callable[..., Result]
Refused = Callable[..., str]
