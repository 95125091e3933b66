"""Random learners for the fuzzer, some of them over parts that a careless user may bring."""

import numpy as np
from fuzz_inputs import chance, pick
from plain import bandit_gaptron, banditron, gaptron, perceptron, predictor, second_order
from spanning_trees import SpanningTrees

import skstructured as sk
from skstructured.decoders import DECODERS
from skstructured.extend.output_space import OutputSpace
from skstructured.optimizers import OPTIMIZERS, GradientDescent, PiSTOL
from skstructured.spaces import KSubsets

BREAKS = {
    "right": lambda V: V,
    "a column more": lambda V: np.hstack([V, V[:, :1]]),
    "a column less": lambda V: V[:, :-1],
    "many rows": lambda V: np.vstack([V] * 50),
    "one row": lambda V: V[:1] if len(V) > 1 else V[:0],
    "a vector": lambda V: V.ravel(),
    "NaN": lambda V: V * np.nan,
    "objects": lambda V: V.astype(object),
}


class ForeignSpace(OutputSpace):
    """The cube, one method of which returns what it should not."""

    def __init__(self, method="argmax", how="right"):
        self.method = method
        self.how = how

    def _return(self, method, V):
        return BREAKS[self.how](V) if method == self.method else V

    def argmax(self, theta):
        return self._return("argmax", (np.asarray(theta) > 0).astype(float))

    def encode(self, y):
        return self._return("encode", super().encode(y))

    def unpack(self, packed):
        return self._return("unpack", packed)


class ShortState(GradientDescent):
    """An optimiser whose state lacks its last entries."""

    def init(self, loss):
        return super().init(loss)[:-3].copy()


def _space(rng, areas):
    """A space, the kind of its outputs, their size, and why it must be refused."""
    size = rng.randint(2, 5)
    if "foreign" in areas and chance(rng, 0.1):
        method, how = pick(rng, ("argmax", "encode", "unpack")), pick(rng, tuple(BREAKS))
        return ForeignSpace(method, how), "sets", size, None if how == "right" else how
    known = {
        "simplex": "labels",
        "ordinal": "grades",
        "hypercube": "sets",
        "birkhoff": "positions",
        "permutahedron": "ranks",
    }
    if chance(rng, 0.05):
        return KSubsets(2), "pairs", 3, None
    if chance(rng, 0.03):
        return SpanningTrees([(0, 1), (1, 2), (0, 2)], 3), "pairs", 3, None
    name = pick(rng, tuple(known))
    return name, known[name], min(size, 3) if name == "birkhoff" else size, None


def _optimizer(rng, areas):
    if "foreign" in areas and chance(rng, 0.05):
        return ShortState(), "a state too short"
    more = (GradientDescent(radius=1.0), GradientDescent(eta=0.1), PiSTOL(per_coordinate=True))
    return pick(rng, (*OPTIMIZERS, *more)), None


def online(rng, areas):
    space, kind, size, wrong = _space(rng, areas)
    optimizer, short = _optimizer(rng, areas)
    own = ("shannon", "tsallis") if space == "simplex" else ()
    margins = ("hinge", "smooth_hinge", "perceptron") if kind in ("labels", "grades") else ()
    model = predictor(
        space,
        regularizer=pick(rng, (None, None, "squared", *own)),
        loss_scale=pick(rng, ("theory", "theory", 3.0)),
        loss=pick(rng, ("fenchel_young",) * 4 + margins),
        decoder=pick(rng, tuple(DECODERS)),
        optimizer=optimizer,
        average=pick(rng, (False, True, "uniform")),
        standardize=pick(rng, ("auto", True, False)),
        max_iter=rng.randint(1, 3),
        tol=pick(rng, (None, 1e-3)),
        shuffle=bool(rng.randint(2)),
    )
    return model, kind, size, wrong or short


def classes(rng, areas):
    size, loss = rng.randint(2, 5), pick(rng, ("logistic", "hinge", "smooth_hinge"))
    model = pick(
        rng,
        (
            gaptron(loss, average=bool(rng.randint(2))),
            perceptron(average=bool(rng.randint(2))),
            second_order(),
            bandit_gaptron(loss, radius=1.0, horizon=pick(rng, (None, 50))),
            banditron(),
            sk.NewtronClassifier(),
            sk.SOBAClassifier(),
            sk.ConfiditClassifier(),
            sk.AdaBoostOLMClassifier(n_estimators=rng.randint(1, 6)),
            sk.OnlineTreeClassifier(max_depth=rng.randint(1, 6), patience=rng.randint(1, 40)),
            sk.BanditReduction(exploration=0.3),
            sk.FolkloreClassifier(iterate=pick(rng, ("last", "random"))),
            sk.FolkloreClassifier(
                B=(0.5, 2.0), structure=pick(rng, ("full", "classes", "diagonal"))
            ),
            sk.OnlineNewtonClassifier(standardize=bool(rng.randint(2))),
            sk.GaussianAggregatingForecaster(),
            sk.AggregatingForecaster(n_particles=20, n_moves=1, max_weights=10**6),
            sk.PiSTOLClassifier(
                kernel=pick(rng, ("linear", "rbf", "cosine", "poly")),
                loss=pick(rng, ("logistic", "smooth_hinge", "hinge")),
                a=pick(rng, (0.08, 2.5)),
                max_iter=rng.randint(1, 3),
                standardize=bool(rng.randint(2)),
            ),
            sk.AveragedKernelSGDClassifier(max_iter=rng.randint(1, 3)),
            sk.KernelPerceptronClassifier(max_iter=rng.randint(1, 3)),
            sk.KernelStructuredPredictor(
                kernel=pick(rng, ("rbf", "laplacian", "linear", "poly", "sigmoid", "arc-cosine")),
                max_iter=rng.randint(1, 3),
                cache_size=pick(rng, (0, 200)),
                standardize=bool(rng.randint(2)),
            ),
        ),
    )
    if "classes" in model.get_params() and chance(rng, 0.7):
        model.set_params(classes=list(range(size)))
    return model, "labels", size, None


def binary(rng, areas):
    experts = [perceptron(), predictor(), gaptron(), second_order()]
    rng.shuffle(experts)
    model = sk.AbstainingHedgeClassifier(
        experts[: rng.randint(1, 4)],
        abstention_cost=pick(rng, (0.0, 0.3, 0.5)),
        train=pick(rng, ("auto", True)),
        cv=rng.randint(2, 6),
        abstain_label=pick(rng, (None, None, -1)),
    )
    return pick(rng, (model, model, sk.AioliClassifier())), "labels", 2, None
