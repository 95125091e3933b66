"""Metadata that a learner passes on to the estimators it wraps, if they request them."""

from typing import Any

from sklearn import get_config
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)


def router_of(learner: Any, estimator: Any, made: tuple[str, ...]) -> MetadataRouter:
    """Requests of a learner, and those of ``partial_fit`` of the `estimator` that it wraps.

    The learner itself passes the arguments `made` to its estimator. Callers cannot give them, so
    requests for them are not listed.
    """
    requests = get_routing_for_object(estimator)
    own = getattr(requests, "_self_request", requests)  # of one that wraps others itself
    for name in made:
        own.partial_fit.requests.pop(name, None)
    mapping = MethodMapping()
    for method in ("fit", "partial_fit"):
        mapping.add(caller=method, callee="partial_fit")
    router = MetadataRouter(owner=learner).add_self_request(learner)
    return router.add(estimator=requests, method_mapping=mapping)


def routed(learner: Any, method: str, params: dict[str, Any]) -> Any:
    """Metadata `params` of a call to a method, by the names of estimators and of their methods.

    Raises
    ------
    TypeError
        For metadata that are not requested, and for any metadata if routing is not enabled.
    """
    if params and not get_config()["enable_metadata_routing"]:
        raise TypeError(
            f"{method}() got an unexpected keyword argument {next(iter(params))!r}. Metadata are "
            "only passed to estimators that request them, with enable_metadata_routing=True."
        )
    return process_routing(learner, method, **params)
