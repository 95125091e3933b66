"""What a fitted estimator says by itself, and what is known of it."""

from typing import Any

from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skstructured.extend._types import Array, Features, Floats, Outputs


def estimator_has(name: str) -> Any:
    """Whether the estimator, fitted or not, has a method."""
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), name)


class Delegating:
    """Predictions and names of `estimator_`, and tags of `estimator`."""

    estimator: Any
    estimator_: Any

    def predict(self, X: Features) -> Any:
        """What the estimator predicts."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @available_if(estimator_has("predict_proba"))
    def predict_proba(self, X: Features) -> Floats:
        """Probabilities of the estimator, as they are."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    @available_if(estimator_has("score"))
    def score(self, X: Features, y: Outputs, sample_weight: Any = None) -> float:
        """What the estimator's `score` is; see `covered` for the sets."""
        check_is_fitted(self, "estimator_")
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.estimator_.score(X, y, **given)

    @property
    def classes_(self) -> Array:
        """Labels of the estimator."""
        return self.estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features of the estimator."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features of the estimator."""
        return self.estimator_.feature_names_in_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of scikit-learn's base
        inner = get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.input_tags = inner.input_tags
        return tags
