"""
Which formula gives the paper's numbers?
========================================

Arjun KM and Shashi Jain (2026) publish losses of 2.20 for daytime and 1.06 for evening students.
Their definition and their algorithm write two formulas, and rows may be centred or not. Which
combination gives these numbers?

The table is not part of the package: this example looks for ``students_dropout.csv.gz`` in the
folder that ``LEFTOUT_DATA`` names. All of the paper again: ``make reproduce DATA=DIR``.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import leftout

path = Path(os.environ.get("LEFTOUT_DATA", "../shared/data")) / "students_dropout.csv.gz"
if not path.exists():
    sys.exit(f"{path} is not there. Set LEFTOUT_DATA to the folder that has it.")

# %%
# By the paper's protocol: 2,000 rows, stratified by the target; codes become the target's mean; all
# columns from 0 to 1.

table = pd.read_csv(path)
table = train_test_split(table, train_size=2000, stratify=table["Target"], random_state=42)[0]
graduate = (table["Target"] == "Graduate").astype(float)
features = table.drop(columns="Target")
codes = ["Marital status", "Application mode", "Course", "Previous qualification", "Nacionality"]
parts = ("qualification", "occupation")
codes += [f"{who}'s {part}" for who in ("Mother", "Father") for part in parts]
for column in codes:
    features[column] = features[column].map(graduate.groupby(features[column]).mean())
X = (features - features.min()) / (features.max() - features.min())
daytime = table["Daytime/evening attendance"] == 1

# %%
# Only one comes near: the distance of two reconstructions, with components of centred rows applied
# to rows that are *not* centred. No consistent PCA does that. What `leftout` computes by default is
# the definition, with all rows about the column means.

pairs = [("excess", "global"), ("excess", "none"), ("projection_gap", "global"),
         ("projection_gap", "none"), ("projection_gap", "paper")]  # fmt: skip
losses = np.array([
    leftout.group_losses(X, ~daytime, 9, loss=loss, centering=centering)
    for loss, centering in pairs
])  # fmt: skip
fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
places = np.arange(len(pairs))
sides = [("daytime", 2.20, "tab:blue"), ("evening", 1.06, "tab:orange")]
for side, (name, published, colour) in enumerate(sides):
    ax.barh(places + 0.4 * side - 0.2, losses[:, side], 0.38, color=colour, label=name)
    ax.axvline(published, color=colour, ls=":", label=f"{name}, published")
ax.set_yticks(places, [f"{loss}\ncentring: {centering}" for loss, centering in pairs])
ax.set_xlabel("average loss")
ax.legend(frameon=False)
plt.show()
