"""Errors that people can do something about, in the words in which they ask.

People ask by parameters in Python, by options on the command line. Results and refusals name what
to ask for with :func:`parameter_label`. Whoever talks to people in other words than Python's, such
as the command line, says so once, around everything that it does.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class InputError(ValueError):
    """Input or options that cannot be used: what was found, what is needed, what to do."""


class GateError(Exception):
    """Conditions that were asked for do not hold: ``conditions`` has a line for each."""

    def __init__(self, conditions: list[str]) -> None:
        super().__init__("\n".join(conditions))
        self.conditions = conditions


# Called with a parameter's name, and with its value where there is one.
Words = Callable[..., str]


def in_python(name: str, *value: Any) -> str:
    """A parameter, as it stands in a call."""
    if not value:
        return name
    (given,) = value
    scalar = hasattr(given, "item") and not getattr(given, "shape", ())  # NumPy's
    return f"{name}={given.item() if scalar else given!r}"


_LABEL_WORDS: ContextVar[Words] = ContextVar("words", default=in_python)


def parameter_label(name: str, *value: Any) -> str:
    """A parameter, with a value or without, in the words of those who are being talked to.

    >>> parameter_label("n_surrogates", 99), parameter_label("group_size")
    ('n_surrogates=99', 'group_size')
    >>> with asked_by(lambda name, *value: " ".join([f"--{name}", *map(str, value)])):
    ...     parameter_label("n_surrogates", 99)
    '--n_surrogates 99'
    """
    return _LABEL_WORDS.get()(name, *value)


@contextmanager
def asked_by(words: Words) -> Iterator[None]:
    """A context, its threads' tasks included, in which people ask in other words."""
    token = _LABEL_WORDS.set(words)
    try:
        yield
    finally:
        _LABEL_WORDS.reset(token)
