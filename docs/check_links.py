"""Follow every internal link of the built site: ``make docs-check``.

Usage: ``python docs/check_links.py docs/_build/html``

A link leads somewhere if the file is there and has the anchor. Also names whatever a page would
fetch from another machine: the site works offline.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches without being asked.
_FETCHED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
_STYLES = {"stylesheet", "preload", "icon", "preconnect", "modulepreload"}


class Page(HTMLParser):
    """A page's links, its anchors, and what it fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        fetches = tag == "link" and _STYLES & set(given.get("rel", "").split())
        for name in ("href", "src"):
            if name in given:
                self.links.append(given[name])
                if fetches or (tag, name) in _FETCHED:
                    self.fetched.append(given[name])


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def html_of(folder: Path) -> list[Path]:
    """Pages; the theme keeps templates of its own among what it copies."""
    static = folder / "_static"
    return sorted(path for path in folder.rglob("*.html") if static not in path.parents)


def broken(folder: Path) -> list[str]:
    """One line for each link that leads nowhere, and for each thing fetched from elsewhere."""
    folder = folder.resolve()
    pages = {path: read(path) for path in html_of(folder)}
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        for link in page.fetched:
            if urlsplit(link).netloc:
                found.append(f"{name}: fetches {link}")
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{name}: {link} is not there")
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].anchors:
                    found.append(f"{name}: {link} has no such anchor")
    return found


def main(folder: Path) -> int:
    if not (folder / "index.html").exists():
        print(f"There is no site in {folder}: build it with make docs.", file=sys.stderr)
        return 2
    found = broken(folder)
    for line in found:
        print(line)
    print(f"{len(html_of(folder.resolve()))} pages, {len(found)} broken links")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
