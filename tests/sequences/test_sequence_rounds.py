"""What a round over label sequences counts: constants of every length, weights, costs, stops."""

import numpy as np
import pytest

from skstructured import OnlineStructuredPredictor
from skstructured.optimizers import GradientDescent
from skstructured.regularizers import Shannon, SquaredNorm
from skstructured.sequences._decoding import SequenceLoss
from skstructured.sequences._rounds import BY_RATIO, LARGEST_RATIO, LARGEST_SQ, mean_cost, sizes
from skstructured.spaces import LabelSequence

WORDS = [3, 1, 4, 2]
over_regularizers = pytest.mark.parametrize(
    "regularizer", ["shannon", pytest.param("squared", marks=pytest.mark.exhaustive)]
)


def words(seed=0, lengths=WORDS, p=3):
    """Sequences of features and of labels."""
    rng = np.random.RandomState(seed)
    return [rng.randn(m, p) for m in lengths], [rng.randint(3, size=m) for m in lengths]


def learner(**given):
    given = {"optimizer": "ogd", "average": False, "random_state": 0} | given
    return OnlineStructuredPredictor("sequence", **given)


def learned(X, y, weight, **given):
    """A learner of one call."""
    return learner(**given).partial_fit(X, y, classes=range(3), sample_weight=weight)


def norms_told(X, intercept):
    """2(Σ_{m,m'} |<x_m, x_m'>| + (M − 1)²), and C² = max(Σ‖x_m‖², M − 1), of a sequence.

    A position has an intercept's 1, the first and the last one an indicator each besides.
    """
    products = X @ X.T + intercept
    products[0, 0] += 1.0
    products[-1, -1] += 1.0
    steps = len(X) - 1
    return 2.0 * (np.abs(products).sum() + steps**2), max(np.trace(products), steps)


@over_regularizers
@pytest.mark.parametrize(("shortest", "longest"), [(1, 1), (1, 2), (1, 7), (2, 3), (3, 9)])
def test_the_scale_is_what_every_length_needs(regularizer, shortest, longest):
    """c = max over the lengths there are of 4γ/(λν ln 2), λ = 1/(2M − 1)² or 1."""
    space = LabelSequence().fit([["a", "b", "a"]])
    needed = []
    for M in range(shortest, longest + 1):
        nu, _, gamma = space.geometry("l2" if regularizer == "squared" else "l1", length=M)
        needed.append(4 * gamma / nu * (1 if regularizer == "squared" else (2 * M - 1) ** 2))
    kind = {"shannon": Shannon(), "squared": SquaredNorm()}[regularizer]
    given = SequenceLoss(space, kind, sizes=(shortest, longest))
    assert given.scale_ == pytest.approx(max(needed) / np.log(2), rel=1e-12)
    assert given.constants_of().a >= 1 - np.log(2) - 1e-12


@pytest.mark.parametrize("fit_intercept", [True, False])
@over_regularizers
@pytest.mark.parametrize("optimizer", ["ogd", "parameter_free"])
@pytest.mark.parametrize("weight", [[1, 1, 1, 1], [0.25, 0, 0.5, 0.1], [3, 7, 0.2, 1]])
def test_the_largest_norm_and_ratio_are_weighted(weight, optimizer, regularizer, fit_intercept):
    X, y = words()
    given = {"regularizer": regularizer, "standardize": False, "fit_intercept": fit_intercept}
    model = learned(X, y, np.array(weight, dtype=float), optimizer=optimizer, **given)
    told = [norms_told(x, float(fit_intercept)) for x in X]
    flat = [1.0 if regularizer == "squared" else (2.0 * len(x) - 1) ** 2 for x in X]
    ratios = [w * square * f for w, (_, square), f in zip(weight, told, flat, strict=True)]
    by_ratio = model._model.options[BY_RATIO] > 0
    assert by_ratio == (optimizer == "ogd")
    norms = ratios if by_ratio else [w * norm for w, (norm, _) in zip(weight, told, strict=True)]
    numbers = model._state.numbers
    assert numbers[LARGEST_SQ] == pytest.approx(max(norms), rel=1e-12)
    assert numbers[LARGEST_RATIO] == pytest.approx(max(ratios), rel=1e-12)


def test_steps_count_where_features_are_small():
    """C² is M − 1 at the least: the steps between positions have no features."""
    data = np.full(9, 1e-3)
    rows = data, np.zeros(9, np.int32), np.arange(10, dtype=np.int32), 1
    for M in (1, 2, 3, 5, 9):
        _, ratio = sizes(*rows, 0, M, np.array([0, 0, 1, 1, 0]))
        assert ratio == pytest.approx(max(2.0 + M * 1e-6, M - 1.0), rel=1e-12)


def test_the_cost_is_that_of_the_answer_where_the_label_is_true():
    costs = np.array([[0.0, 0.2, 0.9], [1.0, 0.0, 0.4], [0.3, 0.6, 0.0]])  # [answer, truth]
    labels = np.array([0, 1, 2, 2])
    means = np.array([[0.6, 0.3, 0.1], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.5, 0.2, 0.3]])
    answers = means.argmax(axis=1)
    gap = means - np.eye(3)[labels]
    wanted = np.mean(costs[answers, labels])
    assert mean_cost(gap, labels, costs) == pytest.approx(wanted, rel=1e-12)
    assert wanted != pytest.approx(
        np.mean([costs[t, a] for a, t in zip(answers, labels, strict=True)])
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_after_a_sequence_that_stops_the_others_alone_are_counted():
    """Means and deviations are those of the sequences before it, bit for bit."""
    X, y = words(lengths=[3, 2, 4, 3, 2, 5, 3])
    given = {"optimizer": GradientDescent(eta=5e306), "standardize": True}
    stopped, plain = (learned(X[:1], y[:1], None, **given) for _ in range(2))
    with pytest.raises(ValueError, match="of X has scores that are not finite"):
        stopped.partial_fit(X[1:], y[1:])
    n = stopped.t_
    assert 1 < n < len(X) - 1
    plain.partial_fit(X[1:n], y[1:n])
    assert plain.t_ == n
    one, other = (vars(model._scale) for model in (stopped, plain))
    assert set(one) == set(other)
    for name, value in one.items():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(other[name]), err_msg=name)
