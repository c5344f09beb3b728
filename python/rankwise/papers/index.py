"""``docs/papers.md``: what the four papers say, sentence by sentence, held against figures; a test makes it anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankwise.papers.claims import Verdict, summary

TITLES = {
    "werner2023": "Werner et al. 2023, the Shift", "wagner2024": "Wagner 2024, OSU by placement",
    "hunold2020": "Hunold et al. 2020, stencil mapping", "czechowski2012": "Czechowski et al. 2012, the 3-D FFT",
}  # fmt: skip
# The results that matter most: a title, and sentences with the figures of rows by paper, place and first words.
HIGHLIGHTS: Sequence[tuple[str, str, Sequence[tuple[str, str, str]]]] = (
    ("The tables of hunold2020 count words of 8 bytes",
     "The text says that 65,536 and 262,144 bytes went very badly on JUWELS, with speed-ups above forty; where the tables "
     "print these sizes there is nothing of it ({}). At an eighth of them, 8,192 and 32,768, it is all there ({}). The "
     "exchange with hops agrees: blocked is bad where 8,192 is printed ({}), not where 65,536 is.",
     (("hunold2020", "VI-D, Table VII", "65,536 and"), ("hunold2020", "VI-D, Table VII", "... if tables count words of 8 B"),
      ("hunold2020", "VI-D, Table VII", "... if tables count words of 8 B (hops)"))),
    ("A = 6.3 of czechowski2012 comes out again, without its machine",
     "Section 5.2.1 took the constant of the memory term from hardware counters of a machine that is gone. Counted with a "
     "simulated cache it is the same by loads alone ({}); stores add half as much again. What the paper's predictions need is "
     "more than ten times that, so it is not this constant.",
     (("czechowski2012", "3.1.2, 5.2.1, Eq. 2", "A = 6.3"),)),
    ("The prediction of czechowski2012 rests on a memory term that its text does not have",
     "By Eq. 2 the network of the GPU design takes {}, where the paper has 2.8. CPU-like nodes still win ({}). But memory "
     "never dominates: {}.",
     (("czechowski2012", "6, Prediction 2, Fig. 5", "GPU design: T_net"), ("czechowski2012", "Abstract, 1", "a CPU-like"),
      ("czechowski2012", "6, Prediction 3", "memory could"))),
    ("Alpha and beta are enough to choose the algorithm, not to predict it",
     "werner2023 predicts with five betas, one a size; {}. Of the choices between Shift and Team Shift, {}. The model "
     "works well from 100 bytes on, not from 10: {}.",
     (("werner2023", "Abstract", "only alpha"), ("werner2023", "1, 6.1", "alpha and beta"),
      ("werner2023", "5, 6.2.2", "works very"))),
    ("Ten runs of wagner2024 turn what one run showed",
     "In the single run of Table 2 bandwidth falls with distance at every size ({}). Over the ten runs of Table 3 it does "
     "not: {}. Latency contradicts it in both, at 4 MiB in one run ({}).",
     (("wagner2024", "Table 2, Fig. 8", "bandwidth"), ("wagner2024", "Tables 2, 3", "bandwidth"),
      ("wagner2024", "Table 2, Fig. 7", "latency"))),
)  # fmt: skip


def page(verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """Return docs/papers.md: the results that matter most, then a table a paper."""

    def figures(paper: str, where: str, says: str) -> str:
        rows = [one for one in verdicts[paper] if one.where == where and one.says.startswith(says)]
        return min(rows, key=lambda one: len(one.says)).figures.partition(": ")[0]

    lines = [
        "# The four papers",
        "",
        "Every sentence with a figure, a comparison or a behaviour: the command, our figure, the verdict.",
    ]
    lines += ["`RANKWISE_WRITE_GOLDEN=1 pytest tests/python/papers/test_index.py` makes this page from `rankwise reproduce`."]
    for title, text, rows in HIGHLIGHTS:
        lines += ["", f"**{title}.** " + text.format(*(figures(*row) for row in rows))]
    for paper, title in TITLES.items():
        lines += ["", f"## {title}", "", summary(verdicts[paper]), ""]
        lines += ["| where | the paper says | command | result | verdict |", "|---|---|---|---|---|"]
        for one in verdicts[paper]:
            command = f"`{one.command}`" if one.command else "–"
            lines.append(f"| {one.where} | {one.says} | {command} | {one.figures} | {one.verdict} |")
    return "\n".join(lines) + "\n"
