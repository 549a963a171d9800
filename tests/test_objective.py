"""Leading eigenpairs and bracketed roots."""

import numpy as np
import pytest

from leftout.fair.objective import leading, root


@pytest.mark.parametrize(("n", "count"), [(5, 2), (150, 3), (150, 40), (450, 4)])
def test_leading_eigenpairs_are_the_leading_ones(n, count):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(2 * n, n)) * np.linspace(2.0, 0.1, n)
    values, vectors = leading(X.T @ X, count)
    expected = np.linalg.eigvalsh(X.T @ X)[::-1]
    np.testing.assert_allclose(values[:count], expected[:count], rtol=1e-10)
    V = vectors[:, :count]
    np.testing.assert_allclose(X.T @ (X @ V), V * values[:count], atol=1e-8 * expected[0])


@pytest.mark.parametrize("power", [1, 3, 9])
@pytest.mark.parametrize("place", [1e-12, 0.3, 0.999])
def test_roots_are_found_wherever_they_are(power, place):
    def function(x):
        return np.sign(x - place) * abs(x - place) ** power

    assert root(function, 0.0, 1.0) == pytest.approx(place, rel=1e-9)
    assert root(lambda x: -function(x), 0.0, 1.0) == pytest.approx(place, rel=1e-9)
    with pytest.raises(ValueError, match="different signs"):
        root(lambda x: 1.0, 0.0, 1.0)
