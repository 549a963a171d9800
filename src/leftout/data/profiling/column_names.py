"""What a column's name says about it: that of a code, of an identifier, of a quantity.

In English, German, Spanish, Portuguese or French, in camel case or with any marks between words.
"""

import re
import unicodedata
from functools import lru_cache

# Points for whole numbers being a code: of names that say so, that may, that say the contrary.
NAMED, MAYBE_NAMED, EITHER, QUANTITY = 3, 2, 1, -3

_CODES = frozenset(
    """code codes codigo kod cd kennziffer schluessel type typ tipo kind status statut
    id ids key uuid guid fips zip zipcode plz postcode postal postleitzahl cep
    county state estado etat region bundesland land country pais pays nation province provincia
    provinz prefecture district distrito bezirk kreis departement dept department abteilung
    municipality municipio gemeinde commune city town ciudad cidade ville stadt borough tract msa
    smsa sic naics isco soc occ job profession beruf metier industry industria branche sector sektor
    secteur race raza raca religion religiao konfession faith language idioma sprache langue
    brand marca marque species origin mode modo course curso filiere carrera sex sexo sexe gender
    geschlecht familienstand married civil birthplace""".split()
)
_MAYBE = frozenset(
    """class klasse clase classe category categoria kategorie categorie cat group gruppe grupo
    groupe party partei partido parti vote school schule escuela escola ecole store shop branch
    major program programme programa team site center centre hospital ward station route
    reason motivo grund motif purpose zweck source cause treatment arm method metodo
    zone zona house housing relationship kin""".split()
)
_EITHER = frozenset(
    "education educacion educacao bildung attendance work employment arbeit emploi".split()
)
_STEMS = (
    "occup", "ocup", "profis", "nationalit", "nacional", "naciona", "marit", "marri", "ethni",
    "etni", "qualif", "indust", "relig", "staatsang", "postal", "county", "typ",
)  # fmt: skip
_ENDS = ("code", "fips", "type", "typ", "zip")
_GLUED = re.compile(r"(.{3,}?)(id|ids|code|cd|nr|no|num|cat|stat)")
_IDS = frozenset(
    """id ids pid uid key nr no seq seqn seqno serial record case rowid rownames rowname
    patient subject respondent""".split()
)
# What is numbered, where "id" is written without a space: personid, but not Madrid or covid.
_NUMBERED = (
    "account acct case child city client company country county customer emp employee fam family "
    "firm hh hhold house household ind item loan member obs order pat patient pers person plot "
    "prod product pupil rec record region resp respondent row sample school shop site state "
    "store stud student subj subject teacher unit user zip"
).split()
_QUANTITIES = frozenset(
    """age year yr number num no n nr nbr count cnt amount amt income inc wage salary earning price
    prc cost rate rte ratio grade score hour hr week wk day month minute second time size length
    width height weight total tot sum percent pct perc share avg average mean median min max order
    times unit point distance dist mile km temp temperature level scale rank rating degree quantity
    qty balance bal bmi lag log sq squared gain loss capital limit tax fee pay paid bill payment
    value val volume speed stage severity frequency freq satisfaction health hlth index prob
    dose pressure density population pop expense expenditure sale revenue profit asset debt loan
    duration durat tenure experience exper child children kid dependent household size visit
    alter jahr anzahl zahl betrag einkommen lohn gehalt preis kosten note punkte stunde tag monat
    woche groesse grosse gewicht laenge lange breite hoehe hohe anteil menge dauer umsatz
    edad idade ano numero cantidad quantidade monto montante valor ingreso renda renta salario
    precio preco custo costo nota hora dia mes peso altura tamanho total taxa tasa orden ordem
    annee nombre montant revenu salaire prix cout taux heure jour mois poids taille duree niveau
    nivel rang""".split()
)
_QUANTITY_STARTS = ("num", "tot", "avg", "pct", "perc", "yrs", "hrs", "log", "pop", "anzahl")
_QUANTITY_ENDS = (
    "inc", "rate", "rte", "price", "prc", "wage", "hrs", "years", "yrs", "amt", "size", "cost",
    "score", "pop", "sq", "pct", "perc", "hours", "days", "months", "exp", "educ",
)  # fmt: skip


@lru_cache(maxsize=8192)
def name_says(name: str) -> int:
    """Points for a column's name being one that codes have; below 0 for one of quantities.

    Examples
    --------
    >>> from leftout.data.profiling.column_names import name_says
    >>> [name_says(name) for name in ("Mother's occupation", "group", "Alter in Jahren", "x1")]
    [3, 2, -3, 0]
    """
    words = words_of(name)
    if any(map(_is_quantity, words)):
        return QUANTITY
    for points, told in ((NAMED, _is_code), (MAYBE_NAMED, _may_be_code)):
        if any(map(told, words)):  # in the singular: a number of cities is no code
            return points
    return EITHER if any(word in _EITHER for word in words) else 0


def words_of(name: str) -> list[str]:
    """The words of a column's name, without capitals and accents."""
    plain = unicodedata.normalize("NFKD", name.replace("\u00df", "ss"))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    apart = re.sub(r"([a-z])([A-Z])|([A-Z])(?=[A-Z][a-z])", r"\1\3 \2", plain)
    return re.findall(r"[a-z]+", apart.lower())


def _is_code(word: str) -> bool:
    if word in _CODES or word.startswith(_STEMS) or (len(word) > 3 and word.endswith(_ENDS)):
        return True
    glued = _GLUED.fullmatch(word)
    return glued is not None and (glued[1] in _CODES or glued[1] in _MAYBE)


def _may_be_code(word: str) -> bool:
    ends = len(word) > 5 and word.endswith("cat")
    return word in _MAYBE or ends or (is_id(word) and word not in _IDS)


def is_id(word: str) -> bool:
    """Whether the last word of a name is that of an identifier."""
    if word in _IDS or word.endswith(("code", "guid", "uuid")):
        return True
    return word.endswith("id") and word.removesuffix("id") in _NUMBERED


def _is_quantity(word: str) -> bool:
    if word in _CODES or word.startswith(_STEMS):
        return False
    return (
        word in _QUANTITIES
        or word.removesuffix("s") in _QUANTITIES
        or word.startswith(_QUANTITY_STARTS)
        or word.endswith(_QUANTITY_ENDS)
    )
