"""What does not go together in the settings of an audit; presets; the call that repeats one."""

from __future__ import annotations

import os
from dataclasses import replace

from leftout.checks import check_choice, check_whole
from leftout.data.files.fetching import bare
from leftout.errors import InputError, parameter_label
from leftout.groups.sizes import check_n_groups, share_of
from leftout.linalg.monte_carlo import can_tell
from leftout.settings import AUTO, EVIDENCE, Settings

# Left-out groups that an audit tells of.
MOST_GROUPS = 9
# What each preset settles by itself, so that it cannot be asked for as well.
_SETTLED = ("group_size", "n_surrogates")
# The paper's protocol, to reproduce it: 2,000 rows, its own search and formula.
PRESETS = {
    "paper": Settings(
        preset="paper", group_size=None, n_surrogates=0, sample=2_000, solver="greedy",
        loss="projection_gap", centering="paper", encoding="target", smooth=0.0,
        full=True,
    )
}  # fmt: skip


def settled(asked: Settings) -> Settings:
    """Settings with what the preset says; refuses what does not go together."""
    for name in ("group_size", "min_group_size"):
        if share_of(getattr(asked, name)) is not getattr(asked, name):
            return settled(replace(asked, **{name: share_of(getattr(asked, name))}))
    for name in ("n_restarts", "n_surrogates", "rows"):
        check_whole(name, getattr(asked, name))
    given = asked.asked()
    if asked.prediction is not None and asked.target is None:
        raise InputError(
            f"{parameter_label('prediction')} is given, but not what it predicts. Name that "
            "column, "
            f"too ({parameter_label('target', 'COLUMN')}), or leave the prediction out."
        )
    if asked.features is not None and asked.pipeline is not None:
        raise InputError(
            f"{parameter_label('features')} and {parameter_label('pipeline')} were both given; "
            "either says what "
            "the representation sees. Give one of them."
        )
    for name in ("pipeline_step", "trust_types"):
        if getattr(asked, name) is not None and asked.pipeline is None:
            raise InputError(
                f"{parameter_label(name, getattr(asked, name))} is about a pipeline, but none "
                "was given. "
                f"Give it ({parameter_label('pipeline')}), or leave that out."
            )
    if asked.preset is not None and (asked.features is not None or asked.pipeline is not None):
        raise InputError(
            f"The preset {asked.preset!r} has an encoding of its own, but features or a "
            "pipeline were given. Leave the preset out."
        )
    check_n_groups(asked.n_groups, asked.group_size)
    if asked.n_groups != 1:
        _check_several(asked)
    if asked.preset is None:
        if asked.encoding == "target" and asked.target is None:
            raise InputError(
                f"{parameter_label('encoding', 'target')} makes categories the target's mean, "
                "but there "
                f"is no target. Name one ({parameter_label('target')}), or leave that out."
            )
        if (asked.quick or not asked.n_surrogates) and asked.group_size == EVIDENCE:
            raise InputError(
                f"{parameter_label('group_size', EVIDENCE)} compares sizes with comparison "
                "tables, but "
                f"none were asked for. Give {parameter_label('n_surrogates', 99)}, or a size: "
                f"{parameter_label('group_size', 200)}."
            )
        return asked
    check_choice("preset", asked.preset, PRESETS)
    for name in _SETTLED:
        if name in given and given[name] != getattr(PRESETS[asked.preset], name):
            raise InputError(
                f"{parameter_label(name, given[name])} was given, but the preset {asked.preset!r} "
                "settles it: its search chooses sizes itself. Leave it out, or the preset."
            )
    preset = replace(PRESETS[asked.preset], **given)
    return preset if preset.target is not None else replace(preset, encoding="free")


def call(asked: Settings, path: str | None) -> str:
    """The words that ask for the same again, on the command line or in Python."""
    if asked.command is not None:
        return asked.command
    plain = asked.to_dict()
    words = ["table" if path is None else repr(bare(path))]
    for name, value in asked.asked().items():
        if isinstance(value, os.PathLike | str):
            plain[name] = bare(os.fspath(value))
        stands = name in ("features", "pipeline", "dictionary") and plain[name] == "given"
        words.append(f"{name}={name if stands else repr(plain[name])}")
    return f"leftout.audit({', '.join(words)})"


def _check_several(asked: Settings) -> None:
    """Refuse what is made for one left-out group."""
    found = parameter_label("n_groups", asked.n_groups)
    if asked.preset is not None:
        raise InputError(
            f"{found} was given, but the preset {asked.preset!r} is a protocol for one left-out "
            f"group. Leave the preset out, or use {parameter_label('n_groups', 1)}."
        )
    if asked.encoding != "free":
        raise InputError(
            f"{found} was given with {parameter_label('encoding', asked.encoding)}, but how far "
            "the "
            "target's means decide who is left out is looked at for one left-out group only. Use "
            f"{parameter_label('encoding', 'free')}, or {parameter_label('n_groups', 1)}."
        )
    if asked.n_groups == AUTO:
        if asked.quick or not can_tell(asked.n_surrogates):
            raise InputError(
                f"{found} counts groups by {parameter_label('n_surrogates', 19)} comparison "
                "tables or more, "
                f"but they were not asked for. Give {parameter_label('n_surrogates', 99)}, without "
                f"{parameter_label('quick', True)}; or a number of groups: "
                f"{parameter_label('n_groups', 2)}."
            )
    elif int(asked.n_groups) > MOST_GROUPS:
        raise InputError(
            f"{found} was given, but an audit tells of up to {MOST_GROUPS} left-out groups and "
            f"the rest. Use {parameter_label('n_groups', MOST_GROUPS)} or less."
        )
    if asked.group_size is not None and asked.group_size == EVIDENCE:
        raise InputError(
            f"{found} was given with {parameter_label('group_size', EVIDENCE)}, which sizes one "
            "left-out "
            f"group. With {parameter_label('n_groups', AUTO)} the evidence counts and sizes "
            "them; otherwise "
            f"give a size for all, or leave {parameter_label('group_size')} out."
        )
