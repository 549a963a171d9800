"""What each address shows or does; forms lead back to a page (303), so that reloading is safe."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from leftout import report
from leftout.data.sources import FORMATS, describe_size
from leftout.errors import InputError
from leftout.page import form
from leftout.page.form import Columns
from leftout.page.jobs import Jobs
from leftout.page.store import DONE, READY, REPORT, RESULTS, SCREEN, Entry, Store
from leftout.page.uploads import Limits, copied, fields_of, receive
from leftout.report import environment
from leftout.settings import ON_PAGE
from leftout.text import percent, shortened

_SEE_OTHER = 303
_DEMO_NAME = "1,989 mortgage applications (demo)"
# The report's look is the page's; what only the page has comes after it.
_LOOK = Path(report.__file__).parent / "templates" / "page.css"
# A report is in a sandbox, an origin of its own: whatever a table may have put into it could not
# ask this server for anything. Which script may run at all, its own policy says, by a hash.
REPORT_HEADERS = {
    "Content-Security-Policy": (
        "sandbox allow-scripts allow-modals allow-popups; default-src 'none'; img-src data:; "
        "script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
}
_TEMPLATES = environment(Path(__file__).parent / "templates")
_TEMPLATES.filters |= {
    "size": describe_size,
    "short": shortened,
    # in this machine's time, to the minute
    "when": lambda stamp: f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}",
    # what is there is never 0%, nor all if something lacks
    "percent": lambda share: (
        "< 1%" if 0.0 < share < 0.01 else "> 99%" if 0.99 < share < 1.0 else percent(share)
    ),
}


def rendered(template: str, **values: Any) -> str:
    """A page from its template."""
    return _TEMPLATES.get_template(template).render(values)


class Views:
    """The pages of one server."""

    def __init__(self, store: Store, jobs: Jobs, limits: Limits) -> None:
        self.store, self.jobs, self.limits = store, jobs, limits

    def routes(self) -> list[BaseRoute]:
        get, post = ["GET"], ["POST"]
        return [
            Route("/", self.start, methods=get),
            Route("/favicon.ico", self.icon, methods=get),
            Route("/look.css", self.look, methods=get),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
            Route("/upload", self.upload, methods=post),
            Route("/demo", self.demo, methods=post),
            Route("/audits/{id}", self.audit, methods=get),
            Route("/audits/{id}/state", self.state, methods=get),
            Route("/audits/{id}/columns", self.columns, methods=get),
            Route("/audits/{id}/columns", self.choose, methods=post),
            Route("/audits/{id}/cancel", self.cancel, methods=post),
            Route("/audits/{id}/again", self.again, methods=post),
            Route("/audits/{id}/report", self.report, methods=get),
            Route("/audits/{id}/delete", self.delete, methods=post),
            Route("/audits/{id}/files/{name}", self.file, methods=get),
        ]

    async def start(self, request: Request, problem: str = "") -> Response:
        newest = sorted(self.store.entries.values(), key=lambda one: str(one.created), reverse=True)
        page = rendered(
            "start.html", entries=newest, limits=self.limits, problem=problem,
            suffixes=list(FORMATS),
        )  # fmt: skip
        return HTMLResponse(page, 422 if problem else 200)

    async def look(self, request: Request) -> Response:
        return FileResponse(_LOOK)

    async def icon(self, request: Request) -> Response:
        """None; a report asks for one by itself."""
        return Response(status_code=204)

    async def upload(self, request: Request) -> Response:
        try:
            entry = await receive(request, self.store, self.limits)
        except InputError as refusal:
            return await self.start(request, str(refusal))
        return self._look(entry)

    async def demo(self, request: Request) -> Response:
        return self._look(self.store.new(_DEMO_NAME, None))

    def _look(self, entry: Entry) -> Response:
        self.store.add(entry)
        self.jobs.look(entry)
        return _to(entry)

    async def audit(self, request: Request) -> Response:
        entry = self._entry(request)
        if entry.state == READY:
            return _to(entry, "/columns")
        screen = self.store.result(entry, SCREEN)  # of our own templates, which escape
        shown = Markup(screen.read_text("utf-8")) if screen.exists() else ""
        return HTMLResponse(
            rendered("audit.html", entry=entry, now=self.jobs.now(entry), screen=shown)
        )

    async def report(self, request: Request) -> Response:
        """The report in a frame, below a way back."""
        entry = self._entry(request)
        return HTMLResponse(rendered("report.html", entry=entry))

    async def state(self, request: Request) -> Response:
        return JSONResponse(self.jobs.now(self._entry(request)))

    async def columns(self, request: Request) -> Response:
        return self._columns(self._entry(request))

    def _columns(self, entry: Entry, problem: str = "") -> Response:
        if entry.state != READY:
            return _to(entry)
        columns = Columns.of(self.store.columns(entry))
        outcome = form.of_role(entry.choices, form.OUTCOME)
        guesses = [line["guess"] for line in columns.columns]
        offered = [*outcome, *(at for at, guess in enumerate(guesses) if guess == form.OUTCOME)]
        page = rendered(
            "columns.html",
            entry=entry,
            columns=columns,
            roles=form.ROLES,
            fields=ON_PAGE,
            usual={name: form.usual(entry, name) for name in ON_PAGE},
            outcome=outcome[0] if outcome else None,
            offered=offered[0] if offered else None,
            protected=[at for at, guess in enumerate(guesses) if guess == "sensitive"],
            decided=form.about(entry, columns),
            problem=problem,
        )
        return HTMLResponse(page, 422 if problem else 200)

    async def choose(self, request: Request) -> Response:
        """Keep what was chosen; with ``go=start``, start the audit."""
        entry = self._entry(request)
        given = await fields_of(request)
        if entry.state != READY:
            return _to(entry)
        columns = Columns.of(self.store.columns(entry))
        entry.choices, wrong = form.changed(entry.choices, given, columns)
        self.store.save(entry)
        if wrong:
            return self._columns(entry, " ".join(wrong))
        return self._begun(entry) if given.get("go") == "start" else _to(entry, "/columns")

    def _begun(self, entry: Entry) -> Response:
        """Start an audit, or ask for what is open."""
        columns = Columns.of(self.store.columns(entry))
        try:
            form.check(entry, columns)
            entry.command, entry.about = form.command(entry, columns), form.about(entry, columns)
            self.jobs.audit(entry)
        except InputError as refusal:
            return self._columns(entry, str(refusal))
        return _to(entry)

    async def cancel(self, request: Request) -> Response:
        entry = self._entry(request)
        await self.jobs.cancel(entry)
        return _to(entry)

    async def again(self, request: Request) -> Response:
        """The same table once more, with the same choices to begin with; or whole, at once."""
        given = await fields_of(request)
        made = await asyncio.to_thread(copied, self.store, self._entry(request))
        if not self.store.columns(made).exists():
            return self._look(made)
        if given.get("effort") == form.FULL:
            made.choices["effort"] = form.FULL
            self.store.add(made)
            return self._begun(made)
        self.store.add(made)
        return _to(made, "/columns")

    async def delete(self, request: Request) -> Response:
        entry = self._entry(request)
        await self.jobs.cancel(entry)
        await asyncio.to_thread(self.store.delete, entry)
        return RedirectResponse("/", _SEE_OTHER)

    async def file(self, request: Request) -> Response:
        """A result; the report under a policy of its own, all to keep if that is asked for."""
        entry, name = self._entry(request), request.path_params["name"]
        if entry.state != DONE or name not in RESULTS:
            raise HTTPException(404)
        keep = "save" in request.query_params or name != REPORT
        return FileResponse(
            self.store.result(entry, name), media_type=f"{RESULTS[name]}; charset=utf-8",
            headers=REPORT_HEADERS if name == REPORT else {},
            filename=name if keep else None,
        )  # fmt: skip

    def _entry(self, request: Request) -> Entry:
        entry = self.store.entries.get(request.path_params["id"])
        if entry is None:
            raise HTTPException(404)
        return entry


def _to(entry: Entry, more: str = "") -> RedirectResponse:
    return RedirectResponse(f"/audits/{entry.id}{more}", _SEE_OTHER)
