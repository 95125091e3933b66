"""The max-min oracle by mirror prox, averages and draws with replacement, against literal forms."""

import itertools
import warnings

import numpy as np
import pytest
from conftest import INTERPRETED
from example_spaces import KSubsets
from naive import margin as naive
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from skstructured import GuaranteeError, MaxMinMarginNetwork, StructuralSVM
from skstructured.estimators.margin import _closed_forms

COSTS = np.array([[0.0, 1.0, 2.5], [0.5, 0.0, 1.0], [3.0, 0.2, 0.0]])
PERMUTATIONS = np.array(list(itertools.permutations(range(3))))
MATCHINGS = np.array([np.eye(3)[p].T.ravel() for p in PERMUTATIONS])
RANKS = np.array(list(itertools.permutations(range(1, 5))), dtype=float)
SUBSETS = np.array([s for s in itertools.product([0.0, 1.0], repeat=4) if sum(s) == 2])
CUBE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
STEPS = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))


class Kept(MaxMinMarginNetwork):
    """Keeps its oracle."""

    def _solve(self, outputs, packed, inputs, before, alpha):
        blocks = outputs.blocks(self, packed, inputs, alpha)
        blocks.begin(before)
        self.mirror = outputs.mirror_prox(blocks, self.oracle_iter, self.oracle_warm_start)
        return super()._solve(outputs, packed, inputs, before, alpha)


def flat(dim, value=0.0):
    return np.full(dim, value)


#: Space, outputs, vertices, the loss (A, a, b), move, first point, η, and the width of both sides.
GAMES = {
    "0-1": ("simplex", np.arange(12) % 4, np.eye(4), (1 - np.eye(4), flat(4), flat(4)),
            naive.tilt, flat(4, 0.25), 2.0, 2 * np.log(4)),
    "costs": ("costs", np.arange(12) % 3, np.eye(3), (COSTS, flat(3), flat(3)), naive.tilt,
              flat(3, 1 / 3), 2.0 / 3.0, 2 * np.log(3)),
    "ordinal": ("ordinal", np.arange(12) % 4, np.eye(4), (STEPS, flat(4), flat(4)), naive.tilt,
                flat(4, 0.25), 2.0 / 3.0, 2 * np.log(4)),
    "labels": ("hypercube", CUBE[np.arange(12) % 8].astype(int), CUBE,
               (-2 / 3 * np.eye(3), flat(3, 1 / 3), flat(3, 1 / 3)), naive.tilt_labels,
               flat(3, 0.5), 6.0, 6 * np.log(2)),
    "matchings": ("birkhoff", PERMUTATIONS[np.arange(12) % 6], MATCHINGS,
                  (-np.eye(9) / 3, flat(9), flat(9)), naive.tilt_matching, flat(9, 1 / 3), 6.0,
                  6 * np.log(3)),
    "ranks": ("permutahedron", RANKS[np.arange(12) * 2].astype(int), RANKS,
              (-np.eye(4) / 10, flat(4, 0.25), flat(4)), naive.step_to(RANKS), flat(4, 2.5), 10.0,
              5.0),
    "subsets": (KSubsets(2), SUBSETS[np.arange(12) % 6].astype(int), SUBSETS, None,
                naive.step_to(SUBSETS), flat(4, 0.5), None, 1.0),
}  # fmt: skip


def fitted(name, cls=Kept, **given):
    """A model of a game, after few passes."""
    space, y = GAMES[name][:2]
    costs = COSTS.T if space == "costs" else None
    space = "simplex" if space == "costs" else space
    given = {"max_iter": 2, "alpha": 0.1, "random_state": 0, "oracle": "mirror_prox"} | given
    X = np.random.RandomState(1).randn(len(y), 2)
    model = cls(space, cost_matrix=costs, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y), X, y


def loss_of(model, name):
    """A, a, b and η."""
    loss, eta, k = GAMES[name][3], GAMES[name][6], len(GAMES[name][2][0])
    if loss is None:
        A, a, b = model.mirror.blocks.loss
        assert A.shape == (k, k)
        loss, eta = (A, a, b), 1.0 / np.linalg.norm(A, 2)
    return loss, eta


@pytest.mark.parametrize("name", GAMES)
def test_it_is_algorithm_2(name, rng):
    """From the center, and from what the visit before found."""
    model, *_ = fitted(name, oracle_iter=7)
    _, _, V, _, move, start, *_ = GAMES[name]
    (A, a, b), eta = loss_of(model, name)
    mu, nu = start, start
    for _ in range(3):
        v = 0.2 * rng.randn(len(start))
        got, upper = model.mirror._saddle(0, v)
        mu, nu = naive.mirror_prox(move, move, A, a, b, v, mu, nu, eta, 7)
        np.testing.assert_allclose(got, mu, atol=1e-6)
        gap = upper - model.mirror._height(v, got)
        assert gap == pytest.approx(naive.saddle_gap(V, A, a, b, v, mu, nu), abs=1e-5)


@pytest.mark.parametrize("name", GAMES)
def test_the_gap_falls_as_the_theorem_says(name, rng):
    """(max H − min H)/(ηK) of both sides, from the center (Theorem G.1)."""
    model, *_ = fitted(name, oracle_warm_start=False)
    width, (_, eta) = GAMES[name][7], loss_of(model, name)
    for size in (0.1, 1.0, 10.0):
        v = size * rng.randn(len(GAMES[name][5]))
        for K in (1, 5, 25) if INTERPRETED else (1, 10, 100, 1000):
            model.mirror.n_iter = K
            mu, upper = model.mirror._saddle(0, v)
            assert -1e-9 <= upper - model.mirror._height(v, mu) <= width / (eta * K) + 1e-9


def steps_of(row, k):
    each = np.zeros((len(row) - 1, k, k))
    each[np.arange(len(row) - 1), row[:-1], row[1:]] = 1.0
    return each.ravel()


@pytest.mark.interpreted
@pytest.mark.parametrize("M", [1, 2, 4])
def test_of_sequences_it_is_algorithm_2(M, rng):
    """With distributions over all label sequences in the place of marginals."""
    k, K = 3, 5
    model = Kept("sequence", cost_matrix=COSTS.T, alpha=0.1, max_iter=1, oracle="mirror_prox")
    model.set_params(oracle_iter=K)
    with pytest.warns(ConvergenceWarning):
        model.fit([rng.randn(M, 2), rng.randn(k, 2)], [rng.randint(k, size=M), np.arange(k)])
    labels = np.array(list(itertools.product(range(k), repeat=M)))
    F = np.array([np.concatenate([np.eye(k)[row].ravel(), steps_of(row, k)]) for row in labels])
    A, eta, m = np.kron(np.eye(M), COSTS / M) @ F[:, : M * k].T, 2.0 * M / 3.0, len(labels)

    def move_nu(nu, gain):
        pairs = zip(nu.reshape(M, k), gain.reshape(M, k), strict=True)
        return np.concatenate([naive.tilt(*pair) for pair in pairs])

    q, nu = np.full(m, 1.0 / m), np.full(M * k, 1.0 / k)
    for _ in range(2):
        u, T = rng.randn(M, k), rng.randn(1, k, k)
        v = F @ np.concatenate([u.ravel(), np.tile(T.ravel(), M - 1)])
        found, upper = model.mirror._saddle(0, np.r_[u.ravel(), T.ravel()])
        q, nu = naive.mirror_prox(naive.tilt, move_nu, A, 0.0, 0.0, v, q, nu, eta, K)
        assert upper == pytest.approx(np.max(v + A.T @ nu), abs=1e-9)
        mu, each = (q @ F)[: M * k].reshape(M, k), (q @ F)[M * k :].reshape(M - 1, k, k)
        wanted = np.r_[mu.ravel(), each.sum(axis=0).ravel()]
        np.testing.assert_allclose(found, wanted, atol=1e-9)
        q = np.array([markov(mu, each, row) for row in labels])


def markov(mu, each, row):
    """The most random distribution with these marginals, at a label sequence."""
    p = mu[0, row[0]]
    for m in range(1, len(row)):
        p *= each[m - 1, row[m - 1], row[m]] / mu[m - 1, row[m - 1]]
    return p


def test_of_sequences_the_gap_falls(rng):
    model = Kept("sequence", alpha=0.1, max_iter=1, oracle="mirror_prox", oracle_warm_start=False)
    Xs = [rng.randn(6, 2), rng.randn(3, 2)]
    with pytest.warns(ConvergenceWarning):
        model.fit(Xs, [np.arange(6) % 3, np.arange(3)])
    for size in (0.1, 1.0, 3.0):
        v = size * rng.randn(27)
        for K in (1, 10, 60):
            model.mirror.n_iter = K
            point, upper = model.mirror._saddle(0, v)
            assert -1e-9 <= upper - model.mirror._height(v, point) <= np.log(3) / K + 1e-9


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("line_search", [True, False])
def test_it_comes_near_the_optimum(name, line_search):
    """What the exact solver finds, with line search without ever losing."""
    passes = 3 if INTERPRETED else 60
    given = {"line_search": line_search, "max_iter": passes, "oracle_iter": 40, "tol": 0.0}
    model, *_ = fitted(name, MaxMinMarginNetwork, **given)
    best, *_ = fitted(name, MaxMinMarginNetwork, oracle="exact", max_iter=300, tol=1e-8)
    assert model.oracle_gaps_.shape == (passes,) and not hasattr(best, "oracle_gaps_")
    assert best.loss_curve_[-1] - 1e-7 <= model.loss_curve_[-1]
    assert model.loss_curve_[-1] - best.loss_curve_[-1] <= model.duality_gap_ + 1e-7
    share = 0.1 if name == "ranks" else 0.02
    assert INTERPRETED or model.duality_gap_ <= share * model.gap_curve_[0]


def test_warm_starts_leave_less(rng):
    gaps = []
    for warm in (True, False):
        given = {"oracle_warm_start": warm, "max_iter": 20, "line_search": False, "oracle_iter": 3}
        gaps.append(fitted("ordinal", **given)[0].oracle_gaps_)
    assert gaps[0][0] == pytest.approx(gaps[1][0])  # nothing is known in the first pass
    assert gaps[0][-1] < 0.5 * gaps[1][-1]


@pytest.mark.interpreted
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("oracle", ["exact", "mirror_prox"])
def test_fixed_steps_are_algorithm_4(oracle, average, replace, rng):
    """Rows of weight 0 are not there: not for n in the steps either."""
    n, k, alpha, passes = 9, 3, 0.05, 4
    X, y, weight = rng.randn(n, 2), np.arange(n) % k, np.ones(n)
    weight[[2, 7]] = 0.0
    counted = weight > 0.0
    model = MaxMinMarginNetwork(
        kernel="rbf", gamma=0.5, standardize=False, alpha=alpha, line_search=False, tol=0.0,
        max_iter=passes, random_state=3, average=average, replace=replace, oracle=oracle,
        oracle_iter=5, oracle_warm_start=False,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y, sample_weight=weight)
    A, v_start = 1.0 - np.eye(k), np.full(k, 1.0 / k)

    def find(v):
        if oracle == "mirror_prox":
            given = (naive.tilt, naive.tilt, A, 0.0, 0.0, v, v_start, v_start, 2.0, 5)
            return naive.mirror_prox(*given)[0]
        out = np.empty(k)
        _closed_forms.zero_one(A, v, np.zeros(k), 0.0, out, out)
        return out

    draws, places = np.random.RandomState(3), np.flatnonzero(counted)
    m = len(places)
    pick = draws.randint if replace else None
    orders = [places[pick(m, size=m) if replace else draws.permutation(m)] for _ in range(passes)]
    G = RBF(1.0)(X) + 1.0
    last, mean = naive.block_frank_wolfe(find, G, np.eye(k)[y], alpha, orders, counted)
    wanted = (np.eye(k)[y] - (mean if average else last)) / (alpha * m)
    np.testing.assert_allclose(model.dual_coef_, wanted, atol=1e-8)


@pytest.mark.parametrize("space", ["birkhoff", "sequence"])
def test_averages_of_other_blocks_are_recursive_means(space, rng, monkeypatch):
    """Of assignments and sequences: w̄ ← t/(t + 2) w̄ + 2/(t + 2) w, from visits one by one."""
    if space == "sequence":
        X, y = [rng.randn(m, 2) for m in (3, 1, 4)], [np.arange(m) % 2 for m in (3, 1, 4)]
    else:
        X, y = rng.randn(3, 2), PERMUTATIONS[:3]
    given = {"alpha": 0.3, "line_search": False, "tol": 0.0, "random_state": 0, "max_iter": 3}
    models = [MaxMinMarginNetwork(space, average=a, **given) for a in (True, False)]
    seen = []

    def one_by_one(ascent, order, clock, rule):
        n = len(order)
        for t, i in enumerate(order):
            fixed = np.array([2.0 * n / (clock + t + 2.0 * n)])
            ascent.mover.move(np.array([i]), fixed, rule)
            seen.append(ascent.blocks.means.mu.copy())

    with pytest.warns(ConvergenceWarning):
        averaged = models[0].fit(X, y)._mu.mu
    monkeypatch.setattr("skstructured.estimators.margin._blocks.Ascent._pass", one_by_one)
    with pytest.warns(ConvergenceWarning):
        models[1].fit(X, y)
    mean = np.zeros_like(seen[0])
    for t, point in enumerate(seen):
        mean = t / (t + 2) * mean + 2 / (t + 2) * point
    np.testing.assert_allclose(averaged, mean, atol=1e-9)


def test_averages_end_with_their_own_gap(rng):
    """`duality_gap_` and `loss_curve_` are those of what is returned."""
    model, X, y = fitted("0-1", average=True, line_search=False, max_iter=30, oracle="exact")
    best, *_ = fitted("0-1", MaxMinMarginNetwork, oracle="exact", max_iter=300, tol=1e-9)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    W = np.c_[model.coef_ * X.std(axis=0), model.intercept_ + model.coef_ @ X.mean(axis=0)]
    F, V = np.c_[Z, np.ones(len(Z))], np.eye(4)
    share, tables = np.full(len(y), 1.0 / len(y)), naive.row_tables(1.0 - V, V, F, y)
    found = naive.objective(tables, W.ravel(), share, 0.1, True)
    assert found == pytest.approx(model.loss_curve_[-1], rel=1e-7)
    assert 0.0 <= found - best.loss_curve_[-1] <= model.duality_gap_ + 1e-8


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MaxMinMarginNetwork(oracle="lp"), "oracle must be"),
        (StructuralSVM(oracle="mirror_prox"), "oracle must be"),
        (MaxMinMarginNetwork(oracle_iter=0), "oracle_iter must be an integer"),
        (MaxMinMarginNetwork(oracle_warm_start=1), "oracle_warm_start must be a bool"),
        (MaxMinMarginNetwork(average="yes"), "average must be a bool"),
        (MaxMinMarginNetwork(replace=None), "replace must be a bool"),
    ],
)
def test_bad_parameters_are_named(model, message, rng):
    with pytest.raises(ValueError, match=message):
        model.fit(rng.randn(6, 2), np.arange(6) % 2)


LIPSCHITZ = np.array([[0.0, 1.0, 1.2], [1.0, 0.0, 1.1], [1.2, 1.1, 0.0]])
CONSTANTS = {
    "zero-one": (1.0 - np.eye(4), 4.0),
    "lipschitz": (LIPSCHITZ, (3 - 2 / 11) / (1 - 2 / 11)),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_the_comparison_inequality_holds(name, rng):
    """Theorem 3.3 at any scores v and probabilities p, those near ties above all."""
    A, C = CONSTANTS[name]
    k, worst = len(A), 0.0
    X, y = rng.randn(3 * k, 2), np.arange(3 * k) % k
    model = MaxMinMarginNetwork(cost_matrix=A.T, alpha=0.5).fit(X, y)
    assert model.certificate().constants["C"] == pytest.approx(C)
    for t in range(60 if INTERPRETED else 400):
        p = rng.dirichlet(np.full(k, rng.choice([0.3, 3.0, 100.0])))
        v = -A.T @ p * rng.choice([0.0, 0.5, 1.0]) + 10.0 ** rng.uniform(-4, 0) * rng.randn(k)
        v[rng.permutation(k)[:2]] = v.max() if t % 2 else v[:2]
        target = (A @ p)[np.argmax(v)] - (A @ p).min()
        surrogate = naive.max_min(A, np.eye(k), v) - v @ p - (A @ p).min()
        assert target <= C * surrogate + 1e-9
        worst = max(worst, target / surrogate if surrogate > 1e-9 else 0.0)
    assert worst > 1.2


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["0-1", "labels"])
def test_the_certificate_is_its_formula(name):
    given = {"oracle": "exact", "line_search": False, "replace": True}
    given |= {"max_iter": 5, "kernel": "rbf"}
    model, X, _ = fitted(name, MaxMinMarginNetwork, **given)
    C, L, G = {"0-1": (4.0, 2.0, 1.0), "labels": (2.0, 2 * np.sqrt(3), 1.0)}[name]
    kappa, n, alpha = np.sqrt(2.0), len(X), 0.1
    for delta in (0.05, 0.5):
        found = model.certificate(delta)
        spread = np.log(1 / delta)
        wanted = 2 * model.duality_gap_ + 16 * (kappa * L) ** 2 * (32 + spread) / (alpha * n)
        assert found.regret(3.0) == pytest.approx(C * (wanted + alpha / 2 * 9.0))
        lambda_n = kappa * L * np.sqrt(spread / n)
        assert found.constants["lambda_n"] == pytest.approx(lambda_n)
        bend = (kappa * L) ** 2 / (alpha * n)
        steps = 2 * n * (G + bend) / (5 * n + 2 * n)
        assert found.constants["suboptimality"] == pytest.approx(steps)
    for other in ({"average": True}, {"line_search": True}, {"replace": False}):
        again, *_ = fitted(name, MaxMinMarginNetwork, **given | other)
        assert "suboptimality" not in again.certificate().constants


@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("passes", [1, 4])
def test_fixed_steps_keep_theorem_5_1(alpha, passes):
    """The mean over draws of rows of what the dual is from its best after t steps."""
    given = {"oracle": "exact", "kernel": "rbf", "alpha": alpha}
    best = fitted("0-1", MaxMinMarginNetwork, max_iter=300, tol=1e-9, **given)[0].loss_curve_[-1]
    given |= {"line_search": False, "replace": True, "tol": 0.0, "max_iter": passes}
    runs = [fitted("0-1", MaxMinMarginNetwork, **given | {"random_state": s})[0] for s in range(9)]
    left = [best - (run.loss_curve_[-1] - run.duality_gap_) for run in runs]
    assert 0.0 < np.mean(left) <= runs[0].certificate().constants["suboptimality"]


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("oracle", ["exact", "mirror_prox"])
@pytest.mark.parametrize("name", ["0-1", "labels"])
def test_theorem_5_2_is_its_formula_and_above_the_mean_gap(name, oracle, average):
    """After one pass and five; for a large α and averages it is within 20 times of the mean."""
    C, L, G, log = {"0-1": (4, 2, 1, np.log(4)), "labels": (2, 2 * np.sqrt(3), 1, np.log(2))}[name]
    given = {"oracle": oracle, "kernel": "rbf", "line_search": False, "replace": True, "tol": 0.0}
    given |= {"average": average, "oracle_warm_start": False, "oracle_iter": 10}
    for alpha, passes in ((1.0, 1), (100.0, 5)):
        given |= {"alpha": alpha, "max_iter": passes}
        runs = [fitted(name, MaxMinMarginNetwork, random_state=s, **given)[0] for s in range(5)]
        n, t, bend = 12, 12 * passes, 2 * L**2 / (12 * alpha)
        error = log / 10 if oracle == "mirror_prox" else 0.0
        left = 2 * n * (G + bend) / (t + 2 * n) + error
        steps = np.linspace(1e-3, 1.0, 4001)
        wanted = np.min(n * left / steps + steps * bend / 2)
        if average:
            wanted = 2 * n * (2 * G + 3 * bend) / (t + 1) + error * (1 + (t + 2 * n) / (t + 1))
        found = runs[0].certificate(0.1, measured=False)
        assert found.constants["expected_gap"] == pytest.approx(wanted, rel=1e-4)
        gap = np.mean([run.duality_gap_ for run in runs])
        assert gap <= wanted and (wanted <= 20 * gap or not (average and alpha == 100.0))
        rest = 16 * n * bend / n * (32 + np.log(20))
        literal = C * (40 * found.constants["expected_gap"] + rest + alpha / 2 * 9)
        assert found.theorem == "Theorem 5.2" and found.regret(3.0) == pytest.approx(literal)
        assert ("suboptimality" in found.constants) is not average


@pytest.mark.parametrize("name", ["0-1", "costs", "ordinal", "labels"])
def test_the_gap_of_mirror_prox_is_at_most_its_error(name):
    """Range of the costs times ln k, or ln 2 for labels, over K; after one step within 20 times."""
    A, k = GAMES[name][3][0], len(GAMES[name][2][0])
    most = np.log(2) if name == "labels" else np.ptp(A) * np.log(k)
    given = {"oracle_warm_start": False, "alpha": 1e-3}
    for steps in (1, 7, 50):
        model = fitted(name, MaxMinMarginNetwork, oracle_iter=steps, **given)[0]
        assert model.oracle_gaps_.max() <= most / steps
        assert steps > 1 or model.oracle_gaps_.max() > most / 20


def test_theorem_5_2_is_about_the_algorithm_of_the_paper():
    given = {"line_search": False, "replace": True, "oracle": "exact"}
    assert fitted("0-1", MaxMinMarginNetwork, **given)[0].certificate(measured=False)
    for other in ({"line_search": True}, {"replace": False}, {"oracle": "mirror_prox"}):
        model = fitted("0-1", MaxMinMarginNetwork, **given | other)[0]
        assert "expected_gap" not in model.certificate().constants
        with pytest.raises(GuaranteeError, match="Theorem 5.2 .* needs line_search=False"):
            model.certificate(measured=False)


def test_sequences_have_the_constant_of_a_position(rng):
    Xs = [rng.randn(3, 2), rng.randn(2, 2)]
    ys = [np.arange(3), np.arange(2)]
    model = MaxMinMarginNetwork("sequence", alpha=0.5, standardize=False).fit(Xs, ys)
    constants = model.certificate().constants
    sizes = [np.sum(np.sqrt((x**2).sum(axis=1) + 1.0) + 1.0) + 1.0 for x in Xs]
    assert (constants["C"], constants["L"]) == (pytest.approx(3.0), 2.0)
    assert constants["kappa"] == pytest.approx(max(sizes))


@pytest.mark.parametrize("name", ["costs", "ordinal", "matchings", "ranks", "subsets"])
def test_without_a_constant_there_is_no_certificate(name):
    with pytest.raises(GuaranteeError, match="(no|only give a) constant"):
        fitted(name, MaxMinMarginNetwork)[0].certificate()


def test_weights_and_delta_of_the_certificate(rng):
    X, y = rng.randn(8, 2), np.arange(8) % 2
    model = MaxMinMarginNetwork(alpha=0.5, standardize=False)
    model.fit(X, y, sample_weight=np.r_[np.ones(7), 2.0])
    with pytest.raises(GuaranteeError, match="only holds without sample_weight"):
        model.certificate()
    X[7] = 1e3  # a row of weight 0 has no say
    model.fit(X, y, sample_weight=np.r_[np.full(7, 3.0), 0.0])
    constants, longest = model.certificate().constants, (X[:7] ** 2).sum(axis=1).max()
    assert constants["n"] == 7 and constants["kappa"] == pytest.approx(np.sqrt(longest + 1.0))
    for delta in (0.0, 1.0, "half"):
        with pytest.raises(ValueError, match="delta must"):
            model.certificate(delta)
