"""Text in whatever encoding, as UTF-8."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator

from leftout.checks import Refusal

_MARKS = {
    codecs.BOM_UTF8: ("utf-8", "UTF-8"),
    codecs.BOM_UTF32_LE: ("utf-32-le", "UTF-32"),  # begins like the next, and is asked before it
    codecs.BOM_UTF16_LE: ("utf-16-le", "UTF-16"),
    codecs.BOM_UTF16_BE: ("utf-16-be", "UTF-16"),
}
# What no text has, but for the end of a file of old.
_CONTROL = re.compile("[\0-\x08\x0e-\x19\x1c-\x1f]")
# Bytes that are looked at for what a file is, and the share of them that zeros are in UTF-16.
_START, _ZEROS = 1 << 16, 0.1


def as_utf8(data: bytes, called: str) -> tuple[bytes, str | None]:
    """The same text in UTF-8 without a mark, and the encoding that it had if it was another."""
    for mark, (codec, name) in _MARKS.items():
        if data.startswith(mark):
            rest = data[len(mark) :]
            if name == "UTF-8":
                return _checked(rest, called), None
            return _recoded(rest, codec, name, called), name
    zeros = _sides_of_zeros(data[:_START])
    if zeros is not None:
        return _recoded(data, zeros, "UTF-16", called), "UTF-16"
    if b"\0" in data:
        raise Refusal(_binary(called))
    try:
        data.decode()
    except UnicodeDecodeError as error:
        for codec, name in _unmarked(data, error, called):
            try:
                return _recoded(data, codec, name, called), name
            except UnicodeDecodeError:
                continue
    return data, None


def coded_as(blocks: Callable[[], Iterable[bytes]], called: str) -> tuple[str, int, str | None]:
    """The codec of a text that comes in blocks, bytes of its mark, and its name if not UTF-8.

    What ``as_utf8`` finds out of a text in memory; blocks may be asked for several times.
    """
    start = next(iter(blocks()), b"")
    for mark, (codec, name) in _MARKS.items():
        if start.startswith(mark):
            return codec, len(mark), None if name == "UTF-8" else name
    zeros = _sides_of_zeros(start[:_START])
    if zeros is not None:
        return zeros, 0, "UTF-16"
    decoder, place = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        for block in blocks():
            if b"\0" in block:
                raise Refusal(_binary(called))
            decoder.decode(block)
            place += len(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        lenient = codecs.getincrementaldecoder("utf-8")(errors="replace")
        texts = [0, 0]
        for block in blocks():
            text = lenient.decode(block)
            texts[0] += text.count("\ufffd")
            texts[1] += sum(char > "\x7f" for char in text)
        if texts[1] - texts[0] > texts[0]:
            raise Refusal(_not_all_utf8(called, place + error.start)) from error
        return _western(blocks)
    return "utf-8", 0, None


def _western(blocks: Callable[[], Iterable[bytes]]) -> tuple[str, int, str]:
    try:
        for block in blocks():
            block.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1", 0, "Latin-1"  # takes any bytes
    return "cp1252", 0, "Windows-1252"


def refuse_undecoded(called: str, name: str | None, place: int) -> None:
    """Refuse text that is not in the encoding that it looks like."""
    if name is None:
        raise Refusal(_not_all_utf8(called, place))
    raise Refusal(_not_as_it_looks(called, name, place))


def _sides_of_zeros(start: bytes) -> str | None:
    """The UTF-16 that text without a mark is in: of its two bytes a character, one is mostly 0."""
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) <= _ZEROS * len(start) or min(even, odd) > _ZEROS * max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _unmarked(data: bytes, error: UnicodeDecodeError, called: str) -> Iterator[tuple[str, str]]:
    """What text that is not UTF-8 may be; refuses what is UTF-8 but for a few bytes."""
    text = data.decode(errors="replace")
    broken = text.count("\ufffd")
    if sum(char > "\x7f" for char in text) - broken > broken:
        raise Refusal(_not_all_utf8(called, error.start)) from error
    yield "cp1252", "Windows-1252"
    yield "latin-1", "Latin-1"  # takes any bytes


def _checked(data: bytes, called: str) -> bytes:
    if b"\0" in data:
        raise Refusal(_binary(called))
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise Refusal(_not_all_utf8(called, error.start)) from error
    return data


def _recoded(data: bytes, codec: str, name: str, called: str) -> bytes:
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        if name == "Windows-1252":
            raise
        raise Refusal(_not_as_it_looks(called, name, error.start)) from error
    if _CONTROL.search(text, 0, _START):
        raise Refusal(_binary(called))
    return text.encode()


def _binary(called: str) -> str:
    return (
        f"{called} holds binary data, not text; a table is needed. If it is a spreadsheet, save it "
        "as CSV or .xlsx."
    )


def _not_as_it_looks(called: str, name: str, place: int) -> str:
    return (
        f"{called} looks like {name} text, but its byte {place:,} is not. Save it as UTF-8, in a "
        "spreadsheet with 'CSV UTF-8'."
    )


def _not_all_utf8(called: str, place: int) -> str:
    return (
        f"{called} is UTF-8 text, but its byte {place:,} is not. Save it as UTF-8, in a "
        "spreadsheet with 'CSV UTF-8'."
    )
