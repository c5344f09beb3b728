"""Hold a built site to what it promises: ``python docs/site/check_site.py build/site``.

Every link between its pages leads to a file and a place in it, and nothing is loaded from a network. Where Chromium is at hand,
the search is tried as a reader does who opens the folder: it finds words of every kind of page.
"""

from __future__ import annotations

import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

# A word, and a page that the search must find by it: of the header, the command line, the Fortran modules, the words.
SEARCHED = {
    "rankwise_halo_reduce_start": "reference/c-header.html",
    "hydra-hostfile": "mapping.html",
    "rendezvous": "glossary.html",
    "virtual machine": "troubleshooting.html",
    "StencilCode": "reference/python-api.html",
}


class Page(HTMLParser):
    """Which places a page has, where it leads, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.places |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and (href := found.get("href")):
            self.links.append(href)
        if tag in ("img", "script", "link", "iframe", "source") and (found.get("rel") or "") not in ("canonical",):
            self.loads += [value for name in ("src", "href") if (value := found.get(name))]


def broken(folder: Path) -> list[str]:
    """Return what is wrong with links and with what pages load, a line each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html") if "_static" not in path.parts}
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        wrong += [f"{name} loads {one}" for one in page.loads if one.startswith(("http:", "https:", "//"))]
        for link in [*page.links, *(one for one in page.loads if not one.startswith("data:"))]:
            if link.startswith(("http:", "https:", "mailto:", "data:", "javascript:")):
                continue
            file, place = urldefrag(link)
            target = (path.parent / unquote(file.partition("?")[0])).resolve() if file else path
            if not target.exists():
                wrong.append(f"{name} leads to {link}, which is not there")
            elif place and target in pages and unquote(place) not in pages[target].places:
                wrong.append(f"{name} leads to {link}: the page has no such place")
    if len(pages) < 25:
        wrong.append(f"only {len(pages)} pages were built")
    return wrong


def not_found(folder: Path, chromium: str) -> list[str]:
    """Return what the search does not find in the folder, and what pages ask of a network or complain about."""
    from playwright.sync_api import sync_playwright

    wrong: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.on("pageerror", lambda error: wrong.append(f"a script fails: {error}"))
        page.on(
            "request", lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(f"asks {asked.url}")
        )
        for words, expected in SEARCHED.items():
            page.goto(f"{folder.resolve().as_uri()}/search.html?q={words}")
            page.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('finished')")
            found = page.eval_on_selector_all("#search-results li a", "all => all.map(one => one.getAttribute('href'))")
            if not any(href.partition("#")[0].partition("?")[0] == expected for href in found):
                wrong.append(f"the search for {words} does not find {expected}, but {found[:5]}")
        browser.close()
    return wrong


def main() -> int:
    """Return 1 where something is wrong."""
    folder = Path(sys.argv[1])
    wrong = broken(folder)
    chromium = shutil.which("chromium")
    if chromium is None:
        print("search not tried: there is no Chromium here")
    else:
        wrong += not_found(folder, chromium)
    print(*wrong or [f"{folder}/index.html: all links lead somewhere" + (", the search finds" if chromium else "")], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
