"""Constructors made from the annotated parameters of a class."""

import dataclasses
import inspect
from typing import TypeVar, dataclass_transform

import numpy as np

__all__ = ["Seed", "parameters"]

#: Type of `random_state`.
Seed = int | np.random.RandomState | None

C = TypeVar("C", bound=type)


@dataclass_transform(eq_default=False)
def parameters(cls: C) -> C:
    """Class decorator: the annotations in the class body are the constructor's parameters.

    The constructor is that of a dataclass, with the same order, defaults and ``KW_ONLY``, and keeps
    each argument as given under its name, as scikit-learn wants it. Nothing else of a dataclass is
    made: defaults are no class attributes, and instances are no dataclasses, because tools such as
    dask copy and hash a dataclass by its fields, and so without what was fitted. Fields are not
    inherited either: each signature stands whole in its class.

    Parameters
    ----------
    cls : type
        A class without ``__init__`` in its body.

    Returns
    -------
    type
        The class itself.

    Raises
    ------
    TypeError
        Where the class has an ``__init__`` of its own.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from skstructured._base.parameters import parameters
    >>> @parameters
    ... class Scaled(BaseEstimator):
    ...     factor: float
    ...     centre: bool = True
    >>> Scaled(2.0).get_params()
    {'centre': True, 'factor': 2.0}
    """
    if "__init__" in vars(cls):
        raise TypeError(f"{cls.__name__} has a constructor of its own.")
    fields = [
        (name, kind, vars(cls).get(name, dataclasses.MISSING))
        for name, kind in inspect.get_annotations(cls).items()
    ]
    bare = dataclasses.make_dataclass(
        cls.__name__,
        [(name, kind, dataclasses.field(default=default)) for name, kind, default in fields],
        namespace={"__doc__": cls.__name__},
        eq=False,
        repr=False,
    )
    for name, _, default in fields:
        if default is not dataclasses.MISSING:
            delattr(cls, name)
    cls.__init__ = bare.__init__  # type: ignore[misc]
    cls.__init__.__module__ = cls.__module__  # type: ignore[misc]
    cls.__init__.__annotations__ = {}  # type: ignore[misc]  # help() then fits on a screen
    return cls
