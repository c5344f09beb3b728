"""What every screen keeps to: width, length, one line of quality, no private word, no long sentence, units that people use.

``faults`` names what a screen does otherwise. What is printed for a file, and what a study prints, keeps to none of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from check_words import MOST_WORDS, PRIVATE, words_of_sentences

MOST_COLUMNS, MOST_LINES, MOST_LINES_OF_HELP = 80, 25, 32
# By pattern of a command line: which rules it need not keep, and why.
ALLOWED = {
    r" --json|machines schema|profile export|slurm script|map .*--format|completion": ("all", "a file, printed"),
    r" --wide": ("columns", "asks for all columns"),
    r" --all( |$)": ("lines", "asks for all lines"),
    r" --help|^rankwise help": ("lines", "all there is to a command"),
    r"exchange (show|check)": ("lines", "a list that was asked for: messages of a rank, cases"),
    r"reproduce": ("words", "papers' own terms"),
}
_FIGURES = r"(?<![\d.,])0\.0+ ns\b|(?<![\d.,])\d{2,}000 B\b"  # nothing takes no time; bytes that are kB or MB


def faults(command: str, out: str, err: str) -> Iterator[str]:
    """Yield in which rules a screen fails: what a command wrote, at 80 columns."""
    free = {rule for pattern, (rule, _) in ALLOWED.items() if re.search(pattern, command)}
    if "all" in free:
        return
    lines = out.splitlines()
    most = MOST_LINES_OF_HELP if any(line.startswith("Usage: ") for line in lines) else MOST_LINES
    if "lines" not in free and len(lines) > most:
        yield f"{len(lines)} lines, {most} fit"
    if "columns" not in free and (wide := max(lines, key=len, default="")) and len(wide) > MOST_COLUMNS:
        yield f"{len(wide)} columns: {wide}"
    if (said := len(re.findall(r"^Quality: ", f"{out}\n{err}", re.MULTILINE))) > 1:
        yield f"the quality {said} times"
    if found := re.search(_FIGURES, out + err):
        yield f"'{found[0]}' in a unit that people do not use"
    text = re.sub(r"'[^'\n]*'|--?[a-z][\w-]*|\S+\.(comm|json\w*|html|svg)\b", "", f"{out}\n{err}")
    for private, term in PRIVATE.items() if "words" not in free else ():
        if found := re.search(private, text, re.IGNORECASE):
            yield f"'{found[0]}' is a private word: write {term}"
    for sentence in words_of_sentences(_prose(text)) if "words" not in free else ():
        if len(sentence) > MOST_WORDS:
            yield f"{len(sentence)} words in a sentence, {MOST_WORDS} are read: {' '.join(sentence)}"


def _prose(out: str) -> str:
    """Return a screen's sentences, lines that go on joined; tables, lists and commands left out."""
    kept = []
    for line in out.splitlines():
        is_text = not re.search(r"\S {2,}\S|^ *(rankwise|Next|fix:)|^[-\w./]+$|^\s", line)
        kept.append(line if is_text else ".")
    return "\n".join(kept).replace("\n", " ")
