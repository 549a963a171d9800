"""Names, values and numbers as text that says what they are, and nothing else."""

import math
import re
import unicodedata
from decimal import Decimal
from typing import Any

import numpy as np

# Joins emoji; every other invisible character is written out.
_JOINER = "\u200d"
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_AMBIGUOUS = re.compile(r"[<>=]|\b(and|or|is missing|is known)\b|^\s|\s$|^$|^(?i:others?|none)$")
_LIKE_A_NUMBER = re.compile(r"[+-]?[\d.,]*\d[\d.,]*%?")
# Longer names and values are cut: nobody reads them, and a report may hold them many times.
_LONGEST = 120
# Digits beyond which a number is likely to be one of single precision.
_LONG = 12
# Outside of these, the zeros of a number are no longer counted by reading.
_PLAIN_FROM, _PLAIN_BELOW = 1e-9, 1e15
# Losses below this are zero but for rounding: an audit's features lie between 0 and 1.
ZERO_LOSS = 1e-12
# Of a longer list, so many are shown.
_LEADING = 3
_SECOND = 1e6  # dates are in microseconds
_DAY = 86_400 * _SECOND

_PARTS = {
    "half": 1 / 2, "a third": 1 / 3, "a quarter": 1 / 4, "a fifth": 1 / 5, "a tenth": 1 / 10,
    "a twentieth": 1 / 20,
}  # fmt: skip


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


def quoted(value: Any) -> str:
    """What somebody wrote, as Python would have it, in a length and characters to be shown."""
    return shortened(shown(repr(value)))


def unambiguous(value: Any) -> str:
    """A name or value in a sentence: in quotes where it could be read as part of the sentence.

    Also where a character had to be written out, to tell it from a text that reads like that.
    """
    text = str(value)
    unclear = _AMBIGUOUS.search(text) or shown(text) != text
    return shown(repr(text) if unclear else text)


def as_name(name: Any) -> str:
    """The name of a column in a sentence: also in quotes where it could be read as a number.

    >>> as_name("age"), as_name("1"), as_name("2020")
    ('age', "'1'", "'2020'")
    """
    return repr(str(name)) if _LIKE_A_NUMBER.fullmatch(str(name)) else unambiguous(name)


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
            digits = str(single)
    if "e" in digits and abs(value) >= _PLAIN_FROM:
        return format(Decimal(digits), "f")
    return digits


def number(value: float, scale: float | None = None, digits: int = 3) -> str:
    """A number as people read it: three digits that count, thousands in full, no exponent.

    With a ``scale``, the spread of what it is a mean of for example, there is nothing finer than a
    thousandth of that, so that zero but for rounding is zero, and it is as fine as a tenth of it,
    so that what is far from zero can be told apart.

    >>> number(0.0123456), number(1234567.8), number(-6.14e-05)
    ('0.0123', '1,234,568', '-0.0000614')
    >>> number(-6.14e-05, scale=1.0), number(2013.42, scale=1.2)
    ('0', '2,013.4')
    """
    if not np.isfinite(value):
        return "unknown" if np.isnan(value) else "-infinite" if value < 0 else "infinite"
    place = _size(value) - (digits - 1)
    if scale is not None and 0.0 < scale < np.inf:
        if abs(value) < scale / 1000.0:
            return "0"
        place = min(max(place, _size(scale) - 3), _size(scale) - 1)
    text = f"{value:,.{max(0, -place)}f}"
    if not text.strip("-0.,"):
        return "0"
    if not _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        parts, power = f"{value:.{digits - 1}e}".split("e")
        return f"{_bare(parts)} \u00d7 10^{int(power)}"
    return _bare(text)


def _size(value: float) -> int:
    """The power of ten of the first digit."""
    return Decimal(float(value)).adjusted() if value else 0


def _bare(text: str) -> str:
    """A number without zeros at the end of its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def points(share: float) -> str:
    """A share in hundredths, without the sign: nothing finer than a hundredth of one.

    >>> points(0.036), points(0.12345), points(1.0), points(3e-7)
    ('3.6', '12.3', '100', '0')
    """
    return number(100.0 * share, scale=10.0)


def percent(share: float, digits: int = 0) -> str:
    """A share as per cent, never a negative zero.

    >>> percent(0.842), percent(0.842, 1), percent(-1e-9)
    ('84%', '84.2%', '0%')
    """
    return f"{round(100 * share, digits) + 0.0:.{digits}f}%"


def percents(*shares: float) -> list[str]:
    """Shares as per cent, in whole ones, or in tenths where whole ones would hide a difference.

    >>> percents(0.842, 0.659), percents(0.981, 0.984)
    (['84%', '66%'], ['98.1%', '98.4%'])
    """
    whole = [percent(share) for share in shares]
    if len(set(whole)) == len({round(share, 4) for share in shares}):
        return whole
    return [percent(share, 1) for share in shares]


def bounds_of(count: int, of: int, fewest: int) -> tuple[int, int]:
    """A count twice; or, where it or what it leaves is a small cell, ends that it lies between.

    >>> [bounds_of(count, 34, 10) for count in (0, 4, 20, 30, 34)]
    [(0, 0), (0, 10), (20, 20), (24, 34), (34, 34)]
    """
    if not 0 < count < of or fewest <= count <= of - fewest:
        return count, count
    return (0, min(fewest, of)) if count < fewest else (of - fewest, of)


def rows_between(low: int, high: int) -> int | str:
    """A count of rows that lies between two ends, as far as these tell it.

    >>> rows_between(20, 20), rows_between(0, 10), rows_between(24, 34)
    (20, 'fewer than 10', '24 to 34')
    """
    if low == high:
        return low
    return f"{low:,} to {high:,}" if low > 0 else f"fewer than {high:,}"


def share_between(low: float, high: float) -> float | str:
    """A share that lies between two ends, as far as these tell it: rounded outwards.

    >>> share_between(0.5, 0.5), share_between(24 / 34, 1.0), share_between(0.0, 10 / 34)
    (0.5, 'at least 70%', 'at most 30%')
    """
    if low == high:
        return low
    least, most = math.floor(100 * low), math.ceil(100 * high)
    if least <= 0:
        return f"at most {most}%" if most < 100 else "some"
    return f"at least {least}%" if most >= 100 else f"{least}% to {most}%"


def shown_share(share: float | str) -> str:
    """A share as per cent, or what is said of it in words."""
    return share if isinstance(share, str) else percent(share)


def part_of(share: float) -> str:
    """A share of all in words where there is one: a tenth, 7%."""
    for name, value in _PARTS.items():
        if abs(share - value) <= 0.02 * value:
            return name
    return f"{number(100 * share, digits=2)}%"


def date(value: float, spread: float | None = None) -> str:
    """A date, from microseconds since 1970: all of it, or as much as a ``spread`` leaves room for.

    Where dates lie days apart, their mean is a day.

    >>> date(1.3806e15), date(1.3806e15, spread=1e13), date(1.3806e15, spread=1e9)
    ('2013-10-01 04:00:00', '2013-10-01', '2013-10-01 04:00')
    """
    when = np.datetime64(int(value), "us")
    if spread is not None and spread >= 60 * _SECOND:
        when = when.astype("M8[D]" if spread >= _DAY else "M8[m]")
    return str(when).removesuffix(".000000").removesuffix("T00:00:00").replace("T", " ")


def listed(words: list[str], last: str = " and ") -> str:
    """Words as in a sentence: a, b and c."""
    return ", ".join(words[:-1]) + last * (len(words) > 1) + "".join(words[-1:])


def either(words: list[str]) -> str:
    """Words of which one holds: a or b; with commas where these are more, or have an "and"."""
    mixed = any(" and " in word or " or " in word for word in words)
    return listed(words, ", or " if mixed or len(words) > 2 else " or ")


def leading(texts: list[str], between: str = ", ") -> str:
    """The first few of several texts, and how many more there are.

    >>> leading(["a", "b", "c", "d"])
    'a, b, c, and 1 more'
    """
    more = len(texts) - _LEADING
    return between.join(texts[:_LEADING] + [f"and {more:,} more"] * (more > 0))


def counted(number: int, what: str) -> str:
    """A number of things: 1 row, 2 rows."""
    return f"{number:,} {what}" + "s" * (number != 1)
