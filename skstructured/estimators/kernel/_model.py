"""The model of learners with kernels: a linear model over φ(x), as coefficients of rows."""

import copy

import numpy as np

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_finite, dtype_of, is_precomputed
from skstructured._engine.rounds import NO_FLOATS, single_row_rounds
from skstructured._engine.standardize import NO_CALL, Counted
from skstructured._engine.state import LinearState, LoopState, at_once
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import Model
from skstructured._learners.pass_selection import KERNEL_SEARCH
from skstructured._learners.passes import most_passes
from skstructured.estimators.kernel import _values
from skstructured.estimators.kernel._expansion import Expansion, block_move_and_score, support_for


def refuse_precomputed(learner, anew):
    """Raise a ValueError if a learner with a precomputed kernel is to resume a stream."""
    if is_precomputed(learner.kernel) and not anew:
        raise ValueError(
            "kernel='precomputed' is only supported by fit. For partial_fit give the features, "
            "and the name of a kernel or a callable."
        )


def _score_factor(self):
    """What scores, and coefficients, are multiplied by; 1 unless `max_iter="auto"` tried others."""
    return float(self._fitted_model("score_factor_ is").factor)


score_factor = property(_score_factor)


class KernelModel(Model):
    """A linear model over φ(x), with <φ(x), φ(z)> = k(x, z), as coefficients of rows.

    It is made with the parameters `kernel` and `gamma` of a learner.
    """

    search = KERNEL_SEARCH
    without_kernels = ""

    def _set_up(self, learner, vectors):
        optimizer, dim = self.optimizer, self.space.dim_
        if optimizer.mixes:
            raise ValueError(
                f"optimizer={optimizer!r} is not supported for kernels. Use 'auto', "
                "'parameter_free' or 'ogd'."
            )
        if optimizer.keeps_average or optimizer.blocks != (1, 0):
            raise ValueError(
                f"optimizer={optimizer!r} has per-feature step sizes, which are not supported for "
                "kernels."
            )
        kernel = _values.kernel_of(learner)
        self.kernel, self.degree, self.coef0 = kernel.function, kernel.degree, kernel.coef0
        self.cache, self.gamma = _values.check_cache_size(kernel.cache_size), learner.gamma
        self.intercept = learner.fit_intercept_
        self.width, self.dtype = learner.n_features_in_, dtype_of(learner)
        self.state = LinearState(dim, 1, vectors, (1, 0), self.averaged)
        self.scale = scale_of(learner, self.width, True, self.dtype, forgets=False)
        self.is_precomputed = is_precomputed(self.kernel)
        self.scale.used = self.scale.used and not self.is_precomputed
        self._take_kernels()
        self.expansion, self.given = self._new_expansion(), None

    def _new_expansion(self, Z=None, weight=None):
        """One without rows; the kernel's width is chosen by weighted rows Z, if there are any."""
        c, columns = (1 + self.averaged) * self.space.dim_, self.scale.columns
        function = _values.foreign_kernel(self.kernel, self.intercept)
        if function is None:
            p = self.width if Z is None else Z.shape[1]
            width = _values.width_of(self.gamma, self.kernel, p, Z, weight)
            settings = width, self.coef0, self.degree, self.intercept
            function = _values.kernel_function(self.kernel, *settings)
        return Expansion(self.space.dim_, support_for(function, c, columns, self.dtype))

    def check(self, learner, batch, stream):
        """A ValueError for rows that the kernel does not accept."""
        rows = batch.rows
        if self.is_precomputed:
            _values.check_square((rows.n_rows, rows.width))
        check_finite(learner, rows)  # of kernels of what is not, nothing can be seen any more
        longest = self.expansion.support.function.longest()
        bad = rows.first_bad(False, 0.0, longest) if stream and not self.scale.used else -1
        if bad >= 0:
            raise ValueError(
                f"Row {bad} of X is too large for kernel={self.kernel!r}: norms must be at most "
                f"{longest:.4g}. Rescale the features, or set standardize=True."
            )

    def _prepared(self, X):
        """Transformed rows as the kernel takes them."""
        X = X.toarray() if hasattr(X, "toarray") else X
        return self.expansion.support.function.prepared(np.ascontiguousarray(X, dtype=self.dtype))

    def prepare(self, learner, batch):
        """Transform all rows, and keep their kernels if there is room."""
        self.scale.count_all(batch.rows, batch.weight, quantiles=True)
        self.given = self._prepared(self.scale.transformed(batch.rows).matrix)
        if not self.is_precomputed and (batch.weights == 0.0).any():
            self.given = np.where(batch.weights[:, None] > 0.0, self.given, 0.0)  # however far
        self.expansion = self._new_expansion(self.given, batch.weights)
        if most_passes(learner) > 1:
            self.expansion.fill(self.given, self.cache)

    def fresh_copy(self):
        twin = copy.copy(self)
        twin.state, twin.expansion = self.state.copy(), self.expansion.twin()
        twin.work = self.work.copy()
        vars(twin).pop("_loops", None)
        return twin

    def scores_of(self, batch, which, averaged):
        """Scores of some rounds; their kernels are used if they are kept."""
        self.expansion.close()
        theta = self.expansion.scores_of(self.coefficients(averaged), which, self.given)
        return _values.finite_scores(theta, self.kernel)

    @property
    def small_products(self):
        """Whether products are those with kept kernels, and not the kernels themselves."""
        gram = self.expansion.gram
        return gram is not None and len(gram.matrix) == len(gram.Z)

    def finish_fit(self, n_rounds):
        """Discard rows without coefficients."""
        super().finish_fit(n_rounds)
        self.expansion.finish_fit(n_rounds)
        self.given = None

    def _kernels(self):
        return block_move_and_score, self.loss.kernel

    def _block_size(self, rows):
        support = self.expansion.support
        rows_per_second = (1 << 32) // max(support.count * support.width, 1)
        return max(_values.SUPPORT_BLOCK, min(self._bound().block_size, rows_per_second))

    def _learn(self, rows, block, V, weight, theta, record):
        """Rows of weight 0 are played, and take no place, so the blocks of others do not change.

        The place of the row that stopped it, or −1.
        """
        start, idle = 0, weight == 0.0
        changes = [*(np.flatnonzero(idle[1:] != idle[:-1]) + 1), len(block)]
        for change in changes:
            while start < change:
                self._end_block()
                most = change if idle[start] else min(change, start + self.expansion.room)
                chunk = slice(start, most)
                args = (block[chunk], V[chunk], weight[chunk], theta[chunk])
                stopped = (self._pass_by if idle[start] else self._learn_part)(rows, *args)
                if stopped >= 0:
                    return start + stopped
                start = most
        self._end_block()
        return -1

    def _end_block(self):
        """End the open block if it is full."""
        if self.expansion.room == 0 and self.expansion.gram is not None:
            self.expansion.close()  # passes of `fit` are over a copy of all
        elif self.expansion.room == 0:
            vars(self.expansion).update(vars(self.expansion.ended()))

    def _pass_by(self, rows, block, V, weight, theta):
        """Count rows of weight 0, whose scores count for nothing."""
        theta[:] = 0.0
        self.state.vector[LoopState.ROUNDS] += len(weight)
        return -1

    def _learn_part(self, rows, block, V, weight, theta):
        """Learn rows that fit into the open block; the place of the one that stopped it, or −1."""
        taken, counted = self._take(rows, block, weight)
        expansion, kernels = self.expansion, self._bound()
        self.state.Theta, self.state.by_feature = expansion.Theta, True
        rounds, constants = single_row_rounds(taken[1], V, weight), (self.params, self.options)
        results = (self.work, theta.reshape(-1), NO_FLOATS, NO_FLOATS)

        def calls(state):
            loop = kernels.call_of(taken[0], rounds, state, constants, results)
            return [loop, expansion.keeping(len(block), state.Theta), counted.commit]

        stopped = self._learn_at_once(kernels, calls)
        if stopped >= 0:
            at_once(expansion.keeping(stopped - len(block), expansion.Theta), counted.undo)
            if self.given is None:
                self.scale.apply(rows, block[:stopped], weight[:stopped])
            place = taken[1][stopped]
            square = expansion.data[place, expansion.dim + place]
            _values.check_positive_definite(square, self.kernel, block[stopped])
        return stopped

    def _take(self, rows, block, weight):
        """Rows as `Expansion.take` gives them, and as they were `Counted`."""
        if self.given is not None:
            Z = None if self.expansion.gram is not None else self.given[block]
            taken = self.expansion.take(Z, block, together=True)
            return taken, Counted(*taken, NO_CALL, NO_CALL, None)
        counted = self.scale.counted(rows, block, weight)
        index = self.expansion.given + np.arange(len(block))
        Z = self._prepared(counted.rows.matrix[counted.places])
        return self.expansion.take(Z, block if self.is_precomputed else index), counted

    def comparison(self, batch, weight):
        """Raise a GuaranteeError: no comparator can be found by search."""
        raise GuaranteeError(
            "Comparators of a kernel learner are functions: use certificate().bound(loss, norm) "
            "with the surrogate loss and the norm of one."
        )

    def weights(self, averaged):
        """Raise an AttributeError: there are no weights."""
        raise AttributeError(
            "coef_ and intercept_ are only available for a linear kernel: use dual_coef_ and "
            "support_vectors_."
        )

    def coefficients(self, averaged):
        """Coefficients (dim, n_support) of the last function, or of the average, in predictions."""
        coefs, vector, dim = self.expansion.current(), self.state.vector, self.space.dim_
        if averaged:
            coefs = self.optimizer.average_weights(coefs[:dim], coefs[dim:], vector, dim)
        else:
            coefs = self.optimizer.weights(coefs[:dim], vector, dim)
        return coefs if self.factor == 1.0 else self.factor * coefs

    def support_vectors(self):
        """Support rows as they were transformed; a precomputed kernel has none."""
        if self.is_precomputed:
            raise AttributeError(
                "support_vectors_ is not available with kernel='precomputed': use support_."
            )
        return self.expansion.support_rows

    def scores(self, batch, averaged):
        """``Σ_i β_i k(x_i, x)``, (n, dim)."""
        Z = self._prepared(self.scale.transformed(batch.rows).matrix)
        theta = self.expansion.scores(self.coefficients(averaged), Z)
        return _values.finite_scores(theta, self.kernel)
