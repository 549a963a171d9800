"""Leaks, copies and proxies: by their definitions, planted, and in tables as they are."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

import paper_data
from leftout.data.cleaning import clean_all
from leftout.data.columns import Column, columns_of
from leftout.data.profiling.relations import (
    Relation,
    _cells,
    _same_names,
    copies,
    cross_fitted_auc,
    leaks,
    leave_one_out_errors,
    proxies,
)
from leftout.errors import InputError


def of(table):
    """Cleaned columns, by name."""
    return {column.name: column for column in clean_all(columns_of(pd.DataFrame(table)))}


@cache
def stored(file):
    if not (paper_data.FOLDER / file).exists():
        pytest.skip(f"{file} not found in {paper_data.FOLDER}")
    return pd.read_csv(paper_data.FOLDER / file)


def pairs(relations):
    return [(each.column, each.of) for each in relations]


# What one column tells of another


def dealt_by_hand(cells, y):
    """Rows' scores: each is dealt by a coin, in order of cells' counts; its is the others' rate."""
    table = pd.DataFrame({"cell": cells, "y": y})
    table["yes"] = table.groupby("cell").y.transform("sum")
    table["no"] = table.groupby("cell").y.transform("count") - table.yes
    table = table.sort_values(["yes", "no", "cell"])
    table["half"] = 0
    for value, seed in ((1, 0), (0, 1)):
        coins = np.random.default_rng(seed).integers(0, 2, (table.y == value).sum())
        table.loc[table.y == value, "half"] = coins
    for row in table.itertuples():
        other = table[(table.cell == row.cell) & (table.half != row.half)].y
        table.loc[row.Index, "score"] = (other.sum() + y.mean()) / (len(other) + 1.0)
    return table.score.round(12).sort_index()


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=2, max_size=40))
def test_halves_of_cells_score_each_other(rows):
    cells, y = np.array(rows).T
    if y.min() == y.max():
        return
    yes, no = np.bincount(cells[y == 1], minlength=7), np.bincount(cells[y == 0], minlength=7)
    want = roc_auc_score(y, dealt_by_hand(cells, y))
    assert cross_fitted_auc(yes, no) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("column", ["relationship", "education", "native-country", "occupation"])
def test_area_is_that_of_folds_of_rows(column):
    table = stored("adult.csv.gz").sample(6000, random_state=0)
    y = (table["sex"] == "Male").to_numpy().astype(int)
    cells = pd.factorize(table[column])[0][:, None]
    means = TargetEncoder(target_type="continuous", smooth=1.0)
    model = make_pipeline(means, LinearRegression())  # of one feature, in its order
    folds = StratifiedKFold(2, shuffle=True, random_state=0).split(cells, y)
    want = roc_auc_score(y, cross_val_predict(model, cells, y.astype(float), cv=list(folds)))
    counts = pd.crosstab(cells[:, 0], y).to_numpy()
    # other halves of the same rows: four standard errors of an area of chance
    apart = 4.0 * np.sqrt((1.0 / y.sum() + 1.0 / (1 - y).sum()) / 12.0)
    found = cross_fitted_auc(counts[:, 1], counts[:, 0])
    assert found == pytest.approx(want, abs=apart)


def test_names_of_rows_tell_nothing():
    rng = np.random.default_rng(0)
    for repeated in (1, 2, 3, 8):
        y = rng.permutation(np.arange(6000) % 10 == 0)
        cells = rng.permutation(np.arange(6000) // repeated)
        yes, no = (np.bincount(cells[y == is_it], minlength=6000) for is_it in (True, False))
        assert cross_fitted_auc(yes, no) == pytest.approx(0.5, abs=0.04)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-1, 1)), min_size=1, max_size=25))
def test_each_row_has_the_mean_of_others_in_its_cell(rows):
    codes = np.array([code for code, _ in rows])
    y = np.array([value for _, value in rows])
    want = 0.0
    for row, value in enumerate(y):
        others = (codes == codes[row]) & (np.arange(len(y)) != row)
        want += (value - y[others].sum() / (others.sum() + 1.0)) ** 2
    got = leave_one_out_errors(codes, y)
    assert got == pytest.approx(want, rel=1e-9, abs=1e-12)


VALUES = st.sampled_from([-2.5, 0.0, 1.0, 3.0, 1e9, np.nan])


@given(st.lists(VALUES, min_size=100, max_size=100))
def test_few_values_are_a_cell_each_and_so_is_what_is_missing(line):
    values = np.array(line)
    codes, n_cells = _cells(Column("c", values))
    levels, places = np.unique(values, return_inverse=True)
    assert n_cells == len(levels)
    assert codes.tolist() == places.tolist()


# Planted leaks


def flipped(values, share, rng):
    """A copy in which so many cells have another of the values."""
    levels, codes = np.unique(values, return_inverse=True)
    rows = rng.random(len(codes)) < share
    codes = np.where(rows, (codes + rng.integers(1, len(levels), len(codes))) % len(levels), codes)
    return levels[codes]


TARGETS = {
    "adult": ("adult.csv.gz", "income"),
    "students": ("students_dropout.csv.gz", "Target"),
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(2))
def test_planted_leaks_are_named(name, seed):
    file, target = TARGETS[name]
    rng = np.random.default_rng(seed)
    table = stored(file).sample(frac=1, random_state=seed)[:20_000]
    y, n = table[target].to_numpy(), len(table)
    codes = np.unique(y, return_inverse=True)[1]
    blank = rng.random(n) < 0.02
    planted = {
        "flips": flipped(y, 0.02, rng),
        "number": codes * 10.0 + rng.random(n) * 9,
        "halves": np.where(codes == 0, rng.choice([-1, 1], n), 0) * (5 + rng.random(n))
        + 0.1 * codes,
        "blanks": np.where(blank, None, y),
        "detail": [
            f"{value} {place}" for value, place in zip(y, rng.integers(0, 30, n), strict=True)
        ],
        "noise": rng.standard_normal(n),
        "name": [f"n{place}" for place in rng.permutation(n)],
        "pair": [f"n{place // 2}" for place in rng.permutation(n)],
    }
    columns = of(table.assign(**planted))
    found = leaks([c for key, c in columns.items() if key != target], columns[target])
    assert {each.column for each in found} == {"flips", "number", "halves", "blanks", "detail"}
    assert all((each.of, each.how, each.measure) == (target, "leak", "AUC") for each in found)
    strength = {each.column: each.strength for each in found}
    assert strength["detail"] == pytest.approx(1.0, abs=1e-3)
    assert strength["flips"] == pytest.approx(0.98, abs=0.01)
    in_order = [round(each.strength, 9) for each in found]
    assert in_order == sorted(in_order, reverse=True)
    if name == "adult":
        yes = (y == ">50K").astype(int)
        assert strength["flips"] == pytest.approx(
            roc_auc_score(yes, planted["flips"] == ">50K"), abs=1e-3
        )


def test_one_class_or_the_positive_one():
    table = stored("students_dropout.csv.gz")
    graduated = np.where(table["Target"] == "Graduate", "2020-07-01", None)
    columns = of(table.assign(graduated=graduated, open=table["Target"] == "Enrolled"))
    target = columns.pop("Target")
    found = leaks(list(columns.values()), target)
    assert [(r.column, r.value, r.strength) for r in found] == [
        ("graduated", "Graduate", 1.0),
        ("open", "Enrolled", 1.0),
    ]
    assert found[0].text == "graduated alone tells the target Target = Graduate: AUC 1."
    assert pairs(leaks(list(columns.values()), target, "Enrolled")) == [("open", "Target")]
    with pytest.raises(InputError, match="positive='Lost' is not a value of the target 'Target'"):
        leaks(list(columns.values()), target, "Lost")


@pytest.mark.parametrize("n", [300, 20_000])
def test_numbers_are_told_in_order_or_not(n):
    rng = np.random.default_rng(n)
    y = np.exp(rng.standard_normal(n))
    town = rng.integers(0, 12, n)
    table = {
        "log": np.log(y),
        "reverse": -(y**3),
        "apart": np.abs(np.log(y)),
        "near": np.log(y) + 0.3 * rng.standard_normal(n),
    }
    found = leaks(list(of(table).values()), of({"y": y})["y"])
    assert [(r.column, r.measure) for r in found] == [("log", "R2"), ("reverse", "R2")]
    assert all(r.strength == pytest.approx(1.0, abs=0.01) for r in found)
    rent = town + 0.01 * rng.random(n)
    (by_town,) = leaks(
        list(of({"town": [f"t{t * 5 % 12}" for t in town]}).values()), of({"rent": rent})["rent"]
    )
    ranks = stats.rankdata(rent)
    means = pd.Series(ranks).groupby(town).transform("mean")
    want = 1 - ((ranks - means) ** 2).sum() / ((ranks - ranks.mean()) ** 2).sum()
    assert by_town.measure == "R2" and by_town.strength == pytest.approx(want, abs=0.005)
    assert by_town.text == (
        f"town alone tells the target rent: R² of ranks {by_town.strength:.3g}."
    )


def test_gaps_that_tell_and_rows_without_a_target():
    rng = np.random.default_rng(1)
    y = rng.random(900) < 0.2
    table = of(
        {
            "paid": np.where(y, np.nan, rng.random(900)),
            "why": np.where(y, None, rng.choice(["a", "b"], 900)),
            "some": np.where(rng.random(900) < 0.5, np.nan, rng.random(900)),
            "y": np.where(np.arange(900) < 300, None, np.where(y, "yes", "no")),
        }
    )
    target = table["y"]
    assert pairs(leaks(list(table.values()), target)) == [("paid", "y"), ("why", "y")]


def test_a_rare_outcome_needs_ten_rows():
    rng = np.random.default_rng(0)
    for rows, named in ((9, []), (10, [("sign", "y")])):
        y = np.arange(4000) < rows
        table = of({"sign": y.astype(int), "other": rng.random(4000)})
        assert pairs(leaks(list(table.values()), of({"y": y})["y"])) == named


def test_values_of_few_rows_each_tell():
    rng = np.random.default_rng(0)
    family = rng.permutation(np.arange(30_000) // 6)
    ill = rng.random(5_000) < 0.3
    table = of({"family": [f"f{each}" for each in family], "x": rng.random(30_000)})
    (found,) = leaks(list(table.values()), of({"ill": ill[family]})["ill"])
    assert found.column == "family" and found.strength == pytest.approx(1.0, abs=1e-3)


# Planted copies


def named_by_hand(columns, texts):
    """Later columns that copy an earlier one that is kept, all pairs in turn."""
    kept, result = [], []
    for later in columns:
        for earlier in kept:
            a, b = columns[later], columns[earlier]
            known = a.notna() & b.notna()
            if known.sum() < 0.9 * (a.notna() | b.notna()).sum():
                continue
            a, b = a[known], b[known]
            if later in texts or earlier in texts:
                counts = pd.crosstab(a, b).to_numpy()
                least = min(counts.max(axis=0).sum(), counts.max(axis=1).sum())
                same = least >= 0.99 * len(a) and max(counts.shape) > 2
            else:
                same = abs(np.corrcoef(a, b)[0, 1]) >= 0.99
            if same:
                result.append((later, earlier))
                break
        else:
            kept.append(later)
    return result


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_copies_are_those_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 600))
    made = {}
    for place in range(int(rng.integers(4, 14))):
        old = str(rng.choice(list(made))) if made else None
        kind = rng.integers(0, 5) if made else 0
        if kind == 0 or old is None:
            made[f"n{place}"] = rng.standard_normal(n)
        elif kind == 1:
            made[f"t{place}"] = rng.choice([f"v{i}" for i in range(6)], n)
        elif old[0] == "n":
            noise = rng.choice([0.0, 0.05, 0.4])
            made[f"n{place}"] = rng.choice([-3.0, 1e-6, 1e9]) * (
                made[old] + noise * rng.standard_normal(n) * np.nanstd(made[old])
            )
        else:
            made[f"t{place}"] = np.array([f"w{text[::-1]}" for text in made[old]])
            lost = rng.random(n) < rng.choice([0.0, 0.002, 0.1])
            made[f"t{place}"][lost] = rng.permutation(made[f"t{place}"])[lost]
    table = pd.DataFrame(made)
    found = copies(list(of(table).values()))
    texts = [name for name in made if name[0] == "t"]
    assert pairs(found) == named_by_hand(table, texts)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("seed", range(2))
def test_planted_copies_are_named(name, seed):
    rng = np.random.default_rng(seed)
    table = stored(TARGETS[name][0]).sample(frac=1, random_state=seed)[:20_000]
    table = table.reset_index(drop=True)
    before = pairs(copies(list(of(table).values())))
    number, word, yes = {
        "adult": ("age", "occupation", "sex"),
        "students": ("Admission grade", "Course", "Gender"),
    }[name]
    table = table.replace("?", np.nan)
    n, values = len(table), table[number].astype(float)
    levels = table[word].dropna().unique()
    day = pd.Timestamp("1990-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), unit="D")
    first = table[yes] == table[yes].iloc[0]
    code = table[word].map(dict(zip(levels, rng.permutation(len(levels)), strict=True)))
    gaps = rng.random(n) < 0.05
    planted = {
        "noisy": (values + 0.08 * values.std() * rng.standard_normal(n), number),
        "scaled": (values * 1.6 - 7, number),
        "reversed": (100 - values, number),
        "gappy": (values.mask(gaps), number),
        "recoded": (code, word),
        "letters": (code.map(lambda c: f"k{c:.0f}", na_action="ignore"), word),
        "coarse": (code.mask(gaps), word),
        "slips": (code.where(rng.random(n) > 0.004, rng.permutation(code)), word),
        "not": (~first, yes),
        "born": (pd.Series(day.strftime("%Y-%m-%d")), None),
        "birth": (pd.Series(day.strftime("%d.%m.%Y")), "born"),
        "half": (code.mask(rng.random(n) < 0.3), None),
        "apart": (values + 0.3 * values.std() * rng.standard_normal(n), None),
    }
    columns = of(table.assign(**{key: cells for key, (cells, _) in planted.items()}))
    found = copies(list(columns.values()))
    want = [(key, source) for key, (_, source) in planted.items() if source is not None]
    assert pairs(found) == before + want
    strength = {each.column: each for each in found}
    r = np.corrcoef(planted["noisy"][0], values)[0, 1]
    assert strength["noisy"].strength == pytest.approx(r, rel=1e-9)
    assert strength["noisy"].text == f"noisy nearly copies {number}: correlation {r:.3g}."
    assert strength["reversed"].text == f"reversed copies {number}, in reverse: correlation -1."
    assert strength["recoded"].text == (
        f"recoded is {word} by other names: their values go together in 100% of the rows."
    )
    assert abs(strength["not"].strength) == pytest.approx(1.0)


def test_chance_makes_no_copy():
    rng = np.random.default_rng(3)
    n = 4000
    rare = np.full((n, 2), "a", dtype=object)
    rare[rng.choice(n, 18, replace=False), 0] = rng.choice(["b", "c"], 18)
    rare[rng.choice(n, 18, replace=False), 1] = rng.choice(["b", "c"], 18)
    spike = rng.standard_normal((n, 2))
    spike[7] = 1e6, 3e6
    one = np.zeros((n, 2))
    one[11] = 1.0
    names = [[f"{side}{row}" for row in rng.permutation(n)] for side in "lr"]
    age = rng.integers(18, 80, n)
    table = {f"{key}{side}": cells[:, side] for key, cells in
             {"rare": rare, "spike": spike, "one": one}.items() for side in (0, 1)}  # fmt: skip
    table |= {"left": names[0], "right": names[1], "age": age, "square": (age - 18) ** 2}
    table |= {"same": np.ones(n), "still": np.ones(n), "empty": np.full(n, np.nan)}
    table |= {"wild": np.where(age > 70, np.inf, age * 1.0), "huge": 1e308 * rng.uniform(-1, 1, n)}
    columns = of(table)
    assert copies(list(columns.values())) == []
    # each goes with a value of the other in 99% of the rows, as nearly constant columns do
    assert _same_names(columns["rare0"], columns["rare1"]) is None
    assert _same_names(columns["rare0"], columns["rare0"]) == ("one-to-one", 1.0)


def test_each_copy_once_and_of_what_is_kept():
    x = np.random.default_rng(0).standard_normal(500)
    table = of({"a": x, "b": 2 * x, "c": np.exp(x), "d": -x, "e": 3 * np.exp(x)})
    assert pairs(copies(list(table.values()))) == [("b", "a"), ("d", "a"), ("e", "c")]
    drift = 0.12 * np.random.default_rng(1).standard_normal(500)
    table = of({"a": x, "near": x + drift, "further": x + 2 * drift})  # near the copy, not to a
    assert pairs(copies(list(table.values()))) == [("near", "a")]
    assert pairs(copies(list(table.values())[1:])) == [("further", "near")]


def test_marks_in_the_same_rows_make_no_copy():
    rng = np.random.default_rng(0)
    gone = rng.random(800) < 0.3
    table = of({name: np.where(gone, -99.0, rng.random(800)) for name in "ab"})
    assert np.corrcoef(table["a"].values, table["b"].values)[0, 1] > 0.99
    assert copies(list(table.values())) == []


def test_copies_among_many_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 1300))
    X[:, 1200] = 3 - X[:, 4]
    X[:, 700] = X[:, 650] + 0.05 * rng.standard_normal(1500)
    codes = rng.integers(0, 9, 1500)
    X[:, 30], X[:, 1290] = codes, np.array([4, 0, 8, 2, 1, 7, 3, 6, 5])[codes]
    found = copies(columns_of(X))
    assert pairs(found) == [("x700", "x650"), ("x1200", "x4"), ("x1290", "x30")]
    assert [each.measure for each in found] == ["r", "r", "one-to-one"]


# Proxies


def test_proxies_in_known_tables():
    adult = of(stored("adult.csv.gz"))
    found = proxies([c for name, c in adult.items() if name != "sex"], [adult["sex"]])
    assert [each.text for each in found] == [
        "relationship alone settles the sensitive column sex in 45.1% of the rows."
    ]
    rows = stored("adult.csv.gz")
    settled = rows["relationship"].isin(["Husband", "Wife"]).mean()
    assert found[0].strength == pytest.approx(settled)
    students = of(stored("students_dropout.csv.gz"))
    sensitive = students.pop("International")
    (found,) = proxies(list(students.values()), [sensitive])
    assert found == Relation("Nacionality", "International", "proxy", "AUC", found.strength)
    assert found.strength > 0.999


def test_proxies_of_numbers_and_of_several():
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, 3000).astype(float)
    race = rng.choice(["w", "x", "y", "z"], 3000, p=[0.8, 0.15, 0.03, 0.02])
    table = of(
        {
            "since": 2024 - age + 4 * rng.standard_normal(3000),
            "tongue": np.where(race == "y", "ys", rng.choice(["a", "b"], 3000)),
            "worn": np.where(rng.random(3000) < 0.5, "a", "b"),
            "loose": age + 25 * rng.standard_normal(3000),
            "age": np.where(rng.random(3000) < 0.1, np.nan, age),
            "race": race,
        }
    )
    searched = [table[name] for name in ("since", "tongue", "worn", "loose")]
    tongue, since = proxies(searched, [table["age"], table["race"]])
    assert tongue.text == "tongue alone tells the sensitive column race = y: AUC 1."
    known = table["age"].values
    rho = stats.spearmanr(table["since"].values, known, nan_policy="omit").statistic
    assert (since.measure, since.of) == ("R2", "age")
    assert since.strength == pytest.approx(rho**2, abs=0.01)


# Tables as they are

SENSITIVE = {
    "students_dropout.csv.gz": [
        "Gender", "Age at enrollment", "Nacionality", "International", "Marital status",
        "Educational special needs", "Displaced", "Scholarship holder", "Debtor",
        "Mother's qualification", "Father's qualification", "Mother's occupation",
        "Father's occupation",
    ],
    "credit_default.csv.gz": ["SEX", "AGE", "EDUCATION", "MARRIAGE"],
    "adult.csv.gz": [
        "sex", "race", "age", "native-country", "marital-status", "relationship",
    ],
    "diabetes_health_indicators.csv.gz": ["Sex", "Age", "Education", "Income", "DiffWalk"],
    "cmu_faces_32x30.csv.gz": ["eyes"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("file", "target", "want"),
    [
        ("students_dropout.csv.gz", "Target", []),
        # rows come in blocks of one sex
        ("credit_default.csv.gz", "default payment next month", [("ID", "SEX", "settled")]),
        ("adult.csv.gz", "income", [("education-num", "education", "one-to-one")]),
        ("diabetes_health_indicators.csv.gz", "Diabetes_binary", []),
        ("cmu_faces_32x30.csv.gz", "pose", None),
    ],
)
def test_little_is_named_in_tables_as_they_are(file, target, want):
    table = stored(file)
    columns = of(table)
    sensitive = [columns[name] for name in SENSITIVE[file]]
    searched = [c for name, c in columns.items() if name not in (target, *SENSITIVE[file])]
    found = leaks([c for name, c in columns.items() if name != target], columns[target])
    assert found == []
    found = copies(list(columns.values()))
    told = proxies(searched, sensitive)
    if want is not None:
        assert [(r.column, r.of, r.measure) for r in found + told] == want
        return
    assert told == [] and len(found) == 20
    for each in found:  # pixels of the wall behind, next to each other
        r = np.corrcoef(table[each.column], table[each.of])[0, 1]
        assert each.strength == pytest.approx(r, rel=1e-9) and r >= 0.99


# What must not matter


def raw(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 400))
    x, code = rng.standard_normal(n), rng.integers(0, 5, n)
    y = rng.random(n) < 1 / (1 + np.exp(-rng.choice([1, 6, 60]) * x))
    return rng, pd.DataFrame(
        {
            "x": x,
            "near": x + rng.choice([0.02, 0.14, 0.5]) * rng.standard_normal(n),
            "gap": np.where(rng.random(n) < 0.08, np.nan, x),
            "code": code,
            "word": np.array(list("pqrst"))[flipped(code, rng.choice([0.0, 0.01, 0.3]), rng)],
            "flip": flipped(np.where(y, "yes", "no"), rng.choice([0.01, 0.03, 0.2]), rng),
            "y": np.where(y, "yes", "no"),
            "age": rng.integers(20, 60, n),
        }
    )


def named(table, target="y", sensitive=("word", "age", "near")):
    columns = of(table)
    rest = [c for name, c in columns.items() if name != target]
    found = leaks(rest, columns[target]) + copies(rest)
    found += proxies(rest, [columns[name] for name in sensitive])
    return {
        (r.column, r.of, r.how): (r.measure, r.value, pytest.approx(abs(r.strength), abs=1e-9))
        for r in found
    }


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_order_names_and_signs_do_not_matter(seed):
    rng, table = raw(seed)
    want = named(table)
    assert named(table.sample(frac=1, random_state=seed % 1000)) == want
    assert named(table.assign(x=-table["x"], gap=-table["gap"], age=-table["age"])) == want
    renamed = table.assign(
        flip=table["flip"].map({"yes": "ja", "no": "nein"}), y=table["y"].map({"yes": 1, "no": 0})
    )
    assert named(renamed) == want


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_what_is_independent_adds_nothing(seed):
    rng, table = raw(seed)
    want, n = named(table), len(table)
    more = {
        "number": rng.standard_normal(n),
        "heavy": np.exp(4 * rng.standard_normal(n)),
        "letter": rng.choice(list("abcdefgh"), n),
        "name": [f"n{place}" for place in rng.permutation(n)],
        "pair": [f"n{place // 2}" for place in rng.permutation(n)],
        "rare": rng.random(n) < 0.05,
    }
    assert named(table.assign(**more)) == want


def test_nothing_to_compare():
    assert leaks([], Column("y", np.zeros(3))) == copies([]) == proxies([], []) == []
    one = of({"a": [1.0], "b": ["x"]})
    assert copies(list(one.values())) == []
    assert leaks([one["a"]], one["b"]) == proxies([one["a"]], [one["b"]]) == []
    still = of({"a": np.arange(50) % 7, "b": ["x"] * 50, "c": [np.nan] * 50})
    a, b, c = still.values()
    for target in (b, c):
        assert leaks([a], target) == proxies([a], [target]) == []
    assert leaks([b, c], a) == proxies([b, c], [a]) == []


def test_told_names_what_could_be_misread():
    relation = Relation("a or b", "x > 1", "leak", "R2", 0.99412, None)
    assert relation.text == ("'a or b' alone tells the target 'x > 1': R² of ranks 0.994.")
    assert relation.to_dict() == {
        "column": "a or b", "of": "x > 1", "how": "leak", "measure": "R2",
        "strength": 0.99412, "value": None, "text": relation.text,
    }  # fmt: skip
