"""The base of compiled online learners: rounds are read, a model moves, and predictions follow."""

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.exceptions import GuaranteeWarning
from skstructured._base.plugins import check_dimension
from skstructured._base.validation import (
    check_bool,
    check_weights,
    own_arrays,
    refuse_row,
    unchanged_on_error,
    writable,
)
from skstructured._engine.state import DECAYS, ROUNDS
from skstructured._learners.linear import LinearModel
from skstructured._learners.models import AVERAGE, LAST, NOTHING, SCORES, Model, Note, Played
from skstructured._learners.one_row import OneRow
from skstructured._learners.passes import Passes
from skstructured._learners.weights import ModelWeights
from skstructured.extend import OnlineOptimizer, OutputSpace
from skstructured.extend._types import Features, Floats, Given, Ints, Loss, Outputs, Seed
from skstructured.extend.learner import Batch, Comparison, Losses, OnlineLearner

#: What `average` may be besides True and False.
AVERAGES = ("uniform", "polynomial")


class OnlineEstimator(Passes, OneRow, ModelWeights, OnlineLearner, BaseEstimator):
    """Rounds of a model with a loss and an optimiser; weights are W of shape (dim, p [+ 1]).

    A subclass has the parameters of `Passes`, `average`, `standardize`, `fit_intercept` and
    `random_state`, and brings `_read`, `_check_rows`, `_unfitted_space`, `_parts`, a `_new_model`.
    """

    _learns_singles = True
    _calibrator = None

    @abstractmethod
    def _unfitted_space(self) -> OutputSpace:
        """A new output space."""

    @abstractmethod
    def _parts(self, space: OutputSpace) -> tuple[Loss, OnlineOptimizer]:
        """The loss over a fitted space, and an optimiser; parameters are checked here."""

    def _new_model(self) -> Model:
        """What is learned, with zero weights."""
        return getattr(self.optimizer_, "model", LinearModel)(self)

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
        self._partial_fit(X, y, classes, sample_weight)
        return self

    def _partial_fit(self, X: Features, y: Outputs, classes: Given, sample_weight: Given) -> None:
        if self._learned_alone(X, y, classes, sample_weight):
            self.n_iter_ = 1
            return self.warn_of_trouble()
        if not hasattr(self, "space_"):
            with unchanged_on_error(self, aside=True) as new:
                new._learn_first(X, y, classes, sample_weight)
            return self.warn_of_trouble()
        self._model.state.check_moves()
        with unchanged_on_error(self):
            batch = self._read(X)
            self._check_rows(batch)
            if classes is not None:
                self.space_.check_classes(classes)
            batch = self._with_outputs(batch, y, sample_weight, stream=True)
            batch = self._weigh_classes(batch, stream=True)
        self._learn(batch, np.arange(batch.n_rounds))
        self.n_iter_ = 1
        self.warn_of_trouble()

    def _learn_first(self, X: Features, y: Outputs, classes: Given, sample_weight: Given) -> None:
        """Start a stream, and learn its first rows."""
        batch = self._read(X, reset=True)
        if self.standardize:  # afterwards, what was out of range is not seen any more
            self._check_rows(batch, fresh=True)
        self._start(self._unfitted_space().fit_stream(y, classes))
        batch = self._with_outputs(batch, y, sample_weight, stream=True)
        batch = self._weigh_classes(batch, stream=True)
        self._learn(batch, np.arange(batch.n_rounds))
        self.n_iter_ = 1

    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream whose outputs are known to be `classes` or those of `y`; its `Batch`."""
        with unchanged_on_error(self, aside=True) as new:
            batch = new._read(X, reset=True)
            new._check_rows(batch, fresh=True)
            new._start(new._space_of_stream(y, classes))
            return new._weigh_classes(new._with_outputs(batch, y), stream=True)

    def resume(self, X: Features, y: Outputs) -> Batch:
        """The `Batch` of further rows of the stream that is being learned."""
        batch = self._read(X)
        self._check_rows(batch)
        return self._weigh_classes(self._with_outputs(batch, y), stream=True)

    def _space_of_stream(self, y: Outputs, classes: Given) -> OutputSpace:
        """The fitted space of a stream whose outputs are known to be `classes` or those of `y`."""
        space = self._unfitted_space()
        return space.fit(y) if classes is None else space.fit_stream(y, classes)

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds played with the last weights; nothing is learned."""
        rounds = rounds.take(which)
        theta = self._scores_by(rounds, False)
        return self._losses(theta, self._truths(rounds.packed), random_state)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self._learn(rounds, np.asarray(which))

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play each round with the weights the optimiser plays, learn it, and go on; `Losses`."""
        return self._learned_losses(rounds, np.asarray(which), SCORES, random_state)

    @property
    def plays_ahead(self) -> bool:
        """Whether `play_ahead` works: weights are s Θ, and no decoder follows what is played."""
        return self._model.scores_ahead and self._calibrator is None

    def _play_ahead(self, rounds: Batch, which: Ints, averaged: bool, random_state: Seed) -> Losses:
        return self._learned_losses(rounds, which, AVERAGE if averaged else LAST, random_state)

    def _keeps_average(self) -> bool:
        return bool(self.average) and self._fitted_model("averages are").averaged

    def _learned_losses(
        self, rounds: Batch, which: Ints, record: int, random_state: Seed
    ) -> Losses:
        """Learn rounds; the `Losses` of the scores that are recorded of them."""
        played: list[Played] = []
        self._learn(rounds, which, lambda block, weight: played.append(block), record)
        if len(played) and played[0].decoder is not None:
            losses = [self._decode(b.theta, b.decoder).losses(b.truth) for b in played]
            return Losses(*map(np.concatenate, zip(*losses, strict=True)))
        theta = self._model.concatenated([block.theta for block in played])
        return self._losses(theta, self._truths(rounds.packed[which]), random_state)

    def expected_losses(self, x: Floats, V: Floats) -> Floats:
        """Expected target losses (m,) of the next play at x (1, p) against each vertex (m, dim).

        A copy of the model learns the row, because optimisers see how long it is before they play.
        Label sequences are given as one matrix in a list, V as `Ragged` positions or embeddings.
        """
        check_is_fitted(self)
        with self._model.lock:
            theta, stopped = self._model.upcoming(x, V, np.ones(1))
        if stopped >= 0:
            refuse_row(self, x, 0)
        return self._decode(theta).expected_losses(V)

    def _start(self, space: OutputSpace, passes: int = 1) -> None:
        """Set up the fitted components and zero weights, for so many passes over the rows."""
        if not (isinstance(self.average, (bool, np.bool_)) or self.average in AVERAGES):
            names = '"uniform" or "polynomial"'
            raise ValueError(f"average must be a bool, {names}, got {self.average!r}.")
        self.space_ = check_dimension(space)
        self._many_passes = passes > 1
        self.loss_, optimizer = self._parts(space)
        self.optimizer_ = clone(optimizer).specialised()
        if space.task is not None or hasattr(space, "classes_"):
            self.classes_ = getattr(space, "classes_", np.arange(space.dim_))
        self.random_state_ = check_random_state(self.random_state)
        self._intercept = self._wants_intercept()
        self._model = self._new_model()
        self._model.state.vector[DECAYS] = float(self._average_decays())

    def _average_decays(self) -> bool:
        """Whether round t counts t³ in the average."""
        return self.average == "polynomial"

    def _wants_intercept(self) -> bool:
        """Whether there is an intercept."""
        check_bool("fit_intercept", self.fit_intercept)
        return bool(self.fit_intercept)

    def _with_outputs(
        self, batch: Batch, y: Outputs, sample_weight: Given = None, stream: bool = False
    ) -> Batch:
        """The `Batch` with outputs and weights that fit its rows."""
        packed = self.space_.pack(y)
        batch.check_lengths(packed)
        weight = check_weights(sample_weight, packed, len(packed), stream)
        batch = batch._replace(packed=packed, weight=weight)
        self._model.check(self, batch, stream)
        self._model = self._model.noting(batch)
        self.loss_ = self._model.loss
        return batch

    def _learn(self, batch: Batch, order: Ints, note: Note = None, record: int = NOTHING) -> None:
        """Learn rounds in `order`; ``note(played, weight)`` is told of every block."""
        model, vector = self._model, self._model.state.vector
        if writable(vector) is not vector:  # the others are as it is
            own_arrays(self)
        weight = batch.weights
        record = record if self._calibrator is None else SCORES
        for block in model.blocks(batch, order, record):
            now = weight[block]
            with model.lock:
                played = model.learn(batch, block, now, record)
                played = self._calibrated(played, now)
            if played.stopped >= 0:
                model.refuse(self, batch, block[played.stopped])
            if note is not None:
                note(played, now)

    def _calibrated(self, played: Played, weight: Floats) -> Played:
        """Scores of a block calibrate those to come, where somebody asks for it."""
        if self._calibrator is None:
            return played
        at = played.learned
        before = self._calibrator.follow(played.theta[at], played.truth[at], weight[at])
        decoder = self._given_decoder()
        if hasattr(decoder, "calibrated"):
            played = played._replace(decoder=decoder.calibrated(before))
        return played

    def _truths(self, packed: Any) -> Any:
        """What scores are compared with."""
        return self._model.truths(packed)

    @property
    def t_(self) -> int:
        """Rounds learned, by the clock of what learned them."""
        model = self._fitted_model("t_ is")
        with model.lock:
            return int(model.state.vector[ROUNDS])

    def comparison(self, rounds: Batch) -> Comparison:
        """What a comparator is measured by; see `OnlineLearner.comparison`."""
        return self._model.comparison(rounds, rounds.weights)

    def warn_of_trouble(self) -> None:
        """Warn of what went wrong; after learning, so that an error made of it does no harm."""
        for trouble in self._model.trouble():
            warnings.warn(trouble, GuaranteeWarning, stacklevel=5)

    def _scores_by(self, batch: Batch, averaged: bool) -> Any:
        """Scores of checked rows by the last weights, or by their average."""
        with self._model.lock:
            return self._model.scores(batch, averaged)

    def _thetas(self, batch: Batch) -> Any:
        return self._scores_by(batch, bool(self.average))
