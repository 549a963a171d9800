"""How the table was read, coded as findings: what an owner would want to know before believing."""

from leftout.auditing.findings import answer
from leftout.auditing.group_result import FOUND, NOT_APPLICABLE, NOT_FOUND, NOT_RUN, Finding
from leftout.auditing.readings import Blanks, OtherReading, Readings
from leftout.data.encoding import LARGE_INDICATORS
from leftout.data.preparation import PreparedTable
from leftout.data.reports import ColumnFacts
from leftout.errors import parameter_label
from leftout.evidence.duplicate_rows import Repeats
from leftout.evidence.refit import SAME_GROUP
from leftout.text import as_name, counted, leading, shown

_GIVEN = "The features were given, or made by a pipeline: how columns were read did not matter."


def table_findings(
    intake: PreparedTable,
    other: OtherReading | None,
    repeats: Repeats,
    blanks: Blanks | None = None,
    readings: Readings | None = None,
    skipped: str = "",
) -> list[Finding]:
    """Codes, leaks, copies, odd values, flags, repeated rows, strays, proxies, other readings.

    ``skipped``: why there are no readings, where none were tried.
    """
    return [
        _codes(intake, other), _leaks(intake), _copies(intake), _suspects(intake),
        _flags(intake, blanks), _repeated(repeats), _strays(intake), _proxies(intake),
        _readings(readings, skipped),
    ]  # fmt: skip


def _codes(intake: PreparedTable, other: OtherReading | None) -> Finding:
    code, title = "T001", "The group changes if numbers that look like codes are categories"
    if intake.features is not None:
        return Finding(code, NOT_APPLICABLE, title, _GIVEN)
    if not intake.codes:
        return Finding(code, NOT_APPLICABLE, title, "No column read as numbers looks like codes.")
    named = leading([as_name(kind.column) for kind in intake.codes])
    asked = parameter_label("categorical", [intake.called(kind.column) for kind in intake.codes])
    if other is None:
        detail = f"Read as numbers, though they look like codes: {named}. Not tried as categories."
        return Finding(code, NOT_RUN, title, detail)
    detail = (
        f"Read as numbers, though they look like codes: {named}. With categories instead "
        f"({counted(other.features, 'feature')}) a group of the same size shares "
        f"{100 * other.overlap:.0f} % of the rows that either leaves out; from "
        f"{100 * SAME_GROUP:.0f} % "
        f"on they count as one group. To name those that are codes: {asked}."
    )
    return Finding(code, answer(other.overlap < SAME_GROUP), title, detail)


def _leaks(intake: PreparedTable) -> Finding:
    code, title = "T002", "A searched column gives the outcome away"
    if intake.target is None:
        return Finding(code, NOT_APPLICABLE, title, "No target was given.")
    if not intake.leaks:
        return Finding(code, NOT_FOUND, title, "No searched column alone tells the target.")
    told = leading([line.told.rstrip(".") for line in intake.leaks], "; ")
    columns = [intake.called(line.column) for line in intake.leaks]
    detail = (
        f"{told}. Known beforehand, or made from the outcome? Kept in the search, not in models "
        "that predict the target; what is the outcome by another name can be left out: "
        f"{parameter_label('drop', columns)}."
    )
    return Finding(code, FOUND, title, detail)


def _copies(intake: PreparedTable) -> Finding:
    code, title = "T003", "Columns repeat others"
    if not intake.copies:
        return Finding(code, NOT_FOUND, title, "No two searched columns say the same.")
    told = leading([line.told.rstrip(".") for line in intake.copies], "; ")
    return Finding(code, FOUND, title, f"{told}. Each counts once: the first of them is searched.")


def _suspects(intake: PreparedTable) -> Finding:
    code, title = "T004", "Values may stand for something else"
    if not intake.suspects:
        detail = "No value stands apart at the end of a column like 99, -1 or 1900-01-01 would."
        return Finding(code, NOT_FOUND, title, detail)
    told = leading([suspect.told.rstrip(".") for suspect in intake.suspects], ". ")
    return Finding(code, FOUND, title, f"{told}.")


def _flags(intake: PreparedTable, blanks: Blanks | None) -> Finding:
    code, title = "T005", "Missing cells tell who is in the group"
    flags = intake.encoder.flags_
    if intake.features is not None:
        return Finding(code, NOT_APPLICABLE, title, _GIVEN)
    if not flags and blanks is None:
        return Finding(code, NOT_APPLICABLE, title, "No searched column has missing cells.")
    said = [] if blanks is None else [blanks.told]
    share = f"{100 * intake.flags:.2g} % of the variance"
    said.append(f"{counted(len(flags), 'flag')} of missing cells: {share}.")
    if intake.flags > LARGE_INDICATORS:
        said.append("The search may find who has not answered rather than who is different.")
    tells = intake.flags > LARGE_INDICATORS or blanks is not None and blanks.tells
    return Finding(code, answer(tells), title, " ".join(said))


def _repeated(repeats: Repeats) -> Finding:
    code, title = "T006", "Rows are repeated"
    if repeats.beyond_chance:
        return Finding(code, FOUND, title, repeats.told)
    detail = "All rows are distinct."
    if repeats.n_repeated:
        rows = counted(repeats.n_repeated, "row")
        detail = (
            f"{rows} of {repeats.distinct.n_rows:,} repeat an earlier one. They are not taken for "
            "copies: rows with few different values may be equal all the same."
        )
    return Finding(code, NOT_FOUND, title, detail)


def _strays(intake: PreparedTable) -> Finding:
    code, title = "T007", "Cells that are no numbers were taken for missing"
    odd = [fact for fact in intake.facts if fact.strays]
    if not odd:
        return Finding(
            code, NOT_FOUND, title, "No column is numbers, or dates, but for some cells."
        )
    told = leading([_stray(fact) for fact in odd], "; ")
    asked = parameter_label("categorical", [fact.name for fact in odd])
    detail = (
        f"{told}. These cells count as missing. Correct them in the table; or, to keep what is "
        f"written as categories: {asked}."
    )
    return Finding(code, FOUND, title, detail)


def _stray(fact: ColumnFacts) -> str:
    """What a column holds besides what it is."""
    texts = [shown(repr(text)) + f" ({n:,} times)" * (n > 1) for text, n in fact.strays]
    cells = sum(n for _, n in fact.strays)
    kind = "dates" if fact.kind == "date" else "numbers"
    name = as_name(fact.label)
    return f"{name} holds {kind} but for {counted(cells, 'cell')}: {leading(texts)}"


def _proxies(intake: PreparedTable) -> Finding:
    code, title = "A002", "A searched column stands for a sensitive one"
    if not intake.sensitive:
        return Finding(code, NOT_APPLICABLE, title, "No column was named as sensitive.")
    if not intake.proxies:
        detail = "No searched column alone tells a sensitive one; several together may."
        return Finding(code, NOT_FOUND, title, detail)
    told = leading([line.told.rstrip(".") for line in intake.proxies], "; ")
    return Finding(code, FOUND, title, f"{told}.")


def _readings(found: Readings | None, skipped: str) -> Finding:
    code, title = "R001", "The group is the same under other readings of the table"
    if found is None:
        return Finding(code, NOT_RUN, title, skipped or "There was no choice to make otherwise.")
    return Finding(code, answer(found.holds), title, found.told)
