"""Progressive validation: predict each round, then learn it."""

from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._progressive_result import ProgressiveResult
from skstructured.display import RegretDisplay
from skstructured.learner import OnlineLearner

__all__ = ["ProgressiveResult", "RegretDisplay", "progressive_validate"]

#: Rounds decoded at a time where every round is learned by itself.
BLOCK = 4096

#: Rows that a step of a pipeline sees before it transforms them.
CHUNK = 256

#: The average played is taken anew once the rounds have grown by the REFRESH-th part.
REFRESH = 64

#: Which weights may be played.
PLAYS = ("iterates", "last", "average")


def progressive_validate(
    estimator,
    X,
    y,
    batch_size=1,
    random_state=None,
    progress=None,
    classes=None,
    play="iterates",
):
    """Play and then learn the rows in order, and record every round's losses.

    A clone of the estimator starts from nothing: all labels of `y` are known to it beforehand, no
    row is. With ``batch_size=1`` the scores of a round are those the optimiser plays, so that the
    bounds hold; larger batches are played with the weights before the batch. `play` changes what
    is scored, and nothing of what is learned.

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
    play : {"iterates", "last", "average"}, default="iterates"
        What is scored in a round, and so what `ProgressiveResult.risk_bound` is about; always
        weights from before the round. "iterates": what the optimiser plays, which regret bounds are
        about too and which may depend on how long the row is. "last": what `predict` and `sample`
        would use with ``average=False``, one row at a time. "average": what they use with
        ``average``, the average of the weights played; the average in use is taken anew after
        every row up to row 128, then each time the rounds have grown by their 64th part.

    Returns
    -------
    ProgressiveResult

    Raises
    ------
    ValueError
        As ``estimator.fit``; also for a batch size that is not a positive integer, for a step of a
        pipeline that is neither fitted nor has ``partial_fit``, for an unknown `play`, and for
        ``play="average"`` with a learner that keeps no average.
    TypeError
        For an estimator that is no `OnlineLearner`.

    References
    ----------
    Blum, Kalai, Langford (1999), "Beating the hold-out".
    """
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise ValueError(f"batch_size must be a positive integer, got {batch_size!r}.")
    if play not in PLAYS:
        raise ValueError(f"play must be one of {', '.join(map(repr, PLAYS))}, got {play!r}.")
    learner, X = split_pipeline(estimator, X)
    rounds, rng = learner.begin(X, y, classes), check_random_state(random_state)
    n, play_and_learn = rounds.X.shape[0], _turn(learner, play, batch_size)
    losses = np.empty((3, n))
    for now in _blocks(n, play, batch_size):
        losses[:, now] = play_and_learn(rounds, now, rng)
        if progress is not None:
            progress(now[-1] + 1, n)
    learner.warn_of_trouble()
    return ProgressiveResult(*losses, learner, batch_size, rounds, play, _dependence(estimator))


def _blocks(n, play, batch_size):
    """Positions of the rounds that are handed over together."""
    start, least = 0, BLOCK if batch_size == 1 and play != "average" else batch_size
    while start < n:
        size = max(least, start // REFRESH) if play == "average" else least
        yield np.arange(start, min(start + size, n))
        start += size


def _turn(learner, play, batch_size):
    """How rounds that are handed over together are played and learned."""
    if batch_size == 1 and play == "iterates":
        return learner.play_and_learn
    if batch_size == 1 and play == "last":
        return partial(OnlineLearner.play_and_learn, learner)
    score = learner.play_average if play == "average" else learner.play

    def play_then_learn(rounds, now, rng):
        losses = score(rounds, now, rng)
        learner.learn(rounds, now)
        return losses

    return play_then_learn


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
    steps = _steps(estimator)
    learner = clone(steps[-1][1])
    if not isinstance(learner, OnlineLearner):
        raise TypeError(f"estimator must be (or end in) an OnlineLearner, got {learner!r}.")
    for name, step in steps[:-1]:
        X = _transformed(name, step, X)
    return learner, X


def _steps(estimator):
    """Names and steps that do something, the learner last."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else [(None, estimator)]
    passed = [pair for pair in steps[:-1] if pair[1] not in (None, "passthrough")]
    return [*passed, steps[-1]]


def _is_fitted(step):
    try:
        check_is_fitted(step)
    except NotFittedError:
        return False
    return True


def _dependence(estimator):
    """Why rows were not new to what played them, or None."""
    ahead = [name for name, step in _steps(estimator)[:-1] if not _is_fitted(step)]
    if not ahead:
        return None
    return (
        f"step {ahead[0]!r} of the pipeline saw {CHUNK} rows at a time before they were played; "
        f"fit it on other rows before."
    )


def _transformed(name, step, X):
    """X as one step of a pipeline transforms it."""
    if _is_fitted(step):
        return step.transform(X)
    if not hasattr(step, "partial_fit"):
        raise ValueError(
            f"step {name!r} of the pipeline is not fitted and has no partial_fit: fit it on "
            f"other rows before, or put a transformer with partial_fit in its place; it is "
            f"{step!r}."
        )
    return _transformed_in_chunks(clone(step), X)


def _transformed_in_chunks(step, X):
    chunks = [X[start : start + CHUNK] for start in range(0, X.shape[0], CHUNK)]
    parts = [step.partial_fit(chunk).transform(chunk) for chunk in chunks]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def warm_up(estimator, X, y):
    """Load (or compile) what a progressive validation runs, so that a timing leaves it out."""
    learner = clone(estimator)
    learner.play_and_learn(learner.begin(X, y), np.arange(1))
