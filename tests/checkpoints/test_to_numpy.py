"""Exported models predict what the estimators do, where there is numpy and nothing else."""

import subprocess
import sys
from datetime import date

import numpy as np
import pytest
from conftest import INTERPRETED
from learners import BINARY_LEARNERS, EVERY_LEARNER, binary_stream
from plain import predictor
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import skstructured as sk
from skstructured.checkpoints import to_numpy
from skstructured.decoders import Threshold
from skstructured.spaces import KSubsets, LabelSequence, OrdinalChain, Simplex, SpanningTrees

#: Nothing but numpy and the standard library.
BARE = """
import sys, runpy
from pathlib import Path

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba", "sklearn", "scipy", "joblib", "skstructured"):
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Refuse())
import numpy as np

folder = Path(sys.argv[1])
for file in sorted(folder.glob("*.py")):
    given = np.load(folder / "given" / f"{file.stem}.npz")
    X = given["X"] if "X" in given else [given[name] for name in given]
    model = runpy.run_path(str(file))
    found = {}
    for name in ("predict", "predict_proba", "predict_marginals"):
        if name in model:
            out = model[name](X)
            parts = out if isinstance(out, list) else [out]
            found |= {f"{name}-{i:03d}": part for i, part in enumerate(parts)}
    np.savez(folder / "found" / f"{file.stem}.npz", **found)
"""

COSTS = [[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 1.0, 0.0]]


def rows(n=90, p=4, seed=0):
    """Rows of features of several sizes, and scores of three outputs that they are about."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, p) * [1.0, 1e3, 1e-3, 5.0][:p] + [0.0, 1e4, 0.0, -3.0][:p]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, Z[:, :3] + 0.3 * rng.randn(n, 3)


def with_gaps(X, seed=1):
    """The rows, a tenth of them missing, and as many again times ten."""
    gaps = np.random.RandomState(seed).rand(*X.shape) < 0.1
    return np.vstack([np.where(gaps, np.nan, X), 10.0 * X])


def sequences(n=25, p=4, k=3, seed=0):
    """Sequences of lengths 1 to 6, and labels that depend on their rows and on the label before."""
    rng = np.random.RandomState(seed)
    X, y = [], []
    for _ in range(n):
        x = rng.randn(rng.randint(1, 7), p) + 2.0
        codes = np.argmax(x[:, :k] + 0.4 * rng.randn(len(x), k), axis=1)
        codes[1:] = np.where(rng.rand(len(x) - 1) < 0.3, codes[:-1], codes[1:])
        X.append(x)
        y.append(np.array(["a", "b", "c"])[codes])
    return X, y


def outputs(kind):
    """Rows, and outputs of a kind of them."""
    X, S = rows()
    y = {
        "classes": np.array(["no", "yes", "maybe"])[S.argmax(axis=1)],
        "labels": (S > 0.2).astype(int),
        "grades": (S > 0.0).sum(axis=1),
        "ranks": np.argsort(np.argsort(S, axis=1), axis=1) + 1,
        "subsets": (S.min(axis=1, keepdims=True) < S).astype(int),
    }[kind]
    return X, y


def over(kind, space, **parameters):
    """An online learner with fitted outputs of a kind."""
    return predictor(**{"space": space, "standardize": True} | parameters), *outputs(kind)


def streamed(kind, space, **parameters):
    """The learner of streams, a mixture of experts."""
    return sk.OnlineStructuredPredictor(space, random_state=0, **parameters), *outputs(kind)


#: name -> estimator, rows and outputs that it learns.
CASES = {
    "classes": over("classes", "simplex"),
    "classes, no intercept": over("classes", "simplex", fit_intercept=False),
    "classes, as they are": over("classes", "simplex", standardize=False),
    "classes, sparsemax": over("classes", "simplex", regularizer="squared"),
    "classes, entmax": over("classes", "simplex", regularizer="tsallis"),
    "classes, indicators": over("classes", "simplex", missing="indicator"),
    "classes, gaps refused": over("classes", "simplex", missing="error"),
    "classes, map": over("classes", "simplex", decoder="map"),
    "classes, costs": over("classes", Simplex(COSTS), decoder="min_risk"),
    "classes, hinge": over("classes", "simplex", loss="hinge", decoder="gap"),
    "classes, a perceptron": over("classes", "simplex", loss="perceptron", decoder="map"),
    "classes, the last weights": over("classes", "simplex", average=False),
    "classes, mixed": streamed("classes", "simplex"),
    "classes, mixed, the last": streamed("classes", "simplex", average=False),
    "classes, mixed, indicators": streamed("classes", "simplex", missing="indicator"),
    "classes, mixed, sparsemax": streamed("classes", "simplex", regularizer="squared"),
    "labels": over("labels", "hypercube"),
    "labels, clipped": over("labels", "hypercube", regularizer="squared"),
    "labels, map": over("labels", "hypercube", decoder="map"),
    "labels, hinge": over("labels", "hypercube", loss="hinge"),
    "labels, thresholds": over("labels", "hypercube", decoder=Threshold([0.2, 0.5, 0.7])),
    "labels, mixed": streamed("labels", "hypercube"),
    "grades": over("grades", "ordinal"),
    "grades, isotonic": over("grades", "ordinal", regularizer="squared"),
    "grades, map": over("grades", "ordinal", decoder="map"),
    "grades, hinge": over("grades", "ordinal", loss="smooth_hinge"),
    "grades, costs": over(
        "grades",
        OrdinalChain(cost_matrix=np.abs(np.subtract.outer(range(4), range(4))) ** 2.0),
        decoder="min_risk",
    ),
    "grades, mixed": streamed("grades", "ordinal"),
    "ranks": over("ranks", "permutahedron"),
    "ranks, mixed": streamed("ranks", "permutahedron"),
    "subsets": over("subsets", KSubsets(2)),
    "gaptron": (sk.GaptronClassifier(random_state=0), *outputs("classes")),
    "gaptron, logistic": (sk.GaptronClassifier("logistic", random_state=0), *outputs("classes")),
    "perceptron": (sk.MulticlassPerceptron(random_state=0), *outputs("classes")),
    "pistol": (sk.PiSTOLClassifier(random_state=0), *outputs("classes")),
    "pistol, hinge": (sk.PiSTOLClassifier(loss="hinge", random_state=0), *outputs("classes")),
    "pistol, two classes": (sk.PiSTOLClassifier(random_state=0), *binary_stream()),
    "pistol, numbers": (sk.PiSTOLRegressor(random_state=0), rows()[0], 7 + 30 * rows()[1][:, 0]),
    "folklore": (sk.FolkloreClassifier(random_state=0), *outputs("classes")),
    "folklore, mixed": (sk.FolkloreClassifier(B=(0.5, 2), random_state=0), *outputs("classes")),
    "folklore, wide": (sk.FolkloreClassifier(B=6.0, random_state=0), *outputs("classes")),
    "folklore, random": (
        sk.FolkloreClassifier(iterate="random", R=4.0, long_rows="rescale", random_state=0),
        *outputs("classes"),
    ),
    "folklore, indicators": (
        sk.FolkloreClassifier(missing="indicator", random_state=0),
        *outputs("classes"),
    ),
    "aioli": (sk.AioliClassifier(random_state=0), *binary_stream()),
    "field": (sk.ConditionalRandomField(random_state=0, alpha=0.01), *sequences()),
    "field, map": (sk.ConditionalRandomField(decoder="map", alpha=0.01), *sequences()),
    "field, features": (
        sk.ConditionalRandomField(transitions="features", alpha=0.01),
        *sequences(),
    ),
    "field, costs": (
        sk.ConditionalRandomField(LabelSequence(COSTS), decoder="min_risk", alpha=0.01),
        *sequences(),
    ),
    "field of classes": (sk.ConditionalRandomField("simplex", alpha=0.01), *outputs("classes")),
    "field of grades": (sk.ConditionalRandomField("ordinal", alpha=0.01), *outputs("grades")),
    "sequences": over("classes", "sequence")[:1] + sequences(),
    "sequences, mixed": (sk.OnlineStructuredPredictor("sequence", random_state=0), *sequences()),
    "sequences, projected": (
        predictor(space="sequence", standardize=True, regularizer="squared", decoder="map"),
        *sequences(),
    ),
    "max-min": (sk.MaxMinMarginNetwork(alpha=0.01, random_state=0), *outputs("classes")),
    "support vectors": (
        sk.StructuralSVM("hypercube", alpha=0.01, random_state=0),
        *outputs("labels"),
    ),
    "support vectors of grades": (
        sk.StructuralSVM("ordinal", alpha=0.01, random_state=0),
        *outputs("grades"),
    ),
    "support vectors of sequences": (
        sk.StructuralSVM("sequence", alpha=0.1, random_state=0),
        *sequences(),
    ),
    "least squares": (sk.QuadraticSurrogate(alpha=0.01), *outputs("classes")),
    "least squares of ranks": (
        sk.QuadraticSurrogate("permutahedron", alpha=0.01),
        *outputs("ranks"),
    ),
}

#: Learned in one pass and as a stream, where that gives a mixture of experts.
STREAMS = [name for name in CASES if "mixed" in name and "folklore" not in name]


def fitted(name):
    """The estimator of a case, fitted, and new rows for it."""
    estimator, X, y = CASES[name]
    estimator = clone(estimator)
    weight = np.random.RandomState(2).rand(len(y)) + 0.1
    if name in STREAMS:
        classes = {"classes": np.unique(y)} if name.startswith("classes") else {}
        if name.startswith("grades"):
            classes = {"classes": np.unique(y)}
        if name.startswith("sequences"):
            classes = {"classes": ["a", "b", "c"]}
        estimator.partial_fit(X, y, sample_weight=weight, **classes)
    elif name == "pistol, numbers":
        estimator.fit(X, y, sample_weight=weight)
    else:
        estimator.fit(X, y, sample_weight=weight)
    if isinstance(X, list):
        return estimator, [x + 0.5 for x in X] + [np.where(x > 3.0, np.nan, x) for x in X[:5]]
    gaps = name not in ("classes, gaps refused", "classes, as they are")
    return estimator, with_gaps(X) if gaps else np.vstack([X, 10.0 * X])


METHODS = ("predict", "predict_proba", "predict_marginals")


def compare(estimator, X, found):
    """`found(name)` of every method is that of the estimator; the names of those there are."""
    there = [name for name in METHODS if hasattr(estimator, name)]
    if getattr(getattr(estimator, "loss_", None), "projects", False):
        there.remove("predict_marginals")  # projections, which are not exported
    for name in there:
        wanted, got = getattr(estimator, name)(X), found(name)
        assert len(wanted) == len(got)
        for a, b in zip(wanted, got, strict=True):
            if name == "predict" and np.asarray(a).dtype.kind != "f":
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(b, a, rtol=1e-11 * (name == "predict"), atol=1e-12)
    return there


@pytest.mark.parametrize("name", CASES)
def test_predictions_are_those_of_the_estimator(name):
    estimator, X = fitted(name)
    plain = to_numpy(estimator)
    there = compare(estimator, X, lambda method: getattr(plain, method)(X))
    assert [name for name in METHODS if hasattr(plain, name)] == there


@pytest.mark.skipif(INTERPRETED, reason="another process, as before")
def test_a_machine_with_numpy_alone(tmp_path):
    models = {}
    for folder in ("given", "found"):
        (tmp_path / folder).mkdir()
    for i, name in enumerate(CASES):
        estimator, X = models[i] = fitted(name)
        to_numpy(estimator).save(tmp_path / f"model{i}.npz")
        given = {f"x{j:03d}": x for j, x in enumerate(X)} if isinstance(X, list) else {"X": X}
        np.savez(tmp_path / "given" / f"model{i}.npz", **given)
    bare = [sys.executable, "-W", "error", "-c", BARE, str(tmp_path)]
    done = subprocess.run(bare, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    for i, (estimator, X) in models.items():
        with np.load(tmp_path / "found" / f"model{i}.npz") as found:

            def parts(method, found=found, X=X):
                names = sorted(name for name in found if name.startswith(f"{method}-"))
                return [found[n] for n in names] if isinstance(X, list) else found[names[0]]

            compare(estimator, X, parts)


@pytest.mark.parametrize("name", sorted({**EVERY_LEARNER, **BINARY_LEARNERS}))
def test_every_learner_is_exported_or_refused_by_its_name(name):
    learner = clone({**EVERY_LEARNER, **BINARY_LEARNERS}[name])
    X, y = binary_stream(n=40)
    learner.fit(X, y)
    try:
        plain = to_numpy(learner)
    except ValueError as error:
        assert str(error).startswith(type(learner).__name__) and "to_numpy exports" in str(error)
    else:
        compare(learner, X, lambda method: getattr(plain, method)(X))


@pytest.mark.parametrize(
    ("learner", "kind", "said"),
    [
        (sk.KernelStructuredPredictor(), "classes", "with kernel='rbf'"),
        (sk.PiSTOLClassifier("rbf"), "classes", "with kernel='rbf'"),
        (sk.MaxMinMarginNetwork(kernel="rbf", alpha=0.1), "classes", "with kernel='rbf'"),
        (predictor(space="birkhoff"), "positions", "over Birkhoff"),
        (predictor(space=SpanningTrees([(0, 1), (0, 2), (1, 2)], 3)), "subsets", "SpanningTrees"),
        (predictor(space="hypercube", decoder="f1"), "labels", "with decoder='f1'"),
        (sk.FolkloreClassifier(structure="diagonal"), "classes", "with structure='diagonal'"),
        (sk.OnlineNewtonClassifier(), "classes", "OnlineNewtonClassifier"),
        (predictor(space="sequence", regularizer="squared"), "sequences", 'regularizer="squared"'),
    ],
)
@pytest.mark.filterwarnings("ignore::skstructured.GuaranteeWarning")
def test_what_is_not_exported_is_named(learner, kind, said):
    if kind == "sequences":
        X, y = sequences()
    elif kind == "positions":
        X, y = outputs("ranks")[0], outputs("ranks")[1] - 1
    else:
        X, y = outputs(kind)
    with pytest.raises(ValueError, match="is not exported: to_numpy exports Online") as caught:
        to_numpy(clone(learner).fit(X, y))
    assert said in str(caught.value)


def test_subclasses_of_users_and_strangers_are_refused():
    class Mine(sk.OnlineStructuredPredictor):
        def predict(self, X):
            return np.zeros(len(X))

    X, y = outputs("classes")
    with pytest.raises(ValueError, match="Mine is not an estimator of this package"):
        to_numpy(Mine(random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="of mixed or other types"):
        to_numpy(predictor().fit(X, np.array([date(2020, 1, 1), date(2021, 1, 1)] * 45)))
    with pytest.raises(NotFittedError):
        to_numpy(predictor())
    with pytest.raises(TypeError, match="must be a fitted estimator, got 3"):
        to_numpy(3)


def test_bad_rows_are_told():
    X, y = outputs("classes")
    plain = to_numpy(predictor(missing="error").fit(X, y))
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        plain.predict(np.full((2, 4), np.nan))
    with pytest.raises(ValueError, match=r"X must have shape \(n, 4\), got \(2, 3\)"):
        plain.predict(X[:2, :3])
    plain = to_numpy(predictor(standardize=True).fit(X, y))
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        plain.predict(np.full((2, 4), np.inf))
    with pytest.raises(AttributeError, match="predict_marginals"):
        _ = plain.predict_marginals
    limited = to_numpy(sk.FolkloreClassifier(R=20.0, random_state=0).fit(X, y))
    with pytest.raises(ValueError, match="rows longer than R=20"):
        limited.predict(1e6 * X)


def test_files(tmp_path):
    X, y = outputs("classes")
    model = predictor().fit(X, y)
    plain = to_numpy(model)
    with pytest.raises(ValueError, match=r"path must end in .npz, got 'model.onnx'"):
        plain.save("model.onnx")
    plain.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["classes", "coef", "fill", "intercept"]
        np.testing.assert_array_equal(arrays["coef"], model.coef_)
    text = (tmp_path / "model.py").read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip() and '"""' not in line]
    assert len(code) < 35 and f"skstructured {sk.__version__}" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.npz", "model.py"]


def test_what_is_exported_stays_as_it_was():
    X, y = outputs("classes")
    model = predictor(average=False, standardize=False).fit(X, y)
    plain = to_numpy(model)
    before, wanted = model.predict_proba(X), plain.predict_proba(X)
    model.partial_fit(X[:30], y[:30])
    assert np.abs(model.predict_proba(X) - before).max() > 0.0
    np.testing.assert_array_equal(plain.predict_proba(X), wanted)


@pytest.mark.parametrize("optimizer", ["mixture", "parameter_free"])
def test_the_weights_are_those_that_predict(optimizer):
    X, y = outputs("classes")
    model = sk.OnlineStructuredPredictor(optimizer=optimizer, random_state=0)
    model.partial_fit(X, y, classes=np.unique(y))
    averaged = to_numpy(model).predict_proba(X)
    model.set_params(average=False)
    compare(model, X, lambda method: getattr(to_numpy(model), method)(X))
    assert np.abs(model.predict_proba(X) - averaged).max() > 1e-3
