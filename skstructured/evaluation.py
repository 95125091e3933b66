"""Progressive validation: predict each round, then learn it."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skstructured.comparators import comparator_for, comparator_losses
from skstructured.display import RegretDisplay
from skstructured.exceptions import GuaranteeError

__all__ = ["ProgressiveResult", "RegretDisplay", "progressive_validate"]

#: Rounds decoded at a time where every round is learned by itself.
BLOCK = 4096


@dataclass
class ProgressiveResult:
    """What happened in each round of a progressive validation.

    Attributes
    ----------
    target_loss : ndarray of shape (n,)
        Target loss of the output drawn in the round.
    expected_target_loss : ndarray of shape (n,)
        Its exact expectation over the decoder.
    surrogate_loss : ndarray of shape (n,)
        S_t(W_t), the learner's surrogate loss, scale included.
    estimator : estimator
        The learner after the last round.
    batch_size : int
        Rounds played with the same weights.
    """

    target_loss: np.ndarray
    expected_target_loss: np.ndarray
    surrogate_loss: np.ndarray
    estimator: object
    batch_size: int
    _X: object = field(repr=False, default=None)
    _V: np.ndarray = field(repr=False, default=None)

    @property
    def weight(self):
        """What the losses of each round are multiplied by in sums, (n,), of mean 1.

        All 1, or with ``average="linear"`` the number of the round over its mean: as in what the
        learner minimises, and so in its certificate.
        """
        n = len(self.expected_target_loss)
        if getattr(self.estimator, "_weigh_linearly", False):
            return 2.0 * np.arange(1, n + 1) / (n + 1.0)
        return np.ones(n)

    def comparator_loss(self, U):
        """Surrogate losses S_t(U) of a fixed comparator, of shape (n,).

        Parameters
        ----------
        U : array-like of shape (dim, p) or, with an intercept, (dim, p + 1)
            The comparator; the intercept is the last column.
        """
        estimator = self.estimator
        return comparator_losses(estimator.loss_, U, self._X, self._V, estimator._intercept)

    def best_comparator(self, delta=None):
        """The U that (nearly) minimises `regret_bound`, fitted by L-BFGS; (dim, p [+ 1])."""
        estimator, weight = self.estimator, self.weight
        rounds = (estimator.loss_, self._X, self._V, estimator._intercept)
        # The certificate counts the first round once.
        return comparator_for(self._certificate(delta), *rounds, sample_weight=weight / weight[0])

    def surrogate_regret(self, U=None):
        """Surrogate regret Σ w_t (E[L_t] − S_t(U)), w_t the `weight`: what theorems bound.

        Parameters
        ----------
        U : array-like or None, default=None
            The comparator; None takes `best_comparator`.
        """
        U = self.best_comparator() if U is None else U
        return float(self.weight @ (self.expected_target_loss - self.comparator_loss(U)))

    def regret_bound(self, U=None, delta=None):
        """Bound on the target loss ``Σ w_t E[L_t]``: ``Σ w_t S_t(U)`` plus the theorem's regret.

        The weights w_t are those of `weight`, 1 but for ``average="linear"``.

        Parameters
        ----------
        U : array-like or None, default=None
            The comparator; None takes the one that makes the bound smallest.
        delta : float or None, default=None
            None bounds Σ w_t E[L_t]; a number bounds Σ w_t L_t with probability 1 − delta.

        Returns
        -------
        float

        Raises
        ------
        GuaranteeError
            If no theorem covers the run; the message says why.
        """
        U = self.best_comparator(delta) if U is None else np.asarray(U, dtype=np.float64)
        unit = self.weight[0]  # the certificate counts the first round once
        comparator = float(self.weight @ self.comparator_loss(U)) / unit
        return unit * self._certificate(delta).bound(comparator, float(np.linalg.norm(U)))

    def _certificate(self, delta=None):
        if self.batch_size > 1:
            raise GuaranteeError(
                f"The bounds are about learning after every round, not batches of "
                f"{self.batch_size}."
            )
        return self.estimator.certificate(delta)


def progressive_validate(
    estimator, X, y, batch_size=1, random_state=None, progress=None, classes=None
):
    """Play and then learn the rows in order, and record every round's losses.

    A clone of the estimator starts from nothing: all labels of `y` are known to it beforehand, no
    row is. With ``batch_size=1`` the scores of a round are those the optimiser plays, so that the
    bounds hold; larger batches are played with the weights before the batch.

    Parameters
    ----------
    estimator : OnlineStructuredPredictor
        The learner; it is not changed.
    X : {array-like, sparse matrix} of shape (n, p)
        Features.
    y : array-like
        Outputs of its space.
    batch_size : int, default=1
        Rounds played before they are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws of the decoder.
    progress : callable or None, default=None
        Called as ``progress(rounds done, n)`` now and then.
    classes : array-like or None, default=None
        All labels, where `y` may not show every one.

    Returns
    -------
    ProgressiveResult

    Raises
    ------
    ValueError
        As ``estimator.fit``; also for a batch size that is not a positive integer.

    References
    ----------
    Blum, Kalai, Langford (1999), "Beating the hold-out".
    """
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ValueError(f"batch_size must be a positive integer, got {batch_size!r}.")
    learner = clone(estimator)
    X, rows, packed, weight = learner._begin(X, y, classes)
    n, rng = rows.n_rows, check_random_state(random_state)
    block = BLOCK if batch_size == 1 else batch_size
    losses = np.empty((3, n))
    for start in range(0, n, block):
        now = np.arange(start, min(start + block, n))
        theta = None if batch_size == 1 else learner._linear(X[now], learner.last_weights_)
        learned = learner._learn(X, rows, packed, weight, now, record=True)
        V = learner._vertices(packed[now])
        losses[:, now] = _round_losses(learner, learned if theta is None else theta, V, rng)
        if progress is not None:
            progress(now[-1] + 1, n)
    learner._warn()
    return ProgressiveResult(*losses, learner, batch_size, X, learner._vertices(packed))


def warm_up(estimator, X, y):
    """Load (or compile) what a progressive validation runs, so that a timing leaves it out."""
    learner = clone(estimator)
    X, rows, packed, weight = learner._begin(X, y)
    theta = learner._learn(X, rows, packed, weight, np.arange(1), record=True)
    _round_losses(learner, theta, learner._vertices(packed[:1]), check_random_state(0))


def _round_losses(learner, theta, V, rng):
    """Realised, expected and surrogate losses of a block of rounds."""
    loss, decoder = learner.loss_, learner._decoder()
    mu = loss.mean(theta)
    drawn = decoder.decode(theta, mu, loss, rng)
    realised = loss.space.expected_loss(drawn, V)
    return realised, decoder.expected_loss(theta, mu, V, loss), loss.value(theta, V)
