"""What each address shows or does; forms lead back to a page (303), so that reloading is safe."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from leftout.data.files.formats import BINARY, TEXT
from leftout.errors import InputError
from leftout.page import form
from leftout.page.form import Columns
from leftout.page.jobs import Jobs, Live
from leftout.page.rendering import rendered, static
from leftout.page.security import policy_of_report
from leftout.page.store import DONE, READY, REPORT, RESULTS, Entry, Store
from leftout.page.uploads import Limits, copied, receive, sent
from leftout.settings import ON_PAGE

_SEE_OTHER = 303
_DEMO_NAME = "1,989 mortgage applications (demo)"


class Views:
    """The pages of one server."""

    def __init__(self, store: Store, jobs: Jobs, limits: Limits) -> None:
        self.store, self.jobs, self.limits = store, jobs, limits
        self.streams = 0

    def routes(self) -> list[Route]:
        get, post = ["GET"], ["POST"]
        return [
            Route("/", self.start, methods=get),
            Route("/favicon.ico", self.icon, methods=get),
            Route("/static/{name}", self.static, methods=get),
            Route("/upload", self.upload, methods=post),
            Route("/demo", self.demo, methods=post),
            Route("/audits/{id}", self.audit, methods=get),
            Route("/audits/{id}/state", self.state, methods=get),
            Route("/audits/{id}/events", self.events, methods=get),
            Route("/audits/{id}/columns", self.columns, methods=get),
            Route("/audits/{id}/columns", self.choose, methods=post),
            Route("/audits/{id}/cancel", self.cancel, methods=post),
            Route("/audits/{id}/again", self.again, methods=post),
            Route("/audits/{id}/delete", self.ask_delete, methods=get),
            Route("/audits/{id}/delete", self.delete, methods=post),
            Route("/audits/{id}/files/{name}", self.file, methods=get),
        ]

    async def start(self, request: Request) -> Response:
        return self._start()

    def _start(self, problem: str = "", status: int = 200) -> HTMLResponse:
        page = rendered(
            "start.html", entries=self.store.latest(), limits=self.limits, problem=problem,
            suffixes=(*TEXT, *BINARY), demo=_DEMO_NAME, damaged=self.store.told,
        )  # fmt: skip
        return HTMLResponse(page, status)

    async def static(self, request: Request) -> Response:
        found = static(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return Response(found[0], media_type=found[1])

    async def icon(self, request: Request) -> Response:
        """None; a report asks for one by itself."""
        return Response(status_code=204)

    async def upload(self, request: Request) -> Response:
        try:
            entry = await receive(request, self.store, self.limits)
        except InputError as refusal:
            return self._start(str(refusal), 422)
        self.jobs.look(entry)
        return _to(entry)

    async def demo(self, request: Request) -> Response:
        await sent(request, self.limits)
        entry = self.store.new(_DEMO_NAME, None)
        self.jobs.look(entry)
        return _to(entry)

    async def audit(self, request: Request) -> Response:
        entry = self._entry(request)
        if entry.state == READY:
            return _to(entry, "/columns")
        live = self.jobs.live.get(entry.id) or Live(entry)
        return HTMLResponse(rendered("audit.html", entry=entry, live=live, results=RESULTS))

    async def state(self, request: Request) -> Response:
        entry = self._entry(request)
        live = self.jobs.live.get(entry.id) or Live(entry)
        return Response(live.text, media_type="application/json")

    async def events(self, request: Request) -> Response:
        live = self.jobs.live.get(self._entry(request).id)
        if live is None or self.streams >= self.limits.streams:
            return Response(status_code=204)  # a browser then asks no more, or asks otherwise

        async def messages() -> Any:
            self.streams += 1
            try:
                async for message in live.messages():
                    yield message
            finally:
                self.streams -= 1

        return StreamingResponse(messages(), media_type="text/event-stream")

    async def columns(self, request: Request) -> Response:
        return self._columns(self._entry(request), request)

    def _columns(
        self, entry: Entry, request: Request, problems: list[str] | None = None
    ) -> Response:
        if entry.state != READY:
            return _to(entry)
        columns = Columns.of(self.store.columns(entry))
        if not columns.columns:
            return HTMLResponse(rendered("sheets.html", entry=entry, sheets=columns.sheets))
        wanted = request.query_params.get("q", "")[:200]
        outcome = form.of_role(entry.choices, form.OUTCOME)
        quick, full = form.estimated_seconds(columns.rows, columns.features)
        page = rendered(
            "columns.html",
            entry=entry,
            columns=columns,
            shown=columns.shown(wanted, _page_number(request.query_params.get("page"))),
            wanted=wanted,
            roles=form.ROLES,
            becomes=form.BECOMES,
            fields=ON_PAGE,
            usual={name: form.usual(entry, name) for name in ON_PAGE},
            outcome=columns.columns[outcome[0]] if outcome else None,
            quick=form.describe_seconds(quick),
            full=form.describe_seconds(full),
            problems=problems or [],
            chosen={role: form.of_role(entry.choices, role) for role in form.ROLES},
        )
        return HTMLResponse(page, 422 if problems else 200)

    async def choose(self, request: Request) -> Response:
        entry = self._entry(request)
        given = await sent(request, self.limits)
        if entry.state != READY:
            return _to(entry)
        columns = Columns.of(self.store.columns(entry))
        go = given.get("go", "save")
        if go == "sheet" and given.get("sheet") in columns.sheets:
            entry.sheet, entry.choices = given["sheet"], {}
            self.jobs.look(entry)
            return _to(entry)
        if not columns.columns:
            return _to(entry, "/columns")
        before = form.of_role(entry.choices, form.OUTCOME)
        entry.choices, wrong = form.changed(entry.choices, given, columns)
        outcome = form.of_role(entry.choices, form.OUTCOME)
        self.store.save(entry)
        try:
            if wrong:
                raise InputError(" ".join(wrong))
            if go == "start":
                form.check(entry, columns)
                if outcome and outcome != before and columns.columns[outcome[0]]["levels"]:
                    raise InputError(
                        f"The outcome is {columns.name(outcome[0])!r} now. Say which of its values "
                        "counts, and start."
                    )
                entry.command = form.command(entry, columns)
                entry.call = form.call(entry, columns)
                self.jobs.audit(entry)
                return _to(entry)
        except InputError as refusal:
            return self._columns(entry, request, [str(refusal)])
        wanted, page = given.get("q", ""), "1" if go == "search" else given.get("page", "1")
        if go.startswith("page-"):
            page = go[5:]
        return _to(entry, f"/columns?{urlencode({'q': wanted, 'page': _page_number(page)})}")

    async def cancel(self, request: Request) -> Response:
        entry = self._entry(request)
        await sent(request, self.limits)
        await self.jobs.cancel(entry)
        return _to(entry)

    async def again(self, request: Request) -> Response:
        """The same table once more, with the same choices to begin with."""
        entry = self._entry(request)
        await sent(request, self.limits)
        made = await asyncio.to_thread(copied, self.store, entry)
        made.choices = dict(entry.choices)
        if self.store.columns(made).exists():
            made.state = READY
            self.store.add(made)
            return _to(made, "/columns")
        self.jobs.look(made)
        return _to(made)

    async def ask_delete(self, request: Request) -> Response:
        return HTMLResponse(rendered("delete.html", entry=self._entry(request)))

    async def delete(self, request: Request) -> Response:
        entry = self._entry(request)
        await sent(request, self.limits)
        await self.jobs.cancel(entry)
        await asyncio.to_thread(self.store.remove, self.store.forget(entry))
        return RedirectResponse("/", _SEE_OTHER)

    async def file(self, request: Request) -> Response:
        """A result; the report under a policy of its own, all to keep if that is asked for."""
        entry, name = self._entry(request), request.path_params["name"]
        if entry.state != DONE or name not in RESULTS:
            raise HTTPException(404)
        path, headers = self.store.result(entry, name), {}
        if name == REPORT:
            text = await asyncio.to_thread(path.read_text, encoding="utf-8")
            headers["Content-Security-Policy"] = await asyncio.to_thread(policy_of_report, text)
        keep = "save" in request.query_params or name != REPORT
        return FileResponse(
            path, media_type=f"{RESULTS[name]}; charset=utf-8", headers=headers,
            filename=name if keep else None,
        )  # fmt: skip

    def _entry(self, request: Request) -> Entry:
        entry = self.store.entries.get(request.path_params["id"])
        if entry is None:
            raise HTTPException(404)
        return entry


def _to(entry: Entry, more: str = "") -> RedirectResponse:
    return RedirectResponse(f"/audits/{entry.id}{more}", _SEE_OTHER)


def _page_number(text: str | None) -> int:
    """A page's number from an address; the first if it is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else 1
