"""Bad input: a clear error that names what is wrong, and a fitted state that did not move."""

import re
from contextlib import contextmanager

import numpy as np
import pytest
from plain import predictor
from scipy import sparse

import skstructured as sk
from skstructured.optimizers import GradientDescent

X = np.random.RandomState(0).randn(12, 3)
Y = {"simplex": np.arange(12) % 3, "ordinal": np.arange(12) % 3, "hypercube": (X > 0).astype(int)}
SPACES = list(Y)


def snapshot(model):
    arrays = (model.coef_, model.intercept_, model._state.vector)
    return [a.tobytes() for a in arrays], model.t_, model.n_features_in_, sorted(vars(model))


@contextmanager
def refused(model, message):
    """A ValueError, and a fitted state that did not move."""
    before = snapshot(model)
    with pytest.raises(ValueError, match=message):
        yield
    assert snapshot(model) == before


@pytest.mark.parametrize(
    ("space", "wrong", "message"),
    [
        ("simplex", np.r_[Y["simplex"][:-1], 9], "not among the classes: 9; the classes are 0, 1"),
        ("simplex", np.array(["a"] * 12), "not among the classes: 'a'"),
        ("simplex", Y["simplex"][:-1], r"inconsistent numbers of samples: \[12, 11\]"),
        ("simplex", np.r_[Y["simplex"][:-1].astype(float), np.nan], "not among the classes: nan"),
        ("simplex", Y["hypercube"], "1d array"),
        ("ordinal", np.r_[Y["ordinal"][:-1], 1.5], "not among the classes: 1.5"),
        ("hypercube", Y["hypercube"] * 2, "only 0 and 1, got 2 in row"),
        ("hypercube", Y["hypercube"] - 0.5, "only 0 and 1, got"),
        ("hypercube", Y["hypercube"][:, :2], "3 columns, one per label.*got 2"),
        ("hypercube", Y["simplex"], "indicator matrix of shape"),
        ("hypercube", [["a"], ["b", "c"]] * 6, "MultiLabelBinarizer"),
        ("hypercube", np.where(Y["hypercube"], np.nan, 0), "NaN"),
        ("hypercube", sparse.csr_matrix(Y["hypercube"] * 3), "only 0 and 1, got 3"),
    ],
)
def test_bad_outputs_leave_the_learner_unchanged(space, wrong, message):
    model = predictor(space=space).fit(X, Y[space])
    with refused(model, message):
        model.partial_fit(X, wrong)


@pytest.mark.parametrize(
    ("space", "y", "message"),
    [
        ("simplex", np.zeros(12), "at least two classes, got 1 class"),
        ("simplex", np.linspace(0, 1, 12), "Unknown label type: continuous"),
        ("simplex", np.r_[np.zeros(11), np.nan], "NaN"),
        ("simplex", np.array([1, "a"] * 6, dtype=object), "cannot be sorted"),
        ("simplex", np.eye(12)[:, :3], "1d array.* 'hypercube' .multilabel., 'birkhoff'"),
        ("ordinal", np.eye(12)[:, :3], "1d array.* 'permutahedron' .ranks."),
        ("hypercube", [["a", "b"]] * 12, "indicator matrix .* texts.*MultiLabelBinarizer"),
        ("sequence", [0] * 12, r"A single sequence x is given as \[x\]"),
    ],
)
def test_outputs_that_are_none_of_the_space(space, y, message):
    """Those of another are told where to go."""
    model = predictor(space)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_") and not hasattr(model, "n_features_in_")


def test_classes_of_a_stream():
    model = predictor()
    with pytest.raises(ValueError, match=r"such as classes=range\(4\), got 3"):
        model.partial_fit(X, Y["simplex"], classes=3)
    with pytest.raises(ValueError, match="classes must be given on the first call"):
        model.partial_fit(X, Y["simplex"])
    assert vars(model).keys() == predictor().get_params().keys()
    model.partial_fit(X[:1], [0], classes=[2, 0, 1])
    model.partial_fit(X[1:2], [1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(X, Y["simplex"], classes=[0, 1])
    with pytest.raises(ValueError, match="Hypercube has no class labels"):
        predictor(space="hypercube").partial_fit(X, Y["hypercube"], classes=[0, 3])
    ordered = predictor(space=sk.spaces.OrdinalChain(categories=[2, 1, 0]))
    assert ordered.partial_fit(X[:1], [1]).classes_.tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(12, -1.0), "Negative values"),
        (np.ones(11), "sample_weight.shape"),
        (np.full(12, np.nan), "NaN"),
        (np.ones((12, 2)), "1D array or scalar"),
    ],
)
def test_bad_weights(weight, message):
    model = predictor().fit(X, Y["simplex"])
    with refused(model, message):
        model.partial_fit(X, Y["simplex"], sample_weight=weight)


def test_items_with_features_of_their_own_are_refused_by_what_they_are():
    model, items = predictor().fit(X, Y["simplex"]), np.zeros((12, 3, X.shape[1]))
    for call in (model.partial_fit, predictor().fit):
        with refused(model, "documents of a query or the alternatives of a choic"):
            call(items, Y["simplex"])
    with refused(model, "OnlineStructuredPredictor.*per output"):
        model.predict(items)


def test_indices_beyond_int32_are_refused_by_name():
    wide = sparse.csr_matrix((np.ones(2), np.array([0, 2**31 + 5]), np.array([0, 1, 2])))
    with pytest.raises(ValueError, match="int64 indices beyond int32"):
        predictor().fit(wide, [0, 1])


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (
            "space",
            "simplx",
            "space='simplx' is not known; .*'hypercube', 'multiclass', 'multilabel', 'o",
        ),
        ("regularizer", "l2", "regularizer='l2' is not known; valid .* 'shannon', 'squared', 'tsa"),
        ("decoder", "argmax", "decoder='argmax' is not known; .* 'map', 'min_risk', 'nearest'"),
        ("optimizer", "sgd", "optimizer='sgd' is not known; valid short-cuts are"),
        (
            "loss",
            sk.FenchelYoung(scale=0.0),
            'must be "theory" or a positive number from 1e-120 to 1e.120, got 0.0',
        ),
        ("max_iter", 0, "max_iter must be an integer from 1 to 1000000000, got 0"),
        ("max_iter", 10**10, "max_iter must be an integer from 1 to .*, got 10000000000"),
        (
            "loss",
            sk.FenchelYoung(scale=10**400),
            "scale must be .theory. or a positive number .* got 1000",
        ),
    ],
)
def test_bad_parameters_are_named(parameter, value, message):
    model = predictor(**{parameter: value})
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y["simplex"])
    assert not hasattr(model, "coef_")


def test_sequences_say_what_they_have_instead_of_probabilities():
    with pytest.raises(AttributeError) as caught:
        predictor(space="sequence").predict_proba(X)
    assert "predict_marginals" in str(caught.value.__cause__)


def test_a_component_must_be_an_instance():
    for parameter, value in (("space", sk.spaces.Simplex), ("decoder", 3), ("optimizer", object())):
        with pytest.raises(TypeError, match=f"{parameter} must be a string or an instance of"):
            predictor(**{parameter: value}).fit(X, Y["simplex"])


def test_a_pair_without_oracle_names_both_sides():
    message = "no oracle for Hypercube with Tsallis; supported are Simplex with Shannon"
    with pytest.raises(ValueError, match=message):
        predictor(space="hypercube", regularizer="tsallis").fit(X, Y["hypercube"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": sk.FenchelYoung("hypercube")}, "loss is over 'hypercube' and the learner over"),
        (
            {"space": sk.spaces.KSubsets(2), "loss": sk.FenchelYoung(sk.spaces.KSubsets(3))},
            "loss is over KSubsets.k=3. and the learner over KSubsets.k=2.",
        ),
        (
            {"regularizer": "shannon", "loss": sk.FenchelYoung(regularizer="squared")},
            "regularizer is given twice: 'shannon' of the learner, and 'squared' of its loss",
        ),
    ],
)
def test_a_loss_that_contradicts_its_learner_is_refused(given, message):
    outputs = np.tile([1, 1, 0], (len(X), 1)) if "space" in given else Y["simplex"]
    with pytest.raises(ValueError, match=message):
        sk.OnlineStructuredPredictor(**given).fit(X, outputs)


def test_a_scale_without_guarantee_warns_once_and_names_the_threshold():
    model = predictor(loss=sk.FenchelYoung(scale=0.5))
    message = r"no surrogate gap \(a = -1\).*c > 1 would"
    with pytest.warns(sk.GuaranteeWarning, match=message) as caught:
        model.partial_fit(X, Y["simplex"], classes=[0, 1, 2])
    assert len(caught) == 1 and caught[0].filename == __file__
    model.partial_fit(X, Y["simplex"])  # warnings are errors here: a second one would raise
    assert model.score(X, Y["simplex"]) > 0.3
    with pytest.raises(ValueError, match="needs a positive surrogate gap"):
        model.set_params(optimizer=GradientDescent(eta="high_probability")).fit(X, Y["simplex"])


def test_losses_check_their_scores():
    loss = sk.FenchelYoung(sk.spaces.Simplex().fit([0, 1, 2]))
    for theta, message in (
        (np.zeros(3), r"shape \(n, 3\), got \(3,\)"),
        (np.zeros((1, 4)), r"shape \(n, 3\), got \(1, 4\)"),
        ([[np.nan, 0, 0]], "NaN or"),
        ([[np.inf, 0, 0]], "NaN or"),
    ):
        with pytest.raises(ValueError, match=message):
            loss.mean(theta)
    with pytest.raises(ValueError, match='constants must be "paper" or "sharp"'):
        sk.FenchelYoung(sk.spaces.Simplex().fit([0, 1]), constants="mine").scale_  # noqa: B018
    with pytest.raises(ValueError, match=re.escape("call Simplex.fit(y)")):
        sk.FenchelYoung("simplex").scale_  # noqa: B018


def test_prediction_before_learning_says_so():
    model = predictor()
    for method in ("predict", "predict_mean", "predict_proba", "decision_function", "sample"):
        with pytest.raises(ValueError, match="not fitted yet"):
            getattr(model, method)(X)
    for attribute in ("coef_", "intercept_"):
        assert not hasattr(model, attribute)


def test_lengths_of_evaluation_inputs():
    model = predictor().fit(X, Y["simplex"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.expected_target_loss(X, Y["simplex"][:5])
    for space, y in Y.items():
        fitted = predictor(space=space).fit(X, y)
        for wrong in (y[:5], y[:1]):  # one row would fit every other
            for call, given in ((fitted.score, X), (fitted.space_.target_loss, y)):
                with pytest.raises(ValueError, match=rf"of samples: \[12, {len(wrong)}\]"):
                    call(given, wrong)
    with pytest.raises(ValueError, match="not fitted yet"):
        predictor().score(X, Y["simplex"])
    with pytest.raises(ValueError, match="batch_size must be an integer at least 1, got 0"):
        sk.evaluation.progressive_validate(model, X, Y["simplex"], batch_size=0)


def test_vertices_of_unfitted_spaces_say_what_to_call():
    for space in (sk.spaces.Simplex(), sk.spaces.Hypercube(), sk.spaces.OrdinalChain()):
        with pytest.raises(ValueError, match="does not know its size yet"):
            space.vertices()
