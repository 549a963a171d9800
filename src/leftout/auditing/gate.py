"""Conditions that an audit has to hold: for tests, releases and continuous integration."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Self

from leftout.auditing.answer import FOUND, NOT_FOUND, Finding, GroupResult
from leftout.auditing.comparison import audited, compare
from leftout.downstream.outcomes import GROUP
from leftout.errors import GateError, InputError, parameter_label
from leftout.text import number, percent


@dataclass(frozen=True, kw_only=True)
class ReleaseGate:
    """What must hold, settled before there is an audit; see :meth:`Audit.check`."""

    fail_on: list[str]
    max_loss: float | None
    max_harm: float | None
    baseline: Any

    @classmethod
    def of(
        cls, fail_on: Any = None, max_loss: Any = None, max_harm: Any = None, baseline: Any = None
    ) -> Self:
        """Refuses what is no condition, and a baseline that nothing can be compared with."""
        for name, most in (("max_loss", max_loss), ("max_harm", max_harm)):
            given = isinstance(most, int | float) and not isinstance(most, bool)
            if most is not None and not (given and 0.0 <= most <= 100.0):
                raise InputError(
                    f"{parameter_label(name, most)} is no number of percentage points; give one "
                    "from 0 to 100."
                )
        codes = fail_on.split(",") if isinstance(fail_on, str) else fail_on or ()
        if baseline is not None and not hasattr(baseline, "intake"):
            baseline, _ = audited(baseline)
        return cls(
            fail_on=[str(code).strip() for code in codes], max_loss=max_loss, max_harm=max_harm,
            baseline=baseline,
        )  # fmt: skip

    def check_codes(self, known: Collection[str]) -> None:
        """Refuse findings that are not asked for."""
        for code in self.fail_on:
            if code not in known:
                raise InputError(
                    f"{parameter_label('fail_on', code)} names no finding of this audit; it has "
                    f"{', '.join(sorted(known))}. Name some of these."
                )

    def check(self, audit: Any) -> None:
        """Raise, with a line for each condition that does not hold."""
        broken = self._broken(audit)
        if broken:
            raise GateError(broken)

    def _broken(self, audit: Any) -> list[str]:
        groups = audit.left_out_groups
        findings = [(finding, "") for finding in audit.findings]
        if not audit.alone:
            findings += [(f, f" (group {g.label})") for g in groups for f in g.findings]
        self.check_codes({finding.code for finding, _ in findings})
        return [
            *(
                f"{parameter_label('fail_on', finding.code)}{whose}: {text}"
                for finding, whose in findings
                if finding.code in self.fail_on and (text := _failed(finding))
            ),
            *(text for group in groups for text in self._measured(group)),
            *self._changed(audit),
        ]

    def _measured(self, group: GroupResult) -> Iterator[str]:
        """Whether a group loses, or pays, too much."""
        found = group.left_out
        who = f"the {GROUP}" if group.alone else f"the {GROUP} {group.label}"
        lost = 100.0 * (found.retained_own.group - found.retained.group)
        if self.max_loss is not None and not lost <= self.max_loss:
            yield (
                f"{parameter_label('max_loss', self.max_loss)}: {who} loses {number(lost)} "
                f"percentage points of its variance: the shared {found.shared} keeps "
                f"{percent(found.retained.group)}, its own would keep "
                f"{percent(found.retained_own.group)}."
            )
        if self.max_harm is None:
            return
        label, harm = parameter_label("max_harm", self.max_harm), group.harm
        if harm is None:
            (why,) = (finding.detail for finding in group.findings if finding.code == "P001")
            yield f"{label}: it was not measured what sharing costs {who}. {why}"
        elif harm.kind == "number":
            yield (
                f"{label}: {harm.target} is a number, so that costs are no percentage points. Name "
                f"a target with classes, or leave {parameter_label('max_harm')} out."
            )
        elif not 100.0 * harm.extra_cost.value <= self.max_harm:
            yield (
                f"{label}: sharing costs {who} {harm.around(harm.extra_cost)} more "
                "wrong predictions than the rest."
            )

    def _changed(self, audit: Any) -> Iterator[str]:
        """What is worse than it was, or otherwise."""
        if self.baseline is not None:
            label = parameter_label("baseline")
            compared = compare(self.baseline, audit)
            yield from (f"{label}: {each.text}" for each in compared.changes if each.worse)


def _failed(finding: Finding) -> str:
    """Why a finding does not pass; "" if it does. What was not looked at is no good news."""
    if finding.status == NOT_FOUND:
        return ""
    if finding.status == FOUND:
        return f"found. {finding.title}. {finding.detail}"
    return f"{finding.status}, which is no pass. {finding.detail}"
