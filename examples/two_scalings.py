"""
Does it matter how columns are scaled?
======================================

PCA follows variance, so whoever scales the columns decides whom it serves. The same mortgage
applications are read twice: each column brought to [0, 1], and each to unit variance. Who is in the
worst-represented tenth either way, and who only in one of the two?

(The table comes with ``pip install 'leftout[demo]'``.)
"""

import matplotlib.pyplot as plt
import numpy as np

import leftout

table = leftout.datasets.load_demo()
settings = {"target": "approve", "dictionary": leftout.datasets.demo_dictionary(), "quick": True}
found = {
    scaling: leftout.audit(table, scaling=scaling, **settings) for scaling in ("minmax", "standard")
}
for scaling, audit in found.items():
    print(f"{scaling}: {audit.answer.fact}")
    print("  Who:", audit.answer.who)

minmax, standard = (audit.partition.labels_ == 1 for audit in found.values())
both = np.count_nonzero(minmax & standard)
print(f"Left out either way: {both} of the {np.count_nonzero(minmax | standard)} left out in one.")

# %%
# A column that is rarely other than 0 has little variance in [0, 1], and as much as any other in
# units of its standard deviation. How often each group has such a value, against everybody:

columns = table.drop(columns="approve")
rare = [name for name in columns if 0 < np.mean(columns[name] != columns[name].mode()[0]) < 0.1]
share = {
    who: [100 * np.mean(columns[name][rows] != columns[name].mode()[0]) for name in rare]
    for who, rows in (("everybody", minmax | True), ("[0, 1]", minmax), ("unit", standard))
}
fig, ax = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
for who, colour in zip(share, ("tab:blue", "tab:orange", "black"), strict=True):
    ax.plot(share[who], range(len(rare)), "o", color=colour, label=who)
ax.set(xlabel="rows with a rare value (%)", yticks=range(len(rare)), yticklabels=rare)
ax.legend(title="left out when scaled to", frameon=False)
plt.show()
