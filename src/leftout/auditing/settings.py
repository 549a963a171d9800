"""What is asked of an audit: the one input that Python, the command line and a form share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from leftout.asking import asking
from leftout.checks import Refusal, check_choice, check_whole
from leftout.core.ranks import can_tell
from leftout.evidence.trusting import EVIDENCE
from leftout.search.several import AUTO, check_n_groups
from leftout.search.sizes import TENTH, share_of
from leftout.tables.files.fetching import bare
from leftout.tables.said.reading import Reading

# Sides that an audit tells of, the rest among them.
MOST_SIDES = 10
# What each preset settles by itself, so that it cannot be asked for as well.
_SETTLED = ("group_size", "chance")


@dataclass(frozen=True, kw_only=True)
class Settings(Reading):
    """Every choice that a result depends on; threads and folders are not among them.

    How the table is read, and the other parameters of :func:`leftout.audit`. ``solver``, ``loss``,
    ``centering`` and ``smooth`` come from a preset. ``command`` are the words of the command line,
    where there was one.
    """

    features: Any = None
    pipeline: Any = None
    pipeline_step: str | None = None
    trust_types: Sequence[str] | None = None
    n_components: int | float = 0.8
    min_group_size: int | float | None = None
    group_size: int | float | str | Sequence[int | float] | None = TENTH
    n_groups: int | str = 2
    runs: int = 30
    chance: int = 99
    quick: bool = False
    preset: str | None = None
    sample: int | None = None
    random_state: Any = 0
    rows: int = 0
    solver: str = "alternating"
    loss: str = "excess"
    centering: str = "global"
    command: str | None = None

    def settled(self) -> Settings:
        """Checked, with what the preset says; refuses what does not go together."""
        for name in ("group_size", "min_group_size"):
            if share_of(getattr(self, name)) is not getattr(self, name):
                return replace(self, **{name: share_of(getattr(self, name))}).settled()
        for name in ("runs", "chance", "rows"):
            check_whole(name, getattr(self, name))
        asked = self.asked()
        if self.prediction is not None and self.target is None:
            raise Refusal(
                f"{asking('prediction')} is given, but not what it predicts. Name that column, "
                f"too ({asking('target', 'COLUMN')}), or leave the prediction out."
            )
        if self.features is not None and self.pipeline is not None:
            raise Refusal(
                f"{asking('features')} and {asking('pipeline')} were both given; either says what "
                "the representation sees. Give one of them."
            )
        for name in ("pipeline_step", "trust_types"):
            if getattr(self, name) is not None and self.pipeline is None:
                raise Refusal(
                    f"{asking(name, getattr(self, name))} is about a pipeline, but none was given. "
                    f"Give it ({asking('pipeline')}), or leave that out."
                )
        if self.preset is not None and (self.features is not None or self.pipeline is not None):
            raise Refusal(
                f"The preset {self.preset!r} has an encoding of its own, but features or a "
                "pipeline were given. Leave the preset out."
            )
        check_n_groups(self.n_groups, self.group_size)
        if self.n_groups != 2:
            _check_several(self)
        if self.preset is None:
            if self.encoding == "target" and self.target is None:
                raise Refusal(
                    f"{asking('encoding', 'target')} makes categories the target's mean, but there "
                    f"is no target. Name one ({asking('target')}), or leave that out."
                )
            if (self.quick or not self.chance) and self.group_size == EVIDENCE:
                raise Refusal(
                    f"{asking('group_size', EVIDENCE)} compares sizes with comparison tables, but "
                    f"none were asked for. Give {asking('chance', 99)}, or a size: "
                    f"{asking('group_size', 200)}."
                )
            return self
        check_choice("preset", self.preset, PRESETS)
        for name in _SETTLED:
            if name in asked and asked[name] != getattr(PRESETS[self.preset], name):
                raise Refusal(
                    f"{asking(name, asked[name])} was given, but the preset {self.preset!r} "
                    "settles it: its search chooses sizes itself. Leave it out, or the preset."
                )
        settled = replace(PRESETS[self.preset], **asked)
        return settled if settled.target is not None else replace(settled, encoding="free")

    def asked(self) -> dict[str, Any]:
        """The choices that differ from the defaults."""
        given = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: value
            for name, (value, usual) in given.items()
            if value is not usual
            and (name in ("features", "pipeline") or np.ndim(value) > 0 or value != usual)
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain data: a column by its name, a seed as it was given."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("categorical", "numeric", "drop", "sensitive"):
            data[name] = _names(data[name])
        data["missing"] = _values(self.missing)
        for name in ("features", "pipeline"):
            given = data[name]
            if isinstance(given, str | os.PathLike):
                data[name] = os.path.basename(given)
            elif given is not None:
                data[name] = "given"
        if not isinstance(self.dictionary, str | os.PathLike | None):
            data["dictionary"] = "given"
        elif self.dictionary is not None:
            data["dictionary"] = os.path.basename(self.dictionary)
        for name in ("target", "prediction"):
            given = data[name]
            if given is not None and np.ndim(given):
                data[name] = getattr(given, "name", None) or name
            data[name] = None if given is None else str(data[name])
        seed = self.random_state
        data["random_state"] = seed if seed is None or isinstance(seed, int) else repr(seed)
        return data

    def call(self, path: str | None) -> str:
        """The words that ask for the same again, on the command line or in Python."""
        if self.command is not None:
            return self.command
        plain = self.to_dict()
        words = ["table" if path is None else repr(bare(path))]
        for name, value in self.asked().items():
            if isinstance(value, os.PathLike | str):
                plain[name] = bare(os.fspath(value))
            stands = name in ("features", "pipeline", "dictionary") and plain[name] == "given"
            words.append(f"{name}={name if stands else repr(plain[name])}")
        return f"leftout.audit({', '.join(words)})"


def _check_several(asked: Settings) -> None:
    """Refuse what is made for one left-out group."""
    found = asking("n_groups", asked.n_groups)
    if asked.preset is not None:
        raise Refusal(
            f"{found} was given, but the preset {asked.preset!r} is a protocol for one left-out "
            f"group. Leave the preset out, or use {asking('n_groups', 2)}."
        )
    if asked.encoding != "free":
        raise Refusal(
            f"{found} was given with {asking('encoding', asked.encoding)}, but how far the "
            "target's means decide who is left out is looked at for one left-out group only. Use "
            f"{asking('encoding', 'free')}, or {asking('n_groups', 2)}."
        )
    if asked.n_groups == AUTO:
        if asked.quick or not can_tell(asked.chance):
            raise Refusal(
                f"{found} counts groups by {asking('chance', 19)} comparison tables or more, but "
                f"they were not asked for. Give {asking('chance', 99)}, without "
                f"{asking('quick', True)}; or a number of groups: {asking('n_groups', 3)}."
            )
    elif int(asked.n_groups) > MOST_SIDES:
        raise Refusal(
            f"{found} was given, but an audit tells of up to {MOST_SIDES - 1} left-out groups and "
            f"the rest. Use {asking('n_groups', MOST_SIDES)} or less."
        )
    if asked.group_size is not None and asked.group_size == EVIDENCE:
        raise Refusal(
            f"{found} was given with {asking('group_size', EVIDENCE)}, which sizes one left-out "
            f"group. With {asking('n_groups', AUTO)} the evidence counts and sizes them; otherwise "
            f"give a size for all, or leave {asking('group_size')} out."
        )


DEFAULT = Settings()
# The paper's protocol, to reproduce it: 2,000 rows, its own search and formula.
PRESETS = {
    "paper": Settings(
        preset="paper", group_size=None, chance=0, sample=2_000, solver="greedy",
        loss="projection_gap", centering="paper", encoding="target", smooth=0.0,
    )
}  # fmt: skip


def _names(wanted: Iterable[Any] | None) -> list[str]:
    if wanted is None:
        return []
    return [wanted] if isinstance(wanted, str) else [str(name) for name in wanted]


def _values(missing: Any) -> list[str]:
    """Values that stand for nothing, as on the command line: VALUE or COLUMN=VALUE."""
    if missing is None or isinstance(missing, str):
        return [] if missing is None else [missing]
    if isinstance(missing, Mapping):
        several = {name: v if np.ndim(v) else [v] for name, v in missing.items()}
        return [str(v) if n is None else f"{n}={v}" for n, more in several.items() for v in more]
    return [str(value) for value in (missing if np.ndim(missing) else [missing])]
