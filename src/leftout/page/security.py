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

import secrets

from starlette.requests import Request
from starlette.responses import HTMLResponse

from leftout.page.rendering import rendered

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
_COOKIE = "leftout"
_OPEN = "Open the address that 'leftout serve' printed: it lets your browser in."


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
