"""Bad input and parameters: an error that names what is wrong, and nothing changes."""

import re
from copy import deepcopy
from functools import cache, partial

import numpy as np
import pytest
from bits import differences
from example_spaces import KSubsets
from learners import EVERY_LEARNER, LINEAR_BY_DEFAULT
from plain import bandit_gaptron, gaptron, predictor
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from streams import words

import skstructured as sk
from skstructured.losses import FenchelYoung
from skstructured.optimizers import (
    AdaptiveGradientDescent,
    GradientDescent,
    ParameterFree,
    PiSTOL,
    StepMixture,
)

RNG = np.random.RandomState(0)
X, CLASSES = RNG.randn(12, 3), np.arange(12) % 3
SETS = (X > 0).astype(int)
WORDS, TAGS = words(30)
SHORT = {"optimizer": "ogd", "max_iter": 1, "missing": "error"}
ITEMS, PAIRS = RNG.randn(2, 3, 2), np.array([[1.0], [-1.0], [-1.0], [1.0]])
RANKED = {"X": RNG.randn(6, 2), "y": [0, 1, 2, 0, 1, 2], "qid": [0] * 3 + [1] * 3}
BATCH = (sk.MaxMinMarginNetwork, sk.StructuralSVM, sk.QuadraticSurrogate)
field = partial(sk.ConditionalRandomField, "simplex")

#: name -> learner, and what it can be fitted with.
GOOD = {
    "classes": (predictor(), {"X": X, "y": CLASSES}),
    "grades": (predictor("ordinal"), {"X": X, "y": CLASSES}),
    "label sets": (predictor("hypercube"), {"X": X, "y": SETS}),
    "default": (sk.OnlineStructuredPredictor(max_iter=2, random_state=0), {"X": X, "y": CLASSES}),
    "sequences": (
        sk.OnlineStructuredPredictor("sequence", **SHORT),
        {"X": WORDS, "y": TAGS},
    ),
    "strict": (sk.OnlineStructuredPredictor(missing="error", max_iter=2), {"X": X, "y": CLASSES}),
    "queries": (sk.ListwiseRanker(max_iter=2), RANKED),
}


def _entry(array, place, value, dtype=float):
    array = np.array(array, dtype=dtype)
    array[place] = value
    return array


def _word(i, x):
    """The sequences with another at place i."""
    return {"X": [*WORDS[:i], x, *WORDS[i + 1 :]]}


LONG = next(i for i in range(5, 30) if len(WORDS[i]) > 1)

#: What later rows must not be: a learner of `GOOD`, what they have in place of what is good.
LATER = [
    ("classes", {"y": np.r_[CLASSES[:-1], 9]}, "not among the classes: 9; the classes are 0, 1"),
    ("classes", {"y": np.array(["a"] * 12)}, "not among the classes: 'a'"),
    ("classes", {"y": CLASSES[:-1]}, r"inconsistent numbers of samples: \[12, 11\]"),
    ("classes", {"y": np.r_[CLASSES[:-1] * 1.0, np.nan]}, "not among the classes: nan"),
    ("classes", {"y": SETS}, "1d array"),
    ("classes", {"classes": [0, 1]}, "differ from the fitted ones"),
    ("grades", {"y": np.r_[CLASSES[:-1], 1.5]}, "not among the classes: 1.5"),
    ("label sets", {"y": SETS * 2}, "only 0 and 1, got 2 in row"),
    ("label sets", {"y": SETS - 0.5}, "only 0 and 1, got"),
    ("label sets", {"y": SETS[:, :2]}, "3 columns, one per label.*got 2"),
    ("label sets", {"y": CLASSES}, "indicator matrix of shape"),
    ("label sets", {"y": [["a"], ["b", "c"]] * 6}, "MultiLabelBinarizer"),
    ("label sets", {"y": np.where(SETS, np.nan, 0)}, "NaN"),
    ("label sets", {"y": sparse.csr_matrix(SETS * 3)}, "only 0 and 1, got 3"),
    ("label sets", {"classes": [0, 3]}, "classes=.0, 3. was given, but .* no class labels"),
    ("sequences", {"X": WORDS[:1], "y": [np.full(len(TAGS[0]), 7)]}, "among the classes: 7"),
    ("queries", {"qid": None}, "qid is missing"),
    ("queries", {"qid": [0, 1]}, "inconsistent numbers of samples"),
    ("queries", {"qid": np.full(6, np.nan)}, "Input qid contains NaN"),
    ("queries", {"y": [0, 1, -1, 0, 1, 2]}, "y must be finite numbers of at least 0"),
    ("queries", {"y": [0, 1, np.nan, 0, 1, 2]}, "y must be finite"),
    ("queries", {"y": [0, 1, 99, 0, 1, 2]}, "y must contain grades of at most 60"),
    ("queries", {"y": [0, 1]}, "inconsistent numbers of samples"),
    ("queries", {"X": np.full((6, 2), np.inf)}, "infinity"),
    ("queries", {"X": np.ones((6, 3))}, "3 features"),
    ("queries", {"available": [0] * 6}, "has no available item"),
    ("queries", {"available": [2] * 6}, "available must have one bool per item"),
    ("queries", {"sample_weight": [1, 2, 1, 1, 1, 1]}, "the same for all items of a round"),
    ("queries", {"sample_weight": [-1, 1]}, "[Nn]egative"),
]

#: What one later row must not be: it is learned in a way of its own.
ONE_ROW = [
    ({"X": np.full((1, 3), np.inf)}, "infinity"),
    ({"X": np.full((1, 3), 1e160)}, "Row 0 of X is too large"),
    ({"X": np.ones((1, 4))}, "X has 4 features"),
    ({"y": [0, 1]}, "inconsistent numbers of samples"),
    ({"y": [9]}, "not among the classes: 9"),
    ({"y": np.array([-1])}, "not among the classes: -1"),
    ({"sample_weight": [-1.0]}, "Negative"),
    ({"sample_weight": [1e30]}, "sample_weight must be"),
    ({"sample_weight": [1.0, 1.0]}, "sample_weight"),
    ({"classes": [0, 1]}, "differ from the fitted ones"),
]
LATER += [("default", {"X": X[:1], "y": [0]} | wrong, message) for wrong, message in ONE_ROW]

#: What all rows must not be, first and later ones, in `fit` and in a stream.
ALWAYS = [
    ("classes", {"sample_weight": np.full(12, -1.0)}, "Negative values"),
    ("classes", {"sample_weight": np.ones(11)}, "sample_weight.shape"),
    ("classes", {"sample_weight": np.full(12, np.nan)}, "NaN"),
    ("classes", {"sample_weight": np.ones((12, 2))}, "1D array or scalar"),
    *(
        ("classes", {"sample_weight": _entry(np.ones(12), 5, value)}, "1e-20 and 1e.20, .* row 5")
        for value in (1e-21, 1e21, 1e152, 1e308, 5e-324)
    ),
    ("sequences", _word(1, WORDS[1][:0]), "Sequence 1 of X is empty"),
    ("sequences", {"y": [*TAGS[:2], [], *TAGS[3:]]}, "Sequence 2 of y is empty"),
    (
        "sequences",
        {"y": [*TAGS[:2], np.append(TAGS[2], 0), *TAGS[3:]]},
        r"Sequence 2 has \d positions in X, but \d labels",
    ),
    ("sequences", {"X": WORDS[:-1]}, "X has 29 sequences, but y has 30"),
    ("sequences", _word(3, WORDS[3][:, :2]), "Sequence 3 of X has 2 features"),
    ("sequences", {"X": np.concatenate(WORDS)}, "must be a list of sequences"),
    (
        "sequences",
        {"X": sparse.csr_matrix(np.concatenate(WORDS))},
        r"must be a list of .*Stacked",
    ),
    ("sequences", {"X": [x[0] for x in WORDS]}, r"sequence 0 has 1 dimension"),
    ("sequences", {"y": np.zeros(30)}, "must be a list of label arrays"),
    ("sequences", {"y": ["ab"] * 30}, "must be a list of label arrays"),
    ("sequences", {"X": [[["a"] * 4] * len(x) for x in WORDS]}, "0 of X does not contain numbers"),
    ("sequences", {"X": [[{"a": 1.0}] * len(x) for x in WORDS]}, r"Transformer\(DictVectorizer"),
    ("sequences", {"X": [["the", "dog"], ["cat"]]}, "as a dict of features, such as {'word': tok"),
    ("sequences", {"X": ["the dog", "a cat"]}, "as a dict of features, such as {'word': token}"),
    ("sequences", {"X": [], "y": []}, "X has 0 sequences"),
]

#: As well where they are predicted.
READ = [
    ("classes", {"X": np.zeros((12, 3, 3))}, "per output.*rank or choose among items"),
    ("strict", {"X": _entry(X[:1], (0, 2), np.nan), "y": [0]}, "Input X contains NaN"),
    ("strict", {"X": _entry(X[:1], (0, 2), np.inf), "y": [0]}, "infinity"),
    *(
        (
            "sequences",
            _word(LONG, _entry(WORDS[LONG], (1, 2), bad)),
            f"Sequence {LONG} of X, position 1",
        )
        for bad in (np.nan, np.inf, 1e200)
    ),
]


def _name(value):
    return re.sub(r"\W+", " ", value).strip()[:40] if isinstance(value, str) else None


@cache
def fitted(name):
    learner, good = GOOD[name]
    return clone(learner).fit(**good)


def refused(call, given, message, model):
    """An error, which leaves a learner as it is to the last bit."""
    before = deepcopy(vars(model))
    with pytest.raises((ValueError, TypeError), match=message):
        call(**given)
    assert list(differences(before, deepcopy(vars(model)))) == []


CASES = [
    (when, *case)
    for when, cases in {"later": LATER, "always": ALWAYS, "read": READ}.items()
    for case in cases
]


@pytest.mark.parametrize(("when", "name", "wrong", "message"), CASES, ids=_name)
def test_wrong_rows_are_named_and_change_nothing(when, name, wrong, message):
    learner, good = GOOD[name]
    given, model, new = good | wrong, deepcopy(fitted(name)), clone(learner)
    refused(model.partial_fit, given, message, model)
    if when != "later":
        refused(model.fit, given, message, model)
        refused(new.fit, given, message, new)
    for method in ("predict", "predict_proba") if when == "read" else ():
        if hasattr(model, method):
            refused(getattr(model, method), {"X": given["X"]}, message, model)


WIDE = sparse.csr_matrix((np.ones(2), np.array([0, 2**31 + 5]), np.array([0, 1, 2])))
items = sk.ItemStructuredPredictor
subsets = items(KSubsets(2))
ONE = np.zeros((1, 1))

#: What first rows must not be.
FIRST = [
    (predictor(), X, np.zeros(12), r"at least two classes, got 12 rows of one class, .*0\.0"),
    (predictor(), X, [], "y must hold at least two classes, got no rows"),
    (sk.StructuredPredictor(), [], [], "y must hold at least two classes, got no rows"),
    (sk.FenchelYoungBoosting(), [], [], "y must hold at least two classes, got no rows"),
    (sk.FenchelYoungBoosting(), X, np.zeros(12), "at least two classes, got 12 rows of one class"),
    (sk.FenchelYoungBoosting(), X, np.r_[np.zeros(11), np.nan], "NaN"),
    (predictor(), X, np.linspace(0, 1, 12), "type: continuous.*For numbers use StructuredRegr"),
    (
        predictor("ordinal"),
        np.tile(X, (4, 1)),
        RNG.randn(48),
        "continuous.*For numbers use Str",
    ),
    (
        sk.StructuredRegressor(),
        X,
        ["a", "b"] * 6,
        "one number per row: .*'a'.*use StructuredPredic",
    ),
    (sk.PiSTOLRegressor(), X, ["a", "b"] * 6, "one number per row: .*'a'.*use StructuredPredictor"),
    (predictor(), X, np.r_[np.zeros(11), np.nan], "NaN"),
    (predictor(), X, np.array([1, "a"] * 6, dtype=object), "cannot be sorted"),
    (predictor(), X, np.eye(12)[:, :3], "1d array.* 'multilabel' .0/1 indicators., 'assignment'"),
    (predictor("ordinal"), X, np.eye(12)[:, :3], "1d array.* 'ranking' .ranks."),
    (predictor("hypercube"), X, [["a", "b"]] * 12, "indicator matrix .* strings.*MultiLabelBin"),
    (predictor("sequence"), X, [0] * 12, r"A single sequence x is given as \[x\]"),
    (predictor(), WIDE, [0, 1], "int64 indices beyond int32"),
    (items("simplex"), [*ITEMS], [0, 5], "round 1 has 3 items, but y is 5"),
    (items("simplex"), [*ITEMS], [[0, 0, 0], [1, 0, 0]], "one available item of each round"),
    (items("simplex"), [*ITEMS], [0.5, 1.0], "must be the place"),
    (items("hypercube"), [*ITEMS], [[0, 2, 0], [1, 0, 0]], "is not a vertex|0 and 1"),
    (items("ordinal"), [*ITEMS], [0, 1], "not supported for items"),
    (items("birkhoff"), [*ITEMS], [[0, 1, 2], [2, 1, 0]], "m² pairs of m ≥ 2 items, got 3"),
    (items("birkhoff"), [ONE[None]], [[0]], "Round 0 must have m² pairs of m ≥ 2 items, got 1"),
    (items("birkhoff"), [ONE], [[0]], "Round 0 must have m² pairs of m ≥ 2 items, got 1"),
    (items("birkhoff"), ONE, {"y": [1], "qid": [7]}, "Round 7 must have m² pairs of m ≥ 2 items"),
    *(
        (EVERY_LEARNER[name], X, {"y": np.r_[CLASSES[:-1] % 2, 7], "classes": [0, 1]}, ".*7")
        for name in ("boosting", "online", "folklore", "bandit gaptron", "soba")
    ),
    (subsets, [ONE], [[1.0]], "no subsets of size k=2 of 1 labels"),
]


@pytest.mark.parametrize(("learner", "rows", "outputs", "message"), FIRST, ids=_name)
def test_first_rows_that_are_none_of_the_space(learner, rows, outputs, message):
    """Those of another are told where to go."""
    model = clone(learner)
    given = outputs if isinstance(outputs, dict) else {"y": outputs}
    call = model.partial_fit if "classes" in given else model.fit
    refused(call, {"X": rows} | given, message, model)


class Hoarder(PiSTOL):
    """An optimizer with two matrices a feature, which no loop over sequences knows."""

    blocks = (2, 0)


online, ranker, loss = sk.OnlineStructuredPredictor, sk.ListwiseRanker, FenchelYoung
STEP, two_of = GradientDescent(eta=0.1), KSubsets(2)
NOT_KNOWN = "is not known; valid"
COMPONENT = "must be a string or an instance of"
GIVEN_TWICE = "is given twice: 'squared' in the loss and 'shannon' in the learner"
PLAIN = sk.OnlineStructuredPredictor(optimizer="ogd", max_iter=2, random_state=0)

#: What a learner is given besides, and what is said of it: by new and by fitted ones.
GIVEN = [
    ({"space": "simplx"}, "space='simplx' is not known; .*'hypercube', 'multiclass', 'multilabel'"),
    ({"regularizer": "l2"}, f"regularizer='l2' {NOT_KNOWN} .* 'shannon', 'squared', 'tsa"),
    ({"decoder": "argmax"}, "decoder='argmax' is not known; .* 'map', 'min_risk', 'nearest'"),
    ({"optimizer": "sgd"}, f"optimizer='sgd' {NOT_KNOWN} short-cuts are"),
    ({"space": sk.spaces.Simplex}, f"space {COMPONENT}"),
    ({"decoder": 3}, f"decoder {COMPONENT}"),
    ({"optimizer": object()}, f"optimizer {COMPONENT}"),
    ({"loss": loss(scale=0.0)}, 'must be "theory" or a positive .* 1e-120 to 1e.120, got 0.0'),
    ({"loss": loss(scale=10**400)}, "scale must be .theory. or a positive number .* got 1000"),
    ({"loss": loss(scale=5e-324)}, "scale.* must "),
    ({"loss": loss("hypercube")}, "loss is over 'hypercube' and the learner over"),
    ({"regularizer": "shannon", "loss": loss(regularizer="squared")}, GIVEN_TWICE),
]
EVERY_KIND = [
    *(({"max_iter": value}, "max_iter must be an") for value in (0, 2.5, 10**9 + 1, 10**10)),
    *(({"max_iter": value}, "max_iter must be") for value in ("many", "", None, True)),
    *(({"tol": value}, "tol.* must") for value in ("small", np.nan)),
    ({"verbose": -1}, "verbose"),
    *(({"class_weight": {0: value}}, "class_weight") for value in (-1.0, np.nan, 1e21)),
    ({"class_weight": "even"}, "class_weight must be a dict, \"balanced\" or None, got 'even'"),
    *(({"class_weight": v}, "class_weight must be a dict") for v in (np.ones(3), [1.0, 2.0, 3.0])),
    ({"class_weight": {7: 1.0}}, "class_weight"),
]
KINDS = (PLAIN, gaptron(max_iter=2, random_state=0), sk.MulticlassPerceptron(random_state=0))
GIVEN = [(PLAIN, given, message) for given, message in GIVEN] + [
    (kind, given, message)
    for kind in KINDS
    for given, message in EVERY_KIND
    if given.keys() <= kind.get_params().keys()
]


@pytest.mark.parametrize(("learner", "given", "message"), GIVEN, ids=_name)
def test_wrong_parameters_are_named_and_change_nothing(learner, given, message):
    rows = {"X": X, "y": CLASSES}
    model, new = clone(learner).fit(**rows).set_params(**given), clone(learner).set_params(**given)
    for one in (model, new):
        refused(one.fit, rows, message, one)
    if "class_weight" in given:
        refused(model.partial_fit, rows, message, model)


SCALED = ("default", "parameter free", "pistol", "adagrad", *LINEAR_BY_DEFAULT, "confidit")
MEDIAN = "missing must be one of 'mean', 'indicator', 'error', got"

#: New learners with a parameter that cannot be, and what is said of it.
PARAMETERS = [
    *(
        (learner, f"{name} must lie between 1e-120 and 1e.120, got")
        for v in (1e-121, 1e121)
        for name, learner in (
            ("feature_norm", online(optimizer=GradientDescent(feature_norm=v))),
            ("radius", online(optimizer=GradientDescent(radius=v))),
            ("radius", online(optimizer=AdaptiveGradientDescent(v))),
            ("feature_norm", online(optimizer=ParameterFree(feature_norm=v))),
            ("feature_norm", online(optimizer=PiSTOL(feature_norm=v))),
            ("feature_norm", gaptron(feature_norm=v)),
            ("radius", bandit_gaptron(radius=v)),
            ("feature_norm", bandit_gaptron(radius=1.0, feature_norm=v)),
        )
    ),
    *(
        (clone(EVERY_LEARNER[name]).set_params(standardize=v), 'standardize must be a bool, "au')
        for name in SCALED
        for v in ("yes", 1, None, [True])
    ),
    *((kind(missing="median"), MEDIAN) for kind in (online, sk.KernelStructuredPredictor)),
    *(
        (kind(missing="indicator"), "missing must be one of 'mean', 'error', got 'indicator'")
        for kind in (field, *BATCH)
    ),
    (online("hypercube", "tsallis"), "no oracle for Hypercube with Tsallis; .* Simplex with Sha"),
    (online(two_of, loss=loss(KSubsets(3))), "over KSubsets.k=3. and .* KSubsets.k=2."),
    (online("sequence", decoder="f1"), "decoder must be one of"),
    (online("sequence", "tsallis"), "no oracle for LabelSequence with Tsallis"),
    (online("sequence", optimizer=Hoarder()), "is not supported for sequences"),
    (
        online("sequence", optimizer=PiSTOL(per_coordinate=True)),
        "PiSTOL.* is not supported for sequences",
    ),
    (
        online("sequence", optimizer=StepMixture(others=("ogd",))),
        'others must not contain "ogd" for',
    ),
    (online("sequence", optimizer=StepMixture(others=(STEP,))), 'not contain "ogd" for'),
    (online("sequence", class_weight={0: 1.0}), "class_weight is only supported for classes"),
    (online("sequence", loss=loss(constants="best")), "constants must be"),
    (sk.KernelStructuredPredictor("sequence"), "SequenceTransformer"),
    (ranker(kernel="poly"), "kernel must be one of 'auto', 'linear', 'additive'"),
    # beyond what can be computed with
    (sk.GaptronClassifier(tol=10**400), "tol.* must "),
    (sk.OnlineTreeClassifier(patience=10**400), "patience.* must "),
    (sk.KernelPerceptronClassifier(sk.Kernel("poly", 10**400)), "degree.* must "),
    (sk.GaussianAggregatingForecaster(radius=1e308), "radius.* must "),
    (sk.GaussianAggregatingForecaster(alpha=5e-324), "alpha.* must "),
    (sk.FolkloreClassifier(radius=1e308), "radius.* must "),
    (sk.AioliClassifier(feature_norm=1e308), "feature_norm.* must "),
    (field(alpha=5e-324), "alpha.* must "),
    (sk.StructuralSVM(alpha=5e-324), "alpha.* must "),
    (sk.StructuralSVM(cache_size=[]), "cache_size.* must "),
    (field(cost_matrix=10**400), "cost_matrix.* must "),
    (sk.AdaBoostOLMClassifier(alpha=1e308), "alpha.* must "),
    (sk.FenchelYoungBoosting(learning_rate=10**400), "learning_rate.* must "),
    (sk.FenchelYoungBoosting(max_iter=0), "max_iter.* must "),
    (sk.FenchelYoungBoosting(max_features="sqrt"), "max_features.* must "),
    (sk.FenchelYoungBoosting("hypercube", "tsallis"), "no oracle for Hypercube with Tsallis"),
    (sk.FenchelYoungBoosting("sequence"), "use StructuredPredictor"),
    (sk.OnlineNewtonClassifier(exp_concavity=5e-324), "exp_concavity.* must "),
]


def rows_for(learner):
    """Rows and outputs of a learner's space, of two classes where there are no others."""
    if isinstance(learner, sk.ListwiseRanker):
        return RANKED
    kind = str(getattr(learner, "space", ""))
    outputs = {"hypercube": SETS, "KSubsets(k=2)": np.tile([1, 1, 0], (12, 1))}
    two = CLASSES % 2 if isinstance(learner, sk.AioliClassifier) else CLASSES
    return GOOD["sequences"][1] if kind == "sequence" else {"X": X, "y": outputs.get(kind, two)}


@pytest.mark.parametrize(("learner", "message"), PARAMETERS, ids=_name)
def test_parameters_that_cannot_be_are_named(learner, message):
    model = clone(learner)
    refused(model.fit, rows_for(model), message, model)


def test_classes_of_a_stream():
    model = predictor()
    with pytest.raises(ValueError, match=r"such as classes=range\(4\), got 3"):
        model.partial_fit(X, CLASSES, classes=3)
    with pytest.raises(ValueError, match="classes must be given on the first call"):
        model.partial_fit(X, CLASSES)
    assert vars(model).keys() - {"_lock"} == predictor().get_params().keys()
    model.partial_fit(X[:1], [0], classes=[2, 0, 1])
    model.partial_fit(X[1:2], [1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="Hypercube has no class labels"):
        predictor(space="hypercube").partial_fit(X, SETS, classes=[0, 3])
    ordered = predictor(space=sk.spaces.OrdinalChain(categories=[2, 1, 0]))
    assert ordered.partial_fit(X[:1], [1]).classes_.tolist() == [2, 1, 0]


class SquaredError(sk.extend.Surrogate):
    """A custom loss, interpreted; probabilities are not declared."""

    def __init__(self, space=None):
        self.space = space

    @staticmethod
    def kernel(theta, truth, g, params, work):
        g[:] = theta - truth
        return 0.5 * np.sum(g**2)

    def mean(self, theta):
        return self.space.argmax(theta)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"space": "sequence"}, "LabelSequence has no mean_proba. predict_marginals has those"),
        ({"space": "ranking"}, "Permutahedron has no mean_proba. predict_mean returns the mean"),
        ({"loss": "hinge"}, r"GapSurrogate\(.* are not probabilities. Use loss=\"fenchel_young\""),
        ({"loss": SquaredError()}, r"SquaredError\(.*CalibratedClassifierCV. A custom loss whose"),
    ],
)
@pytest.mark.parametrize("name", ["predict_proba", "predict_log_proba"])
def test_the_error_itself_says_why_there_are_no_probabilities_and_what_to_use(name, given, reason):
    model = predictor(**given)
    assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=f"This 'Onl.* has no attribute '{name}': .*{reason}"):
        getattr(model, name)


def test_what_the_error_says_of_a_hinge_gives_probabilities():
    y = np.arange(60) % 3
    X = np.eye(3)[y] + 0.1 * np.random.RandomState(0).randn(60, 3)
    calibrated = CalibratedClassifierCV(predictor(loss="hinge"), cv=2).fit(X, y)
    assert (calibrated.predict_proba(X)[np.arange(60), y] > 0.5).all()
    assert hasattr(predictor(loss="fenchel_young"), "predict_proba")
    assert hasattr(sk.GaptronClassifier(loss="logistic"), "predict_proba")
    with pytest.raises(AttributeError, match='"logistic" of Gaptron'):
        sk.BanditGaptronClassifier(loss="hinge").predict_proba(X)
    assert hasattr(predictor(space="ranking"), "predict_mean")
    assert hasattr(predictor(space="assignment"), "predict_proba")


def test_numbers_in_the_place_of_classes_are_advised_also_in_a_stream():
    model = predictor().partial_fit(X, CLASSES, classes=[0, 1, 2])
    advice = "For numbers use StructuredRegressor"
    with pytest.raises(ValueError, match=f"among the classes: 0.5, 1.5, 2.5; .*{advice}"):
        model.partial_fit(X, CLASSES + 0.5)
    with pytest.raises(ValueError, match="among the classes: 7.0") as caught:
        model.partial_fit(X, CLASSES * 0.0 + 7.0)
    assert advice not in str(caught.value)
    halves = (CLASSES + 0.5).astype(str)
    assert predictor().fit(X, halves).classes_.tolist() == ["0.5", "1.5", "2.5"]


def test_a_scale_without_guarantee_warns_once_and_names_the_threshold():
    model = predictor(loss=sk.FenchelYoung(scale=0.5))
    message = r"no surrogate gap \(a = -1\).* set the scale to more than 1"
    with pytest.warns(sk.GuaranteeWarning, match=message) as caught:
        model.partial_fit(X, CLASSES, classes=[0, 1, 2])
    assert len(caught) == 1 and caught[0].filename == __file__
    model.partial_fit(X, CLASSES)  # warnings are errors here: a second one would raise
    assert model.score(X, CLASSES) > 0.3
    with pytest.raises(ValueError, match="needs a positive surrogate gap"):
        model.set_params(optimizer=GradientDescent(eta="high_probability")).fit(X, CLASSES)


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
    with pytest.raises(ValueError, match="constants must be one of 'paper', 'sharp'"):
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
    model = predictor().fit(X, CLASSES)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.expected_target_loss(X, CLASSES[:5])
    for space, y in {"simplex": CLASSES, "ordinal": CLASSES, "hypercube": SETS}.items():
        fitted = predictor(space=space).fit(X, y)
        for wrong in (y[:5], y[:1]):  # one row would fit every other
            for call, given in ((fitted.score, X), (fitted.space_.target_loss, y)):
                with pytest.raises(ValueError, match=rf"of samples: \[12, {len(wrong)}\]"):
                    call(given, wrong)
    with pytest.raises(ValueError, match="not fitted yet"):
        predictor().score(X, CLASSES)
    with pytest.raises(ValueError, match="batch_size must be an integer at least 1, got 0"):
        sk.evaluation.progressive_validate(model, X, CLASSES, batch_size=0, play="randomized")


def test_vertices_of_unfitted_spaces_say_what_to_call():
    for space in (sk.spaces.Simplex(), sk.spaces.Hypercube(), sk.spaces.OrdinalChain()):
        with pytest.raises(ValueError, match="does not know its size yet"):
            space.vertices()


# --- errors name the parameter --------------------------------------------------------------------

QID = np.repeat(np.arange(4), 3)

#: A learner, what it is given in place of what is good, and the error.
NAMED = (
    (
        sk.ListwiseRanker(),
        {"X": X[:0], "y": CLASSES[:0], "qid": QID[:0]},
        r"qid must .* samples: \[0, 0\]",
    ),
    (sk.ListwiseRanker(), {"qid": np.array([None] * 12)}, "qid must be all numbers or all str"),
    (sk.ListwiseRanker(), {"qid": np.array([1, "a"] * 6, dtype=object)}, "qid must be all num"),
    (sk.ListwiseRanker(), {"qid": "abc"}, r"qid must .* samples: \[12, 1\]\.$"),
    (sk.ListwiseRanker(), {"available": "x"}, "available must have one bool per item"),
    (
        sk.ListwiseRanker(),
        {"qid": [3, 3, 3, 3]},
        r"samples: \[12, 4\]\. They look like group sizes: pass",
    ),
    (sk.ConditionalLogit(), {"qid": [6, 6]}, r"look like group sizes: pass np\.repeat\(np"),
    (sk.ListwiseRanker(), {"qid": [3, 3, 3, 4]}, r"samples: \[12, 4\]\.$"),
    (sk.OnlineStructuredPredictor(), {"X": [[10**400, 1]] * 12}, "X has a number beyond float64"),
    (sk.OnlineStructuredPredictor(), {"sample_weight": "balanced"}, "sample_weight must be num"),
    (sk.OnlineStructuredPredictor(), {"sample_weight": ["a"] * 12}, "sample_weight must be num"),
    (
        sk.OnlineStructuredPredictor(class_weight={0: "a", 1: 1.0, 2: 1.0}),
        {},
        "class_weight must be numbers: could not convert string to float: 'a'",
    ),
    (
        sk.StructuredPredictor(estimators=[("a", None)]),
        {},
        r"estimators must be .* got \[\('a', No",
    ),
)


@pytest.mark.parametrize(("learner", "given", "message"), NAMED)
def test_errors_name_the_parameter(learner, given, message):
    ranks = isinstance(learner, (sk.ListwiseRanker, sk.ConditionalLogit))
    good = {"X": X, "y": CLASSES} | ({"qid": QID} if ranks else {})
    with pytest.raises(ValueError, match=message):
        clone(learner).fit(**good | given)
