"""
What does it cost to protect everybody?
=======================================

Fair PCA protects the groups it is told of, and moves their loss to others. ``MinimaxPCA`` is told
of nobody: it plays the projection against a search for whoever loses most under it. How much less
do the worst off lose, with how many components, and what do all rows pay for it?
"""

import matplotlib.pyplot as plt

import leftout

X, _ = leftout.datasets.make_planted(600, 12, 3, [60, 60, 60], random_state=0)
group = leftout.MaxDisparityPartition(3, group_size=60, random_state=0).fit(X).labels_

after = [leftout.afterwards(X, group, d, splits=0) for d in range(1, 8)]
weights = (0.0, 0.25, 0.5, 0.75, 1.0)
fits = [leftout.MinimaxPCA(3, group_size=60, trade_off=t, random_state=0).fit(X) for t in weights]
for fair in fits:
    print(f"t = {fair.trade_off:g}: worst loss {fair.worst_loss_:.3f}, price {fair.price_:.3f}")

# %%
# Left: the worst-off 60 rows, whoever they are, under PCA, Fair PCA for the group found, and
# MinimaxPCA; grey, what no projection gets below. Right: what weighing them against the average
# costs.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
dimensions = [each.n_components for each in after]
for place, marker in enumerate("os^"):
    losses = [each.lines[place].worst_loss for each in after]
    left.plot(dimensions, losses, marker=marker, label=after[0].lines[place].called)
bounds = [each.bound for each in after]
left.plot(dimensions, bounds, ":", color="gray", label="no projection below")
left.set(xlabel="components", ylabel="loss of the worst off", ylim=(0, None))
left.legend(frameon=False)
right.plot([100 * fair.price_ for fair in fits], [fair.worst_loss_ for fair in fits], "o-")
right.set(xlabel="price, % of the variance", ylabel="loss of the worst off", ylim=(0, None))
plt.show()
