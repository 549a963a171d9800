"""The server: on this machine alone, until it is stopped."""

from __future__ import annotations

import logging
import logging.handlers
import os
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from leftout.checks import Refusal
from leftout.files import write_whole
from leftout.page.app import application
from leftout.page.limits import Limits
from leftout.page.store import Store

_HOST = "127.0.0.1"
# Connections at a time, and seconds that a browser has to finish when the server stops.
_MOST, _GRACE = 300, 1
_LOG, _LOG_SIZE = "server.log", 10**6


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
            raise Refusal(
                f"Audits cannot be kept in {str(folder)!r}: {error.strerror or error}. Choose "
                "another folder with --data."
            ) from error
        _log_to(folder / _LOG)
        if store.told:
            logging.getLogger("leftout.page").warning(store.told)
        token = secrets.token_urlsafe(24)
        address = f"http://{_HOST}:{port}/?token={token}"
        config = uvicorn.Config(
            application(store, limits, port, token), log_config=None, access_log=False,
            server_header=False, date_header=False, ws="none", lifespan="on", loop="asyncio",
            http="h11", limit_concurrency=_MOST, timeout_keep_alive=30,
            timeout_graceful_shutdown=_GRACE, proxy_headers=False,
        )  # fmt: skip
        ready(address)
        if open_browser:
            _show(address, folder)
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            store.close()


def _bound(port: int) -> socket.socket:
    """A socket on this machine's own address, which no other machine reaches."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_HOST, port))
    except OSError as error:
        listening.close()
        raise Refusal(
            f"Port {port} cannot be used: {error.strerror or error}. Choose another with --port, "
            "or 0 for any that is free."
        ) from error
    listening.listen(128)
    return listening


def _show(address: str, folder: Path) -> None:
    """Open a browser, through a private file: what is on its command line everybody sees."""
    page = (
        '<!doctype html><meta charset="utf-8"><title>leftout</title>'
        f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Go on</a>'
    )
    webbrowser.open(write_whole(folder / "open.html", page).as_uri())


def _log_to(path: Path) -> None:
    handler = logging.handlers.RotatingFileHandler(path, maxBytes=_LOG_SIZE, backupCount=2)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    for name in ("leftout.page", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
