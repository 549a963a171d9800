"""Who does your PCA leave out? Find, without group labels, the rows a shared PCA represents badly.

Names are loaded when they are first used, so that ``import leftout`` costs next to nothing. Where
each lives stands once: in the stub beside this file, which editors and type checkers read as well.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

with open(f"{__file__}i", encoding="utf-8") as _stub:  # from HOME import NAME as NAME
    _WORDS = [line.split() for line in _stub if line.startswith("from ")]
_HOME = {name: home for _, home, _, name, *_ in _WORDS}

__all__ = sorted(["__version__", *_HOME])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'leftout' has no attribute {name!r}")
    home = import_module(_HOME[name])
    is_package = hasattr(home, "__path__")  # of which a module is public
    value = import_module(f"{_HOME[name]}.{name}") if is_package else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
