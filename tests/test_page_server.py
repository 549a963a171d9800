"""The page's server: what it keeps, refuses and survives. It runs in a process of its own."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import io
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from serving import PATIENCE, Server, people, timeless

pytest.importorskip("starlette", reason="the extra 'page' is not installed")
from leftout.data.sources import suffix_of  # noqa: E402
from leftout.page import worker  # noqa: E402
from leftout.page.uploads import Limits  # noqa: E402

MB = 10**6
LIMITS = {"upload": 30 * MB, "unpacked": 60 * MB, "cells": 3 * MB, "waiting": 2}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = Server(tmp_path_factory.mktemp("audits"), **LIMITS)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def table(server):
    """The id of a table that was read."""
    return server.ready()


def said(page):
    """The sentences of a page on what went wrong."""
    found = re.search(r'role="alert"[^>]*>(.*?)</div>', page, re.DOTALL)
    return unescape(re.sub(r"\s*<[^>]+>\s*", "", found[1])).strip()


# What somebody may try, and what must come of it: the status, and that nothing changed.
ATTEMPTS = [
    ("no token", "GET", "/", {"Cookie": ""}, 403),
    ("a token of another run", "GET", "/?token=" + "x" * 32, {"Cookie": ""}, 403),
    ("a cookie of another run", "GET", "/", {"Cookie": "leftout=old"}, 403),
    ("a broken cookie", "GET", "/", {"Cookie": "leftout=\"; ; =;"}, 403),
    ("the token where the cookie belongs", "GET", "/", {"Cookie": "leftout={token}"}, 403),
    ("a report without a cookie", "GET", "/audits/{key}/files/report.html", {"Cookie": ""}, 403),
    ("progress without a cookie", "GET", "/audits/{key}/state", {"Cookie": ""}, 403),
    ("an upload without a cookie", "POST", "/upload", {"Cookie": ""}, 403),
    ("another host", "GET", "/", {"Host": "evil.example"}, 400),
    ("another host at this port", "GET", "/", {"Host": "evil.example:{port}"}, 400),
    ("another port", "GET", "/", {"Host": "127.0.0.1:1"}, 400),
    ("the machine's own address", "GET", "/", {"Host": "127.0.0.1:{port}"}, 400),
    ("the machine's own name", "GET", "/", {"Host": "localhost:{port}"}, 400),
    ("another name of the machine", "GET", "/", {"Host": "leftout.localhost:{port}"}, 400),
    ("the token under another name", "GET", "/?token={token}", {"Host": "127.0.0.1:{port}"}, 400),
    ("an empty host", "GET", "/", {"Host": ""}, 400),
    ("another site's form", "POST", "/demo", {"Origin": "http://evil.example"}, 403),
    ("a form from a file", "POST", "/demo", {"Origin": "null"}, 403),
    ("a form without an origin", "POST", "/demo", {"Origin": None}, 403),
    ("a form from another port", "POST", "/demo", {"Origin": "http://127.0.0.1:1"}, 403),
    ("another site's delete", "POST", "/audits/{key}/delete", {"Origin": "https://e.example"}, 403),
    ("another site's picture", "GET", "/audits/{key}/state", {"Sec-Fetch-Site": "cross-site"}, 403),
    ("a delete by address", "GET", "/audits/{key}/delete", {}, 405),
    ("a cancel by address", "GET", "/audits/{key}/cancel", {}, 405),
    ("a start by address", "GET", "/audits/{key}/columns?go=start", {}, 200),
    ("another method", "PUT", "/audits/{key}/columns", {"Origin": "{origin}"}, 405),
    ("a path for an id", "GET", "/audits/..%2f..%2fetc", {}, 404),
    ("a path above", "GET", "/audits/../../etc/passwd", {}, 404),
    ("dots for an id", "GET", "/audits/..", {}, 404),
    ("a path for a file", "GET", "/audits/{key}/files/..%2fentry.json", {}, 404),
    ("a file that is not a result", "GET", "/audits/{key}/files/entry.json", {}, 404),
    ("the table itself", "GET", "/audits/{key}/files/table.csv", {}, 404),
    ("a result that is not there yet", "GET", "/audits/{key}/files/report.html", {}, 404),
    ("a path for a static file", "GET", "/static/..%2fserving.py", {}, 404),
    ("a path above static", "GET", "/static/%2e%2e/serving.py", {}, 404),
    ("a zero byte", "GET", "/audits/%00", {}, 404),
    ("an odd query", "GET", "/audits/{key}/columns?page=../../x&q=%00%ff", {}, 200),
    ("a script to search for", "GET", "/audits/{key}/columns?q=<script>alert(1)</script>", {}, 200),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [attempt[1:] for attempt in ATTEMPTS],
    ids=[attempt[0] for attempt in ATTEMPTS],
)
def test_attacks_are_refused_or_inert(server, table, method, path, headers, status):
    known = {"key": table, "port": server.port, "token": server.token, "origin": server.origin}
    given = {name: value and value.format(**known) for name, value in headers.items()}
    before = (server.folder / table / "entry.json").read_bytes()
    many = len(list(server.folder.iterdir()))
    path = re.sub(r"\{(\w+)\}", lambda found: str(known[found[1]]), path)
    answer = server.ask(method, path, headers=given)
    assert answer.status == status, answer.text
    assert (server.folder / table / "entry.json").read_bytes() == before
    assert len(list(server.folder.iterdir())) == many
    assert "Traceback" not in answer.text and str(server.folder) not in answer.text
    assert "<script>" not in answer.text and "root:" not in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


FORMS = [
    {"role-0": "../../etc"}, {"role-99999": "drop"}, {"role--1": "drop"}, {"role-x": "drop"},
    {"role-0": "drop; rm -rf /"}, {"positive": "../../x"}, {"effort": "../x"}, {"sheet": "../x"},
    {"q": "../../etc/passwd"}, {"page": "../../x"}, {"go": "page-../../x"}, {"go": "role-../x"},
    {"go": "delete"}, {"roles": "drop"}, {"file": "/etc/passwd"}, {"state": "done"},
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_fields_that_no_form_of_ours_has_change_nothing(server, table, form):
    before = server.entry(table)
    answer = server.post(f"/audits/{table}/columns", **form)
    assert answer.status == 303
    assert answer.headers["location"] == f"/audits/{table}/columns"
    assert server.entry(table) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("group_size", "--out=/tmp/x"), ("n_components", "0.8 --out x"), ("n_surrogates", "-1"),
     ("random_state", "1e9"), ("sample", "../x"), ("missing", "\0"),
     ("n_restarts", "<script>"), ("rows", "9" * 50)],
)  # fmt: skip
def test_settings_that_cannot_be_are_one_sentence(server, table, name, value):
    before = server.entry(table)
    answer = server.post(f"/audits/{table}/columns", go="start", **{name: value})
    assert answer.status == 422 and "cannot be" in said(answer.text)
    assert len(said(answer.text)) < 250 and "<script>" not in answer.text
    assert server.entry(table) == before


def test_the_cookie_is_strict_and_is_not_the_token(server):
    answer = server.ask("GET", f"/?token={server.token}", headers={"Cookie": ""})
    cookie = answer.headers["set-cookie"]
    assert answer.status == 200 and "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert server.token not in cookie and server.token not in answer.text


def test_names_of_uploads_are_ours(server):
    table = people(40).to_csv(index=False).encode()
    for name in (
        "../../../tmp/x.csv",
        "/etc/cron.d/x.csv",
        "..\\..\\x.csv",
        "a\x01b.csv",
        "-x.csv",
    ):
        _, key = server.upload(name, table)
        server.post(f"/audits/{key}/cancel")
        kept = server.entry(key)
        assert kept["file"] == "table.csv" and not re.search(r"[/\\\x01]|^-", kept["name"])
        assert {path.name for path in (server.folder / key).iterdir()} <= {
            "entry.json", "table.csv", "columns.json", "said.txt"}  # fmt: skip


def far():
    """A workbook whose one cell is in the last column."""
    from openpyxl import Workbook

    book, kept = Workbook(), io.BytesIO()
    book.active.cell(1, 16_384, 1)
    book.save(kept)
    return kept.getvalue()


def parquet(columns):
    kept = io.BytesIO()
    pd.DataFrame(np.zeros((2, columns)), columns=map(str, range(columns))).to_parquet(kept)
    return kept.getvalue()


def bomb():
    """70 MB of nothing in a few kilobytes."""
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
        archive.writestr("xl/worksheets/sheet1.xml", b" " * (70 * MB))
    return book.getvalue()


CSV = people(60).to_csv(index=False).encode()
# A file by its name, and what its one sentence says: small ones,
SMALL = [
    ("empty.csv", lambda: b"", "is empty"),
    ("header.csv", lambda: b"a,b,c\n", "no rows"),
    ("binary.csv", lambda: bytes(range(256)) * 40, "holds binary data"),
    ("csv.xlsx", lambda: CSV, "is not an Excel workbook"),
    ("csv.parquet", lambda: CSV, "cannot be read as a"),
    ("csv.feather", lambda: CSV, "cannot be read as a"),
    ("csv.csv.gz", lambda: CSV, "Not a gzipped file"),
    ("cut.csv.gz", lambda: gzip.compress(CSV)[:-400], "Compressed file ended"),
    ("ragged.csv", lambda: b"a,b,c\n" + b"1,2,3\n" * 50 + b"1,2\n", "field(s) in line 52"),
    ("utf16.csv", lambda: b"\xff\xfe" + CSV.decode().encode("utf-16-le")[:-301], "utf-16-le"),
    ("far.xlsx", far, "16,384 columns; an audit takes at most 2,000"),
    ("wide.parquet", lambda: parquet(6000), "has 6,000 columns; an audit takes at most 2,000"),
    ("few.csv", lambda: b"a,b\n1,2\n3,4\n", "2 rows"),
    ("long.csv.gz", lambda: gzip.compress(b"a,b\n" + b"1,2\n" * 4 * MB), "3,000,000 cells"),
]  # fmt: skip
# and those that a server might choke on.
BAD = [
    ("table.exe", lambda: CSV, "is of a kind that is not known here"),
    ("table", lambda: CSV, "is of a kind that is not known here"),
    ("bomb.xlsx", bomb, "holds more than 60 MB when it is unpacked"),
    ("wide.csv", lambda: b",".join(b"%d" % i for i in range(2 * MB)) + b"\n", "columns; an audit"),
    ("bomb.csv.gz", lambda: gzip.compress(b"a,b\n" + b"1" * 70 * MB), "more than 60 MB when it is"),
    ("large.csv", lambda: b"a,b\n" + b"1,2\n" * 8 * MB, "is larger than 30 MB"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), SMALL, ids=[each[0] for each in SMALL])
def test_whoever_looks_at_a_bad_file_says_one_sentence(
    name, content, words, tmp_path, monkeypatch, capsys
):
    """The process of its own that a server starts, without the server and the process."""
    file = f"table{suffix_of(name)}"
    (tmp_path / file).write_bytes(content())
    monkeypatch.chdir(tmp_path)
    limits = asdict(Limits(**LIMITS))
    worker.main({"file": file, "name": name, "limits": limits})
    said, errors = capsys.readouterr()
    event = json.loads(said.splitlines()[-1])
    assert errors == "" and [path.name for path in tmp_path.iterdir()] == [file]
    assert event["event"] == "refused" and words in event["sentence"]
    assert "\n" not in event["sentence"] and len(event["sentence"]) < 300


def test_bad_files_get_one_sentence_and_leave_no_trace_in_memory(server):
    server.until(server.upload("first.csv", CSV)[1])  # so that all is loaded
    before = server.memory()
    for name, content, words in BAD:
        answer, key = server.upload(name, content())
        if key is None:
            sentence = said(answer.text)
            assert answer.status == 422, name
        else:
            now = server.until(key)
            sentence = server.entry(key)["message"]
            assert now["state"] == "refused", (name, server.entry(key))
            assert said(server.ask("GET", f"/audits/{key}").text) == sentence
        assert words in sentence, (name, sentence)
        assert "\n" not in sentence and len(sentence) < 300 and "Traceback" not in sentence, name
    assert server.ask("GET", "/").status == 200 and server.worker() is None
    assert server.memory() - before < 50 * MB


def part(disposition, content=b"a,b\n1,2\n", end=b"\r\n--mark--\r\n"):
    """The body of a form with one part, as a browser would send it, or would not."""
    return b"--mark\r\nContent-Disposition: form-data; " + disposition + b"\r\n\r\n" + content + end


TABLE = b'name="table"; filename="t.csv"'
MULTIPART = "multipart/form-data; boundary=mark"
UPLOADS = [
    ("no end", MULTIPART, part(TABLE, end=b""), "The upload was cut off"),
    ("no part", MULTIPART, b"nothing of that kind", "cut off or garbled"),
    ("no boundary", "multipart/form-data", part(TABLE), "cut off or garbled"),
    ("no form", "text/csv", CSV, "A form with a file was expected"),
    ("no name", MULTIPART, part(b'name="table"; filename=""'), "No file was chosen"),
    ("no file", MULTIPART, part(b'name="table"'), "had no file"),
    ("another field", MULTIPART, part(b'name="other"; filename="t.csv"'), "had no file"),
    ("two files", MULTIPART, part(TABLE, end=b"\r\n") + part(TABLE), "cut off or garbled"),
    ("a long field", MULTIPART, part(b'name="x"', b"x" * MB), "cut off or garbled"),
]


@pytest.mark.parametrize(
    ("kind", "body", "words"), [each[1:] for each in UPLOADS], ids=[each[0] for each in UPLOADS]
)
def test_forms_that_are_no_upload_are_one_sentence_and_leave_nothing(server, kind, body, words):
    before = sorted(server.folder.iterdir())
    answer = server.ask("POST", "/upload", body, {"Content-Type": kind})
    assert answer.status == 422 and words in said(answer.text), answer.text
    assert sorted(server.folder.iterdir()) == before


def test_a_browser_that_goes_away_while_it_sends_leaves_nothing(server):
    before, log = sorted(server.folder.iterdir()), server.folder / "server.log"
    known = log.read_text() if log.exists() else ""
    head = (
        f"POST /upload HTTP/1.1\r\nHost: {server.host}\r\nCookie: {server.cookie}\r\n"
        f"Origin: {server.origin}\r\nContent-Type: {MULTIPART}\r\nContent-Length: {9 * MB}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as gone:
        gone.sendall(head.encode() + part(TABLE, b"1,2\n" * MB, end=b""))
        time.sleep(0.3)
        assert sorted(server.folder.iterdir()) == before  # on its way it has no name
    time.sleep(0.3)
    assert server.ask("GET", "/").status == 200 and sorted(server.folder.iterdir()) == before
    assert "Traceback" not in (log.read_text() if log.exists() else "").removeprefix(known)


def test_what_does_not_say_its_size_is_refused(server):
    body = [part(TABLE, b"", end=b""), *[b"1,2\n" * MB] * 9, b"\r\n--mark--\r\n"]
    head = {"Host": server.host, "Cookie": server.cookie, "Origin": server.origin}
    asking = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    asking.request("POST", "/upload", iter(body), {**head, "Content-Type": MULTIPART})
    answer = asking.getresponse()
    text = answer.read().decode()
    asking.close()
    assert answer.status == 422 and "did not say how much it sends" in said(text)


def test_files_that_can_be_read_are(server):
    answer, key = server.upload("t.csv", b"\xff\xfe" + CSV.decode().encode("utf-16-le"))
    assert server.until(key)["state"] == "ready"
    assert "60 rows of 9 columns" in server.ask("GET", f"/audits/{key}/columns").text
    kept = io.BytesIO()
    people(40).to_excel(kept, index=False)
    _, key = server.upload("t.xlsx", kept.getvalue())
    assert server.until(key)["state"] == "ready"
    assert "40 rows of 9 columns" in server.ask("GET", f"/audits/{key}/columns").text


def test_a_workbook_with_several_sheets_is_refused(server):
    """The first sheet may be a cover."""
    kept = io.BytesIO()
    with pd.ExcelWriter(kept) as book:
        pd.DataFrame([["Our report"]]).to_excel(book, sheet_name="cover", index=False)
        people(40).to_excel(book, sheet_name="<b>data", index=False)
    _, key = server.upload("t.xlsx", kept.getvalue())
    assert server.until(key)["state"] == "refused"
    page = server.ask("GET", f"/audits/{key}").text
    assert "has 2 sheets" in page and "leftout audit --sheet" in page


def test_names_are_not_in_the_list_of_processes(server):
    key = server.begin(
        server.ready(people(), "our secret.csv"), n_surrogates="999", n_restarts="300"
    )
    server.until(key, "running")
    while server.worker() is None or not server.state(key)["what"]:
        time.sleep(0.02)
    words = ""
    while not words:  # a process that was just started has none yet
        words = Path(f"/proc/{server.worker()}/cmdline").read_text()
    server.post(f"/audits/{key}/cancel")
    assert "leftout.page.worker" in words
    for name in ("secret", "sex", "approved", "table.csv"):
        assert name not in words


def test_a_new_outcome_is_asked_which_value_counts(server):
    key = server.ready()
    answer = server.post(f"/audits/{key}/columns", go="start")
    assert answer.status == 422 and "The first question is open." in said(answer.text)
    answer = server.post(f"/audits/{key}/columns", go="start", outcome="other", other="1")
    assert answer.status == 422 and said(answer.text) == (
        "The second question is open. Say which value of 'town' is good, and start."
    )
    assert 'name="positive-1"' in answer.text and "Beeley" in answer.text
    server.begin(key, outcome="1", **{"positive-1": "Beeley"})
    server.post(f"/audits/{key}/cancel")
    assert "--target town=Beeley" in server.entry(key)["command"]


def test_findings_are_sent_at_once():
    """Nagle's algorithm holds the second part of an answer back until the first is known."""
    from leftout.page.serving import _bound

    async def accepted():
        found = asyncio.get_running_loop().create_future()

        def answered(reader, writer):
            own = writer.get_extra_info("socket")
            found.set_result(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with _bound(0) as listening:
            started = await asyncio.start_server(answered, sock=listening)
            _, writer = await asyncio.open_connection(*listening.getsockname())
            at_once = await found
            writer.close()
            await writer.wait_closed()
            started.close()
        return at_once

    with ThreadPoolExecutor(1) as apart:  # a browser's loop may be running in this thread
        assert apart.submit(lambda: asyncio.run(accepted())).result()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")
def test_a_full_disk_is_told_as_such_and_nobody_waits_for_ever(tmp_path):
    server = Server(tmp_path / "audits")
    try:
        key = server.begin(server.ready(), n_surrogates="999", n_restarts="300")
        server.until(key, "running")
        unlimited = resource.RLIM_INFINITY
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, unlimited))
        answer = server.post("/demo")
        assert answer.status == 500 and "File too large" in said(answer.text)
        answer, _ = server.upload("t.csv", CSV)
        assert answer.status in (422, 500) and "mistake of ours" not in answer.text
        assert server.post(f"/audits/{key}/cancel").status == 303
        assert server.state(key)["state"] == "cancelled"
        page = server.ask("GET", f"/audits/{key}").text
        assert "make room" in said(page) and "mistake of ours" not in page
        assert server.ask("GET", "/").text.count("t.csv") == 0
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        assert server.until(server.upload("t.csv", CSV)[1])["state"] == "ready"
    finally:
        server.stop()


def test_a_report_is_the_command_lines_own(server, tmp_path):
    """Identical but for time stamps, with a name that a shell would trip over."""
    name, table = "our people's (new).csv", people()
    key = server.ready(table, name)
    places = {column: place for place, column in enumerate(table.columns)}
    server.begin(
        key,
        effort="quick",
        **{f"role-{places['sex']}": "sensitive", f"role-{places['income, net']}": "drop"},
    )
    done = server.until(key)
    assert done["state"] == "done", server.entry(key)["message"]
    command = server.entry(key)["command"]
    (tmp_path / name).write_bytes(table.to_csv(index=False).encode())
    said = subprocess.run(
        [
            *command.replace("leftout", f"{sys.executable} -m leftout", 1).split(" ", 4)[:4],
            "--help",
        ],
        capture_output=True,
    )
    assert said.returncode == 0
    written = subprocess.run(
        f"{sys.executable} -m {command} --out out", shell=True, cwd=tmp_path, capture_output=True
    )
    assert written.returncode == 0, written.stderr
    for file in ("report.html", "audit.json", "groups.csv"):
        served = server.ask("GET", f"/audits/{key}/files/{file}")
        assert served.status == 200
        assert timeless(served.text) == timeless((tmp_path / "out" / file).read_text()), file
    data = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert data["settings"]["command"] == command and data["table"]["source"] == name
    assert data["settings"]["sensitive"] == ["sex"] and data["table"]["target"] == "approved"
    report = server.ask("GET", f"/audits/{key}/files/report.html")
    policy = report.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts") and "allow-same-origin" not in policy
    assert "default-src 'none'" in policy and "form-action 'none'" in policy
    own = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', report.text)[1]
    assert re.search(r"default-src 'none';.* script-src 'sha256-[^']+';", own)
    kept = server.ask("GET", f"/audits/{key}/files/report.html?save")
    assert kept.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert kept.text == report.text


def test_a_quick_look_goes_on_to_the_whole_and_is_told_apart(server):
    quick = server.begin(server.ready(), effort="quick")
    assert server.until(quick)["state"] == "done"
    page = server.ask("GET", f"/audits/{quick}").text
    assert "Run the full audit" in page and 'class="cards"' in page
    answer = server.post(f"/audits/{quick}/again", effort="full")
    whole = answer.headers["location"].split("/")[2]
    assert whole != quick and server.until(whole)["state"] == "done"
    page = server.ask("GET", f"/audits/{whole}").text
    assert "Run the full audit" not in page and "What it costs" in page and "<svg" in page
    assert "--quick" not in server.entry(whole)["command"]
    start = server.ask("GET", "/").text
    for words in ("quick look, outcome approved = yes, protected: sex", "full audit, outcome"):
        assert words in start
    report = server.ask("GET", f"/audits/{whole}/report").text
    assert f'href="/audits/{whole}"' in report and "<iframe" in report


def test_cancel_a_running_and_a_waiting_audit(server):
    running = server.begin(server.ready(), n_surrogates="999", n_restarts="300")
    waiting = server.begin(server.ready())
    server.until(running, "running")
    while server.worker() is None:
        time.sleep(0.02)
    worker = server.worker()
    assert server.state(waiting)["state"] == "queued" and server.state(waiting)["ahead"] == 1
    assert server.post(f"/audits/{waiting}/cancel").status == 303
    assert server.entry(waiting)["state"] == "cancelled"
    assert server.post(f"/audits/{running}/cancel").status == 303
    assert server.entry(running)["state"] == "cancelled" and not alive(worker)
    assert not (server.folder / running / "result").exists()


def alive(process):
    return os.path.exists(f"/proc/{process}")


def test_a_queue_has_an_end(server):
    first = server.begin(server.ready(), n_surrogates="999", n_restarts="300")
    server.until(first, "running")
    keys = [server.begin(server.ready()) for _ in range(2)]
    one_more = server.ready()
    answers = server.answers(one_more)
    answer = server.post(f"/audits/{one_more}/columns", go="start", **answers)
    assert answer.status == 422 and "2 audits are waiting already" in said(answer.text)
    for key in (*keys, first):
        server.post(f"/audits/{key}/cancel")
    assert server.worker() is None


def test_a_killed_worker_is_told_as_such_and_the_next_audit_works(server):
    key = server.begin(server.ready(), n_surrogates="999", n_restarts="300")
    server.until(key, "running")
    while server.worker() is None or not server.state(key)["what"]:
        time.sleep(0.02)
    os.kill(server.worker(), signal.SIGKILL)
    assert server.until(key)["state"] == "failed"
    message = server.entry(key)["message"]
    assert "was ended from outside (signal 9)" in message
    assert message in unescape(server.ask("GET", f"/audits/{key}").text)
    again = server.post(f"/audits/{key}/again").headers["location"].split("/")[2]
    assert server.entry(again)["choices"]["n_surrogates"] == "999"
    server.begin(again, effort="quick")
    assert server.until(again)["state"] == "done"


def test_a_mistake_of_ours_is_in_the_log_alone(server):
    key = server.ready()
    (server.folder / key / "columns.json").unlink()  # which other audits share
    (server.folder / key / "columns.json").write_text("{}")
    answer = server.ask("GET", f"/audits/{key}/columns")
    assert answer.status == 500 and "Traceback" not in answer.text
    assert "server.log" in answer.text
    assert "Traceback" in (server.folder / "server.log").read_text()


def test_a_mistake_of_ours_in_one_audit_does_not_stop_the_next(server):
    long = {"chance": "999", "runs": "300"}
    first, broken, last = (server.begin(server.ready(), **long) for _ in range(3))
    (server.folder / broken / "columns.json").unlink()
    server.post(f"/audits/{first}/cancel")
    assert server.until(broken)["state"] == "failed"
    assert "make room" in server.entry(broken)["message"]
    assert server.until(last, "running")["state"] == "running"
    server.post(f"/audits/{last}/cancel")


def test_deleting_removes_every_file(server):
    key = server.ready()
    assert "will be removed from this machine" in server.ask("GET", f"/audits/{key}/columns").text
    assert server.post(f"/audits/{key}/delete").headers["location"] == "/"
    assert not [path for path in server.folder.iterdir() if key in path.name]
    assert server.ask("GET", f"/audits/{key}").status == 404
    assert key not in server.ask("GET", "/").text
    running = server.begin(server.ready(), n_surrogates="999", n_restarts="300")
    server.until(running, "running")
    server.post(f"/audits/{running}/delete")
    assert not [path for path in server.folder.iterdir() if running in path.name]
    assert server.worker() is None


def test_a_killed_server_loses_nothing_and_says_what_was_interrupted(tmp_path):
    server = Server(tmp_path / "audits")
    try:
        done = server.begin(server.ready(), effort="quick")
        assert server.until(done)["state"] == "done"
        report = server.ask("GET", f"/audits/{done}/files/report.html").text
        ready, read = server.ready(), server.read
        running = server.begin(server.ready(), n_surrogates="999", n_restarts="300")
        queued = server.begin(server.ready())
        server.until(running, "running")
        while server.worker() is None:
            time.sleep(0.02)
        worker, old = server.worker(), server.cookie
        (server.folder / "0123456789abcdef").mkdir()  # damaged, or somebody else's
        server.kill()
        end = time.monotonic() + PATIENCE
        while alive(worker) and time.monotonic() < end:
            time.sleep(0.05)
        assert not alive(worker)
        server.start()
        assert server.ask("GET", "/", headers={"Cookie": old}).status == 403
        assert server.ask("GET", f"/audits/{done}/files/report.html").text == report
        assert server.state(ready)["state"] == "ready"
        for key, was in ((running, "running"), (queued, "waiting")):
            assert server.state(key)["state"] == "interrupted"
            told = server.entry(key)["message"]
            assert told == f"The server stopped while this audit was {was}."
            assert told in server.ask("GET", "/").text
        assert {path.name for path in server.folder.iterdir() if path.is_dir()} == {
            done, ready, read, running, queued, "0123456789abcdef"}  # fmt: skip
        again = server.post(f"/audits/{queued}/again").headers["location"].split("/")[2]
        server.begin(again)
        assert server.until(again, "running")["state"] == "running"
        server.post(f"/audits/{again}/cancel")
    finally:
        server.stop()


def test_two_servers_do_not_share_a_folder(server):
    with pytest.raises(RuntimeError, match="Another server keeps its audits in"):
        Server(server.folder)


def test_a_slow_audit_is_ended(tmp_path):
    server = Server(tmp_path / "audits", auditing=1.0)
    try:
        key = server.begin(server.ready())
        assert server.until(key)["state"] == "failed"
        assert "took too long" in server.entry(key)["message"] and server.worker() is None
    finally:
        server.stop()
