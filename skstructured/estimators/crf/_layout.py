"""Where the weights of a model stand in one matrix."""

import numpy as np

#: What the score of a label after another goes by.
TRANSITIONS = ("bigram", "features", "none")


class Layout:
    """Where weights stand in Θ, a matrix with a row per feature and a column per score.

    Features, the intercept, and for sequences starts, ends, transitions from each label, and for
    each feature its weights in the transitions from each label.

    Parameters
    ----------
    width, dim : int
        Features and scores.
    intercept, chains : bool
        Whether there is an intercept, and whether outputs are sequences.
    transitions : {"bigram", "features", "none"}, default="bigram"
        Whether the transitions of sequences have a weight each, weights of features too, or none.
    """

    def __init__(self, width, dim, intercept, chains, transitions="bigram"):
        self.width, self.dim = width, dim
        self.intercept, self.chains = int(intercept), bool(chains)
        self.steps = chains * dim * (transitions != "none")
        self.step_features = chains * width * dim * (transitions == "features")

    @property
    def shape(self):
        """Shape of Θ."""
        return self.first_edge + 2 * self.chains + self.steps + self.step_features, self.dim

    @property
    def first_edge(self):
        """The row of starts, before those of ends and transitions."""
        return self.width + self.intercept

    def offset(self, Theta):
        """The intercept, (dim,)."""
        return Theta[self.width] if self.intercept else np.zeros(self.dim)

    def edges(self, Theta):
        """Starts (k,), ends (k,) and transitions (k, k), as views; zeros where there are none."""
        at = self.first_edge
        steps = Theta[at + 2 : at + 2 + self.dim] if self.steps else np.zeros((self.dim, self.dim))
        return Theta[at], Theta[at + 1], steps

    def step_coef(self, Theta):
        """Weights of features in transitions, (p, k²), a view."""
        return Theta[len(Theta) - self.step_features :].reshape(self.width, self.dim**2)

    def join(self, coef, intercept, edges=(), step_coef=None):
        """Θ of coefficients (dim, p), intercepts (dim,), edges, and those of steps (k², p)."""
        parts = [coef.T, intercept[None]] if self.intercept else [coef.T]
        edges = edges[: 2 + (self.steps > 0)]
        if self.step_features:
            edges = *edges, step_coef.T.reshape(-1, self.dim)
        return np.concatenate([*parts, *map(np.atleast_2d, edges)])
