"""Checks of a custom decoder: vertices, probabilities, draws, and expected losses."""

import numpy as np

from skstructured._base.validation import check_mixture
from skstructured.losses import FenchelYoung
from skstructured.spaces import resolve_space
from skstructured.utils._space_checks import LOG_ODDS, SpaceTrial, assert_close, assert_vertices


class DecoderTrial:
    """A decoder, its arguments (scores, their means, a loss over a fitted space), and truths."""

    def __init__(self, decoder, space, outputs, loss):
        over = SpaceTrial(resolve_space(space), outputs)
        loss = FenchelYoung(over.space) if loss is None else loss.over(over.space)
        self.subject, self.space, theta = decoder, over.space, over.scores()
        self.rows = theta, loss.mean(theta), loss
        self.truths = np.resize(over.some(), theta.shape)


def assert_mean_of_draws(losses, expected, what):
    """Raise an AssertionError unless losses in [0, 1] have their means in sum (Bernstein)."""
    excess, variance = np.sum(losses - expected), np.sum(expected * (1.0 - expected))
    allowed = np.sqrt(2.0 * LOG_ODDS * variance) + LOG_ODDS
    assert abs(excess) <= allowed, f"{len(losses)} {what} exceed expected by {excess:.3g} in sum"


def check_vertices_and_probabilities(trial):
    """`mixture` returns vertices of the space and probabilities; `most_likely`, vertices."""
    mixture, shape = trial.subject.mixture(*trial.rows), trial.truths.shape
    V, _ = check_mixture(trial.subject, mixture, trial.space, shape)
    assert_vertices(trial.space, V, "what mixture returns")
    assert_vertices(trial.space, trial.subject.most_likely(*trial.rows), "what most_likely returns")


def check_rows_alone(trial):
    """A row has the same mixture alone; scores and means are not changed."""
    theta, mu, loss = trial.rows
    original, whole = np.array([theta, mu]), trial.subject.mixture(*trial.rows)
    assert_close(np.array([theta, mu]), original, "scores and means after mixture", 0.0)
    for i in range(20):
        single = trial.subject.mixture(theta[i : i + 1], mu[i : i + 1], loss)
        for array, rows in zip(single, whole, strict=True):
            assert_close(array[0], rows[i], "the mixture of a row alone")


def check_draws(trial):
    """Draws are vertices, whose losses have the mean `expected_loss` (Bernstein)."""
    (theta, mu, loss), V, n_draws = trial.rows, trial.truths, 50
    expected = np.tile(trial.subject.expected_loss(theta, mu, V, loss), n_draws)
    theta, mu, V = (np.tile(rows, (n_draws, 1)) for rows in (theta, mu, V))
    drawn = trial.subject.decode(theta, mu, loss, 0)
    assert_vertices(trial.space, drawn[:100], "what decode returns")
    assert_mean_of_draws(trial.space.expected_loss(drawn, V), expected, "losses of draws")
