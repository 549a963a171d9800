"""The page under load, and how soon it is there: ``page_*``. Everything on this machine alone."""

from __future__ import annotations

import http.client
import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from leftout.datasets import make_planted
from serving import Server

CLIENTS, EVERY = 50, 1.0


def load(count=None):
    """50 clients that ask where an audit is, once a second, against nobody who asks."""
    import pandas as pd

    X, _ = make_planted(1_500, 12, 3, 150, random_state=0)
    table = pd.DataFrame(X.round(4), columns=[f"x{place}" for place in range(X.shape[1])])
    alone, asked, answers = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            first = server.ready(table, "t.csv")
            audited(server, first)  # compile
            for _ in range(count or 5):
                alone.append(audited(server, again(server, first)))
                key = again(server, first)
                with Clients(server, key) as clients:
                    asked.append(audited(server, key))
                answers += clients.answers
        finally:
            server.stop()
    wall, cpu = (np.median(asked, axis=0) / np.median(alone, axis=0)).tolist()
    wrong = sum(status != 200 for status, _ in answers)
    slow = 1000 * np.array([seconds for _, seconds in answers])
    yield (
        f"{CLIENTS} clients polling while an audit runs: its time against nobody polling",
        "at most 1.10 x",
        f"{wall:.2f} x ({cpu:.2f} x of its CPU time; medians of {len(alone)} and {len(asked)})",
        wall <= 1.10,
    )
    yield (
        "the same: answers that are errors, and how long answers take",
        "no error, each within 1 s",
        f"{wrong} of {len(slow):,}; median {np.median(slow):.0f} ms, longest {slow.max():.0f} ms",
        wrong == 0 and slow.max() < 1000,
    )


def cancelled(count=None):
    """From the press of a button to the end of the process."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            for _ in range(count or 5):
                key = server.begin(server.ready(), n_surrogates="999", n_restarts="300")
                while server.worker() is None or server.state(key)["share"] == 0.0:
                    time.sleep(0.02)
                worker, begun = server.worker(), time.perf_counter()
                server.post(f"/audits/{key}/cancel")
                if Path(f"/proc/{worker}").exists() or server.state(key)["state"] != "cancelled":
                    raise RuntimeError("it goes on")
                times.append(time.perf_counter() - begun)
        finally:
            server.stop()
    yield (
        "cancel an audit that runs: until its process has ended and the page says so",
        "within 1 s",
        f"{max(times):.2f} s (longest of {len(times)})",
        max(times) < 1.0,
    )


def again(server, key):
    return server.post(f"/audits/{key}/again").headers["location"].split("/")[2]


def audited(server, key):
    """Seconds from start to end, and seconds of CPU, of one audit."""
    server.begin(key, n_surrogates="19", n_restarts="5")
    start, cpu, worker = time.perf_counter(), 0.0, None
    while server.entry(key)["state"] in ("queued", "running"):
        worker = worker or server.worker()
        cpu = used(worker) or cpu
        time.sleep(0.05)
    if server.entry(key)["state"] != "done":
        raise RuntimeError(server.entry(key)["message"])
    return time.perf_counter() - start, cpu


def used(process):
    """Seconds of CPU that a process has used."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / 100.0


class Clients:
    """Many browsers' questions, from one other process."""

    def __init__(self, server, key):
        self.queue, self.end = multiprocessing.Queue(), multiprocessing.Event()
        self.process = multiprocessing.Process(
            target=polled, args=(server.host, server.cookie, key, self.queue, self.end)
        )

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.answers = self.queue.get()
        self.process.join()


def polled(host, cookie, key, queue, end):
    answers, headers = [], {"Cookie": cookie, "Host": host}
    clients = [
        http.client.HTTPConnection("127.0.0.1", int(host.rpartition(":")[2]))
        for _ in range(CLIENTS)
    ]
    while not end.is_set():
        for client in clients:
            start = time.perf_counter()
            client.request("GET", f"/audits/{key}/state", headers=headers)
            answer = client.getresponse()
            answer.read()
            answers.append((answer.status, time.perf_counter() - start))
            end.wait(EVERY / CLIENTS)
    queue.put(answers)


def start(count=None):
    """From the command to the first page, as often as asked."""
    times = []
    for _ in range(count or 5):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            command = [sys.executable, "-m", "leftout", "serve", "--port", "0", "--data", folder]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            address = process.stdout.readline().split()[1]
            host, _, token = address.removeprefix("http://").partition("/")
            client = http.client.HTTPConnection("127.0.0.1", int(host.rpartition(":")[2]))
            client.request("GET", f"/{token}", headers={"Host": host})
            entered = client.getresponse()
            entered.read()
            cookie = entered.headers["set-cookie"].partition(";")[0]
            client.request("GET", "/", headers={"Host": host, "Cookie": cookie})
            page = client.getresponse()
            if page.status != 200 or b"Read this table" not in page.read():
                raise RuntimeError("the first page did not come")
            times.append((time.perf_counter() - begun, used(process.pid)))
            client.close()
            process.terminate()
            process.communicate()
    wall, cpu = np.median(times, axis=0)
    yield (
        "leftout serve: from the command to the first page",
        "under 2 s",
        f"{wall:.2f} s ({cpu:.2f} s of CPU; median of {len(times)})",
        wall < 2.0,
    )
