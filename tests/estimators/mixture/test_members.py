"""Members of mixtures: honest scores are those of models that have not learned the row."""

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixing
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as LinearRidge
from sklearn.naive_bayes import GaussianNB

import skstructured as sk
from skstructured._learners.batch_scaling import scale_of
from skstructured.estimators.mixture import _ridge, _training, _trees
from skstructured.estimators.mixture._learner import CrossFitted, CrossFittedRegressor
from skstructured.estimators.mixture._ridge import (
    KERNEL_JITTER,
    KernelRidge,
    Ridge,
    lowest,
)
from skstructured.estimators.mixture._training import (
    N_FOLDS,
    StandardRows,
    Training,
    draw_folds,
    effective_number,
    independent_units,
)
from skstructured.estimators.mixture._trees import VertexTrees
from skstructured.losses import FenchelYoung
from skstructured.losses.surrogates import ResidualLoss
from skstructured.spaces import Hypercube, OrdinalChain, Permutahedron, Simplex
from skstructured.spaces._real_line import RealLine

#: Interpreted kernels are a thousand times slower.
slow_as_python = pytest.mark.skipif(INTERPRETED, reason="takes minutes as Python")

#: space -> outputs of 30 rows with three features.
X = np.random.RandomState(0).randn(30, 3)
SPACES = {
    "multiclass": (Simplex, np.argmax(X, axis=1)),
    "multilabel": (Hypercube, (X > 0).astype(int)),
    "ordinal": (OrdinalChain, (X > 0).sum(axis=1)),
    "ranking": (Permutahedron, np.argsort(X, axis=1) + 1),
}


def training_of(X, y, kind, weight=None, stretch=None, seed=0):
    """A `Training` of rows, with its loss."""
    space = kind().fit(y)
    loss = ResidualLoss(space) if kind is RealLine else FenchelYoung(space)
    weight = np.ones(len(X)) if weight is None else weight / weight.mean()
    learner = sk.OnlineStructuredPredictor()
    scale = scale_of(learner, X.shape[1], True)
    rows = StandardRows(X, scale, np.ones(1) if stretch is None else stretch, X)
    scale.count_all(_training.Rows.from_array(X), weight)
    packed, given = space.pack(y), None if np.ptp(weight) == 0.0 else weight
    V = space.unpack(packed)
    origin = loss.mean(np.zeros((1, V.shape[1])))[0]
    units = np.arange(len(X))
    parts = draw_folds(units, np.random.RandomState(seed), packed if packed.ndim == 1 else None)
    return Training(rows, y, V, weight, given, parts, origin, units), loss


def weighted(rng, n=30):
    return rng.exponential(size=n) + 0.05


class TestParts:
    @pytest.mark.parametrize("n", [20, 137, 1000])
    def test_hold_out_each_row_once_with_all_classes(self, n):
        codes = np.arange(n) % 4
        parts = draw_folds(np.arange(n), np.random.RandomState(0), codes)
        counts = np.bincount(parts, minlength=N_FOLDS)
        assert len(counts) == N_FOLDS and np.ptp(counts) <= 1
        for part in range(N_FOLDS):
            assert set(codes[parts == part]) == set(range(4))

    def test_the_only_row_of_a_class_is_judged_too(self):
        codes = np.concatenate([np.zeros(30, int), [1, 2, 2, 3, 3, 3]])
        for seed in range(20):
            parts = draw_folds(np.arange(36), np.random.RandomState(seed), codes)
            assert (parts >= 0).all()
            for part in range(N_FOLDS):
                assert {0, 2, 3} <= set(codes[parts != part])

    def test_of_many_rows_some_are_always_learned(self, monkeypatch):
        monkeypatch.setattr(_training, "MOST_HELD_OUT", 50)
        codes = np.arange(400) % 4
        parts = draw_folds(np.arange(400), np.random.RandomState(0), codes)
        np.testing.assert_array_equal(np.bincount(parts[parts >= 0]), np.full(N_FOLDS, 10))
        assert min(np.bincount(codes[parts >= 0])) >= 10

    def test_a_share_is_reserved(self):
        parts = draw_folds(np.arange(400), np.random.RandomState(0), reserved=0.3)
        assert (parts < 0).sum() == 120

    def test_units_are_held_out_as_a_whole(self):
        units = np.repeat(np.arange(40), np.arange(40) % 3 + 1)
        parts = draw_folds(units, np.random.RandomState(0))
        of_units = [set(parts[units == unit]) for unit in range(40)]
        assert all(len(of_unit) == 1 for of_unit in of_units)
        counts = np.bincount([of_unit.pop() for of_unit in of_units])
        np.testing.assert_array_equal(counts, np.full(N_FOLDS, 8))

    def test_classes_of_units_are_spread_over_parts(self):
        """A part with more of a class than the others is one in which it is expected less."""
        units = np.repeat(np.arange(50), 3)
        codes = np.repeat(np.arange(50) % 2, 3)
        for seed in range(5):
            parts = draw_folds(units, np.random.RandomState(seed), codes)
            shares = [codes[parts == part].mean() for part in range(N_FOLDS)]
            np.testing.assert_allclose(shares, 0.5)

    def test_units_of_any_size_go_by_their_mean_code(self, rng):
        units = np.repeat(np.arange(50), rng.randint(1, 6, size=50))
        parts = draw_folds(units, rng, 1 + units % 2)
        firsts = np.unique(units, return_index=True)[1]
        for part in range(N_FOLDS):
            own = np.flatnonzero(parts[firsts] == part)
            np.testing.assert_array_equal(np.bincount(own % 2), [5, 5])

    def test_label_sets_are_spread_over_all_parts(self, rng, monkeypatch):
        X, seen = rng.randn(100, 2), []
        sets = rng.permutation(np.repeat([[0, 0], [0, 1], [1, 1]], [20, 30, 50], axis=0))
        monkeypatch.setattr(
            _training, "draw_folds", lambda *a: seen.append(draw_folds(*a)) or seen[-1]
        )
        sk.StructuredPredictor("multilabel", n_landmarks=30, random_state=0).fit(X, sets)
        sk.FenchelYoungBoosting("multilabel", max_iter=1, random_state=0).fit(X, sets)
        assert len(seen) == 2
        for parts in seen:
            for part in range(N_FOLDS):
                counts = np.bincount(sets[parts == part].sum(axis=1))
                np.testing.assert_allclose(counts / counts.sum(), [0.2, 0.3, 0.5], atol=0.08)

    def test_numbers_in_order_do_not_make_parts_differ(self):
        """Of each five neighbors any may be in the first part."""
        codes, means = np.arange(100), []
        for seed in range(40):
            parts = draw_folds(codes, np.random.RandomState(seed), codes)
            means.append([codes[parts == part].mean() for part in range(N_FOLDS)])
        assert np.ptp(np.mean(means, axis=0)) < 4.0 * np.std(means) / np.sqrt(40)


class TestUnits:
    @pytest.mark.parametrize("kind", [np.asarray, np.float32, sparse.csr_matrix])
    def test_copies_are_one_unit(self, kind, rng, monkeypatch):
        monkeypatch.setattr(_training, "ROWS_AT_ONCE", 4)
        Z = np.round(rng.randn(9, 3), 1) * [[1], [0], [1], [1], [1], [1], [1], [1], [1]]
        copies = np.array([0, 1, 2, 0, 4, 1, 0, 7, 8])
        rows = kind(Z[copies])
        units, same = independent_units(rows, V=Z[copies])
        np.testing.assert_array_equal(units, np.unique(copies, return_inverse=True)[1])
        np.testing.assert_array_equal(same, units)

    def test_zeros_of_any_kind_are_equal(self):
        rows = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]])
        np.testing.assert_array_equal(independent_units(rows)[0], [0, 0, 1])
        explicit = sparse.csr_matrix(([0.0, 1.0, 1.0], [0, 1, 1], [0, 2, 3]), shape=(2, 2))
        np.testing.assert_array_equal(independent_units(explicit)[0], [0, 0])
        swapped = sparse.csr_matrix(([2.0, 1.0, 1.0, 2.0], [1, 0, 0, 1], [0, 2, 4]), shape=(2, 2))
        np.testing.assert_array_equal(independent_units(swapped)[0], [0, 0])
        assert swapped.indices[0] == 1  # unchanged

    def test_missing_values_are_equal(self):
        rows = np.array([[np.nan, 1.0], [np.nan, 1.0], [2.0, np.nan]])
        np.testing.assert_array_equal(independent_units(rows)[0], [0, 0, 1])

    @pytest.mark.parametrize(("n_equal", "are_copies"), [(20, True), (18, True), (17, False)])
    def test_equal_rows_whose_outputs_differ_are_no_copies(self, n_equal, are_copies):
        rows, V = np.repeat(np.arange(20.0), 2)[:, None], np.zeros((40, 1))
        V[2 * n_equal + 1 :: 2] = 1.0
        units, _ = independent_units(rows, V=V)
        np.testing.assert_array_equal(units, np.arange(40) // 2 if are_copies else np.arange(40))

    def test_equal_groups_are_one_unit(self):
        rows = np.array([1.0, 2, 1, 2, 2, 1, 1])[:, None]
        groups = np.array([7, 7, 3, 3, 5, 5, 9])
        units, of_groups = independent_units(rows, groups)
        np.testing.assert_array_equal(units, [0, 0, 0, 0, 1, 1, 2])
        np.testing.assert_array_equal(of_groups, [0, 1, 0, 2])  # 3, 5, 7, 9

    def test_effective_number(self, rng):
        assert effective_number(np.full(12, 3.0), np.arange(12)) == pytest.approx(12.0)
        assert effective_number(np.ones(12), np.arange(12) // 2) == pytest.approx(6.0)
        weight, names = rng.exponential(size=30), rng.randint(8, size=30)
        assert effective_number(weight, names) == pytest.approx(mixing.effective(weight, names))


class TestRidge:
    @pytest.mark.parametrize("name", ["rbf", "laplacian", "arc-cosine"])
    @pytest.mark.parametrize("space", SPACES)
    def test_leaves_out_each_part(self, name, space, rng):
        """The stretch of features is that of the part, too."""
        kind, y = SPACES[space]
        training, _ = training_of(X, y, kind, weighted(rng), stretch=np.array([2.0, 1.0, 0.3]))
        training = training._replace(stretches=list(rng.exponential(size=(N_FOLDS, 3))))
        ridge = KernelRidge(name, 30, 0)
        honest = ridge.fit(training) + training.origin
        literal = np.array([
            [self.literal(name, training, p, i) for i in range(30)] for p in KernelRidge.penalties
        ])  # fmt: skip
        distances = np.abs(literal - honest).max(axis=(1, 2))
        best = int(np.argmin(distances))
        assert distances[best] < 1e-8
        errors = np.einsum("n,pnd->p", training.weight, (literal - training.V) ** 2)
        near = errors[max(best - 1, 0) : best + 2].min()
        assert errors[best] <= near * (1.0 + 1e-4)  # it was found in single precision

    def literal(self, name, training, penalty, i):
        stretch = training.stretches[training.parts[i]]
        Z = training.rows._replace(stretch=stretch).chunk(slice(None))
        left_out = np.flatnonzero(training.parts == training.parts[i])
        learned = np.setdiff1d(np.arange(len(Z)), left_out)
        kernel = _ridge.RowKernel.of(name, Z[learned], training.weight[learned])
        return mixing.ridge_without(
            kernel, Z, training.V, training.weight, penalty, set(left_out), i
        )

    @pytest.mark.parametrize("name", ["rbf", "laplacian"])
    @pytest.mark.parametrize("case", ["all", "some", "heavy"])
    def test_leaves_out_each_part_in_the_span_of_landmarks(self, name, case, rng, monkeypatch):
        monkeypatch.setattr(_training, "ROWS_AT_ONCE", 4)
        kind, y = SPACES["multiclass"]
        heavy = np.where((np.arange(30) < 3) & (case == "heavy"), 1e6, 1.0)
        training, _ = training_of(X, y, kind, heavy * weighted(rng))
        if case == "some":
            training.parts[rng.permutation(30)[:9]] = -1
        ridge = KernelRidge(name, 12, 3)
        honest = ridge.fit(training) + training.origin
        K, own = ridge.kernel(training.rows.chunk(slice(None))), ridge.kernel(ridge.kernel.Z)
        own = own + KERNEL_JITTER * np.trace(own) / 12 * np.eye(12)
        unit, parts = np.trace(own) / 12 / (1.0 + KERNEL_JITTER), training.parts
        literal = np.array([
            [
                mixing.ridge_in_span_without(
                    K, own, training.V, training.weight, p * unit,
                    set(np.flatnonzero(parts == parts[i])), i,
                )
                for i in training.judged
            ]
            for p in KernelRidge.penalties
        ])  # fmt: skip
        errors = (literal - training.V[training.judged]) ** 2
        first = parts[training.judged] == 0
        errors = np.einsum("n,pnd->p", training.weight[parts == 0], errors[:, first])
        assert len(ridge.kernel.Z) == 12
        np.testing.assert_allclose(honest, literal[np.argmin(errors)], atol=1e-6)

    @pytest.mark.parametrize("landmarks", [12, 30])
    def test_scores_minimize_its_objective(self, landmarks, rng):
        """Training rows by all rows, and not only those that the member keeps."""
        kind, y = SPACES["ordinal"]
        training, _ = training_of(X, y, kind, weighted(rng))
        ridge = KernelRidge("laplacian", landmarks, 0)
        ridge.fit(training)
        theta = ridge.scores(training.rows)
        slopes = training.weight[:, None] * (theta + training.origin - training.V)
        K, own = ridge.kernel(training.rows.chunk(slice(None))), ridge.kernel(ridge.kernel.Z)
        shift = own @ ridge.coefs  # proportional to the slope of the penalty
        both = np.concatenate([(K.T @ slopes).ravel(), shift.ravel()]).reshape(2, -1)
        ratio = -both[0] @ both[1] / (both[1] @ both[1])
        assert ratio > 0.0
        np.testing.assert_allclose(both[0], -ratio * both[1], atol=2e-5 * np.abs(both[0]).max())

    def test_landmarks_that_are_the_same_row_are_no_trouble(self):
        same = np.repeat(X[:6], 5, axis=0)
        training, _ = training_of(same, np.repeat(np.arange(6) % 3, 5), Simplex)
        exact, some = (KernelRidge("rbf", m, 0).fit(training) for m in (30, 19))
        np.testing.assert_allclose(some, exact, atol=0.1)

    def test_judges_only_rows_of_parts(self):
        kind, y = SPACES["multiclass"]
        training, _ = training_of(X, y, kind)
        training.parts[::3] = -1
        for landmarks in (10, 30):
            assert len(KernelRidge("rbf", landmarks, 0).fit(training)) == 20
        nothing = training._replace(parts=np.full(30, -1))
        assert KernelRidge("rbf", 30, 0).fit(nothing).shape == (0, 3)

    @pytest.mark.parametrize(("landmarks", "n_rows"), [(20, 30), (19, 19)])
    def test_is_exact_up_to_half_as_many_rows_more(self, landmarks, n_rows):
        kind, y = SPACES["multiclass"]
        training, _ = training_of(X, y, kind)
        ridge = KernelRidge("rbf", landmarks, 0)
        ridge.fit(training)
        assert len(ridge.kernel.Z) == n_rows

    def test_singular_systems_have_infinite_coefficients(self):
        A = np.array([[1.0, 2.0], [2.0, 1.0]])
        ridge = Ridge(None, A, np.ones((2, 1)), None, 1.0, np.ones((2, 1)), np.zeros(1))
        assert np.isinf(ridge.coefs(0.0)).all() and np.isfinite(ridge.coefs(2.0)).all()

    @pytest.mark.parametrize("best", [0, 3, 9, 13])
    def test_walks_downhill_from_the_best_of_every_third(self, best):
        tried = []
        assert lowest(lambda at: tried.append(at) or abs(at - best), 14) == best
        assert min(tried) >= 0 and max(tried) <= 13

    def test_a_valley_far_from_the_usual_penalty_is_found(self):
        errors = [9.0, 9, 9, 9, 9, 2, 1, 2, 9, 9, 0.5, 0.2, 0.4, 9]
        assert lowest(errors.__getitem__, 14) == 11

    @pytest.mark.parametrize("name", ["rbf", "laplacian", "arc-cosine"])
    @pytest.mark.parametrize("share", [1.0, 0.05])
    def test_kernels_in_numpy_are_those_of_learners(self, share, name, rng):
        Z, rows = (rng.randn(n, 12) * (rng.uniform(size=(n, 12)) < share) for n in (50, 70))
        kernel = _ridge.RowKernel.of(name, Z, np.ones(50))
        compiled = kernel.function.gram(Z.T, rows)
        np.testing.assert_allclose(kernel(rows, 1000), compiled, rtol=1e-9, atol=1e-12)

    def test_rows_far_apart_are_as_quick_as_others(self):
        kernel = _ridge.RowKernel.of("rbf", X, np.ones(30))
        values = kernel(30.0 * X)
        assert not np.any((values > 0.0) & (values < 1e-20)) and (values == 0.0).any()


@pytest.fixture
def fitted(monkeypatch):
    """All forests of scikit-learn that are fitted, in their order."""
    ensembles, forest_of = [], _trees.Forest.of
    monkeypatch.setattr(_trees.Forest, "of", lambda one: ensembles.append(one) or forest_of(one))
    return ensembles


#: The rows as trees learn them.
UNITS = mixing.units_of(X, X, 0.5)


class TestTrees:
    @pytest.mark.parametrize("is_sparse", [False, True])
    def test_trees_of_sparse_rows_look_at_some_columns(self, is_sparse, fitted):
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind, np.ones(30))
        if is_sparse:
            rows = training.rows._replace(unchanged=sparse.csr_matrix(X))
            training = training._replace(rows=rows)
        VertexTrees(loss, None, 0, None).fit(training)
        assert {forest.max_features for forest in fitted} == {0.2 if is_sparse else 1.0}

    @pytest.mark.parametrize("space", SPACES)
    def test_honest_means_are_those_of_the_other_parts(self, space, rng, monkeypatch, fitted):
        monkeypatch.setattr(VertexTrees, "few_rows", 29)
        kind, y = SPACES[space]
        training, loss = training_of(X, y, kind, weighted(rng))
        trees = VertexTrees(loss, None, 5, None)
        honest = trees.fit(training)
        literal = np.array([
            mixing.leaf_means(
                fitted[part].estimators_, UNITS, np.flatnonzero(training.parts != part),
                training.V, training.weight, i,
            )
            for i, part in enumerate(training.parts)
        ])  # fmt: skip
        np.testing.assert_allclose(honest, loss.link(literal), atol=1e-6)
        assert [len(ensemble.estimators_) for ensemble in fitted] == 2 * N_FOLDS * [20]
        assert len(trees.forest.roots) == N_FOLDS * 20

    def test_rows_that_are_the_same_have_their_weighted_mean(self, rng):
        training, loss = training_of(np.ones((30, 2)), np.arange(30) % 3, Simplex, weighted(rng))
        honest = VertexTrees(loss, None, 0, None).fit(training)
        for i, part in enumerate(training.parts):
            rest = training.parts != part
            mean = np.average(training.V[rest], axis=0, weights=training.weight[rest])
            np.testing.assert_allclose(honest[i], loss.link(mean[None])[0], atol=1e-6)

    def test_trees_of_all_rows_predict(self, rng, monkeypatch, fitted):
        monkeypatch.setattr(VertexTrees, "few_rows", 29)
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind, weighted(rng))
        for given in (training, training._replace(parts=np.full(len(X), -1))):
            trees = VertexTrees(loss, None, 5, None)
            trees.fit(given)
            learned = [tree for ensemble in fitted[-N_FOLDS:] for tree in ensemble.estimators_]
            literal = [
                mixing.leaf_means(learned, UNITS, range(len(X)), training.V, training.weight, i)
                for i in range(len(X))
            ]
            found = trees.scores(training.rows)
            np.testing.assert_allclose(found, loss.link(np.array(literal)), atol=1e-6)

    @pytest.mark.parametrize("most", [10, 100])
    def test_of_few_and_of_many_rows_all_groups_predict(self, most, monkeypatch, fitted):
        monkeypatch.setattr(VertexTrees, "most_rows", most)
        kind, y = SPACES["multilabel"]
        training, loss = training_of(X, y, kind)
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training)
        each = [tree.predict(UNITS) for ensemble in fitted for tree in ensemble.estimators_]
        assert len(trees.forest.roots) == N_FOLDS * 20 and len(fitted) == N_FOLDS
        means = loss.link(np.mean(each, axis=0))
        np.testing.assert_allclose(trees.scores(training.rows), means, atol=1e-6)

    def test_a_quantile_of_trees(self, rng, fitted):
        y = rng.randn(30)
        training, loss = training_of(X, y, RealLine)
        trees = VertexTrees(loss, 0.3, 0, None)
        trees.fit(training)
        each = [tree.predict(UNITS) for ensemble in fitted for tree in ensemble.estimators_]
        scores = trees.scores(training.rows)[:, 0]
        np.testing.assert_allclose(scores, np.quantile(each, 0.3, axis=0), atol=1e-6)

    def test_of_many_rows_each_learns_some(self, monkeypatch, fitted):
        monkeypatch.setattr(VertexTrees, "most_rows", 10)
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind)
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training)
        learned = [tree.tree_ for ensemble in fitted for tree in ensemble.estimators_]
        sizes = [tree.n_node_samples[0] for tree in learned]
        assert max(sizes) <= 10

    def test_options_are_those_of_trees(self, fitted):
        training, loss = training_of(X, SPACES["multiclass"][1], Simplex)
        options = VertexTrees.random_forest | {"n_trees": 2, "min_samples_leaf": 5}
        VertexTrees(loss, None, 0, None, **options).fit(training)
        assert {type(ensemble) for ensemble in fitted} == {RandomForestRegressor}
        learned = [tree for ensemble in fitted for tree in ensemble.estimators_]
        assert len(learned) == 2 * N_FOLDS
        assert {(tree.min_samples_leaf, tree.max_features) for tree in learned} == {(5, "sqrt")}

    @pytest.mark.parametrize("unit", [1e-60, 1.0, 1e40])
    def test_units_of_features_do_not_matter(self, unit, rng):
        given = np.column_stack([rng.randn(60, 2), np.ones(60), np.full(60, np.nan)])
        y = (given[:, 0] > 0).astype(int)
        means = []
        for factor in (1.0, unit):
            training, loss = training_of(factor * given, y, Simplex)
            trees = VertexTrees(loss, None, 0, None)
            trees.fit(training)
            means.append(trees.scores(StandardRows(None).of(factor * given)))
            assert np.isfinite(trees.scores(StandardRows(None).of(1e90 * given))).all()
        np.testing.assert_allclose(means[1], means[0], atol=0.5)

    def test_sparse_rows_are_the_same_rows(self, monkeypatch):
        monkeypatch.setattr(VertexTrees, "share_of_range", 0.0)
        kind, y = SPACES["multiclass"]
        ranks = (X.argsort(axis=0).argsort(axis=0) + 0.5) / 30.0  # dense rows have ranks
        training, loss = training_of(ranks, y, kind)
        sparse_rows = training._replace(rows=StandardRows(None).of(sparse.csr_matrix(ranks)))
        trees = VertexTrees(loss, None, 0, None, max_features=1.0)
        honest = trees.fit(sparse_rows)
        assert honest.shape == (30, 3) and np.isfinite(honest).all()
        dense = VertexTrees(loss, None, 0, None)
        assert np.corrcoef(dense.fit(training).ravel(), honest.ravel())[0, 1] > 0.99

    def test_stretch_of_a_part_is_of_trees_that_have_not_learned_it(self, rng, fitted):
        given = rng.randn(200, 4)
        training, loss = training_of(given, (given[:, 1] > 0).astype(int), Simplex)
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training)
        stretched = trees.stretched(training)
        for part, forest in enumerate(fitted):
            importances = forest.feature_importances_
            stretch = stretched.rows_of_fold(part).stretch
            np.testing.assert_allclose(stretch**2, importances / importances.mean())
        mean = np.mean([forest.feature_importances_ for forest in fitted], axis=0)
        np.testing.assert_allclose(stretched.rows.stretch**2, mean / mean.mean())
        assert np.argmax(stretched.rows.stretch) == 1

    def test_stretch_of_many_rows_is_of_reserved_ones(self, rng):
        given = rng.randn(90, 4)
        training, loss = training_of(given, (given[:, 1] > 0).astype(int), Simplex)
        training.parts[:40] = -1
        training = training._replace(reserved=np.arange(40), truths=training.V)
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training)
        stretches = [trees.stretched(training).rows_of_fold(k).stretch for k in range(N_FOLDS)]
        y = training.V.copy()
        y[40:] = y[::-1][:50]  # the outputs of judged rows do not matter
        trees.fit(training._replace(V=y))
        for stretch in stretches:
            wanted = trees.stretched(training).rows.stretch
            np.testing.assert_allclose(stretch, wanted, rtol=1e-14)  # a root of a mean of squares

    def test_columns_that_no_tree_splits_are_not_stretched(self):
        training, loss = training_of(np.ones((30, 2)), np.arange(30) % 2, Simplex)
        trees = VertexTrees(loss, None, 0, None)
        trees.fit(training)
        np.testing.assert_array_equal(trees.stretched(training).rows.stretch, [1.0, 1.0])

    def test_importances_that_round_below_0_are_0(self):
        class Forest:
            feature_importances_ = np.array([-1e-17, 0.25, 0.75])

        np.testing.assert_allclose(_trees.stretch_of(Forest()) ** 2, [0.0, 0.75, 2.25])


class TestEstimators:
    @pytest.mark.parametrize("weights", [False, True])
    def test_score_rows_that_they_have_not_learned(self, weights, rng):
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind, weighted(rng) if weights else None)
        member = CrossFitted(GaussianNB(), loss)
        honest = member.fit(training)
        for i, part in enumerate(training.parts):
            rest = training.parts != part
            alone = clone(member.estimator).fit(X[rest], y[rest], training.weight[rest])
            np.testing.assert_allclose(
                honest[i], loss.link(alone.predict_proba(X[i : i + 1]))[0], atol=1e-9
            )
        all_rows = GaussianNB().fit(X, y, training.weight)
        np.testing.assert_allclose(
            member.scores(training.rows), loss.link(all_rows.predict_proba(X)), atol=1e-9
        )

    def test_regressors_predict_in_units_of_the_loss(self, rng):
        y = 100.0 + 7.0 * X[:, 0] + rng.randn(30)
        training, loss = training_of(X, y, RealLine)
        member = CrossFittedRegressor(LinearRidge(), loss)
        honest = member.fit(training)
        rest = training.parts != training.parts[4]
        alone = LinearRidge().fit(X[rest], y[rest]).predict(X[4:5])
        assert honest[4, 0] == pytest.approx(loss.space.pack(alone)[0])

    def test_classes_that_a_part_lacks_have_the_lowest_scores(self):
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind)
        parts = np.where(y == 1, 0, 1 + np.arange(30) % 4)  # nobody learns class 1 for part 0
        member = CrossFitted(GaussianNB(), loss)
        honest = member.fit(training._replace(parts=parts))
        alone = GaussianNB().fit(X[y != 1], y[y != 1])
        proba = alone.predict_proba(X[y == 1])
        proba = np.column_stack([proba[:, 0], proba.min(axis=1), proba[:, 1]])
        np.testing.assert_allclose(honest[y == 1], loss.link(proba), atol=1e-9)

    @pytest.mark.parametrize("kind", [Simplex, OrdinalChain])
    def test_predictors_know_classes_that_a_part_lacks(self, kind):
        y = np.arange(30) % 4
        training, loss = training_of(X, y, kind)
        parts = np.where(y == 2, 0, 1 + np.arange(30) // 4 % 4)
        name = "multiclass" if kind is Simplex else "ordinal"
        member = CrossFitted(sk.OnlineStructuredPredictor(name, max_iter=2, random_state=0), loss)
        honest = member.fit(training._replace(parts=parts))
        assert honest.shape == training.V.shape and np.isfinite(honest).all()

    @slow_as_python
    def test_passes_are_chosen_once(self):
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind)
        member = CrossFitted(sk.OnlineStructuredPredictor(random_state=0), loss)
        member.fit(training)
        rest = np.flatnonzero(training.parts != 0)
        first = sk.OnlineStructuredPredictor(random_state=0).fit(X[rest], y[rest])
        assert member.fitted.max_iter == first.n_iter_ and member.estimator.max_iter == "auto"

    def test_without_scores_are_refused(self):
        kind, y = SPACES["multiclass"]
        training, loss = training_of(X, y, kind)
        with pytest.raises(ValueError, match="must have embedding_scores or predict_mean"):
            CrossFitted(LinearRidge(), loss).fit(training)
        kind, y = SPACES["multilabel"]
        training, loss = training_of(X, y, kind)
        with pytest.raises(ValueError, match="must have embedding_scores or predict_mean"):
            CrossFitted(LogisticRegression(), loss)._score(LogisticRegression(), X)


class TestRows:
    def test_are_standardized_and_stretched(self, rng):
        given = rng.randn(40, 3) * [1.0, 10.0, 100.0] + 5.0
        given[3, 1] = np.nan
        learner = sk.OnlineStructuredPredictor(missing="indicator")
        scale = scale_of(learner, 3, True)
        scale.count_all(_training.Rows.from_array(given), np.ones(40))
        Z = StandardRows(given, scale, np.array([1.0, 2.0, 3.0])).chunk(slice(2, 5))
        mean, deviation = np.nanmean(given, axis=0), np.nanstd(given, axis=0)
        wanted = np.nan_to_num((given[2:5] - mean) / deviation) * [1.0, 2.0, 3.0]
        np.testing.assert_allclose(Z[:, :3], wanted, atol=1e-10)
        np.testing.assert_array_equal(Z[:, 3:], [[0, 0, 0], [0, 2, 0], [0, 0, 0]])
