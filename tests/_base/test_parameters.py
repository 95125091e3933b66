"""Parameters of a wrong type or size: a ValueError that names the parameter and what is allowed."""

import math

import numpy as np
import pytest
from coordinate_steps import AdaGrad
from plain import bandit_gaptron, gaptron, predictor, second_order

import skstructured as sk
from benchmarks.adversaries import LabelNoise, Separable
from skstructured.losses import FenchelYoung
from skstructured.optimizers import GradientDescent, PiSTOL, StepMixture

X = np.random.RandomState(0).randn(30, 3)
y = np.arange(30) % 3
PAIRS = np.tile([1, 1, 0], (30, 1))
NO_NUMBERS = ["a", [1], 1j, object(), np.ones(3), True, math.nan]
SHARE = r"exploration must lie in \[0, 1\]"


def fitted(kind, name, **given):
    """A call that fits an estimator with a value of a parameter."""
    return lambda value: kind(**{name: value}, **given).fit(X, y)


def optimized(kind, name):
    return lambda value: _learn(optimizer=kind(**{name: value}))


def _learn(outputs=y, **parameters):
    return predictor(**parameters).fit(X, outputs)


#: what is tried -> (the parameter and what it allows, the call, numbers that are not allowed)
CALLS = {
    "scale": ("must be .theory. or a positive", lambda v: _learn(loss=FenchelYoung(scale=v)), 0.0),
    "Tsallis": (
        r"alpha of Tsallis must lie in \(1, 2\]",
        lambda v: _learn(regularizer=sk.regularizers.Tsallis(v)),
        *(1.0, 0.5, 2.0 + 1e-12, 3.0),
    ),
    **{
        f"{kind.__name__}, exploration": (SHARE, fitted(kind, "exploration", **given), -0.1, 2)
        for kind, given in (
            (sk.BanditGaptronClassifier, {"radius": 1.0}),
            (sk.BanditReduction, {"estimator": predictor()}),
            (sk.BanditronClassifier, {}),
            (sk.NewtronClassifier, {}),
            (sk.SOBAClassifier, {}),
        )
    },
    **{
        f"{kind.__name__}, {name}": (f"{name} must be a positive", fitted(kind, name), 0, -1.0)
        for kind, *names in (
            (sk.BanditGaptronClassifier, "radius"),
            (sk.NewtronClassifier, "alpha", "beta", "radius"),
            (sk.ConfiditClassifier, "eta"),
            (sk.SOBAClassifier, "alpha"),
            (sk.SecondOrderPerceptron, "alpha"),
        )
        for name in names
    },
    **{
        f"{kind.__name__}, {name}": (f"{name} must be a positive", optimized(kind, name), 0, -1.0)
        for kind, *names in (
            (GradientDescent, "radius", "feature_norm"),
            (sk.optimizers.AdaptiveGradientDescent, "radius"),
            (sk.optimizers.ParameterFree, "wealth", "feature_norm"),
            (PiSTOL, "a", "b", "feature_norm"),
        )
        for name in names
    },
    "alpha": (r"alpha must lie in \(-1, 1\]", fitted(sk.ConfiditClassifier, "alpha"), -1.0, 1.5),
    "radius": (
        "radius must be a non-negative number",
        fitted(sk.BanditReduction, "radius", estimator=predictor(), exploration=0.5),
        *(-1, -1e-9, math.inf, None),
    ),
    "delta": (
        r"delta must lie in \(0, 1\)",
        lambda v: _learn(optimizer=GradientDescent(eta="high_probability")).certificate(v),
        *(0.0, 1.0),
    ),
    "eta": ("eta must be a positive number", optimized(GradientDescent, "eta"), 0.0),
    "noise": (
        r"noise must lie in \[0, 1\]",
        lambda v: LabelNoise(noise=v).draw(sk.spaces.Simplex().fit([0, 1])),
        -0.1,
    ),
    "n_rounds": (
        "n_rounds must be an integer at least 1",
        lambda v: Separable(n_rounds=v).draw(sk.spaces.Simplex().fit([0, 1])),
        0,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_number_or_not_allowed_is_refused_by_name(name):
    message, call, *numbers = CALLS[name]
    for value in (*NO_NUMBERS, *numbers):
        is_word = name == "eta" and isinstance(value, str)
        wanted = 'eta must be "theory", "high_probability"' if is_word else message
        with pytest.raises(ValueError, match=f"{wanted}.* got "):
            call(value)


def mixture(**given):
    return sk.OnlineStructuredPredictor(optimizer=StepMixture(**given))


BAD = [
    (bandit_gaptron(), "radius must be given: the size of the comparator cannot be"),
    (
        bandit_gaptron("x", radius=1),
        "loss must be one of 'logistic', 'hinge', 'smooth_hinge', got 'x'",
    ),
    (bandit_gaptron(radius=1, horizon=0), "horizon must be an integer from 1"),
    (bandit_gaptron(radius=1, horizon=10**400), "horizon must be an integer from 1"),
    (bandit_gaptron(radius=1, feature_norm=0), "feature_norm must be a positive"),
    (bandit_gaptron("hinge", radius=1, exploration=0), "only supported for loss='logistic'"),
    (predictor(optimizer=sk.optimizers.AdaptiveGradientDescent(None)), "radius must be a positive"),
    (predictor(optimizer=PiSTOL(b=math.inf)), "b must be a positive number, got inf"),
    (predictor(optimizer=PiSTOL(per_coordinate=2)), "per_coordinate must be a bool, got 2"),
    (
        predictor(optimizer=PiSTOL(feature_norm=-1.0, per_coordinate=True)),
        "feature_norm must be .*, got -1.0",
    ),
    (mixture(steps=(0.0,)), "steps must be a positive number, got 0.0"),
    (mixture(adaptive=(1.0, -1.0)), "adaptive must be a positive number, got -1.0"),
    (mixture(share=1.0), r'share must be "thinning" or within \(0, 1\), got 1.0'),
    (mixture(share=()), 'share must be "thinning", a number or several of them, got none'),
    (mixture(share="often"), "share must be"),
    (mixture(averages=2), "averages must be"),
    (mixture(others=(AdaGrad(),)), "others must be optimizers with scale_kernel"),
    (mixture(others=("newton",)), "others"),
    (mixture(steps=(), adaptive=(), others=()), "must have one expert at least"),
    (sk.KernelStructuredPredictor(optimizer="mixture"), "is not supported for kernels"),
]


@pytest.mark.parametrize(("model", "message"), BAD)
def test_bad_parameters_are_named(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("value", [1.0, np.float32(1.0), np.int64(1)], ids=repr)
def test_numbers_of_every_type_are_taken(value):
    wanted = _learn(optimizer=GradientDescent(eta=1.0)).coef_
    np.testing.assert_array_equal(_learn(optimizer=GradientDescent(eta=value)).coef_, wanted)
    _learn(PAIRS, space="hypercube", decoder=sk.decoders.Threshold(value)).predict(X)
    _learn(loss=FenchelYoung(scale=3 * value), optimizer=GradientDescent(eta=value))


@pytest.mark.parametrize("value", ["no", None, 1, 0.0, [True], np.ones(1)], ids=repr)
def test_shuffle_is_a_bool(value):
    boosting = sk.AdaBoostOLMClassifier, sk.OnlineTreeClassifier
    for kind in (predictor, gaptron, second_order, sk.MulticlassPerceptron, *boosting):
        model = kind(shuffle=value)
        with pytest.raises(ValueError, match=r"shuffle must be a bool, got "):
            model.fit(X, y)
        assert not hasattr(model, "t_")
    wanted, taken = (predictor(shuffle=b, random_state=0) for b in (True, np.bool_(True)))
    np.testing.assert_array_equal(taken.fit(X, y).coef_, wanted.fit(X, y).coef_)
