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
    """Predict the set of labels with the largest expected F1 of its row.

    ``F1(y'; y) = 2<y', y>/(<y', 1> + <y, 1>)``, its expectation over independent labels with given
    marginals. The maximum is exact, in O(d²) per row. The decoder is deterministic and only
    supported for `Hypercube`.

    Online learners with `Shannon` that are fitted with this decoder give it calibrated marginals,
    and a factor for the empty set; see Notes. All other learners, and those whose decoder becomes
    "f1" after `fit`, give it ŷ_Ω(θ), the probabilities of `predict_proba`.

    Parameters
    ----------
    zero_division : float, default=1.0
        F1 of predicting no label if none is true, in [0, 1]. It is that of scikit-learn's
        ``f1_score(average="samples", zero_division=…)``, whose default counts as 0.

    Raises
    ------
    ValueError
        When used, if the space is not `Hypercube`, or if `zero_division` is outside [0, 1].

    See Also
    --------
    Threshold : The labels whose marginals exceed a threshold.
    Nearest : The best set for the Hamming loss.

    Notes
    -----
    After few rounds scores are near 0, so the many absent labels have probabilities that are too
    large, and expected F1 would select most of them. `OnlineStructuredPredictor` and
    `KernelStructuredPredictor` therefore pass calibrated marginals ``σ(aθ_k + b + m θ̄)``, θ̄ the
    mean score of the row. They learn a > 0, b and m from the scores that rows had before the
    update [1]_: one Newton step per row, row t with the weight t³, from a = 1, b = m = 0. They also
    count how often rows without labels came, and how often they were expected. The ratio of the
    two odds is r: the empty set has the value ``r · zero_division``. Other decoders and
    `predict_proba` do not use any of this.

    Among all sets of k labels, that of the k most probable ones is best [2]_; sizes are compared by
    the dynamic program of [3]_, section 4, see also [4]_. Scratch memory is (d+1)(d+2)/2 numbers.
    The F1 is that of each row (``average="samples"``); for "micro" and "macro", which average over
    all rows, tune `Threshold`.

    References
    ----------
    .. [1] Platt (1999), "Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods".
    .. [2] Lewis (1995), "Evaluating and optimizing autonomous text classification systems".
    .. [3] Ye, Chai, Lee, Chieu (2012), "Optimizing F-measures: a tale of two approaches".
    .. [4] Dembczyński, Waegeman, Cheng, Hüllermeier (2011), "An exact algorithm for F-measure
       maximization".
    """

    _calibration: Calibration | None = None
    only_over = Hypercube

    def __init__(self, zero_division: float = 1.0) -> None:
        self.zero_division = zero_division

    def calibrated(self, calibration: Calibration) -> Decoder:
        """Return the same decoder with marginals computed from the scores θ instead of ŷ_Ω(θ).

        Parameters
        ----------
        calibration : object
            ``marginals(theta)`` of scores (n, d) are the probabilities of the labels, and ``empty``
            is the factor by which the empty set is more likely than with independent labels.

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
    """Predict the labels whose marginal ŷ_Ω(θ) exceeds a threshold.

    A threshold of ½ gives the nearest vertex, the best set of labels for the Hamming loss. If a
    wrong label costs the share t of the cost of a missing and a wrong one together, t is best. The
    decoder is deterministic and only supported for `Hypercube`.

    Parameters
    ----------
    threshold : float or array-like of shape (d,), default=0.5
        The threshold in [0, 1], or one per label. Grid searches tune it as
        ``decoder__threshold`` if the learner was given ``decoder=Threshold()``.

    Raises
    ------
    ValueError
        When used, if the space is not `Hypercube`, if a threshold is outside [0, 1], or if their
        number is not that of the labels.

    See Also
    --------
    ExpectedF1 : The set with the largest expected F1, without a threshold to tune.
    Nearest : The same as the threshold 0.5.

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
        """y* = 1 if μ exceeds the threshold, else 0, and p = 0."""
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
