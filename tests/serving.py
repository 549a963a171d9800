"""A server of the page in a process of its own, and somebody who talks to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd

PATIENCE = 240.0
_SCRIPT = """
import sys, json
from pathlib import Path
from leftout.page.serving import serve
from leftout.page.uploads import Limits
limits = Limits(**json.loads(sys.argv[2]))
serve(0, Path(sys.argv[1]), limits, lambda address: print(address, flush=True))
"""
# An audit of seconds.
FAST = {"n_components": "3", "n_surrogates": "3", "n_restarts": "2"}


def people(rows=220, seed=0):
    """A table with text, dates, gaps, codes, an identifier and a hostile name."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "id": [f"p{place:05d}" for place in range(rows)],
        "town": rng.choice(["Ashby", "Beeley", "Cot & <b>x</b>"], rows),
        "age": rng.integers(18, 80, rows),
        "income, net": np.round(rng.lognormal(3.0, 0.5, rows), 2),
        "joined": pd.date_range("2020-01-01", periods=rows).astype(str),
        "sex": rng.choice(["f", "m"], rows),
        HOSTILE: rng.random(rows),
        "remark": [f"{rng.choice(['good', 'late', 'call'])} {place} x" for place in range(rows)],
        "approved": rng.choice(["yes", "no"], rows),
    })  # fmt: skip
    table.loc[rng.choice(rows, rows // 7, replace=False), "income, net"] = np.nan
    return table


HOSTILE = '"><script>document.title="taken"</script>'


class Server:
    """A running server; its folder outlives it."""

    def __init__(self, folder: Path, **limits) -> None:
        self.folder, self.limits, self.read = folder, limits, None
        self.start()

    def start(self) -> Server:
        command = [sys.executable, "-c", _SCRIPT, str(self.folder), json.dumps(self.limits)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError(self.process.communicate()[1])
        self.host, self.port = re.search(r"//([^/]+:(\d+))/", self.address).groups()
        self.origin, self.port = f"http://{self.host}", int(self.port)
        self.token = self.address.partition("=")[2]
        cookie = self.ask("GET", f"/?token={self.token}", headers={"Cookie": ""}).headers
        self.cookie = cookie["set-cookie"].partition(";")[0]
        return self

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)

    def ask(self, method, path, body=None, headers=None):
        """One request; as a page of the server's own sends it, unless ``headers`` say otherwise."""
        given = {"Host": self.host, "Cookie": getattr(self, "cookie", "")}
        if method == "POST":
            given |= {
                "Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded",
            }  # fmt: skip
        given |= headers or {}
        given = {name: value for name, value in given.items() if value is not None}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if body is not None or method == "POST":
            given["Content-Length"] = str(len(body or b""))
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer

    def post(self, path, **form):
        return self.ask("POST", path, urlencode(form).encode())

    def upload(self, name, content: bytes, field="table"):
        """Send a file as a browser does; the answer, and the audit's id if it was taken."""
        mark = secrets.token_hex(8)
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="{field}"; '
            f'filename="{name}"\r\nContent-Type: application/octet-stream\r\n\r\n'
        )
        body = head.encode() + content + f"\r\n--{mark}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        answer = self.ask("POST", "/upload", body, kind)
        return answer, _id(answer)

    def demo(self):
        return _id(self.post("/demo"))

    def state(self, key):
        return json.loads(self.ask("GET", f"/audits/{key}/state").text)

    def until(self, key, *states):
        """Wait for a state, or for any at the end."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            now = self.state(key)
            if now["state"] in (states or ENDS):
                return now
            time.sleep(0.05)
        raise AssertionError(f"{key} is still {now}")

    def ready(self, table=None, name="people.csv"):
        """The id of a table that was read, and waits for choices; without one, always the same."""
        if table is None and self.read is not None:
            return self.post(f"/audits/{self.read}/again").headers["location"].split("/")[2]
        wanted = people() if table is None else table
        key = self.upload(name, wanted.to_csv(index=False).encode())[1]
        assert self.until(key)["state"] == "ready", self.entry(key)["message"]
        if table is None:
            self.read = key
            return self.ready()
        return key

    def begin(self, key, **choices):
        given = {**FAST, **self.answers(key), **choices}
        answer = self.post(f"/audits/{key}/columns", go="start", **given)
        assert (answer.status, answer.headers["location"]) == (303, f"/audits/{key}"), answer.text
        return key

    def answers(self, key):
        """Yes to every guess, as fields of the form; the last value of an outcome is good."""
        lines = json.loads((self.folder / key / "columns.json").read_text())["columns"]
        guesses = {place: line["guess"] for place, line in enumerate(lines)}
        given = {f"protected-{at}": "yes" for at, guess in guesses.items() if guess == "sensitive"}
        place = next((at for at, guess in guesses.items() if guess == "outcome"), None)
        if place is None:
            return {**given, "outcome": "none"}
        levels = lines[place]["levels"]
        return {**given, "outcome": place, f"positive-{place}": levels[-1] if levels else ""}

    def entry(self, key):
        return json.loads((self.folder / key / "entry.json").read_text())

    def worker(self):
        """The process that the server runs."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = children.read_text().split()
        return int(found[0]) if found else None

    def memory(self):
        """Bytes that the server holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


ENDS = ("ready", "done", "refused", "failed", "cancelled", "interrupted")


def _id(answer):
    found = re.fullmatch(r"/audits/([0-9a-f]{16})", answer.headers.get("location", ""))
    return found and found[1]


def timeless(text):
    """Without time stamps."""
    return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\+00:00| UTC)?", "TIME", text)
