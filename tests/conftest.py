from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

# scikit-learn skips one of its checks without it, and SciPy reads it when first imported
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import compiling_once
import naive
import paper_data
from leftout.auditing.stages import AuditPipeline

compiling_once.share()

settings.register_profile(
    "leftout",
    deadline=None,  # tests do not time
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
# for runs of the same tests on many kernels
settings.register_profile("kernels", settings.get_profile("leftout"), max_examples=25)
settings.register_profile("thorough", settings.get_profile("leftout"), max_examples=500)
settings.load_profile("leftout")

LATER = {"subgroups", "costs", "evidence", "explained_further", "read_otherwise"}


@pytest.fixture(scope="session", autouse=True)
def own_states(tmp_path_factory):
    """Passes are not kept in the home of whoever runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("states"))


@pytest.fixture(scope="session", autouse=True)
def with_afterwards():
    """Where audits look at whom a mitigation leaves worst off: half of a small audit's time."""
    looked = AuditPipeline._afterwards

    @contextmanager
    def with_afterwards():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AuditPipeline, "_afterwards", looked)
            yield

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AuditPipeline, "_afterwards", lambda _, now: now)
        yield with_afterwards


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Where an oracle gives up, nothing is compared with it: so tests ask it last."""
    try:
        return (yield)
    except naive.GaveUp as reason:
        pytest.skip(str(reason))


@pytest.fixture
def only(monkeypatch):
    """Leave audits of this test what their first answer has, and the later stages that are named.

    ``"costs"`` are those of components and how a prediction errs; ``"predictions"`` the latter.
    """

    def only(*stages):
        place = "leftout.auditing.stages.AuditPipeline._"
        if "predictions" in stages:
            monkeypatch.setattr(place + "harm", lambda *_: (None, "Not measured here."))
            stages += ("costs",)
        for stage in LATER - set(stages):
            monkeypatch.setattr(place + stage, lambda _, now, *plan: now)

    return only


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


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium; on Debian: apt-get install chromium")
    with api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()
