"""Transitions of conditional random fields that go by features, and models without any."""

import numpy as np
import pytest
from naive import crf as naive
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from test_crf import LENGTHS, words

from skstructured import ConditionalRandomField
from skstructured._base.ragged import Ragged
from skstructured.estimators.crf._objective import EdgeObjective, Layout

#: Where the limits on memory are.
CRF = "skstructured.estimators.crf"

EXACT = {"standardize": False, "tol": 1e-10, "alpha": 0.05}


def weights_of(model):
    parts = [model.coef_, model.intercept_, model.start_, model.end_, model.transitions_]
    return [*parts, model.transition_coef_] if hasattr(model, "transition_coef_") else parts


def switching(rng, lengths):
    """Labels from 0 on that go up by one where the feature is 1 and stay where it is 0."""
    X = [rng.randint(2, size=(M, 1)).astype(float) for M in lengths]
    return X, [(np.cumsum(x[:, 0]) - x[0]).astype(int) % 3 for x in X]


class TestObjective:
    @pytest.mark.parametrize("kind", ["dense", "csr"])
    @pytest.mark.parametrize("scale", [1.0, 30.0])
    def test_equals_enumeration_and_differences(self, kind, scale, rng, monkeypatch):
        monkeypatch.setattr(f"{CRF}._objective.MOST_SCORES", 40)  # blocks of 4 rows or more
        X, y = words(rng)
        share = rng.dirichlet(np.ones(len(X)))
        layout = Layout(2, 3, True, True, "features")
        rows = sparse.csr_matrix(np.vstack(X)) if kind == "csr" else np.vstack(X)
        labels = Ragged.from_lengths(np.concatenate(y), LENGTHS)
        objective = EdgeObjective(rows, labels, share, 0.3, layout)
        assert len(objective.blocks) > 2

        def literal(flat):
            Theta = flat.reshape(layout.shape)
            steps = Theta[8:].reshape(2, 3, 3).transpose(1, 2, 0)
            parts = [Theta[:2].T, *Theta[2:5], Theta[5:8], steps]
            return naive.sequence_objective(parts, X, y, 0.3, share)

        Theta = scale * rng.randn(*layout.shape)
        with objective:
            value, gradient = objective.value_and_gradient(Theta)
        assert value == pytest.approx(literal(Theta.ravel()), rel=1e-12)
        slopes = approx_fprime(Theta.ravel(), literal, 1e-6)
        np.testing.assert_allclose(gradient.ravel(), slopes, atol=1e-5 * scale)


class TestOptimum:
    def test_is_a_generic_solvers(self, rng):
        X, y = words(rng, k=2)
        model = ConditionalRandomField(transitions="features", **EXACT).fit(X, y)
        parts = weights_of(model)
        assert model.transition_coef_.shape == (2, 2, 2)

        def literal(parts):
            return naive.sequence_objective(parts, X, y, 0.05, None)

        found, best = literal(parts), naive.least(literal, [part.shape for part in parts])
        assert found == pytest.approx(best, rel=1e-6)
        assert found - best <= model.duality_gap_ + 1e-9
        fewer = clone(model).set_params(transitions="bigram").fit(X, y)
        assert model.loss_curve_[-1] < fewer.loss_curve_[-1]
        assert not hasattr(fewer, "transition_coef_")

    def test_without_transitions_positions_are_classes(self, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 10)
        model = ConditionalRandomField(transitions="none", **EXACT).fit(X, y)
        ends = [np.eye(len(x))[:, [0, -1]] for x in X]
        Z = np.column_stack([np.vstack(X), np.ones(90), np.vstack(ends)])
        weight = np.repeat(1.0, 90)
        peer = LogisticRegression(C=1 / (0.05 * 30), fit_intercept=False, tol=1e-10, max_iter=9999)
        peer.fit(Z, np.concatenate(y), sample_weight=weight)
        np.testing.assert_allclose(model.coef_, peer.coef_[:, :2], atol=1e-4)
        np.testing.assert_allclose(model.start_, peer.coef_[:, 3], atol=1e-4)
        assert model.transitions_.shape == (3, 3) and not model.transitions_.any()
        np.testing.assert_allclose(
            np.vstack(model.predict_marginals(X)), peer.predict_proba(Z), atol=1e-4
        )

    def test_weights_of_two_are_two_sequences(self, rng):
        X, y = words(rng)
        often = np.array([0, 0, 1, 3, 4, 4, 4, 5])
        model = ConditionalRandomField(transitions="features", alpha=0.1, tol=1e-11)
        one = clone(model).fit(X, y, sample_weight=np.bincount(often, minlength=6))
        two = clone(model).fit([X[i] for i in often], [y[i] for i in often])
        for a, b in zip(weights_of(one), weights_of(two), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-4)


class TestModel:
    def test_learns_what_bigrams_cannot(self, rng):
        X, y = switching(rng, [6] * 20)
        scores = [
            ConditionalRandomField(transitions=given, alpha=0.01, tol=0.01).fit(X, y).score(X, y)
            for given in ("bigram", "features")
        ]
        assert scores[0] < 0.8 and scores[1] == 1.0

    def test_predictions_decode_the_scores(self, rng):
        X, y = words(rng, lengths=[3, 1, 4] * 5)
        model = ConditionalRandomField(transitions="features", alpha=0.01).fit(X, y)
        marginals, best = model.predict_marginals(X), model.predict_nbest(X, 2)
        for x, mu, (first, _) in zip(X[:6], marginals, best, strict=False):
            scores = naive.sequence_scores(x, *weights_of(model))
            np.testing.assert_allclose(mu, naive.chains.marginals(*scores)[0], atol=1e-10)
            found, values = naive.chains.all_scores(*scores)
            assert first[0].tolist() == found[np.argmax(values)].tolist()
            assert first[1] == pytest.approx(values.max())
        likeliest = [np.argmax(mu, axis=1) for mu in marginals]
        assert all(map(np.array_equal, model.set_params(decoder="min_risk").predict(X), likeliest))

    def test_units_origins_and_csr(self, rng):
        X, y = words(rng, lengths=[3, 5, 1] * 5)
        model = ConditionalRandomField(transitions="features", alpha=0.1, tol=1e-9)
        one = clone(model).fit(X, y).predict_marginals(X)
        moved = [1e3 * x + 7.0 for x in X]
        two = clone(model).fit(moved, y).predict_marginals(moved)
        np.testing.assert_allclose(np.vstack(one), np.vstack(two), atol=1e-4)
        thin = [sparse.csr_matrix((x > 0).astype(float)) for x in X]
        three = clone(model).fit(thin, y)
        four = clone(model).fit([x.toarray() for x in thin], y)
        np.testing.assert_allclose(three.transition_coef_, four.transition_coef_, atol=1e-7)
        np.testing.assert_allclose(
            np.vstack(three.predict_marginals(thin)),
            np.vstack(four.predict_marginals([x.toarray() for x in thin])),
            atol=1e-7,
        )

    def test_threads_and_warm_starts(self, rng, monkeypatch):
        monkeypatch.setattr(f"{CRF}._objective.MOST_SCORES", 90)
        monkeypatch.setattr(f"{CRF}._objective.MOST_NUMBERS", 200)  # blocks by the few
        X, y = words(rng, lengths=[3, 5, 1] * 5)
        X = [5.0 * x + 3.0 for x in X]
        model = ConditionalRandomField(transitions="features", alpha=0.1, tol=1e-8)
        one = clone(model).fit(X, y)
        two = clone(model).set_params(n_jobs=3, warm_start=True).fit(X, y)
        for a, b in zip(weights_of(one), weights_of(two), strict=True):
            np.testing.assert_array_equal(a, b)
        iterations = two.n_iter_
        assert iterations > 5 and two.fit(X, y).n_iter_ <= 2
        bigrams = two.set_params(transitions="bigram").fit(X, y)  # and back, from what there is
        assert not hasattr(bigrams, "transition_coef_")
        again = bigrams.set_params(transitions="features").fit(X, y)
        np.testing.assert_allclose(again.transition_coef_, one.transition_coef_, atol=1e-3)

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"transitions": "trigram"}, "transitions must be one of"),
            ({"transitions": "none", "space": "simplex"}, "is for space=.sequence."),
        ],
    )
    def test_refusals(self, params, message, rng):
        X, y = words(rng)
        if "space" in params:
            X, y = np.vstack(X), np.concatenate(y)
        with pytest.raises(ValueError, match=message):
            ConditionalRandomField(**params).fit(X, y)
