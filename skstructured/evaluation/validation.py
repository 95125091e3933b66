"""Progressive validation: predict each round, then learn it; and plots of its results."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._optional_dependencies import check_matplotlib_support

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_choice, check_integer
from skstructured._learners.weights import weighs_classes
from skstructured.evaluation._result import ProgressiveResult, StreamResult
from skstructured.experts._binary import is_fitted
from skstructured.extend._types import Array, Features, Floats, Given, Outputs, Seed
from skstructured.extend.learner import OnlineLearner
from skstructured.streaming.chunks import checked_chunks, note_chunk, pipeline_steps, step_transform

#: Rows that a step of a pipeline sees before it transforms them.
ROWS_PER_STEP = 256


def progressive_validate(
    estimator: Any,
    X: Features | Iterable[Any],
    y: Outputs | None = None,
    batch_size: int = 1,
    random_state: Seed = None,
    progress: Callable[[int, Any], object] | None = None,
    classes: Given = None,
    play: Literal["predict", "randomized"] = "predict",
    delta: float = 0.05,
) -> ProgressiveResult | StreamResult:
    """Play and then learn the rows in order, and record every round's losses.

    Rows that do not fit into memory are given as chunks, ``progressive_validate(model, chunks)``.

    A clone of the estimator starts from nothing: it knows all labels of `y`, and no row. By default
    the losses are those of the outputs that `predict` would return before each row is learned, one
    row at a time, or `batch_size` rows with the same model. `play` and ``batch_size`` change which
    losses are recorded, but not the model that is learned. A ``class_weight`` weighs rows as in
    ``partial_fit``, but not the recorded losses; `ProgressiveResult.weight` has it for regret
    bounds.

    Parameters
    ----------
    estimator : OnlineLearner, or Pipeline that ends in one
        The learner; it is not changed. Steps before it that are fitted transform all rows as they
        are; others see the rows in chunks by their ``partial_fit``, each chunk before it is
        transformed. No step sees an output, so the bounds hold for the transformed rows.
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
        ``progress(rounds done, result)`` with the `StreamResult` so far: if it raises
        StopIteration, the validation ends there.
    classes : array-like or None, default=None
        All labels; needed if `y`, or the first chunk, may lack some.
    play : {"predict", "randomized"}, default="predict"
        Outputs to evaluate in each round. "predict": those of `predict`, from the averaged model
        if the estimator averages. For kernels, label sequences, ``decoder="f1"``, and optimizers
        with one step size per weight, predictions are updated in blocks: after every row up to row
        128, and later whenever the number of rows has grown by 1/64.
        "randomized": outputs that the decoder draws from the current, unaveraged model. Regret
        bounds require it.
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
        step of a pipeline that is neither fitted nor has ``partial_fit``, and an unknown `play`.
    TypeError
        For an estimator that is not an `OnlineLearner`.

    References
    ----------
    Blum, Kalai, Langford (1999), "Beating the hold-out".
    """
    check_integer("batch_size", batch_size)
    check_choice("play", play, ("predict", "randomized"))
    rng, protocol = check_random_state(random_state), (play, batch_size)
    if y is None:
        return _validate_chunks(estimator, X, classes, protocol, rng, progress, delta)
    learner, transform = split_pipeline(estimator)
    rounds = learner.begin(transform(X), y, classes)
    losses = _play_rounds(learner, rounds, protocol, rng, progress, rounds.X.shape[0])
    learner._warn_diagnostics()
    dependence = _dependence(estimator, learner, *protocol)
    return ProgressiveResult(*losses, learner, batch_size, rounds, play, dependence)  # type: ignore[call-arg]  # three


def _validate_chunks(estimator, chunks, classes, protocol, rng, progress, delta):
    """A `StreamResult`: chunk after chunk is transformed, played and learned, and let go."""
    learner, transform = split_pipeline(estimator)
    result = StreamResult(learner, *protocol, None, delta)
    for number, (X, y) in enumerate(checked_chunks(chunks, lengths=(2,))):
        with note_chunk(number, result.n_rounds):
            X = transform(X)
            rounds = learner.resume(X, y) if number else learner.begin(X, y, classes)
            result.dependence = _dependence(estimator, learner, *protocol)
            losses = _play_rounds(learner, rounds, protocol, rng, done=result.n_rounds)
            result.add_chunk(losses, getattr(rounds, "packed", None))
        if progress is not None:
            try:
                progress(result.n_rounds, result)
            except StopIteration:
                break
    learner._warn_diagnostics()
    return result


def _play_rounds(learner, rounds, protocol, rng, progress=None, total=None, done=0):
    """Losses (3, n) of rounds, played and learned; `done` rounds came before them."""
    n, size = rounds.X.shape[0], protocol[1]
    size = 4096 if size == 1 else size  # decoded at a time, each row learned by itself
    losses = np.empty((3, n))
    for start in range(0, n, size):
        indices = np.arange(start, min(start + size, n))
        losses[:, indices] = _turn(learner, *protocol, rounds, indices, rng)
        if progress is not None:
            progress(done + int(indices[-1]) + 1, total)
    return losses


def _turn(learner, play, batch_size, rounds, indices, rng):
    """Play and learn rounds that are given together; their losses."""
    answers = play == "predict"
    draws = () if answers else (rng,)
    if batch_size == 1:
        play_then_learn = learner.answer_and_learn if answers else learner.play_and_learn
        return play_then_learn(rounds, indices, *draws)
    losses = (learner.answer if answers else learner.play)(rounds, indices, *draws)
    learner.learn(rounds, indices)
    return losses


def split_pipeline(estimator):
    """A new learner, and a function that transforms X by steps, which may learn chunk by chunk."""
    steps = pipeline_steps(estimator)
    learner = clone(steps[-1][1])
    if not isinstance(learner, OnlineLearner):
        remedy = "predict each row before partial_fit learns it"
        remedy += ", and pass the losses to RiskMonitor().update(losses)"
        rule = f"estimator must be (or end in) an OnlineLearner of this library, got {learner!r}"
        raise TypeError(f"{rule}. For any other estimator, {remedy}.")
    transforms = [step_transform(name, step, _fit_in_chunks) for name, step in steps[:-1]]
    return learner, lambda X: functools.reduce(lambda rows, step: step(rows), transforms, X)


def _dependence(estimator, learner, play, batch_size):
    """Why rows were not new to the model that played them, or None; `learner` has begun."""
    fitting = [name for name, step in pipeline_steps(estimator)[:-1] if not is_fitted(step)]
    if fitting:
        remedy = "Fit it on other rows first, and pass the rows it transforms"
        updates = f"was updated with {ROWS_PER_STEP} rows at a time before they were predicted"
        return f"step {fitting[0]!r} of the pipeline {updates}. {remedy}."
    if play == "randomized" and batch_size == 1 and weighs_classes(learner):
        reason = "the output depends on the weight of the round"
        leak = "class_weight reveals the class by it. Use play='predict'"
        return f"With play='randomized' {reason}, and {leak}."
    return None


def _fit_in_chunks(step):
    return functools.partial(_transform_in_chunks, clone(step))


def _transform_in_chunks(step, X):
    chunks = (X[batch] for batch in gen_batches(X.shape[0], ROWS_PER_STEP))
    blocks = [step.partial_fit(chunk).transform(chunk) for chunk in chunks]
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.vstack(blocks)


def compile_validation(estimator, X, y, classes=None):
    """Load or compile the functions of a validation, to leave them out of timings."""
    learner = clone(estimator)
    _turn(learner, "predict", 1, learner.begin(X, y, classes), np.arange(1), None)


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
            If risk_delta is outside (0, 1).
        TypeError
            If the result has another type.

        Notes
        -----
        U is ``result.best_comparator()``. A learner without a theorem (`GuaranteeError`) has no
        bound, and no dotted curve.
        """
        check_matplotlib_support(f"{cls.__name__}.from_result")
        if not isinstance(result, ProgressiveResult):
            raise TypeError(f"result must be a ProgressiveResult, got {result!r}.")
        n, losses = len(result.expected_target_loss), result.weight * result.expected_target_loss
        indices = np.unique(np.linspace(0, n - 1, min(n, 2000)).round().astype(np.intp))
        curves = np.cumsum(losses), *_reference(result), _risk(result, risk_delta)
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


def _reference(result):
    """Cumulative comparator loss, and bound after every round; None without a theorem."""
    try:
        U = result.best_comparator()
        total = result.regret_bound(U)
    except GuaranteeError:
        return None, None
    compared = np.cumsum(result.weight * result.comparator_loss(U))
    return compared, compared + (total - compared[-1])


def _risk(result, delta):
    """Rounds times the bound on the mean risk up to each; None without a bound."""
    with suppress(GuaranteeError):
        if delta is not None:
            return np.arange(1, len(result.target_loss) + 1) * result.risk_curve(delta)
