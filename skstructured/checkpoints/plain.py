"""Fitted models as arrays of numpy and a page of source, which predict without this package."""

import inspect
import io
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

import skstructured
from skstructured.checkpoints._plain_outputs import outputs_of
from skstructured.checkpoints._plain_parts import refuse, scores_of
from skstructured.checkpoints._whole_file import write_whole

__all__ = ["NumpyModel", "to_numpy"]

#: What reads the arrays, in a module that is written.
READ = 'M = dict(np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False))'


def _has(name: str) -> Callable[[Any], bool]:
    """Whether the model has a function; for `available_if`."""

    def check(model: Any) -> bool:
        if name not in model._functions:
            raise AttributeError(f"The exported {model.name} has no {name}.")
        return True

    return check


class NumpyModel:
    """A fitted model that predicts with numpy alone, made by `to_numpy`.

    Parameters
    ----------
    name : str
        What was exported, a line.
    arrays : dict of str to ndarray
        What has been learned: `coef`, `intercept`, `classes` and the like. Weights are in units of
        X, running means and deviations are in them; `fill` stands in gaps, NaN where they are
        refused.
    source : str
        The functions that predict, as the text of a module; ``M`` are the arrays in it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.checkpoints import to_numpy
    >>> X, y = load_iris(return_X_y=True)
    >>> plain = to_numpy(OnlineStructuredPredictor(random_state=0).fit(X, y))
    >>> plain.predict(X[:2])
    array([0, 0])
    >>> sorted(plain.arrays)
    ['classes', 'coef', 'fill', 'intercept']
    """

    def __init__(self, name: str, arrays: dict[str, np.ndarray], source: str) -> None:
        self.name = name
        self.arrays = arrays
        self.source = source

    @property
    def _functions(self) -> dict[str, Any]:
        names: dict[str, Any] = {"M": self.arrays}
        exec(compile(self.source, f"<{self.name}>", "exec"), names)
        return names

    def predict(self, X: Any) -> Any:
        """Outputs of dense rows (n, p), or of a list of sequences (length, p)."""
        return self._functions["predict"](X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities, as those of the model that was exported."""
        return self._functions["predict_proba"](X)

    @available_if(_has("predict_marginals"))
    def predict_marginals(self, X: Any) -> list[np.ndarray]:
        """Probabilities of the labels at every position, a list of (length, k)."""
        return self._functions["predict_marginals"](X)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the arrays to a file, and beside it the module that predicts from them.

        ``save("model.npz")`` writes ``model.npz`` and ``model.py``; where these two lie and numpy
        is installed, ``import model; model.predict(X)`` is all. Each file is written whole or not
        at all, the arrays first.

        Parameters
        ----------
        path : str or os.PathLike
            The file, whose name ends in ``.npz``; its folder must be there.

        Raises
        ------
        ValueError
            For a name with another ending.
        OSError
            Where a file cannot be written.
        """
        target = Path(path).absolute()
        if target.suffix != ".npz":
            raise ValueError(f"path must end in .npz, got {str(path)!r}.")
        held = io.BytesIO()
        np.savez(held, **self.arrays)  # type: ignore[arg-type]  # its other argument is a bool
        write_whole(target, held.getvalue())
        write_whole(target.with_suffix(".py"), self._module().encode())

    def _module(self) -> str:
        """The text of the module that is written beside the arrays."""
        made = f"made by skstructured {skstructured.__version__}"
        title = f'"""Predictions of {self.name}, with numpy alone; {made}."""\n\n'
        return f"{title}from pathlib import Path\n\nimport numpy as np\n\n{READ}\n{self._body()}"

    def _body(self) -> str:
        return self.source.removeprefix("import numpy as np\n")


def to_numpy(estimator: Any) -> NumpyModel:
    """Export a fitted model as arrays and a page of source that predict with numpy alone.

    For machines without numba, scikit-learn and this package, and for whoever would read how a
    prediction comes about. Predictions of dense rows are those of the estimator, gaps included;
    probabilities are to 12 digits behind the point. What is exported does not learn.

    Parameters
    ----------
    estimator : estimator
        Fitted, with scores that are linear in the features: `OnlineStructuredPredictor`, mixtures
        of experts too, `GaptronClassifier`, `MulticlassPerceptron`; `ConditionalRandomField`,
        `MaxMinMarginNetwork`, `StructuralSVM` and `QuadraticSurrogate` with linear kernels;
        `PiSTOLClassifier` and `PiSTOLRegressor` with linear kernels; and, though it is not linear,
        `FolkloreClassifier` and `AioliClassifier`, with ``structure="full"``. Spaces are
        "simplex", "hypercube", "ordinal", "permutahedron", "sequence" and `KSubsets`.

    Returns
    -------
    NumpyModel
        With ``predict``, ``predict_proba`` and ``predict_marginals`` where the estimator has them,
        ``arrays``, ``source``, and ``save(path)``.

    Raises
    ------
    ValueError
        Naming what is not exported: kernels, spaces whose decoder needs more than numpy
        ("birkhoff", `SpanningTrees`), ``decoder="f1"``, sequences with "squared" but for
        ``decoder="map"``, other estimators.
    sklearn.exceptions.NotFittedError
        Before the estimator is fitted.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.checkpoints import to_numpy
    >>> X, y = np.eye(4), ["a", "b", "a", "b"]
    >>> plain = to_numpy(OnlineStructuredPredictor(random_state=0).fit(X, y))
    >>> plain.save(os.path.join(tempfile.mkdtemp(), "model.npz"))  # and model.py beside it
    >>> print(plain.predict(X))
    ['a' 'b' 'a' 'b']
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a fitted estimator, got {estimator!r}.")
    check_is_fitted(estimator)
    if not hasattr(estimator, "space_"):
        refuse(estimator, "")
    arrays, roles = scores_of(estimator)
    made, more = outputs_of(estimator)
    arrays = {name: np.array(value) for name, value in (arrays | made).items()}
    return NumpyModel(type(estimator).__name__, arrays, _source(roles | more))


#: Functions that users of the module call.
CALLED = ("predict", "predict_proba", "predict_marginals")


def _source(roles: dict[str, Callable]) -> str:
    """The text of the functions that what is called needs, each before those that call it."""
    found: dict[str, Callable] = {}
    for role in CALLED:
        if role in roles:
            _gather(roles[role], roles, found)
    parts = [inspect.getsource(function) for function in found.values()]
    used = [role for role in roles if roles[role] in found.values() or role in CALLED]
    names = "\n".join(f"{role} = {roles[role].__name__}" for role in used)
    return "\n\n".join(["import numpy as np\n", *parts, f"{names}\n"])


def _gather(function: Any, roles: dict[str, Callable], found: dict[str, Callable]) -> None:
    """Add a function to those found, behind all that it calls."""
    if function.__name__ in found:
        return
    for name in _names_in(function.__code__):
        called = roles.get(name) or function.__globals__.get(name)
        if isinstance(called, FunctionType):
            _gather(called, roles, found)
    found[function.__name__] = function


def _names_in(code: Any) -> list[str]:
    """Global names in a function, those of its comprehensions among them."""
    inner = [name for const in code.co_consts if inspect.iscode(const) for name in _names_in(const)]
    return [*code.co_names, *inner]
