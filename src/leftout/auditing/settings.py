"""What was asked of an audit, and the command that asks for it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

_DEFAULTS: dict[str, Any] = {
    "n_components": 0.8,
    "min_group_size": None,
    "group_size": "evidence",
    "n_groups": 2,
    "runs": 30,
    "chance": 99,
    "sample": None,
    "random_state": 0,
    "rows": 0,
}
_OPTIONS = {
    "categorical": "--categorical",
    "drop": "--drop",
    "sensitive": "--sensitive",
    "n_components": "--dims",
    "min_group_size": "--min-size",
    "group_size": "--size",
    "n_groups": "--groups",
    "runs": "--runs",
    "chance": "--chance",
    "sample": "--sample",
    "random_state": "--seed",
    "rows": "--rows",
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every choice that a result depends on; threads and folders are none."""

    target: str | None
    positive: Any
    categorical: list[str]
    drop: list[str]
    sensitive: list[str]
    n_components: int | float
    min_group_size: int | float | None
    group_size: int | float | str | None
    n_groups: int
    runs: int
    chance: int
    preset: str | None
    sample: int | None
    random_state: Any
    rows: int
    solver: str
    loss: str
    centering: str
    command: str

    @classmethod
    def of(cls, path: str | None, **given: Any) -> Settings:
        for name in ("categorical", "drop", "sensitive"):
            given[name] = _names(given[name])
        target = given["target"]
        by_name = target is None or np.ndim(target) == 0
        if not by_name:
            given["target"] = str(getattr(target, "name", None) or "target")
        else:
            given["target"] = None if target is None else str(target)
        for name in ("n_components", "min_group_size", "group_size", "positive", "random_state"):
            value = given[name]
            given[name] = value.item() if isinstance(value, np.generic) else value
        seed = given["random_state"]
        given["random_state"] = seed if seed is None or isinstance(seed, int) else repr(seed)
        return cls(**given, command=_command(path, given, by_name))

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def _names(wanted: Iterable[Any] | None) -> list[str]:
    if wanted is None:
        return []
    return [wanted] if isinstance(wanted, str) else [str(name) for name in wanted]


def _command(path: str | None, given: dict[str, Any], by_name: bool) -> str:
    """What to type to have the same again."""
    changed = {
        name: value
        for name, value in given.items()
        if name in _OPTIONS and value != _DEFAULTS.get(name, []) and not _implied(name, given)
    }
    named = [given[key] for key in ("categorical", "drop", "sensitive")]
    free = given["group_size"] is None and given["preset"] is None
    unnamed = given["target"] is not None and not by_name
    odd = free or unnamed or not isinstance(given["random_state"], int)
    if path is None or odd or any(map(_ambiguous, named)):  # there is no option for that
        return _call(path, given, changed)
    words = ["leftout", "audit", f"./{path}" if path.startswith("-") else path]
    if given["target"] is not None:
        value = "" if given["positive"] is None else f"={given['positive']}"
        words += ["--target", given["target"] + value]
    for name, value in changed.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        words += [_OPTIONS[name], text]
    if given["preset"] is not None:
        words += ["--preset", given["preset"]]
    return shlex.join(words)


def _ambiguous(names: list[str]) -> bool:
    """Whether a list with commas would be read as other names."""
    return len(names) > 1 and any("," in name or name != name.strip() for name in names)


def _implied(name: str, given: dict[str, Any]) -> bool:
    """Whether the preset says it."""
    return given["preset"] == "paper" and name in ("group_size", "chance")


def _call(path: str | None, given: dict[str, Any], changed: dict[str, Any]) -> str:
    parts = ["table" if path is None else repr(path)]
    for name in ("target", "positive", "preset"):
        if given[name] is not None:
            parts.append(f"{name}={given[name]!r}")
    parts += [f"{name}={value!r}" for name, value in changed.items()]
    return f"leftout.audit({', '.join(parts)})"
