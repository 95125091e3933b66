"""Learners behind river's own adapter for estimators of scikit-learn."""

import numpy as np
import pytest

import skstructured as sk

compat = pytest.importorskip("river.compat", reason="river is not installed")


def test_rows_one_by_one_are_rows(rng):
    X, y = rng.randn(40, 3), rng.randint(3, size=40)
    model = compat.SKL2RiverClassifier(sk.OnlineStructuredPredictor(random_state=0), [0, 1, 2])
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abc", row, strict=True)), label)
    alone = sk.OnlineStructuredPredictor(random_state=0).partial_fit(X, y, classes=range(3))
    for row in X:
        found = model.predict_proba_one(dict(zip("abc", row.tolist(), strict=True)))
        wanted = alone.predict_proba(row[None])[0]
        np.testing.assert_allclose([found[k] for k in range(3)], wanted, rtol=1e-12)


def test_numbers_one_by_one(rng):
    X = rng.randn(40, 3)
    y = X @ [1.0, -0.5, 0.0]
    model = compat.convert_sklearn_to_river(sk.PiSTOLRegressor(random_state=0))
    for row, number in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip("abc", row, strict=True)), number)
    alone = sk.PiSTOLRegressor(random_state=0).partial_fit(X, y)
    found = [model.predict_one(dict(zip("abc", row, strict=True))) for row in X.tolist()]
    np.testing.assert_allclose(found, alone.predict(X), rtol=1e-12)
