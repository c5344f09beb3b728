"""Random command lines of some verbs each time; ``make fuzz`` floods all (tests/fuzz/arguments.py)."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from arguments import SKIPPED, examples_of, files, flood, nothing_to_start, verbs
from breadth import TIMES, fresh_seed
from rankwise.cli.main import run
from rankwise.decide.choice import Question
from rankwise.errors import InputError

# What an example needs and this folder lacks: nothing can be started, and the small files are not of the run in the example.
WANTING = (
    "has 3 ranks|ranks shared|are on one node|no program runs|killed|traces.otf2|nothing to accept|not measured on 2|"
    "has what the new profile lacks"
)


def test_examples_in_helps_are_not_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = []
    with nothing_to_start(tmp_path):
        for verb, command in verbs().items():
            for words in examples_of(verb, command) if verb not in SKIPPED else ():
                files(tmp_path)
                code, said = run(words), capsys.readouterr().err
                if code == 2 and not re.search(WANTING, said):
                    refused.append((" ".join(words), said))
    assert not refused


@pytest.mark.parametrize(("field", "what"), [("modes", "send mode"), ("algorithms", "exchange algorithm")])
def test_words_that_are_no_text_are_unknown_names(field: str, what: str) -> None:
    with pytest.raises(InputError, match=f"{what} .* is unknown"):
        Question((4,), (True,), 1, 8, **{field: ("\udcff",)})  # type: ignore[arg-type]


def test_command_lines_are_answered_or_refused(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """Others for each version of the sources; RANKWISE_TEST_TIMES=N: N times as many verbs and lines."""
    seed = fresh_seed()
    record_property("seed", seed)
    known = {name: command for name, command in verbs().items() if name not in SKIPPED}
    assert len(known) > 40
    some = random.Random(seed).sample(sorted(known), min(8 * TIMES, len(known)))
    with nothing_to_start(tmp_path):
        assert not [broken for name in some for broken in flood(name, known[name], TIMES, seed)]
