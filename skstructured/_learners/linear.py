"""Learning of linear online models: rounds, storage of weights, averages."""

import warnings
from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from skstructured._base.exceptions import GuaranteeWarning
from skstructured._base.foreign import check_dimension, check_state, check_vertices, is_ours
from skstructured._base.validation import (
    check_bool,
    check_lengths,
    check_weights,
    own_arrays,
    owned,
    refuse_row,
    takes_singles_as_they_are,
    unchanged_on_error,
)
from skstructured._engine.epoch import epoch_for
from skstructured._engine.rows import DOUBLE, LONGEST, SHORTEST, SINGLE, SINGLE_NORMS, Rows
from skstructured._engine.state import DECAYS, LinearState
from skstructured._learners.guards import exclusive, uninterrupted
from skstructured._learners.passes import Passes, weights_from_the_first
from skstructured._learners.scaling import scale_of
from skstructured._learners.weights import Iterates, linear_scores
from skstructured.extend.learner import OnlineLearner, Rounds

#: What `average` may be besides True and False.
AVERAGES = ("uniform", "polynomial", "linear")


class OnlineLinearModel(Passes, Iterates, OnlineLearner, BaseEstimator):
    """Rounds θ = Wz, a loss with its kernel, an optimiser, and W of shape (dim, p [+ 1]).

    z is the row x, or x standardised. A subclass has the parameters of `Passes`, `average`,
    `standardize`, `fit_intercept` and `random_state`, and says in `_unfitted_space` and `_parts`
    what it learns with.
    """

    _learns_singles = True

    @abstractmethod
    def _unfitted_space(self):
        """A new output space."""

    @abstractmethod
    def _parts(self, space):
        """The loss over a fitted space, and an optimiser; parameters are checked here."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn the rows in order, one round each; chunks of any size give the same weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. The first rows decide whether the learner is in float32, see `fit`; later ones
            are converted. C-contiguous arrays of its dtype and width skip scikit-learn's checks.
        y : array-like
            Outputs of the space.
        classes : array-like or None, default=None
            All labels, needed on the first call for "simplex", and for "ordinal" without
            `categories` unless y is an ordered categorical; later calls may repeat it. Label sets
            need none, and take the values 0 and 1 that scikit-learn's searches pass.
        sample_weight : array-like of shape (n,) or None, default=None
            As for `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for `fit`; also for labels not in `classes`, and for `classes` that changed.
        """
        self._partial_fit(X, y, classes, sample_weight)
        return self

    @exclusive
    def _partial_fit(self, X, y, classes, sample_weight):
        first = not hasattr(self, "space_")
        if not first:
            self._state.check_moves()
        with unchanged_on_error(self):
            rows = self._rows_of(X, reset=first)
            if self.standardize or not first:  # the weights move in place but on a first call
                self._check_rows(rows, fresh=first)
            if first:
                self._start(self._unfitted_space().fit_stream(y, classes))
            elif classes is not None:
                self.space_.check_classes(classes)
            rounds = self._check_outputs(rows, y, sample_weight, stream=True)
            rounds, every = self._weigh_classes(rounds, y, stream=True), np.arange(rows.n_rows)
            if first:
                self._learn(rounds, every)
        if not first:  # what interrupts it from here on leaves whole blocks that are counted
            self._learn(rounds, every)
        self.n_iter_ = 1
        self.warn_of_trouble()

    def begin(self, X, y, classes=None):
        """Start a stream whose outputs are known to be `classes` or those of `y`; its `Rounds`."""
        with unchanged_on_error(self):
            rows = self._rows_of(X, reset=True)
            self._check_rows(rows, fresh=True)
            self._start(self._space_of_stream(y, classes))
            return self._weigh_classes(self._check_outputs(rows, y), y, stream=True)

    def resume(self, X, y):
        """`Rounds` of further rows of the stream that is being learned."""
        rows = self._rows_of(X)
        self._check_rows(rows)
        return self._weigh_classes(self._check_outputs(rows, y), y, stream=True)

    def _space_of_stream(self, y, classes):
        """The fitted space of a stream whose outputs are known to be `classes` or those of `y`."""
        space = self._unfitted_space()
        return space.fit(y) if classes is None else space.fit_stream(y, classes)

    def play(self, rounds, which, random_state=None):
        """The `Losses` of rounds played with the last weights; nothing is learned."""
        theta = linear_scores(self._last_weights(), rounds.X[which])
        return self._losses(theta, self._vertices(rounds.packed[which]), random_state)

    @exclusive
    def learn(self, rounds, which):
        """Learn rounds in the order of `which`."""
        self._learn(rounds, np.asarray(which))

    @exclusive
    def play_and_learn(self, rounds, which, random_state=None):
        """Play each round with the weights the optimiser plays, learn it, and go on; `Losses`."""
        played = []
        self._learn(rounds, np.asarray(which), lambda theta, V, weight: played.append((theta, V)))
        theta, V = (np.concatenate(part) for part in zip(*played, strict=True))
        return self._losses(theta, V, random_state)

    def expected_losses(self, x, V):
        """Expected target losses (m,) of the next play at x (1, p) against each vertex (m, dim).

        A copy of the state learns the row, because optimisers see how long it is before they play.
        """
        rows, one, theta = Rows.from_array(x), np.arange(1), np.empty((1, self.space_.dim_))
        weight = self._weights_of_rounds(np.ones(1), one)
        state, scale = self._state.copy(), self._scale.copy()
        state.store_for(scale.makes_sparse(rows))
        given = (*scale.apply(rows, one, weight)[:2], np.array(V[:1]), weight)
        learn, _ = self._epoch(state)
        if learn(*given, state, self._params, self._work.copy(), theta) >= 0:
            refuse_row(self, x, 0)
        same = [np.repeat(row, len(V), axis=0) for row in (theta, self.loss_.mean(theta))]
        return self._decoder().expected_loss(*same, V, self.loss_)

    def _start(self, space):
        """Set up the fitted components and zero weights."""
        if not (isinstance(self.average, (bool, np.bool_)) or self.average in AVERAGES):
            raise ValueError(
                'average must be a bool, "uniform", "polynomial" or "linear", got '
                f"{self.average!r}."
            )
        self.space_ = check_dimension(space)
        self.loss_, optimizer = self._parts(space)
        self.optimizer_ = clone(optimizer).specialised()
        if space.task is not None or hasattr(space, "classes_"):
            self.classes_ = getattr(space, "classes_", np.arange(space.dim_))
        self.random_state_ = check_random_state(self.random_state)
        self._intercept, self._weigh_linearly = self._wants_intercept(), self.average == "linear"
        self.t_, self._counted = 0, 0
        self._start_state()
        self._state.vector[DECAYS] = float(self._average_decays())

    def _average_decays(self):
        """Whether round t counts t³ in the average."""
        return self.average == "polynomial"

    def _wants_intercept(self):
        """Whether there is an intercept."""
        check_bool("fit_intercept", self.fit_intercept)
        return bool(self.fit_intercept)

    def _start_state(self):
        """Zero weights, the optimiser's vector, and what kernels need besides."""
        optimizer, dim = self.optimizer_, self.space_.dim_
        vector, width = optimizer.init(self.loss_), self.n_features_in_ + self._intercept
        self._averaged = bool(self.average)
        in_epoch = self._averaged and not optimizer.keeps_average
        vector = check_state(optimizer, vector)
        single = self._dtype == SINGLE and optimizer.single_precision
        read = SINGLE if single else DOUBLE
        self._scale = scale_of(self, self.n_features_in_, self._intercept, read)
        limits = SINGLE_NORMS if takes_singles_as_they_are(self) else (SHORTEST, LONGEST)
        given = (optimizer.blocks, in_epoch, single, limits)
        self._state = LinearState(dim, width, vector, *given)
        self._params, work = self.loss_.kernel_arguments(dim)
        self._work = work[None]  # one row of scratch for all rounds

    def _check_outputs(self, rows, y, sample_weight=None, stream=False):
        """`Rounds` of rows with outputs and weights that fit them."""
        packed = self.space_.pack(y)
        check_lengths(rows.n_rows, len(packed))
        single = sample_weight is not None and takes_singles_as_they_are(self)
        weight = check_weights(sample_weight, packed, rows.n_rows, stream, single)
        return Rounds(rows.X, packed, weight, rows)

    def _epoch(self, state):
        """The loop for a state as it is stored, and how many rows it learns at a time."""
        dim, optimizer = self.space_.dim_, self.optimizer_
        move_and_score = optimizer.move_and_score_kernel(dim, state.by_feature, state.summed)
        kernels = (move_and_score, self.loss_.kernel, optimizer.scale_kernel, optimizer.step_kernel)
        return epoch_for(kernels, state.is_single)

    def _learn(self, rounds, order, note=None):
        """Learn rounds in `order`; ``note(theta, V, weight)`` is told of every block played."""
        if owned(self._state.vector) is not self._state.vector:  # the others are as it is
            own_arrays(self)
        rows = Rows.from_array(rounds.X) if rounds.rows is None else rounds.rows
        weight = np.ones(rows.n_rows) if rounds.weight is None else rounds.weight
        weight = self._weights_of_rounds(weight, order)
        learn, size = self._loop_for(rows)
        for start in range(0, len(order), size):
            block = order[start : start + size]
            V, now = self._vertices(rounds.packed[block]), weight[block]
            theta = np.empty((len(block) * self._wants_scores(note), self.space_.dim_))
            with uninterrupted(self):
                stopped = self._learn_block(learn, rows, block, V, now, theta)
                learned = len(block) if stopped < 0 else stopped
                self._note_scores(theta[:learned], V[:learned], now[:learned])
            if stopped >= 0:
                refuse_row(self, rounds.X, block[stopped])
            if note is not None:
                note(theta, V, now)

    def _loop_for(self, rows):
        """The loop for these rows, as they are transformed, and how many it learns at a time."""
        self._state.store_for(self._scale.makes_sparse(rows))
        learn, size = self._epoch(self._state)
        return learn, self._scale.block_size(size, rows)

    def _learn_block(self, learn, rows, block, V, weight, theta):
        """Transform, learn and count a block; the place of the row that stopped it, or -1."""
        ready, places, undo = self._scale.apply(rows, block, weight)
        given = (ready, places, V, weight)
        try:
            stopped = learn(*given, self._state, self._params, self._work, theta)
        except BaseException:
            undo()
            raise
        if stopped >= 0:  # the rows before it are counted again, without it
            undo()
            weight = weight[:stopped]
            self._scale.apply(rows, block[:stopped], weight)
        self._count(weight)
        return stopped

    def _vertices(self, packed):
        """Vertices (n, dim) of packed outputs, as the kernels read them."""
        V = self.space_.unpack(packed)
        if is_ours(self.space_):
            return V
        return check_vertices(self.space_, "unpack", V, (len(packed), self.space_.dim_))

    def _count(self, weight):
        """Count rounds learned with these weights."""
        self.t_ += len(weight)
        self._counted += int(np.count_nonzero(weight))

    def _weights_of_rounds(self, weight, order):
        """Weights of rows; linear averages multiply them by the number of the round.

        Rounds of weight zero have no number.
        """
        if not self._weigh_linearly:
            return weight
        weight = weight.copy()
        weight[order] *= self._counted + np.cumsum(weight[order] > 0.0)
        return weight

    def comparison(self, rounds):
        """What a comparator is measured by: over the rows as they were standardised."""
        found = super().comparison(rounds)
        if not self._scale.used:
            return found
        rows, weight = Rows.from_array(rounds.X), weights_from_the_first(self, rounds)
        return found._replace(X=self._scale.anew().apply(rows, weight=weight)[0].matrix)

    def round_weights(self, n):
        """1, or with linear averages the number of the round over its mean, (n,)."""
        if not self._weigh_linearly:
            return super().round_weights(n)
        return 2.0 * np.arange(1, n + 1) / (n + 1.0)

    def warn_of_trouble(self):
        """Tell what went wrong; after learning, so that a warning made an error leaves it whole."""
        self.loss_.check_residual(self._work[0])
        trouble = self.optimizer_.check(self._state.vector)
        if trouble is not None:
            warnings.warn(trouble, GuaranteeWarning, stacklevel=5)
