"""
Who does the PCA of 1,989 mortgage applications leave out?
==========================================================

The demo's table has 55 columns of an application: income, debts, credit history, the property.
``leftout.audit`` finds the tenth of the applications that a shared PCA represents worst. It is told
no groups, and never sees the decision.

(The table comes with ``pip install 'leftout[demo]'``.)
"""

import matplotlib.pyplot as plt
import pandas as pd

import leftout

table = leftout.datasets.load_demo()
words = leftout.datasets.demo_dictionary()  # labels of columns and of values

found = leftout.audit(table, target="approve", positive=1, dictionary=words, quick=True)
print(found.summary())

# %%
# A quick audit takes seconds and ends here. Without ``quick=True`` it takes a minute or two, and
# also says why they lose, whether it replicates on held-out rows, and what it costs them. In a
# notebook an audit shows itself, with its findings:

found

# %%
# What the disparity is made of: how much each column adds to the group's loss beyond the rest's.
# The parts sum to the disparity exactly.

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
parts = pd.Series(found.explanation.by_column()).sort_values(key=abs)
largest = parts[-12:]
largest.plot.barh(ax=ax, color=["tab:orange" if part > 0 else "tab:blue" for part in largest])
ax.set_xlabel(f"part of the disparity, {parts.sum():.3f}; the 12 largest")
plt.show()
