"""The server: pages behind a gate, on this machine alone, until it is stopped.

Only the browser that was given the token may ask, and only from our own pages. A page on another
site can make a browser send requests here, also under another name (DNS rebinding). So every
request must name this host, come from our own pages, and have the cookie that the address with the
token gives; what is changed is changed by POST, whose ``Origin`` is ours.

The host is a name under ``localhost`` that nobody can guess. Browsers send a cookie to every port
of a host: under 127.0.0.1, whatever listens on any other port would be sent ours. They take such
names for this machine without asking anybody. (A secret in every address instead would be in the
browser's history, and a report could read it.)
"""

from __future__ import annotations

import logging
import logging.handlers
import os
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response

from leftout.errors import InputError
from leftout.files import write_whole
from leftout.page.jobs import Jobs, describe_error
from leftout.page.store import Store
from leftout.page.uploads import Limits
from leftout.page.views import Views, rendered

_HOST = "127.0.0.1"
_LOG, _LOG_SIZE = "server.log", 10**6
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # not "no-referrer": under that, a form of our own would have the Origin "null"
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_COOKIE = "leftout"
_OPEN = "Open the address that 'leftout serve' printed: it lets your browser in."
_STATUS_SENTENCES = {
    404: "There is nothing at this address. It may have been deleted.",
    405: "This address does not take that.",
}


def serve(
    port: int, folder: Path, limits: Limits, ready: Callable[[str], None], browser: bool = False
) -> None:
    """Serve the page until it is interrupted; ``ready`` is called with its address."""
    folder = folder.absolute()
    os.umask(0o077)  # tables and reports are for their owner's eyes
    with _bound(port) as listening:
        port = listening.getsockname()[1]
        try:
            store = Store(folder)
        except OSError as error:
            raise InputError(
                f"Audits cannot be kept in {str(folder)!r}: {error.strerror or error}. Choose "
                "another folder with --data."
            ) from error
        _log_to(folder / _LOG)
        tempfile.tempdir = str(folder)  # uploads on their way, too, are on that disk and private
        token = secrets.token_urlsafe(24)
        host = f"leftout-{secrets.token_hex(8)}.localhost:{port}"
        address = f"http://{host}/?token={token}"
        config = uvicorn.Config(
            application(store, limits, host, token), log_config=None, access_log=False,
            server_header=False, date_header=False, ws="none", lifespan="on", loop="asyncio",
            timeout_keep_alive=30, timeout_graceful_shutdown=1, proxy_headers=False,
        )  # fmt: skip
        ready(address)
        if browser:  # opened through a private file: what is on a command line everybody sees
            page = write_whole(folder / "open.html", rendered("gate.html", path=address))
            webbrowser.open(page.as_uri())
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            store.close()


def application(store: Store, limits: Limits, host: str, token: str) -> Starlette:
    """The page on a store of audits, for who has the token."""
    jobs, gate = Jobs(store, limits), Gate(host, token)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        yield
        await jobs.stop()

    async def guarded(request: Request, call_next: RequestResponseEndpoint) -> Response:
        """What the gate lets in; every answer has the headers that keep browsers strict."""
        try:
            answer = gate.answer(request) or await call_next(request)
        except ClientDisconnect:
            answer = Response(status_code=400)  # nobody is there to read it
        except Exception as error:
            sentence = describe_error(f"{request.method} {request.url.path!r}", error)
            answer = _problem(f"Something went wrong. {sentence}", 500)
        for name, value in HEADERS.items():
            answer.headers.setdefault(name, value)
        return answer

    return Starlette(
        routes=Views(store, jobs, limits).routes(),
        lifespan=running,
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=guarded)],
        exception_handlers={
            HTTPException: _missing,
            InputError: lambda _, refusal: _problem(str(refusal), 422),
        },
    )


def _missing(request: Request, error: Any) -> Response:
    sentence = _STATUS_SENTENCES.get(error.status_code, "This cannot be done.")
    return _problem(sentence, error.status_code)


def _problem(sentence: str, status: int) -> HTMLResponse:
    return HTMLResponse(rendered("problem.html", sentence=sentence), status)


def _bound(port: int) -> socket.socket:
    """A socket on this machine's own address, which no other machine reaches."""
    # said to be TCP, asyncio does not wait for more to send: 40 ms on each connection kept alive
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_HOST, port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"Port {port} cannot be used: {error.strerror or error}. Choose another with --port, "
            "or 0 for any that is free."
        ) from error
    listening.listen(128)
    return listening


def _log_to(path: Path) -> None:
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=_LOG_SIZE, backupCount=2)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in ("leftout.page", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False


class Gate:
    """Lets in the browser that has the cookie; the address with the token gives it once."""

    def __init__(self, host: str, token: str) -> None:
        self.host, self.token = host, token
        self.secret = secrets.token_urlsafe(32)

    def answer(self, request: Request) -> HTMLResponse | None:
        """What the gate says itself; None lets the request in."""
        headers, given = request.headers, request.query_params.get("token")
        if headers.get("host", "").lower() != self.host:
            return _closed("This server answers under its own address only.", 400)
        if request.url.path == "/" and given and request.method == "GET":
            return self._welcome() if _same(given, self.token) else _closed(_OPEN)
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return _closed("Another site asked for this page, and does not get it.")
        if not _same(request.cookies.get(_COOKIE, ""), self.secret):
            return _closed(_OPEN)
        changes = request.method not in ("GET", "HEAD")
        if changes and headers.get("origin") != f"http://{self.host}":
            return _closed("This did not come from a page of this server.")
        return None

    def _welcome(self) -> HTMLResponse:
        """The cookie, and on to the first page: from here, so that the browser sends it along."""
        answer = HTMLResponse(rendered("gate.html", path="/"))
        answer.set_cookie(_COOKIE, self.secret, httponly=True, samesite="strict", path="/")
        return answer


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())


def _closed(sentence: str, status: int = 403) -> HTMLResponse:
    return HTMLResponse(rendered("gate.html", path="", sentence=sentence), status)
