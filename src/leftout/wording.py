"""Names, values and numbers as text that says what they are, and nothing else."""

import re
import unicodedata
from typing import Any

import numpy as np

# Joins emoji; every other invisible character is written out.
_JOINER = "\u200d"
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_AMBIGUOUS = re.compile(r"[<>=]|\b(and|or|is missing|is known)\b|^\s|\s$|^$")
# Longer names and values are cut: nobody reads them, and a report may hold them many times.
_LONGEST = 120
# Digits beyond which a number is likely to be one of single precision.
_LONG = 12


def shown(value: Any) -> str:
    """Text that shows every character: what would move the cursor or hide is written out."""
    return "".join(
        char
        if char == _JOINER or unicodedata.category(char) not in _INVISIBLE
        else char.encode("unicode_escape").decode()
        for char in str(value)
    )


def shortened(text: str) -> str:
    """Text of a length that can be shown."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 40]}\u2026 ({len(text):,} characters)"


def unambiguous(value: Any) -> str:
    """A name or value in a sentence: in quotes where it could be read as part of the sentence.

    Also where a character had to be written out, to tell it from a text that reads like that.
    """
    text = str(value)
    quoted = _AMBIGUOUS.search(text) or shown(text) != text
    return shown(repr(text) if quoted else text)


def shortest(value: float) -> str:
    """A number in as few digits as tell it apart from others; whole ones without a point.

    A long number that single precision holds exactly came from there, and has its digits.
    """
    if value.is_integer():
        return str(int(value)) if abs(value) < 1e16 else repr(float(value))
    digits = repr(float(value))
    if len(digits) > _LONG:
        with np.errstate(over="ignore", under="ignore"):
            single = np.float32(value)
        if float(single) == value:
            return str(single)
    return digits


def listed(words: list[str]) -> str:
    """Words as in a sentence: a, b and c."""
    return ", ".join(words[:-1]) + " and " * (len(words) > 1) + "".join(words[-1:])


def counted(number: int, what: str) -> str:
    """A number of things: 1 row, 2 rows."""
    return f"{number:,} {what}" + "s" * (number != 1)
