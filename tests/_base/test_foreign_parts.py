"""Spaces and optimizers that users bring: what does not fit is refused by name, before learning."""

import broken_losses
import broken_parts
import numpy as np
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad
from example_spaces import KSubsets
from plain import predictor
from streams import label_sets

import skstructured as sk
from skstructured.decoders import MAP

BREAKS = {
    "a column more": (lambda V: np.hstack([V, V[:, :1]]), r"shape \(\d+, 3\), got \(\d+, 4\)"),
    "a column less": (lambda V: V[:, :-1], r"shape \(\d+, 3\), got \(\d+, 2\)"),
    "a row more": (lambda V: np.vstack([V, V[:1]]), r"shape \(\d+, 3\), got \(\d+, 3\)"),
    "a row less": (lambda V: V[:-1], r"shape \(\d+, 3\), got \(\d+, 3\)"),
    "a vector": (lambda V: V.ravel(), r"shape \(\d+, 3\), got \(\d+,\)"),
    "nothing": (lambda V: None, r"shape \(\d+, 3\), got \(\)"),
    "NaN": (lambda V: np.where(V > 0, np.nan, V), r"finite numbers, row \d+ has nan"),
    "complex": (lambda V: V * 1j, "real numbers, got an array of complex128"),
    "text": (lambda V: V.astype(str), "real numbers, got an array of <U"),
}


class Foreign(sk.extend.OutputSpace):
    """The cube, with one method that can be broken, in one way."""

    broken, how = None, None

    def _return(self, method, V):
        return BREAKS[self.how][0](V) if self.broken == method else V

    def argmax(self, theta):
        return self._return("argmax", (np.asarray(theta) > 0).astype(float))

    def unpack(self, packed):
        return self._return("unpack", packed)

    def encode(self, y):
        return self._return("encode", super().encode(y))

    def nearest(self, mu):
        return self._return("nearest", super().nearest(mu))

    def sample(self, mu, random_state=None):
        return self._return("sample", (np.asarray(mu) > 0.5).astype(float))


@pytest.fixture
def broken(monkeypatch):
    """Break one method of every `Foreign`, in one way; returns the message to expect."""

    def set_up(method, how):
        monkeypatch.setattr(Foreign, "how", how)
        monkeypatch.setattr(Foreign, "broken", method)
        return f"Foreign.{method} must return .*{BREAKS[how][1]}"

    return set_up


@pytest.mark.parametrize("how", list(BREAKS))
@pytest.mark.parametrize("method", ["unpack", "encode", "argmax"])
def test_a_space_that_returns_what_does_not_fit_is_named_before_learning(method, how, broken, rng):
    X, Y = label_sets(rng)
    model, new = predictor(Foreign()).fit(X, Y), predictor(Foreign())
    before, state = model.coef_.copy(), model.model_.state.vector.copy()
    message = broken(method, how)
    for learn in (
        *(model.fit, model.partial_fit, new.fit, new.partial_fit),
        lambda X, Y: sk.evaluation.progressive_validate(new, X, Y, play="randomized"),
    ):
        with pytest.raises(ValueError, match=message):
            learn(X, Y)
    np.testing.assert_array_equal(model.coef_, before)
    np.testing.assert_array_equal(model.model_.state.vector, state)
    assert model.t_ == 30 and not hasattr(new, "coef_")


@pytest.mark.parametrize("how", list(BREAKS))
@pytest.mark.parametrize("method", ["nearest", "sample", "argmax", "encode"])
def test_predictions_of_a_space_that_does_not_fit_are_refused(method, how, broken, rng):
    X, Y = label_sets(rng)
    model = predictor(Foreign(), decoder=MAP() if method == "argmax" else "sampled").fit(X, Y)
    message, calls = broken(method, how), [lambda: model.predict(X)]
    if method == "sample":
        calls = [lambda: model.sample(X)]
    elif method == "encode":
        calls = [lambda: model.score(X, Y), lambda: model.expected_target_loss(X, Y)]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_vertices_of_another_type_or_order_are_read(monkeypatch, rng):
    X, Y = label_sets(rng)
    expected = predictor(Foreign()).fit(X, Y).coef_
    for change in (np.asfortranarray, lambda V: V.astype(bool), lambda V: V.astype(np.float32)):
        monkeypatch.setitem(BREAKS, "changed", (change, ""))
        monkeypatch.setattr(Foreign, "how", "changed")
        for method in ("unpack", "encode", "argmax"):
            monkeypatch.setattr(Foreign, "broken", method)
            model = predictor(Foreign()).fit(X, Y)
            np.testing.assert_array_equal(model.coef_, expected)


@pytest.mark.parametrize("size", [0, -1, 2.5, "3", None])
def test_a_space_without_a_proper_dimension_is_named(size):
    class Sizeless(Foreign):
        def fit(self, y):
            self.dim_ = size
            return self

    with pytest.raises(ValueError, match="Sizeless.fit must set dim_ to a positive integer, got"):
        predictor(Sizeless()).fit([[1.0], [2.0]], [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    "base", ["GradientDescent", "AdaptiveGradientDescent", "ParameterFree", "PiSTOL"]
)
@pytest.mark.parametrize(
    "state",
    [
        *(lambda whole: whole[:-1].copy(), lambda whole: whole[:-4].copy(), lambda whole: None),
        *(lambda whole: 3.0, lambda whole: whole[:, None], lambda whole: whole.astype(np.float32)),
        lambda whole: np.repeat(whole, 2)[::2],
    ],
)
def test_an_optimizer_whose_state_does_not_fit_its_kernels_is_named(base, state):
    class Strange(getattr(sk.optimizers, base)):
        def init(self, loss):
            return state(super().init(loss))

    model = predictor(optimizer=Strange())
    for learn in (model.fit, lambda X, y: model.partial_fit(X, y, classes=[0, 1])):
        with pytest.raises(
            ValueError, match=r"Strange.init must return a float64 vector of \d+ num"
        ):
            learn([[1.0], [2.0]], [0, 1])
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("loss", "got"),
    [
        (broken_losses.OfFour(), r"OfFour.kernel .* g, params, work\), got \(theta, truth, g, par"),
        (broken_losses.PlainLambda(), r"PlainLambda.kernel .*got \(truth, g, params, work\)"),
        (broken_losses.WithoutKernel(), "WithoutKernel.kernel must be a static method .*got None"),
        (lambda theta, truth: 0.0, "got <function.*: a custom loss is a class .* from Surrogate"),
    ],
)
def test_a_loss_that_loops_cannot_call_is_named_before_learning(loss, got):
    model = predictor(loss=loss, optimizer=AdaGrad())
    for learn in (model.fit, lambda X, y: model.partial_fit(X, y, classes=[0, 1])):
        with pytest.raises(TypeError, match=got):
            learn([[1.0], [2.0]], [0, 1])
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    ("optimizer", "got"),
    [
        (broken_parts.OfThree(), r"OfThree.coordinate_kernel must .*, b, g\), got \(state, W, g\)"),
        (broken_parts.WithoutRule(), "WithoutRule.coordinate_kernel must .*, got None"),
        (broken_parts.WithoutStep(), r"WithoutStep.step_kernel must .*, weight\), got None"),
    ],
)
def test_an_optimizer_that_loops_cannot_call_is_named_before_learning(optimizer, got):
    model = predictor(optimizer=optimizer)
    for learn in (model.fit, lambda X, y: model.partial_fit(X, y, classes=[0, 1])):
        with pytest.raises(TypeError, match=got):
            learn([[1.0], [2.0]], [0, 1])
    assert not hasattr(model, "coef_")


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_a_kernel_that_numba_does_not_compile_is_named_in_one_sentence():
    message = "numba cannot compile a kernel of WeightAlone or FenchelYoung: "
    with pytest.raises(TypeError, match=message) as raised:
        predictor(optimizer=broken_parts.WeightAlone()).fit([[1.0], [2.0]], [0, 1])
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("decoder", "got"), list(broken_parts.REFUSED.items()), ids=lambda x: type(x).__name__
)
def test_a_decoder_that_returns_what_does_not_fit_is_named(decoder, got):
    X, y = np.arange(12.0).reshape(6, 2), [0, 1, 2] * 2
    model = predictor(decoder=decoder).fit(X, y)
    for call in (model.predict, model.sample, model.decoding_proba):
        with pytest.raises(ValueError, match=got):
            call(X)
    with pytest.raises(ValueError, match=got):
        model.expected_target_loss(X, y)


def test_a_space_whose_oracle_minimizes_is_named(rng):
    class Fewest(sk.extend.OutputSpace):
        def argmax(self, theta):
            return KSubsets(2).argmax(-np.asarray(theta))

    Y = KSubsets(2).argmax(rng.randn(20, 5))
    message = (
        "Fewest.argmax must return a vertex with the largest <theta, y>: it returned -2, but 2"
    )
    with pytest.raises(ValueError, match=message):
        predictor(Fewest()).fit(rng.randn(20, 3), Y)
    with pytest.raises(AssertionError, match=message):
        sk.utils.check_space(Fewest(), Y)


def test_outputs_outside_a_space_are_still_named_by_their_row(rng):
    class Largest(sk.extend.OutputSpace):
        def argmax(self, theta):
            return KSubsets(2).argmax(theta)

    Y = KSubsets(2).argmax(rng.randn(20, 5))
    Y[3] = 1.0
    with pytest.raises(ValueError, match=r"Row 3 of y, .* is not a vertex of Largest"):
        predictor(Largest()).fit(rng.randn(20, 3), Y)
