"""What a column may be for, by what it is called and what it holds: a guess, with its reason."""

from __future__ import annotations

from typing import NamedTuple

from leftout.data.profiling.column_names import words_of
from leftout.data.profiling.column_types import ColumnType

# Roles that people choose from; "auto" is whatever the column looks like.
AUTO, OUTCOME, SENSITIVE, DROP = "auto", "outcome", "sensitive", "drop"
_OUTCOMES = frozenset(
    """approve approved accept accepted admit admitted decision outcome target label default churn
    churned survived response granted hired passed fraud readmitted convicted recid recidivism
    bewilligt genehmigt zusage ergebnis ziel aprobado aprovado accepte resultat dropout""".split()
)
_SENSITIVE = frozenset(
    """sex sexo sexe gender geschlecht race raza raca ethnicity ethnic ethnie ethnicite religion
    religiao konfession disability disabled behinderung nationality nationalitaet nacionalidad
    nationalite citizenship orientation""".split()
)


class OutcomeGuess(NamedTuple):
    """A role, and why."""

    role: str
    why: str


def guess(kind: ColumnType, called: str, outcome_taken: bool) -> OutcomeGuess:
    """The role to begin with; of several that are called like an outcome, the first."""
    if kind.read_as == "nothing":
        what = {"constant": "says nothing", "free text": "looks like free text"}.get(
            kind.kind, f"looks like an {kind.kind}" if kind.kind == "identifier" else "has too many"
        )
        return OutcomeGuess(AUTO, f"{what}: {kind.why}")
    words = set(words_of(called))
    if kind.kind == "yes/no" and words & _OUTCOMES and not outcome_taken:
        return OutcomeGuess(OUTCOME, "called like an outcome, with two values")
    if words & _SENSITIVE:
        return OutcomeGuess(SENSITIVE, "called like something the law protects")
    if not kind.sure:
        return OutcomeGuess(AUTO, f"looks like a {kind.kind}: {kind.why}")
    return OutcomeGuess(AUTO, "")
