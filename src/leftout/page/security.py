"""Who may ask: only the browser that was given the token, only from our own pages.

A page on another site can make a browser send requests here, also under another name (DNS
rebinding). So every request must name this host, come from our own pages, and have the cookie that
the address with the token gives; what is changed is changed by POST, whose ``Origin`` is ours.

The host is a name under ``localhost`` that nobody can guess. Browsers send a cookie to every port
of a host: under 127.0.0.1, whatever listens on any other port would be sent ours. They take such
names for this machine without asking anybody. (A secret in every address instead would be in the
browser's history, and a report could read it.)
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leftout.page.rendering import rendered

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_ALWAYS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # not "no-referrer": under that, a form of our own would have the Origin "null"
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_COOKIE = "leftout"
# Scripts and styles of a page, and their texts.
_INLINE = re.compile(r"<(script|style)\b[^>]*>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
# Pages that a link from elsewhere, such as from a report in its sandbox, may lead to.
_LINKED = re.compile(r"/(audits/[0-9a-f]{16})?")


class Gate:
    """Lets in what may come in, and gives every answer the headers that keep browsers strict."""

    def __init__(self, app: ASGIApp, host: str, token: str) -> None:
        self.app, self.host, self.token = app, host, token
        self.secret = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        if scope["type"] != "http":
            return

        async def strict(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _ALWAYS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._answer(scope)
        await (self.app if answer is None else answer)(scope, receive, strict)

    def _answer(self, scope: Scope) -> HTMLResponse | None:
        """What the gate says itself; None lets the request in."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() != self.host:
            return _closed("This server answers under its own address only.", 400)
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if scope["path"] == "/" and given and scope["method"] == "GET":
            return self._welcome() if _same(given[0], self.token) else _closed(_OPEN)
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            if _is_followed(scope, headers):  # what changes nothing, from a page of our own
                return HTMLResponse(rendered("gate.html", path=scope["path"]))
            return _closed("Another site asked for this page, and does not get it.")
        if not _same(self._kept(headers), self.secret):
            return _closed(_OPEN)
        if (
            scope["method"] not in ("GET", "HEAD")
            and headers.get("origin") != f"http://{self.host}"
        ):
            return _closed("This did not come from a page of this server.")
        return None

    def _kept(self, headers: Headers) -> str:
        """The cookie, if there is one."""
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
        except CookieError:
            return ""
        return "" if cookie is None else cookie.value

    def _welcome(self) -> HTMLResponse:
        """The cookie, and on to the first page: from here, so that the browser sends it along."""
        answer = HTMLResponse(rendered("gate.html", path="/"))
        answer.set_cookie(_COOKIE, self.secret, httponly=True, samesite="strict", path="/")
        return answer


def _is_followed(scope: Scope, headers: Headers) -> bool:
    """Whether somebody followed a link to one of our pages, in a tab and not in a frame of it."""
    navigated = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return (
        scope["method"] == "GET"
        and navigated == ("navigate", "document")
        and _LINKED.fullmatch(scope["path"]) is not None
    )


_OPEN = "Open the address that 'leftout serve' printed: it lets your browser in."


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode(), wanted.encode())


def _closed(sentence: str, status: int = 403) -> HTMLResponse:
    return HTMLResponse(rendered("gate.html", path="", sentence=sentence), status)


def policy_of_report(page: str) -> str:
    """A policy under which a report runs its own script and styles and nothing else.

    It is in a sandbox, an origin of its own: whatever a table may have put into it could not ask
    this server for anything.
    """
    inline = _INLINE.findall(page)
    scripts, styles = (
        " ".join(sorted({_digest(text) for kind, text in inline if kind == tag})) or "'none'"
        for tag in ("script", "style")
    )
    return (
        f"sandbox allow-scripts allow-modals allow-popups; default-src 'none'; img-src data:; "
        f"script-src {scripts}; style-src-elem {styles}; style-src-attr 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
