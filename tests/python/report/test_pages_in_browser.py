"""All pages in a real browser: values on hover and by keys, sort, filter, fold, copy, widths, print, no script, no network."""

from __future__ import annotations

import math
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import histories
import observed_rings
import sample_figures
from breadth import some
from rankwise.advise.evidence import evidence_of
from rankwise.advise.findings import Question, advise
from rankwise.blocks import Picture
from rankwise.engines.model import Model
from rankwise.health.judge import Change, Rules, judge
from rankwise.machine.trust import Trust
from rankwise.papers import PAPERS
from rankwise.papers.hunold2020 import reduction_picture
from rankwise.papers.hunold2020_scores import Distribution
from rankwise.papers.hunold2020_simgrid import speedup_picture
from rankwise.report import advice_page, before_after, health_page, reproduction
from rankwise.report.document import plain_page
from rankwise.report.inputs import mappings_from_record, validation_from_record
from rankwise.report.page import Inputs, render
from rankwise.report.pairs import traffic_map
from rankwise.report.reproduction import Reproduction, Section
from sample_figures import slower
from synthetic_events import ring

pytestmark = pytest.mark.browser
_DRAWN = "[...document.querySelectorAll('.chart')].every(c => c.dataset.drawn || c.closest('details:not([open])'))"
_OVER = """[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
  && !e.closest('.scroll') && !e.closest('svg')).map(e => e.outerHTML.slice(0, 120))"""
# Words of pictures that are cut off, or stand on one another: all, or titles alone (where labels may be turned).
_TITLES = ".role-title-text text, .role-axis-title text"
_CLASHES = """words => [...document.querySelectorAll('.chart svg')].flatMap(svg => {
  const all = svg.getBoundingClientRect(), wrong = [], seen = [];
  for (const text of svg.querySelectorAll(words)) {
    const box = text.getBoundingClientRect();
    if (!box.width || !text.textContent) continue;
    if (box.left < all.left - 2 || box.right > all.right + 2 || box.top < all.top - 2 || box.bottom > all.bottom + 2)
      wrong.push('cut off: ' + text.textContent);
    for (const [other, words] of seen)
      if (box.left < other.right - 1 && other.left < box.right - 1 && box.top < other.bottom - 1 && other.top < box.bottom - 1)
        wrong.push('clash: ' + words + ' | ' + text.textContent);
    seen.push([box, text.textContent]);
  }
  return wrong;
})"""
GOOD = Trust("good", (), {}, 0.02, 10)


def _report() -> str:
    profile = sample_figures.profile(("same-socket", "other-node"))
    launches = {"same-socket": {0: [[1.2e-6], [1.3e-6], [1.4e-6]]}}
    return render(Inputs(
        replace(profile, trust=GOOD), validation_from_record(sample_figures.validation_record(), "v.json"),
        mappings_from_record(sample_figures.mapping_record(), "m.json"), launches,
    ))  # fmt: skip


def _advice() -> str:
    ranks = observed_rings.RANKS
    record = observed_rings.record_of(
        ring(ranks, observed_rings.STEPS, 100_000, observed_rings.SIZE), [r % 4 for r in range(ranks)]
    )
    question = Question((2, 2, 2, 2), observed_rings.HOSTS[:4], Model(observed_rings.PROFILE))
    return advice_page.render(advise(evidence_of(record, "app.comm"), question), observed_rings.HOSTS[:4], GOOD)


def _health() -> str:
    sessions = [histories.session(24 * i, -14 + 0.01 * math.sin(7 * i)) for i in range(14)]
    change = Change(histories.FIGURES[0], sessions[9].at, 1.1, ("kernel 6.1 to 6.2",))
    return health_page.render(sessions, judge(sessions[-1], sessions[:-1]), [change], Rules())


def _paper(name: str) -> Callable[[], str]:
    (paper,) = (paper for paper in PAPERS if paper.name == name)
    return lambda: reproduction.render(paper.reproduce())


def _matrix() -> str:
    import numpy as np

    matrix = np.eye(6)[:, [1, 2, 3, 4, 5, 0]] * 1e6
    return plain_page("rankwise observe show", ["6 ranks, 3 ms", "a ring"], traffic_map(matrix, ["a ring"]))


def _timeline() -> str:
    from rankwise.api.results import plotted
    from rankwise.engines.placement import profile_placement
    from rankwise.engines.timelines import predicted
    from rankwise.workloads.base import Site
    from rankwise.workloads.exchange import WORKLOAD, ExchangeOptions

    profile = sample_figures.profile(("same-socket", "other-node"))
    (case,) = WORKLOAD.cases(
        ExchangeOptions(dims="4x2", cutoff=1, size=100_000, algorithm="shift", mode="isend"), Site("predict")
    )
    drawn = plotted(predicted(Model(profile), case, profile_placement(profile, 4).of(case)), "8 ranks")
    return plain_page("rankwise", drawn.words, drawn.chart)


def _before_after() -> str:
    before = replace(sample_figures.profile(("same-socket", "other-node")), trust=GOOD)
    return before_after.render(before_after.History([("old.json", before), ("new.json", slower(before, 1.5))]))


def _hunold() -> str:
    """Return a page like that of hunold2020, whose own figures take half a minute: boxes, whiskers and outliers."""
    draw = random.Random(1)
    values = [
        Distribution.of("component", "j_sum", name, [draw.lognormvariate(-0.3, 0.4) for _ in range(50)])
        for name in ("nodecart", "refined")
    ]
    boxes = Picture(
        "figure8", "reductions", lambda: reduction_picture({"component, J_sum": values, "component, J_max": values})
    )
    scores = {"here": {"blocked": [(1.0, 1.1), (2.0, 1.8)]}, "there": {"blocked": [(0.7, 0.5)], "refined": [(3.0, 30.0)]}}
    speedups = Picture("speedups", "speed-ups", lambda: speedup_picture(scores))
    section = Section("figure", "A figure", ["words"], [boxes, speedups])
    return reproduction.render(
        Reproduction("hunold2020", "a title", ["3 of 4 hold."], [section], {}, ["a source"], "rankwise map")
    )


PAGES: dict[str, Callable[[], str]] = {
    "report": _report, "advise": _advice, "health": _health, "matrix": _matrix, "hunold2020": _hunold,
    "before-after": _before_after, "timeline": _timeline,
    **{name: _paper(name) for name in ("werner2023", "wagner2024", "czechowski2012")},
}  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium is installed")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Callable[..., Any]]:
    """Open a page by its name; afterwards nothing may have been asked of a network, nor been complained of."""
    contexts, heard = [], []

    def open_page(name: str, width: int = 1280, **more: Any) -> Any:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(PAGES[name](), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard.append(message.text))
        page.on("pageerror", lambda error: heard.append(str(error)))
        page.on("request", lambda asked: heard.append(asked.url) if not asked.url.startswith(("file:", "data:")) else None)
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert heard == []


def drawn(page: Any) -> None:
    """Scroll to the end, so that every chart is drawn that is not folded."""
    for box in page.locator(".chart").all():
        if box.is_visible():
            box.scroll_into_view_if_needed()
    page.wait_for_function(_DRAWN)


@pytest.mark.parametrize("name", some([*PAGES], 0, 1, 2, 4, 6, 8))
def test_no_overflow_at_any_width_unfolded_and_small(opened: Callable[..., Any], folder: Path, name: str) -> None:
    page = opened(name, 360)
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    for width in (360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        drawn(page)
        # Redrawn at this width, not shrunk to it.
        page.wait_for_function(
            "[...document.querySelectorAll('.chart')].every(c => Math.abs(c.dataset.drawn - c.clientWidth) <= 1)"
        )
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.evaluate(_OVER)
        assert page.evaluate(_OVER) == []
        assert page.evaluate(_CLASHES, _TITLES) == []
    assert (folder / f"{name}.html").stat().st_size < 3_000_000


def test_the_first_screen_answers(opened: Callable[..., Any]) -> None:
    page = opened("report")
    for element in ("h1", ".why", ".badges", ".figs", ".changes"):
        box = page.locator(element).bounding_box()
        assert box is not None and box["y"] + box["height"] <= 800, element
    box = page.locator(".next .cmd").first.bounding_box()
    assert box is not None and box["y"] + box["height"] <= 800


def test_values_on_hover(opened: Callable[..., Any]) -> None:
    page = opened("report")
    drawn(page)
    chart = page.locator("#links .live")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    value = page.locator("#links output")
    assert re.match(r"At \d+ K?i?B: same-socket .* us? \(.*\), .*/s \(.*\); 2000 samples", value.inner_text())
    assert page.locator(".tip.on").inner_text().count("B: ") == 1
    before = value.inner_text()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"], steps=5)
    assert value.inner_text() != before  # the other panel
    page.locator("#nodes-0 .live").scroll_into_view_if_needed()
    box = page.locator("#nodes-0 .live").bounding_box()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.5 * box["height"])
    assert re.fullmatch(
        r"blocked, node \d+: 48 ranks, of cells .*; \d+ messages to other nodes", page.locator("#nodes-0 output").inner_text()
    )
    edge = page.locator(".lk").first
    edge.hover()
    assert "latency" in page.locator(".tip.on").inner_text() and "samples" in page.locator(".tip.on").inner_text()


def test_a_time_line_gives_its_values(opened: Callable[..., Any]) -> None:
    page = opened("timeline")
    drawn(page)
    assert re.match(r"A round takes [0-9.]+ [um]s", page.locator("h1").inner_text())
    assert len(page.locator("h2").first.inner_text()) <= 60
    chart, value = page.locator(".live"), page.locator("output")
    box, row = chart.bounding_box(), chart.locator("svg text", has_text="rank 5").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], row["y"] + 0.5 * row["height"])
    assert re.search(r"rank 5, .* to .*: transfer and other MPI", page.locator(".tip.on").inner_text())
    chart.focus()
    page.keyboard.press("Home")
    first = chart.get_attribute("aria-valuetext")
    assert re.match(r"critical path, 1 of \d+: rank \d, 0 to ", first) and value.inner_text() == first
    page.keyboard.press("End")
    assert re.match(r"rank 7 in all: ", value.inner_text())


def test_everything_by_keyboard(opened: Callable[..., Any]) -> None:
    page = opened("report")
    drawn(page)
    page.evaluate("window.reached = new Set(); addEventListener('focusin', e => window.reached.add(e.target))")
    page.evaluate("scrollTo(0, 0)")
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
    missed = page.evaluate("""[...document.querySelectorAll('button, summary, .live, .lk, .scroll')].filter(
      e => !e.closest('details:not([open]) > div') && !window.reached.has(e)).map(e => e.outerHTML.slice(0, 100))""")
    assert missed == []
    chart = page.locator("#links .live")
    chart.focus()
    assert chart.get_attribute("role") == "slider" and chart.get_attribute("aria-label")
    first = chart.get_attribute("aria-valuetext")
    assert first.startswith("At 0 B") and "in 3 launches of 1.20 us to 1.40 us" in first
    page.keyboard.press("ArrowRight")
    assert chart.get_attribute("aria-valuetext").startswith("At 1 B")
    page.keyboard.press("End")
    assert page.locator("#links output").inner_text().startswith("At 4 MiB")
    labels = "[...document.querySelectorAll('#links .live text')].map(t => t.textContent).join()"
    whole = page.evaluate(labels)
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.wait_for_function(f"{labels} !== {whole!r}")
    page.keyboard.press("0")
    page.wait_for_function(f"{labels} === {whole!r}")
    # A fold opens by key, and its charts are drawn then.
    page.locator("#models summary").focus()
    page.keyboard.press("Enter")
    page.locator("#models .chart").first.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('#models .chart').dataset.drawn")


def test_tables_sort_and_filter(opened: Callable[..., Any]) -> None:
    page = opened("report")
    page.locator("#exchanges summary").click()
    head = page.locator("#exchanges-0-table th", has_text="measured")
    times = (
        "[...document.querySelectorAll('#exchanges-0-table tbody tr:not([hidden]) td:nth-child(4)')].map(c => c.textContent)"
    )
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    sorted_up = page.evaluate(times)
    values = [float(text.split()[0]) * {"ns": 1e-3, "us": 1}[text.split()[1]] for text in sorted_up]
    assert values == sorted(values) and len(values) == 8
    page.keyboard.press("Enter")
    assert page.evaluate(times) == sorted_up[::-1] and head.get_attribute("aria-sort") == "descending"
    page.locator("#exchanges .filter input").fill("isend 3")
    assert len(page.evaluate(times)) < 8
    assert re.fullmatch(r"[1-7] of 8", page.locator("#exchanges .filter span").inner_text())


def test_commands_are_copied_by_one_click(opened: Callable[..., Any]) -> None:
    page = opened("report", permissions=["clipboard-read", "clipboard-write"])
    box = page.locator(".next .cmd").first
    box.locator("button").click()
    assert page.evaluate("navigator.clipboard.readText()") == box.locator("pre").inner_text()
    assert box.locator("button").inner_text() == "copied"


@pytest.mark.parametrize("name", some([*PAGES], 0, 1, 3, 4, 5, 8))
def test_titles_are_whole_without_a_script_too(opened: Callable[..., Any], name: str) -> None:
    page = opened(name, java_script_enabled=False)
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    assert page.evaluate(_CLASHES, "text") == []


@pytest.mark.parametrize("name", ["report", "advise"])
def test_without_a_script_and_on_paper_everything_is_shown(opened: Callable[..., Any], name: str) -> None:
    bare = opened(name, java_script_enabled=False)
    charts = bare.locator(".chart:visible")
    assert charts.count() >= 3
    assert bare.locator(".chart:visible .still svg text").count() > 10 * charts.count()
    assert bare.locator("button").count() == 0 and bare.locator("th").count() >= 4
    page = opened(name)
    drawn(page)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for box in page.locator(".chart").all():
        assert box.locator(".still svg").is_visible()
    assert page.locator(".live:visible").count() == 0 and page.locator("button:visible").count() == 0
    assert page.locator("details > div:visible").count() == page.locator("details").count()


def test_the_theme_follows_the_system(opened: Callable[..., Any]) -> None:
    light, dark = (opened("report", color_scheme=scheme) for scheme in ("light", "dark"))
    look = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('#links svg text')).fill]"
    (day, ink), (night, chalk) = light.evaluate(look), dark.evaluate(look)
    assert day != night and ink != chalk
