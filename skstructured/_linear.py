"""Learning of linear online models: rounds, storage of weights, averages."""

import warnings
from abc import abstractmethod
from copy import deepcopy

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from skstructured._average import aligned, aligned_zeros
from skstructured._driver import Rows, epoch_for
from skstructured._foreign import check_dimension, check_state, check_vertices, is_ours
from skstructured._learning import exclusive, uninterrupted
from skstructured._validation import (
    check_finite,
    check_integer,
    check_lengths,
    check_weights,
    own_arrays,
    owned,
    read_rows,
    refuse_row,
    unchanged_on_error,
)
from skstructured._weights import LinearWeights
from skstructured.exceptions import GuaranteeWarning
from skstructured.learner import OnlineLearner, Rounds

#: More passes than this are a slip, and would never end.
MOST_PASSES = 10**9


class OnlineLinearModel(LinearWeights, OnlineLearner, BaseEstimator):
    """Rounds θ = Wx, a loss with its kernel, an optimiser, and W of shape (dim, p [+ 1]).

    A subclass has the parameters `average`, `fit_intercept`, `max_iter`, `shuffle` and
    `random_state`, and says in `_unfitted_space` and `_parts` what it learns with.
    """

    @abstractmethod
    def _unfitted_space(self):
        """A new output space."""

    @abstractmethod
    def _parts(self, space):
        """The loss over a fitted space, and an optimiser; parameters are checked here."""

    def fit(self, X, y, sample_weight=None):
        """Learn from scratch, in `max_iter` passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. float64 C-ordered arrays and float64 CSR matrices are not copied.
        y : array-like
            Outputs of the space.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds, positive ones between 1e-200 and 1e60.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X, outputs outside the space, or lengths that differ;
            the fitted state is then unchanged.
        """
        self._fit(X, y, sample_weight)
        return self

    @exclusive
    def _fit(self, X, y, sample_weight):
        check_integer("max_iter", self.max_iter, highest=MOST_PASSES)
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=True)
            self._start(self._unfitted_space().fit(y))
            packed, weight = self._check_outputs(rows, y, sample_weight)
            for _ in range(self.max_iter):
                order = self._visiting_order(rows.n_rows)
                self._learn(X, rows, packed, weight, order)
            self.n_iter_ = int(self.max_iter)
        self.warn_of_trouble()

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn the rows in order, one round each; chunks of any size give the same weights.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features. A C-contiguous float64 array of the fitted width skips scikit-learn's checks.
        y : array-like
            Outputs of the space.
        classes : array-like or None, default=None
            All labels, needed on the first call for "simplex", and for "ordinal" without
            `categories` unless y is an ordered categorical; later calls may repeat it. Label sets
            need none, and take the values 0 and 1 that scikit-learn's searches pass.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds, positive ones between 1e-200 and 1e60.

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
    def _partial_fit(self, X, y, classes=None, sample_weight=None, record=False):
        first = not hasattr(self, "space_")
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=first)
            if not first:  # the weights move in place; on a first call they are discarded
                check_finite(self, X, rows)
            if first:
                self._start(self._unfitted_space().fit_stream(y, classes))
            elif classes is not None:
                self.space_.check_classes(classes)
            packed, weight = self._check_outputs(rows, y, sample_weight, stream=True)
            every = np.arange(rows.n_rows)
            if first:
                scores = self._learn(X, rows, packed, weight, every, record)
        if not first:  # what interrupts it from here on leaves whole blocks learned, and counted
            scores = self._learn(X, rows, packed, weight, every, record)
        self.n_iter_ = 1
        self.warn_of_trouble()
        return scores

    def begin(self, X, y, classes=None):
        """Start a stream whose outputs are known to be `classes` or those of `y`; its `Rounds`."""
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=True)
            check_finite(self, X, rows)
            space = self._unfitted_space()
            self._start(space.fit(y) if classes is None else space.fit_stream(y, classes))
            packed, weight = self._check_outputs(rows, y, None)
        return Rounds(X, rows, packed, weight)

    def play(self, rounds, which, random_state=None):
        """The `Losses` of rounds played with the last weights; nothing is learned."""
        theta = self._linear(rounds.X[which], self.last_weights_)
        return self._losses(theta, self._vertices(rounds.packed[which]), random_state)

    def learn(self, rounds, which):
        """Learn rounds in the order of `which`."""
        self._learn(*rounds, np.asarray(which))

    def play_and_learn(self, rounds, which, random_state=None):
        """Play each round with the weights the optimiser plays, learn it, and go on; `Losses`."""
        theta = self._learn(*rounds, np.asarray(which), record=True)
        return self._losses(theta, self._vertices(rounds.packed[which]), random_state)

    def expected_losses(self, x, V):
        """Expected target losses (m,) of the next play at x (1, p) against each vertex (m, dim).

        A copy learns the row, because optimisers see how long it is before they play.
        """
        learner = deepcopy(self)
        one = Rounds(x, Rows.from_array(x), self.space_.pack(self.space_.decode(V[:1])), np.ones(1))
        theta = learner._learn(*one, np.arange(1), record=True)
        same = [np.repeat(row, len(V), axis=0) for row in (theta, self.loss_.mean(theta))]
        return self._decoder().expected_loss(*same, V, self.loss_)

    def _start(self, space):
        """Set up the fitted components and zero weights."""
        if not (isinstance(self.average, (bool, np.bool_)) or self.average == "linear"):
            raise ValueError(f'average must be a bool or "linear", got {self.average!r}.')
        self.space_ = check_dimension(space)
        self.loss_, optimizer = self._parts(space)
        self.optimizer_ = clone(optimizer)
        self._state = check_state(self.optimizer_, self.optimizer_.init(self.loss_))
        self._params, self._work = self.loss_.kernel_arguments(space.dim_)
        self._Theta, self._averaged = None, bool(self.average)
        if space.task is not None or hasattr(space, "classes_"):
            self.classes_ = getattr(space, "classes_", np.arange(space.dim_))
        self.random_state_ = check_random_state(self.random_state)
        self._intercept, self._weigh_linearly = bool(self.fit_intercept), self.average == "linear"
        self.t_, self._counted = 0, 0

    def _check_outputs(self, rows, y, sample_weight, stream=False):
        packed = self.space_.pack(y)
        check_lengths(rows.n_rows, len(packed))
        return packed, check_weights(sample_weight, packed, rows.n_rows, stream)

    def _visiting_order(self, n):
        return self.random_state_.permutation(n) if self.shuffle else np.arange(n)

    def _learn(self, X, rows, packed, weight, order, record=False):
        """Learn rows in `order`; returns the scores θ_t of every round where `record`."""
        dim, optimizer = self.space_.dim_, self.optimizer_
        self._store_for(rows)
        in_driver = self._average_in_driver()
        kernels = (
            optimizer.advance_kernel(dim, rows.is_sparse, in_driver),
            self.loss_.kernel,
            optimizer.scale_kernel,
            optimizer.step_kernel,
        )
        if self._weigh_linearly:
            weight = self._by_round(weight, order)
        scores = np.empty((len(order) if record else 0, dim))
        learned = (self._Theta, in_driver, self._state, self._params, self._work)
        learn, size = epoch_for(kernels)
        for start in range(0, len(order), size):
            block = order[start : start + size]
            now = weight[block]
            given = (rows, block, self._vertices(packed[block]), now)
            with uninterrupted():
                stopped = learn(*given, *learned, scores[start : start + size])
                self._count(now if stopped < 0 else now[:stopped])
            if stopped >= 0:
                refuse_row(self, X, block[stopped])
        return scores

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

    def _by_round(self, weight, order):
        """Weights times the number of the round among those of positive weight."""
        weight = weight.copy()
        weight[order] *= self._counted + np.cumsum(weight[order] > 0.0)
        return weight

    def warn_of_trouble(self):
        """Tell what went wrong; after learning, so that a warning made an error leaves it whole."""
        self.loss_.check_residual(self._work)
        trouble = self.optimizer_.check(self._state)
        if trouble is not None:
            warnings.warn(trouble, GuaranteeWarning, stacklevel=5)

    def _width(self):
        return self.n_features_in_ + self._intercept

    def _average_in_driver(self):
        return self._averaged and not self.optimizer_.keeps_average

    def _store_for(self, rows):
        """Allocate Θ, with A behind it, or transpose it, for the storage of these rows."""
        if owned(self._state) is not self._state:  # the others are as it is
            own_arrays(self)
        by_feature = rows.is_sparse
        if self._Theta is None:
            arrays, numbers = self.optimizer_.blocks
            arrays += self._average_in_driver()
            shape = (arrays * self.space_.dim_ + numbers, self._width())
            Theta = aligned_zeros(shape[::-1] if by_feature else shape)
        else:
            turned = by_feature != self._by_feature
            Theta = aligned(self._Theta.T if turned else self._Theta)
        # Nothing is called between the two, where a signal could come in.
        self._Theta, self._by_feature = Theta, by_feature

    def _stored(self):
        """Θ and A as for dense rows; None before the first round."""
        if not hasattr(self, "space_"):
            raise AttributeError("weights are there after fit or partial_fit.")
        if self._Theta is None:
            return None
        stored = self._Theta.T if self._by_feature else self._Theta
        own = stored.shape[0] - self._average_in_driver() * self.space_.dim_
        return stored[:own], stored[own:]

    @property
    def last_weights_(self):
        """The last iterate W (dim, p [+ 1]), the intercept as the last column."""
        stored, dim = self._stored(), self.space_.dim_
        if stored is None:
            return np.zeros((dim, self._width()))
        return self.optimizer_.weights(stored[0], self._state, dim)

    @property
    def average_weights_(self):
        """The average of the weights played (dim, p [+ 1]); there if `average` was set in `fit`."""
        if not getattr(self, "_averaged", False):
            raise AttributeError("average_weights_ is there after fit or partial_fit with average.")
        stored, dim = self._stored(), self.space_.dim_
        if stored is None:
            return np.zeros((dim, self._width()))
        return self.optimizer_.average_weights(*stored, self._state, dim)

    def _weights(self):
        """The weights that predictions use."""
        return self.average_weights_ if self.average else self.last_weights_
