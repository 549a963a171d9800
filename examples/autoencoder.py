"""
Does an autoencoder leave out the same people?
==============================================

Whatever turns rows into a few numbers and back can be audited: its squared errors say how much it
keeps of each row. Here that is an autoencoder, written with scikit-learn's ``MLPRegressor``, on
handwritten digits. A group's loss is then what its *own PCA* of as many components would do better;
it may be negative, where the autoencoder is better than that.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPRegressor

import leftout


class Autoencoder(TransformerMixin, BaseEstimator):
    """One hidden layer: to as many numbers as it is wide, and back."""

    def __init__(self, width=10):
        self.width = width

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        net = MLPRegressor(hidden_layer_sizes=(self.width,), activation="tanh", max_iter=500)
        self.net_ = net.set_params(learning_rate_init=0.005, tol=1e-5, random_state=0).fit(X, X)
        return self

    def transform(self, X):
        return np.tanh(X @ self.net_.coefs_[0] + self.net_.intercepts_[0])

    def inverse_transform(self, Z):
        return Z @ self.net_.coefs_[1] + self.net_.intercepts_[1]


X, digit = load_digits(return_X_y=True)
X = X / 16

encoder = Autoencoder(10).fit(X)
settings = {"group_size": 0.1, "random_state": 0}
found = {
    "PCA": leftout.MaxDisparityPartition(10, **settings).fit(X),
    "autoencoder": leftout.MaxDisparityPartition(representation=encoder, **settings).fit(X),
}
for name, search in found.items():
    print(name, "keeps of rest and group:", search.retained_.round(2))
both, either = (
    np.count_nonzero(how(*(search.labels_ == 1 for search in found.values())))
    for how in (np.logical_and, np.logical_or)
)
print(f"Left out by both: {both} of {either} rows that either leaves out.")

# %%
# Which digits are in the worst-represented tenth?

fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
for place, (name, search) in enumerate(found.items()):
    share = [100 * np.mean(search.labels_[digit == each] == 1) for each in range(10)]
    ax.bar(np.arange(10) + 0.4 * place - 0.2, share, 0.4, label=name)
ax.set(xlabel="digit", ylabel="left out, %", xticks=range(10))
ax.legend(frameon=False)
plt.show()
