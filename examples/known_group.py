"""
Is a group that one knows left out?
===================================

Sex and race are on record for the mortgage applications. Here PCA does not see them. Do their
groups lose more than random groups of the same size? A small group's own PCA fits it well, whoever
is in it, so a loss above zero says nothing yet.

(The table comes with ``pip install 'leftout[demo]'``.)
"""

import matplotlib.pyplot as plt

import leftout

table = leftout.datasets.load_demo()
known = table[["male", "black", "hispan"]]
X = leftout.TableEncoder().fit_transform(table.drop(columns=["approve", "white", *known.columns]))

groups = leftout.known_groups(X, known, permutations=199, random_state=0)
print(groups)

# %%
# Each group's loss, all pairs included, beside what random groups of its size lose. Permuting who
# belongs to whom gives p-values that hold for all groups looked at together.

fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
lines = groups.ranked[:12][::-1]
names = [group.text for group in lines]
ax.barh(names, [group.loss for group in lines], color="tab:orange", label="the group")
ax.plot([group.random for group in lines], names, "k|", ms=14, label="random groups of its size")
ax.set_xlabel("average loss")
ax.legend(frameon=False)
plt.show()
