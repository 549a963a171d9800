"""
Whom does a fitted pipeline leave out?
======================================

A pipeline that is in use was fitted on the rows of its day. Whom does it serve badly now? Here one
is fitted on half of the mortgage applications and audited on the other half, as it is: the steps
before PCA make the features, the steps after it are the model that costs are measured with, and
people are described in the columns of the raw table.

(The table comes with ``pip install 'leftout[demo]'``.)
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import leftout

table = leftout.datasets.load_demo()
then, now = table.iloc[::2], table.iloc[1::2].reset_index(drop=True)

pipeline = make_pipeline(SimpleImputer(), StandardScaler(), PCA(15), LogisticRegression())
pipeline.fit(then.drop(columns="approve"), then["approve"])

found = leftout.audit(
    now,
    pipeline=pipeline,
    target="approve",
    dictionary=leftout.datasets.demo_dictionary(),
    n_restarts=0,
    n_surrogates=0,
)
print("What was audited:", found.audited.text)
print(found.answer.fact)
print("Who:", found.answer.who)

# %%
# What do the components cost them? The whole pipeline is fitted again in each fold, with its PCA,
# without it, and with Fair PCA in its place.

fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
seen = found.harm.variants
for side, colour in [(found.harm.group, "tab:orange"), (found.harm.rest, "tab:blue")]:
    error, low, high = 100 * np.transpose([found.harm.at(side, each) for each in seen])
    ax.errorbar(seen, error, [error - low, high - error], color=colour, fmt="o-", label=side)
ax.set(ylabel="wrong predictions, % (with 95% intervals)", ylim=(0, None))
ax.legend(frameon=False)
plt.show()
