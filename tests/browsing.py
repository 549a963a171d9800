"""A page in a browser."""

from __future__ import annotations

import re

# Cells (and captions) whose text runs out of them, or that go beyond what can be seen: a box that
# scrolls shows all of them, but has to say so.
CLIPPED = """() => [...document.querySelectorAll('th, td, caption')].filter(cell => {
  if (!cell.checkVisibility()) return false;
  if (cell.scrollWidth > cell.clientWidth + 1) return true;
  const box = cell.closest('.scroll');
  if (box && box.classList.contains('wide')) return !box.hasAttribute('tabindex');
  const end = box ? box.getBoundingClientRect().right : window.innerWidth;
  return cell.getBoundingClientRect().right > end + 1;
}).map(cell => cell.textContent.trim().slice(0, 60))"""


def opened(browser, path, width=1280, scheme="light", anchor="", **options):
    """A page, and what it said and asked for."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce",
        **options,
    )  # fmt: skip
    tab = context.new_page()
    heard = {"console": [], "requests": []}
    tab.on("console", lambda message: heard["console"].append(message.text))
    tab.on("pageerror", lambda error: heard["console"].append(str(error)))
    tab.on("dialog", lambda dialog: heard["console"].append("dialog"))
    tab.on("request", lambda request: heard["requests"].append(request.url))
    tab.goto(path.as_uri() + anchor)
    return tab, heard


def unfold(tab):
    """Open whatever is folded."""
    tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def height(tab):
    return tab.evaluate("document.documentElement.scrollHeight")


def clipped(tab):
    """Texts of cells that cannot be read whole."""
    return tab.evaluate(CLIPPED)


def printed(tab):
    """How many pages it prints on."""
    return len(re.findall(rb"/Type\s*/Page\b", tab.pdf()))
