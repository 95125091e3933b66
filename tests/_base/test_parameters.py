"""Parameters of a wrong type or size: a ValueError that names the parameter and what is allowed."""

import math

import numpy as np
import pytest
from plain import gaptron, predictor, second_order

from skstructured import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    FolkloreClassifier,
    NewtronClassifier,
    SOBAClassifier,
)
from skstructured.decoders.rules import GapDecoder
from skstructured.evaluation.adversaries import LabelNoise, Separable
from skstructured.optimizers import AdaptiveGradientDescent, GradientDescent, ParameterFree, PiSTOL
from skstructured.regularizers import Tsallis
from skstructured.spaces import KSubsets, Simplex

X = np.random.RandomState(0).randn(30, 3)
y = np.arange(30) % 3
PAIRS = np.tile([1, 1, 0], (30, 1))
NO_NUMBERS = ["a", [1], 1j, object(), np.ones(3), True, math.nan]


def bandit(kind):
    rest = {"radius": 1.0} if kind is BanditGaptronClassifier else {}
    rest |= {"estimator": predictor()} if kind is BanditReduction else {}
    return lambda value: kind(exploration=value, **rest).partial_fit(X, y, classes=[0, 1, 2])


def optimizer(kind, name):
    return lambda value: predictor(optimizer=kind(**{name: value})).fit(X, y)


#: what is tried -> (the parameter and what it allows, the call)
CALLS = {
    "loss_scale": ("must be .theory. or a positive", lambda v: _learn(loss_scale=v)),
    "Tsallis": (r"alpha of Tsallis must lie in \(1, 2\]", lambda v: _learn(regularizer=Tsallis(v))),
    "GapDecoder": (
        r"exploration must lie in \[0, 1\]",
        lambda v: gaptron(decoder=GapDecoder(exploration=v)).fit(X, y).predict(X),
    ),
    **{
        kind.__name__: (r"exploration must lie in \[0, 1\]", bandit(kind))
        for kind in (
            BanditGaptronClassifier,
            BanditReduction,
            BanditronClassifier,
            NewtronClassifier,
            SOBAClassifier,
        )
    },
    "alpha": (
        r"alpha must lie in \(-1, 1\]",
        lambda v: ConfiditClassifier(alpha=v).partial_fit(X, y, classes=[0, 1, 2]),
    ),
    "k": ("k must be an integer in 1..2 for 3 labels", lambda v: _learn(PAIRS, space=KSubsets(v))),
    "delta": (
        r"delta must lie in \(0, 1\)",
        lambda v: _learn(optimizer=GradientDescent(eta="high_probability")).certificate(v),
    ),
    "eta": ("eta must be a positive number", optimizer(GradientDescent, "eta")),
    "radius": ("radius must be a positive number", optimizer(GradientDescent, "radius")),
    "diameter": ("diameter must be a positive", optimizer(AdaptiveGradientDescent, "diameter")),
    "wealth": ("wealth must be a positive number", optimizer(ParameterFree, "wealth")),
    "pistol a": ("a must be a positive number", optimizer(PiSTOL, "a")),
    "noise": (
        r"noise must lie in \[0, 1\]",
        lambda v: LabelNoise(noise=v).draw(Simplex().fit([0, 1])),
    ),
    "n_rounds": (
        "n_rounds must be an integer at least 1",
        lambda v: Separable(n_rounds=v).draw(Simplex().fit([0, 1])),
    ),
}


def _learn(outputs=y, **parameters):
    return predictor(**parameters).fit(X, outputs)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_number_is_refused_by_name(name, value):
    message, call = CALLS[name]
    if name == "eta" and isinstance(value, str):
        message = 'eta must be "theory", "high_probability"'
    with pytest.raises(ValueError, match=f"{message}.* got "):
        call(value)


@pytest.mark.parametrize("value", [1.0, np.float32(1.0), np.int64(1)], ids=repr)
def test_numbers_of_every_type_are_taken(value):
    wanted = _learn(optimizer=GradientDescent(eta=1.0)).coef_
    np.testing.assert_array_equal(_learn(optimizer=GradientDescent(eta=value)).coef_, wanted)
    gaptron(decoder=GapDecoder(exploration=value)).fit(X, y).predict(X)
    _learn(loss_scale=3 * value, optimizer=GradientDescent(eta=value))


@pytest.mark.parametrize("value", ["no", None, 1, 0.0, [True], np.ones(1)], ids=repr)
def test_shuffle_is_a_bool(value):
    for kind in (predictor, gaptron, second_order, FolkloreClassifier):
        model = kind(shuffle=value)
        with pytest.raises(ValueError, match=r"shuffle must be a bool, got "):
            model.fit(X, y)
        assert not hasattr(model, "t_")
    wanted, taken = (predictor(shuffle=b, random_state=0) for b in (True, np.bool_(True)))
    np.testing.assert_array_equal(taken.fit(X, y).coef_, wanted.fit(X, y).coef_)


def test_a_space_may_be_anything_but_an_array():
    with pytest.raises(TypeError, match="space must be a string or an instance of OutputSpace"):
        _learn(space=np.ones(3))
