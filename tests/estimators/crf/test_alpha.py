"""`alpha="auto"` of conditional random fields, beside the same search by hand."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from skstructured import ConditionalRandomField
from skstructured.estimators.crf.estimator import ALPHA_STRENGTHS, best_alpha


def rows(n, seed=0, K=3):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 4)
    return X, np.argmax(X[:, :K] + 1.5 * rng.gumbel(size=(n, K)), axis=1)


def by_hand(model, X, y, parts):
    """Mean losses of the strengths that are tried, from fits to the others alone."""
    found, n = [], len(y)
    for strength in ALPHA_STRENGTHS:
        losses = []
        for part in parts:
            rest = np.setdiff1d(np.arange(n), part)
            one = clone(model).set_params(alpha=strength / n).fit(X[rest], y[rest])
            theta = one.embedding_scores(X[part])
            losses += one.loss_.value(theta, one.space_.encode(y[part])).tolist()
        found.append(np.mean(losses))
        if len(found) > np.argmin(found) + 1:
            return found
    return found


@pytest.mark.parametrize("space", ["simplex", "ordinal", "hypercube"])
@pytest.mark.parametrize("n", [60, 100 + 40])
def test_losses_are_those_of_fits_to_the_others(space, n):
    X, y = rows(n)
    y = np.eye(3, dtype=int)[y] if space == "hypercube" else y
    model = ConditionalRandomField(space, random_state=0, tol=1e-12, max_iter=10_000).fit(X, y)
    order = np.random.RandomState(0).permutation(n)
    n_parts = 5 if n <= 100 else 1
    parts = [order[i::5] for i in range(n_parts)]
    wanted = by_hand(model, X, y, parts)
    np.testing.assert_allclose(model.alpha_path_[:, 1], wanted, rtol=1e-6)
    np.testing.assert_allclose(
        model.alpha_path_[:, 0], ALPHA_STRENGTHS[: len(wanted)] / np.array(n)
    )
    alike = np.array(wanted) <= 1.003 * np.min(wanted)
    assert model.alpha_ == model.alpha_path_[np.argmax(alike), 0]


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ((0.5, 0.4, 0.4), 2.0),
        ((0.401, 0.4, 0.5), 3.0),
        ((0.402, 0.4, 0.5), 2.0),
        ((0.405, 0.4, 0.39), 1.0),
    ],
)
def test_of_those_alike_the_largest(losses, best):
    assert best_alpha(np.column_stack([[3.0, 2.0, 1.0], losses])) == best


@pytest.mark.parametrize("warm_start", [False, True])
def test_what_is_learned_is_what_that_alpha_learns(warm_start):
    X, y = load_iris(return_X_y=True)
    given = {"random_state": 0, "warm_start": warm_start, "tol": 1e-8}
    model = ConditionalRandomField("simplex", **given).fit(X, y)
    fixed = clone(model).set_params(alpha=model.alpha_).fit(X, y)
    np.testing.assert_allclose(model.coef_, fixed.coef_, atol=1e-2)  # both near the optimum
    assert fixed.alpha_ == model.alpha_ and not hasattr(fixed, "alpha_path_")
    assert model.get_params()["alpha"] == "auto"
    again = model.fit(X, y)
    assert again.alpha_ == fixed.alpha_ and np.abs(again.coef_ - fixed.coef_).max() < 0.01
    assert not hasattr(model.set_params(alpha=0.1).fit(X, y), "alpha_path_")


def test_noise_is_regularised_and_what_is_sure_is_not():
    X = rows(300)[0]
    noise = np.random.RandomState(1).randint(2, size=300)
    alphas = [
        ConditionalRandomField("simplex").fit(X, y).alpha_
        for y in (noise, (X[:, 0] > 0.0).astype(int))
    ]
    assert alphas[0] >= 10.0 / 300 > 0.1 / 300 >= alphas[1]


def test_rows_of_weight_zero_are_no_rows():
    X, y = rows(80)
    weight = (np.arange(80) % 4 > 0) * 1.5
    kept = weight > 0.0
    found = ConditionalRandomField("simplex", random_state=0).fit(X, y, weight)
    wanted = ConditionalRandomField("simplex", random_state=0).fit(X[kept], y[kept], weight[kept])
    np.testing.assert_allclose(found.alpha_path_, wanted.alpha_path_, rtol=1e-3)
    np.testing.assert_allclose(found.coef_, wanted.coef_, rtol=1e-2, atol=1e-3)


def test_few_rounds_are_learned_with_the_alpha_of_logistic_regression():
    X, y = rows(9)
    model = ConditionalRandomField("simplex").fit(X, y)
    assert model.alpha_ == 1.0 / 9.0 and not hasattr(model, "alpha_path_")


@pytest.mark.parametrize(
    ("space", "given"),
    [
        ("simplex", {"kernel": "rbf"}),
        ("sequence", {}),
        ("birkhoff", {}),
    ],
)
def test_by_every_solver_and_over_sequences(space, given, rng):
    X, y = rows(30)
    if space == "sequence":
        X, y = [rng.randn(3, 2) for _ in range(30)], [rng.randint(2, size=3) for _ in range(30)]
    elif space == "birkhoff":
        y = np.argsort(rng.randn(30, 3), axis=1)
    model = ConditionalRandomField(space, random_state=0, **given).fit(X, y)
    assert len(model.alpha_path_) >= 2 and np.isfinite(model.alpha_path_).all()
    assert 0.0 <= model.score(X, y) <= 1.0


def test_csr_rows_are_searched_as_dense_ones():
    X, y = rows(60)
    given = {"standardize": False, "random_state": 0, "tol": 1e-14}
    dense = ConditionalRandomField("simplex", **given).fit(X, y)
    csr = ConditionalRandomField("simplex", **given).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(dense.alpha_path_, csr.alpha_path_, rtol=1e-7)


def test_the_last_fit_starts_from_the_best(monkeypatch, rng):
    X = rng.randn(150, 4)
    y = (X[:, 0] + rng.randn(150) > 0).astype(int)
    starts, solve = [], ConditionalRandomField._solve

    def spied(self, batch, share, before):
        solve(self, batch, share, before)
        starts.append((self.alpha_, before, self.coef_))

    monkeypatch.setattr(ConditionalRandomField, "_solve", spied)
    model = ConditionalRandomField("simplex", random_state=0).fit(X, y)
    *tried, (alpha, before, _) = starts
    best = next(coef for tried_alpha, _, coef in tried if tried_alpha == alpha)
    assert alpha == model.alpha_ and len(tried) == len(model.alpha_path_)
    np.testing.assert_array_equal(before[0], best)
