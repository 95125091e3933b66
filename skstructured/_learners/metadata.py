"""Metadata that a learner passes on to the estimator it wraps, if that requests them."""

from typing import Any

from sklearn import get_config
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)


class RoutesToEstimator:
    """Metadata of ``fit`` and ``partial_fit`` for ``partial_fit`` of the wrapped `estimator`.

    `_made` are the arguments that the learner gives its estimator of its own accord: a request for
    them asks for nothing that a caller could give, and is not listed.
    """

    estimator: Any
    _made: tuple[str, ...] = ("classes",)

    def get_metadata_routing(self) -> MetadataRouter:
        """Own requests, and those of the estimator's ``partial_fit`` for what can be handed on."""
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping()
        for method in ("fit", "partial_fit"):
            mapping.add(caller=method, callee="partial_fit")
        return router.add(estimator=self._requests(), method_mapping=mapping)

    def _requests(self) -> Any:
        """Requests of the estimator, without those for what is made here."""
        estimator = None if isinstance(self.estimator, type) else self._wrapped()
        requests = get_routing_for_object(estimator)
        own = getattr(requests, "_self_request", requests)  # of one that wraps others itself
        for name in self._made:
            own.partial_fit.requests.pop(name, None)
        return requests

    def _wrapped(self) -> Any:
        """The estimator whose clones learn."""
        return self.estimator

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Metadata `params` of a call, by the names the estimator's ``partial_fit`` has for them.

        Raises
        ------
        TypeError
            Naming what nobody requests, and anything where metadata routing is not enabled.
        """
        if not params:
            return {}
        if not get_config()["enable_metadata_routing"]:
            raise TypeError(
                f"{method}() got an unexpected keyword argument {next(iter(params))!r}: metadata "
                "go to the estimator that requests them, with enable_metadata_routing=True."
            )
        return dict(process_routing(self, method, **params).estimator.partial_fit)
