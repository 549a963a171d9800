from __future__ import annotations

import os

# scikit-learn skips one of its checks without it, and SciPy reads it when first imported
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import paper_data

settings.register_profile(
    "leftout",
    deadline=None,  # tests do not time
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.load_profile("leftout")


@pytest.fixture(scope="session")
def students() -> np.ndarray:
    reason = paper_data.missing()
    if reason:
        pytest.skip(reason)
    return paper_data.load("students")


@pytest.fixture(scope="session")
def mixed() -> np.ndarray:
    """A small table with correlated, skewed, discrete and rare binary columns."""
    rng = np.random.default_rng(7)
    Z = rng.standard_normal((240, 7)) @ rng.standard_normal((7, 7))
    Z[:, 1] = np.exp(Z[:, 1] / 2)
    Z[:, 2] = np.round(Z[:, 2])
    Z[:, 3] = Z[:, 3] > 2
    return Z
