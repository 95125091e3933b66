"""Searches, curves, cross-validated predictions and calibration of scikit-learn, and scorers."""

import numpy as np
import pytest
from example_spaces import KSubsets
from learners import OVER_SPACES
from plain import gaptron, predictor
from scipy.special import log_softmax
from sklearn import model_selection as ms
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skstructured as sk

X, y = load_iris(return_X_y=True)


def rankings(n=60, m=3):
    rng = np.random.RandomState(0)
    X = rng.randn(n, m)
    return X, X.argsort(axis=1).argsort(axis=1)


# --- parameters of components ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "parameter", "value"),
    [
        (predictor(optimizer=sk.optimizers.GradientDescent()), "optimizer__eta", 0.5),
        (predictor(space=sk.spaces.OrdinalChain()), "space__categories", [2, 1, 0]),
        (sk.FenchelYoung(regularizer=sk.regularizers.Tsallis()), "regularizer__alpha", 1.2),
        (predictor("hypercube", decoder=sk.decoders.Threshold()), "decoder__threshold", 0.1),
    ],
)
def test_set_params_reaches_into_components(estimator, parameter, value):
    name, inner = parameter.split("__")
    kept = clone(estimator)
    before = kept.get_params()
    assert estimator.set_params(**{parameter: value}) is estimator
    assert estimator.get_params()[parameter] == value
    assert getattr(getattr(estimator, name), inner) == value
    assert kept.get_params().keys() == before.keys() and kept.get_params()[parameter] != value


def test_a_search_over_the_step_of_an_optimizer():
    pipeline = make_pipeline(StandardScaler(), predictor(optimizer=sk.optimizers.GradientDescent()))
    grid = {"onlinestructuredpredictor__optimizer__eta": ["theory", 0.1, 1e-9]}
    search = ms.GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 3 and search.best_score_ > 0.8
    assert pipeline[-1].optimizer.eta == "theory"


# --- curves and cross-validated predictions -------------------------------------------------------


@pytest.mark.parametrize("space", ["hypercube", KSubsets(k=2)], ids=str)
@pytest.mark.short("hypercube")
def test_learning_curves_of_label_sets(space):
    X, y = load_digits(return_X_y=True)
    X, y = X[:120], y[:120]
    Y = np.column_stack([y % 2 == 0, y % 2 == 1, y > 4, y <= 4]).astype(int)
    given = {"cv": 3, "exploit_incremental_learning": True, "error_score": "raise"}
    sizes, train, test = ms.learning_curve(predictor(space=space), X, Y, **given)
    assert train.shape == test.shape == (len(sizes), 3) and test[-1].mean() > 0.6
    model = predictor(space=space).partial_fit(X, Y, classes=[0, 1])
    model.partial_fit(X, Y, classes=model.classes_).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes=\[0, 2\] was given, but .* no class labels"):
        model.partial_fit(X, Y, classes=[0, 2])


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_cross_validated_predictions_of_permutations(method):
    X, y = rankings()
    model = predictor(space="birkhoff")
    found = ms.cross_val_predict(model, X, y, cv=ms.KFold(3), method=method)
    for train, test in ms.KFold(3).split(X):
        wanted = getattr(clone(model).fit(X[train], y[train]), method)(X[test])
        np.testing.assert_array_equal(found[test], wanted)
    assert model.fit(X, y).classes_.tolist() == [0, 1, 2]


def test_cross_validated_scores_of_ranks_say_why_not():
    X, y = rankings()
    model = predictor(space="permutahedron")
    assert ms.cross_val_predict(model, X, y + 1, cv=3).shape == (60, 3)
    with pytest.raises(ValueError, match="cross_val_predict.* renumbers from 0"):
        ms.cross_val_predict(model, X, y + 1, cv=3, method="decision_function")


# --- scores and scorers ---------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [predictor(), gaptron()], ids=str)
def test_weights_of_a_score(learner):
    model = learner.fit(X, y)
    weight = np.arange(150.0)
    right = model.predict(X) == y
    assert model.score(X, y, weight) == pytest.approx(weight @ right / weight.sum())
    assert model.score(X, y, 1e306 * weight) == pytest.approx(weight @ right / weight.sum())
    for wrong, message in (
        (np.zeros(150), "sample_weight must have a positive sum"),
        (-np.ones(150), "Negative values in data passed to `sample_weight`"),
        (np.repeat([-1.0, 2.0], 75), "Negative values in data passed to `sample_weight`"),
        (np.ones(15), "sample_weight.shape"),
        (np.full(150, np.nan), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            model.score(X, y, wrong)


#: One learner for each way to score classes.
SCORE_CLASSES = (
    *(predictor(), predictor(space="ordinal"), gaptron(), sk.MulticlassPerceptron(random_state=0)),
    *(sk.BanditronClassifier(random_state=0), sk.FolkloreClassifier(random_state=0)),
    *(sk.KernelStructuredPredictor(random_state=0), sk.ConditionalRandomField("simplex")),
    *(sk.StructuralSVM(max_iter=5), sk.StructuralSVM("ordinal", max_iter=5)),
    sk.StructuredPredictor(n_landmarks=20, random_state=0),
    sk.FenchelYoungBoosting(max_iter=5, random_state=0),
    sk.AdaBoostOLMClassifier(n_estimators=2, random_state=0),
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("learner", SCORE_CLASSES, ids=lambda learner: str(learner)[:60])
def test_labels_that_fit_has_not_seen_count_as_wrong(learner):
    learned = np.flatnonzero(y < 2)
    model = clone(learner).fit(X[learned], y[learned])
    weight = np.arange(150.0)
    right = model.predict(X) == y
    assert not right[100:].any() and right.any()
    assert model.score(X, y) == pytest.approx(np.mean(right))
    assert model.score(X, y, weight) == pytest.approx(weight @ right / weight.sum())
    scores = ms.cross_val_score(model, X, y, cv=ms.KFold(3), error_score="raise")
    np.testing.assert_array_equal(scores, 0.0)  # each fold has a class of its own
    message = r"not among the classes: 2; the classes are 0, 1\. They are fixed by fit, or by"
    if hasattr(model, "partial_fit"):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X[99:102], y[99:102])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "learner", [predictor(space="sequence"), sk.StructuralSVM("sequence", max_iter=5)], ids=str
)
def test_unseen_labels_of_sequences_count_as_wrong(learner):
    rows, labels = np.split(X, 30), np.split(y, 30)
    model = learner.fit(rows[:20], labels[:20])
    predicted = np.concatenate(model.predict(rows))
    assert not np.isin(2, model.classes_)
    assert model.score(rows, labels) == pytest.approx(np.mean(predicted == y))


def test_kendalls_tau_scores():
    X, y = rankings()
    metric, scorer = sk.metrics.kendall_tau, sk.metrics.kendall_tau_scorer
    model = predictor(space="birkhoff").fit(X, y)
    each = metric(model.predict(X), y)
    assert each.shape == (60,)
    mean = metric(model.predict(X), y, average=True)
    assert isinstance(mean, float) and mean == pytest.approx(each.mean())
    for scoring in (scorer, make_scorer(metric, average=True)):
        assert scoring(model, X, y) == mean
        scores = ms.cross_val_score(model, X, y, cv=3, scoring=scoring, error_score="raise")
        assert scores.min() > 0.3


@pytest.mark.parametrize("space", ["birkhoff", "permutahedron"])
def test_kendalls_tau_scores_both_spaces_of_rankings(space):
    X, positions = rankings()
    m = positions.shape[1]
    y = positions if space == "birkhoff" else m - positions
    model = predictor(space=space).fit(X, y)
    guess = model.predict(X) if space == "birkhoff" else m - model.predict(X)
    wanted = sk.metrics.kendall_tau(guess, positions).mean()
    scorers = {"tau": sk.metrics.kendall_tau_scorer}
    assert scorers["tau"](model, X, y) == pytest.approx(wanted)
    found = ms.cross_validate(model, X, y, cv=3, scoring=scorers, error_score="raise")
    assert found["test_tau"].min() > 0.2


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0, 1, 2], [0, 2, 2]], "Row 1 of y.* ties at 2. Expected .* in y"),
        ([[1, 2, 4]], "Row 0 of y.*outside that range. Expected .* in y"),
        ([[0, 1, 2], [1, 2, 3]], "Row 1 of y.* is not a permutation of 0..2"),
        ([[0.5, 1, 2]], "y must hold integers"),
    ],
)
def test_conversions_name_what_is_no_ranking(y, message):
    for convert in (sk.metrics.as_positions, sk.metrics.as_ranks):
        with pytest.raises(ValueError, match=message):
            convert(y)


def test_the_expected_target_loss_tells_decoders_apart():
    grid = {"decoder": ["randomized", "map", "sampled"]}
    model = predictor(max_iter=2, shuffle=True, random_state=0)
    plain = ms.GridSearchCV(model, grid, cv=3).fit(X, y).cv_results_["mean_test_score"]
    assert len(set(plain)) == 1  # `predict` is the class of the largest score with each
    scorer = sk.metrics.expected_target_loss_scorer
    for learner, prefix in (
        (model, ""),
        (make_pipeline(StandardScaler(), model), "onlinestructuredpredictor__"),
    ):
        named = {prefix + name: values for name, values in grid.items()}
        search = ms.GridSearchCV(learner, named, scoring=scorer, cv=3, error_score="raise").fit(
            X, y
        )
        assert len(set(search.cv_results_["mean_test_score"])) == 3
        best = search.best_estimator_
        inner = best if prefix == "" else best[-1]
        Z = X if prefix == "" else best[:-1].transform(X)
        losses = inner.expected_target_loss(Z, y)
        assert scorer(best, X, y) == scorer(search, X, y) == pytest.approx(-losses.mean())
        weight = np.arange(150.0)
        wanted = -weight @ losses / weight.sum()
        assert scorer(best, X, y, sample_weight=weight) == pytest.approx(wanted)
    with pytest.raises(TypeError, match="StandardScaler has no expected_target_loss"):
        scorer(StandardScaler().fit(X), X, y)


# --- one score per class, over embeddings that have another number of scores ----------------------


def ordinal(**parameters):
    return predictor(space="ordinal", max_iter=20, shuffle=True, random_state=0, **parameters)


@pytest.mark.parametrize("regularizer", ["squared", "shannon"])
def test_scores_of_ordered_classes_are_minus_the_loss_of_each(regularizer):
    model = ordinal(regularizer=regularizer).fit(X, y)
    theta = model.embedding_scores(X)
    np.testing.assert_allclose(theta, X @ model.coef_.T + model.intercept_, atol=1e-12)
    losses = [model.loss_.value(theta, np.tile(v, (150, 1))) for v in model.space_.vertices()]
    wanted = -np.transpose(losses) / model.loss_.scale_
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-10)


def test_the_largest_score_is_the_class_predicted():
    squared = ordinal().fit(X, y)
    np.testing.assert_array_equal(squared.decision_function(X).argmax(axis=1), squared.predict(X))
    shannon = ordinal(regularizer="shannon", decoder="map").fit(X, y)
    scores = shannon.decision_function(X)
    np.testing.assert_array_equal(scores.argmax(axis=1), shannon.predict(X))
    np.testing.assert_allclose(np.exp(scores), shannon.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(log_softmax(scores, axis=1), scores, atol=1e-12)


@pytest.mark.parametrize("name", ["simplex", "label sets", "matchings"])
def test_elsewhere_the_scores_are_those_of_the_embedding(name):
    model, rows, outputs = OVER_SPACES.get(name, (predictor(), X, y))
    model = clone(model).fit(rows, outputs)
    np.testing.assert_array_equal(model.decision_function(rows), model.embedding_scores(rows))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("regularizer", ["squared", "shannon"])
def test_calibration_of_ordered_classes(regularizer, method):
    model = ordinal(regularizer=regularizer)
    calibrated = CalibratedClassifierCV(model, method=method, cv=3).fit(X, y)
    assert model.fit(X, y).decision_function(X).shape == (150, 3)
    assert calibrated.score(X, y) > 0.95
    p = calibrated.predict_proba(X)
    assert all(p[y == k, k].mean() > 0.5 for k in range(3))


def test_cross_validated_scores_of_ordered_classes():
    names = np.array(["a", "b", "c"])[y]
    scores = ms.cross_val_predict(ordinal(), X, names, cv=3, method="decision_function")
    assert scores.shape == (150, 3)
    assert (scores.argmax(axis=1) == y).mean() > 0.9
    p = np.exp(log_softmax(scores, axis=1))
    assert roc_auc_score(y, p, multi_class="ovr") > 0.95


def test_displays_of_ordered_classes():
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot
    from sklearn.inspection import DecisionBoundaryDisplay

    Z = X[:, 2:]
    model = ordinal().fit(Z, y)
    options = {"response_method": "decision_function", "grid_resolution": 10}
    for k in range(3):
        display = DecisionBoundaryDisplay.from_estimator(model, Z, class_of_interest=k, **options)
        assert display.response.shape == (10, 10)
    binary = ordinal().fit(Z, y > 0)
    assert len(CalibrationDisplay.from_estimator(binary, Z, y > 0).prob_true) > 0
    pyplot.close("all")


def test_rankings_are_converted_between_positions_and_ranks(rng):
    ranks = np.array([rng.permutation(5) + 1 for _ in range(20)])
    for given in (ranks, 5 - ranks):
        np.testing.assert_array_equal(sk.metrics.as_ranks(given), ranks)
        np.testing.assert_array_equal(sk.metrics.as_positions(given), 5 - ranks)
    with pytest.raises(ValueError, match=r"positions 0..m-1 .* or ranks 1..m"):
        sk.metrics.as_ranks([[1, 1, 2]])
