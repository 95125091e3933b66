"""Everyone of Table 1 that runs in less than O(T), and the reduction."""

from collections.abc import Callable
from typing import NamedTuple

from benchmarks._plain import (
    bandit_gaptron,
    banditron,
    confidit,
    gaptron,
    newtron,
    perceptron,
    second_order,
    soba,
)
from skstructured import BanditReduction, FolkloreClassifier

LOSSES = ("logistic", "hinge", "smooth_hinge")
#: The radius of the bandit Gaptron's ball is REACH/X: scores of a comparator reach 5.
REACH = 5.0


class Learner(NamedTuple):
    name: str
    make: Callable  # of the horizon, the largest norm of a row and the seed
    bandit: bool = True
    seeds: int = 10
    most: Callable = lambda stream: stream.n  # rounds it plays at most
    loss: str = ""  # of the bound, for bandit learners


def gaptron_of(loss, reach):
    return lambda T, C, seed: bandit_gaptron(
        loss=loss, radius=reach / C, horizon=T, random_state=seed
    )


def timely(kind):
    """A learner that is told the horizon."""
    return lambda T, C, seed: kind(horizon=T, random_state=seed)


def exploring_soba(T, C, seed):
    return soba(exploration=0.1, random_state=seed)


def reduction(horizon, random_state):
    """The reduction with its default, FOLKLORE, over rows as they are."""
    folklore = FolkloreClassifier(decoder="sampled", standardize=False)
    return BanditReduction(folklore, horizon=horizon, random_state=random_state)


def newtron_rounds(stream):
    """Fewer where Newtron's (Kp)×(Kp) systems are large."""
    return 500 if len(stream.classes) * (stream.p + 1) > 150 else 5000


SECOND = {"seeds": 5, "most": lambda stream: 10_000}


def with_labels():
    """Learners with full information."""
    for loss in LOSSES:
        yield Learner(f"Gaptron {loss}", lambda T, C, s, k=loss: gaptron(loss=k), False)
    yield Learner("FY decoder", lambda T, C, s: gaptron(decoder="randomized"), False)
    yield Learner("Perceptron", lambda T, C, s: perceptron(), False)
    yield Learner("2nd-order Perceptron", lambda T, C, s: second_order(), False, **SECOND)


def with_rewards():
    """Learners with bandit feedback."""
    for loss in LOSSES:
        yield Learner(f"Gaptron {loss}", gaptron_of(loss, REACH), loss=loss)
    yield Learner("Gaptron logistic, 1/X", gaptron_of("logistic", 1.0), loss="logistic")
    yield Learner("Banditron", timely(banditron))
    yield Learner("SOBA", timely(soba), **SECOND)
    yield Learner("SOBA, exploration 0.1", exploring_soba, **SECOND | {"seeds": 3})
    yield Learner("Confidit", lambda T, C, s: confidit(random_state=s), **SECOND)
    yield Learner("Newtron", timely(newtron), seeds=3, most=newtron_rounds)
    few = {"seeds": 3, "most": lambda stream: 5000}
    yield Learner("BanditReduction", timely(reduction), **few)


def learners(stream):
    """Those that have the time to play a stream."""
    for learner in (*with_labels(), *with_rewards()):
        if not (stream.unit and learner.name in ("Newtron", "BanditReduction")):
            yield learner
