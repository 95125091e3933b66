"""The checks of learners in `learner_checks`: each is failed by a learner broken there alone."""

from unittest import SkipTest

import broken_learners
import numpy as np
import pytest
from breaking import assert_fails
from learner_checks import assert_keeps_protocol, learner_checks

from skstructured import OnlineStructuredPredictor


@pytest.mark.parametrize("learner", [broken_learners.Explorer()], ids=str)
def test_a_learner_of_ones_own_passes(learner):
    assert_keeps_protocol(learner)
    assert not hasattr(learner, "t_")


def test_labels_may_be_objects_and_boolean(rng):
    X, y = rng.randn(30, 2), np.arange(30) % 3
    words = np.array(["no", "yes", "?"], dtype=object)[y]
    assert_keeps_protocol(broken_learners.Explorer(), X, words)
    assert_keeps_protocol(broken_learners.Explorer(), X, y > 0)


@pytest.mark.parametrize(
    ("learner", "wanted"), list(broken_learners.BROKEN.items()), ids=lambda x: type(x).__name__
)
@pytest.mark.short(every=3)
def test_a_broken_learner_fails_its_check_and_no_other(learner, wanted):
    assert_fails(learner, learner_checks(learner), wanted)


def test_every_check_is_failed_by_a_broken_learner():
    names = {name for name, _ in learner_checks(broken_learners.Explorer())}
    single = [wanted for wanted in broken_learners.BROKEN.values() if len(wanted) == 1]
    assert names == set.union(*single)


def test_a_check_that_needs_listed_vertices_is_skipped(rng):
    X = rng.randn(30, 4)
    stream = X, X[:, np.arange(40) % 4] > 0.0
    skipped = []
    for name, check in learner_checks(OnlineStructuredPredictor("hypercube"), *stream):
        try:
            check()
        except SkipTest as reason:
            assert str(reason).startswith("the vertices of")
            skipped.append(name)
    assert skipped == ["check_a_rounds_own_output_does_not_enter"]
