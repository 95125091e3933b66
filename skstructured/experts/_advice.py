"""What learners over experts share: parameters of experts, rounds, who is trained and when."""

from copy import deepcopy
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import (
    check_choice,
    check_integer,
    check_lengths,
    check_share,
    unchanged_on_error,
    weighted_mean,
)
from skstructured._learners.lock import Locked
from skstructured._learners.passes import is_verbose, with_progress
from skstructured.experts._binary import (
    METHODS,
    calibrated_out_of_fold,
    calibrator,
    checked_rows,
    folds,
    is_fitted,
    named_experts,
    opinions,
    opinions_out_of_fold,
    part_of,
    rows_of,
    seed,
    teach,
)
from skstructured.experts.hedge import AdaHedge
from skstructured.extend._types import Features, Given, Ints, Outputs
from skstructured.extend.learner import Batch, OnlineLearner
from skstructured.spaces import Simplex


class OverExperts(ClassifierMixin, BaseEstimator):
    """Parameters of the experts in the list ``estimators``, as those of scikit-learn's ensembles.

    `get_params`, `set_params` and `clone` for experts with names or without.
    """

    def _named(self):
        return named_experts(self.estimators, super().get_params(deep=False))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose label `predict` answers; an answer that is no label is wrong."""
        said = np.asarray(self.predict(X), dtype=object)  # type: ignore[attr-defined]
        labels = np.asarray(column_or_1d(y), dtype=object)
        check_lengths(len(said), len(labels))
        return weighted_mean((said == labels).astype(np.float64), sample_weight)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep` the experts, and theirs as ``name__parameter``."""
        found = super().get_params(deep=False)
        if deep:
            try:
                named = self._named()
            except ValueError:  # to be refused by name, when it learns
                named = []
            for name, expert in named:
                found[name] = expert
                found |= {f"{name}__{key}": value for key, value in expert.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, experts by their names, and parameters of experts; returns self."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        own = super().get_params(deep=False)
        if not params.keys() <= own.keys():
            self._replace_experts(params)
        return super().set_params(**params)

    def _replace_experts(self, params):
        """Take the experts among the parameters out of them, and put them into the list."""
        named = self._named()
        if any(name in params for name, _ in named):
            new = [(name, params.pop(name, expert)) for name, expert in named]
            pairs = all(isinstance(one, (tuple, list)) for one in self.estimators)
            self.estimators = new if pairs else [expert for _, expert in new]

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata are handed on to the experts, by what each requests."""
        router = MetadataRouter(owner=self)
        for name, expert in self._named():
            mapping = MethodMapping()
            for method in ("fit", "partial_fit"):
                if hasattr(expert, method):
                    mapping.add(caller=method, callee=method)
            router.add(**{name: expert}, method_mapping=mapping)
        return router

    def _routed(self, method, params):
        """What of the metadata `params` of a call goes to which expert: names to dicts."""
        if params and not get_config()["enable_metadata_routing"]:
            raise TypeError(
                f"{method}() got an unexpected keyword argument {next(iter(params))!r}: metadata "
                "go to the experts that request them, with enable_metadata_routing=True."
            )
        if not params:
            return {}
        routed = process_routing(self, method, **params)
        return {name: dict(routed[name].get(method, {})) for name in routed}

    def __sklearn_clone__(self):
        """A new one; with ``train=False`` over copies of the experts as they are, fitted."""
        twin = super().__sklearn_clone__()
        if self.train is False:
            twin.estimators = deepcopy(self.estimators)
        return twin

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            experts = [get_tags(expert).input_tags for _, expert in self._named()]
        except (ValueError, TypeError, AttributeError):  # experts without tags
            experts = []
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = bool(experts) and all(one.sparse for one in experts)
        tags.input_tags.allow_nan = bool(experts) and all(one.allow_nan for one in experts)
        return tags


#: Rounds for which experts that are not trained are asked at a time.
BLOCK = 4096


class HedgedExperts(Locked, OnlineLearner, OverExperts):
    """Rounds of experts with `AdaHedge` over them; parameters `estimators`, `train`, `cv`.

    Experts that learn are in ``estimators_`` as copies; ``_learns`` tells which do, ``_naive``
    which of them have not seen a row, so that they say 0.
    """

    def _fit_anew(self, X, y, given):
        rows, codes = self._begin(X, y, None, online=False)
        check_integer("cv", self.cv, lowest=2)
        said = np.zeros((len(codes), len(self.estimators_)))
        fold = folds(codes, self.cv)
        for j in with_progress(self, range(len(self._names)), len(self._names), "experts"):
            said[:, j] = self._fit_expert(j, rows, codes, fold, given.get(self._names[j], {}))
            self._maps[j] = calibrator(self.calibrate, said[:, j], codes)
            said[:, j] = calibrated_out_of_fold(self.calibrate, said[:, j], codes, fold)
        self._naive = [False] * len(self._naive)
        self._learn_rows(None, said, codes)

    def _fit_expert(self, j, rows, codes, fold, given):
        """Fit an expert that learns on all rows; what it says of rows that it did not see."""
        if not self._learns[j]:
            return opinions(self._names[j], self.estimators_[j], rows, self.classes_)
        fresh = clone(self.estimators_[j])
        said = opinions_out_of_fold(self._names[j], fresh, rows, codes, self.classes_, fold, given)
        self.estimators_[j] = fresh.fit(rows, self.classes_[codes], **given)
        return said

    def _partial_fit(self, X, y, classes, params):
        first = not hasattr(self, "classes_")
        with unchanged_on_error(self, first) as new:
            is_verbose(self)
            given = self._routed("partial_fit", params)
            if first:
                rows, codes = new._begin(X, y, classes, stream=True)
                new._learn(rows, codes, np.arange(len(codes)), given=given)
                return
            rows = checked_rows(self, X, reset=False)
            if classes is not None:
                self.space_.check_classes(classes)
            codes = self._codes(rows, y)
            check_share("abstention_cost", self.abstention_cost)
            if len(codes) > (1 if any(self._learns) else BLOCK):
                self._ask(rows)  # what an expert refuses is refused before any learns
        self._learn(rows, codes, np.arange(len(codes)), given=given)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self._learn(rounds.X, rounds.packed, np.asarray(which), record_of(rounds))

    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream whose classes are `classes` or those of y; its `Batch`.

        Its `rows` take the losses of the experts (n, d), as rounds are learned.
        """
        with unchanged_on_error(self, aside=True) as new:
            rows, codes = new._begin(X, y, classes)
            return Batch(new._asked(rows), codes)

    def resume(self, X: Features, y: Outputs) -> Batch:
        """`Batch` of further rows of the stream that is being learned."""
        rows = checked_rows(self, X, reset=False)
        codes = self._codes(rows, y)
        return Batch(self._asked(rows), codes)

    def _asked(self, rows):
        return AskedRows(rows, np.full((rows.shape[0], len(self.estimators_)), np.nan))

    def _begin(self, X, y, classes, online=True, stream=False):
        """Start anew; checked rows and the positions of the labels."""
        named, space = self._named(), Simplex()
        self._takes_nan = get_tags(self).input_tags.allow_nan
        rows = checked_rows(self, X, reset=True)
        if stream:
            space.fit_stream(y, classes)
        else:
            space.fit(y if classes is None else classes)
        if space.dim_ != 2:
            raise ValueError(
                f"{type(self).__name__} is for two classes, got {space.dim_}. Only binary "
                "classification is supported: the theorem does not cover one-vs-rest."
            )
        check_share("abstention_cost", self.abstention_cost)
        self.space_, self.classes_, self.t_ = space, space.classes_, 0
        if self.calibrate is not None:
            check_choice("calibrate", self.calibrate, METHODS)
        self.random_state_ = check_random_state(self.random_state)
        self._take_experts(named, online)
        self.hedge_, self._dearest = AdaHedge(len(named)), 0.0
        return rows, self._codes(rows, y)

    def _take_experts(self, named, online):
        """``estimators_``: copies of experts that learn, and others as they are."""
        if not (isinstance(self.train, (bool, np.bool_)) or self.train == "auto"):
            raise ValueError(f"train must be 'auto', True or False, got {self.train!r}.")
        fitted = [is_fitted(expert) for _, expert in named]
        self._learns = [
            not isinstance(expert, FrozenEstimator)
            and (not done if self.train == "auto" else bool(self.train))
            for (_, expert), done in zip(named, fitted, strict=True)
        ]
        self._naive = [
            learns and not done for learns, done in zip(self._learns, fitted, strict=True)
        ]
        for (name, expert), learns, done in zip(named, self._learns, fitted, strict=True):
            _check_expert(name, expert, learns, done, online)
        self.estimators_ = [
            (deepcopy(expert) if done else clone(expert)) if learns else expert
            for (_, expert), learns, done in zip(named, self._learns, fitted, strict=True)
        ]
        self._names, self._maps = [name for name, _ in named], [None] * len(named)
        if self.random_state is not None:
            for expert, fresh in zip(self.estimators_, self._naive, strict=True):
                if fresh:
                    seed(expert, self.random_state_)

    def _codes(self, rows, y):
        codes = self.space_.pack(y)
        check_lengths(rows.shape[0], len(codes))
        return codes

    def _ask(self, rows, which=None):
        """Opinions (n, d) of all experts; of those `which` are true, and 0 for the others."""
        said = np.zeros((rows.shape[0], len(self.estimators_)))
        for j, (name, expert) in enumerate(zip(self._names, self.estimators_, strict=True)):
            if not self._naive[j] and (which is None or which[j]):
                found = opinions(name, expert, rows, self.classes_)
                said[:, j] = found if self._maps[j] is None else self._maps[j](found)
        return said

    def _learn(self, X, codes, which, record=None, given=()):
        """Learn rounds in the order of `which`; the ŷ that they were played with.

        Experts that learn are asked row by row, the others a block at a time.
        """
        played, fixed = [np.empty(0)], [not learns for learns in self._learns]
        for start in with_progress(self, range(0, len(which), BLOCK), len(which)):
            block = which[start : start + BLOCK]
            said = self._ask(rows_of(X, block), fixed)
            step = len(block) if all(fixed) else 1
            for i in range(0, len(block), step):
                now = block[i : i + step]
                x = None if all(fixed) else rows_of(X, now)
                if x is not None:
                    said[i : i + step] += self._ask(x, self._learns)
                more = {name: part_of(given[name], now, X.shape[0]) for name in given}
                played.append(self._learn_rows(x, said[i : i + step], codes[now], more))
            if record is not None:
                record[block] = losses_of(said, codes[block])
        return np.concatenate(played)

    def _learn_rows(self, x, said, codes, given=()):
        """Learn rounds with these opinions, and teach the experts the row x if there is one.

        The round is counted first. Where an expert raises, the others learn it all the same, and
        then the error goes on.
        """
        losses, sign, failed = losses_of(said, codes), 2.0 * codes - 1.0, None
        with self.lock:
            hedge, dearest = deepcopy(self.hedge_), max(self._dearest, float(self.abstention_cost))
            hedged = hedge.update(losses)
            vars(self).update(hedge_=hedge, t_=hedge.n_rounds, _dearest=dearest)
            for j in np.flatnonzero(self._learns) if x is not None else ():
                try:
                    self._teach(j, x, self.classes_[codes], given)
                except Exception as error:
                    failed = error if failed is None else failed
        if failed is not None:
            raise failed
        return sign * (1.0 - 2.0 * hedged)

    def _teach(self, j, x, y, given):
        """One row for an expert that learns."""
        classes = self.classes_ if self._naive[j] else None
        if classes is not None or hasattr(self.estimators_[j], "partial_fit"):
            name = self._names[j]
            teach(self.estimators_[j], x, y, classes, dict(given).get(name, {}))
        self._naive[j] = False

    def _hedged(self, rows):
        """ŷ (n,) of checked rows, with the weights of the next round."""
        return np.clip(self._ask(rows) @ self.hedge_.weights_, -1.0, 1.0)

    def _losses_in(self, rounds):
        """Losses (n, d) of the experts in rounds; a GuaranteeError where they were not kept."""
        losses = record_of(rounds)
        if losses is None and not any(self._learns):
            losses = losses_of(self._ask(rounds.X), rounds.packed)
        if losses is None or np.isnan(losses).any():
            raise GuaranteeError(
                "The experts learned in these rounds, and what each lost in them was not kept: "
                "certificate().bound() is the bound on their sum."
            )
        return losses


class AskedRows(NamedTuple):
    """Rows, and what experts lost in them, (n, d); NaN until they are learned."""

    matrix: object
    losses: np.ndarray


def record_of(rounds):
    return rounds.rows.losses if isinstance(rounds.rows, AskedRows) else None


def losses_of(said, codes):
    """``(1 − y u)/2`` of opinions u (n, d) where y = ±1 is the truth, (n, d)."""
    return 0.5 * (1.0 - (2.0 * codes - 1.0)[:, None] * said)


def _check_expert(name, expert, learns, fitted, online):
    """Whether an expert can do what `train` says."""
    if not learns and not fitted:
        raise NotFittedError(f"the expert {name!r} is not fitted, and is not to be trained.")
    if learns and online and not hasattr(expert, "partial_fit"):
        raise ValueError(
            f"the expert {name!r} has no partial_fit to learn row by row: call fit of "
            "AbstainingHedgeClassifier, or fit the experts beforehand and say train=False."
        )
    if learns and not online and not hasattr(expert, "fit"):
        raise ValueError(f"the expert {name!r} has no fit.")
