"""Plots of progressive validations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skstructured._base.exceptions import GuaranteeError
from skstructured.evaluation._result import ProgressiveResult
from skstructured.extend._types import Array, Floats, Given

#: Longer curves are thinned to this many points.
POINTS = 2000

#: Kind of curve -> how it is drawn, and what the legend calls it. Wide dots under narrow dashes
#: keep a comparator visible where its bound coincides with it.
KINDS = {
    "loss": ({"linestyle": "-", "linewidth": 1.8}, "expected target loss"),
    "comparator": ({"linestyle": ":", "linewidth": 2.6}, "comparator's surrogate loss"),
    "bound": ({"linestyle": "--", "linewidth": 1.1}, "bound"),
    "risk": ({"linestyle": "-.", "linewidth": 1.1}, "rounds × risk bound"),
}


@dataclass(kw_only=True, eq=False, repr=False)
class RegretDisplay:
    r"""Plot the cumulative target loss of learners over rounds, with comparators and bounds.

    A learner has one color: solid for ``Σ_{s≤t} E[L_s]``, dotted for ``Σ_{s≤t} S_s(U)`` of a fixed
    comparator U, dashed for the bound. The bound after t rounds is the dotted curve raised by the
    theorem's regret term of the whole run,

    .. math:: \sum_{s \le t} S_s(U) + \Bigl(\text{bound} - \sum_{s \le n} S_s(U)\Bigr),

    which holds for every t, because the regret terms do not shrink with the rounds. Sums are
    weighted if those of the theorem are, see `ProgressiveResult.weight`.

    With `risk_delta`, a dash-dotted line is the bound for independent rows: t times
    `ProgressiveResult.risk_curve` after t rounds. It bounds the loss of t new rows that are
    predicted by the rules of those rounds, for all t at once with probability 1 − risk_delta. Make
    the display with `from_result`.

    Parameters
    ----------
    names : list of str
        Names of the learners.
    rounds, losses : list of ndarray of shape (n_points,)
        For each learner the rounds drawn (from 1) and the cumulative expected target loss.
    comparators, bounds : list of (ndarray of shape (n_points,) or None)
        Cumulative comparator loss, and bound; None without a comparator.
    risks : list of (ndarray of shape (n_points,) or None) or None, default=None
        Rounds times the bound on the mean risk; None without a bound.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the curves.
    figure_ : matplotlib Figure
        The figure of the axes.
    lines_ : list of dict
        For each learner its lines, under "loss", "comparator", "bound" and "risk"; those not drawn
        are left out.

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
    >>> results = {}
    >>> for name in ("shannon", "squared"):
    ...     model = OnlineStructuredPredictor(regularizer=name)
    ...     results[name] = progressive_validate(model, X, y, play="randomized")
    >>> display = RegretDisplay.from_result(results)
    >>> plt.show()  # doctest: +SKIP
    """

    names: Sequence[str]
    rounds: Sequence[Array]
    losses: Sequence[Floats]
    comparators: Sequence[Floats | None]
    bounds: Sequence[Floats | None]
    risks: Sequence[Floats | None] | None = None

    @classmethod
    def from_result(
        cls,
        result: ProgressiveResult | Sequence[ProgressiveResult] | Mapping[str, ProgressiveResult],
        *,
        ax: Any = None,
        name: str | Sequence[str] | None = None,
        comparator: Given = None,
        risk_delta: float | None = None,
    ) -> Self:
        """Draw one or several progressive validations.

        Parameters
        ----------
        result : ProgressiveResult, list of ProgressiveResult, or dict of str to ProgressiveResult
            The results to draw; the keys of a dict are the names of the learners.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        name : str, list of str or None, default=None
            Names of the learners, if `result` is not a dict. None uses the class of the estimator,
            numbered if there are several.
        comparator : array-like of shape (dim, p [+ 1]) or None, default=None
            U for all learners; None uses ``result.best_comparator()`` of each.
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
            If there are no results, if the names do not fit their number, if a comparator has
            another shape, or if risk_delta is outside (0, 1).
        TypeError
            If a result has another type.

        Notes
        -----
        A learner without a theorem (`GuaranteeError`) has no bound, and no dotted curve unless a
        comparator is given; the legend then has a note.
        """
        check_matplotlib_support(f"{cls.__name__}.from_result")
        names, results = _named(result, name)
        columns = ("rounds", "losses", "comparators", "bounds", "risks")
        curves = [_curves(one, comparator, risk_delta) for one in results]
        drawn = {name: list(values) for name, *values in zip(columns, *curves, strict=True)}
        return cls(names=names, **drawn).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure, with the legend next to the curves.

        Returns
        -------
        self

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        placed = {} if ax is not None else {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(9, 4.5), layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_ = [self._draw(i) for i in range(len(self.names))]
        self.ax_.set(xlabel="round", ylabel="cumulative target loss")
        self.ax_.margins(x=0.01)
        self.ax_.legend(handles=self._handles(), **placed)
        return self

    def _draw(self, i):
        """Lines of one learner, by kind."""
        curves = {"loss": self.losses, "comparator": self.comparators, "bound": self.bounds}
        curves |= {} if self.risks is None else {"risk": self.risks}
        lines = {}
        for kind, values in curves.items():
            if values[i] is not None:
                style, meaning = KINDS[kind]
                label = f"{self.names[i]}: {meaning}"
                (lines[kind],) = self.ax_.plot(
                    self.rounds[i], values[i], color=f"C{i % 10}", label=label, **style
                )
        return lines

    def _handles(self):
        """Legend: colors are learners, line styles are kinds."""
        from matplotlib.lines import Line2D

        handles = []
        for name, lines in zip(self.names, self.lines_, strict=True):
            label = name if "bound" in lines else f"{name} (no bound)"
            handles.append(Line2D([], [], color=lines["loss"].get_color(), lw=4, label=label))
        for kind, (style, meaning) in KINDS.items():
            if any(kind in lines for lines in self.lines_):
                handles.append(Line2D([], [], color="0.3", label=meaning, **style))
        return handles


def _named(result, name):
    """Names and results as two lists."""
    if isinstance(result, Mapping):
        if name is not None:
            raise ValueError(f"name must be None if the results are a dict, got {name!r}.")
        name, result = [str(key) for key in result], list(result.values())
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    if name is None:
        name = [type(getattr(one, "estimator", None)).__name__ for one in results]
        name = name if len(name) == 1 else [f"{kind} {i}" for i, kind in enumerate(name, 1)]
    names = [name] if isinstance(name, str) else list(name)
    if not results or len(names) != len(results):
        raise ValueError(
            f"result must have one run or more, and name one name for each; "
            f"got {len(results)} runs and {len(names)} names."
        )
    for one in results:
        if not hasattr(one, "expected_target_loss"):
            raise TypeError(f"result must have ProgressiveResult only, got {one!r}.")
    return names, results


def _curves(result, comparator, risk_delta=None):
    """Rounds, cumulative losses, comparator losses and bounds of one run, thinned."""
    n = len(result.expected_target_loss)
    kept = np.unique(np.linspace(0, n - 1, min(n, POINTS)).round().astype(np.intp))
    losses = np.cumsum(result.weight * result.expected_target_loss)
    curves = losses, *_reference(result, comparator), _risk(result, risk_delta)
    return kept + 1, *(None if curve is None else curve[kept] for curve in curves)


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
