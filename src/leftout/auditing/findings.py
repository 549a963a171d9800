"""What an audit asks: each question with its code, when it is answered with yes, and its sentence.

A question is a function of the audit, or of the audit and one of its groups. It answers with yes,
no, ``None`` where it was not run, or ``not applicable``; with a detail that says why, and what to
do; and with a caution for the first screen, where the answer changes how to read that. ``not
applicable`` and ``not run`` are not good news: nothing was looked at.

Questions are asked in the order in which they stand here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from leftout.auditing.answer import (
    FOUND,
    NOT_APPLICABLE,
    NOT_FOUND,
    NOT_RUN,
    Finding,
    GroupResult,
    answer_of,
)
from leftout.auditing.result import Audit
from leftout.auditing.small_cells import without_small_cells
from leftout.data.encoding import LARGE_INDICATORS
from leftout.data.profiling.column_types import ColumnFacts
from leftout.errors import parameter_label
from leftout.evidence.refit import SAME_GROUP
from leftout.evidence.replication import FEWEST_RUNS
from leftout.evidence.verdict import FEWEST_TABLES, Trust
from leftout.explain.alignment import claims, describe_claims
from leftout.fair.mitigation import NOT_FOR_OTHERS, describe_gap
from leftout.linalg.losses import WIDE
from leftout.linalg.significance import describe_p, describe_small
from leftout.text import as_name, counted, leading, listed, number, percent, points, shown

# Yes, no, None (not run) or a status; the detail; a caution, where there is one.
Answered = tuple[bool | str | None, str] | tuple[bool | str | None, str, str]
# What these say where nothing is left of what they look at, since it is of too few rows.
_NOTHING_SEEN = {"O001": NOT_APPLICABLE, "T004": False, "T007": False}
# Words of column names that a caution has room for.
_SHORT = 5
# Shares of the variance that differ by less are equal.
_EQUAL_SHARES = 1e-9
_FEATURES_GIVEN = (
    "The features were given, or made by a pipeline: how columns were read did not matter."
)


class Question(NamedTuple):
    """A code, what is asked, as a statement, of what, and how that is answered."""

    code: str
    title: str
    of: Literal["audit", "group", "evidence"]
    answer: Callable[..., Answered]

    def ask(self, audit: Audit, group: GroupResult) -> Finding:
        of: dict[str, tuple[Any, ...]] = {
            "audit": (audit,), "group": (audit, group), "evidence": (group.trust,),
        }  # fmt: skip
        given = of[self.of]
        answer = self.answer(*given) if given[0] is not None else (None, audit.skipped)
        answered, detail, *caution = answer
        if self.code in audit.untold and answered == _NOTHING_SEEN[self.code]:
            answered, detail = None, "Too few rows to tell."
        if not isinstance(answered, str):
            answered = NOT_RUN if answered is None else FOUND if answered else NOT_FOUND
        title = self.title.format(
            shared=audit.partition.representation_.name,
            whom="this group" if audit.alone else "these groups",
        )
        return Finding(self.code, answered, title, detail, *caution)


_QUESTIONS: list[Question] = []


def _question(
    code: str, title: str, of: Literal["audit", "group", "evidence"] = "audit"
) -> Callable[[Callable[..., Answered]], None]:
    return lambda answer: _QUESTIONS.append(Question(code, title, of, answer))


def with_findings(found: Audit, skipped: str) -> Audit:
    """The audit with its questions, their answers, and what it says of each group.

    ``skipped``: why there is no evidence, if there is none.
    """
    found = without_small_cells(replace(found, skipped=skipped))
    groups = found.left_out_groups
    if found.alone:
        asked = [each.ask(found, groups[0]) for each in _QUESTIONS if each.code != "G001"]
        found = replace(found, findings=asked)
        return found.each(findings=[asked], answer=[found.answer])
    of_all = [each.ask(found, groups[0]) for each in _QUESTIONS if each.of == "audit"]
    of_each = [each for each in _QUESTIONS if each.of != "audit"]
    return replace(found, findings=of_all).each(
        findings=[[each.ask(found, group) for each in of_each] for group in groups],
        answer=[
            answer_of([each], found.mitigation, harm=each.harm, sampled=found.sampled)
            for each in groups
        ],
    )


def _more_tables() -> str:
    return f"Repeat with {parameter_label('n_surrogates', 99)}."


def _no_sensitive() -> str:
    return (
        f"No column was named as sensitive. Name some: {parameter_label('sensitive', ['A', 'B'])}."
    )


def _no_target() -> str:
    return f"No target was given. Name one: {parameter_label('target', 'COLUMN')}."


@_question("G001", "All left-out groups go beyond surrogate tables")
def _all_beyond_chance(audit: Audit) -> Answered:
    said = "" if audit.counted is None else f"Counted one by one: {audit.counted.summary()} "
    beyond = {
        group.label: (group.trust.beyond_chance, group.trust.p_value)
        for group in audit.left_out_groups
        if group.trust is not None
    }
    tested = [
        f"group {label} {'does' if yes else 'does not'} ({describe_p(p_value)})"
        for label, (yes, p_value) in beyond.items()
        if yes is not None and p_value is not None
    ]
    if len(tested) < len(audit.left_out_groups):
        why = audit.skipped or f"That takes 19 surrogate tables. {_more_tables()}"
        return None, f"{said}{why}"
    return all(yes for yes, _ in beyond.values()), (
        f"{said}Each group is held to what the one of its size and rank loses in surrogate "
        f"tables that are searched for as many: {listed(tested)}."
    )


@_question("D001", "A group loses more than the rest", of="group")
def _gap(audit: Audit, group: GroupResult) -> Answered:
    found, left_out = group.partition, group.left_out
    share = 100 * found.explained_variance_ratio_.sum()
    return left_out.disparity > 0.0, (
        f"A shared {left_out.shared} with {counted(found.n_components_, 'component')} keeps "
        f"{share:.0f}% of the table's variance but {percent(left_out.retained.group)} of this "
        f"group's; its own would keep {percent(left_out.retained_own.group)}. {left_out.text}"
    )


def _with_more_tables(text: str, trust: Trust) -> str:
    return f"{text} {_more_tables()}" if trust.beyond_chance is None else text


@_question("C001", "Copula surrogates rarely lose as much", of="evidence")
def _beyond_copula(trust: Trust) -> Answered:
    return trust.beyond_chance, _with_more_tables(trust.chance_text, trust)


@_question(
    "C002", "Gaussian surrogates with the same correlations rarely lose as much", of="evidence"
)
def _beyond_gaussian(trust: Trust) -> Answered:
    text = _with_more_tables(trust.against_text("gaussian"), trust)
    if trust.p_gaussian is not None and trust.verdict in ("C", "D"):
        return trust.verdict == "C", text
    return None, f"Not needed, as C001 is found. {text}" if trust.beyond_chance else text


@_question("V001", "The left-out rows are a group of their own", of="evidence")
def _distinct(trust: Trust) -> Answered:
    text = _with_more_tables(trust.verdict_says, trust)
    return None if trust.verdict is None else trust.verdict == "A", text


def _no_halves(trust: Trust) -> str:
    halves = (note for note in trust.notes if note.startswith("Halves"))
    return next(halves, "Splits were not asked for.")


@_question("H001", "At least half of the loss replicates on held-out rows", of="evidence")
def _replicates(trust: Trust) -> Answered:
    if trust.held_out is None:
        return None, _no_halves(trust)
    whole = f"Found on all of them, it loses {number(trust.disparity)} more."
    replicates = bool(trust.held_out.gap.low >= trust.disparity / 2.0)
    return replicates, f"{trust.held_out.gap_text} {whole}"


@_question("H002", "Halves of the table, searched apart, name the same rows", of="evidence")
def _halves_agree(trust: Trust) -> Answered:
    if trust.held_out is None:
        return None, _no_halves(trust)
    return trust.held_out.agree, trust.held_out.overlap_text


@_question(
    "B001",
    "Most rows of the group are found in nearly every search of a part of the table",
    of="evidence",
)
def _belongs(trust: Trust) -> Answered:
    found = trust.membership
    if found is None:
        return None, "Parts of the rows were not searched."
    sure = found.n_members > found.n_borderline
    return sure, found.text, "" if sure else "Which rows belong to the group is uncertain."


def _too_few_starts(audit: Audit, group: GroupResult) -> str:
    """Why searches from other starts say nothing; "" where they do."""
    found = group.stability
    if found is not None and found.agrees is not None:
        return ""
    runs = 0 if found is None else len(found.labels)
    skipped = audit.skipped
    if not audit.alone:
        skipped = skipped or (
            "Looked at where there is one left-out group only: halves would have to agree on which "
            "is which."
        )
    if skipped and not runs:
        return skipped
    again = parameter_label("n_restarts", 30)
    return f"Needs {FEWEST_RUNS} runs, got {runs}. Repeat with {again}."


@_question("S001", "Searches from other starts find the same group", of="group")
def _starts_agree(audit: Audit, group: GroupResult) -> Answered:
    too_few, found = _too_few_starts(audit, group), group.stability
    if too_few or found is None:
        return None, too_few
    differ = "" if found.agrees else "Searches from other starts find other groups."
    return found.agrees, found.text, differ


@_question("S002", "Several distinct groups are left out nearly as much", of="group")
def _several_groups(audit: Audit, group: GroupResult) -> Answered:
    too_few, found = _too_few_starts(audit, group), group.stability
    if too_few or found is None:
        return None, too_few
    return found.nearly_equal > 1, found.several_text


@_question("E001", "A short sentence describes the group", of="group")
def _described(audit: Audit, group: GroupResult) -> Answered:
    sentence = group.explanation.sentence
    fits = NOT_APPLICABLE if sentence is None else sentence.describes
    return fits, group.explanation.sentence_text


@_question(
    "A001", "The group looks like a sensitive column that the search did not see", of="group"
)
def _aligned(audit: Audit, group: GroupResult) -> Answered:
    if not audit.intake.sensitive:
        return NOT_APPLICABLE, _no_sensitive()
    explanation = group.explanation
    lines, untold = (
        [line for line in of if not line.searched]
        for of in (explanation.alignment, explanation.untold)
    )
    if not lines and not untold:
        detail = "No sensitive column varies, so there was nothing to compare with."
        return NOT_APPLICABLE, detail
    alike = claims(lines + untold)
    columns = {line.column for line in alike or lines + untold}
    proxies = [line for line in audit.intake.proxies if line.of in columns]
    stand = leading([f"{as_name(p.column)} for {as_name(p.of)}" for p in proxies])
    seen = f" The search saw columns that tell of them: {stand} (A002)." if proxies else ""
    if not alike:
        seen = seen or " Columns that were searched may stand for them."
    return bool(alike), f"{describe_claims(lines, untold)}{seen}"


@_question("O001", "The outcome differs between the group and the rest", of="group")
def _outcome(audit: Audit, group: GroupResult) -> Answered:
    found = group.explanation
    if not found.outcome:
        return NOT_APPLICABLE, _no_target()
    first = found.outcome[0]
    lacking = f" {found.no_outcome_text}".rstrip()
    if first.gap.low != first.gap.low:
        return None, f"Too few rows with a known target: {first}.{lacking}"
    small = f" {describe_small()}" if first.gap.clear and not first.differs else ""
    return first.differs != 0, f"{first}.{small}{lacking}"


@_question("M001", "Fair PCA lowers the largest loss")
def _mitigation(audit: Audit) -> Answered:
    here = audit.mitigation
    sides = len(here.losses_before)
    lower = here.max_loss_after < here.max_loss_before * (1.0 - 1e-9)
    how = "with as many components"
    change = "more" if here.price < -_EQUAL_SHARES else "less"  # less than PCA keeps, never more
    if sides > 2:
        more = f" (in {here.rank} dimensions)" * (here.rank > here.n_components)
        how = f"of all {sides} sides{more}"
    return bool(lower), (
        f"Fair PCA {how} brings {here.losses_text(range(1, sides), ' and')}, and keeps "
        f"{points(abs(here.price))} percentage points {change} of the table's variance; the gap "
        f"to the best possible is {describe_gap(here.gap)}. {NOT_FOR_OTHERS}"
    )


@_question("M002", "Mitigation for {whom} leaves another group as badly off")
def _moved(audit: Audit) -> Answered:
    after = audit.afterwards
    if after is None:
        return None, audit.skipped or audit.no_afterwards
    return after.moved, after.text


@_question("N001", "A subgroup is left out")
def _subgroup(audit: Audit) -> Answered:
    named, shape = audit.named, audit.intake.X.shape
    if named is None:
        return None, audit.skipped
    if not named.names:
        return NOT_APPLICABLE, named.text
    if named.left_out is not None:
        return named.left_out, named.leading_text
    needs = (
        f"Whether a subgroup stands out takes {FEWEST_TABLES} surrogate tables. {_more_tables()}"
    )
    if min(shape) > WIDE:
        needs = (
            f"Whether a subgroup stands out was not tested: with more than {WIDE} features (there "
            f"are {shape[1]:,}) that takes too long. Leave columns aside: "
            f"{parameter_label('drop')}."
        )
    return None, f"{named.leading_text} {needs}"


@_question("K001", "A known group is left out")
def _known(audit: Audit) -> Answered:
    known = audit.known
    if not audit.intake.sensitive:
        return NOT_APPLICABLE, _no_sensitive()
    if known is None and audit.skipped:
        return None, audit.skipped
    if known is None:
        return NOT_APPLICABLE, "No sensitive column has groups that could be compared."
    if not known.measured:
        return NOT_APPLICABLE, known.text
    if known.left_out:
        return True, known.text
    return False, f"{known.text} {known.small_text}".rstrip()


def _no_harm(audit: Audit) -> Answered:
    if audit.intake.target is None:
        return NOT_APPLICABLE, _no_target()
    return None, audit.no_harm or audit.skipped


@_question("P001", "{shared} costs the group more than the rest", of="group")
def _harm(audit: Audit, group: GroupResult) -> Answered:
    if group.harm is None:
        return _no_harm(audit)
    return group.harm.costs_more, group.harm.cost_text


@_question("P002", "Fair PCA gives it back without costing the rest", of="group")
def _gives_back(audit: Audit, group: GroupResult) -> Answered:
    harm = group.harm
    if harm is None:
        return _no_harm(audit)
    return harm.gives_back, harm.return_text() + f" {NOT_FOR_OTHERS}" * harm.gives_back


@_question(
    "P003", "The prediction that is there errs more on the group than on the rest", of="group"
)
def _prediction(audit: Audit, group: GroupResult) -> Answered:
    found, why = group.prediction, group.no_prediction
    if found is not None:
        return found.errs_more, found.text
    if audit.intake.prediction is not None:
        why = why or audit.skipped
    if why:
        return None, why
    named = parameter_label("prediction", "COLUMN")
    return NOT_APPLICABLE, f"No prediction was given. Name its column: {named}."


def _some(columns: list[str]) -> str:
    """One or two columns by their names, more or longer ones by their number."""
    text = listed(list(map(as_name, columns)))
    return text if len(text.split()) <= _SHORT else counted(len(columns), "column")


@_question("T001", "The group changes if numbers that look like codes are categories")
def _codes(audit: Audit) -> Answered:
    intake = audit.intake
    if intake.features is not None:
        return NOT_APPLICABLE, _FEATURES_GIVEN
    if not intake.codes:
        return NOT_APPLICABLE, "No column read as numbers looks like codes."
    columns = [kind.label for kind in intake.codes]
    numbers = (
        f"Read as numbers, though they look like codes: {leading(list(map(as_name, columns)))}."
    )
    other = None if audit.readings is None else audit.readings.as_categories
    if other is None:
        return None, f"{numbers} {audit.skipped or 'Not tried as categories.'}"
    asked = parameter_label("categorical", [intake.called(column) for column in columns])
    detail = (
        f"{numbers} With categories instead ({counted(other.features, 'feature')}) a group of the "
        f"same size shares {percent(other.overlap)} of the rows that either leaves out; from "
        f"{percent(SAME_GROUP)} on they count as one group. To name those that are codes: {asked}."
    )
    if other.overlap >= SAME_GROUP:
        return False, detail
    looks = (
        "looks like a code, is a category"
        if len(columns) == 1
        else ("look like codes, are categories")
    )
    return True, detail, f"Other rows are left out if {_some(columns)}, which {looks}."


@_question("T002", "A searched column gives the outcome away")
def _leaks(audit: Audit) -> Answered:
    leaks = audit.intake.leaks
    if audit.intake.target is None:
        return NOT_APPLICABLE, "No target was given."
    if not leaks:
        return False, "No searched column alone tells the target."
    columns = [audit.intake.called(line.column) for line in leaks]
    detail = (
        f"{leading([line.text.rstrip('.') for line in leaks], '; ')}. Known beforehand, or made "
        "from the outcome? Kept in the search, not in models that predict the target; what is the "
        f"outcome by another name can be left out: {parameter_label('drop', columns)}."
    )
    alone = _some([line.column for line in leaks])
    return True, detail, f"Models of the target do not see {alone}, which alone would give it away."


@_question("T003", "Columns repeat others")
def _copies(audit: Audit) -> Answered:
    copies = audit.intake.copies
    if not copies:
        return False, "No two searched columns say the same."
    seen = leading([line.text.rstrip(".") for line in copies], "; ")
    return True, f"{seen}. Each counts once: the first of them is searched."


@_question("T004", "Values may stand for something else")
def _suspects(audit: Audit) -> Answered:
    suspects = audit.intake.suspects
    if not suspects:
        return (
            False,
            "No value stands apart at the end of a column like 99, -1 or 1900-01-01 would.",
        )
    seen = leading([suspect.text.rstrip(".") for suspect in suspects], ". ")
    first = suspects[0]
    where = f"{as_name(first.column)} is {first.value} in {counted(first.rows, 'row')}"
    return True, f"{seen}.", f"{where}, which may mean it is missing."


@_question("T005", "Missing cells tell who is in the group")
def _missing(audit: Audit) -> Answered:
    intake, blanks = audit.intake, audit.blanks
    indicators = intake.encoder.missing_indicators_
    if intake.features is not None:
        return NOT_APPLICABLE, _FEATURES_GIVEN
    if not indicators and blanks is None:
        return NOT_APPLICABLE, "No searched column has missing cells."
    large = intake.indicator_share > LARGE_INDICATORS
    said = [] if blanks is None else [blanks.text]
    share = f"{100 * intake.indicator_share:.2g}% of the variance"
    said.append(f"{counted(len(indicators), 'missing indicator')}: {share}.")
    if large:
        said.append("The search may find who has not answered rather than who is different.")
    tells = large or blanks is not None and blanks.tells
    return tells, " ".join(said), said[0] if tells else ""


@_question("T006", "Rows are repeated")
def _repeated(audit: Audit) -> Answered:
    repeats = audit.repeats
    if repeats.beyond_chance:
        return True, repeats.text
    rows = repeats.distinct
    if not rows.n_repeated:
        return False, "All rows are distinct."
    return False, (
        f"{counted(rows.n_repeated, 'row')} of {rows.n_rows:,} repeat an earlier one. They are not "
        "taken for copies: rows with few different values may be equal all the same."
    )


@_question("T007", "Cells that are no numbers were taken for missing")
def _strays(audit: Audit) -> Answered:
    odd = [fact for fact in audit.intake.facts if fact.strays]
    if not odd:
        return False, "No column is numbers, or dates, but for some cells."
    asked = parameter_label("categorical", [fact.name for fact in odd])
    detail = (
        f"{leading(list(map(_stray, odd)), '; ')}. These cells count as missing. Correct them in "
        f"the table; or, to keep what is written as categories: {asked}."
    )
    columns = _some([fact.label for fact in odd])
    return True, detail, f"Cells of {columns} that are no numbers count as missing."


def _stray(fact: ColumnFacts) -> str:
    """What a column holds besides what it is."""
    texts = [shown(repr(text)) + f" ({n:,} times)" * (n > 1) for text, n in fact.strays]
    cells = sum(n for _, n in fact.strays)
    kind = "dates" if fact.kind == "date" else "numbers"
    name = as_name(fact.label)
    return f"{name} holds {kind} but for {counted(cells, 'cell')}: {leading(texts)}"


@_question("A002", "A searched column stands for a sensitive one")
def _proxies(audit: Audit) -> Answered:
    proxies = audit.intake.proxies
    if not audit.intake.sensitive:
        return NOT_APPLICABLE, "No column was named as sensitive."
    if not proxies:
        return False, "No searched column alone tells a sensitive one; several together may."
    seen = leading([line.text.rstrip(".") for line in proxies], "; ")
    first = proxies[0]
    caution = f"{as_name(first.column)} gives away the sensitive column {as_name(first.of)}."
    return True, f"{seen}.", caution


@_question("R001", "The group is the same under other readings of the table")
def _readings(audit: Audit) -> Answered:
    found = audit.readings
    if found is None:
        return None, audit.skipped or "There was no choice to make otherwise."
    caution = "" if found.holds else "Other readings leave mostly other rows out."
    return found.holds, found.text, caution


CODES = [question.code for question in _QUESTIONS]
