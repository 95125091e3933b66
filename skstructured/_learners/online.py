"""The driver of streams: rounds are read, a model learns them, and predictions follow."""

import contextlib
import math
import operator
import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import available_if
from skstructured._base.exceptions import GuaranteeWarning
from skstructured._base.validation import (
    ITEMS_ADVICE,
    check_bool,
    check_choice,
    check_dimension,
    check_integer,
    check_lengths,
    check_real,
    check_weights,
    is_ready,
    norms_of,
    own_arrays,
    raise_bad_row,
)
from skstructured._engine.one_row import ROW_REFUSED
from skstructured._engine.state import renamed
from skstructured._learners import weights
from skstructured._learners.batch_scaling import ranges_of
from skstructured._learners.lock import learning_aside, lock_of, locked, one_blas_thread, snapshot
from skstructured._learners.models import BlockResult, Note, Record
from skstructured._learners.passes import is_verbose, make_passes, most_passes, with_progress
from skstructured._learners.predictions import (
    LargestScores,
    answered,
    check_keeps_bound,
    reader_of,
    with_rows,
)
from skstructured.extend import OnlineOptimizer, OutputSpace
from skstructured.extend._types import (
    Array,
    Features,
    Floats,
    Given,
    Ints,
    Loss,
    Outputs,
    Packed,
    Seed,
)
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Losses, OnlineLearner
from skstructured.spaces import resolve_space


@locked
class OnlineEstimator(OnlineLearner, BaseEstimator):
    """An estimator that reads rounds, lets a model learn them, and decodes its scores.

    A subclass returns its model from `new_model`. It then has `fit`, `partial_fit`, `predict`,
    `decision_function`, the stream protocol of `OnlineLearner`, and the certificate of the model.
    If rounds cannot be read, its fitted state is unchanged. If a signal handler raises, `fit` and a
    first call leave it unchanged, and later calls keep the blocks that are learned, which `t_`
    counts. It may be used from several threads.

    Outputs are classes, or those of a parameter `space`. Parameters of these names have their usual
    meaning: `random_state`, `shuffle`, `verbose`, `class_weight`, `fit_intercept`, `standardize`,
    `average`, `max_iter` and `tol`. Without `max_iter`, `fit` makes one pass in random order.

    Attributes
    ----------
    space_ : OutputSpace
        The space of outputs, fitted before `new_model` is called.
    model_ : Model
        What is learned, made by `new_model`.
    fit_intercept_ : bool
        Whether there is an intercept, known before `new_model` is called.
    classes_ : ndarray
        Labels, if outputs are classes or label sets.
    random_state_ : RandomState
        The generator of the shuffling.
    t_ : int
        Rounds learned.
    n_features_in_ : int
        Number of features, known before `new_model` is called.

    See Also
    --------
    Model : The base of models.
    OnlineLearner : The protocol alone.
    skstructured.evaluation.progressive_validate : Evaluate an estimator on a stream.

    Examples
    --------
    An estimator of 30 lines is in the guide, *Custom components*.
    """

    lock: Any
    turn: Any
    _given_decoder: Callable[[], Decoder]
    #: Whether models learn float32 rows, in a loop that stops at rows that are out of range.
    _learns_singles = False
    #: The weight of a round without one; it is not written to.
    _unit_weight = np.ones(1)

    # Values of parameters that a subclass does not have.
    average: Any = False
    class_weight: Any = None
    shuffle: Any = True
    random_state: Any = None

    coef_, intercept_ = property(weights.coefficients), property(weights.intercepts)
    missing_coef_, feature_ranges_ = property(weights.missing_coefficients), property(ranges_of)
    dual_coef_, support_vectors_ = weights.dual_coef_, weights.support_vectors_
    support_, expert_weights_ = weights.support_, weights.expert_weights_
    expert_losses_, expert_names_ = weights.expert_losses_, weights.expert_names_

    @abstractmethod
    def new_model(self) -> Any:
        """Return a `Model` that has learned nothing, and check the parameters that it uses."""

    def _unfitted_space(self) -> OutputSpace:
        """A new output space."""
        return clone(resolve_space(getattr(self, "space", "simplex")))

    def _parts(self, space: OutputSpace) -> tuple[Loss | None, OnlineOptimizer | None]:
        """The loss over a fitted space, and an optimizer, of estimators that have them."""
        return None, None

    def _read(self, X: Features, reset: bool = False) -> Batch:
        """The checked `Batch` of X, without outputs; see `read_batch`."""
        reader = reader_of(self, fresh=True) if reset else self.space_.reader
        return reader.read(self, X, reset)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a saved estimator; a ValueError for one of a version whose models were others."""
        if "t_" in state:
            name = type(self).__name__
            raise ValueError(f"{name} was saved by an earlier version: fit it again.")
        super().__setstate__(renamed(state))

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None, **params: Any) -> Self:
        """Learn from scratch, in at most `max_iter` passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. C-ordered arrays and CSR matrices of float64 or float32 are not copied. If X
            is float32, later rows are rounded to it; weights and predictions are float64.
        y : array-like
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds, positive ones between 1e-20 and 1e20.
        **params : dict
            Not supported: the error for groups of items names the estimators that accept them.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            For any other argument.
        ValueError
            For a bad parameter, NaN or inf in X, outputs outside the space, or lengths that differ;
            the fitted state is then unchanged.
        """
        if params:
            name = next(iter(params))
            is_group = name in ("group", "groups", "qid", "query_id")  # words of other libraries
            about = f". {ITEMS_ADVICE}" if is_group else ""
            raise TypeError(
                f"{type(self).__name__}.fit() got an unexpected keyword argument {name!r}{about}"
            )
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Features, y: Outputs, sample_weight: Given) -> None:
        max_iter = getattr(self, "max_iter", 1)
        if isinstance(max_iter, str):
            check_choice("max_iter", max_iter, ("auto",))
        else:
            check_integer("max_iter", max_iter, highest=10**9)  # more would never end
        check_bool("shuffle", self.shuffle)
        is_verbose(self)
        if getattr(self, "tol", None) is not None:
            check_real("tol", self.tol, math.isfinite, "be a number or None")
        with self.turn, learning_aside(self) as new:
            batch = new._read(X, reset=True)
            y = reader_of(new, fresh=True).stack(y)  # once, for the space and for the rounds
            new._start(new._space_of(batch, y, sample_weight), most_passes(new))
            make_passes(new, new._with_outputs(batch, y, sample_weight))
        self._warn_diagnostics()

    def _space_of(self, batch: Batch, y: Outputs, sample_weight: Given) -> Any:
        """The space, fitted to the outputs of rounds."""
        return self._unfitted_space().fit(y)

    def partial_fit(
        self, X: Features, y: Outputs, classes: Given = None, sample_weight: Given = None
    ) -> Self:
        """Learn the rows in order, one round each; chunks of any size give the same weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. The first rows decide whether rows are read as float32, see `fit`; later ones
            are converted. C-contiguous arrays of its dtype and width skip scikit-learn's checks.
        y : array-like
            Outputs of the space.
        classes : array-like or None, default=None
            All labels, needed on the first call for "simplex", and for "ordinal" without
            `categories` unless y is an ordered categorical; later calls may repeat it.
            Multilabel outputs need none, and take the 0 and 1 that scikit-learn's searches pass.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds, positive ones between 1e-20 and 1e20.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For what `fit` refuses, labels not in `classes`, and `classes` that changed.
        """
        self._check_stream(False)
        is_row = classes is None and type(X) is np.ndarray and X.shape[:1] == (1,)
        with self.turn:
            if not hasattr(self, "space_"):
                with learning_aside(self) as new:
                    batch = new._first_rounds(X, y, classes, sample_weight)
                    new.learn_blocks(batch, np.arange(len(batch.packed)))
            elif not (is_row and self._learned_alone(X, y, sample_weight)):
                self.model_.check_can_learn()
                batch = self._next_rounds(X, y, classes, sample_weight)
                self.learn_blocks(batch, np.arange(len(batch.packed)))
            if hasattr(self, "max_iter"):
                self.n_iter_ = 1
        self._warn_diagnostics()
        return self

    def _check_stream(self, anew: bool) -> None:
        """A ValueError if the learner cannot start (`anew`) or resume a stream."""

    def read(self, X: Features) -> Batch:
        """The `Batch` of new rows, checked and without outputs."""
        return self._read(X)

    def _first_rounds(self, X: Features, y: Outputs, classes: Given, sample_weight: Given) -> Batch:
        """Start a stream; the `Batch` of its first rows."""
        batch = self._read(X, reset=True)
        self._start(self._unfitted_space().fit_stream(y, classes))
        return self._with_outputs(batch, y, sample_weight, stream=True)

    def _next_rounds(self, X: Features, y: Outputs, classes: Given, sample_weight: Given) -> Batch:
        """The `Batch` of further rows of the stream that is being learned."""
        batch = self._read(X)
        if classes is not None:
            self.space_.check_classes(classes)
        return self._with_outputs(batch, y, sample_weight, stream=True)

    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream whose outputs are known to be `classes` or those of `y`; its `Batch`."""
        with learning_aside(self) as new:
            batch = new._read(X, reset=True)
            new._start(new._space_of_stream(y, classes))
            return new._with_outputs(batch, y, stream=True)

    def resume(self, X: Features, y: Outputs, sample_weight: Given = None) -> Batch:
        """The `Batch` of further rows of the stream that is being learned."""
        return self._next_rounds(X, y, None, sample_weight)

    def _space_of_stream(self, y: Outputs, classes: Given) -> OutputSpace:
        """The fitted space of a stream whose outputs are known to be `classes` or those of `y`."""
        space = self._unfitted_space()
        return space.fit(y) if classes is None else space.fit_stream(y, classes)

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds played with the last weights; nothing is learned."""
        rounds = rounds.take(which)
        theta = self._scores_by(rounds, False)
        return self.decode(theta).losses(self._truths(rounds.packed), random_state)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self.learn_blocks(rounds, np.asarray(which))

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play each round with the weights of the optimizer, then learn it; the `Losses`."""
        if not self.model_.records:
            return super().play_and_learn(rounds, which, random_state)
        rng = check_random_state(random_state)
        return self._learned_losses(
            rounds, np.asarray(which), Record.SCORES, lambda decoding, V: decoding.losses(V, rng)
        )

    def answer(self, rounds: Batch, which: Ints) -> Losses:
        """The `Losses` of predictions of rounds; nothing is learned."""
        rounds = rounds.take(which)
        return answered(self.decode(self._thetas(rounds)), self._truths(rounds.packed))

    def answer_and_learn(self, rounds: Batch, which: Ints) -> Losses:
        """Predict each round, then learn it; the `Losses` of the predictions.

        With kernels, sequences and optimizers of single weights, averages are
        updated after every row up to row 128, later if the number of rows has grown by 1/64.
        """
        record = self._record_of_predictions()
        if record == Record.SCORES:
            return super().answer_and_learn(rounds, which)
        return self._learned_losses(rounds, np.asarray(which), record, answered)

    def _answers_at_a_time(self) -> int:
        return max(1, self.t_ // 64) if self._predicts_by_average() else 1

    def _record_of_predictions(self) -> int:
        """The scores that a loop records: those of predictions, or if it cannot, those played."""
        if not self.model_.scores_ahead:
            return Record.SCORES
        return Record.AVERAGE if self._predicts_by_average() else Record.LAST

    def _predicts_by_average(self) -> bool:
        return bool(self.average) and self._fitted_model("averages are").averaged

    def _learned_losses(
        self, rounds: Batch, indices: Ints, record: int, judged: Callable[[Any, Any], Losses]
    ) -> Losses:
        """Learn rounds; the `Losses` of the recorded scores by `judged`."""
        played: list[BlockResult] = []
        self.learn_blocks(rounds, indices, lambda block, weight: played.append(block), record)
        scores = [block.theta for block in played]
        theta = getattr(type(scores[0]), "joined", np.concatenate)(scores)
        return judged(self.decode(theta), self._truths(rounds.packed[indices]))

    def _truths(self, packed: Packed) -> Any:
        """What the scores of rounds are compared with: vertices (n, dim), or `Ragged`."""
        return getattr(self.model_, "truths", self.space_.unpack)(packed)

    def decode(self, theta: Any) -> Any:
        """How scores (n, dim) become outputs: by the largest score, without a surrogate loss."""
        return LargestScores(theta, self.space_)

    def _start(self, space: OutputSpace, passes: int = 1) -> None:
        """Set up the fitted components and zero weights, for so many passes over the rows."""
        average = self.average
        if not isinstance(average, (bool, np.bool_)) and average not in ("uniform", "polynomial"):
            names = '"uniform" or "polynomial"'
            raise ValueError(f"average must be a bool, {names}, got {average!r}.")
        self.space_ = check_dimension(space)
        self._many_passes = passes > 1
        loss, optimizer = self._parts(space)
        if loss is not None:
            self.loss_ = loss
        if optimizer is not None:
            self.optimizer_ = clone(optimizer).specialised()
        if space.task is not None or hasattr(space, "classes_"):
            self.classes_ = getattr(space, "classes_", space.label_names())
        self.random_state_ = check_random_state(self.random_state)
        self.fit_intercept_ = self._wants_intercept()
        self.model_ = self.new_model()
        self._take_decoder()

    def _take_decoder(self) -> None:
        """Check the decoder, if scores are decoded."""

    def certificate(self, delta: float | None = None) -> Any:
        """The theorem that bounds the target loss of the rounds seen so far.

        ``bound(ΣS(U), ‖U‖_F)`` of the result is the number; a `delta` in (0, 1) asks for one that
        holds with probability 1 − delta, None for one on the expectation. With sample
        weights both sums, of target losses and of S(U), are weighted as the rounds were learned.
        With a `MarginLoss` or `ResidualLoss` they are sums of the surrogate losses themselves.
        """
        if self._no_theorem:
            return super().certificate(delta)
        check_is_fitted(self, "space_")
        if not hasattr(self.model_, "certificate"):
            return super().certificate(delta)
        loss = getattr(self, "loss_", None)
        if loss is not None and not getattr(loss, "bounds_surrogate", False):
            check_keeps_bound(self._given_decoder(), loss)
        return self.model_.certificate(delta)

    def _wants_intercept(self) -> bool:
        """Whether there is an intercept."""
        intercept = getattr(self, "fit_intercept", False)
        check_bool("fit_intercept", intercept)
        return bool(intercept)

    def _with_outputs(
        self, batch: Batch, y: Outputs, sample_weight: Given = None, stream: bool = False
    ) -> Batch:
        """The `Batch` with outputs and weights that fit its rows."""
        packed = self.space_.pack(y)
        batch.check_lengths(packed)
        weight = check_weights(sample_weight, packed, len(packed), stream)
        batch = batch._replace(packed=packed, weight=weight)
        if self.class_weight is not None:
            batch = weights.with_class_weights(self, batch, stream)
        self.model_.check(self, batch, stream)  # the last one: it may keep lengths of rounds
        return batch

    def learn_blocks(
        self, batch: Batch, order: Ints, note: Note = None, record: int = Record.NOTHING
    ) -> None:
        """Learn rounds in order, a block at a time.

        Parameters
        ----------
        batch : Batch
            Rounds, with weights.
        order : ndarray of int
            Positions of the rounds to learn.
        note : callable or None, default=None
            ``note(played, weight)`` is called after each block, with the result of the model and
            the weights of the rounds.
        record : int, default=0
            The scores to record; see `Model.learn`.
        """
        if not self.model_.owns_arrays():
            own_arrays(self)
        model, weight = self.model_, cast(Floats, batch.weight)
        blocks = model.blocks(batch, order, record)
        if not hasattr(self, "max_iter"):
            blocks = with_progress(self, blocks, len(order))
        has_products = model.small_products and len(order) > 1
        with one_blas_thread() if has_products else contextlib.nullcontext():
            for block in blocks:
                block_weight = weight[block]
                with self.lock:
                    learn = model.learn if model.in_place else self._learn_aside
                    played = learn(batch, block, block_weight, record)
                if played is not None and played.stopped >= 0:
                    model.refuse(self, batch, block[played.stopped])
                if note is not None:
                    note(played, block_weight)

    def _learn_aside(self, batch: Batch, block: Ints, weight: Floats, record: int) -> Any:
        """Let a copy of the model learn a block, and replace the model by it."""
        with learning_aside(self, continues=True) as twin:
            played = twin.model_.learn(batch, block, weight, record)
            twin.model_.n_rounds = self.model_.n_rounds + len(block)
        return played

    @property
    def t_(self) -> int:
        """Rows of the stream so far, those of `fit` counted once, by the model that learned."""
        with self.lock:
            return self._fitted_model("t_ is").n_rounds

    def comparison(self, rounds: Batch) -> Any:
        """What a comparator is measured by; see `OnlineLearner.comparison`."""
        if not hasattr(self.model_, "comparison"):
            return super().comparison(rounds)
        return self.model_.comparison(rounds, rounds.weights)

    def _warn_diagnostics(self) -> None:
        """Warn about problems; after learning, so an error made of a warning does no harm."""
        for trouble in self.model_.diagnostics():
            warnings.warn(trouble, GuaranteeWarning, stacklevel=4)

    def _scores_by(self, batch: Batch, averaged: bool) -> Any:
        """Scores of checked rows by the last weights, or by their average."""
        with self.lock:
            return self.model_.scores(batch, averaged)

    def _scores(self, X: Features) -> Any:
        """θ of every row of a new X, (n, dim)."""
        if not hasattr(self, "space_"):  # the check takes longer than the rest of a call with a row
            check_is_fitted(self, "space_")
        return self._thetas(self._read(X))

    def _thetas(self, batch: Batch) -> Any:
        return self._scores_by(batch, bool(self.average))

    def _learned_alone(self, X: Any, y: Outputs, sample_weight: Given) -> bool:
        """Learn the one row of X; False, and nothing is done, if that needs more than one kernel.

        That is for rows of another dtype or width, out of range or with missing values, and for
        learners that weight classes.
        """
        if not (is_ready(self, X) and self._learns_alone()):
            return False
        model: Any = self.model_
        packed = self.space_.pack(y)
        check_lengths(1, len(packed))
        weight = self._unit_weight
        if sample_weight is not None:
            weight = check_weights(sample_weight, packed, 1, True)
        V = model.truths(packed)
        with self.lock:
            stopped = model.learn_alone(X, norms_of(self), V, weight)
        if stopped == ROW_REFUSED:
            return False
        if stopped >= 0:
            raise_bad_row(self, X, 0)
        return True

    def _learns_alone(self) -> bool:
        """Whether the model learns a row by itself, without notifying anybody else."""
        model: Any = getattr(self, "model_", None)
        if not getattr(model, "learns_alone", False):
            return False
        model.state.check_can_learn()
        vector = model.state.vector
        owned = type(vector) is np.ndarray and vector.flags.writeable
        return owned and self.class_weight is None

    def _weights(self, averaged: bool | None = None) -> Floats:
        """The weights that predictions use, the last ones, or their average, in float64."""
        with self.lock:
            model = self._fitted_model("weights are")
            if not hasattr(model, "weights"):
                raise AttributeError(f"{type(self).__name__} has no weights of features.")
            return model.weights(bool(self.average if averaged is None else averaged))

    @property
    def last_weights_(self) -> Array:
        """The last iterate W (dim, p [+ 1]), the intercept as the last column."""
        if not hasattr(self._fitted_model("weights are"), "averaged"):
            raise AttributeError(f"{type(self).__name__} has no iterates other than coef_.")
        return self._weights(averaged=False)

    @property
    def average_weights_(self) -> Array:
        """The average of the weights played (dim, p [+ 1]); set if `average` was, in `fit`."""
        if not self._fitted_model("average_weights_ is").averaged:
            raise AttributeError("average_weights_ is set by fit or partial_fit with average.")
        return self._weights(averaged=True)

    @available_if(is_classifier)
    def decision_function(self, X: Features) -> Floats:
        """Scores of the classes, (n, K); with two classes their difference, (n,)."""
        twin = snapshot(self)
        theta = twin._scores(X)
        return theta[:, 1] - theta[:, 0] if theta.shape[1] == 2 else theta

    def predict(self, X: Features) -> Any:
        """The output of the largest score of every row, without randomness."""
        twin = snapshot(self)
        with lock_of(twin):
            return twin.decode(twin._scores(X)).most_likely()

    def _fitted_model(self, what: str) -> Any:
        if not hasattr(self, "model_"):
            raise AttributeError(f"{what} set by fit or partial_fit.")
        return self.model_

    _scale = property(operator.attrgetter("model_.scale"))

    def __sklearn_tags__(self) -> Any:
        return with_rows(super().__sklearn_tags__(), self)
