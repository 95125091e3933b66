"""Decoders of multilabel outputs: for F1, and by thresholds."""

import copy

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.validation import check_share
from skstructured._learners.platt_calibration import Calibration
from skstructured.extend._types import Floats, Loss
from skstructured.extend.decoder import Decoder
from skstructured.spaces import Hypercube
from skstructured.spaces.hypercube import best_label_sets


class ExpectedF1(Decoder):
    """The set of labels of the largest expected F1 of its row, from the marginals it is given.

    ``F1(y'; y) = 2<y', y>/(<y', 1> + <y, 1>)``, its expectation over independent labels of given
    probabilities. The maximum is exact, in O(d²) a row. Deterministic, on `Hypercube`.

    Online learners with `Shannon` that are fitted with it give it calibrated marginals, and how
    many times as likely the empty set is as independent labels make it; see Notes. All others, and
    learners whose decoder becomes "f1" after `fit`, give it ŷ_Ω(θ), which `predict_proba` shows.

    Parameters
    ----------
    zero_division : float, default=1.0
        F1 of no label where none is true, in [0, 1]; that of scikit-learn's
        ``f1_score(average="samples", zero_division=…)``, whose own default counts as 0.

    Raises
    ------
    ValueError
        When used: over any other space than `Hypercube`, or a `zero_division` outside [0, 1].

    Notes
    -----
    After few rounds scores are near 0, and so the many labels that are absent have probabilities
    that are too large: expected F1 would ask for most of them. `OnlineStructuredPredictor` and
    `KernelStructuredPredictor` give it ``σ(aθ_k + b + m θ̄)``, θ̄ the mean score of the row; they
    learn a > 0, b and m from the scores that rows had before they were learned (Platt 1999), a
    Newton step per row, row t with the weight t³, from a = 1, b = m = 0. Beside them is how often
    rows without labels came, and were expected, whose odds divided are r: the empty set is worth
    ``r · zero_division``. Other decoders and `predict_proba` have none of it.

    Of all sets of k labels the k likeliest are the best (Lewis 1995); sizes are compared by the
    dynamic programme of Ye et al. (2012). Scratch memory is (d+1)(d+2)/2 numbers. It is about the
    F1 of each row (``average="samples"``); for "micro" and "macro", which are about all rows, tune
    `Threshold`.

    References
    ----------
    Lewis (1995), "Evaluating and optimizing autonomous text classification systems"; Ye, Chai, Lee,
    Chieu (2012), "Optimizing F-measures: a tale of two approaches", section 4; Dembczyński,
    Waegeman, Cheng, Hüllermeier (2011), "An exact algorithm for F-measure maximization".
    """

    _calibration: Calibration | None = None
    only_over = Hypercube

    def __init__(self, zero_division: float = 1.0) -> None:
        self.zero_division = zero_division

    def calibrated(self, calibration: Calibration) -> Decoder:
        """The same decoder, on marginals that are made of the scores θ and not ŷ_Ω(θ).

        Parameters
        ----------
        calibration : object
            ``marginals(theta)`` of scores (n, d) are the probabilities of the labels, and ``empty``
            is by how much likelier the empty set is than with independent labels.

        Returns
        -------
        ExpectedF1
        """
        other = copy.copy(self)
        other._calibration = calibration
        return other

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = argmax E F1 and p = 0."""
        self.check_space(loss)
        empty: float | Floats = check_share("zero_division", self.zero_division)
        if self._calibration is not None:
            mu, empty = self._calibration.marginals(theta), empty * self._calibration.empty
        return best_label_sets(mu, empty), np.zeros(len(mu))


class Threshold(Decoder):
    """The labels whose marginal ŷ_Ω(θ) exceeds a threshold. Deterministic, on `Hypercube`.

    With ½ the nearest vertex, and the best set of labels for the Hamming loss. Where a wrong label
    costs a share t of what a missing one and a wrong one cost together, t is best.

    Parameters
    ----------
    threshold : float or array-like of shape (d,), default=0.5
        The threshold in [0, 1], or one per label. Searches reach it as
        ``decoder__threshold`` if the learner was given ``decoder=Threshold()``.

    Raises
    ------
    ValueError
        When used: over any other space than `Hypercube`, or for thresholds outside [0, 1] or of
        another number than there are labels.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.decoders import Threshold
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> model = OnlineStructuredPredictor("hypercube", decoder=Threshold())
    >>> grid = {"decoder__threshold": [0.2, 0.35, 0.5]}
    >>> search = GridSearchCV(model, grid, scoring="f1_macro").fit(X, y)
    >>> sorted(search.best_params_)
    ['decoder__threshold']
    """

    only_over = Hypercube

    def __init__(self, threshold: ArrayLike = 0.5) -> None:
        self.threshold = threshold

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = 1 where μ exceeds the threshold and p = 0."""
        self.check_space(loss)
        return (mu > self._thresholds(mu.shape[1])).astype(np.float64), np.zeros(len(mu))

    def _thresholds(self, d):
        """The threshold as a number, or those of d labels as an array."""
        if np.ndim(self.threshold) == 0:
            return check_share("threshold", self.threshold)
        given = np.asarray(self.threshold)
        numbers = given.dtype.kind in "iuf" and bool(((given >= 0.0) & (given <= 1.0)).all())
        if given.shape != (d,) or not numbers:
            raise ValueError(
                f"threshold must be a number in [0, 1] or {d} of them, one per label; "
                f"got an array of {given.dtype} of shape {given.shape}: {given.tolist()!r:.60}."
            )
        return given
