"""The conditional logit beside its literal form, published models, and what must be the same."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from naive import choice as naive
from scipy import sparse
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skstructured import ConditionalLogit
from skstructured.items import _choice_fit


def problem(n=60, p=3, largest=5, seed=0, scale=1.0):
    """Rounds of 1 to `largest` items, choices of a model with noise, weights that are not 1."""
    rng = np.random.RandomState(seed)
    rounds = [rng.randn(rng.randint(1, largest + 1), p) for _ in range(n)]
    w = rng.randn(p)
    chosen = [int(np.argmax(x @ w + rng.gumbel(size=len(x)))) for x in rounds]
    return [x * scale for x in rounds], np.array(chosen), rng.choice([0.5, 1.0, 2.5], n)


def flat(rounds, chosen, seed=None):
    """Rows, 0/1, and qid of rounds; rows in any order where there is a seed."""
    X = np.concatenate(rounds)
    qid = np.repeat(np.arange(len(rounds)), [len(x) for x in rounds])
    y = np.concatenate([np.arange(len(x)) == k for x, k in zip(rounds, chosen, strict=True)])
    order = np.arange(len(X)) if seed is None else np.random.RandomState(seed).permutation(len(X))
    return X[order], y[order].astype(int), qid[order]


def same(model, other, rtol, digits=1e-12):
    """Weights and their errors to `rtol`, likelihoods to `digits`."""
    for name in ("coef_", "standard_errors_"):
        np.testing.assert_allclose(getattr(other, name), getattr(model, name), rtol=rtol)
    for name in ("log_likelihood_", "null_log_likelihood_"):
        assert getattr(other, name) == pytest.approx(getattr(model, name), rel=digits)


# Against the literal form.


@pytest.mark.parametrize("alpha", [0.0, 0.05])
@pytest.mark.parametrize(("make", "block"), [(np.asarray, 10), (sparse.csr_matrix, 1 << 21)])
def test_fit_is_the_literal_optimum(alpha, make, block, monkeypatch):
    monkeypatch.setattr(_choice_fit.Likelihood, "numbers_per_block", block)
    rounds, chosen, weights = problem()
    w = naive.fitted(rounds, chosen, weights, alpha)
    model = ConditionalLogit(alpha, standardize=False)
    model.fit([make(x) for x in rounds], chosen, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-10, atol=1e-10)
    likelihood = naive.log_likelihood(model.coef_, rounds, chosen, weights)
    assert model.log_likelihood_ == pytest.approx(likelihood, rel=1e-12)
    zero = naive.log_likelihood(0.0 * w, rounds, chosen, weights)
    assert model.null_log_likelihood_ == pytest.approx(zero, rel=1e-12)
    inverse = np.linalg.inv(naive.hessian(w, rounds, weights, alpha) * weights.sum())
    np.testing.assert_allclose(model.covariance_, inverse, rtol=1e-8)
    np.testing.assert_allclose(model.standard_errors_, np.sqrt(np.diag(inverse)), rtol=1e-8)


# Published models.


def test_published_models(load):
    """Electricity suppliers; travel modes, without a feature and with all."""
    modes, suppliers = load("choice_swissmetro"), load("choice_electricity")
    there = {"available": modes["available"].astype(bool)}
    model = ConditionalLogit()
    for X, y, given, likelihood, coefficients in (
        (suppliers["X"], suppliers["y"], {}, -4958.649, ELECTRICITY),
        (modes["X"][:, :, [0, 1, 3, 4]], modes["y"], there, -5331.252, SWISSMETRO),
        (modes["X"][:, :, :5], modes["y"], there, -5315.386, None),
    ):
        model.fit(X, y, **given)
        assert model.log_likelihood_ == pytest.approx(likelihood, abs=5e-4)
        if coefficients is not None:
            np.testing.assert_allclose(model.coef_, coefficients, atol=5.1e-5)


ELECTRICITY = [-0.6252, -0.1083, 1.4422, 0.9955, -5.4628, -5.8400]
SWISSMETRO = [-1.2779, -1.0838, -0.7012, -0.1546]


# What must be the same.


@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_forms_of_rounds_are_the_same(alpha):
    rounds, chosen, weights = problem(largest=4)
    model = ConditionalLogit(alpha).fit(rounds, chosen, sample_weight=weights)
    X, y, qid = flat(rounds, chosen, seed=3)
    names = np.array([f"round {q}" for q in range(60)])
    padded = np.full((60, 4, 3), np.nan)
    for i, x in enumerate(rounds):
        padded[i, : len(x)] = x
    padded[0, 0, 0] = rounds[0][0, 0]
    there = np.arange(4) < np.array([len(x) for x in rounds])[:, None]
    others = [
        clone(model).fit(X, y, qid, sample_weight=weights[qid]),
        clone(model).fit(sparse.csc_matrix(X), y, names[qid], sample_weight=weights[qid]),
        clone(model).fit(pd.DataFrame(X, columns=list("abc")), y, qid, None, weights[qid]),
        clone(model).fit([sparse.csr_matrix(x) for x in rounds], chosen, None, None, weights),
        clone(model).fit([pd.DataFrame(x) for x in rounds], chosen, None, None, weights),
        clone(model).fit(padded, chosen, available=there, sample_weight=weights),
    ]
    for other in others:
        same(model, other, 1e-7)
    shares = model.predict_proba(rounds)
    order = np.random.RandomState(3).permutation(len(X))
    np.testing.assert_allclose(others[0].predict_proba(X, qid), np.concatenate(shares)[order])
    hidden = others[-1].predict_proba(padded, available=there)
    assert all((part[len(x) :] == 0).all() for part, x in zip(hidden, rounds, strict=True))
    np.testing.assert_allclose(np.concatenate(hidden)[there.ravel()], np.concatenate(shares))


def test_a_weight_of_two_is_two_rounds_and_of_zero_none():
    rounds, chosen, _ = problem()
    weights = np.arange(60) % 3
    twice = np.repeat(np.arange(60), weights)
    model = ConditionalLogit(0.01).fit(rounds, chosen, sample_weight=weights)
    again = clone(model).fit([rounds[i] for i in twice], chosen[twice])
    same(model, again, 1e-6, 1e-10)
    assert model.summary().bic == pytest.approx(again.summary().bic, rel=1e-10)
    score = again.score([rounds[i] for i in twice], chosen[twice])
    assert model.score(rounds, chosen, sample_weight=weights) == pytest.approx(score)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_units_and_origins_of_rounds_do_not_matter(make, alpha):
    rounds, chosen, _ = problem(largest=4)
    model = ConditionalLogit(alpha).fit(rounds, chosen)
    units = np.array([1e-6, 1.0, 1e6])
    away = 3.0 * np.random.RandomState(1).randn(60, 1, 3)
    moved = [make((x + shift) * units) for x, shift in zip(rounds, away, strict=True)]
    again = clone(model).fit(moved, chosen)
    np.testing.assert_allclose(again.coef_ * units, model.coef_, rtol=1e-6)
    np.testing.assert_allclose(again.standard_errors_ * units, model.standard_errors_, rtol=1e-6)
    assert again.log_likelihood_ == pytest.approx(model.log_likelihood_, rel=1e-10)
    np.testing.assert_array_equal(again.predict(moved), model.predict(rounds))


def test_the_penalty_goes_by_the_units_that_were_asked_for():
    rounds, chosen, weights = problem()
    rounds = [np.column_stack([x, x[:, 0] > 0.0]) for x in rounds]
    alpha, lengths = 0.2, [len(x) for x in rounds]
    away = np.concatenate([x - x.mean(axis=0) for x in rounds])
    c = np.repeat(weights / weights.sum() / lengths, lengths)
    deviation = np.sqrt(c @ away**2)
    units = {"auto": np.r_[deviation[:3], 1.0], True: deviation, False: np.ones(4)}
    for standardize, unit in units.items():
        model = ConditionalLogit(alpha, standardize=standardize)
        model.fit(rounds, chosen, sample_weight=weights)
        slope = naive.gradient(model.coef_, rounds, chosen, weights)
        np.testing.assert_allclose(slope, -alpha * unit**2 * model.coef_, atol=1e-6)
        rows = [sparse.csr_matrix(x) for x in rounds]
        sparse_one = clone(model).fit(rows, chosen, sample_weight=weights)
        np.testing.assert_allclose(sparse_one.coef_, model.coef_, rtol=1e-6)
    assert model.n_rounds_ == 60


# The gap.


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-4])
def test_the_gap_is_above_what_is_left(alpha, tol):
    given = rounds, chosen, weights = problem(seed=3)
    model = ConditionalLogit(alpha, standardize=False, tol=tol)
    model.fit(rounds, chosen, sample_weight=weights)
    best = naive.objective(naive.fitted(*given, alpha), *given, alpha)
    left = naive.objective(model.coef_, *given, alpha) - best
    assert -1e-14 <= left <= model.gap_ + 1e-14 and model.gap_ <= tol


def test_the_bound_on_the_gap_holds_anywhere_and_is_tight_near_the_optimum():
    given = rounds, chosen, weights = problem()
    offsets = np.r_[0, np.cumsum([len(x) for x in rounds])]
    rows, share = offsets[:-1] + chosen, weights / weights.sum()
    ours = _choice_fit.Likelihood(np.concatenate(rounds), offsets, rows, share, np.zeros(3))
    w = naive.fitted(*given)
    least, held, ratios = ours.point(w).value, 0, []
    for i, v in enumerate(np.random.RandomState(0).randn(60, 3)):
        point = ours.point(w + v * 10.0 ** (-i / 12.0))
        root = _choice_fit.root_of_inverse(ours.hessian(point.proba), None)
        decrement = np.linalg.norm(root.T @ point.gradient)
        bound = _choice_fit.gap_bound(decrement, ours.largest_distance(point.proba, root))
        held += np.isfinite(bound)
        assert point.value - least <= bound * (1 + 1e-9)
        ratios.append(bound / (point.value - least))
    assert held > 30 and 1.0 - 1e-9 < min(ratios) < 1.1


def test_the_bound_is_its_series_and_lies_between_half_and_all_of_the_squared_decrement():
    gap_bound = _choice_fit.gap_bound
    for q in np.r_[np.logspace(-9, -0.001, 200), 0.999e-3, 1.001e-3]:
        series = sum(q ** (k - 2) / (k * (k - 1)) for k in range(2, 200000 if q > 0.9 else 400))
        exact = 1e-15 if q < 1e-3 else 1e-6  # the logarithm cancels
        assert series <= gap_bound(q / 2.0, 2.0) * 4.0 / q**2 * (1 + exact)
        assert gap_bound(q / 2.0, 2.0) * 4.0 / q**2 == pytest.approx(series, rel=2e-4)
        assert 0.5 <= gap_bound(q, 1.0) / q**2 <= 1.0
    assert gap_bound(0.5, 2.0) == np.inf


# Edges.


def test_one_item_ties_and_items_that_are_all_equal():
    model = ConditionalLogit()
    with pytest.warns(UserWarning, match=r"'x0', 'x1': the same for all items of each round"):
        model.fit([[[1.0, 2.0]], [[3.0, 4.0]] * 3], [0, 2])
    np.testing.assert_array_equal(model.coef_, [0.0, 0.0])
    assert np.isnan(model.standard_errors_).all() and model.gap_ == 0.0 and model.rank_ == 0
    assert model.log_likelihood_ == pytest.approx(-np.log(3.0)) == model.null_log_likelihood_
    np.testing.assert_array_equal(model.predict([[[1.0, 2.0]] * 3]), [0])
    np.testing.assert_allclose(model.predict_proba([[[1.0, 2.0]] * 3])[0], 1 / 3)
    np.testing.assert_array_equal(model.predict([[1.0, 2.0]] * 3, [4, 4, 4]), [1, 0, 0])
    assert "nan" in repr(model.summary())
    with pytest.warns(UserWarning, match="the same for all items"):
        model.fit([[[1.0, 2.0]]] * 3, [0, 0, 0])
    assert model.log_likelihood_ == 0.0 and np.isnan(model.summary().mcfadden_r2)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_weights_that_choices_do_not_determine_are_named(make):
    rounds, chosen, _ = problem()
    rng = np.random.RandomState(5)
    wide = []
    for x in rounds:
        same, along = np.full(len(x), rng.rand()), x[:, 0] - 2.0 * x[:, 1] + rng.rand()
        wide.append(make(np.column_stack([x, same, along])))
    plain, model = ConditionalLogit().fit(rounds, chosen), ConditionalLogit()
    with pytest.warns(UserWarning, match=r"'x3': the same .*; 'x0', 'x1', 'x4': collinear"):
        model.fit(wide, chosen)
    assert model.log_likelihood_ == pytest.approx(plain.log_likelihood_, rel=1e-10)
    assert model.rank_ == 3 and model.coef_[3] == 0.0
    np.testing.assert_array_equal(np.isnan(model.standard_errors_), [1, 1, 0, 1, 1])
    assert model.standard_errors_[2] == pytest.approx(plain.standard_errors_[2], rel=1e-6)
    assert model.summary().aic == pytest.approx(plain.summary().aic)
    model.set_params(alpha=0.1).fit(wide, chosen)  # without a warning
    np.testing.assert_array_equal(np.isnan(model.standard_errors_), np.arange(5) == 3)


def separated():
    """Complete, and of some rounds only; without either."""
    rng = np.random.RandomState(0)
    rounds = [rng.randn(3, 2) for _ in range(40)]
    best = np.array([int(np.argmax(x[:, 0])) for x in rounds])
    noisy = np.where(np.arange(40) < 10, rng.randint(3, size=40), best)
    never = [np.column_stack([x, [0.0, 0.0, 1.0]]) for x in rounds]
    return rounds, best, noisy, never


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_separated_choices_have_no_optimum(size):
    rounds, best, noisy, _ = separated()
    rounds = [x * size for x in rounds]
    model = ConditionalLogit().fit(rounds, noisy)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"Perfect separation: the features 'x0'.*alpha > 0"):
        model.fit(rounds, best)
    assert pickle.dumps(model) == before
    assert np.isfinite(clone(model).set_params(alpha=1e-3).fit(rounds, best).coef_).all()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_an_alternative_that_is_never_chosen_has_no_constant(make):
    _, _, noisy, never = separated()
    noisy = np.where(noisy == 2, 0, noisy)
    with pytest.raises(ValueError, match=r"Perfect separation: the features 'x2'"):
        ConditionalLogit().fit([make(x) for x in never], noisy)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_only_features_that_separate_alone_are_named(make):
    rng = np.random.RandomState(0)
    rounds = [rng.randn(3, 2) for _ in range(200)]
    chosen = np.array([np.argmax(x @ [0.5, -0.5] + rng.gumbel(size=3)) for x in rounds])
    known = [np.column_stack([x, np.arange(3) == c]) for x, c in zip(rounds, chosen, strict=True)]
    with pytest.raises(ValueError, match="Perfect separation: the features 'x2' predict"):
        ConditionalLogit().fit([make(x) for x in known], chosen)
    split = [x * [[1.0, 1.0, 0.5]] - [0.0, 0.0, 1.0] * x[:, :1] for x in known]
    with pytest.raises(ValueError, match="Perfect separation: the features 'x[02]', 'x[02]'"):
        ConditionalLogit().fit([make(x) for x in split], chosen)  # x0 + x2


def test_choices_that_are_nearly_certain_are_not_separated():
    rng = np.random.RandomState(0)
    X = 20.0 * rng.randn(400, 3, 2)
    chosen = (X @ [1.0, 1.0] + rng.gumbel(size=(400, 3))).argmax(axis=1)
    model = ConditionalLogit().fit(X, chosen)
    assert model.gap_ <= model.tol and np.abs(model.coef_ - 1.0).max() < 0.5


def test_warnings_name_the_line_of_the_caller():
    rounds, chosen, _ = problem()
    flat_ones = [np.column_stack([x, np.ones(len(x))]) for x in rounds]
    for alpha in (0.1, 0.0):
        with pytest.warns(ConvergenceWarning, match="after 1 iterations with a gap of") as told:
            ConditionalLogit(alpha, max_iter=1).fit(rounds, chosen)
        assert told[0].filename == __file__
        if alpha == 0.0:
            with pytest.warns(UserWarning, match="'x3'") as told:
                ConditionalLogit().fit(flat_ones, chosen)
            assert told[0].filename == __file__


def test_a_hundred_thousand_items():
    rng = np.random.RandomState(0)
    X = rng.randn(100_000, 4)
    model = ConditionalLogit(alpha=1e-3).fit([X, X[:5]], [17, 2])
    assert model.gap_ <= 1e-12
    assert model.predict_proba([X])[0].sum() == pytest.approx(1.0)


def test_unavailable_items_do_not_count():
    rounds, chosen, _ = problem(largest=4)
    rng = np.random.RandomState(2)
    more = [np.concatenate([x, 1e3 * rng.randn(2, 3)])[::-1] for x in rounds]
    there = [np.r_[np.zeros(2, bool), np.ones(len(x), bool)] for x in rounds]
    place = [len(x) + 1 - k for x, k in zip(rounds, chosen, strict=True)]
    model = ConditionalLogit().fit(rounds, chosen)
    other = ConditionalLogit().fit(more, place, available=there)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-8)
    utilities = other.decision_function(more, available=there)
    logs = other.predict_log_proba(more, available=there)
    assert np.isnan([u[:2] for u in utilities]).all() and np.isinf([v[:2] for v in logs]).all()
    np.testing.assert_allclose(utilities[3][2:], rounds[3][::-1] @ model.coef_, rtol=1e-6)
    assert other.score(more, place, available=there) == model.score(rounds, chosen)
    X, y, qid = flat(more, place)
    again = ConditionalLogit().fit(X, y, qid, np.concatenate(there))
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-8)
    with pytest.raises(ValueError, match="The chosen item of round 0 is not available"):
        other.fit(more, [0, *place[1:]], available=there)
    marks = np.zeros_like(y)
    marks[0], marks[qid > 0] = 1, y[qid > 0]
    with pytest.raises(ValueError, match=r"one available item of each round.* round 0 has 0"):
        other.fit(X, marks, qid, np.concatenate(there))


# What is said.


def test_predictions_have_the_form_of_y():
    rounds, chosen, _ = problem()
    model = ConditionalLogit().fit(rounds, chosen)
    places = model.predict(rounds)
    by_hand = [int(np.argmax(naive.probabilities(model.coef_, x))) for x in rounds]
    np.testing.assert_array_equal(places, by_hand)
    assert model.score(rounds, chosen) == np.mean(places == chosen)
    shown = (model.predict_proba, model.predict_log_proba, model.decision_function)
    for x, p, logs, u in zip(rounds, *(show(rounds) for show in shown), strict=True):
        np.testing.assert_allclose(p, naive.probabilities(model.coef_, x), rtol=1e-12)
        np.testing.assert_allclose(logs, np.log(p), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(u, x @ model.coef_, rtol=1e-12)
    X, y, qid = flat(rounds, chosen, seed=1)
    marks = model.predict(X, qid)
    np.testing.assert_array_equal(marks, flat(rounds, by_hand, seed=1)[1])
    assert model.score(X, y, qid) == model.score(rounds, chosen)


def test_summary():
    rounds, chosen, weights = problem()
    X, y, qid = flat(rounds, chosen)
    X = pd.DataFrame(X, columns=["time", "cost", "comfort"])
    model = ConditionalLogit().fit(X, y, qid, sample_weight=weights[qid])
    found = model.summary()
    L, L0, n = model.log_likelihood_, model.null_log_likelihood_, weights.sum()
    assert found.mcfadden_r2 == 1 - L / L0 and found.adjusted_r2 == 1 - (L - 3) / L0
    assert found.aic == 6 - 2 * L and found.bic == 3 * np.log(n) - 2 * L
    frame = found.to_frame()
    assert list(frame.index) == ["time", "cost", "comfort"]
    np.testing.assert_allclose(frame["z"], model.coef_ / model.standard_errors_)
    np.testing.assert_allclose(frame["P>|z|"], 2 * norm.sf(np.abs(frame["z"])), rtol=1e-6)
    np.testing.assert_allclose(
        frame["0.975"] - frame["0.025"], 2 * 1.959963984540054 * model.standard_errors_
    )
    text = repr(found)
    assert f"{L:.3f}" in text and f"{L0:.3f}" in text and "comfort" in text
    assert "0.05" in model.summary(0.9).to_dict() and "0.95" in model.summary(0.9).to_dict()
    assert "price" in repr(model.summary(feature_names=["minutes", "price", "seats"]))
    with pytest.raises(ValueError, match="feature_names must be 3 names, got"):
        model.summary(feature_names=["a", "b"])
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        model.summary(95)


# Bad input.


def test_what_the_error_for_strings_advises_is_learned_without_collinearity(rng):
    trips = pd.DataFrame({"mode": ["bus", "car", "rail"] * 40, "cost": rng.rand(120)})
    chosen, qid = np.zeros(120, dtype=int), np.repeat(np.arange(40), 3)
    chosen[3 * np.arange(40) + rng.randint(3, size=40)] = 1
    with pytest.raises(ValueError, match="could not convert") as caught:
        ConditionalLogit().fit(trips, chosen, qid)
    advice = re.search(r"pandas(\.get_dummies\(.*\))\.", str(caught.value))[1]
    X = eval(f"pd{advice}", {"pd": pd, "X": trips})
    model = ConditionalLogit().fit(X, chosen, qid)  # warnings are errors here
    assert model.feature_names_in_.tolist() == ["cost", "mode_car", "mode_rail"]


def test_bad_input_leaves_what_was_fitted():
    rounds, chosen, _ = problem(largest=4)
    X, y, qid = flat(rounds, chosen)
    model = ConditionalLogit().fit(X, y, qid)
    before = pickle.dumps(model)
    wrong_X = X.copy()
    wrong_X[5, 1] = np.nan
    huge = sparse.csr_matrix(np.where(np.arange(len(X))[:, None] == 5, 1e150, X))
    cases = [
        ((X, y), "qid is missing"),
        ((X, y, qid[:-1]), "inconsistent numbers"),
        ((X, y, np.where(qid == 3, np.nan, qid)), "Input qid contains NaN"),
        ((X, chosen, qid), "inconsistent numbers"),
        ((X, 0 * y, qid), "one available item of each round, the chosen one: round 0 has 0"),
        ((X, np.ones_like(y), qid), "the chosen one: round"),
        ((X, 2 * y, qid), "y must be 1 for the chosen item of each round and 0"),
        ((X, np.where(y, "yes", "no"), qid), "y must be numbers"),
        ((wrong_X, y, qid), f"NaN.* got nan in round {qid[5]}, feature 1"),
        ((huge, y, qid), rf"above 1e\+100, got 1e\+150 in round {qid[5]}, feature 0"),
        ((np.full(X.shape, "a"), y, qid), "could not convert.*by an indicator per value but one"),
        ((X, y, qid, np.zeros(len(X), bool)), "no available item"),
        ((X, y, qid, np.full(len(X), 2)), "available must have one bool per item"),
        ((X, y, qid, None, -np.ones(60)), "Negative values"),
        ((X, y, qid, None, np.zeros(60)), "zero"),
        ((X, y, qid, None, np.arange(len(X))), "sample_weight must be the same for all items"),
        ((rounds, [9, *chosen[1:]]), r"round 0 has \d items, but y is 9"),
        ((rounds, [-1, *chosen[1:]]), "the place of the chosen item"),
        ((rounds, [0.5, *chosen[1:]]), "the place of the chosen item"),
        ((rounds, chosen[:-1]), "inconsistent numbers"),
        ((rounds, y), "inconsistent numbers"),
        (([], []), "0 sequences|0 rounds|at least 1"),
        (([x[:, 0] for x in rounds], chosen), "round"),
        (([rounds[0], rounds[1][:, :2]], [0, 0]), "features"),
    ]
    for given, message in cases:
        with pytest.raises(ValueError, match=message):
            model.fit(*given)
        assert pickle.dumps(model) == before, message
    for given, message in (((X[:, :2], qid), "2 features"), ((X,), "qid is missing")):
        with pytest.raises(ValueError, match=message):
            model.predict(*given)
    np.testing.assert_array_equal(model.fit(X, y, qid).coef_, pickle.loads(before).coef_)


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "alpha": (-1.0, np.nan, "auto", True, 1e300),
        "standardize": ("yes", 1, None),
        "max_iter": (0, 1.5),
        "tol": (0.0, -1.0, "small"),
        "verbose": (-1, "loud"),
    }.items(),
)
def test_bad_parameters_are_named(name, values):
    rounds, chosen, _ = problem()
    for value in values:
        model = ConditionalLogit(**{name: value})
        with pytest.raises(ValueError, match=f"{name} must"):
            model.fit(rounds, chosen)
        assert vars(model) == model.get_params()


def test_not_fitted():
    for method in ("predict", "predict_log_proba", "decision_function", "summary"):
        with pytest.raises(NotFittedError):
            getattr(ConditionalLogit(), method)(*[[[[1.0], [2.0]]]] * (method != "summary"))


def test_names_of_features():
    rounds, chosen, _ = problem()
    X, y, qid = flat(rounds, chosen)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ConditionalLogit().fit(frame, y, qid)
    assert list(model.feature_names_in_) == ["a", "b", "c"] and model.n_features_in_ == 3
    assert repr(ConditionalLogit(0.5)) == "ConditionalLogit(alpha=0.5)"
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}), qid)
    model.fit(X, y, qid)
    assert not hasattr(model, "feature_names_in_")


def test_verbose_prints_iterations(capsys):
    rounds, chosen, _ = problem()
    ConditionalLogit(0.1, verbose=1).fit(rounds, chosen)
    assert "objective" in capsys.readouterr().out


@pytest.mark.parametrize("tol", [0.5, 1e-3])
def test_one_step_follows_the_first_gap_within_the_tolerance(tol, capsys):
    ConditionalLogit(0.1, tol=tol, verbose=1).fit(*problem()[:2])
    lines = capsys.readouterr().out.splitlines()
    within = [float(line.rpartition("gap ")[2]) <= tol for line in lines]
    assert within.index(True) == len(within) - 2 and within[-1]


def test_wide_sparse_rows(monkeypatch):
    rng = np.random.RandomState(0)
    X = sparse.random(180, 90, 0.1, "csr", random_state=rng)
    w = rng.randn(90) * (np.arange(90) < 20)
    chosen = (X @ w + rng.gumbel(size=180)).reshape(-1, 3).argmax(axis=1)
    y = (np.arange(3) == chosen[:, None]).ravel().astype(int)
    qid = np.arange(180) // 3
    model = ConditionalLogit(1e-3).fit(X, y, qid)
    assert model.gap_ <= model.tol
    dense = ConditionalLogit(1e-3).fit(X.toarray(), y, qid)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.standard_errors_, dense.standard_errors_, rtol=1e-6)
    with pytest.raises(ValueError, match="Perfect separation"):  # more features than rounds
        ConditionalLogit().fit(X, y, qid)
    monkeypatch.setattr(ConditionalLogit, "_max_features", 89)
    with pytest.raises(ValueError, match="at most 89 features, .* got 90. Use ItemStructured"):
        ConditionalLogit(1e-3).fit(X, y, qid)
