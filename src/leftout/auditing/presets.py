"""What does not go together in the settings of an audit; presets; the call that repeats one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from leftout.checks import check_choice, check_whole
from leftout.errors import InputError, parameter_label
from leftout.groups.sizes import check_n_groups, share_of
from leftout.linalg.significance import can_tell
from leftout.settings import AUTO, EFFORTS, EVIDENCE, Settings

# Most left-out groups of an audit.
MOST_GROUPS = 9
# What each preset settles by itself, so that it cannot be asked for as well.
_SETTLED = ("group_size", "n_surrogates")
# The paper's protocol, to reproduce it: 2,000 rows, its own search and formula. Evidence, names and
# costs are not of the paper: the first answer is all.
PRESETS = {
    "paper": Settings(
        preset="paper", group_size=None, n_surrogates=0, sample=2_000, solver="greedy",
        loss="projection_gap", centering="paper", encoding="target", smooth=0.0, quick=True,
    )
}  # fmt: skip


def settled(asked: Settings) -> Settings:
    """Settings with what the preset says; refuses what does not go together."""
    shares = {name: share_of(getattr(asked, name)) for name in ("group_size", "min_group_size")}
    asked = replace(asked, **shares)
    for name in ("n_restarts", "n_surrogates", "rows", "min_cell"):
        check_whole(name, getattr(asked, name))
    check_choice("effort", asked.effort, EFFORTS)
    check_n_groups(asked.n_groups, asked.group_size)
    for why in _clashes(asked):
        raise InputError(why)
    if asked.preset is None:
        return asked
    check_choice("preset", asked.preset, PRESETS)
    given = asked.asked()
    for name in _SETTLED:
        if name in given and given[name] != getattr(PRESETS[asked.preset], name):
            raise InputError(
                f"{parameter_label(name, given[name])} was given, but the preset {asked.preset!r} "
                "settles it: its search chooses sizes itself. Leave it out, or the preset."
            )
    preset = replace(PRESETS[asked.preset], **given)
    return preset if preset.target is not None else replace(preset, encoding="free")


def _clashes(asked: Settings) -> Iterator[str]:
    """What does not go together in some settings, and what to do."""
    label, preset = parameter_label, asked.preset
    if asked.prediction is not None and asked.target is None:
        yield (
            f"{label('prediction')} is given, but not what it predicts. Name that column, too "
            f"({label('target', 'COLUMN')}), or leave the prediction out."
        )
    if asked.features is not None and asked.pipeline is not None:
        yield (
            f"{label('features')} and {label('pipeline')} were both given; either says what the "
            "representation sees. Give one of them."
        )
    for name in ("pipeline_step", "trust_types"):
        if getattr(asked, name) is not None and asked.pipeline is None:
            yield (
                f"{label(name, getattr(asked, name))} is about a pipeline, but none was given. "
                f"Give it ({label('pipeline')}), or leave that out."
            )
    if preset is not None and (asked.features is not None or asked.pipeline is not None):
        yield (
            f"The preset {preset!r} has an encoding of its own, but features or a pipeline were "
            "given. Leave the preset out."
        )
    if asked.rows and asked.min_cell > 1:
        yield (
            f"{label('rows', asked.rows)} shows single rows, but nothing of fewer than "
            f"{asked.min_cell} rows is to be told. If these may be handed on, add "
            f"{label('min_cell', 0)}; or leave the rows out."
        )
    if asked.n_groups != 1:
        yield from _made_for_one_group(asked)
    if preset is None and asked.encoding == "target" and asked.target is None:
        yield (
            f"{label('encoding', 'target')} makes categories the target's mean, but there is no "
            f"target. Name one ({label('target')}), or leave that out."
        )
    untested = preset is None and (asked.quick or not asked.n_surrogates)
    if untested and asked.group_size == EVIDENCE:
        yield (
            f"{label('group_size', EVIDENCE)} compares sizes with surrogate tables, but none were "
            f"asked for. Give {label('n_surrogates', 99)}, or a size: {label('group_size', 200)}."
        )


def _made_for_one_group(asked: Settings) -> Iterator[str]:
    """What several left-out groups do not go together with."""
    label = parameter_label
    found, one = label("n_groups", asked.n_groups), label("n_groups", 1)
    if asked.preset is not None:
        yield (
            f"{found} was given, but the preset {asked.preset!r} is a protocol for one left-out "
            f"group. Leave the preset out, or use {one}."
        )
    if asked.encoding != "free":
        yield (
            f"{found} was given with {label('encoding', asked.encoding)}, but how far the target's "
            "means decide who is left out is looked at for one left-out group only. Use "
            f"{label('encoding', 'free')}, or {one}."
        )
    if asked.n_groups == AUTO and (asked.quick or not can_tell(asked.n_surrogates)):
        yield (
            f"{found} counts groups by {label('n_surrogates', 19)} surrogate tables or more, but "
            f"they were not asked for. Give {label('n_surrogates', 99)}, without "
            f"{label('quick', True)}; or a number of groups: {label('n_groups', 2)}."
        )
    if asked.n_groups != AUTO and int(asked.n_groups) > MOST_GROUPS:
        yield (
            f"{found} was given, but an audit tells of up to {MOST_GROUPS} left-out groups and "
            f"the rest. Use {label('n_groups', MOST_GROUPS)} or less."
        )
    if asked.group_size == EVIDENCE:
        yield (
            f"{found} was given with {label('group_size', EVIDENCE)}, which sizes one left-out "
            f"group. With {label('n_groups', AUTO)} the evidence counts and sizes them; otherwise "
            f"give a size for all, or leave {label('group_size')} out."
        )


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
