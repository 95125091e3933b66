"""Progressive validation: predict each round, then learn it."""

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured.comparators import comparator_for, comparator_losses
from skstructured.display import RegretDisplay
from skstructured.exceptions import GuaranteeError
from skstructured.learner import OnlineLearner, Rounds

__all__ = ["ProgressiveResult", "RegretDisplay", "progressive_validate"]

#: Rounds decoded at a time where every round is learned by itself.
BLOCK = 4096

#: Rows that a step of a pipeline sees before it transforms them.
CHUNK = 256


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
    rounds : Rounds
        The rounds as the learner read them.
    """

    target_loss: np.ndarray
    expected_target_loss: np.ndarray
    surrogate_loss: np.ndarray
    estimator: object
    batch_size: int
    rounds: Rounds = field(repr=False, default=None)

    @property
    def weight(self):
        """What the losses of each round are multiplied by in sums, (n,), of mean 1.

        All 1, or with ``average="linear"`` the number of the round over its mean: as in what the
        learner minimises, and so in its certificate.
        """
        return self.estimator.round_weights(len(self.expected_target_loss))

    def comparator_loss(self, U):
        """Surrogate losses S_t(U) of a fixed comparator, of shape (n,).

        Parameters
        ----------
        U : array-like of shape (dim, p) or, with an intercept, (dim, p + 1)
            The comparator; the intercept is the last column.
        """
        loss, X, V, intercept = self.estimator.comparison(self.rounds)
        return comparator_losses(loss, U, X, V, intercept)

    def best_comparator(self, delta=None):
        """The U that (nearly) minimises `regret_bound`, fitted by L-BFGS; (dim, p [+ 1])."""
        weight = self.weight
        # The certificate counts the first round once.
        certificate, share = self._certificate(delta), weight / weight[0]
        return comparator_for(
            certificate, *self.estimator.comparison(self.rounds), sample_weight=share
        )

    @property
    def encoded(self):
        """The true outputs as vertices (n, dim), for learners over an output space."""
        return self.estimator.space_.unpack(self.rounds.packed)

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
    estimator : OnlineLearner, or Pipeline that ends in one
        The learner; it is not changed. Steps before it that are fitted transform all rows as they
        are; others see the rows in chunks by their ``partial_fit``, each chunk before it is
        transformed. No step sees an output, so that the bounds hold for the rows as transformed.
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
        As ``estimator.fit``; also for a batch size that is not a positive integer, and for a step
        of a pipeline that is neither fitted nor has ``partial_fit``.
    TypeError
        For an estimator that is no `OnlineLearner`.

    References
    ----------
    Blum, Kalai, Langford (1999), "Beating the hold-out".
    """
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ValueError(f"batch_size must be a positive integer, got {batch_size!r}.")
    learner, X = split_pipeline(estimator, X)
    rounds, rng = learner.begin(X, y, classes), check_random_state(random_state)
    n, block = rounds.X.shape[0], BLOCK if batch_size == 1 else batch_size
    losses = np.empty((3, n))
    for start in range(0, n, block):
        now = np.arange(start, min(start + block, n))
        if batch_size == 1:
            losses[:, now] = learner.play_and_learn(rounds, now, rng)
        else:
            losses[:, now] = learner.play(rounds, now, rng)
            learner.learn(rounds, now)
        if progress is not None:
            progress(now[-1] + 1, n)
    learner.warn_of_trouble()
    return ProgressiveResult(*losses, learner, batch_size, rounds)


def split_pipeline(estimator, X):
    """A new learner, and X as the steps before it transform it; without steps X itself.

    Steps that are fitted transform X as they are. Others are cloned and see X chunk by chunk, by
    their ``partial_fit``, each chunk before it is transformed.

    Raises
    ------
    TypeError
        For an estimator that is no `OnlineLearner`.
    ValueError
        For a step that is neither fitted nor has ``partial_fit``.
    """
    steps = estimator.steps if isinstance(estimator, Pipeline) else [(None, estimator)]
    learner = clone(steps[-1][1])
    if not isinstance(learner, OnlineLearner):
        raise TypeError(f"estimator must be (or end in) an OnlineLearner, got {learner!r}.")
    for name, step in steps[:-1]:
        if step not in (None, "passthrough"):
            X = _transformed(name, step, X)
    return learner, X


def _transformed(name, step, X):
    """X as one step of a pipeline transforms it."""
    try:
        check_is_fitted(step)
    except NotFittedError:
        if not hasattr(step, "partial_fit"):
            raise ValueError(
                f"step {name!r} of the pipeline is not fitted and has no partial_fit: fit it on "
                f"other rows before, or put a transformer with partial_fit in its place; it is "
                f"{step!r}."
            ) from None
        return _transformed_in_chunks(clone(step), X)
    return step.transform(X)


def _transformed_in_chunks(step, X):
    chunks = [X[start : start + CHUNK] for start in range(0, X.shape[0], CHUNK)]
    parts = [step.partial_fit(chunk).transform(chunk) for chunk in chunks]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def warm_up(estimator, X, y):
    """Load (or compile) what a progressive validation runs, so that a timing leaves it out."""
    learner = clone(estimator)
    learner.play_and_learn(learner.begin(X, y), np.arange(1))
