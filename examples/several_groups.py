"""
How many groups are left out?
=============================

Two groups are planted in this table, each with directions of its own that the other 530 rows do not
have. A search for one group finds rows of both. :func:`leftout.how_many` counts before searching: a
group counts as long as it is more than comparison tables show.
"""

import matplotlib.pyplot as plt

from leftout import MaxDisparityPartition, datasets, how_many

X, planted = datasets.make_planted(700, 12, 3, group_size=[60, 110], random_state=0)

counted = how_many(MaxDisparityPartition(3, random_state=0), X, n_surrogates=19)
print(counted.summary())

found = MaxDisparityPartition(3, n_groups=len(counted.sizes), group_size=counted.sizes)
found.set_params(random_state=0).fit(X)
print(found.sizes_, found.disparities_.round(2))

# %%
# Rows by how far each leans to the first group and to the second. The groups that were planted have
# their own colours; the search saw no colour.

scores = found.score_samples(X)
fig, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
names = ["rest", "planted, 60 rows", "planted, 110 rows"]
colours = ["lightgray", "tab:orange", "tab:blue"]
for label, name in enumerate(names):
    ax.scatter(*scores[planted == label, :2].T, s=9, color=colours[label], label=name)
ax.set(xlabel="leans to the first group found", ylabel="leans to the second")
ax.legend(frameon=False)
plt.show()
