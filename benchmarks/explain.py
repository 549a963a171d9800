"""Are the explanations right, and fast? The cases ``explain_*``.

As a program, ``python -m benchmarks.explain TABLE.npy GROUP.npy`` finds the rules of a table in a
process of its own and prints the peak memory beyond the table as one JSON line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import paper_data  # noqa: E402
from leftout import MaxDisparityPartition, disparity, explain, how_many  # noqa: E402
from leftout.data.binning import bin_column  # noqa: E402
from leftout.data.columns import columns_of  # noqa: E402
from leftout.explain.rules import find_rules  # noqa: E402
from paper.scores import feature_scores  # noqa: E402

SUPPORT = 0.01


def sums():
    """Splits over features and scores, on random and real tables."""
    worst, worst_score, count = 0.0, 0.0, 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        X = (
            rng.standard_normal((300, n))
            @ rng.standard_normal((n, n))
            * 10.0 ** rng.integers(-3, 4)
        )
        labels, d = rng.permutation(np.arange(300) < 100), int(rng.integers(1, n))
        gap = disparity(X, labels, d)
        scale = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
        worst = max(
            worst, abs(np.ptp(explain.feature_losses(X, labels, d).sum(axis=1)) - gap) / scale
        )
        scores = feature_scores(X, labels, d)
        for part in (scores.total, scores.left_out, scores.rest):
            worst_score = max(worst_score, abs(part.sum() - 100.0))
        count += 1
    for name in paper_data.SOURCES:
        X, d = paper_data.load(name), paper_data.SOURCES[name].n_components
        found = MaxDisparityPartition(d, group_size=200, random_state=0).fit(X)
        parts = explain.feature_losses(X, found.labels_, d)
        worst = max(worst, abs((parts[1] - parts[0]).sum() - found.disparity_))
        count += 1
    yield (
        f"feature split sums to the disparity ({count} tables)",
        "1e-9",
        f"{worst:.1e} of the variance",
        worst <= 1e-9,
    )
    yield "feature scores sum to 100%", "1e-9", f"{worst_score:.1e}", worst_score <= 1e-9


def one_hot(columns, group):
    """What a general miner starts from: a column for each bin and one for the group."""
    rows = {}
    for column in columns:
        binned = bin_column(column, 5)
        for condition in map(binned.condition, range(binned.n_bins)):
            rows[condition.text] = condition.holds(column)
    return pd.DataFrame(rows | {"group": group})


def raw_and_group(name):
    """The raw table without its target, and the rows of a group that was found in it."""
    source = paper_data.SOURCES[name]
    if name == "diabetes":
        raw = pd.read_csv(paper_data.FOLDER / source.file)
        X, size = paper_data.encode(name, raw), 0.05
    else:
        raw = paper_data.sample(name)
        X, size = paper_data.encode(name, raw), 250
    found = MaxDisparityPartition(source.n_components, group_size=size, random_state=0).fit(X)
    return raw.drop(columns=source.target), found.labels_ == 1


def apriori_rules(frame, support):
    """mlxtend's rules with the group as consequent and at most two antecedents."""
    from mlxtend.frequent_patterns import apriori, association_rules

    frequent = apriori(frame, min_support=support, use_colnames=True, max_len=3, low_memory=True)
    with np.errstate(all="ignore"):
        found = association_rules(frequent, metric="confidence", min_threshold=0.0)
    return {
        rule.antecedents: (rule.support, rule.confidence, rule.lift)
        for rule in found.itertuples()
        if rule.consequents == {"group"}
    }


def same_rules(found, theirs):
    ours = {
        frozenset(condition.text for condition in rule.antecedents): (
            rule.support, rule.confidence, rule.lift,
        )
        for rule in found
    }  # fmt: skip
    return set(ours) == set(theirs) and all(
        np.allclose(ours[key], theirs[key], rtol=1e-12, atol=0) for key in ours
    )


def mixed_table(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(50, 400))
    table = pd.DataFrame(
        {
            "n": rng.gamma(1.0, 9.0, m),
            "k": rng.poisson(2.0, m).astype(float),
            "t": rng.choice(list("abcde"), m),
            "b": rng.integers(0, 2, m),
            "r": np.where(rng.random(m) < 0.05, "rare", "usual"),
        }
    ).where(rng.random((m, 5)) < 0.95)
    return table, rng.random(m) < rng.uniform(0.1, 0.6)


def rules_equal():
    right = 0
    for seed in range(50):
        table, group = mixed_table(seed)
        columns = columns_of(table)
        theirs = apriori_rules(one_hot(columns, group), 0.02)
        found = find_rules(table, group, min_support=0.02, min_confidence=0.0, prune=False)
        right += same_rules(found, theirs)
    raw, group = raw_and_group("students")
    categorical = paper_data.SOURCES["students"].categories
    columns = columns_of(raw, categorical=categorical)
    theirs = apriori_rules(one_hot(columns, group), SUPPORT)
    found = find_rules(columns, group, min_confidence=0.0, prune=False)
    equal = same_rules(found, theirs)
    yield (
        "rules equal mlxtend's (support, confidence, lift)",
        "all, on random tables and on students",
        f"{right} of 50 random tables; students: {'all' if equal else 'NOT all'} {len(theirs):,}",
        right == 50 and equal,
    )


def rule_speed():
    from mlxtend.frequent_patterns import apriori

    for name, target in (("students", 50), ("diabetes", 50)):
        raw, group = raw_and_group(name)
        categorical = paper_data.SOURCES[name].categories
        columns = columns_of(raw, categorical=categorical)
        frame = one_hot(columns, group)
        ours = []
        for _ in range(15):
            start = time.process_time()
            read = columns_of(raw, categorical=categorical)
            found = find_rules(read, group)
            ours.append(time.process_time() - start)
        theirs = []
        for _ in range(3 if name == "students" else 1):
            start = time.process_time()
            apriori(frame, min_support=SUPPORT, low_memory=True, max_len=3)
            theirs.append(time.process_time() - start)
        ours, theirs = (float(np.median(t)) for t in (ours, theirs))
        yield (
            f"rules of {name}, {len(raw):,} x {raw.shape[1]}, from the raw table, against "
            "mlxtend's apriori from one-hot columns",
            f"{target} x faster",
            f"{theirs / ours:.0f} x ({1000 * ours:.1f} ms against {theirs:.2f} s; {len(found):,} "
            "rules)",
            theirs / ours >= target,
        )
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/table.npy", f"{folder}/group.npy"]
        for file, array in zip(files, (raw.to_numpy(), group), strict=True):
            np.save(file, array)
        command = [sys.executable, "-m", "benchmarks.explain", *files]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    extra = json.loads(done.stdout.splitlines()[-1])["extra"]
    yield (
        "peak memory of the rules of diabetes beyond the table",
        "under 2 x the table",
        f"{extra:.2f} x",
        extra < 2,
    )


def hidden_rule(seed, joined, rows=2000, d=5):
    """Thirty raw columns, two of which say who varies along directions of their own."""
    rng = np.random.default_rng(seed)
    names = [f"c{j}" for j in range(6)]
    kinds = {name: rng.choice(list("uvwxyz")[: rng.integers(3, 6)], rows) for name in names}
    b = rng.gamma(2.0, 10.0, rows).round(1)
    a = names[rng.integers(6)]
    x = rng.choice(np.unique(kinds[a]))
    if joined == "and":
        rule = (kinds[a] == x) & (b >= np.quantile(b, rng.uniform(0.5, 0.8)))
    else:
        rare = np.where(rng.random(rows) < 0.8, "other", kinds[a])
        kinds[a] = np.where(kinds[a] == x, rare, kinds[a])
        rule = (kinds[a] == x) | (b >= np.quantile(b, rng.uniform(0.9, 0.95)))
    directions = np.linalg.qr(rng.standard_normal((23, 23)))[0]
    along = rng.standard_normal((rows, d))
    X = 0.2 * rng.standard_normal((rows, 23))
    X[~rule] += along[~rule] @ directions[:d]
    X[rule] += along[rule] @ directions[d : 2 * d]
    table = pd.DataFrame({f"n{j}": X[:, j] for j in range(23)} | {"b": b} | kinds)
    return table[rng.permutation(table.columns)], X, rule, {a, "b"}


def f1(covered, group):
    return 2 * (covered & group).sum() / (covered.sum() + group.sum())


def named_and_fit(seed, joined, searched):
    """Whether the sentence names the hidden columns alone, and the lower of its two F1."""
    table, X, rule, columns = hidden_rule(seed, joined)
    group = rule
    if searched:
        search = MaxDisparityPartition(5, group_size=int(rule.sum()), random_state=seed)
        group = search.fit(X).labels_ == 1
    sentence = explain.describe(table, group)
    named = {condition.column for condition in sentence.conditions}
    return named == columns, min(sentence.f1, f1(sentence.covers(table), rule))


def sentences():
    """The rule itself as labels, and the group that the search finds in the numbers."""
    for joined in ("and", "or"):
        for searched, labels in ((False, "of the rule"), (True, "found by the search")):
            found = Parallel(n_jobs=2)(
                delayed(named_and_fit)(seed, joined, searched) for seed in range(50)
            )
            named, fits = sum(right for right, _ in found), [fit for _, fit in found]
            yield (
                f"hidden rule 'a = x {joined} b >= t' among 30 columns, labels {labels}",
                "names those columns and no other in 90% of 50 tables, F1 0.95",
                f"{2 * named}%, F1 {min(fits):.3f} or more",
                named >= 45 and min(fits) >= 0.95,
            )


def best_of_pysubgroup(raw, categorical, group):
    """The best F1 of a description with up to two conditions that pysubgroup finds."""
    import pysubgroup as ps

    class F1(ps.SimplePositivesQF):
        def evaluate(self, subgroup, target, data, statistics=None):
            found = self.ensure_statistics(subgroup, target, data, statistics)
            size = self.dataset_statistics.positives_count
            return 2 * found.positives_count / (found.size_sg + size)

        def optimistic_estimate(self, subgroup, target, data, statistics=None):
            found = self.ensure_statistics(subgroup, target, data, statistics)
            size = self.dataset_statistics.positives_count
            return 2 * found.positives_count / (found.positives_count + size)

    data = raw.astype({name: str for name in categorical}).assign(group=group)
    best = (0.0, "")
    for bins in (5, 10):
        space = ps.create_selectors(data, ignore=["group"], nbins=bins)
        task = ps.SubgroupDiscoveryTask(
            data, ps.BinaryTarget("group", True), space, result_set_size=1, depth=2, qf=F1()
        )
        quality, description, *_ = ps.DFS(ps.BitSetRepresentation).execute(task).results[0]
        best = max(best, (float(quality), str(description)))
    return best


def students():
    source = paper_data.SOURCES["students"]
    raw = paper_data.sample("students")
    X = paper_data.encode("students", raw)
    search = MaxDisparityPartition(source.n_components, random_state=0, n_jobs=-1)
    evident = how_many(search, X, n_surrogates=99, most=1, sizes=15).looked[0].size
    names = ("International", "(credited)")
    for size, where in ((evident, "at the evidence size"), (250, "at 250 rows")):
        found = MaxDisparityPartition(source.n_components, group_size=size, random_state=0).fit(X)
        told = explain.describe(
            raw, found.labels_, categorical=source.categories, drop=[source.target]
        )
        theirs, said = best_of_pysubgroup(
            raw.drop(columns=source.target), source.categories, found.labels_ == 1
        )
        yield (
            f"students {where}: the sentence against pysubgroup's best two conditions",
            "F1 at least as high",
            f"{told.f1:.3f} against {theirs:.3f} ({said}); {size} rows",
            told.f1 >= theirs,
        )
        yield (
            f"students {where}: names International or credited units",
            "yes",
            told.text,
            any(name in told.text for name in names),
        )


def main(table, group):
    small = np.random.default_rng(0).integers(0, 9, (500, 5)).astype(float)
    find_rules(pd.DataFrame(small), np.arange(500) < 100)  # compile
    values, group = np.load(table), np.load(group)
    raw = pd.DataFrame(values, copy=False)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of imports and compilation
    before = high_water()
    find_rules(raw, group)
    print(json.dumps({"extra": (high_water() - before) / values.nbytes}))


def high_water():
    """Peak of the resident memory since it was last cleared (Linux)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
