"""The protocol of online learners, the rounds that they read, and the base of their models."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.ragged import Ragged, check_same_lengths, stack_labels, stack_rows
from skstructured._base.validation import check_finite, check_lengths, read_rows
from skstructured._engine.state import State
from skstructured.extend._types import Bound, Features, Floats, Given, Ints, Loss, Outputs, Seed


class Batch(NamedTuple):
    """Rounds as a learner reads them: their rows and outputs, checked.

    Attributes
    ----------
    rows : Rows, or any object
        The rows of X, one round each; of label sequences, the rows of all positions. Learners of
        other packages may have anything here that they read, such as an array (n, p).
    packed : sequence of length n
        Outputs in the form that the learner reads; for learners over an output space what its
        ``pack`` gives.
    weight : ndarray of shape (n,) or None, default=None
        Weights of the rounds, for learners that have them.
    offsets : ndarray of shape (n + 1,) or None, default=None
        Round i has the rows ``offsets[i]:offsets[i + 1]``; None for one row per round.

    See Also
    --------
    OnlineLearner : Its `begin` and `resume` return batches.
    Losses : Losses of the rounds of a batch.
    """

    rows: Any
    packed: Any
    weight: Floats | None = None
    offsets: Ints | None = None

    @property
    def X(self) -> Any:
        """Features: an array or a CSR matrix with one row per round, or `Ragged` sequences."""
        matrix = getattr(self.rows, "matrix", self.rows)
        return matrix if self.offsets is None else Ragged(matrix, self.offsets)

    @property
    def n_rounds(self) -> int:
        """How many rounds."""
        return len(self.packed)

    def take(self, indices: Ints | slice) -> "Batch":
        """The rounds at these positions, in their order."""
        X = self.X[indices]
        offsets = None if self.offsets is None else X.offsets
        X = X if offsets is None else X.values
        rows = type(self.rows).from_array(X) if hasattr(self.rows, "from_array") else X
        packed, weight = (None if a is None else a[indices] for a in (self.packed, self.weight))
        return Batch(rows, packed, weight, offsets)

    def dense(self, which: Ints) -> Floats:
        """Features (m, p) of the rounds `which` as a dense array."""
        X = self.X[which]
        return X.toarray() if hasattr(X, "toarray") else X

    def check_lengths(self, packed: Any) -> None:
        """A ValueError unless there is one output per round, and one label per position."""
        if self.offsets is None:
            check_lengths(self.rows.n_rows, len(packed))
        else:
            check_same_lengths(Ragged(self.rows, self.offsets), packed)

    @property
    def weights(self) -> Floats:
        """Weights (n,); ones if there are no weights."""
        return np.ones(self.n_rounds) if self.weight is None else self.weight

    @property
    def learned(self) -> Ints:
        """The places of the rounds of positive weight."""
        return np.flatnonzero(self.weights > 0.0)

    def order(self, random_state: np.random.RandomState | None = None) -> Ints:
        """The places of all rounds, shuffled or not; those of weight 0 are checked last."""
        first = self.learned if random_state is None else random_state.permutation(self.learned)
        return np.append(first, np.flatnonzero(~(self.weights > 0.0)))


class RowReader:
    """How a learner reads X and y: one row of X per output."""

    #: Whether outputs are sequences, of any number of rows each.
    has_sequences = False

    def read(self, learner: Any, X: Features, reset: bool = False) -> Batch:
        """The checked `Batch` of X without outputs; with `reset` its rows are the first."""
        rows = read_rows(learner, X, reset)
        check_finite(learner, rows, reset)
        return Batch(rows, None)

    def stack(self, y: Outputs) -> Any:
        """Outputs in the form that spaces read fastest."""
        return y

    def require_rows(self, message: str) -> None:
        """Raise a ValueError with this message unless outputs have one row each."""


class SequenceReader(RowReader):
    """For X a list of matrices or `Ragged` sequences, for y a list of label arrays."""

    has_sequences = True

    def read(self, learner: Any, X: Features, reset: bool = False) -> Batch:
        """The checked `Batch` of stacked sequences; ValueErrors name the sequence."""
        batch = stacked_batch(learner, stack_rows(X), reset)
        check_finite(learner, batch.rows, reset, batch.offsets)
        return batch

    def stack(self, y: Outputs) -> Any:
        """Labels, `Ragged`."""
        return stack_labels(y)

    def require_rows(self, message: str) -> None:
        """Raise the ValueError."""
        raise ValueError(message)


def stacked_batch(learner: Any, stacked: Any, reset: bool = False) -> Batch:
    """The `Batch` of rounds of several rows, sequences or items; values are not yet checked."""
    rows = read_rows(learner, stacked.values, reset, singles=False)
    return Batch(rows, None, None, stacked.offsets)


class Losses(NamedTuple):
    """Losses of m rounds.

    Attributes
    ----------
    target : ndarray of shape (m,)
        Target loss, in [0, 1], of the output that was played.
    expected : ndarray of shape (m,)
        Its exact expectation over the learner's draw; the same if it does not draw.
    surrogate : ndarray of shape (m,)
        The learner's surrogate loss; NaN if it has none.

    See Also
    --------
    OnlineLearner : Its `play` and `answer` return losses.
    skstructured.evaluation.ProgressiveResult : The losses of all rounds of a validation.
    """

    target: Floats
    expected: Floats
    surrogate: Floats


class Comparison(NamedTuple):
    """Rows, outputs and loss that measure a fixed linear comparator over a run.

    Attributes
    ----------
    loss : FenchelYoung or GapSurrogate
        The surrogate loss, scale included.
    X : {ndarray, sparse matrix} of shape (n, p)
        Features.
    V : ndarray of shape (n, dim)
        True outputs, as vertices.
    intercept : bool
        Whether a comparator has an intercept, as its last column.

    See Also
    --------
    ExpertComparison : The same for experts.
    OnlineLearner : Its `comparison` returns it.
    """

    loss: Loss
    X: Any
    V: Floats
    intercept: bool


class ExpertComparison(NamedTuple):
    """Losses that measure a fixed expert, or a fixed mixture of experts, over a run.

    Attributes
    ----------
    losses : ndarray of shape (n, d)
        Losses of the experts, one round per row.

    See Also
    --------
    Comparison : The same for linear comparators.
    OnlineLearner : Its `comparison` returns it.
    """

    losses: Floats


class OnlineLearner(ABC):
    """An estimator that plays an output in every round, and learns the true one after it.

    A learner supplies `begin`, `play` and `learn`; it overrides `resume` if there is a faster way
    than to begin again with a clone, `play_and_learn` if it can do better than row by row, `answer`
    if `predict` differs from `play`, `certificate` if a theorem bounds its losses, and
    `comparison` if the theorem is against the surrogate losses of a linear comparator. Then
    `skstructured.evaluation.progressive_validate` works on it, alone or at the end of a pipeline.

    See Also
    --------
    skstructured.evaluation.progressive_validate : Evaluate a learner on a stream.
    OnlineEstimator : A base class that implements it.

    Examples
    --------
    A learner in thirty lines is in the guide, *Custom components*.
    """

    @abstractmethod
    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream: check X and y, reset the model, and learn nothing yet.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features of all rounds.
        y : array-like
            Their outputs; no output may be used before its round.
        classes : array-like or None, default=None
            All labels; needed if y may lack some.

        Returns
        -------
        Batch
        """

    def resume(self, X: Features, y: Outputs) -> Batch:
        """Check further rows of the stream that is being learned; learn nothing yet.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features, as wide as those before.
        y : array-like
            Their outputs.

        Returns
        -------
        Batch
            For `play` and `learn`, which continue from the current model.

        Raises
        ------
        ValueError
            For bad X, y or weights, and for another number of features than before.
        """
        twin = clone(self)
        rounds = twin.begin(X, y, getattr(self, "classes_", None))
        widths = [getattr(learner, "n_features_in_", rounds.X.shape[1]) for learner in (self, twin)]
        if widths[0] != widths[1]:
            raise ValueError(f"X has {widths[1]} features, but those before it have {widths[0]}.")
        return rounds

    @abstractmethod
    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play some rounds with the current model, and learn nothing; their `Losses`.

        Parameters
        ----------
        rounds : Batch
            What `begin` returned.
        which : ndarray of int
            Positions of the rounds.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws.
        """

    @abstractmethod
    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn some rounds, one by one in the order of `which`, and count them in ``t_``."""

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play each round, and learn it before the next; the `Losses` of the plays."""
        rng, played = check_random_state(random_state), []
        for i in np.asarray(which):
            played.append(self.play(rounds, np.array([i]), rng))
            self.learn(rounds, np.array([i]))
        return Losses(*map(np.concatenate, zip(*played, strict=True)))

    def answer(self, rounds: Batch, which: Ints) -> Losses:
        """The `Losses` of what `predict` answers in some rounds; nothing is learned.

        That is what `play` plays, unless a learner draws its outputs, or predicts with other
        weights than it plays: such a learner overrides this.

        Parameters
        ----------
        rounds : Batch
            What `begin` returned.
        which : ndarray of int
            Positions of the rounds.

        Returns
        -------
        Losses
            Nothing is drawn: `target` and `expected` are the same.
        """
        return self.play(rounds, which)

    def answer_and_learn(self, rounds: Batch, which: Ints) -> Losses:
        """Answer each round as `predict` would, and learn it before the next; the `Losses`."""
        answered, which = [], np.asarray(which)
        while len(which):
            block, which = np.split(which, [self._answers_at_a_time()])
            answered.append(self.answer(rounds, block))
            self.learn(rounds, block)
        return Losses(*map(np.concatenate, zip(*answered, strict=True)))

    def _answers_at_a_time(self) -> int:
        """Rounds that are answered before any of them is learned, since answers change slowly."""
        return 1

    def _warn_diagnostics(self) -> None:
        """Warn of what went wrong in the rounds learned, if anything did; called after learning."""
        return None

    def comparison(self, rounds: Batch) -> Comparison | ExpertComparison:
        """The `Comparison` or `ExpertComparison` that measures comparators over these rounds.

        Raises
        ------
        GuaranteeError
            If the learner has no surrogate loss.
        """
        raise GuaranteeError(f"{type(self).__name__} has no surrogate loss for comparators.")

    def round_weights(self, n: int) -> Floats:
        """Weights of the first n rounds in sums of losses, (n,), of mean 1."""
        return np.ones(n)

    def certificate(self, delta: float | None = None) -> Bound:
        """The theorem that bounds the target loss of the rounds seen so far.

        Parameters
        ----------
        delta : float or None, default=None
            None bounds the expectation; a number in (0, 1) bounds the loss with probability
            1 − delta.

        Returns
        -------
        Certificate

        Raises
        ------
        GuaranteeError
            If no theorem covers the rounds; the message has the reason.
        """
        name = type(self).__name__
        raise GuaranteeError(f"No regret bound is stated for {name}. {self._no_theorem}".strip())

    #: Why no bound is stated, a sentence.
    _no_theorem: ClassVar[str] = ""


class Model(State, ABC):
    """What an `OnlineEstimator` learns: it scores rows, and rounds change it.

    A subclass has `learn` and `scores`. It may also have ``certificate(delta)``, which returns the
    theorem about the rounds learned so far, ``comparison(batch, weight)``, which returns a
    `Comparison`, and ``weights(averaged)``, an array (dim, p [+ 1]) that gives the estimator
    ``coef_`` and ``intercept_``. Attributes are arrays, numbers and other models: a copy has its
    own ones.

    Attributes
    ----------
    n_rounds : int
        Rounds learned so far; the estimator counts them.

    See Also
    --------
    OnlineEstimator : Its `new_model` returns a model.
    Batch : The rounds that `learn` and `scores` read.

    Examples
    --------
    A model in twenty lines is in the guide, *Custom components*.
    """

    n_rounds = 0

    #: Most rounds to learn at a time; other threads see whole blocks.
    block = 64

    #: Whether `learn` learns a block as a whole or not at all. If not, a copy learns it.
    in_place = False

    #: Whether `learn` returns the scores with which the rounds were played.
    records = False

    #: Whether `learn` can record the scores of predictions too; only compiled models can.
    scores_ahead = False

    #: Whether blocks are learned by small products, which take longer in several threads.
    small_products = False

    @abstractmethod
    def learn(self, batch: Batch, indices: Ints, weight: Floats, record: int) -> Any:
        """Learn rounds one by one, in the order of `indices`.

        Parameters
        ----------
        batch : Batch
            Rounds: ``batch.X[i]`` are the features of round i, ``batch.packed[i]`` is its output as
            the space packs it (for classes the index of the label).
        indices : ndarray of shape (m,)
            Positions of the rounds.
        weight : ndarray of shape (m,)
            Their weights; a round of weight 0 changes nothing.
        record : int
            What compiled models record; others ignore it.

        Returns
        -------
        None
            Models that record return a block of scores.
        """

    @abstractmethod
    def scores(self, batch: Batch, averaged: bool) -> Floats:
        """Scores (n, dim) of all rounds of a batch, whose outputs are not known.

        Parameters
        ----------
        batch : Batch
            Rounds.
        averaged : bool
            Whether to use averaged weights; False if the estimator has no parameter `average`.

        Returns
        -------
        ndarray of shape (n, dim)
        """

    def blocks(self, batch: Batch, order: Ints, record: int) -> list[Ints]:
        """Parts of `order`, each to be learned by one call of `learn`.

        Parameters
        ----------
        batch : Batch
            Rounds.
        order : ndarray of int
            Positions of the rounds to learn, in order.
        record : int
            As in `learn`.

        Returns
        -------
        list of ndarray
        """
        return [order[start : start + self.block] for start in range(0, len(order), self.block)]

    def check(self, learner: Any, batch: Batch, stream: bool) -> None:
        """Raise a ValueError for rounds that the model cannot learn, before any is.

        Parameters
        ----------
        learner : OnlineEstimator
            The estimator whose model this is.
        batch : Batch
            Rounds.
        stream : bool
            Whether they are of a stream, and not of `fit`.
        """
        return None

    def owns_arrays(self) -> bool:
        """Whether no array is memory-mapped or read-only; False if that is not known."""
        return False

    def diagnostics(self) -> list[str]:
        """Sentences about what went wrong in the rounds learned."""
        return []
