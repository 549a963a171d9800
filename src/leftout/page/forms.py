"""Forms without a file: small, and read whole."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request

from leftout.checks import Refusal
from leftout.page.limits import Limits

_FIELDS = 1_000


async def sent(request: Request, limits: Limits) -> dict[str, str]:
    """What a form sent, each field once; refuses more than a form of ours sends."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limits.form:
            raise Refusal("The form sent more than a form of this page does. Nothing was changed.")
    try:
        pairs = parse_qsl(
            data.decode("utf-8"), keep_blank_values=True, max_num_fields=_FIELDS, errors="strict"
        )
    except ValueError as error:
        raise Refusal("The form could not be read. Nothing was changed.") from error
    return dict(pairs)


def number(text: str | None) -> int:
    """A page's number from an address; the first if it is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 6 else 1
