"""scikit-learn's own checks, examples of the docstrings, and what `verbose` prints."""

import doctest
import importlib
import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import INTERPRETED
from learner_checks import has_argument
from learners import BINARY_LEARNERS, EVERY_LEARNER, SHIPPED
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from streams import two_classes

import skstructured
import skstructured as sk
from skstructured._learners import passes as progress

WEIGHTS = (
    "an online learner takes one step per row, so that a weight of two is one larger step and not "
    "two rows; the same holds of SGDClassifier. Weight zero does equal leaving a row out."
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}

MEDIAN = (
    "predict_proba is the one distribution over the classes with mean ŷ_Ω(θ), and the default "
    "decoder predicts the vertex nearest to ŷ_Ω(θ), its median, which is not always its mode."
)
ORDINAL = {
    f"check_classifiers_train{given}": MEDIAN
    for given in ("", "(readonly_memmap=True)", "(readonly_memmap=True,X_dtype=float32)")
}


#: The check has three names of flowers as labels.
WORDS = {"check_classifiers_classes": "ordinal classes that are words need categories in order"}


#: Weights of 1000 and 1e-4 in one stream: gradient descent's step is made for the heaviest row,
#: so that the others hardly move it, and a Perceptron corrects its last heavy mistake by 1000 rows.
#: Averages pass, and the defaults, which are parameter-free too.
#: A mixture waits for as many rows of the heaviest weight as tell its experts apart.
STEEP = {repr(EVERY_LEARNER[name]) for name in ("sampled", "perceptron", "mixture")}
CLASS_WEIGHTS = {"check_class_weight_classifiers": "steps made for the heaviest row; see STEEP"}

#: Learners that end at a gap; `test_weights_are_repetitions` goes to the optimum.
DUAL = (sk.MaxMinMarginNetwork, sk.StructuralSVM)
PASSES = "passes in another order end at another point, both within tol of the optimum"

HELD_OUT = (
    "alpha='auto' holds rows out, and a row that is there twice may be both learned and held out; "
    "of LogisticRegressionCV scikit-learn checks this with groups. With a number it holds."
)

MEMBERS = (
    "members are online learners, and a row that is there twice may be both learned and held out"
)

PARTS = "a row that is there twice is in one part, and parts and columns are drawn at random"


def expected_failures(estimator):
    is_ordinal = getattr(estimator, "space", None) == "ordinal"
    is_median = is_ordinal and getattr(estimator, "decoder", None) == "randomized"
    weights = (CLASS_WEIGHTS if repr(estimator) in STEEP else {}) | (WORDS if is_ordinal else {})
    if isinstance(estimator, sk.ConditionalRandomField):
        return weights | (dict.fromkeys(EXPECTED, HELD_OUT) if estimator.alpha == "auto" else {})
    if isinstance(estimator, (sk.OnlineTreeClassifier, sk.QuadraticSurrogate)):
        return weights  # on the rows of these checks it is the same tree
    if isinstance(estimator, DUAL):
        return weights | dict.fromkeys(EXPECTED, PASSES)
    if isinstance(estimator, sk.FenchelYoungBoosting):
        mode = dict.fromkeys(ORDINAL, MEDIAN) | WORDS if is_ordinal else {}
        return dict.fromkeys(EXPECTED, PARTS) | mode
    if isinstance(estimator, (sk.StructuredPredictor, sk.StructuredRegressor)):
        mode = dict.fromkeys(ORDINAL, MEDIAN) | WORDS if is_ordinal else {}
        return dict.fromkeys(EXPECTED, MEMBERS) | mode
    return EXPECTED | (ORDINAL if is_median else {}) | weights


LEARNERS = [
    *EVERY_LEARNER.values(),
    *BINARY_LEARNERS.values(),
    sk.PiSTOLRegressor(random_state=0),
    sk.PiSTOLRegressor("rbf", loss="absolute", max_iter=2, random_state=0),
    sk.OnlineStructuredPredictor(regularizer="squared"),
    sk.OnlineStructuredPredictor(space="ordinal"),
    sk.OnlineStructuredPredictor(space="ordinal", regularizer="shannon", decoder="map"),
    sk.ConditionalRandomField("simplex"),
    sk.ConditionalRandomField("simplex", alpha=1e-2),
    sk.ConditionalRandomField("ordinal", decoder="map", alpha=1e-2),
    sk.ConditionalRandomField("simplex", alpha=1e-2, kernel="rbf"),
    sk.MaxMinMarginNetwork(),
    sk.MaxMinMarginNetwork("ordinal", "rbf"),
    sk.StructuralSVM(),
    sk.QuadraticSurrogate(),
    sk.StructuredPredictor(random_state=0),
    sk.StructuredPredictor("ordinal", random_state=0),
    sk.StructuredRegressor(random_state=0),
    sk.FenchelYoungBoosting(random_state=0),
    sk.FenchelYoungBoosting("ordinal", random_state=0),
]
#: The first of each class; the others are checked by the slow tests.
FIRST = list({type(model): model for model in reversed(LEARNERS)}.values())
OTHERS = [model for model in LEARNERS if not any(model is first for first in FIRST)]


def checked(learners):
    """The checks of these learners, as parameters of a test."""

    def mark(test):
        test = parametrize_with_checks(learners, expected_failed_checks=expected_failures)(test)
        test = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")(test)
        return pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")(test)

    return mark


@pytest.mark.short(
    "OnlineStructuredPredictor(random_state=0)-*", "KernelStructuredPredictor(random_state=0)-*"
)
@checked([*FIRST, sk.OnlineStructuredPredictor(space="ordinal")])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        if isinstance(estimator, DUAL):
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


@pytest.mark.slow
@checked(OTHERS)
def test_scikit_learn_checks_of_other_parameters(estimator, check):
    test_scikit_learn_checks(estimator, check)


def modules_with_examples():
    """Names of the modules whose docstrings hold examples."""
    root = Path(sk.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            yield ".".join(("skstructured", *path.relative_to(root).with_suffix("").parts))


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("module", list(modules_with_examples()))
@pytest.mark.short(every=3)
def test_docstring_examples(module):
    if module == "skstructured.torch":
        pytest.importorskip("torch", reason="torch is not installed")
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0 and result.failed == 0


ESTIMATORS = {
    name: thing
    for name in skstructured.__all__
    if inspect.isclass(thing := getattr(skstructured, name)) and hasattr(thing, "predict")
}
#: It solves its equations at once, or leaves learning to others.
AT_ONCE = {"QuadraticSurrogate", "BanditClassifier", "PredictionSets"}
#: It logs its iterations.
LOGS = {"ConditionalRandomField"}


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_every_estimator_has_an_example_and_verbose(name):
    kind = ESTIMATORS[name]
    assert ">>> " in inspect.getdoc(kind) or name == "BanditClassifier"
    assert name in AT_ONCE | LOGS or inspect.signature(kind).parameters["verbose"].default == 0


KINDS = {type(model).__name__: model for model in [*SHIPPED.values(), *BINARY_LEARNERS.values()]}
every_kind = pytest.mark.parametrize("model", KINDS.values(), ids=list(KINDS))


@every_kind
def test_verbose_tells_how_far_it_is(monkeypatch, capsys, model, rng):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    X, y = two_classes(rng)
    quiet = clone(model).fit(X, y)
    assert capsys.readouterr().out == ""
    loud = clone(model).set_params(verbose=1).fit(X, y)
    printed = capsys.readouterr().out
    assert re.match(r"\d+% of (60 rows|2 experts) learned in \d+ s\n|pass 1: ", printed), printed
    np.testing.assert_array_equal(loud.predict(X), quiet.predict(X))


@every_kind
@pytest.mark.parametrize("given", [-1, 0.5, "yes"])
def test_verbose_must_be_a_number_of_lines_before_anything_is_learned(model, given, rng):
    X, y = two_classes(rng)
    model = clone(model).set_params(verbose=given)
    learns = [model.fit]
    if "max_iter" not in model.get_params():  # passes are of fit alone
        learns.append(getattr(model, "simulate", model.partial_fit))
    for learn in learns:
        told = {"classes": [0, 1]} if has_argument(learn, "classes") else {}
        with pytest.raises((ValueError, TypeError), match="verbose must be an integer at least 0"):
            learn(X, y, **told)
        assert not hasattr(model, "classes_") and not hasattr(model, "t_")


def test_lines_come_once_in_a_while(monkeypatch, capsys):
    now = iter([0.0, 0.4, 1.1, 1.5, 2.2, 2.3])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    model = skstructured.FolkloreClassifier(verbose=True)
    assert list(progress.with_progress(model, range(0, 50, 10), 50)) == [0, 10, 20, 30, 40]
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["20% of 50 rows learned in 1 s", "60% of 50 rows learned in 2 s"]
