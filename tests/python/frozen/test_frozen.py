"""What commands print and write is what they printed and wrote before; RANKWISE_WRITE_GOLDEN=1 writes it anew.

``frozen/outputs.py`` says what is compared, ``frozen/cases.txt`` has the commands.
"""

from __future__ import annotations

import os

import pytest

from frozen.outputs import Section, can_run, check, sections, write


@pytest.mark.parametrize("section", [pytest.param(section, id=section.name) for section in sections()])
def test_outputs_are_what_they_were(section: Section) -> None:
    if not can_run(section):
        pytest.skip(f"no {section.needs} here")
    if os.environ.get("RANKWISE_WRITE_GOLDEN"):
        write(section)
    wrong = check(section)
    assert not wrong, "\n".join(wrong)
