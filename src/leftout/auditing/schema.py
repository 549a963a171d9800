"""The JSON schema of audit.json, from the types of the results that it is made of."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from inspect import cleandoc
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np
import pandas as pd

from leftout.auditing.result import SCHEMA_VERSION, Audit
from leftout.files import Serializable

_NUMERIC_TYPES = ("number", "boolean")
_PLAIN = {str: "string", int: "integer", bool: "boolean", type(None): "null"}
_LIST_TYPES = (list, tuple, Iterable, Sequence)


def schema() -> dict[str, Any]:
    """The JSON schema of audit.json: what each key holds."""
    made = _Schema()
    whole = made.object_of(Audit)
    whole["properties"]["schema_version"] |= {"const": SCHEMA_VERSION}
    whole["required"].remove("scale")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "audit.json",
        **whole,
        "$defs": {name: made.defs[name] for name in sorted(made.defs)},
    }


class _Schema:
    """Schemas of types; those of classes are kept as definitions."""

    def __init__(self) -> None:
        self.defs: dict[str, dict[str, Any]] = {}
        self.kinds: dict[str, Any] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        origin, args = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return {**self.of(args[0]), "description": args[1]}
        if origin is NotRequired:
            return self.of(args[0])
        if origin in (Union, types.UnionType):
            return _either([self.of(each) for each in args])
        if origin is Literal:
            return {"enum": list(args)}
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if kind is float or isinstance(kind, TypeVar) or _is(kind, np.floating):
            return {"type": ["number", "null"]}  # what is not finite is null
        if origin in _LIST_TYPES:
            return {"type": "array", "items": self.of(args[0])}
        if origin in (dict, Mapping) or kind is dict:
            inner = self.of(args[1]) if args else {}
            return {"type": "object", "additionalProperties": inner}
        if origin is np.ndarray:
            return {"type": "array", "items": {"type": [*_NUMERIC_TYPES, "null", "array"]}}
        return self._class(origin or kind)

    def _class(self, kind: Any) -> dict[str, Any]:
        if not (is_dataclass(kind) or is_typeddict(kind) or hasattr(kind, "_fields")):
            return {}
        name = kind.__name__.lstrip("_")
        if name not in self.defs:
            self.kinds[name], self.defs[name] = kind, {}  # it may hold itself
            self.defs[name] = self.object_of(kind)
        if self.kinds[name] is not kind:
            raise TypeError(f"Two classes are called {name}: a definition can be of one.")
        return {"$ref": f"#/$defs/{name}"}

    def object_of(self, kind: Any) -> dict[str, Any]:
        """A class by the keys that it writes, with what it says of them."""
        words = _prose(re.split(r"\n\s*(?:Attributes|Parameters)\n", kind.__doc__ or "")[0])
        made = {"type": "object"} | ({"description": words} if words else {})
        hints, about = _hints(getattr(kind, "record", None) or kind), _described(kind)
        each = {
            name: ({"description": about[name]} if name in about else {}) | self.of(inner)
            for name, inner in hints.items()
        }
        required = [name for name in each if get_origin(hints[name]) is not NotRequired]
        return {**made, "properties": each, "required": required, "additionalProperties": False}


def _is(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)


def _either(each: list[dict[str, Any]]) -> dict[str, Any]:
    """One of several schemas: of types alone, a list of them."""
    if all(set(one) == {"type"} for one in each):
        names = [name for one in each for name in np.atleast_1d(one["type"]).tolist()]
        return {"type": list(dict.fromkeys(names))}
    return {"anyOf": each}


def _hints(kind: Any) -> dict[str, Any]:
    """What a class says in JSON: its fields, or those and properties that a result names."""
    if not is_dataclass(kind):
        return get_type_hints(kind, include_extras=True)
    hints = get_type_hints(kind, localns={"pd": pd}, include_extras=True)
    return {
        key: hints[name] if name in hints else _returned(kind, name)
        for key, name in _keys(kind).items()
    }


def _keys(kind: Any) -> dict[str, str]:
    """What a class writes: each key, and the attribute that it holds."""
    if _is(kind, Serializable):
        return dict(kind.keys())
    return {each.name: each.name for each in fields(kind)} if is_dataclass(kind) else {}


def _returned(kind: Any, name: str) -> Any:
    """The type of a property."""
    found = getattr(kind, name)
    made = found.fget if isinstance(found, property) else found.func
    return get_type_hints(made)["return"]


def _prose(text: str) -> str:
    """A docstring's words for readers of JSON: null for None and nan, names without their roles."""
    return re.sub(r":\w+:(?=`)", "", re.sub(r"\b(None|nan)\b", "null", " ".join(text.split())))


def _described(kind: Any) -> dict[str, str]:
    """What is said of each name: in the class's list of them, of a setting, of a property."""
    text = "\n".join(cleandoc(each.__doc__ or "") for each in reversed(kind.__mro__))
    listed = re.compile(r"^([a-z_0-9, ]+) : [^\n]*\n((?:    [^\n]*\n)+)", re.MULTILINE)
    found = {
        name: _prose(match[2])
        for match in listed.finditer(f"{text}\n")
        for name in match[1].split(", ")
    }
    for key, name in _keys(kind).items():
        shown = getattr(kind, name, None)
        if name in found:
            found[key] = found[name]
        elif isinstance(shown, property | cached_property) and shown.__doc__:
            found[key] = _prose(shown.__doc__.partition("\n\n")[0])
    for each in fields(kind) if is_dataclass(kind) else ():
        if "setting" in each.metadata:
            found[each.name] = each.metadata["setting"].help
    return found
