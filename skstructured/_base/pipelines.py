"""The learner behind pipelines and searches."""

from typing import Any

from sklearn.pipeline import Pipeline


def final_learner(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """The fitted learner at the end of searches and pipelines, and the X that it receives."""
    if hasattr(estimator, "best_estimator_"):
        return final_learner(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        if X is not None and len(estimator) > 1:
            X = estimator[:-1].transform(X)
        return final_learner(estimator[-1], X)
    return estimator, X
