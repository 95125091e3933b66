"""Classes as signs: one number for two classes, one against the rest for more."""

import numpy as np

from skstructured.spaces._labels import LabelSpace


class Signs(LabelSpace):
    """Two classes as −1 and 1; K > 2 classes as the vectors of K signs with a single 1.

    The target loss is the zero-one loss.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Sorted class labels.
    dim_ : int
        1 for two classes, else K.
    """

    scores_classes = True

    def _dim_of(self, n_classes):
        return 1 if n_classes == 2 else n_classes

    def unpack(self, packed):
        """Vertices (n, dim) of class positions (n,)."""
        return self.vertices()[packed]

    def vertices(self):
        """Those of all classes, (K, dim)."""
        if self._dimension() == 1:
            return np.array([[-1.0], [1.0]])
        return 2.0 * np.eye(self.dim_) - 1.0

    def _positions(self, V):
        V = np.asarray(V)
        return (V[:, 0] > 0.0).astype(np.intp) if V.shape[1] == 1 else np.argmax(V, axis=1)

    def decode(self, V):
        """Labels (n,) of vertices."""
        return self.classes_[self._positions(V)]

    def argmax(self, theta):
        """The vertex of the largest score; of two classes 1 where the score is above 0."""
        return self.unpack(self._positions(theta))

    nearest = argmax

    def vertex_proba(self, mu):
        """Probabilities (n, K) of the classes under a draw with mean μ in conv(Y)."""
        share = 0.5 + 0.5 * np.asarray(mu)
        return np.hstack([1.0 - share, share]) if share.shape[1] == 1 else share

    def mean_proba(self, mu):
        """Class probabilities (n, K) of shares (1 + μ)/2, one against the rest, made to sum to 1.

        Where all are 0 the classes are equal.
        """
        share = self.vertex_proba(mu)
        total = share.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, share / np.maximum(total, 1e-300), 1.0 / share.shape[1])

    def expected_loss(self, mu, V):
        """Zero-one loss L(μ; v), affine in μ, of shape (n,)."""
        agreement = np.einsum("nk,nk->n", mu, V)
        if self.dim_ == 1:
            return 0.5 - 0.5 * agreement
        return 0.25 * (self.dim_ - agreement)
