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

numbers = range(1, 8)
wider = [leftout.MinimaxPCA(d, group_size=60, random_state=0).fit(X) for d in numbers]
weights = (0.0, 0.25, 0.5, 0.75, 1.0)
fits = [leftout.MinimaxPCA(3, group_size=60, trade_off=t, random_state=0).fit(X) for t in weights]
for fair in fits:
    print(f"t = {fair.trade_off:g}: worst loss {fair.worst_loss_:.3f}, price {fair.price_:.3f}")

# %%
# Left: the worst-off 60 rows, whoever they are, under PCA and MinimaxPCA, by the number of
# components, and what no projection gets below. Right: what weighing them against the average
# costs.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.plot(numbers, [fair.baseline_worst_loss_ for fair in wider], "o-", label="PCA")
left.plot(numbers, [fair.worst_loss_ for fair in wider], "s-", label="MinimaxPCA")
bounds = [fair.lower_bound_ for fair in wider]
left.plot(numbers, bounds, ":", color="gray", label="no projection below")
left.set(xlabel="components", ylabel="loss of the worst off", ylim=(0, None))
left.legend(frameon=False)
right.plot([100 * fair.price_ for fair in fits], [fair.worst_loss_ for fair in fits], "o-")
right.set(xlabel="price, % of the variance", ylabel="loss of the worst off", ylim=(0, None))
plt.show()
