"""The space of paths in a grid: its oracle, its constants, and its bound on the regret of costs."""

import itertools

import numpy as np
import pytest
from conftest import INTERPRETED
from grid_paths import GridPaths, normalized_regret, simulate
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from sklearn.linear_model import LinearRegression

from skstructured import OnlineStructuredPredictor
from skstructured.decoders import Randomized
from skstructured.losses import FenchelYoung
from skstructured.utils import space_checks

SHAPES = [(2, 2), (2, 4), (3, 2), (4, 4)]


def edges(shape):
    """Numbers of the nodes at both ends of each edge, in the order of the space."""
    n_rows, n_columns = shape
    found = []
    for i in range(n_rows):
        found += [(i * n_columns + j, i * n_columns + j + 1) for j in range(n_columns - 1)]
        if i + 1 < n_rows:
            found += [(i * n_columns + j, (i + 1) * n_columns + j) for j in range(n_columns)]
    return found


def every_path(shape):
    """All paths as 0/1 vectors: choices of the steps that go down."""
    n_rows, n_columns = shape
    number, length = {pair: e for e, pair in enumerate(edges(shape))}, n_rows + n_columns - 2
    paths = []
    for downs in itertools.combinations(range(length), n_rows - 1):
        path, node = np.zeros(len(number)), 0
        for step in range(length):
            after = node + (n_columns if step in downs else 1)
            path[number[node, after]], node = 1.0, after
        paths.append(path)
    return np.array(paths)


def fitted(shape):
    return GridPaths(shape).fit(every_path(shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_oracle_is_the_best_of_all_paths(shape, rng):
    space, paths = fitted(shape), every_path(shape)
    theta = np.concatenate([rng.randn(50, space.dim_), rng.randint(-1, 2, (50, space.dim_))])
    theta *= 10.0 ** rng.randint(-5, 6, (100, 1))
    found = space.argmax(theta)
    assert {tuple(path) for path in found} <= {tuple(path) for path in paths}
    best = (theta @ paths.T).max(axis=1)
    np.testing.assert_allclose((found * theta).sum(axis=1), best, rtol=1e-12, atol=1e-300)


def test_it_is_the_shortest_path_of_scipy(rng):
    shape = (5, 5)
    start, end = np.transpose(edges(shape))
    space = GridPaths(shape)
    for costs in rng.rand(20, space.n_edges) + 0.01:
        path = space.argmax(-costs[None])[0]
        graph = csr_array((costs, (start, end)), shape=(25, 25))
        assert path @ costs == pytest.approx(dijkstra(graph, indices=0)[-1], rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("norm", "order"), [("l1", 1), ("l2", 2)])
def test_least_and_largest_distances_are_attained(shape, norm, order):
    space, paths = fitted(shape), every_path(shape)
    pairs = itertools.combinations(paths, 2)
    distances = [np.linalg.norm(a - b, ord=order) for a, b in pairs]
    constants = space.geometry(norm)
    assert constants.nu == pytest.approx(min(distances))
    assert constants.diameter == pytest.approx(max(distances))


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (4, 4)])
def test_it_passes_the_public_checks(shape):
    for _, check in space_checks(GridPaths(shape), every_path(shape).astype(int)):
        check()


def test_bad_shapes_and_scores_are_refused():
    with pytest.raises(ValueError, match="shape must be two integers of at least 2, got"):
        GridPaths((1, 5)).fit(np.ones((1, 4)))
    with pytest.raises(ValueError, match="has 40 edges"):
        GridPaths().fit(np.ones((2, 39)))
    detour = every_path((5, 5))[:1].copy()
    detour[0, -1] = 1.0 - detour[0, -1]
    with pytest.raises(ValueError, match="is not a vertex of GridPaths"):
        fitted((5, 5)).encode(detour)


@pytest.mark.parametrize("size", [0.01, 1.0, 10.0])
def test_the_surrogate_bounds_the_expected_regret_of_costs(size, rng):
    """E[<c, w − y>] ≤ (1 − a) k (max c − min c) S(θ; y): Lemma 3.1, and two paths with k edges."""
    space = fitted((4, 4))
    loss, theta = FenchelYoung(space), size * rng.randn(200, space.dim_)
    costs = rng.exponential(size=theta.shape) ** 3
    best = space.argmax(-costs)
    mu, value = loss.mean_and_value(theta, best)
    near, leave = Randomized().mixture(theta, mu, loss)
    played = near + leave[:, None] * (mu - near)
    regret = (costs * (played - best)).sum(axis=1)
    assert np.all(regret >= -1e-9)
    spread = np.ptp(costs, axis=1) * space.length
    wrong = space.expected_loss(played, best)
    assert np.all(regret <= spread * wrong + 1e-9)
    assert np.all(regret <= (1.0 - loss.surrogate_gap) * spread * value + 1e-9)


@pytest.mark.exhaustive
def test_paths_alone_do_not_show_how_much_is_lost():
    """One path is best on most days by a little, the other on few days by much."""
    paths, X = every_path((2, 2)), np.zeros((100, 1))
    costs = np.repeat([1.0 + paths[1], 1.0 + 10.0 * paths[0]], [60, 40], axis=0)
    best = GridPaths((2, 2)).argmax(-costs)
    model = OnlineStructuredPredictor(GridPaths((2, 2)), random_state=0).fit(X, best)
    from_costs = GridPaths((2, 2)).argmax(-costs.mean(axis=0, keepdims=True))
    assert np.array_equal(model.predict(X[:1])[0], paths[0])
    assert np.array_equal(from_costs[0], paths[1])


def test_data_are_those_of_the_recipe():
    X, costs = simulate(2000, 3, 0)
    rng = np.random.RandomState(0)
    B, X_given = rng.binomial(1, 0.5, (40, 5)), rng.normal(0, 1, (2000, 5))
    middle = (((X_given @ B.T) / np.sqrt(5) + 3) ** 3 + 1) / 3.5**3
    np.testing.assert_array_equal(X, X_given)
    ratio = costs / middle
    assert 0.5 <= ratio.min() < 0.501 and 1.499 < ratio.max() <= 1.5
    assert ratio.mean() == pytest.approx(1.0, abs=5e-3)


def test_data_are_those_of_pyepo():
    pyepo = pytest.importorskip("pyepo")
    theirs = pyepo.data.shortestpath.genData(50, 5, (5, 5), 3, 0.5, seed=0)
    np.testing.assert_allclose(simulate(50, 3, 0)[1], theirs[1], rtol=1e-6)


@pytest.mark.exhaustive
@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_learning_paths_is_better_than_one_path_and_than_lines_for_curved_costs():
    X, costs = simulate(800, 8, 1)
    space, n = GridPaths(), 300
    best = space.argmax(-costs)
    model = OnlineStructuredPredictor(space, max_iter=5, random_state=0).fit(X[:n], best[:n])
    line = LinearRegression().fit(X[:n], costs[:n])
    one = np.broadcast_to(space.argmax(-costs[:n].mean(axis=0, keepdims=True)), best[n:].shape)
    paths = (model.predict(X[n:]), space.argmax(-line.predict(X[n:])), one, best[n:])
    ours, linear, fixed, least = (normalized_regret(p, best[n:], costs[n:]) for p in paths)
    assert least == 0.0 < ours < 0.7 * linear < linear < fixed
