"""scikit-learn's own checks, and the commands of the README."""

import doctest
import importlib
from pathlib import Path

import pytest
from conftest import INTERPRETED, ROOT
from learners import BINARY_LEARNERS, EVERY_LEARNER
from sklearn.utils.estimator_checks import parametrize_with_checks

import skstructured as sk
from skstructured.spaces import k_subsets

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
#: What a budget lets go is what weighs the least.
#: A mixture waits for as many rows of the heaviest weight as tell its experts apart.
STEEP = {
    repr(EVERY_LEARNER[name]) for name in ("sampled", "perceptron", "kernel budget", "mixture")
}
CLASS_WEIGHTS = {"check_class_weight_classifiers": "steps made for the heaviest row; see STEEP"}

HELD_OUT = (
    "alpha='auto' holds rows out, and a row that is there twice may be both learned and held out; "
    "of LogisticRegressionCV scikit-learn checks this with groups. With a number it holds."
)


def expected_failures(estimator):
    is_ordinal = getattr(estimator, "space", None) == "ordinal"
    is_median = is_ordinal and estimator.decoder == "randomized"
    weights = (CLASS_WEIGHTS if repr(estimator) in STEEP else {}) | (WORDS if is_ordinal else {})
    if isinstance(estimator, sk.ConditionalRandomField):
        return weights | (dict.fromkeys(EXPECTED, HELD_OUT) if estimator.alpha == "auto" else {})
    if isinstance(estimator, sk.OnlineTreeClassifier):
        return weights  # on the rows of these checks it is the same tree
    return EXPECTED | (ORDINAL if is_median else {}) | weights


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
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
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.short(
    "OnlineStructuredPredictor(random_state=0)-*", "KernelStructuredPredictor(random_state=0)-*"
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


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
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0 and result.failed == 0


def test_the_guide_to_new_spaces_shows_the_source_that_runs():
    source, guide = Path(k_subsets.__file__), ROOT / "docs" / "add_a_space.md"
    assert source.read_text(encoding="utf-8") in guide.read_text(encoding="utf-8")
