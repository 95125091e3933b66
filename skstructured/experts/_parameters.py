"""Parameters of learners over a list of experts, by name."""

from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from skstructured._base.validation import check_lengths, weighted_mean
from skstructured.experts._binary import named_experts


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
