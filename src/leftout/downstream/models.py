"""Models by name: small, quick, and the same for everybody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from leftout.asking import asking
from leftout.checks import Refusal, check_choice

MODELS = ("logistic", "boosting")
# Few and small trees: what the kinds of features do to a model shows long before its best fit.
_TREES = {"max_iter": 40, "max_leaf_nodes": 8, "early_stopping": False, "random_state": 0}
# Penalized, and on one scale, it ends long before; warnings of one that did not cannot be kept from
# people without changing the whole process.
_STEPS = 10_000


class Model(NamedTuple):
    """A model to be fitted on some features, and what it is called."""

    name: str
    unfitted: Any

    def fitted(self, X: Any, y: Any) -> Any:
        """A copy of it that has learnt; the original stays as it was."""
        return clone(self.unfitted).fit(X, y)


def models_of(models: Any, numbers: bool) -> list[Model]:
    """Models from names and scikit-learn estimators, or from these by labels of one's own."""
    each = [models] if isinstance(models, str) or not isinstance(models, Iterable) else list(models)
    if not each:
        raise Refusal(
            f"{asking('models')} names no model; at least one is needed, for example 'logistic'."
        )
    if isinstance(models, Mapping):
        return [Model(str(name), _model(one, numbers).unfitted) for name, one in models.items()]
    found = [_model(model, numbers) for model in each]
    for place, model in enumerate(found):
        again = sum(other.name == model.name for other in found[:place])
        if again:
            found[place] = Model(f"{model.name} {again + 1}", model.unfitted)
    return found


def _model(model: Any, numbers: bool) -> Model:
    if isinstance(model, str):
        check_choice("models", model, MODELS)
        return Model("ridge" if numbers and model == "logistic" else model, _named(model, numbers))
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise Refusal(
            f"Found {model!r} among {asking('models')}; a name or a scikit-learn estimator with "
            f"fit and predict is needed. Names are {', '.join(map(repr, MODELS))}."
        )
    last = model[-1] if isinstance(model, Pipeline) else model
    return Model(type(last).__name__, model)


def _named(name: str, numbers: bool) -> Any:
    if name == "boosting":
        kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
        return kind(**_TREES)
    last = Ridge() if numbers else LogisticRegression(max_iter=_STEPS)
    return make_pipeline(StandardScaler(), last)
