"""A mixture of steps over rows with random features, beside the same steps over the rows alone."""

import numpy as np
from scipy.sparse import issparse

from skstructured._engine.near import csr_near_move_and_score, near_move_and_score, with_near
from skstructured._learners.mixture import MixtureModel
from skstructured._learners.weights import linear_scores
from skstructured.extend.optimizer import no_high_probability
from skstructured.guarantees.mixture import certificate_of


class BesideLine(MixtureModel):
    """Experts over [z, φ(z)], and as many over z, all of them mixed as one.

    The latter are the last ones; each has the optimiser of one of the former, which sees ‖z‖² in
    the place of ‖[z, φ(z)]‖². `has_lines` is False where there are no φ.
    """

    has_lines = True

    def _vectors(self):
        vectors = super()._vectors()
        return np.vstack([vectors, vectors]) if self.has_lines else vectors

    def _set_up(self, learner, vectors):
        super()._set_up(learner, vectors)
        if self.has_lines:
            state, many = self.state, len(vectors)
            near = (self.space.dim_, many, many // 2, self.scale.inner.columns)
            state.totals = with_near(state.totals, *near)

    def _experts(self):
        found = super()._experts()
        return found + found if self.has_lines else found

    def _kernels(self):
        (move, *rest), pairs = super()._kernels()
        if self.has_lines:
            move = csr_near_move_and_score if self.state.by_feature else near_move_and_score
        return (move, *rest), pairs

    def _names(self):
        if not self.has_lines:
            return super()._names()
        names = self.optimizer.names(False)
        names = names + [f"{name} of the line" for name in names]
        return names + [f"average of {name}" for name in names] if self.averaged else names

    def certificate(self, delta):
        """See `Model`: bounds against every U are those of experts over [z, φ(z)]."""
        no_high_probability(self.optimizer, delta)
        return certificate_of(self.optimizer, self.loss, self.state, self._names())

    def _scored(self, matrices, X):
        if not self.has_lines:
            return super()._scored(matrices, X)
        W = matrices.reshape(-1, len(self.state.vectors), *matrices.shape[1:])
        n, few, near = X.shape[0], W.shape[1] // 2, X.shape[1] - self.scale.features.columns
        theta = np.empty((n, *W.shape[:3]))
        shape = (n, len(W), few, self.space.dim_)
        if issparse(X):
            theta[...] = linear_scores(flat(W[..., [*range(near), -1]]), X[:, :near]).reshape(
                theta.shape
            )
            behind = X[:, near:].toarray() @ flat(W[:, :few, :, near:-1]).T
            theta[:, :, :few] += behind.reshape(shape)
            return theta.reshape(n, len(matrices), -1)
        theta[:, :, :few] = linear_scores(flat(W[:, :few]), X).reshape(shape)
        lines = flat(W[:, few:, :, [*range(near), -1]])
        theta[:, :, few:] = linear_scores(lines, X[:, :near]).reshape(shape)
        return theta.reshape(n, len(matrices), -1)

    def _raw(self, Z):
        if not self.has_lines:
            return super()._raw(Z)
        raw, half = np.empty((Z.shape[0], len(self.state.matrix))), len(self.state.vectors) // 2
        rows, near, width = half * self.space.dim_, self.scale.inner.columns, self.width
        for at, start in enumerate(range(0, raw.shape[1], rows)):
            columns, part = near if at % 2 else width, slice(start, start + rows)
            Theta = self.state.matrix[part]
            raw[:, part] = Z[:, :columns] @ Theta[:, :columns].T + Theta[:, width]
        return raw


def flat(W):
    """Weights of many outputs as one matrix, a row for each."""
    return np.ascontiguousarray(W).reshape(-1, W.shape[-1])
