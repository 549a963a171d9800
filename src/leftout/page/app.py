"""The application: pages behind a gate, errors as a sentence and a reference."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from traceback import format_exception

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leftout.errors import InputError
from leftout.page.jobs import Jobs
from leftout.page.limits import Limits
from leftout.page.processes import describe_full, noted
from leftout.page.rendering import rendered
from leftout.page.security import Gate
from leftout.page.store import Store
from leftout.page.views import Views

_SAID = {
    404: "There is nothing at this address. It may have been deleted.",
    405: "This address does not take that.",
}


def application(store: Store, limits: Limits, host: str, token: str) -> Starlette:
    """The page on a store of audits, for who has the token."""
    jobs = Jobs(store, limits)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        jobs.start()
        try:
            yield
        finally:
            await jobs.stop()

    return Starlette(
        routes=Views(store, jobs, limits).routes(),
        lifespan=running,
        middleware=[Middleware(Gate, host=host, token=token), Middleware(Mistakes)],
        exception_handlers={HTTPException: _missing, InputError: _refused},
    )


class Mistakes:
    """What nobody expected is told in a sentence with a reference, and the log has the rest."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except ClientDisconnect:
            return
        except Exception as error:
            where = f"{scope.get('method', '')} {scope.get('path', '')!r}"
            full = describe_full(error)
            sentence = full or noted(where, "".join(format_exception(error)))
            if not begun and scope["type"] == "http":
                status = 507 if full else 500
                await _problem(f"Something went wrong. {sentence}", status)(scope, receive, send)


async def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _problem(_SAID.get(status, "This cannot be done."), status)


async def _refused(request: Request, error: Exception) -> Response:
    return _problem(str(error), 422)


def _problem(sentence: str, status: int) -> HTMLResponse:
    return HTMLResponse(rendered("problem.html", sentence=sentence), status)
