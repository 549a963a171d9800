"""
Is the answer the same when the table does not fit into memory?
===============================================================

A table in parts is passed over chunk by chunk: sums come home, rows do not. Here a folder of small
Parquet files stands in for one that no machine could hold. It is audited in parts
(``engine="local"``; ``engine="dask"`` does the same on a cluster) and, since it is small, whole.

(Needs ``pip install 'leftout[scale]'``.)
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import leftout

X, planted = leftout.datasets.make_planted(60_000, 10, 3, group_size=6_000, random_state=0)
folder = Path(tempfile.mkdtemp())
for place in range(4):
    part = pd.DataFrame(X[15_000 * place : 15_000 * (place + 1)], columns=list("abcdefghij"))
    part.to_parquet(folder / f"part-{place}.parquet")

in_parts = leftout.audit(folder, engine="local", n_components=3, quick=True)
whole = leftout.audit(folder, engine="memory", n_components=3, quick=True)
print(in_parts.headline())
print("files, chunks, rows:", in_parts.chunks.n_files, in_parts.chunks.n_chunks, len(X))

# %%
# How far each row leans to the left-out side, by both engines: one line, up to the order of sums.

both = pd.merge(in_parts.groups, whole.groups, on="row", suffixes=(" in parts", " whole"))
print("rows on the same side:", (both["group in parts"] == both["group whole"]).mean())
fig, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
for name, colour in [("rest", "tab:blue"), ("left out", "tab:orange")]:
    rows = both[both["group whole"] == name]
    ax.scatter(rows["score whole"], rows["score in parts"], s=6, color=colour, label=name)
ax.set(xlabel="score, table in memory", ylabel="score, table in parts")
ax.legend(frameon=False)
plt.show()
