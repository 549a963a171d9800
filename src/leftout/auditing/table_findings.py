"""How the table was read, coded as findings: what an owner would want to know before believing."""

from leftout.auditing.findings import finding
from leftout.auditing.group_result import NOT_APPLICABLE, Finding
from leftout.auditing.readings import Blanks, OneReading, Readings
from leftout.data.encoding import LARGE_INDICATORS
from leftout.data.preparation import PreparedTable
from leftout.data.schema_inference import ColumnFacts
from leftout.errors import parameter_label
from leftout.evidence.duplicate_rows import Repeats
from leftout.evidence.refit import SAME_GROUP
from leftout.text import as_name, counted, leading, listed, percent, shown

_GIVEN = "The features were given, or made by a pipeline: how columns were read did not matter."


def table_findings(
    intake: PreparedTable,
    other: OneReading | None,
    repeats: Repeats,
    blanks: Blanks | None = None,
    readings: Readings | None = None,
    skipped: str = "",
) -> list[Finding]:
    """The questions about how the table was read.

    ``skipped``: why there are no readings, where none were tried.
    """
    return [
        _codes(intake, other), _leaks(intake), _copies(intake), _suspects(intake),
        _missing(intake, blanks), _repeated(repeats), _strays(intake), _proxies(intake),
        _readings(readings, skipped),
    ]  # fmt: skip


def _some(columns: list[str]) -> str:
    """One or two columns by their names, more by their number."""
    return listed(list(map(as_name, columns))) if len(columns) < 3 else f"{len(columns)} columns"


def _codes(intake: PreparedTable, other: OneReading | None) -> Finding:
    if intake.features is not None:
        return finding("T001", NOT_APPLICABLE, _GIVEN)
    if not intake.codes:
        return finding("T001", NOT_APPLICABLE, "No column read as numbers looks like codes.")
    named = leading([as_name(kind.column) for kind in intake.codes])
    asked = parameter_label("categorical", [intake.called(kind.column) for kind in intake.codes])
    if other is None:
        detail = f"Read as numbers, though they look like codes: {named}. Not tried as categories."
        return finding("T001", None, detail)
    detail = (
        f"Read as numbers, though they look like codes: {named}. With categories instead "
        f"({counted(other.features, 'feature')}) a group of the same size shares "
        f"{percent(other.overlap)} of the rows that either leaves out; from "
        f"{percent(SAME_GROUP)} "
        f"on they count as one group. To name those that are codes: {asked}."
    )
    codes = _some([kind.column for kind in intake.codes])
    moves = other.overlap < SAME_GROUP
    caution = f"Other rows are left out if {codes}, which look like codes, are categories." * moves
    return finding("T001", moves, detail, caution)


def _leaks(intake: PreparedTable) -> Finding:
    if intake.target is None:
        return finding("T002", NOT_APPLICABLE, "No target was given.")
    if not intake.leaks:
        return finding("T002", False, "No searched column alone tells the target.")
    told = leading([line.told.rstrip(".") for line in intake.leaks], "; ")
    columns = [intake.called(line.column) for line in intake.leaks]
    detail = (
        f"{told}. Known beforehand, or made from the outcome? Kept in the search, not in models "
        "that predict the target; what is the outcome by another name can be left out: "
        f"{parameter_label('drop', columns)}."
    )
    alone = _some([line.column for line in intake.leaks])
    caution = f"Models of the target do not see {alone}, which alone would give it away."
    return finding("T002", True, detail, caution)


def _copies(intake: PreparedTable) -> Finding:
    if not intake.copies:
        return finding("T003", False, "No two searched columns say the same.")
    told = leading([line.told.rstrip(".") for line in intake.copies], "; ")
    return finding("T003", True, f"{told}. Each counts once: the first of them is searched.")


def _suspects(intake: PreparedTable) -> Finding:
    if not intake.suspects:
        detail = "No value stands apart at the end of a column like 99, -1 or 1900-01-01 would."
        return finding("T004", False, detail)
    told = leading([suspect.told.rstrip(".") for suspect in intake.suspects], ". ")
    first = intake.suspects[0]
    rows = counted(first.rows, "row")
    caution = f"{as_name(first.column)} is {first.value} in {rows}, which may mean it is missing."
    return finding("T004", True, f"{told}.", caution)


def _missing(intake: PreparedTable, blanks: Blanks | None) -> Finding:
    indicators = intake.encoder.missing_indicators_
    if intake.features is not None:
        return finding("T005", NOT_APPLICABLE, _GIVEN)
    if not indicators and blanks is None:
        return finding("T005", NOT_APPLICABLE, "No searched column has missing cells.")
    said = [] if blanks is None else [blanks.told]
    share = f"{100 * intake.indicator_share:.2g}% of the variance"
    said.append(f"{counted(len(indicators), 'missing indicator')}: {share}.")
    if intake.indicator_share > LARGE_INDICATORS:
        said.append("The search may find who has not answered rather than who is different.")
    tells = intake.indicator_share > LARGE_INDICATORS or blanks is not None and blanks.tells
    caution = said[0] if tells else ""
    return finding("T005", tells, " ".join(said), caution)


def _repeated(repeats: Repeats) -> Finding:
    if repeats.beyond_chance:
        return finding("T006", True, repeats.told)
    detail = "All rows are distinct."
    if repeats.n_repeated:
        rows = counted(repeats.n_repeated, "row")
        detail = (
            f"{rows} of {repeats.distinct.n_rows:,} repeat an earlier one. They are not taken for "
            "copies: rows with few different values may be equal all the same."
        )
    return finding("T006", False, detail)


def _strays(intake: PreparedTable) -> Finding:
    odd = [fact for fact in intake.facts if fact.strays]
    if not odd:
        return finding("T007", False, "No column is numbers, or dates, but for some cells.")
    told = leading([_stray(fact) for fact in odd], "; ")
    asked = parameter_label("categorical", [fact.name for fact in odd])
    detail = (
        f"{told}. These cells count as missing. Correct them in the table; or, to keep what is "
        f"written as categories: {asked}."
    )
    caution = (
        f"Cells of {_some([fact.label for fact in odd])} that are no numbers count as missing."
    )
    return finding("T007", True, detail, caution)


def _stray(fact: ColumnFacts) -> str:
    """What a column holds besides what it is."""
    texts = [shown(repr(text)) + f" ({n:,} times)" * (n > 1) for text, n in fact.strays]
    cells = sum(n for _, n in fact.strays)
    kind = "dates" if fact.kind == "date" else "numbers"
    name = as_name(fact.label)
    return f"{name} holds {kind} but for {counted(cells, 'cell')}: {leading(texts)}"


def _proxies(intake: PreparedTable) -> Finding:
    if not intake.sensitive:
        return finding("A002", NOT_APPLICABLE, "No column was named as sensitive.")
    if not intake.proxies:
        detail = "No searched column alone tells a sensitive one; several together may."
        return finding("A002", False, detail)
    told = leading([line.told.rstrip(".") for line in intake.proxies], "; ")
    first = intake.proxies[0]
    caution = f"{as_name(first.column)} stands for the sensitive column {as_name(first.of)}."
    return finding("A002", True, f"{told}.", caution)


def _readings(found: Readings | None, skipped: str) -> Finding:
    if found is None:
        return finding("R001", None, skipped or "There was no choice to make otherwise.")
    caution = "" if found.holds else "Other readings of the table leave mostly other rows out."
    return finding("R001", found.holds, found.told, caution)
