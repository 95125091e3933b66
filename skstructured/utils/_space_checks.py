"""Checks of the properties of an output space that learners, losses and bounds rely on."""

import pickle
from copy import deepcopy
from functools import cached_property

import joblib
import numpy as np
from sklearn.base import clone

from skstructured._base.validation import are_vertices

#: Bounds on deviations of draws with this number, log(2·10⁹), fail once in 10⁹.
LOG_ODDS = 21.4


class SpaceTrial:
    """A fitted space, example outputs as users write them, vertices, and points of conv(Y)."""

    def __init__(self, space, outputs):
        self.subject, self.outputs = space, outputs

    @cached_property
    def space(self):
        """The fitted space; a copy."""
        fitted = hasattr(self.subject, "dim_")
        return deepcopy(self.subject) if fitted else clone(self.subject).fit(self.outputs)

    def vertices(self):
        """All vertices, if the space lists them; else those of the examples. Distinct."""
        try:
            V = self.space.vertices()
        except ValueError:
            V = self.space.encode(self.outputs)
        return np.unique(np.asarray(V, dtype=np.float64), axis=0)

    def some(self, most=60):
        """At most so many of the vertices, those of the examples first; distinct."""
        first = np.unique(self.space.encode(self.outputs), axis=0)
        every = self.vertices()
        joined = np.vstack([first, every[np.random.RandomState(0).permutation(len(every))]])
        _, indices = np.unique(joined, axis=0, return_index=True)
        return joined[np.sort(indices)[:most]]

    def scores(self, n=100):
        """Scores (n, dim): small and large ones, ties, zeros."""
        rng = np.random.RandomState(0)
        theta = rng.randn(n, self.space.dim_) * np.exp(2.0 * rng.randn(n, 1))
        theta[: n // 2] = theta[: n // 2].round(1)
        theta[0] = 0.0
        return theta

    def means(self, n=20):
        """Points of conv(Y): a vertex, the middle, of two vertices, of several."""
        rng, V = np.random.RandomState(0), self.some()
        weights = rng.dirichlet(np.ones(len(V)), size=n)
        weights[: n // 2] = 0.0
        for row in weights[: n // 2]:
            row[rng.permutation(len(V))[:2]] = rng.dirichlet([1.0, 1.0])
        weights[0], weights[1] = 1.0 / len(V), np.eye(len(V))[0]
        return weights @ V

    def pairs(self):
        """Vertices a, b (m², dim): all pairs of some."""
        V = self.some()
        i, j = (index.ravel() for index in np.indices((len(V), len(V))))
        return V[i], V[j]


def only_if(applies):
    """Decorate a check that is only for trials of which ``applies(trial)`` is true."""

    def decorate(check):
        check.applies = applies
        return check

    return decorate


def has(name):
    """A function of a trial: whether its subject has an attribute that is not None or False."""
    return lambda trial: bool(getattr(trial.subject, name, None))


def assert_close(got, expected, what, tolerance=1e-9):
    """Raise an AssertionError unless shapes are equal, and numbers up to the tolerance."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"{what} has the shape {got.shape}, not {expected.shape}"
    if got.dtype.kind in "biuf" and expected.dtype.kind in "biuf":
        np.testing.assert_allclose(got, expected, tolerance, tolerance, err_msg=what)
    else:
        np.testing.assert_array_equal(got, expected, err_msg=what)


def assert_in_unit(values, what, slack=0.0):
    """Raise an AssertionError unless all numbers are in [0, 1]."""
    inside = (values >= -slack) & (values <= 1.0 + slack)
    assert inside.all(), f"{what} holds {values[~inside][0]:g}, not in [0, 1]"


def assert_refused(call, what):
    """Raise an AssertionError unless the call raises a ValueError."""
    error = "no error"
    try:
        call()
    except Exception as raised:
        error = raised
    assert isinstance(error, ValueError), f"{what}: {error!r} in the place of a ValueError"


def wrong_outputs(y):
    """Pairs of a fault and outputs, as many as in y, that no space with those of y has."""
    y = np.asarray(y)
    kind, cells = object, {"an unknown label": "no such output"}
    if y.dtype.kind in "biuf":
        kind = float
        cells = {"an output far from all others": y[-1] + 1000.5, "NaN in an output": np.nan}
    for what, cell in cells.items():
        wrong = y.astype(kind)
        wrong[-1] = cell
        yield what, wrong
    if y.ndim == 2:
        yield "outputs without their last column", y[:, :-1]


def assert_vertices(space, V, what):
    """Raise an AssertionError unless every row of V is a vertex."""
    assert are_vertices(space, np.asarray(V)), f"{what} is not a vertex"


def check_encode_and_decode(trial: SpaceTrial):
    """Outputs are encoded as vertices (n, dim), and decoded to the same outputs."""
    space, outputs = trial.space, np.asarray(trial.outputs)
    V = space.encode(trial.outputs)
    assert np.shape(V) == (len(outputs), space.dim_), f"encode returned the shape {np.shape(V)}"
    assert np.array_equal(space.decode(V), outputs), "decode(encode(y)) is not y"
    assert_close(space.encode(space.decode(trial.some())), trial.some(), "encode(decode(V))", 0.0)
    assert len(trial.some()) > 1, "the outputs must hold two different ones"


def check_pack_and_unpack(trial: SpaceTrial):
    """Packed outputs are unpacked to the vertices of `encode`, whole and in blocks."""
    space, V = trial.space, trial.space.encode(trial.outputs)
    packed = space.pack(trial.outputs)
    assert len(packed) == len(V), f"pack made {len(packed)} entries of {len(V)} outputs"
    assert_close(space.unpack(packed), V, "unpack(pack(y))", 0.0)
    block = np.arange(len(V))[::-2]
    assert_close(space.unpack(packed[block]), V[block], "a block of unpack(pack(y))", 0.0)


def check_argmax(trial: SpaceTrial):
    """The oracle finds a vertex with the largest <θ, y>, the same each time."""
    space, theta, V = trial.space, trial.scores(), trial.vertices()
    best = space.argmax(theta)
    assert_vertices(space, best, "what argmax returns")
    values, largest = np.einsum("nd,nd->n", theta, best), (theta @ V.T).max(axis=1)
    short = largest - values - 1e-12 * np.abs(theta).sum(axis=1) * np.abs(V).max()
    assert (short <= 0.0).all(), f"argmax falls short of a vertex by {short.max():.3g}"
    assert_close(space.argmax(theta[::-1]), best[::-1], "argmax of the same rows again", 0.0)


@only_if(has("oracle_kernel"))
def check_oracle_kernel(trial: SpaceTrial):
    """The compiled oracle writes what `argmax` returns."""
    space, theta = trial.space, trial.scores()
    best = np.empty_like(theta)
    for row, vertex in zip(theta, best, strict=True):
        space.oracle_kernel(row, vertex)
    assert_close(best, space.argmax(theta), "oracle_kernel", 0.0)


def check_nearest(trial: SpaceTrial):
    """`nearest` finds a vertex as near to the mean as any, in ℓ2."""
    space, mu, V = trial.space, trial.means(), trial.vertices()
    near = space.nearest(mu)
    assert_vertices(space, near, "what nearest returns")
    least = np.array([np.linalg.norm(row - V, axis=1).min() for row in mu])
    excess = (np.linalg.norm(mu - near, axis=1) - least).max()
    assert excess <= 1e-9 * np.abs(V).max(), f"nearest is {excess:.3g} farther than a vertex"


def check_decompose(trial: SpaceTrial):
    """Means are convex combinations of at most dim + 1 vertices, with positive weights."""
    space = trial.space
    for mu in trial.means():
        V, weights = space.decompose(mu)
        assert_vertices(space, V, "what decompose returns")
        assert len(weights) <= space.dim_ + 1, f"{len(weights)} vertices for a mean"
        assert np.all(np.asarray(weights) > 0.0), "a weight of decompose is not positive"
        assert_close(np.sum(weights), 1.0, "the sum of the weights of decompose")
        assert_close(weights @ V, mu, "the mean of decompose", 1e-8 * np.abs(V).max())


def check_sample(trial: SpaceTrial):
    """Draws are vertices, with the mean they were drawn with (empirical Bernstein bound)."""
    space, every, n = trial.space, trial.vertices(), 1000
    low, high = every.min(axis=0), every.max(axis=0)
    for mu in trial.means(6):
        rows = np.broadcast_to(mu, (n, len(mu)))
        drawn = space.sample(rows, 0)
        assert_close(space.sample(rows, 0), drawn, "sample with the same random_state", 0.0)
        assert_vertices(space, drawn[:50], "what sample returns")
        spread = np.sqrt(2.0 * LOG_ODDS * drawn.var(axis=0, ddof=1) / n)
        allowed = spread + 7.0 * LOG_ODDS * (high - low) / (3.0 * (n - 1)) + 1e-9
        excess = np.abs(drawn.mean(axis=0) - mu)
        assert np.all(excess <= allowed), f"the mean of draws is off by {excess.max():.3g}"
        for end in (low, high):  # a mean at the end of the range: so is every draw
            sure = np.abs(mu - end) <= 1e-12
            assert np.all(drawn[:, sure] == end[sure]), "sample draws what has probability zero"


def check_target_loss(trial: SpaceTrial):
    """Target losses are in [0, 1], are 0 on equal outputs, and `expected_loss` on vertices."""
    space, (a, b) = trial.space, trial.pairs()
    loss = space.target_loss(space.decode(a), space.decode(b))
    assert np.shape(loss) == (len(a),), f"target_loss has the shape {np.shape(loss)}"
    assert_in_unit(loss, "target_loss", 1e-12)
    equal = (a == b).all(axis=1)
    assert_close(loss[equal], np.zeros(equal.sum()), "the target loss of equal outputs", 1e-12)
    assert_close(space.expected_loss(a, b), loss, "expected_loss on vertices")


def check_expected_loss_is_affine(trial: SpaceTrial):
    """L(λμ + (1−λ)μ'; y) = λL(μ; y) + (1−λ)L(μ'; y): it is the mean over draws."""
    space, (a, b) = trial.space, trial.pairs()
    c, share = b[np.random.RandomState(0).permutation(len(b))], 0.3
    mixed = space.expected_loss(share * a + (1.0 - share) * c, b)
    apart = share * space.expected_loss(a, b) + (1.0 - share) * space.expected_loss(c, b)
    assert_close(mixed, apart, "the expected loss of a mixture")


def check_geometry(trial: SpaceTrial):
    """ν is at most the least distance, D at least the largest; L ≤ γ‖μ − y‖."""
    space, (a, b), mu, V = trial.space, trial.pairs(), trial.means(), trial.some()
    a, b = np.vstack([a, np.repeat(mu, len(V), axis=0)]), np.vstack([b, np.tile(V, (len(mu), 1))])
    both = np.arange(len(a)) < len(V) ** 2
    for norm, order in (("l1", 1), ("l2", 2)):
        k, distance = space.geometry(norm), np.linalg.norm(a - b, ord=order, axis=1)
        apart, slack = distance[both & (distance > 0.0)], 1.0 + 1e-9
        assert k == space.geometry(norm, space.dim_), f"geometry({norm}) with dim is another"
        assert 0.0 < k.nu <= apart.min() * slack, f"ν = {k.nu:.6g} > {apart.min():.6g} in {norm}"
        assert k.diameter * slack >= apart.max(), f"D = {k.diameter:.6g} < {apart.max():.6g}"
        excess = (space.expected_loss(a, b) - k.gamma * distance).max()
        assert excess <= 1e-9, f"γ = {k.gamma:.6g} in {norm} is too small: L exceeds it"


@only_if(has("constant_sum"))
def check_constant_sum(trial: SpaceTrial):
    """With `constant_sum` all vertices have the same sum."""
    sums = trial.vertices().sum(axis=1)
    gap = np.ptp(sums)
    assert gap <= 1e-9 * np.abs(sums).max(), f"vertices with sums that differ by {gap:.3g}"


@only_if(has("vertex_proba"))
def check_vertex_proba(trial: SpaceTrial):
    """Probabilities of the vertices, in their order, have the mean."""
    space, mu = trial.space, trial.means()
    p = space.vertex_proba(mu)
    assert_in_unit(p, "vertex_proba", 1e-12)
    assert_close(np.sum(p, axis=1), np.ones(len(mu)), "the sum of vertex_proba")
    assert_close(p @ space.vertices(), mu, "the mean of vertex_proba")


@only_if(has("mean_proba"))
def check_mean_proba(trial: SpaceTrial):
    """The `mean_proba` of means are in [0, 1]."""
    assert_in_unit(np.asarray(trial.space.mean_proba(trial.means())), "mean_proba", 1e-12)


def check_task(trial: SpaceTrial):
    """The task is one that scikit-learn knows; one score per class if a space declares it."""
    space = trial.space
    assert space.task in (None, "multiclass", "multilabel"), f"task is {space.task!r}"
    if space.scores_classes:
        n = len(space.classes_)
        assert n == space.dim_, f"scores_classes, but {n} classes and {space.dim_} scores"


def check_wrong_outputs(trial: SpaceTrial):
    """Outputs outside the space, or of another length, are ValueErrors; so are any before fit."""
    space, outputs = trial.space, np.asarray(trial.outputs)
    for what, wrong in wrong_outputs(outputs):
        for method in (space.encode, space.pack):
            assert_refused(lambda m=method, y=wrong: m(y), f"{what} in {method.__name__}")
    lengths = f"{len(outputs)} and {len(outputs) - 1} outputs in target_loss"
    assert_refused(lambda: space.target_loss(outputs, outputs[1:]), lengths)
    assert_refused(lambda: clone(space).encode(outputs), "encode before fit")


def check_copies(trial: SpaceTrial):
    """A clone is not fitted, and fits the same; a pickled copy encodes the same."""
    space, V = trial.space, trial.space.encode(trial.outputs)
    copies = {"pickled": pickle.loads(pickle.dumps(space)), "copied": deepcopy(space)}
    assert not hasattr(clone(space), "dim_"), "a clone is fitted"
    copies["cloned and fitted"] = clone(space).fit(space.decode(trial.vertices()))
    for operation, copy in copies.items():
        assert copy.dim_ == space.dim_, f"a space that was {operation} has dim_ {copy.dim_}"
        assert_close(copy.encode(trial.outputs), V, f"encode of a space that was {operation}", 0.0)


def check_parameters(trial: SpaceTrial):
    """`fit` returns the space and changes no parameter; they can be set again."""
    space = clone(trial.subject)
    hashes = {name: joblib.hash(value) for name, value in space.get_params().items()}
    assert space.fit(trial.outputs) is space, "fit does not return the space"
    for name, value in space.get_params().items():
        assert joblib.hash(value) == hashes[name], f"fit changed the parameter {name}"
    space.set_params(**space.get_params(deep=False))
