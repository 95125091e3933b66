import pickle
import warnings

import numpy as np
import pytest
from conftest import INTERPRETED
from naive import crf as naive
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from skstructured import ConditionalRandomField
from skstructured._base.ragged import Ragged, Stacked
from skstructured.estimators.crf._objective import ChainObjective, Layout, VectorObjective
from skstructured.losses import FenchelYoung
from skstructured.spaces import resolve_space

LENGTHS = (3, 1, 4, 2, 2, 3)
SLOW = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
PLAIN = {"standardize": False, "tol": 1e-10}


def words(rng, k=3, p=2, lengths=LENGTHS):
    """Sequences, and labels that go by the features and by the label before."""
    W, X, y = 2.0 * rng.randn(k, p), [], []
    for M in lengths:
        x, labels, before = rng.randn(M, p), [], 0
        for row in x:
            before = int(np.argmax(W @ row + rng.gumbel(size=k) + np.eye(k)[before]))
            labels.append(before)
        X.append(x)
        y.append(np.array(labels))
    y[0][:] = np.arange(len(y[0])) % k
    return X, y


def weights_of(model):
    return [model.coef_, model.intercept_, model.start_, model.end_, model.transitions_]


def sequence_value(model, X, y, sample_weight=None):
    return naive.sequence_objective(weights_of(model), X, y, model.alpha, sample_weight)


def outputs(space, X, rng):
    """Outputs of a space that go by the features."""
    theta = X @ rng.randn(X.shape[1], 4) + 0.5 * rng.randn(len(X), 4)
    if space == "birkhoff":
        return np.argsort(theta[:, :2], axis=1)
    if space == "hypercube":
        return (theta[:, :3] > 0).astype(int)
    if space == "ordinal":
        return np.digitize(theta[:, 0], [-1.0, 0.0, 1.0])
    return np.argmax(theta[:, :3], axis=1)


SPACES = ["simplex", "hypercube", "ordinal", "birkhoff"]


class TestObjective:
    def test_sequences_equal_enumeration_and_differences(self, rng):
        X, y = words(rng)
        share = rng.dirichlet(np.ones(len(X)))
        layout = Layout(2, 3, True, True)
        labels = Ragged.from_lengths(np.concatenate(y), LENGTHS)
        objective = ChainObjective(np.vstack(X), labels, share, 0.3, layout)

        def literal(flat):
            Theta = flat.reshape(layout.shape)
            parts = [Theta[:2].T, *Theta[2:5], Theta[5:]]
            return naive.sequence_objective(parts, X, y, 0.3, share)

        Theta = rng.randn(*layout.shape)
        with objective:
            value, gradient = objective.value_and_gradient(Theta)
        assert value == pytest.approx(literal(Theta.ravel()), rel=1e-12)
        slopes = approx_fprime(Theta.ravel(), literal, 1e-6)
        np.testing.assert_allclose(gradient.ravel(), slopes, atol=1e-5)

    @pytest.mark.parametrize("space", SPACES)
    def test_vectors_equal_enumeration_and_differences(self, space, rng):
        X = rng.randn(6, 2)
        y = outputs(space, rng.randn(40, 2), rng)
        fitted = resolve_space(space).fit(y)
        V, layout = fitted.encode(y[:6]), Layout(2, fitted.dim_, True, False)
        loss = FenchelYoung(fitted, "shannon", scale=1.0)
        share = rng.dirichlet(np.ones(6))
        objective = VectorObjective(X, loss, fitted.pack(y[:6]), share, 0.3, layout)

        def literal(flat):
            Theta = flat.reshape(layout.shape)
            return naive.vector_objective((Theta[:2].T, Theta[2]), space, X, V, 0.3, share)

        Theta = rng.randn(*layout.shape)
        with objective:
            value, gradient = objective.value_and_gradient(Theta)
        assert value == pytest.approx(literal(Theta.ravel()), rel=1e-9)
        slopes = approx_fprime(Theta.ravel(), literal, 1e-6)
        np.testing.assert_allclose(gradient.ravel(), slopes, atol=1e-5)

    @SLOW
    def test_gradients_of_blocks_and_of_all_rows_are_the_same(self, rng, monkeypatch):
        X, y = words(rng, lengths=[5] * 2000)
        labels = Ragged.from_lengths(np.concatenate(y), [5] * 2000)
        args = (np.full(2000, 1 / 2000), 0.1, Layout(2, 3, True, True))
        first = ChainObjective(np.vstack(X), labels, *args)
        assert len(first.blocks) == 3
        monkeypatch.setattr("skstructured.estimators.crf._objective.MOST_NUMBERS", 0)
        second = ChainObjective(np.vstack(X), labels, *args)
        Theta = rng.randn(*first.layout.shape)
        with first, second:
            (a, one), (b, two) = (o.value_and_gradient(Theta) for o in (first, second))
        assert a == b
        np.testing.assert_allclose(one, two, atol=1e-14)


class TestOptimum:
    def test_of_sequences_is_a_generic_solvers(self, rng):
        X, y = words(rng, k=2)
        model = ConditionalRandomField(alpha=0.05, **PLAIN)
        model.fit(X, y)
        shapes = [part.shape for part in weights_of(model)]
        best = naive.least(lambda parts: naive.sequence_objective(parts, X, y, 0.05, None), shapes)
        found = sequence_value(model, X, y)
        assert found == pytest.approx(best, rel=1e-6)
        assert model.loss_curve_[-1] == pytest.approx(found, rel=1e-9)
        assert found - best <= model.duality_gap_ + 1e-9

    @pytest.mark.parametrize("space", SPACES)
    @pytest.mark.short(every=2)
    def test_of_vectors_is_a_generic_solvers(self, space, rng):
        X = rng.randn(20, 2)
        y = outputs(space, X, rng)
        model = ConditionalRandomField(space, alpha=0.05, **PLAIN).fit(X, y)
        V = model.space_.encode(y)
        shapes = [model.coef_.shape, model.intercept_.shape]

        def literal(parts):
            return naive.vector_objective(parts, space, X, V, 0.05, None)

        found = literal([model.coef_, model.intercept_])
        assert found == pytest.approx(naive.least(literal, shapes), rel=1e-6)

    def test_of_classes_is_logistic_regressions(self):
        X, y = load_iris(return_X_y=True)
        model = ConditionalRandomField("simplex", alpha=0.02, fit_intercept=False, **PLAIN)
        peer = LogisticRegression(C=1 / (0.02 * len(y)), fit_intercept=False, tol=1e-8)
        peer.set_params(max_iter=10_000).fit(X, y)
        model.fit(X, y)
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
        np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)

    def test_the_intercept_is_a_feature(self):
        X, y = load_iris(return_X_y=True)
        ones = np.column_stack([X, np.ones(len(X))])
        one = ConditionalRandomField("simplex", alpha=0.02, **PLAIN).fit(X, y)
        two = clone(one).set_params(fit_intercept=False).fit(ones, y)
        np.testing.assert_allclose(one.coef_, two.coef_[:, :4], atol=1e-5)
        np.testing.assert_allclose(one.intercept_, two.coef_[:, 4], atol=1e-5)

    def test_gap_is_above_the_suboptimality_in_every_iteration(self, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 10)
        model = ConditionalRandomField(alpha=0.01)
        best = clone(model).set_params(tol=1e-10).fit(X, y).loss_curve_[-1]
        for most in (1, 2, 4, 8):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                short = clone(model).set_params(max_iter=most, tol=1e-10).fit(X, y)
            assert short.loss_curve_[-1] - best <= short.duality_gap_ + 1e-10

    def test_weights_of_two_are_two_sequences(self, rng):
        X, y = words(rng)
        weight = np.array([2.0, 1.0, 0.0, 1.0, 3.0, 1.0])
        often = np.repeat(np.arange(6), weight.astype(int))
        model = ConditionalRandomField(alpha=0.1, tol=1e-11)
        one = clone(model).fit(X, y, sample_weight=weight)
        two = clone(model).fit([X[i] for i in often], [y[i] for i in often])
        np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-4)


class TestRows:
    @pytest.mark.parametrize("standardize", [False, "auto", True])
    def test_csr_equals_dense(self, standardize, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 5)
        X = [(x > 0.3).astype(float) for x in X]
        model = ConditionalRandomField(alpha=0.1, tol=1e-9)
        model.set_params(standardize=standardize)
        dense = clone(model).fit(X, y)
        thin = clone(model).fit([sparse.csr_matrix(x) for x in X], y)
        if standardize is not True:  # which centres dense features alone
            np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-8)
        for one, two in zip(thin.predict(X), model.fit(X, y).predict(X), strict=True):
            assert one.shape == two.shape

    @pytest.mark.exhaustive
    def test_csr_is_never_densified(self, rng):
        p = 10**4 if INTERPRETED else 10**6
        X = sparse.random(60, p, 10 / p, "csr", random_state=0)
        y = rng.randint(2, size=60)
        model = ConditionalRandomField(alpha=0.1, max_iter=3, tol=1e9)
        assert model.fit(Stacked(X, [20] * 3), np.split(y, 3)).coef_.shape == (2, p)

    @pytest.mark.exhaustive
    def test_units_and_origins_do_not_matter_when_standardised(self):
        X, y = load_wine(return_X_y=True)
        one = ConditionalRandomField("simplex", tol=1e-8).fit(X, y)
        two = clone(one).fit(X * 1e3 + 7.0, y)
        np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X * 1e3 + 7), atol=1e-4)

    def test_indicators_are_left_alone(self, rng):
        X, y = words(rng)
        X = [np.column_stack([x, x[:, 0] > 0]).astype(float) for x in X]
        plain = [x[:, 2:] for x in X]
        one = ConditionalRandomField(alpha=0.1, tol=1e-10).fit(plain, y)
        two = clone(one).set_params(standardize=False).fit(plain, y)
        np.testing.assert_array_equal(one.coef_, two.coef_)
        with pytest.raises(AssertionError):
            other = clone(one).set_params(standardize=True).fit(plain, y)
            np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3)

    @pytest.mark.exhaustive
    @SLOW
    @pytest.mark.parametrize("space", ["sequence", "simplex"])
    def test_threads_give_the_same_bits(self, space, rng):
        if space == "sequence":
            X, y = words(rng, lengths=[6] * 3000)
        else:
            X = rng.randn(10_000, 3)
            y = outputs(space, X, rng)
        one, two = (
            ConditionalRandomField(space, n_jobs=n_jobs, tol=0.1).fit(X, y) for n_jobs in (1, 3)
        )
        np.testing.assert_array_equal(one.coef_, two.coef_)
        np.testing.assert_array_equal(one.loss_curve_, two.loss_curve_)

    def test_sequences_of_one_position_are_classes(self, rng):
        X = rng.randn(30, 3)
        y = outputs("simplex", X, rng)
        one = ConditionalRandomField(alpha=0.1, **PLAIN).fit(X[:, None], y[:, None])
        two = ConditionalRandomField("simplex", alpha=0.1 / 3, **PLAIN)
        ones = np.column_stack([X, np.ones((30, 3))])  # intercept, start and end
        two.set_params(alpha=0.1, fit_intercept=False).fit(ones, y)
        np.testing.assert_allclose(one.coef_, two.coef_[:, :3], atol=1e-4)
        assert not one.transitions_.any()


class TestEstimator:
    def test_warm_start_is_there_at_once(self, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 5)
        X = [5.0 * x + 3.0 for x in X]
        model = ConditionalRandomField(alpha=0.1, tol=1e-8, warm_start=True)
        first = model.fit(X, y)
        iterations, coef = first.n_iter_, first.coef_
        again = model.fit(X, y)
        assert iterations > 5 and again.n_iter_ <= 2
        np.testing.assert_allclose(again.coef_, coef, atol=1e-3)
        with pytest.raises(ValueError, match="warm_start=True goes on"):
            model.fit(X, [labels % 2 for labels in y])
        np.testing.assert_array_equal(model.coef_, again.coef_)

    def test_predictions_decode_the_scores(self, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 20)
        names = [np.array(list("abc"))[labels] for labels in y]
        model = ConditionalRandomField(alpha=0.01).fit(X, names)
        assert model.score(X, names) > 0.7
        for x, mu, best in zip(
            X[:3], model.predict_marginals(X[:3]), model.predict_nbest(X[:3], 2), strict=True
        ):
            unary = x @ model.coef_.T + model.intercept_
            unary[0] += model.start_
            unary[-1] += model.end_
            pair = model.transitions_[None]
            np.testing.assert_allclose(mu, naive.chains.marginals(unary, pair)[0], atol=1e-10)
            found, scores = naive.chains.all_scores(unary, pair)
            top = np.argsort(-scores)[: len(best)]
            np.testing.assert_allclose([score for _, score in best], scores[top])
            assert best[0][0].tolist() == model.classes_[found[top[0]]].tolist()
            assert best[0][0].tolist() == model.predict([x])[0].tolist()

    @pytest.mark.parametrize("transitions", ["bigram", "features", "none"])
    @pytest.mark.parametrize("factor", [1.0, 1e3])
    def test_log_probabilities_are_those_of_enumeration(self, transitions, factor, rng):
        X, y = words(rng)
        model = ConditionalRandomField(alpha=0.1, tol=0.1, transitions=transitions).fit(X, y)
        parts = weights_of(model)
        parts += [model.transition_coef_] if transitions == "features" else []
        for part in parts:
            part *= factor
        found = model.log_proba(X, y)
        wanted = [-naive.sequence_loss(x, labels, *parts) for x, labels in zip(X, y, strict=True)]
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * factor)
        best, totals = model.predict_nbest(X, 3), model.log_partition(X)
        for x, lists, total in zip(X, best, totals, strict=True):
            for labels, score in lists:
                assert model.log_proba([x], [labels])[0] == pytest.approx(
                    score - total, abs=1e-11 * factor
                )
        with pytest.raises(ValueError, match="sequence 1 has 1 positions in X, but 2 labels"):
            model.log_proba(X[:2], [y[0], y[0][:2]])

    @SLOW
    @pytest.mark.parametrize("decoder", ["map", "min_risk", "nearest", "randomized", "sampled"])
    @pytest.mark.short(every=3)
    def test_draws_have_the_expected_loss(self, decoder, rng):
        X, y = words(rng)
        model = ConditionalRandomField(alpha=0.1, decoder=decoder, random_state=0).fit(X, y)
        drawn = [model.space_.target_loss(model.sample(X), y) for _ in range(2000)]
        exact = model.expected_target_loss(X, y)
        np.testing.assert_allclose(np.mean(drawn, axis=0), exact, atol=0.05)

    def test_search_over_lists(self, rng):
        X, y = words(rng, lengths=[3, 5, 2] * 10)
        grid = {"alpha": [1e-3, 1e-1], "decoder": ["map", "nearest"]}
        search = GridSearchCV(ConditionalRandomField(), grid, cv=3).fit(X, y)
        assert set(search.best_params_) == {"alpha", "decoder"}
        assert len(search.predict(X)) == 30

    def test_copies_predict_the_same(self, rng):
        X, y = words(rng)
        model = ConditionalRandomField(alpha=0.1, random_state=0).fit(X, y)
        twin = pickle.loads(pickle.dumps(model))
        for one, two in zip(model.predict(X), twin.predict(X), strict=True):
            np.testing.assert_array_equal(one, two)
        assert not hasattr(clone(model), "coef_")

    def test_progress_and_a_warning_where_it_stops_early(self, rng, capsys):
        X, y = words(rng)
        model = ConditionalRandomField(max_iter=2, verbose=1, tol=1e-9)
        with pytest.warns(ConvergenceWarning, match="duality gap of .* gradient of norm"):
            model.fit(X, y)
        assert capsys.readouterr().out.count("iteration") == 2 == model.n_iter_
        assert model.loss_curve_.shape == (2,)

    def test_other_regularizers(self, rng):
        X = rng.randn(30, 2)
        y = outputs("hypercube", X, rng)
        model = ConditionalRandomField(
            "hypercube", "squared", decoder="nearest", random_state=0
        ).fit(X, y)
        assert model.score(X, y) > 0.75


class TestBadInput:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"alpha": 0.0}, "alpha must be a positive"),
            ({"tol": -1.0}, "tol must be a positive"),
            ({"max_iter": 0}, "max_iter must be an integer"),
            ({"standardize": "yes"}, "standardize must be a bool"),
            ({"regularizer": "squared"}, "for label sequences"),
            ({"decoder": "f1"}, "decoder must be one of .* for label sequences"),
            ({"space": "permutahedron"}, "no oracle for Permutahedron with Shannon"),
        ],
    )
    def test_parameters(self, params, message, rng):
        X, y = words(rng)
        if params.get("space") == "permutahedron":
            X, y = rng.randn(4, 2), np.argsort(rng.randn(4, 3), axis=1) + 1
        with pytest.raises(ValueError, match=message):
            ConditionalRandomField(**params).fit(X, y)

    def test_features_too_large_to_learn_from(self, rng):
        X, y = words(rng)
        model = ConditionalRandomField(max_iter=5, tol=1e9)
        model.fit([1e90 * x for x in X], y)
        model.set_params(standardize=False, tol=1e-9)
        with np.errstate(all="ignore"), pytest.warns(ConvergenceWarning, match="one scale"):
            model.fit([1e99 * x for x in X], y)
        assert np.isfinite(model.coef_).all()

    def test_sequences_are_named(self, rng):
        X, y = words(rng)
        model = ConditionalRandomField(alpha=0.1, missing="error").fit(X, y)
        coef = model.coef_.copy()
        holes = [x.copy() for x in X]
        holes[2][3, 1] = np.nan
        shorter = [*y[:3], y[3][:1], *y[4:]]
        wide = [*X[:4], np.ones((2, 5)), X[5]]
        empty = [*X[:4], np.ones((0, 2)), X[5]]
        for rows, labels, message in (
            (holes, y, "sequence 2 of X, position 3"),
            (X, shorter, "sequence 3 has 2 positions in X, but 1 labels"),
            (wide, y, "sequence 4 of X has 5 features"),
            (empty, y, "sequence 4 of X is empty"),
            (X[:-1], y, "X has 5 sequences, but y has 6"),
            (np.vstack(X), np.concatenate(y), "sequence"),
        ):
            with pytest.raises(ValueError, match=message):
                model.fit(rows, labels)
            np.testing.assert_array_equal(model.coef_, coef)
        with pytest.raises(ValueError, match="not among the classes"):
            model.score(X, [labels + 1 for labels in y])
        with pytest.raises(ValueError, match="features"):
            model.predict(wide[4:5])
