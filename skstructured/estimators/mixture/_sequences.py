"""Sequences: a mixture scores each position alone, and a chain learns from its honest scores."""

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone

from skstructured._base.ragged import Ragged, Stacked
from skstructured.estimators.crf.estimator import ConditionalRandomField
from skstructured.extend._types import Floats, Ints


def position_rows(X: Ragged) -> Floats:
    """Rows of positions."""
    return X.values


def position_windows(X: Ragged) -> Floats:
    """Rows of positions, those before and after, and whether the position is first or last."""
    ends, none = np.zeros((2, len(X.values))), np.zeros((1, X.shape[1]))
    ends[0, X.offsets[:-1]] = ends[1, X.offsets[1:] - 1] = 1.0
    previous, after = np.vstack([none, X.values[:-1]]), np.vstack([X.values[1:], none])
    previous[ends[0] > 0.0], after[ends[1] > 0.0] = 0.0, 0.0
    return np.column_stack([X.values, previous, after, *ends])


#: What a mixture learns of each position, by name.
SEQUENCE_VIEWS = {"rows": position_rows, "windows": position_windows}


class RowChain(NamedTuple):
    """A chain over log probabilities of positions by a mixture, or without one over their rows.

    `view` is a name of `SEQUENCE_VIEWS`, or that of the chain. `loss` and `score` are means over
    the positions of held-out sequences. `sums` (3, n) are losses, correct positions and positions
    of each sequence, times its weight.
    """

    view: str
    mixture: Any
    chain: Any
    loss: float = np.nan
    score: float = np.nan
    sums: Floats = np.zeros((3, 0))

    @classmethod
    def fitted(
        cls, view: str, mixture: Any, X: Ragged, y: Ragged, weight: Floats, fold_ids: Ints
    ) -> Self:
        """The chain of a view, which learns from honest scores of a mixture."""
        mixture.best_thresholds = True  # labels can depend on steps in few of many columns
        sequences = np.repeat(np.arange(len(X)), X.lengths)
        rows, weights = SEQUENCE_VIEWS[view](X), np.repeat(weight, X.lengths)
        theta = mixture._fit(rows, y.values, weights, sequences)
        weight = np.where(np.isnan(theta[X.offsets[:-1], 0]), 0.0, weight)
        Z, seed = log_probabilities(np.nan_to_num(theta), X), mixture.random_state
        chain = ConditionalRandomField(standardize="moments", random_state=seed)
        chain.fit(Z, y, weight)
        sums = held_out(chain, Z, y, weight, fold_ids)
        loss, right, positions = sums.sum(axis=1)
        return cls(view, mixture, chain, loss / positions, right / positions, sums)

    def estimators(self) -> list[tuple[str, Any]]:
        """Names and estimators."""
        if self.mixture is None:
            return [(self.view, self.chain)]
        return [(self.view, self.mixture), ("chain", self.chain)]

    def scores(self, X: Ragged) -> Any:
        """Scores of labels, `Chains`."""
        if self.mixture is None:
            return self.chain._scores(X)
        theta = self.mixture._scores(SEQUENCE_VIEWS[self.view](X))
        return self.chain._scores(log_probabilities(theta, X))


def log_probabilities(theta: Floats, X: Ragged) -> Stacked:
    """Those of labels, of which none is below 1e-6, by their scores (N, k)."""
    return Stacked(np.maximum(log_softmax(theta, axis=1), np.log(1e-6)), X.lengths)


def held_out(chain: Any, Z: Stacked, y: Ragged, weight: Floats, fold_ids: Ints) -> Floats:
    """The `sums` of sequences in three folds, each predicted by a chain of all others."""
    fold_chain = clone(chain).set_params(alpha=chain.alpha_, tol=0.1)
    sums = np.zeros((3, len(fold_ids)))
    for fold_id in range(3):
        indices = np.flatnonzero(fold_ids == fold_id)
        fold_chain.fit(Z, y, np.where(fold_ids == fold_id, 0.0, weight))
        labels = y[indices].unstack()
        pairs = zip(fold_chain.predict(Z[indices]), labels, strict=True)
        right = [np.sum(predicted == truth) for predicted, truth in pairs]
        sums[:, indices] = -fold_chain.log_proba(Z[indices], labels), right, y.lengths[indices]
    return sums * weight


def score_of_views(chains: list[RowChain], units: Ints) -> float:
    """The score of each half of the sequences by the view of the lower loss on the other half."""
    totals = np.zeros(2)
    for half in (0, 1):
        is_in_half = units % 2 == half
        best = min(chains, key=lambda chain: chain.sums[0, ~is_in_half].sum())
        totals += best.sums[1:, is_in_half].sum(axis=1)
    return float(totals[0] / totals[1])
