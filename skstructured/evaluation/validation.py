"""Progressive validation: predict each round, then learn it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from skstructured._base.validation import check_choice, check_integer, check_weights
from skstructured.evaluation._result import ProgressiveResult, StreamResult
from skstructured.experts._binary import is_fitted
from skstructured.extend._types import Features, Given, Outputs, Seed
from skstructured.extend.learner import OnlineLearner
from skstructured.streaming.chunks import checked_chunks, steps_of, told_of_chunk, transform_of

#: Rounds decoded at a time where every round is learned by itself.
BLOCK = 4096

#: Rows that a step of a pipeline sees before it transforms them.
CHUNK = 256

#: The average played is taken anew once the rounds have grown by the REFRESH-th part.
REFRESH = 64


def progressive_validate(
    estimator: Any,
    X: Features | Iterable[Any],
    y: Outputs | None = None,
    batch_size: int = 1,
    random_state: Seed = None,
    progress: Callable[[int, Any], object] | None = None,
    classes: Given = None,
    play: str = "iterates",
    delta: float = 0.05,
) -> ProgressiveResult | StreamResult:
    """Play and then learn the rows in order, and record every round's losses.

    Rows that do not fit into memory are given as chunks, ``progressive_validate(model, chunks)``.

    A clone of the estimator starts from nothing: all labels of `y` are known to it beforehand, no
    row is. With ``batch_size=1`` the scores of a round are those the optimiser plays, so that the
    bounds hold; larger batches are played with the weights before the batch. `play` changes what
    is scored, and nothing of what is learned. A ``class_weight`` enters what is learned as in
    ``partial_fit``, and none of the losses; `ProgressiveResult.weight` has it for regret bounds.

    Parameters
    ----------
    estimator : OnlineLearner, or Pipeline that ends in one
        The learner; it is not changed. Steps before it that are fitted transform all rows as they
        are; others see the rows in chunks by their ``partial_fit``, each chunk before it is
        transformed. No step sees an output, so that the bounds hold for the rows as transformed.
    X : {array-like, sparse matrix} of shape (n, p), or iterable of pairs (X, y)
        Features; or, without y, chunks of a stream, such as those of `skstructured.streaming`.
    y : array-like or None, default=None
        Outputs of its space.
    batch_size : int, default=1
        Rounds played before they are learned.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws of the decoder.
    progress : callable or None, default=None
        Called as ``progress(rounds done, n)`` now and then; for chunks once after each, as
        ``progress(rounds done, result)`` with the `StreamResult` so far: where it raises
        StopIteration, the validation ends there.
    classes : array-like or None, default=None
        All labels, where `y`, or that of the first chunk, may not show every one.
    play : {"iterates", "last", "average"}, default="iterates"
        What is scored in a round, and so what `ProgressiveResult.risk_bound` is about; always
        weights from before the round. "iterates": what the optimiser plays, which regret bounds are
        about too and which may depend on how long the row is. "last": what `predict` and `sample`
        would use with ``average=False``, one row at a time. "average": what they use with
        ``average``, the average of the weights played. It is taken anew after every row by linear
        learners whose weights are s Θ, and by mixtures; by all others after every row up to row
        128, then each time the rounds have grown by their 64th part, and at the beginning of a
        chunk.
    delta : float, default=0.05
        For chunks: probability in (0, 1) that `StreamResult.risk_bound` fails.

    Returns
    -------
    ProgressiveResult, or for chunks StreamResult
        Losses round by round; of chunks their means only, and so no more memory than a chunk takes.

    Raises
    ------
    ValueError
        For what ``estimator.partial_fit`` refuses, a batch size that is not a positive integer, a
        step of a pipeline that is neither fitted nor has ``partial_fit``, an unknown `play`,
        and ``play="average"`` with a learner that keeps no average.
    TypeError
        For an estimator that is no `OnlineLearner`.

    References
    ----------
    Blum, Kalai, Langford (1999), "Beating the hold-out".
    """
    check_integer("batch_size", batch_size)
    check_choice("play", play, ("iterates", "last", "average"))
    rng, how = check_random_state(random_state), (play, batch_size)
    if y is None:
        return _validate_chunks(estimator, X, classes, how, rng, progress, delta)
    learner, transform = split_pipeline(estimator)
    rounds = learner.begin(transform(X), y, classes)
    losses = _play_rounds(learner, rounds, how, rng, progress, rounds.X.shape[0])
    learner._warn_diagnostics()
    dependence = _dependence(estimator, learner, *how)
    return ProgressiveResult(*losses, learner, batch_size, rounds, play, dependence)  # type: ignore[call-arg]  # three


def _validate_chunks(estimator, chunks, classes, how, rng, progress, delta):
    """A `StreamResult`: chunk after chunk is transformed, played and learned, and let go."""
    learner, transform = split_pipeline(estimator)
    result = StreamResult(learner, *how, None, delta)
    for number, (X, y) in enumerate(checked_chunks(chunks, lengths=(2,))):
        with told_of_chunk(number, result.n_rounds):
            X = transform(X)
            rounds = learner.resume(X, y) if number else learner.begin(X, y, classes)
            result.dependence = _dependence(estimator, learner, *how)
            losses = _play_rounds(learner, rounds, how, rng, done=result.n_rounds)
            result.add_chunk(losses, getattr(rounds, "packed", None))
        if progress is not None:
            try:
                progress(result.n_rounds, result)
            except StopIteration:
                break
    learner._warn_diagnostics()
    return result


def _play_rounds(learner, rounds, how, rng, progress=None, total=None, done=0):
    """Losses (3, n) of rounds, played and learned; `done` rounds came before them."""
    n, play_and_learn = rounds.X.shape[0], _turn(learner, *how)
    losses = np.empty((3, n))
    waits = how[0] == "average" and not _is_ahead(learner, *how)
    for now in _blocks(n, how[1], waits, done):
        losses[:, now] = play_and_learn(rounds, now, rng)
        if progress is not None:
            progress(int(now[-1]) + 1, total)
    return losses


def _blocks(n, batch_size, waits, done=0):
    """Positions of the rounds that are handed over together, after `done` others.

    Where an average waits to be taken anew, more and more of them.
    """
    start, least = 0, BLOCK if batch_size == 1 and not waits else batch_size
    while start < n:
        size = max(least, (done + start) // REFRESH) if waits else least
        yield np.arange(start, min(start + size, n))
        start += size


def _turn(learner, play, batch_size):
    """How rounds that are handed over together are played and learned."""
    if batch_size == 1 and play == "iterates":
        return learner.play_and_learn
    if _is_ahead(learner, play, batch_size):
        averaged = play == "average"
        return lambda rounds, now, rng: learner.play_ahead(rounds, now, averaged, rng)
    if batch_size == 1 and play == "last":
        return functools.partial(OnlineLearner.play_and_learn, learner)
    score = learner.play_average if play == "average" else learner.play

    def play_then_learn(rounds, now, rng):
        losses = score(rounds, now, rng)
        learner.learn(rounds, now)
        return losses

    return play_then_learn


def _is_ahead(learner, play, batch_size):
    """Whether the learner's own loop scores every row as `predict` would before it."""
    return batch_size == 1 and play != "iterates" and learner.plays_ahead


def split_pipeline(estimator):
    """A new learner, and a function that transforms X by the steps before it.

    Steps that are fitted transform X as they are. Others are cloned and see X chunk by chunk, by
    their ``partial_fit``, each chunk before it is transformed; a second call goes on with them.

    Raises
    ------
    TypeError
        For an estimator that is no `OnlineLearner`.
    ValueError
        For a step that is neither fitted nor has ``partial_fit``.
    """
    steps = steps_of(estimator)
    learner = clone(steps[-1][1])
    if not isinstance(learner, OnlineLearner):
        raise TypeError(
            f"estimator must be (or end in) an OnlineLearner of this library, got {learner!r}. For "
            "any other estimator, predict each row before partial_fit learns it, and pass the "
            "losses to RiskMonitor().update(losses)."
        )
    transforms = [transform_of(name, step, _learned_in_chunks) for name, step in steps[:-1]]
    return learner, lambda X: functools.reduce(lambda rows, step: step(rows), transforms, X)


def _dependence(estimator, learner, play, batch_size):
    """Why rows were not new to what played them, or None; `learner` has begun."""
    ahead = [name for name, step in steps_of(estimator)[:-1] if not is_fitted(step)]
    if ahead:
        return (
            f"step {ahead[0]!r} of the pipeline saw {CHUNK} rows at a time before they were "
            f"played; fit it on other rows before."
        )
    if play == "iterates" and batch_size == 1 and getattr(learner, "_weighs_classes", bool)():
        return (
            "with play='iterates' what is played depends on the weight of the round, and "
            "class_weight tells the class by it; validate with play='last' or play='average'."
        )
    return None


def _learned_in_chunks(step):
    return functools.partial(_transformed_in_chunks, clone(step))


def _transformed_in_chunks(step, X):
    chunks = [X[start : start + CHUNK] for start in range(0, X.shape[0], CHUNK)]
    parts = [step.partial_fit(chunk).transform(chunk) for chunk in chunks]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def warm_up(estimator, X, y, classes=None, play="iterates"):
    """Load (or compile) what a progressive validation runs, so that a timing leaves it out."""
    learner = clone(estimator)
    rounds = learner.begin(X, y, classes)
    _turn(learner, play, 1)(rounds, np.arange(1), None)


def random_stop(
    estimator: OnlineLearner,
    X: Features,
    y: Outputs,
    classes: Given = None,
    sample_weight: Given = None,
    random_state: Seed = None,
) -> OnlineLearner:
    """Learn rows in random order up to a round drawn at random; what was known before that round.

    The conversion of online learners that have no average of their weights, such as
    `FolkloreClassifier`: if rows are independent and drawn alike, the expected loss on a new row is
    the mean of the expected losses of all rounds, which regret bounds are about. Rounds are drawn
    with probabilities proportional to their weights.

    Parameters
    ----------
    estimator : OnlineLearner
        The learner; a clone of it learns.
    X : {array-like, sparse matrix} of shape (n, p)
        Features.
    y : array-like
        Outputs.
    classes : array-like or None, default=None
        All labels; None is those of `y`.
    sample_weight : array-like of shape (n,) or None, default=None
        Non-negative weights of the rounds, by which they are learned as well.
    random_state : int, RandomState instance or None, default=None
        Draws the order and the round.

    Returns
    -------
    OnlineLearner
        The clone.

    Raises
    ------
    TypeError
        For an estimator that is no `OnlineLearner`, such as a pipeline.
    ValueError
        For what ``partial_fit`` of the learner refuses, weights that are all 0, and weights for a
        learner that takes none.

    References
    ----------
    Cesa-Bianchi, Conconi, Gentile (2004), "On the generalization ability of on-line learning
    algorithms".

    Examples
    --------
    >>> import numpy as np
    >>> from skstructured import FolkloreClassifier
    >>> from skstructured.evaluation import random_stop
    >>> X = np.random.RandomState(0).randn(100, 2)
    >>> random_stop(FolkloreClassifier(), X, X[:, 0] > 0, random_state=0).t_
    9
    """
    rng, learner = check_random_state(random_state), clone(estimator)
    if not isinstance(learner, OnlineLearner):
        raise TypeError(f"estimator must be an OnlineLearner of this library, got {learner!r}.")
    rounds = learner.begin(X, y, classes)
    if sample_weight is not None:
        if rounds.weight is None:
            raise ValueError(f"sample_weight must be None for {learner!r}, which takes no weights.")
        weight = check_weights(sample_weight, X, rounds.n_rounds)
        rounds = rounds._replace(weight=weight * rounds.weights)
    order = rng.permutation(rounds.n_rounds)
    share = rounds.weights[order] / rounds.weights.sum()
    learner.learn(rounds, order[: rng.choice(len(order), p=share)])
    return learner
