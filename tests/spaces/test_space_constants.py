"""Constants of polytopes, losses and ties of spaces, against enumeration and convex programs."""

import itertools

import numpy as np
import pytest
from example_spaces import KSubsets
from scipy.optimize import linprog, nnls

from skstructured.spaces import (
    Birkhoff,
    Hypercube,
    LabelSequence,
    OrdinalChain,
    Permutahedron,
    Simplex,
)


def costs(k):
    """Costs that are not symmetric, the largest of them 1."""
    A = np.random.RandomState(k).rand(k, k) + 0.1
    np.fill_diagonal(A, 0.0)
    return A / A.max()


def ones(d, k):
    return [[1] * k + [0] * (d - k)]


#: Fitted spaces.
SPACES = {
    "simplex 2": Simplex().fit([0, 1]),
    "simplex 5": Simplex().fit(range(5)),
    "hypercube 1": Hypercube().fit([[0]]),
    "hypercube 4": Hypercube().fit([[0] * 4]),
    "ordinal 4": OrdinalChain().fit(range(5)),
    "birkhoff 2": Birkhoff().fit([[0, 1]]),
    "birkhoff 3": Birkhoff().fit([[0, 1, 2]]),
    "permutahedron 3": Permutahedron().fit([[1, 2, 3]]),
    "permutahedron 4": Permutahedron().fit([[1, 2, 3, 4]]),
    "subsets 2 of 5": KSubsets(k=2).fit(ones(5, 2)),
    "subsets 3 of 4": KSubsets(k=3).fit(ones(4, 3)),
}

COSTLY = {
    "simplex with costs": Simplex(costs(4)).fit(range(4)),
    "ordinal with costs": OrdinalChain(cost_matrix=costs(4)).fit(range(4)),
}


def largest_ratio(D, losses, norm):
    """The largest Σ w_j losses_j/‖Σ w_j D_j‖ of weights w ≥ 0: on rays from a vertex."""
    if norm == "l2":  # the length of a projection on the cone of D
        c = np.linalg.lstsq(D, losses, rcond=None)[0]
        assert np.abs(D @ c - losses).max() < 1e-9
        return np.sqrt(max(c @ c - nnls(D.T, c)[1] ** 2, 0.0))
    m, d = D.shape  # Dᵀw = p − n with Σ p + n ≤ 1
    A_eq = np.column_stack([D.T, -np.eye(d), np.eye(d)])
    A_ub = np.r_[np.zeros(m), np.ones(2 * d)][None]
    found = linprog(np.r_[-losses, np.zeros(2 * d)], A_ub, [1.0], A_eq, np.zeros(d))
    assert found.status == 0
    return -found.fun


def attained(space, norm):
    """The least γ with L(μ; y) ≤ γ ‖μ − y‖ for all means μ."""
    V, found = space.vertices(), []
    for i, v in enumerate(V):
        others = np.delete(V, i, axis=0)
        losses = space.expected_loss(others, np.tile(v, (len(others), 1)))
        found.append(largest_ratio(others - v, losses, norm))
    return max(found)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", SPACES)
def test_constants_of_spaces_are_the_best_there_are(name, norm):
    space = SPACES[name]
    V, k = space.vertices(), space.geometry(norm)
    order = 1 if norm == "l1" else 2
    apart = [np.linalg.norm(a - b, ord=order) for a, b in itertools.combinations(V, 2)]
    assert k.nu == pytest.approx(min(apart), rel=1e-12)
    assert k.diameter == pytest.approx(max(apart), rel=1e-12)
    assert k.gamma == pytest.approx(attained(space, norm), rel=1e-7)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", COSTLY)
def test_gamma_with_costs_is_their_bound(name, norm):
    space, A = COSTLY[name], costs(4)
    gamma = space.geometry(norm).gamma
    assert gamma >= attained(space, norm) - 1e-9
    if name.startswith("simplex"):
        wanted = 0.5 if norm == "l1" else np.sqrt(3.0) / 2.0
    else:
        wanted = max(A[i, j] / abs(i - j) for i, j in itertools.permutations(range(4), 2))
        wanted *= 1.0 if norm == "l1" else np.sqrt(3.0)
    assert gamma == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", COSTLY)
def test_expected_losses_are_costs_with_a_row_per_true_class(name):
    space, A = COSTLY[name], costs(4).T
    V = space.vertices()
    i, j = np.indices((4, 4)).reshape(2, -1)
    np.testing.assert_allclose(space.expected_loss(V[i], V[j]), A[i, j], atol=1e-12)
    np.testing.assert_allclose(space.target_loss(i, j), A[i, j], atol=1e-12)
    p = np.random.RandomState(0).dirichlet(np.ones(4), size=4)
    np.testing.assert_allclose(space.expected_loss(p @ V, V), np.diag(p @ A), atol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_constants_of_sequences(length):
    space = LabelSequence().fit([[0, 1, 2]])
    V, codes = space.vertices(length), np.indices((3,) * length).reshape(length, -1).T
    losses = (codes[:, None] != codes[None]).mean(axis=2)
    for norm, order in (("l1", 1), ("l2", 2)):
        k = space.geometry(norm, length=length)
        apart = [np.linalg.norm(a - b, ord=order) for a, b in itertools.combinations(V, 2)]
        assert k.nu == pytest.approx(min(apart), rel=1e-12)
        assert k.diameter == pytest.approx(max(apart), rel=1e-12)
        for i in range(len(V)):
            others = np.arange(len(V)) != i
            found = np.linalg.norm(V[others] - V[i], ord=order, axis=1)
            assert np.all(losses[others, i] <= k.gamma * found + 1e-12)
            assert largest_ratio(V[others] - V[i], losses[others, i], norm) <= k.gamma + 1e-7


def test_losses_of_sequences_are_means_over_their_own_positions():
    A = costs(3)
    space = LabelSequence(A).fit([[0, 1, 2]])
    predicted, true = [[0, 1, 2], [1], [2, 2]], [[1, 1, 0], [2], [0, 1]]
    wanted = [
        np.mean([A[a, b] for a, b in zip(*both, strict=True)])
        for both in zip(true, predicted, strict=True)
    ]
    np.testing.assert_allclose(space.target_loss(predicted, true), wanted, atol=1e-12)
    packed = space.pack(predicted), space.pack(true)
    np.testing.assert_allclose(space.expected_loss(*packed), wanted, atol=1e-12)


def test_ties_of_nearest_vertices():
    """½ is no label, the lower grade of two, the first class, and the first items of equals."""
    assert SPACES["hypercube 4"].nearest([[0.5, 0.4, 0.6, 1.0]]).tolist() == [[0, 0, 1, 1]]
    assert SPACES["hypercube 4"].argmax([[0.0, -1.0, 1.0, 0.0]]).tolist() == [[0, 0, 1, 0]]
    assert SPACES["ordinal 4"].nearest([[1.0, 0.5, 0.5, 0.2]]).tolist() == [[1, 0, 0, 0]]
    assert SPACES["simplex 5"].nearest([[0.1, 0.4, 0.1, 0.4, 0.0]]).tolist() == [[0, 1, 0, 0, 0]]
    assert SPACES["permutahedron 4"].argmax([[0.0, 1.0, 0.0, 1.0]]).tolist() == [[2, 4, 1, 3]]
    assert SPACES["subsets 2 of 5"].argmax([[0, 1, 0, 0, 0]]).tolist() == [[1, 1, 0, 0, 0]]


def test_positions_of_items_are_decoded_by_rows():
    space, y = SPACES["birkhoff 3"], np.array([[1, 2, 0], [0, 2, 1]])
    V = space.encode(y).reshape(2, 3, 3)
    for row, matrix in zip(y, V, strict=True):
        assert [int(np.flatnonzero(line)[0]) for line in matrix] == row.tolist()
    np.testing.assert_array_equal(space.decode(V.reshape(2, 9)), y)
