"""
Which images does PCA flatten?
==============================

What PCA sees and what people know may be two tables. Here PCA sees the 64 pixels of 1,797
handwritten digits (``features``), and a table of descriptions says which digit it is, how much ink
it takes and how it stands: words that pixels do not have. Embeddings of texts, gene expression or
sensor data go the same way.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import leftout

digits = load_digits()
pixels = digits.data
ink = pixels.sum(axis=1)
columns, rows = np.tile(np.arange(8), 8), np.repeat(np.arange(8), 8)
table = pd.DataFrame(
    {
        "digit": [f"a {digit}" for digit in digits.target],
        "ink": ink.round(),
        "to the right": (pixels @ columns / ink).round(2),
        "downwards": (pixels @ rows / ink).round(2),
        "wide": (pixels.reshape(-1, 8, 8).max(axis=1) > 4).sum(axis=1),
    }
)

found = leftout.audit(table, features=pixels, n_components=10, quick=True)
print(found.answer.fact)
print("Who:", found.answer.who)

# %%
# The first digits of the left-out group, and what ten shared components make of them.

group = np.flatnonzero(found.partition.labels_ == 1)[:8]
pca = PCA(10).fit(pixels)
made = pca.inverse_transform(pca.transform(pixels[group]))

fig, axes = plt.subplots(2, 8, figsize=(7.5, 2.3), layout="constrained")
for row, images, name in zip(
    axes, (pixels[group], made), ("as they are", "shared PCA"), strict=True
):
    for ax, image in zip(row, images, strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    row[0].set_ylabel(name)
plt.show()
