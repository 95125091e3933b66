"""Links to the documentation, for the HTML representation of estimators."""

import sys
from typing import Any

#: Where the built site is published, with a slash at its end; empty while it is nowhere, and then
#: there are no links.
SITE = ""

#: Where the page of a class is below it.
PAGE = "api/{page}.html"


def linked(base: Any) -> Any:
    """Make scikit-learn's diagrams of a base class and its subclasses link to their pages.

    Classes of users that derive from ours get no link, and none has one while there is no `SITE`.
    """
    base._doc_link_module = "skstructured"
    base._doc_link_template = SITE and SITE + PAGE
    base._doc_link_url_param_generator = _page
    return base


def _page(estimator: Any) -> dict[str, str]:
    """The name under which the reference has the class: the shortest public one."""
    name, part = type(estimator).__name__, type(estimator).__module__.split(".")[1]
    top = name in sys.modules["skstructured"].__all__
    return {"page": f"skstructured.{name}" if top else f"skstructured.{part}.{name}"}
