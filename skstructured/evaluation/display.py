"""Plots of progressive validations."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skstructured._base.exceptions import GuaranteeError
from skstructured.evaluation._result import ProgressiveResult
from skstructured.extend._types import Array, Floats, Given

#: Kind of curve -> how it is drawn, and what the legend calls it. Wide dots under narrow dashes
#: keep a comparator visible if its bound coincides with it.
CURVES: dict[str, tuple[dict[str, Any], str]] = {
    "loss": ({"linestyle": "-", "linewidth": 1.8}, "expected target loss"),
    "comparator": ({"linestyle": ":", "linewidth": 2.6}, "comparator's surrogate loss"),
    "bound": ({"linestyle": "--", "linewidth": 1.1}, "bound"),
    "risk": ({"linestyle": "-.", "linewidth": 1.1}, "rounds × risk bound"),
}


@dataclass(kw_only=True, eq=False, repr=False)
class RegretDisplay:
    r"""Plot the cumulative target loss of a learner over rounds, with a comparator and bounds.

    Solid is ``Σ_{s≤t} E[L_s]``, dotted ``Σ_{s≤t} S_s(U)`` of a fixed comparator U, dashed the
    bound. The bound after t rounds is the dotted curve raised by the theorem's regret term of the
    whole run,

    .. math:: \sum_{s \le t} S_s(U) + \Bigl(\text{bound} - \sum_{s \le n} S_s(U)\Bigr),

    which holds for every t, because the regret terms do not shrink with the rounds. Sums are
    weighted if those of the theorem are, see `ProgressiveResult.weight`.

    With `risk_delta`, a dash-dotted line is the bound for independent rows: t times
    `ProgressiveResult.risk_curve` after t rounds. It bounds the loss of t new rows that are
    predicted by the rules of those rounds, for all t at once with probability 1 − risk_delta. Make
    the display with `from_result`. To compare learners, draw them on the same axes.

    Parameters
    ----------
    name : str
        Name of the learner, for the legend.
    rounds, loss : ndarray of shape (n_points,)
        The rounds drawn (from 1) and the cumulative expected target loss.
    comparator, bound : ndarray of shape (n_points,) or None, default=None
        Cumulative comparator loss, and bound; None without a comparator.
    risk : ndarray of shape (n_points,) or None, default=None
        Rounds times the bound on the mean risk; None without a bound.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the curves.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : dict
        Lines under "loss", "comparator", "bound" and "risk"; those not drawn are left out.

    See Also
    --------
    progressive_validate : Makes the results.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young losses and
    improved surrogate regret for online multiclass classification with logistic loss", section 4.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_digits
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.evaluation import RegretDisplay, progressive_validate
    >>> X, y = load_digits(return_X_y=True)
    >>> ax = plt.subplots()[1]
    >>> for name in ("shannon", "squared"):
    ...     model = OnlineStructuredPredictor(regularizer=name)
    ...     result = progressive_validate(model, X, y, play="randomized")
    ...     display = RegretDisplay.from_result(result, name=name, ax=ax)
    >>> plt.show()  # doctest: +SKIP
    """

    name: str
    rounds: Array
    loss: Floats
    comparator: Floats | None = None
    bound: Floats | None = None
    risk: Floats | None = None

    @classmethod
    def from_result(
        cls,
        result: ProgressiveResult,
        *,
        ax: Any = None,
        name: str | None = None,
        comparator: Given = None,
        risk_delta: float | None = None,
    ) -> Self:
        """Draw a progressive validation.

        Parameters
        ----------
        result : ProgressiveResult
            The result to draw.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        name : str or None, default=None
            Name of the learner. None uses the class of the estimator.
        comparator : array-like of shape (dim, p [+ 1]) or None, default=None
            U; None uses ``result.best_comparator()``.
        risk_delta : float or None, default=None
            Probability in (0, 1) that the bound on the risk fails anywhere. None leaves the bound
            out; so does a run that has none, see `ProgressiveResult.risk_bound`.

        Returns
        -------
        RegretDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If the comparator has another shape, or if risk_delta is outside (0, 1).
        TypeError
            If the result has another type.

        Notes
        -----
        A learner without a theorem (`GuaranteeError`) has no bound, and no dotted curve unless a
        comparator is given.
        """
        check_matplotlib_support(f"{cls.__name__}.from_result")
        if not isinstance(result, ProgressiveResult):
            raise TypeError(f"result must be a ProgressiveResult, got {result!r}.")
        n, losses = len(result.expected_target_loss), result.weight * result.expected_target_loss
        indices = np.unique(np.linspace(0, n - 1, min(n, 2000)).round().astype(np.intp))
        curves = np.cumsum(losses), *_reference(result, comparator), _risk(result, risk_delta)
        drawn: Any = [None if curve is None else curve[indices] for curve in curves]
        name = type(result.estimator).__name__ if name is None else name
        return cls(name=name, rounds=indices + 1, **dict(zip(CURVES, drawn, strict=True))).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(9, 4.5), layout="constrained")[1]
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, {}
        color = None  # the next one of the axes
        for kind, (style, meaning) in CURVES.items():
            values = getattr(self, kind)
            if values is not None:
                label = f"{self.name}: {meaning}"
                (line,) = ax.plot(self.rounds, values, color=color, label=label, **style)
                self.lines_[kind], color = line, line.get_color()
        ax.set(xlabel="round", ylabel="cumulative target loss")
        ax.margins(x=0.01)
        ax.legend()
        return self


def _reference(result, U):
    """Cumulative comparator loss, and bound after every round; None without a comparator."""
    try:
        U = result.best_comparator() if U is None else U
        total = result.regret_bound(U)
    except GuaranteeError:
        total = None
    if U is None:
        return None, None
    compared = np.cumsum(result.weight * result.comparator_loss(U))
    return compared, None if total is None else compared + (total - compared[-1])


def _risk(result, delta):
    """Rounds times the bound on the mean risk up to each; None without a bound."""
    with suppress(GuaranteeError):
        if delta is not None:
            return np.arange(1, len(result.target_loss) + 1) * result.risk_curve(delta)
