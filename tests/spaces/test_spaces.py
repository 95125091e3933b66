"""Encoding, oracles, samplers and decoders of every space."""

import itertools
import math

import naive
import numpy as np
import pandas as pd
import pytest
from example_spaces import KSubsets
from pairs import CASES, LARGEST, PAIRS, is_slow, loss_of, space_of
from scipy import sparse

from skstructured import MaxMinMarginNetwork, OnlineStructuredPredictor
from skstructured.decoders import MAP, Nearest, Randomized, Sampled
from skstructured.spaces import (
    Birkhoff,
    Hypercube,
    OrdinalChain,
    Simplex,
    resolve_space,
)
from skstructured.spaces.hypercube import best_label_sets
from skstructured.spaces.permutahedron import sort_descending
from skstructured.utils import space_checks

DECODERS = (MAP(), Nearest(), Randomized(), Sampled())
RANKS = "permutahedron-squared"
#: A pair of each space and size.
ONCE = list({(PAIRS[name][0], dim): (name, dim) for name, dim in CASES}.values())


def is_vertex(space, V):
    return np.array_equal(space.encode(space.decode(V)), V)


@pytest.mark.parametrize(("name", "dim"), ONCE)
def test_spaces_keep_their_promises(name, dim):
    space = space_of(name, dim)
    for _, check in space_checks(space, space.decode(space.vertices())):
        check()


@pytest.mark.parametrize(("name", "dim"), [*CASES, ("birkhoff-shannon", 64), (RANKS, 20)])
@pytest.mark.short(every=5)
def test_samplers_draw_vertices_with_exact_means(name, dim, rng):
    space = space_of(name, dim)
    mu = loss_of(name, dim).mean(2 * rng.randn(1, dim))
    draws = 2_000 if is_slow(name) else 100_000 if dim > 9 else 1_000_000
    drawn = space.sample(np.broadcast_to(mu, (draws, dim)), random_state=1)
    assert is_vertex(space, drawn[:1000])
    zero_one = not name.startswith("permutahedron")
    sigma = np.sqrt(mu[0] * (1 - mu[0]) / draws) if zero_one else drawn.std(axis=0) / draws**0.5
    assert np.all(np.abs(drawn.mean(axis=0) - mu[0]) <= 5 * sigma + 1e-12)


@pytest.mark.parametrize(
    ("name", "dim"), [*CASES, ("birkhoff-shannon", 144), *[(RANKS, d) for d in (10, 50)]]
)
def test_decompositions_reproduce_the_mean(name, dim, rng):
    space, most = space_of(name, dim), dim if name == RANKS else dim + 1
    most = (math.isqrt(dim) - 1) ** 2 + 1 if name.startswith("birkhoff") else most
    for spread in (0.0, 0.3, 1.0, 3.0, 1e6):
        mu = loss_of(name, dim).mean(spread * rng.randn(1, dim))[0]
        vertices, weights = space.decompose(mu)
        assert len(weights) <= most and np.all(weights > 0) and is_vertex(space, vertices)
        np.testing.assert_allclose(weights.sum(), 1.0, atol=1e-12)
        np.testing.assert_allclose(weights @ vertices, mu, atol=1e-10)


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_decoders_draw_what_their_exact_expectations_say(name, dim, decoder, rng):
    loss, space = loss_of(name, dim), space_of(name, dim)
    theta = rng.randn(3, dim)
    mu, repeats = loss.mean(theta), 500 if is_slow(name) else 100_000
    V = space.vertices()[rng.randint(len(space.vertices()), size=3)]
    expected = decoder.expected_loss(theta, mu, V, loss)
    big = [np.repeat(a, repeats, axis=0) for a in (theta, mu, V)]
    drawn = decoder.decode(big[0], big[1], loss, random_state=3)
    losses = space.expected_loss(drawn, big[2]).reshape(3, repeats)
    sigma = losses.std(axis=1) / np.sqrt(repeats)
    assert np.all(np.abs(losses.mean(axis=1) - expected) <= 5 * sigma + 1e-9)
    np.testing.assert_allclose(
        space.expected_loss(decoder.expected_vertex(theta, mu, loss), V), expected, atol=1e-12
    )


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_randomized_decoding_is_algorithm_1(name, dim, rng):
    loss = loss_of(name, dim)
    theta = 2 * rng.randn(50, dim)
    mu, k = loss.mean(theta), loss.constants_of()
    anchor, p = Randomized().mixture(theta, mu, loss)
    V = loss.space.vertices()
    order = 1 if k.norm == "l1" else 2
    distance = np.linalg.norm(mu[:, None] - V[None], ord=order, axis=2)
    nu = min(np.linalg.norm(a - b, ord=order) for a, b in itertools.combinations(V, 2))
    np.testing.assert_allclose(p, np.minimum(1, 2 * distance.min(axis=1) / nu), atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(mu - anchor, ord=order, axis=1), distance.min(axis=1), atol=1e-12
    )


def test_target_losses_are_the_named_ones(rng):
    y, z = rng.randint(5, size=50), rng.randint(5, size=50)
    names = np.array(list("edcba"))
    simplex = Simplex().fit(names)
    np.testing.assert_array_equal(simplex.target_loss(names[y], names[z]), y != z)
    chain = OrdinalChain().fit(np.arange(5))
    np.testing.assert_allclose(chain.target_loss(y, z), np.abs(y - z) / 4)
    Y, Z = rng.randint(2, size=(2, 50, 6))
    np.testing.assert_allclose(Hypercube().fit(Y).target_loss(Y, Z), (Y != Z).mean(axis=1))


def test_ordinal_categories_set_the_order():
    order = ["low", "middle", "high"]
    chain = OrdinalChain(categories=order).fit(["high", "low"])
    np.testing.assert_array_equal(chain.encode(["low", "middle", "high"]), [[0, 0], [1, 0], [1, 1]])
    np.testing.assert_array_equal(chain.decode([[1, 1], [0, 0]]), ["high", "low"])
    with pytest.raises(ValueError, match="not in categories.*'huge'"):
        OrdinalChain(categories=order).fit(["huge", "low"])
    with pytest.raises(ValueError, match="at least two distinct labels"):
        OrdinalChain(categories=["a", "a"]).fit(["a"])


def test_words_have_no_order_of_their_own():
    words = ["poor", "fair", "good", "poor"]
    for start in (
        lambda: OrdinalChain().fit(words),
        lambda: OrdinalChain().fit_stream(words, classes=words[:3]),
        lambda: OrdinalChain().fit(np.array([b"low", b"high", b"mid"])),
        lambda: OnlineStructuredPredictor("ordinal").fit(np.eye(4), words),
    ):
        with pytest.raises(
            ValueError,
            match=r"string labels, \[.*order is unknown.*categories=.* from lowest to highest",
        ):
            start()
    assert OrdinalChain().fit(["yes", "no"]).classes_.tolist() == ["no", "yes"]
    graded = pd.Series(pd.Categorical(words, categories=["poor", "fair", "good"], ordered=True))
    np.testing.assert_array_equal(OrdinalChain().fit(graded).classes_, ["poor", "fair", "good"])


def test_a_wrong_size_of_subsets_is_named():
    space = KSubsets(k=3)
    message = r"Row 1 of y, \[1.0, 1.0, 0.0, 0.0\], is not a vertex .*\(k=3\): it needs 3 ones"
    with pytest.raises(ValueError, match=message):
        space.fit([[1, 1, 1, 0], [1, 1, 0, 0]])
    with pytest.raises(ValueError, match="it needs 3 ones and else zeros"):
        space.fit([[1, 1, 1, 0]]).encode([[2, 1, 0, 0]])


@pytest.mark.parametrize("empty", [0.0, 0.4, 1.0])
def test_label_sets_have_the_largest_expected_f1(empty, rng):
    for p in 10.0 ** rng.uniform(-2.0, 0.0, size=(30, 3)):
        values = naive.expected_f1(p, empty)
        (best,) = best_label_sets(p[None], empty)
        assert values[tuple(best.astype(int))] == pytest.approx(max(values.values()), rel=1e-12)


def test_hypercube_reads_sparse_indicators():
    Y = np.array([[0, 1], [1, 1]])
    np.testing.assert_array_equal(Hypercube().fit(Y).encode(sparse.csr_matrix(Y)), Y)
    with pytest.raises(ValueError, match="too many to list"):
        Hypercube().fit(np.zeros((1, 17))).vertices()


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize("space", [Simplex(), OrdinalChain()])
def test_labels_that_are_missing_are_named_by_row(space, missing):
    with pytest.raises(ValueError, match=f"y contains {missing} in row 2; every row needs a label"):
        space.fit(np.array(["a", "b", missing, "b", missing], dtype=object))


def test_twenty_grades_may_all_differ_and_more_may_not():
    assert len(OrdinalChain().fit(np.arange(20) + 0.5).classes_) == 20
    with pytest.raises(ValueError, match="21 distinct numbers in 21 rows"):
        OrdinalChain().fit(np.arange(21) + 0.5)


def test_means_of_assignments_have_columns_of_sum_1_too():
    for rows, sums in (([[1.0, 0.0, 1.0, 0.0]], "0 to 2"), ([[0.4, 0.4, 0.4, 0.4]], "0.8 to 0.8")):
        with pytest.raises(ValueError, match=f"must be doubly stochastic, .* got sums from {sums}"):
            Birkhoff().fit([[0, 1]]).sample(np.array(rows))


@pytest.mark.parametrize("y", [[2, 3], [3, 6], [2], [-(2**63), 3]])
def test_labels_beside_consecutive_ones_are_unknown(y):
    with pytest.raises(ValueError, match=rf"{y[0] if y[0] != 3 else 6}"):
        Simplex().fit([3, 4, 5]).pack(np.array(y))


@pytest.mark.parametrize("d", [5, 8, 9, 20])
def test_of_items_with_equal_scores_the_first_comes_first(d):
    theta = -np.repeat(np.arange(d), 3)[:d].astype(float)
    order = np.empty(d)
    sort_descending(theta, order, np.empty(d))
    np.testing.assert_array_equal(order, np.arange(d))


#: The field's words for spaces.
WORDS = {
    "multiclass": "simplex",
    "multilabel": "hypercube",
    "assignment": "birkhoff",
    "ranking": "permutahedron",
}


def small(name):
    """Three rows of a space."""
    y = {"simplex": [0, 1, 2], "hypercube": np.eye(3, dtype=int)}.get(name, [[1, 2, 3]] * 3)
    return np.eye(3), np.subtract(y, name == "birkhoff")


@pytest.mark.parametrize(("word", "name"), WORDS.items())
def test_the_words_of_the_field_name_spaces(word, name):
    learners = [OnlineStructuredPredictor(space, random_state=0) for space in (word, name)]
    first, second = (learner.fit(*small(name)).coef_ for learner in learners)
    np.testing.assert_array_equal(first, second)
    assert resolve_space(word).task == resolve_space(name).task


@pytest.mark.parametrize(("word", "name"), WORDS.items())
def test_the_words_of_the_field_name_spaces_of_margins(word, name):
    model = MaxMinMarginNetwork(word).fit(*small(name))
    assert type(model.space_) is type(resolve_space(name))
