"""The report as people see it: in a real browser, at two widths, light and dark; and that nothing a
table holds is ever more than text."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import known
from browsing import clipped, height, opened, printed, unfold
from golden import page_of
from leftout import audit
from leftout.files import write_together

HOSTILE = [
    "<script>document.title='run'</script>",
    "</style><script>document.title='run'</script>",
    '"><img src=x onerror="document.title=\'run\'">',
    "=cmd|' /C calc'!A0",
    "{{ 7*7 }} {% raw %}",
    "https://example.org/<iframe src=https://example.org>",
    "\u202eright to left\u200b\x07\x1b[2J",
    "'; DROP TABLE--",
    "$\\frac{1}{0}$ &amp; & <b>",
]


def hostile_table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    m = 120
    table = pd.DataFrame({name: rng.standard_normal(m) for name in HOSTILE})
    for i in range(4):
        values = [HOSTILE[j] for j in rng.permutation(len(HOSTILE))[:4]] + ["@SUM(1)", "-1+1"]
        table[f"{HOSTILE[i]} {i}"] = rng.choice(values, m)
    table["long"] = rng.choice(["y" * 1_000_000, "z" * 1_000_000, "short"], m)
    table["+target"] = rng.choice([HOSTILE[0], HOSTILE[6]], m)
    return table


@pytest.fixture(scope="module")
def hostile():
    return audit(
        hostile_table(), target="+target", sensitive=[HOSTILE[1]], group_size=30, n_surrogates=2,
        n_restarts=3, rows=2, min_cell=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def page(hostile, tmp_path_factory):
    return hostile.to_html(tmp_path_factory.mktemp("report") / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380])
def test_the_report_in_a_browser(browser, page, width, scheme):
    tab, heard = opened(browser, page, width, scheme)
    assert heard["console"] == [] and heard["requests"] == [page.as_uri()]
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    unfold(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width and clipped(tab) == []
    for box in [meter.bounding_box() for meter in tab.locator(".meter, .track").all()]:
        assert box["width"] > 50 and box["height"] > 10
    assert tab.locator("table.stack caption").first.bounding_box()["width"] > width / 2
    ground, ink = tab.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    dark = [sum(map(int, re.findall(r"\d+", colour)[:3])) < 384 for colour in (ground, ink)]
    assert dark == ([True, False] if scheme == "dark" else [False, True])
    # ids that links use are there once
    ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    links = tab.evaluate("[...document.querySelectorAll('nav a')].map(a => a.hash.slice(1))")
    assert len(links) == 13 and set(links) <= set(ids)


def test_nothing_in_a_table_is_more_than_text(browser, page, hostile):
    tab, heard = opened(browser, page)
    assert tab.title() != "run" and heard["console"] == []
    assert heard["requests"] == [page.as_uri()]
    assert tab.evaluate("document.scripts.length") == 1
    assert tab.evaluate("document.querySelectorAll('img, iframe, object, link, b b').length") == 0
    text = tab.evaluate("document.body.textContent").replace("\u00a0", " ")
    for name in HOSTILE[:6]:
        assert name in text
    assert "\\u202eright to left\\u200b\\x07\\x1b[2J" in text and "\u202e" not in text
    assert "49" not in text.split("{{ 7*7 }}")[0][-5:] and "{{ 7*7 }} {% raw %}" in text
    # even a script that somebody puts into the page by hand does not run
    tab.evaluate(
        "const s = document.createElement('script'); s.textContent = \"document.title='run'\";"
        "document.body.append(s)"
    )
    assert tab.title() != "run"


def test_tables_sort_by_keyboard(browser, page):
    tab, _ = opened(browser, page, anchor="#rules")
    table = tab.locator("#rules table").first
    head = table.locator("th", has_text="rows").first
    for expected in ("descending", "ascending"):
        head.locator("button").focus()
        tab.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == expected
        column = table.evaluate("(t) => [...t.tBodies[0].rows].map(r => +r.cells[1].dataset.value)")
        assert column == sorted(column, reverse=expected == "descending")


@pytest.fixture(scope="module", params=[known.audit, known.bare], ids=["full", "bare"])
def written(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "report.html"
    path.write_text(page_of(request.param()), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "most"), [(1280, 4_500), (390, 7_500)])
def test_the_answer_comes_first_and_all_else_is_folded(browser, written, page, width, most):
    for path in (written, page):
        tab, _ = opened(browser, path, width)
        assert height(tab) <= most
        assert tab.locator("main > section details").count() == 0
        first = tab.locator("main > section")
        assert first.count() == 1 and first.bounding_box()["height"] < 0.7 * height(tab)
        folded = tab.locator(".more > section > details")
        assert folded.count() >= 9 and tab.locator("details[open]").count() == 0
        for place in range(folded.count()):
            gist = folded.nth(place).locator("> summary .gist")
            assert gist.is_visible() and len(gist.inner_text()) > 10


@pytest.mark.parametrize("width", [380, 768, 1280])
def test_no_cell_is_clipped(browser, written, width):
    tab, _ = opened(browser, written, width)
    unfold(tab)
    assert clipped(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # a box that scrolls says so, and only such a box
    for box in tab.locator(".scroll").all():
        wide = box.evaluate("b => b.scrollWidth > b.clientWidth")
        hint = box.evaluate("b => getComputedStyle(b, '::before').content")
        assert ("scroll" in hint) == wide
        assert box.evaluate("b => getComputedStyle(b).backgroundImage").count("gradient") == 4
    captions = tab.locator("caption").evaluate_all("all => all.map(c => c.clientWidth)")
    assert min(captions) > min(0.55 * width, 280)


def test_clipped_cells_are_seen(browser, written):
    tab, _ = opened(browser, written)
    unfold(tab)
    narrow = "'display: block; min-width: 0; width: 1px'"
    tab.evaluate(f"document.querySelector('td.code').style = {narrow}")
    assert clipped(tab) == ["D001"]
    tab.evaluate("document.querySelector('.more .scroll').style = 'width: 300px'")
    assert len(clipped(tab)) > 20  # the box scrolls without a hint


@pytest.mark.parametrize("scripts", [True, False])
def test_links_open_what_they_lead_to(browser, written, scripts):
    tab, _ = opened(browser, written, java_script_enabled=scripts)
    names = [link.get_attribute("href") for link in tab.locator("nav a").all()]
    assert names[0] == "#verdict" and len(names) >= 10
    for name in names[1:]:
        inside = tab.locator(name)
        assert not inside.is_visible()
        tab.locator(f'nav a[href="{name}"]').click()
        assert inside.is_visible()
    tab, _ = opened(browser, written, anchor="#rules", java_script_enabled=scripts)
    assert tab.locator("#rules").is_visible() and not tab.locator("#glossary").is_visible()
    title = tab.locator("#rules-title").bounding_box()
    assert 0 <= title["y"] < 900


def test_a_link_opens_again_what_was_closed(browser, written):
    tab, _ = opened(browser, written, anchor="#rules")
    tab.locator("#rules-title").click()
    assert not tab.locator("#rules").is_visible()
    tab.locator('nav a[href="#rules"]').click()
    assert tab.locator("#rules").is_visible()


def test_paper_has_the_answer_on_two_pages_then_everything(browser, written):
    tab, _ = opened(browser, written)
    pages = printed(tab)
    assert tab.locator("details[open]").count() == 0  # as it was
    # the same without the script
    silent, _ = opened(browser, written, java_script_enabled=False)
    assert printed(silent) == pages
    tab.evaluate("document.querySelector('.more').remove()")
    answer = printed(tab)
    assert answer <= 2 and pages >= answer + 4


def test_the_page_is_one_small_file_that_asks_for_nothing(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_500_000
    for attribute in re.findall(r'(?:src|href)="([^"]*)"', text):
        assert attribute.startswith(("#", "data:image/png"))
    assert "default-src 'none'" in text and "@import" not in text
    assert "url(" not in text


class Outline(HTMLParser):
    """Titles, and whether tags close in order."""

    VOID = ("meta", "link", "br", "img")

    def __init__(self):
        super().__init__()
        self.open, self.titles, self.wrong = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in self.VOID:
            self.open.append(tag)
        if tag in ("h1", "h2"):
            self.titles.append("")

    def handle_endtag(self, tag):
        if tag not in self.VOID and (not self.open or self.open.pop() != tag):
            self.wrong.append(f"/{tag}")

    def handle_data(self, data):
        if "h1" in self.open or "h2" in self.open:
            self.titles[-1] += data


def test_order_of_the_sections(page):
    outline = Outline()
    outline.feed(page.read_text(encoding="utf-8"))
    assert outline.wrong == [] and outline.open == []
    assert outline.titles[1:] == [
        "How much variance the shared PCA keeps, and their own would", "Findings",
        "Who they are", "Subgroups", "Known groups", "Why, and does it replicate?",
        "What drives it", "Rules",
        "What it costs them", "What can be done: Fair PCA",
        "The columns", "Settings, and how to repeat this", "Glossary",
    ]  # fmt: skip


def test_the_page_shows_the_numbers_of_the_json(hostile, page):
    text = " ".join(re.sub(r"<[^>]+>", " ", page.read_text(encoding="utf-8")).split())
    text = text.replace("\u00a0", " ")
    data = hostile.to_dict()
    assert f"{data['partition']['sizes'][1]:,}" in text
    # what people read speaks of comparison tables; chance is the name of an option
    assert re.findall(r".{20}\bchance\b(?!=).{20}", text, re.IGNORECASE) == []
    for finding in data["findings"]:
        assert finding["title"].replace("'", "&#39;") in text
    for line in data["mitigation"]["by_dimension"]:
        assert f"{line['max_loss_after']:.3g}" in text


def test_cells_of_the_csv_are_no_formulas(hostile):
    for line in hostile.csv().splitlines():
        for cell in line.split(","):
            if cell.startswith(("=", "+", "-", "@", "\t")):
                float(cell)  # a number, or it would be a formula


WRITER = """
import sys
from pathlib import Path
from leftout.files import write_together
folder = Path(sys.argv[1])
print("ready", flush=True)
while True:
    for letter in "ab":
        write_together({folder / name: letter * 300_000 for name in ("report.html", "audit.json")})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
def test_killed_while_it_writes(tmp_path):
    chance = random.Random(0)
    for _ in range(10):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        ) as running:
            assert running.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.0, 0.15))
            running.send_signal(signal.SIGKILL)
        for path in tmp_path.glob("[!.]*"):
            content = path.read_text()
            assert len(content) == 300_000 and len(set(content)) == 1


# Audits once, and then for every line that says after how many seconds to kill it. These processes
# are forked from one that has imported and compiled everything: they take a second, not four.
AUDITS = """
import os, signal, sys, time
from leftout.cli import main

def audit():
    try:
        main(sys.argv[1:])
    except SystemExit as end:
        return end.code or 0

answers = os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
print(audit(), file=answers, flush=True)
for limit in sys.stdin:
    began = time.perf_counter()
    child = os.fork()
    if child == 0:
        os._exit(audit())
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.perf_counter() - began > float(limit):
            os.kill(child, signal.SIGKILL)
        time.sleep(0.001)
    seconds = time.perf_counter() - began
    print(os.waitstatus_to_exitcode(ended[1]), seconds, file=answers, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 there")
def test_killed_at_several_moments(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((80, 4)), columns=list("abcd"))
    table.to_csv(tmp_path / "t.csv", index=False)
    command = [sys.executable, "-c", AUDITS, "audit", "t.csv", "--size", "20", "--surrogates", "1",
               "--restarts", "2", "--quiet"]  # fmt: skip
    folder = tmp_path / "leftout-t"
    whole = {"report.html": "</html>\n", "audit.json": "}\n", "groups.csv": "\n"}
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as audits:

        def run(limit):
            audits.stdin.write(f"{limit}\n")
            audits.stdin.flush()
            code, seconds = audits.stdout.readline().split()
            return int(code), float(seconds)

        assert audits.stdout.readline() == "0\n"
        code, seconds = run(300)
        assert code == 0 and {path.name for path in folder.iterdir()} == set(whole)
        shutil.rmtree(folder)
        ends = []
        for moment in np.linspace(0.5, 1.0, 4):
            ends.append(run(moment * seconds)[0])
            if folder.exists():
                for path in folder.glob("[!.]*"):
                    assert path.name in whole and path.read_text().endswith(whole[path.name])
        assert -signal.SIGKILL in ends
        code, _ = run(300)
        assert code == 0 and {path.name for path in folder.glob("[!.]*")} == set(whole)
        audits.stdin.close()
    write_together({folder / "groups.csv": "again\n"})
    assert (folder / "groups.csv").read_text() == "again\n"
