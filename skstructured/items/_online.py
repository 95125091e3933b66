"""The base of online learners of items: rounds are read, one vector of weights moves."""

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_finite
from skstructured._learners.lock import snapshot
from skstructured._learners.online import OnlineEstimator
from skstructured._learners.predictions import Decoding, decode_scores
from skstructured.decoders import resolve_decoder
from skstructured.estimators._auto import given_decoder, is_auto
from skstructured.extend._types import Array, Floats, Given
from skstructured.extend.learner import Batch, stacked_batch
from skstructured.items._loss import ItemLoss
from skstructured.items._model import ItemRounds
from skstructured.items._reading import Items, read_items
from skstructured.items._spaces import OverItems, over_items
from skstructured.losses import FenchelYoung
from skstructured.optimizers import resolve_optimizer
from skstructured.sequences._ragged import RoundModel
from skstructured.spaces import resolve_space


class ItemLearner(OnlineEstimator):
    """Rounds of items that one vector of weights scores.

    A subclass has the parameters of `OnlineEstimator`, `decoder` and `optimizer`; it
    brings `_over()`, the space and the regularizer, and `_targets(items, y)`.
    """

    loss_: Any
    _steps: Any = None
    #: The last round of the last call of `partial_fit`, and whether it had others.
    _last_round: Any = None

    @abstractmethod
    def _over(self) -> tuple[Any, Any]:
        """The space of a round, and a regularizer or None for its own."""

    @abstractmethod
    def _targets(self, items: Items, y: Any) -> Ragged:
        """Truths of the rounds, points of the polytopes."""

    def _unfitted_space(self) -> OverItems:
        return over_items(clone(resolve_space(self._over()[0])))

    def _unfitted_loss(self) -> ItemLoss:
        return self._loss_over(self._unfitted_space())

    def _loss_over(self, space: OverItems) -> ItemLoss:
        regularizer, scale, constants = self._fenchel_young().terms(space.space, self._over()[1])
        return ItemLoss(space, regularizer, scale, constants, (space.first_,))

    def _fenchel_young(self) -> FenchelYoung:
        return FenchelYoung()

    def _parts(self, space: Any) -> Any:
        resolve_decoder(self.decoder)
        optimizer = self.optimizer
        if is_auto(optimizer):
            optimizer = "parameter_free" if self._many_passes else "mixture"
        return self._loss_over(space), resolve_optimizer(optimizer)

    def new_model(self) -> Any:
        """Return a model that has learned nothing; see `OnlineEstimator`."""
        return RoundModel(self, ItemRounds(self._steps, self.space_.constant_sum))

    _given_decoder, decode = given_decoder, decode_scores

    def _take_decoder(self) -> None:
        self.loss_.warn_without_gap()

    def _wants_intercept(self) -> bool:
        return super()._wants_intercept() and not self.space_.constant_sum

    def _items(self, X: Any, qid: Given = None, available: Any = None) -> Items:
        """Rounds as a user gives them."""
        return read_items(X, qid, available)

    def _read(self, X: Any, reset: bool = False) -> Batch:
        """The checked `Batch` of items, without outputs."""
        batch = stacked_batch(self, read_items(X), reset)
        check_finite(self, batch.rows, reset)
        return batch

    def fit(  # type: ignore[override]  # items have rounds
        self,
        X: Any,
        y: Any,
        qid: Given = None,
        *,
        available: Any = None,
        sample_weight: Given = None,
    ) -> Self:
        """Learn from scratch, in at most `max_iter` passes over the rounds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (N, p), list of n matrices (m, p), or array of \
                shape (n, m, p)
            Items: rows with `qid`, or one matrix per round.
        y : array-like
            Outputs, in the form of X.
        qid : array-like of shape (N,) or None, default=None
            Round of each row of X, in any order; None if X is one matrix per round.
        available : array-like of bool or None, default=None
            Which items there are, in the form of X; None is all. Others are left out.
        sample_weight : array-like of shape (n,) or (N,) or None, default=None
            Non-negative weights of the rounds; with `qid` also one per row, the same in a round.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, a qid that is missing or of another length, rounds without items,
            NaN or inf in X, and invalid outputs. The fitted state is then unchanged.
        """
        items = self._items(X, qid, available)
        weight = items.round_weights(sample_weight)
        self._fit(items, self._targets(items, y), weight)
        self._last_round = None
        return self

    def partial_fit(  # type: ignore[override]  # items have rounds
        self,
        X: Any,
        y: Any,
        qid: Given = None,
        *,
        available: Any = None,
        sample_weight: Given = None,
    ) -> Self:
        """Learn the rounds in order; chunks of any size give the same weights.

        Rounds are in the order of their first rows. A round must not be split between calls; a
        warning names a `qid` with which one call ends and the next begins.

        Parameters
        ----------
        X, y, qid, available, sample_weight
            As for `fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For what `fit` refuses.
        """
        self._check_stream(False)
        items = self._items(X, qid, available)
        weight = items.round_weights(sample_weight)
        self._warn_of_split(items)
        super().partial_fit(items, self._targets(items, y), sample_weight=weight)
        self._last_round = (items.qid[-1], len(items) > 1) if items.flat else None
        return self

    def _warn_of_split(self, items: Items) -> None:
        """Warn if the first round is named as the last one, unless calls have one round each."""
        name, several = self._last_round or (None, False)
        if items.flat and items.qid[0] == name and (several or len(items) > 1):
            warnings.warn(
                f"Round {items.qid.tolist()[0]!r} ended the last call of partial_fit and begins "
                "this one: it is learned as two rounds. Pass all items of a round in one call, or "
                "give different rounds different qid.",
                UserWarning,
                stacklevel=3,
            )

    def begin(self, X: Any, y: Any, classes: Given = None) -> Batch:
        """Start a stream of rounds, one matrix (m, p) each; their `Batch`."""
        self._check_stream(True)
        items = self._items(X)
        return super().begin(items, self._targets(items, y), classes)

    def resume(self, X: Any, y: Any) -> Batch:  # type: ignore[override]  # without weights
        """The `Batch` of further rounds of the stream that is being learned."""
        items = self._items(X)
        return super().resume(items, self._targets(items, y))

    def _decoding(self, items: Items) -> Decoding:
        twin = snapshot(self)
        with twin.lock:
            return twin.decode(twin._scores(items))

    def decision_function(self, X: Any, qid: Given = None, *, available: Any = None) -> Any:
        """Scores of the items, ``X coef_ + intercept_``.

        Parameters
        ----------
        X, qid, available
            As for `fit`. Scores of single items do not depend on their rounds: rows need no `qid`.

        Returns
        -------
        ndarray of shape (N,), or list of n arrays (m,)
            In the form of X; NaN for items that are not available.
        """
        if qid is None and hasattr(X, "shape") and len(X.shape) == 2:  # rounds do not matter
            qid = np.zeros(X.shape[0], dtype=np.int64)
        items = self._items(X, qid, available)
        return items.unstacked(self._scores(items).values)

    def expected_target_loss(
        self, X: Any, y: Any, qid: Given = None, *, available: Any = None
    ) -> Floats:
        """Exact expectation (n,) of the target loss of the decoder's output, per round.

        Parameters
        ----------
        X, y, qid, available
            As for `fit`.

        Returns
        -------
        ndarray of shape (n,)
        """
        items = self._items(X, qid, available)
        return self._decoding(items).expected_loss(self._targets(items, y))

    @property
    def coef_(self) -> Array:
        """Weights of the features (p,), in units of X: those that predictions use."""
        return self._weights()[0, : self.n_features_in_]

    @property
    def intercept_(self) -> float:  # type: ignore[override]  # one for all items
        """Intercept; 0 if a number added to all scores changes nothing."""
        return float(self._weights()[0, -1]) if self.fit_intercept_ else 0.0

    def certificate(self, delta: float | None = None) -> Any:
        """The theorem that bounds the target loss of the rounds seen so far.

        ``bound(ΣS(u), ‖u‖)`` of the result is the number, u the weights of a comparator over the
        standardized items; see `OnlineStructuredPredictor.certificate`. C² is the largest
        ``λ_max(X_t X_tᵀ)``, from above, of the items of a round.
        """
        return super().certificate(delta)
