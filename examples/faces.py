"""
Whose face does a PCA draw worst?
=================================

624 pictures of twenty people, 32 x 30 pixels: looking straight ahead, left, right or up, with and
without sunglasses. Twenty components are shared by all. Which pictures lose most by sharing?

The table is the CMU face images (Mitchell, *Machine Learning*, 1997), reduced. It is not part of
the package: this example looks for ``cmu_faces_32x30.csv.gz`` in the folder that ``LEFTOUT_DATA``
names.
"""

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from leftout import MaxDisparityPartition

path = Path(os.environ.get("LEFTOUT_DATA", "../shared/data")) / "cmu_faces_32x30.csv.gz"
if not path.exists():
    sys.exit(f"{path} is not there. Set LEFTOUT_DATA to the folder that has it.")

table = pd.read_csv(path)
X = table.filter(regex=r"^p\d+$").to_numpy() / 255.0
found = MaxDisparityPartition(20, group_size=62, random_state=0).fit(X)

print(f"Shared, {found.retained_.round(2)} of the variance of rest and group is kept;")
print(f"by components of their own, {found.retained_own_.round(2)}.")
who = table.loc[found.labels_ == 1, ["pose", "eyes", "userid"]]
for column in who:
    print(who[column].value_counts().head(3).to_dict())

# %%
# The pictures that lean furthest to the left-out side: as they are, as twenty shared components
# draw them, and as twenty of the group's own would.

first = np.argsort(-found.score_samples(X))[:6]
fig, axes = plt.subplots(3, 6, figsize=(7.5, 4.2), layout="constrained")
shared, own = found.components_, found.group_components_[1]
for column, picture in enumerate(X[first]):
    drawn = [picture, *(found.mean_ + (picture - found.mean_) @ V.T @ V for V in (shared, own))]
    for ax, pixels, name in zip(axes[:, column], drawn, ["picture", "shared", "own"], strict=True):
        ax.imshow(pixels.reshape(32, 30), cmap="gray", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        if column == 0:
            ax.set_ylabel(name)
plt.show()
