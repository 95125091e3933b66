"""Learning to rank: one score for each item of a query."""

from typing import Any, Literal

import numpy as np

from skstructured._base.parameters import Seed, parameters
from skstructured._base.ragged import Ragged
from skstructured._base.shared_docs import documented
from skstructured._base.short_cuts import ShortCuts
from skstructured._base.validation import check_choice
from skstructured.decoders import resolve_decoder
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Given
from skstructured.extend.decoder import Decoder
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.items._online import ItemLearner, _any_rounds
from skstructured.items._reading import Items, read_items
from skstructured.items._targets import mean_ranks, ranks_of, shares_of
from skstructured.items.metrics import ndcg
from skstructured.optimizers import resolve_optimizer

__all__ = ["ListwiseRanker"]

#: What `loss` may be: the space, the regularizer, and how grades become truths.
LOSSES = {
    "listnet": ("simplex", "shannon", shares_of),
    "sparse_listnet": ("simplex", "squared", shares_of),
    "permutahedron": ("permutahedron", "squared", ranks_of),
}


@documented(OnlineStructuredPredictor)
@parameters
class ListwiseRanker(ShortCuts, ItemLearner):
    loss: Literal["listnet", "sparse_listnet", "permutahedron"] = "listnet"
    optimizer: str | OnlineOptimizer = "mixture"
    average: bool | Literal["uniform", "polynomial"] = "polynomial"
    standardize: bool | Literal["auto"] = "auto"
    max_iter: int | Literal["auto"] = "auto"
    tol: float | None = 1e-4
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None
    loss_scale: float | Literal["theory"] = "theory"
    decoder: str | Decoder = "randomized"
    constants: Literal["paper", "sharp"] = "paper"
    missing: Literal["mean", "error"] = "mean"

    fit_intercept = False

    def _resolvers(self) -> dict[str, Any]:
        return {"decoder": resolve_decoder, "optimizer": resolve_optimizer}

    def _over(self) -> tuple[Any, Any]:
        check_choice("loss", self.loss, LOSSES)
        return LOSSES[self.loss][:2]

    def _targets(self, items: Items, y: Any) -> Ragged:
        check_choice("loss", self.loss, LOSSES)
        return LOSSES[self.loss][2](items, y)

    def predict(self, X: Any, qid: Given = None, *, available: Any = None) -> Any:
        return self.decision_function(X, qid, available=available)

    def score(
        self,
        X: Any,
        y: Any,
        qid: Given = None,
        *,
        available: Any = None,
        sample_weight: Given = None,
    ) -> float:
        items = read_items(X, qid, available)
        theta = self._scores(items).values
        rounds = np.repeat(np.arange(len(items)), items.lengths)
        weight = items.of_rounds(sample_weight, "sample_weight")
        return ndcg(items.stacked(y), theta, rounds, sample_weight=weight)
