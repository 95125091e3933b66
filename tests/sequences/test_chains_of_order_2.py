"""Chains of order 2 by k² states, as in `docs/snippets/second_order_chains.py`."""

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

from skstructured import ConditionalRandomField

PATH = Path(__file__).parents[2] / "docs" / "snippets" / "second_order_chains.py"
SPEC = importlib.util.spec_from_file_location("second_order_chains", PATH)
order_2 = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(order_2)


def every(M, k):
    return np.array(list(itertools.product(range(k), repeat=M)))


def literal_scores(model, x, y, k):
    """Scores of label sequences y (n, M): of positions, and of three labels in a row."""
    before = np.column_stack([y[:, 0], y[:, :-1]])
    states = before * k + y
    unary = x @ model.coef_.T + model.intercept_
    scores = model.start_[states[:, 0]] + model.end_[states[:, -1]]
    for m in range(len(x)):
        scores = scores + unary[m, states[:, m]]
    for m in range(len(x) - 1):
        three = before[:, m], y[:, m], y[:, m + 1]
        scores = scores + model.transitions_.reshape(k, k, k, k)[three[0], three[1], *three[1:]]
    return scores


def alternating(rng, n=60, k=2):
    """Labels that depend on the two before: a run of 2 ends, and everything else is a coin."""
    X, y = [], []
    for _ in range(n):
        labels = [0, 0]
        for _ in range(6):
            same = labels[-1] == labels[-2]
            labels.append(1 - labels[-1] if same else labels[-1])
        shift = rng.randint(4)
        labels = np.array(labels)[shift:]
        X.append(np.eye(k)[labels] + rng.randn(len(labels), k))
        y.append(labels)
    return X, y


@pytest.mark.parametrize("k", [2, 3])
def test_pairs_are_their_labels(k):
    for labels in every(4, k):
        states = order_2.to_pairs(labels, k)
        np.testing.assert_array_equal(order_2.from_pairs(states, k), labels)
        np.testing.assert_array_equal(states // k, np.r_[labels[0], labels[:-1]])


@pytest.mark.parametrize("k", [2, 3])
def test_log_z_and_predictions_are_those_of_all_label_sequences(k, rng):
    X = [rng.randn(M, 2) for M in (1, 2, 3, 5, 6) * 4]
    y = [rng.randint(k, size=len(x)) for x in X]
    states = [order_2.to_pairs(labels, k) for labels in [*y, *every(3, k)]]
    X += [rng.randn(3, 2) for _ in range(k**3)]
    model = ConditionalRandomField(alpha=0.1, decoder="map").fit(X, states)
    free = model.log_partition(X[:5])
    order_2.forbid_disagreement(model, k)
    log_z, marginals = model.log_partition(X[:5]), model.predict_marginals(X[:5])
    predicted = model.predict(X[:5])
    assert np.all(log_z <= free) and log_z[1] < free[1] - 1e-3
    for i, x in enumerate(X[:5]):
        labels = every(len(x), k)
        scores = literal_scores(model, x, labels, k)
        assert log_z[i] == pytest.approx(logsumexp(scores), abs=1e-9)
        p = np.exp(scores - logsumexp(scores))
        each = np.array([p @ (labels == label) for label in range(k)]).T
        found = marginals[i].reshape(len(x), k, k).sum(axis=1)
        np.testing.assert_allclose(found, each, atol=1e-9)
        best = order_2.from_pairs(predicted[i], k)
        np.testing.assert_array_equal(best, labels[np.argmax(scores)])


def test_order_2_learns_what_order_1_cannot(rng):
    X, y = alternating(rng)
    pairs = [order_2.to_pairs(labels, 2) for labels in y]
    first = ConditionalRandomField(decoder="map").fit(X[:40], y[:40])
    second = ConditionalRandomField(decoder="map").fit(X[:40], pairs[:40])
    order_2.forbid_disagreement(second, 2)
    truth = np.concatenate(y[40:])
    labels = order_2.from_pairs(np.concatenate(second.predict(X[40:])), 2)
    assert np.mean(labels == truth) > np.mean(np.concatenate(first.predict(X[40:])) == truth) + 0.05
