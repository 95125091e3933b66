"""Signatures of the public constructors: names, order, kinds and defaults, as kept in a listing."""

import importlib
import inspect
import pkgutil
from dataclasses import KW_ONLY, is_dataclass
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator, clone

import skstructured
from skstructured._base.component import parameters

KEPT = Path(__file__).with_name("signatures.txt")


def public_classes():
    """Every public class but exceptions, once, by its name."""
    inner = [m.name for m in pkgutil.iter_modules(skstructured.__path__) if m.name[0] != "_"]
    rooms = [skstructured, *(importlib.import_module(f"skstructured.{name}") for name in inner)]
    things = (getattr(room, name) for room in rooms for name in room.__all__)
    classes = (thing for thing in things if inspect.isclass(thing))
    return {cls.__name__: cls for cls in classes if not issubclass(cls, Exception | Warning)}


def shown(name, cls):
    """A line such as ``Tsallis(alpha=1.5)``, without annotations."""
    signature = inspect.signature(cls)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    listed = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    return f"{name}{listed}"


def test_signatures_are_as_kept():
    now = [shown(*item) for item in sorted(public_classes().items())]
    assert now == KEPT.read_text(encoding="utf-8").splitlines()


def test_required_and_keyword_only_parameters_and_nothing_else_of_a_dataclass():
    @parameters
    class Scaled(BaseEstimator):
        factor: float
        centre: bool = True
        _: KW_ONLY
        copy: bool = False

    assert str(inspect.signature(Scaled)) == ("(factor, centre=True, *, copy=False)")
    model = clone(Scaled(2.0, copy=True).set_params(centre=False))
    assert vars(model) == {"factor": 2.0, "centre": False, "copy": True}
    assert not hasattr(Scaled, "centre") and not is_dataclass(model)
    assert model != clone(model)
    assert repr(model) == "Scaled(centre=False, copy=True, factor=2.0)"
    with pytest.raises(TypeError, match=r"Scaled.__init__\(\) missing 1 required .*'factor'"):
        Scaled()


def test_a_second_constructor_is_refused():
    with pytest.raises(TypeError, match="Twice has a constructor of its own"):

        @parameters
        class Twice:
            a: int = 1

            def __init__(self):
                pass
