"""The online learner with kernels over any output space."""

import math

import numpy as np
from sklearn.base import clone

from skstructured._engine.epoch import epoch_for
from skstructured._engine.rows import Rows
from skstructured._engine.state import LinearState
from skstructured._foreign import check_state
from skstructured._learners.scaling import scale_of
from skstructured._validation import check_positive
from skstructured.exceptions import GuaranteeError
from skstructured.kernel._expansion import Expansion, block_move_and_score
from skstructured.kernel._values import kernel_function
from skstructured.online import OnlineStructuredPredictor

__all__ = ["KernelStructuredPredictor"]

#: Rows whose distances are looked at for the median.
SAMPLED = 500


class KernelStructuredPredictor(OnlineStructuredPredictor):
    def __init__(
        self,
        space="simplex",
        regularizer=None,
        kernel="rbf",
        gamma="multiscale",
        degree=3,
        coef0=1.0,
        loss_scale="theory",
        decoder="randomized",
        optimizer="parameter_free",
        average=True,
        standardize="auto",
        fit_intercept=True,
        max_iter=10,
        tol=1e-4,
        shuffle=True,
        class_weight=None,
        verbose=0,
        random_state=None,
        constants="paper",
    ):
        super().__init__(
            space, regularizer, loss_scale, decoder, optimizer, average, standardize,
            fit_intercept, max_iter, tol, shuffle, class_weight, verbose, random_state, constants,
        )
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    def _start_state(self):
        optimizer, dim = self.optimizer_, self.space_.dim_
        if optimizer.keeps_average or optimizer.blocks != (1, 0):
            raise ValueError(f"{optimizer!r} moves every feature by itself, which kernels have not.")
        vector = check_state(optimizer, optimizer.init(self.loss_))
        self._averaged = bool(self.average)
        self._state = LinearState(dim, 1, vector, (1, 0), self._averaged)
        self._scale = scale_of(self, self.n_features_in_, self._intercept)
        self._params, work = self.loss_.kernel_arguments(dim)
        self._work = work[None]
        self._expansion = Expansion(dim, self.n_features_in_, self._averaged, self._function())

    def _function(self, Z=None):
        """The kernel, its width from the rows Z where they are known."""
        gamma = self._gamma(Z)
        return kernel_function(self.kernel, gamma, self.coef0, self.degree, self._intercept)

    def _gamma(self, Z):
        p = self.n_features_in_
        if not isinstance(self.gamma, str):
            return check_positive("gamma", self.gamma)
        if self.gamma == "scale":
            variance = 1.0 if Z is None else float(np.var(Z))
            return 1.0 / (p * (variance if variance > 0.0 else 1.0))
        if self.gamma == "multiscale":
            return (1.0 / (2.0 * p if Z is None else self._median(Z)),)
        raise ValueError(f'gamma must be a positive number, "scale" or "multiscale", got {self.gamma!r}.')

    def _median(self, Z):
        rng = np.random.RandomState(0)
        few = Z[rng.permutation(len(Z))[:SAMPLED]]
        squares = np.einsum("ij,ij->i", few, few)
        d = squares[:, None] + squares - 2.0 * few @ few.T
        d = d[np.triu_indices(len(few), 1)]
        d = d[d > 1e-12 * max(squares.max(initial=0.0), 1e-300)]
        return float(np.median(d)) if len(d) else 1.0

    def _make_passes(self, rounds):
        rows = rounds.rows
        self._scale.apply(rows, weight=rounds.weight)
        Z = self._dense(self._scale.transformed(rows).matrix)
        self._expansion.function = self._function(Z)
        self._expansion.support(Z)
        self._given = Z
        try:
            super()._make_passes(rounds)
        finally:
            del self._given
        self._expansion.close()

    def _dense(self, X):
        return np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X)

    def _loop_for(self, rows):
        optimizer = self.optimizer_
        kernels = (block_move_and_score, self.loss_.kernel, optimizer.scale_kernel, optimizer.step_kernel)
        learn, size = epoch_for(kernels)
        return learn, size

    def _learn_block(self, learn, rows, block, V, weight, theta):
        start = 0
        while start < len(block):
            part = slice(start, start + self._expansion.room)
            stopped = self._learn_part(learn, rows, block[part], V[part], weight[part], theta[part])
            if stopped >= 0:
                return start + stopped
            start += len(block[part])
        return -1

    def _learn_part(self, learn, rows, block, V, weight, theta):
        given, expansion = getattr(self, "_given", None), self._expansion
        if given is None:
            ready, places, undo = self._scale.apply(rows, block, weight)
            Z = self._dense(ready.matrix[places])
        else:
            Z, undo = given[block], None
        taken, order = expansion.take(Z, None if given is None else block)
        self._state.Theta, self._state.by_feature = expansion.Theta, True
        stopped = learn(taken, order, V, weight, self._state, self._params, self._work, theta)
        learned = len(block) if stopped < 0 else stopped
        if stopped >= 0 and undo is not None:
            undo()
            self._scale.apply(rows, block[:stopped], weight[:stopped])
        expansion.keep(learned)
        self._count(weight[:learned])
        return stopped

    def _coefficients(self, averaged):
        """All blocks, and the coefficients (m, dim, BLOCK) of the function that predicts."""
        blocks, coefs = self._expansion.current()
        dim, vector = self.space_.dim_, self._state.vector
        flat = np.ascontiguousarray(coefs.transpose(1, 0, 2)).reshape(coefs.shape[1], -1)
        if averaged:
            found = self.optimizer_.average_weights(flat[:dim], flat[dim:], vector, dim)
        else:
            found = self.optimizer_.weights(flat[:dim], vector, dim)
        return blocks, np.ascontiguousarray(found.reshape(dim, -1, coefs.shape[2]).transpose(1, 0, 2))

    def _kernel_scores(self, X, averaged):
        Z = self._dense(self._scale.transformed(Rows.from_array(X)).matrix)
        return self._expansion.function.scores(*self._coefficients(averaged), Z)

    def _thetas(self, X):
        return self._kernel_scores(X, bool(self.average))
