"""
Why are some students represented badly?
========================================

2,000 of 4,424 students of a Portuguese polytechnic: schooling, parents, courses, grades. Some are
represented far worse than others. Is that a hidden group, is it rare values, or does covariance
alone explain it? :func:`leftout.trust` splits the loss into these three parts.

The table is the UCI data set 697, *Predict Students' Dropout and Academic Success*. It is not part
of the package: this example looks for ``students_dropout.csv.gz`` in the folder that
``LEFTOUT_DATA`` names.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import leftout

path = Path(os.environ.get("LEFTOUT_DATA", "../shared/data")) / "students_dropout.csv.gz"
if not path.exists():
    sys.exit(f"{path} is not there. Set LEFTOUT_DATA to the folder that has it.")

table = pd.read_csv(path).drop(columns="Target").sample(2000, random_state=0)
X = leftout.TableEncoder().fit_transform(table)
found = leftout.trust(
    leftout.MaxDisparityPartition(random_state=0), X, n_surrogates=19, n_restarts=3
)

print(leftout.explain.describe(table, found.partition.labels_))
print(found.verdict, found.verdict_name)
print(found.parts.text)

# %%
# Most of what these students lose, tables with the same values in every column lose as well: rare
# values are how people come to be left out of a PCA. That does not take their loss back.

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
left = 0.0
colours = {"covariance": "tab:gray", "rare values": "tab:blue", "of their own": "tab:orange"}
for (name, colour), part in zip(colours.items(), found.parts.each().values(), strict=True):
    ax.barh(0, part.loss, left=left, color=colour, label=f"{name}: {part.loss:.3f}")
    left += part.loss
ax.set(xlabel="loss beyond the rest's", yticks=[])
ax.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.2))
plt.show()
