"""Risk-coverage plots: the error of a classifier on its surest predictions."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from skstructured.extend._types import Features, Floats, Given


class RiskCoverageDisplay:
    r"""Share of mistakes among the surest predictions, as a function of their share of all rows.

    With rows sorted by confidence, the k surest have coverage k/n and risk (mistakes among
    them)/k; rows of the same confidence come together. A curve that rises to the right says that
    abstaining pays: the classifier knows where it errs. Make it with `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    coverage, risk : ndarray of shape (n_points,)
        The curve.
    confidence : ndarray of shape (n_points,)
        The least confidence among the rows of each point.
    own : tuple of (float, float) or None, default=None
        Coverage and risk of the classifier's own choice where to abstain.
    estimator_name : str or None, default=None
        What the legend calls it.

    Attributes
    ----------
    area : float
        Mean risk over coverages (the area below the curve); small is good.
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_, own_ : matplotlib Line2D
        The curve, and the point of the classifier's own choice; None without one.

    References
    ----------
    El-Yaniv, Wiener (2010), "On the foundations of noise-free selective classification".

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured.evaluation.display import RiskCoverageDisplay
    >>> y, predicted = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    >>> curve = RiskCoverageDisplay.of(y, predicted, confidence=[0.9, 0.8, 0.1, 0.7])
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.0, 0.25])
    """

    def __init__(
        self,
        *,
        coverage: Floats,
        risk: Floats,
        confidence: Floats,
        own: tuple[float, float] | None = None,
        estimator_name: str | None = None,
    ) -> None:
        self.coverage = coverage
        self.risk = risk
        self.confidence = confidence
        self.own = own
        self.estimator_name = estimator_name

    @property
    def area(self) -> float:
        """Mean risk over coverages."""
        return float(self.risk @ np.diff(self.coverage, prepend=0.0))

    @classmethod
    def of(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        confidence: ArrayLike,
        *,
        abstains: Given = None,
        name: str | None = None,
    ) -> Self:
        """Compute the curve of predictions without drawing it.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            Labels, true and predicted.
        confidence : array-like of shape (n,)
            How sure the predictions are; any numbers.
        abstains : array-like of bool of shape (n,) or None, default=None
            Where the classifier itself would abstain.
        name : str or None, default=None
            What a legend calls it.

        Returns
        -------
        RiskCoverageDisplay
        """
        truth, predicted = column_or_1d(y_true), column_or_1d(y_pred)
        sureness: Floats = column_or_1d(confidence, dtype=np.float64)
        assert_all_finite(sureness, input_name="confidence")
        check_consistent_length(truth, predicted, sureness)
        order = np.argsort(-sureness, kind="stable")
        sure, wrong = sureness[order], (truth != predicted)[order]
        last = np.flatnonzero(np.r_[sure[1:] != sure[:-1], True])
        risk = np.cumsum(wrong)[last] / (last + 1.0)
        own = None if abstains is None else _chosen(truth != predicted, abstains)
        coverage = (last + 1.0) / len(order)
        return cls(
            coverage=coverage, risk=risk, confidence=sure[last], own=own, estimator_name=name
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        confidence: ArrayLike,
        *,
        abstains: Given = None,
        name: str | None = None,
        ax: Any = None,
        **line_kwargs: Any,
    ) -> Self:
        """Draw the curve of predictions.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n,)
            Labels, true and predicted.
        confidence : array-like of shape (n,)
            How sure the predictions are; any numbers.
        abstains : array-like of bool of shape (n,) or None, default=None
            Where the classifier itself would abstain: a dot on the picture.
        name : str or None, default=None
            What the legend calls it.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **line_kwargs
            Handed to ``ax.plot``.

        Returns
        -------
        RiskCoverageDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            For lengths that differ, and confidences that are not finite.
        """
        check_matplotlib_support(f"{cls.__name__}.from_predictions")
        curve = cls.of(y_true, y_pred, confidence, abstains=abstains, name=name)
        return curve.plot(ax, **line_kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Features,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Any = None,
        **line_kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier on rows it has not seen.

        Parameters
        ----------
        estimator : classifier
            With ``predict_proba``, whose largest entry is its confidence, or for two classes
            ``decision_function``, whose size is. If it has ``abstains``, the dot is its own choice.
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            Labels.
        name : str or None, default=None
            What the legend calls it; None takes its class.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **line_kwargs
            Handed to ``ax.plot``.

        Returns
        -------
        RiskCoverageDisplay
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        if not is_classifier(estimator):
            raise ValueError(f"estimator must be a classifier, got {estimator!r}.")
        predicted, confidence = _surest(estimator, X)
        abstains = estimator.abstains(X) if hasattr(estimator, "abstains") else None
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(
            y, predicted, confidence, abstains=abstains, name=name, ax=ax, **line_kwargs
        )

    def plot(self, ax: Any = None, **line_kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **line_kwargs
            Handed to ``ax.plot``.

        Returns
        -------
        self
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        self.ax_ = _new_axes() if ax is None else ax
        self.figure_, self.own_ = self.ax_.figure, None
        style = {"label": self.estimator_name} | line_kwargs
        (self.line_,) = self.ax_.plot(self.coverage, self.risk, **style)
        if self.own is not None:
            (self.own_,) = self.ax_.plot(*self.own, "o", color=self.line_.get_color())
        self.ax_.set(xlabel="share of rows predicted", ylabel="share of mistakes among them")
        self.ax_.set_xlim(0.0, 1.02)
        if style["label"] is not None:
            self.ax_.legend()
        return self


def _chosen(wrong, abstains):
    """Coverage and risk where a classifier does not abstain; the risk of no rows is 0."""
    kept = ~column_or_1d(abstains).astype(bool)
    check_consistent_length(wrong, kept)
    return float(kept.mean()), float(wrong[kept].mean()) if kept.any() else 0.0


def _surest(estimator, X):
    """The class of the largest score of every row, and how sure it is."""
    if hasattr(estimator, "predict_proba"):
        proba = np.asarray(estimator.predict_proba(X))
        return estimator.classes_[np.argmax(proba, axis=1)], proba.max(axis=1)
    score = np.asarray(estimator.decision_function(X))
    if score.ndim != 1:
        raise ValueError("a classifier without predict_proba must be of two classes.")
    return estimator.classes_[(score > 0.0).astype(np.intp)], np.abs(score)


def _new_axes():
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6, 4), layout="constrained")[1]
