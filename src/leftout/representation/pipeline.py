"""A scikit-learn pipeline around its representation: what comes before it, and the model after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from leftout.data.frames import dense
from leftout.data.sources import called, fetch, short
from leftout.errors import InputError, parameter_label
from leftout.text import listed


@dataclass(frozen=True)
class SplitPipeline:
    """The steps of a pipeline, and which of them is audited."""

    steps: list[tuple[str, Any]]  # in order; a nested pipeline's are named like outer__inner
    place: int  # of the representation
    fitted: bool  # whether it came fitted

    @classmethod
    def of(cls, pipeline: Any, step: str | None = None) -> SplitPipeline:
        """Find the representation by its type, or by the name of its step."""
        if not isinstance(pipeline, Pipeline):
            raise InputError(
                f"pipeline is {type(pipeline).__name__}; a scikit-learn Pipeline is needed. For a "
                "fitted representation alone, pass the features that it sees "
                f"({parameter_label('features')}) and use "
                "leftout.MaxDisparityPartition(representation=...)."
            )
        steps = list(_flat(pipeline))
        names = [name for name, _ in steps]
        if step is None:
            places = [place for place, (_, each) in enumerate(steps) if _represents(each)]
        else:
            places = [p for p, name in enumerate(names) if step in (name, name.split("__")[-1])]
        if len(places) != 1:
            found = listed([names[place] for place in places]) if places else ""
            asked = f"called {step!r}" if step else "that is a PCA or the like"
            what = f"{len(places)} steps {asked} ({found})" if places else f"no step {asked}"
            raise InputError(
                f"The pipeline has {what} among {listed(names)}; one step is audited. Name it: "
                f"{parameter_label('pipeline_step', names[places[0]] if places else 'pca')}."
            )
        try:
            check_is_fitted(steps[places[0]][1])
            fitted = True
        except NotFittedError:
            fitted = False
        return cls(steps, places[0], fitted)

    @property
    def name(self) -> str:
        """The step that is audited."""
        return self.steps[self.place][0]

    @property
    def representation(self) -> Any:
        return self.steps[self.place][1]

    @property
    def before(self) -> Any:
        """What makes the features; None where the representation comes first."""
        steps = self.steps[: self.place]
        return _joined(steps) if steps else None

    @property
    def after(self) -> Any:
        """The model; None where nothing that predicts follows."""
        steps = self.steps[self.place + 1 :]
        return _joined(steps) if steps and hasattr(steps[-1][1], "predict") else None

    def on(self, table: Any, y: Any) -> tuple[SplitPipeline, Any]:
        """The pipeline fitted up to its representation, if it was not, and what that sees."""
        before, representation = self.before, self.representation
        if self.fitted:
            return self, table if before is None else before.transform(table)
        before = None if before is None else clone(before)
        X = table if before is None else before.fit_transform(table, y)
        fitted = clone(representation).fit(dense(X))
        names = [name for name, _ in self.steps]
        made = [] if before is None else [step for _, step in before.steps]
        steps = [*zip(names, [*made, fitted], strict=False), *self.steps[self.place + 1 :]]
        return SplitPipeline(steps, self.place, False), X

    def feature_names(self, n_features: int) -> list[str]:
        """What the steps before the representation call the features."""
        before = self.before
        try:
            names = [] if before is None else list(map(str, before.get_feature_names_out()))
        except (AttributeError, ValueError, NotFittedError):
            names = []  # a step does not say
        known = getattr(self.representation, "feature_names_in_", None)
        if len(names) != n_features and known is not None:
            names = list(map(str, known))
        return names if len(names) == n_features else [f"x{j}" for j in range(n_features)]

    @property
    def chosen(self) -> set[str]:
        """The columns that it names itself, in a ColumnTransformer that comes first."""
        first = self.steps[0][1]
        if not isinstance(first, ColumnTransformer):
            return set()
        named: set[str] = set()
        for _, _, part in first.transformers:
            each = [part] if isinstance(part, str) else part if isinstance(part, Sequence) else []
            named.update(name for name in each if isinstance(name, str))
        return named

    @property
    def columns(self) -> list[Any] | None:
        """The columns that it was fitted on; None if it was not, or does not say."""
        known = getattr(self.steps[0][1], "feature_names_in_", None)
        return None if known is None or not self.fitted else list(known)


def read_pipeline(path: str, trusted: Sequence[str] = ()) -> Any:
    """The estimator in a file of skops, which runs nothing of types that nobody has named.

    ``trusted`` are types beside those of scikit-learn, NumPy and SciPy, as ``module.Name``.
    """
    try:
        import skops.io
    except ImportError as error:
        raise InputError(
            f"Reading {called(path)} needs skops. Install it: pip install 'leftout[pipeline]'."
        ) from error
    data, _ = fetch(path)
    try:
        unknown = sorted(set(skops.io.get_untrusted_types(data=data)) - set(trusted))
        if not unknown:
            return skops.io.loads(data, trusted=list(trusted))
    except Exception as error:  # whatever a file that is none makes of itself
        raise InputError(
            f"{called(path)} cannot be read as a file of skops ({short(error)}). Write the "
            "pipeline with skops.io.dump; a pickle is not opened, as that would run what is in it."
        ) from error
    raise InputError(
        f"{called(path)} holds {listed(unknown)}, which nobody has said to trust; nothing of it "
        "was loaded. If the file comes from somebody you trust: "
        f"{parameter_label('trust_types', unknown)}."
    )


def _joined(steps: list[tuple[str, Any]]) -> Pipeline:
    """Steps in line as a pipeline, whose names may not have double underscores."""
    return Pipeline([(name.replace("__", "."), step) for name, step in steps])


def _flat(pipeline: Pipeline, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            yield from _flat(step, f"{prefix}{name}__")
        elif step is not None and not (isinstance(step, str) and step == "passthrough"):
            yield f"{prefix}{name}", step


def _represents(step: Any) -> bool:
    """Whether a step keeps a number of components and has a way back; scalers keep all."""
    back = hasattr(step, "transform") and hasattr(step, "inverse_transform")
    return back and not hasattr(step, "predict") and "n_components" in step.get_params(deep=False)


def sources_of(features: list[str], columns: list[str]) -> list[str]:
    """The raw column that each feature was made from, as far as its name tells.

    >>> sources_of(["num__age", "cat__sex_male", "pc"], ["age", "sex"])
    ['age', 'sex', 'pc']
    """
    by_length = sorted(columns, key=len, reverse=True)

    def source(feature: str) -> str:
        for name in (feature, feature.split("__")[-1]):
            if name in columns:
                return name
            for column in by_length:
                if name.startswith((f"{column}_", f"{column}=")):
                    return column
        return feature

    return [source(feature) for feature in features]
