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
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import leftout
from leftout import plots

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
print("What was audited:", found.audited.told)
print(found.answer.fact)
print("Who:", found.answer.who)

# %%
# What do the components cost them? The whole pipeline is fitted again in each fold, with its PCA,
# without it, and with Fair PCA in its place.

fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
plots.harm(found.harm, ax)
plt.show()
