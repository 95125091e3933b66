"""Where the documentation of estimators stands, for the link in their HTML representation."""

import sys

#: Where the built site is published; tests/test_docs.py holds pyproject.toml to it.
SITE = "https://skstructured.readthedocs.io/en/stable/"


class Documented:
    """Mixin of estimators of this package: scikit-learn's diagrams link to the page of the class.

    Classes of users that derive from ours get no link.
    """

    _doc_link_module = "skstructured"
    _doc_link_template = SITE + "api/{page}.html"

    def _doc_link_url_param_generator(self):
        """The name under which the reference has the class: the shortest public one."""
        name, room = type(self).__name__, type(self).__module__.split(".")[1]
        top = name in sys.modules["skstructured"].__all__
        return {"page": f"skstructured.{name}" if top else f"skstructured.{room}.{name}"}
