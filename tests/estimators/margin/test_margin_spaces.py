"""Max-margin models of matchings, rank vectors and spaces of a user's own; sample weights."""

import warnings

import numpy as np
import pytest
from example_spaces import KSubsets
from margin_problems import DUAL, EXACT, MODELS, OTHERS, PlainSubsets, problem, words
from naive import margin as naive
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from skstructured import (
    ConditionalRandomField,
    MaxMinMarginNetwork,
    QuadraticSurrogate,
    StructuralSVM,
)
from skstructured.estimators.margin import _atoms
from skstructured.estimators.margin._outputs import outputs_of


@pytest.mark.interpreted
@pytest.mark.parametrize("scale", [0.0, 0.1, 1.0, 1e4])
@pytest.mark.parametrize("name", OTHERS)
def test_oracles_equal_a_linear_program(name, scale):
    _, _, space, V, L, _ = problem(name)
    rng, outputs, dim = np.random.RandomState(1), outputs_of(space, None), V.shape[1]
    A, a, b, number = outputs._bilinear(V)
    oracle, game = outputs.oracle(), (0, (A, a, b), 0.0, np.ones((1, 1)))
    for i in range(3):
        v, mu, nu = scale * rng.randn(dim), V[i].copy(), V[i].copy()
        columns = rows = V[i : i + 1].copy(), np.ones(1)
        for _ in range(12):  # each leaves a tenth of the gap, at most
            mu, columns, rows = _atoms.visit(oracle, True, 0.0, game, v, mu, columns, rows, nu)
        costs = V @ (b + (A[0, 0] * mu if A.size == 1 else A @ mu))
        value = costs.min() + a @ mu + number + v @ mu
        assert value == pytest.approx(naive.max_min(L, V, v), rel=1e-8, abs=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_compiled_and_plain_oracles_learn_the_same():
    X, y, *_ = problem("subsets", n=20)
    for kind in MODELS:
        given = {"alpha": 0.05} | ({"random_state": 0, "max_iter": 15} if kind in DUAL else {})
        first, second = (kind(one(k=2), **given).fit(X, y) for one in (KSubsets, PlainSubsets))
        np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-6)
        np.testing.assert_array_equal(first.predict(X), second.predict(X))


class Squared(KSubsets):
    """A loss that is not affine in the mean."""

    def expected_loss(self, mu, V):
        """A square."""
        return np.einsum("nd,nd->n", mu - V, mu - V) / 4.0 * (mu.max(axis=1) + 1.0)


class Crooked(KSubsets):
    """A loss that is affine in the mean, but not in the truth."""

    def expected_loss(self, mu, V):
        """Worse where the first two labels are true."""
        return super().expected_loss(mu, V) * np.where(V[:, 0] * V[:, 1] > 0.0, 1.0, 0.5)


class Wrong(PlainSubsets):
    """Costs of another loss."""

    def target_costs(self, V):
        """Twice what they should be."""
        return -2.0 * V / self.k, np.ones(len(V))


def test_losses_that_cannot_be_learned():
    X, y, *_ = problem("subsets", n=12)
    for kind in MODELS:
        for space in (Squared(k=2), Wrong(k=2)):
            with pytest.raises(
                ValueError, match=r"expected_loss must return a loss that is affine"
            ):
                kind(space).fit(X, y)
    with pytest.raises(ValueError, match="affine in the true output too"):
        MaxMinMarginNetwork(Crooked(k=2)).fit(X, y)
    assert StructuralSVM(Crooked(k=2), alpha=0.1).fit(X, y).score(X, y) > 0.5


def weighted_and_repeated(model, X, y):
    """Scores of a fit with weights 0 to 3, and of one with rows as often as that."""
    weights = np.random.RandomState(1).randint(4, size=len(y))
    weights[:3] = 0, 1, 2
    which = np.repeat(np.arange(len(y)), weights)
    take = (lambda A: [A[i] for i in which]) if isinstance(X, list) else lambda A: A[which]
    models = clone(model).fit(X, y, sample_weight=weights), clone(model).fit(take(X), take(y))
    return models, [one.decision_function(X) for one in models]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "name", ["simplex", "ordinal", "hypercube", "sequence", "permutahedron", "trees"]
)
@pytest.mark.parametrize("kind", MODELS)
def test_weights_are_repetitions(kind, name, kernel):
    if name in OTHERS:
        X, y, space, *_ = problem(name, n=8)
    elif name == "sequence":
        (X, y), space = words(2, (2, 4, 1), n=6), name
    else:
        X, space, y = np.random.RandomState(0).randn(8, 3), name, np.arange(8) % 3
        y = np.eye(3, dtype=int)[y] if name == "hypercube" else y
    given = {"alpha": 0.3, "standardize": False, "kernel": kernel, "gamma": 0.5}
    model = kind(space, **given, **(EXACT if kind in DUAL else {}))
    (weighted, plain), (one, two) = weighted_and_repeated(model, X, y)
    assert weighted.loss_curve_[-1] == pytest.approx(plain.loss_curve_[-1], rel=1e-6)
    np.testing.assert_allclose(np.concatenate(one), np.concatenate(two), atol=1e-3)
    assert not weighted.dual_coef_[0].any()  # the first has weight 0


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
@pytest.mark.parametrize(
    "model",
    [
        QuadraticSurrogate(alpha=0.05),
        QuadraticSurrogate("hypercube", alpha=0.05),
        MaxMinMarginNetwork(max_iter=1),
        StructuralSVM(max_iter=1),
        ConditionalRandomField("simplex", kernel="rbf", max_iter=1),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.space}",
)
def test_weights_are_repetitions_with_every_default(model, kernel, sparse_rows):
    """The bandwidth, the scale of the features and alpha are those of the rows as repeated."""
    rng = np.random.RandomState(0)
    X, y = rng.randn(14, 3) * [1, 10, 100], np.arange(14) % 3
    X[0] *= 50.0  # of weight 0
    y = np.eye(3, dtype=int)[y] if model.space == "hypercube" else y
    X = sparse.csr_matrix(X * (rng.rand(14, 3) < 0.7)) if sparse_rows else X
    model = clone(model).set_params(kernel=kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both, (one, two) = weighted_and_repeated(model, X, y)
    scales = [one._scaling.scale for one in both if hasattr(one, "_scaling")] or [0, 0]
    np.testing.assert_allclose(scales[0], scales[1], rtol=1e-12)
    if kernel != "linear":
        gammas = [one._kernel.parameters["gamma"] for one in both]
        assert gammas[0] == pytest.approx(gammas[1], rel=1e-12)
    if isinstance(model, QuadraticSurrogate):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [MaxMinMarginNetwork, StructuralSVM])
def test_alpha_of_sequences_is_of_the_mean_length_as_repeated(kind):
    rng = np.random.RandomState(0)
    lengths = [9, 2, 3, 1, 4]
    X, y = [rng.randn(m, 2) for m in lengths], [rng.randint(2, size=m) for m in lengths]
    y[2][:2] = 0, 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both, _ = weighted_and_repeated(kind("sequence", max_iter=3, random_state=0), X, y)
    assert both[0].alpha_ == pytest.approx(both[1].alpha_, rel=1e-12)


@pytest.mark.parametrize("given", [{}, {"kernel": "rbf", "gamma": 0.3}])
@pytest.mark.parametrize("name", ["tall", "wide", "sequence"])
def test_the_quadratic_surrogate_leaves_rows_out(name, given):
    """Labels of rows go by a feature a thousand times smaller than the others."""
    rng = np.random.RandomState(0)
    X = rng.randn(12, 14 if name == "wide" else 3)
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 0.8)
    X[:, 0] *= 1e-3
    X, y = words(2, (2, 1, 3), n=7) if name == "sequence" else (X, y)
    weights = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 0.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0])[: len(y)]
    space = name if name == "sequence" else "simplex"
    model = QuadraticSurrogate(space, alpha="path", standardize=False, **given)
    model.fit(X, y, sample_weight=weights)
    losses = np.zeros((20, len(y)))
    for j, i in np.ndindex(losses.shape):
        rest = np.where(np.arange(len(y)) == i, 0.0, weights)
        alpha = 2.0 ** -(j + 1) * weights.sum() / rest.sum()  # shares of the others grow
        one = clone(model).set_params(alpha=alpha).fit(X, y, sample_weight=rest)
        losses[j, i] = np.mean(one.predict(X[i : i + 1])[0] != y[i])
    expected = losses @ weights / weights.sum()
    np.testing.assert_allclose(model.alpha_losses_, expected, atol=1e-12)
