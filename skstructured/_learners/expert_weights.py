"""What models of several experts say about them: names, losses, and how much each counts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skstructured._learners.lock import lock_of
from skstructured.extend._types import Floats
from skstructured.extend.optimizer import OnlineOptimizer


class ExpertWeights:
    """Readings of a model whose state has `vectors`, `shares` and `sums`, and an `optimizer`."""

    state: Any
    optimizer: Any
    averaged: bool

    def shares(self, averaged: bool) -> Floats:
        """Weights (groups, R, N) of the experts: of all, or of those that are no averages.

        Not to be written to: of all they are those of the state.
        """
        if averaged or not self.averaged:
            return self.state.shares
        kept = np.array(self.state.shares)
        kept[:, :, len(self.state.vectors) :] = 0.0
        total = kept.sum(axis=(1, 2), keepdims=True)
        return kept / np.where(total > 0.0, total, 1.0)

    def expert_weights(self) -> Floats:
        """How much each expert counts: (N,), or (dim, N) where labels are mixed by themselves."""
        weights = self.state.shares.sum(axis=1)
        return weights if len(weights) > 1 else weights[0]

    def expert_losses(self) -> Floats:
        """Sums of the experts' surrogate losses, without the loss scale, (N,)."""
        return self.state.sums.copy()

    def expert_names(self) -> list[str]:
        """What the experts are called."""
        return self._names()

    def _names(self) -> list[str]:
        return self.optimizer.names(self.averaged)

    def _troubles(self) -> list[str]:
        """Sentences about what went wrong with each expert."""
        vectors = self.state.vectors
        found = [expert.check(vectors[i]) for i, expert in self._watched()]
        return [said for said in found if said is not None]

    def _watched(self) -> list[tuple[int, Any]]:
        """Experts in which something may go wrong, and their places."""
        usual = OnlineOptimizer.check
        experts = enumerate(self._experts())
        return [(i, expert) for i, expert in experts if type(expert).check is not usual]

    def _experts(self) -> list[Any]:
        """The optimisers that are mixed."""
        return self.optimizer.experts()


def of_experts(what: str, read: Callable[[ExpertWeights], Any]) -> property:
    """Make the property that reads something of a learner's model of experts."""

    def get(self: Any) -> Any:
        model = getattr(self, "_model", None)
        if not isinstance(model, ExpertWeights):
            raise AttributeError('experts are set by partial_fit or fit with optimizer="mixture".')
        with lock_of(self):
            return read(model)

    return property(get, doc=what)
