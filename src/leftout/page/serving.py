"""The server: pages behind a gate, on this machine alone, until it is stopped."""

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
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from leftout.errors import InputError
from leftout.files import write_whole
from leftout.page.jobs import LOG, Jobs, describe_error, describe_full
from leftout.page.rendering import rendered
from leftout.page.security import Gate
from leftout.page.store import Store
from leftout.page.uploads import Limits
from leftout.page.views import Views

_HOST = "127.0.0.1"
# Connections at a time, and seconds that a browser has to finish when the server stops.
_MOST_CONNECTIONS, _GRACE = 300, 1
_LOG, _LOG_SIZE = "server.log", 10**6
_STATUS_SENTENCES = {
    404: "There is nothing at this address. It may have been deleted.",
    405: "This address does not take that.",
}


def serve(
    port: int,
    folder: Path,
    limits: Limits,
    ready: Callable[[str], None],
    open_browser: bool = False,
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
        tempfile.tempdir = str(folder)  # uploads on their way, too, are on that disk and private
        _log_to(folder / _LOG)
        if store.told:
            LOG.warning(store.told)
        token = secrets.token_urlsafe(24)
        host = f"leftout-{secrets.token_hex(8)}.localhost:{port}"
        address = f"http://{host}/?token={token}"
        config = uvicorn.Config(
            application(store, limits, host, token), log_config=None, access_log=False,
            server_header=False, date_header=False, ws="none", lifespan="on", loop="asyncio",
            http=connection(limits), limit_concurrency=_MOST_CONNECTIONS, timeout_keep_alive=30,
            timeout_graceful_shutdown=_GRACE, proxy_headers=False,
        )  # fmt: skip
        ready(address)
        if open_browser:
            _show(address, folder)
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            store.close()


def application(store: Store, limits: Limits, host: str, token: str) -> Starlette:
    """The page on a store of audits, for who has the token."""
    jobs = Jobs(store, limits)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        yield
        await jobs.stop()

    # within the gate, so that these answers, too, have its headers
    mistakes = Middleware(
        ExceptionMiddleware, handlers={Exception: _mistake, ClientDisconnect: _gone}
    )
    return Starlette(
        routes=Views(store, jobs, limits).routes(),
        lifespan=running,
        middleware=[Middleware(Gate, host=host, token=token), mistakes],
        exception_handlers={HTTPException: _missing, InputError: _refused},
    )


async def _mistake(request: Request, error: Exception) -> Response:
    """What nobody expected is told in a sentence with a reference, and the log has the rest."""
    where = f"{request.method} {request.scope['path']!r}"
    sentence = f"Something went wrong. {describe_error(where, error)}"
    return _problem(sentence, 507 if describe_full(error) else 500)


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)  # nobody is there to read it


async def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _problem(_STATUS_SENTENCES.get(status, "This cannot be done."), status)


async def _refused(request: Request, error: Exception) -> Response:
    return _problem(str(error), 422)


def _problem(sentence: str, status: int) -> HTMLResponse:
    return HTMLResponse(rendered("problem.html", sentence=sentence), status)


def connection(limits: Limits) -> type[H11Protocol]:
    """A connection that asks soon, or gives way: nobody keeps others out by holding many."""

    class Brief(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.since = self.loop.time()
            self.loop.call_later(limits.patience, self.close_idle, True)
            every: Any = self.connections
            idle = sorted((one for one in every if one.is_idle()), key=lambda one: one.since)
            for each in idle[: max(0, len(idle) - limits.idle)]:
                each.close_idle()

        def is_idle(self) -> bool:
            return self.cycle is None or self.cycle.response_complete

        def close_idle(self, unasked: bool = False) -> None:
            if self.cycle is None or not unasked and self.is_idle():
                self.transport.close()

    return Brief


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


def _show(address: str, folder: Path) -> None:
    """Open a browser, through a private file: what is on its command line everybody sees."""
    page = rendered("gate.html", path=address)
    webbrowser.open(write_whole(folder / "open.html", page).as_uri())


def _log_to(path: Path) -> None:
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=_LOG_SIZE, backupCount=2)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in ("leftout.page", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
