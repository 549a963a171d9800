"""
How many components does a fair pipeline need?
==============================================

A pipeline scales the mortgage applications, takes components and predicts the decision.
``GridSearchCV`` chooses how many. With :class:`leftout.FairPCA` in the place of PCA the same search
knows whom the components serve badly: ``groups`` goes through by scikit-learn's metadata routing,
and each fold is fitted with its own rows' groups.

(The table comes with ``pip install 'leftout[demo]'``.)
"""

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import leftout

table = leftout.datasets.load_demo()
y = table["approve"].to_numpy()
X = leftout.TableEncoder().fit_transform(table.drop(columns="approve"))
groups = leftout.MaxDisparityPartition(group_size=0.1, random_state=0).fit(X).labels_

sizes = [5, 10, 15, 20, 30]
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def steps(components):
    model = LogisticRegression(max_iter=2000)
    return Pipeline([("components", components), ("scale", StandardScaler()), ("model", model)])


with sklearn.config_context(enable_metadata_routing=True):
    fair = steps(leftout.FairPCA().set_fit_request(groups=True))
    search = GridSearchCV(fair, {"components__n_components": sizes}, cv=folds)
    search.fit(X, y, groups=groups)
print("Chosen:", search.best_params_, "accuracy", round(search.best_score_, 3))

# %%
# Who gains? Errors on rows that were not learned from, for the left-out tenth and for the rest, by
# the number of components.

errors = {"PCA": [], "Fair PCA": []}
with sklearn.config_context(enable_metadata_routing=True):
    for n in sizes:
        fair = leftout.FairPCA(n).set_fit_request(groups=True)
        for name, each, extra in [("PCA", PCA(n), {}), ("Fair PCA", fair, {"groups": groups})]:
            wrong = cross_val_predict(steps(each), X, y, cv=folds, params=extra) != y
            errors[name].append([100 * wrong[groups == side].mean() for side in (0, 1)])

fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for name, style in [("PCA", "--"), ("Fair PCA", "-")]:
    for side, (who, colour) in enumerate([("rest", "tab:blue"), ("left-out tenth", "tab:orange")]):
        ax.plot(sizes, np.array(errors[name])[:, side], style, color=colour, label=f"{name}, {who}")
ax.set(xlabel="components", ylabel="wrong predictions, %", ylim=(0, None))
ax.legend(frameon=False)
plt.show()
