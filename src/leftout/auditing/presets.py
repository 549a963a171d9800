"""What does not go together in the settings of an audit; presets; the call that repeats one."""

from __future__ import annotations

import os
from collections.abc import Callable, Container
from dataclasses import replace
from typing import NamedTuple

from leftout.checks import check_choice, check_whole
from leftout.errors import InputError, parameter_label
from leftout.groups.sizes import check_n_groups, share_of
from leftout.linalg.significance import can_tell
from leftout.settings import AUTO, EFFORTS, EVIDENCE, TENTH, Settings

# Most left-out groups of an audit.
MOST_GROUPS = 9
# The paper's protocol, to reproduce it: 2,000 rows, its own search and formula. Evidence, names and
# costs are not of the paper: the first answer is all.
PRESETS = {
    "paper": Settings(
        preset="paper", group_size=None, n_surrogates=0, sample=2_000, solver="greedy",
        loss="projection_gap", centering="paper", encoding="target", smooth=0.0, quick=True,
    )
}  # fmt: skip


class _Clash(NamedTuple):
    """Two settings that do not go together, why, and when: by default where both are given."""

    one: str
    other: str
    why: str
    when: Callable[[Settings], bool] | None = None

    def holds(self, asked: Settings, given: Container[str]) -> bool:
        if self.when is not None:
            return self.when(asked)
        return self.one in given and self.other in given

    def sentence(self, asked: Settings) -> str:
        one, other = (_as_asked(asked, name) for name in (self.one, self.other))
        return f"{one} was given with {other}, but {self.why}. Leave one of them out."


_ENCODED = "the preset has an encoding of its own"
_SIZED = "its search chooses sizes itself"
_COUNTED = "groups are counted by surrogate tables, 19 of them or more"
_COMPARED = "sizes are compared by surrogate tables"
_CLASHES = (
    _Clash("features", "pipeline", "either says what the representation sees"),
    _Clash("preset", "features", _ENCODED),
    _Clash("preset", "pipeline", _ENCODED),
    _Clash("preset", "n_groups", "it is a protocol for one left-out group"),
    _Clash("preset", "group_size", _SIZED,
           lambda s: s.preset is not None and s.group_size not in (None, TENTH)),
    _Clash("preset", "n_surrogates", _SIZED,
           lambda s: s.preset is not None and s.n_surrogates not in (0, 99)),
    _Clash("rows", "min_cell", "rows that are shown are single ones; if these may be handed on, "
           "switch that off with 0", lambda s: s.rows != 0 and s.min_cell > 1),
    _Clash("n_groups", "encoding", "how far the target's means decide who is left out is looked at "
           "for one group alone"),
    _Clash("n_groups", "group_size", "that sizes one left-out group; auto sizes groups by the "
           "evidence, too", lambda s: s.n_groups != 1 and s.group_size == EVIDENCE),
    _Clash("n_groups", "quick", _COUNTED, lambda s: s.n_groups == AUTO and s.quick),
    _Clash("n_groups", "n_surrogates", _COUNTED,
           lambda s: s.n_groups == AUTO and not can_tell(s.n_surrogates)),
    _Clash("weights", "n_groups", "rows with weights are searched for one left-out group"),
    _Clash("weights", "group_size", "evidence for sizes counts every row once",
           lambda s: s.weights is not None and s.group_size == EVIDENCE),
    _Clash("weights", "encoding", "the target's means count every row once"),
    _Clash("weights", "preset", "it counts every row once"),
    _Clash("group_size", "quick", _COMPARED, lambda s: s.group_size == EVIDENCE and s.quick),
    _Clash("group_size", "n_surrogates", _COMPARED,
           lambda s: s.group_size == EVIDENCE and not s.n_surrogates),
)  # fmt: skip
# What says nothing without another setting.
_NEEDED = {
    "prediction": ("target", "that it predicts"),
    "pipeline_step": ("pipeline", "that it is of"),
    "trust_types": ("pipeline", "that holds them"),
    "encoding": ("target", "whose means categories become"),
}


def settled(asked: Settings) -> Settings:
    """Settings with what the preset says; refuses what does not go together."""
    shares = {name: share_of(getattr(asked, name)) for name in ("group_size", "min_group_size")}
    asked = replace(asked, **shares)
    for name in ("n_restarts", "n_surrogates", "rows", "min_cell"):
        check_whole(name, getattr(asked, name))
    check_choice("effort", asked.effort, EFFORTS)
    check_n_groups(asked.n_groups, asked.group_size)
    given = asked.asked()
    for clash in _CLASHES:
        if clash.holds(asked, given):
            raise InputError(clash.sentence(asked))
    for name, (needed, why) in _NEEDED.items():
        if name in given and needed not in given:
            raise InputError(
                f"{_as_asked(asked, name)} was given without the {needed} {why}. Give that, too "
                f"({parameter_label(needed)}), or leave the former out."
            )
    if asked.n_groups != AUTO and int(asked.n_groups) > MOST_GROUPS:
        raise InputError(
            f"{_as_asked(asked, 'n_groups')} was given, but an audit tells of up to {MOST_GROUPS} "
            f"left-out groups and the rest. Use {parameter_label('n_groups', MOST_GROUPS)} or less."
        )
    if asked.preset is None:
        return asked
    check_choice("preset", asked.preset, PRESETS)
    preset = replace(PRESETS[asked.preset], **given)
    return preset if preset.target is not None else replace(preset, encoding="free")


def _as_asked(asked: Settings, name: str) -> str:
    """A setting as people asked for it, with its value where that can be shown."""
    value = getattr(asked, name)
    return parameter_label(name, *([value] if isinstance(value, str | int | float) else []))


def call(asked: Settings, path: str | None) -> str:
    """The words that ask for the same again, on the command line or in Python."""
    if asked.command is not None:
        return asked.command
    plain = asked.to_dict()
    words = ["table" if path is None else repr(path)]
    for name, value in asked.asked().items():
        if isinstance(value, os.PathLike | str):
            plain[name] = os.fspath(value)
        stands = name in ("features", "pipeline", "dictionary") and plain[name] == "given"
        words.append(f"{name}={name if stands else repr(plain[name])}")
    return f"leftout.audit({', '.join(words)})"
