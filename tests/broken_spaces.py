"""Spaces broken in one place each."""

import numpy as np
from numba import njit

from skstructured.extend.output_space import Geometry
from skstructured.spaces import Hypercube, KSubsets, Simplex

SETS = [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
SETS_OF_TWO = [[0, 1, 1, 0], [1, 0, 0, 1]]
LABELS = ["ham", "spam", "eggs"]


class Shouts(Simplex):
    """Decodes in capitals, and reads them."""

    def fit(self, y):
        return super().fit([str(label).lower() for label in y])

    def pack(self, y):
        return super().pack([str(label).lower() for label in y])

    def decode(self, V):
        return np.char.upper(super().decode(V))


class UnpacksBackwards(Hypercube):
    def unpack(self, packed):
        return packed[::-1]


class FallsShort(Hypercube):
    def argmax(self, theta):
        return super().argmax(np.asarray(theta) - 0.1)


class FindsNoVertex(Hypercube):
    def argmax(self, theta):
        return 2.0 * super().argmax(theta)


class ForgetsWhatItFound(Hypercube):
    """Its oracle breaks ties by the number of the row."""

    def argmax(self, theta):
        ties = np.arange(len(theta))[:, None] % 2 == 1
        return ((np.asarray(theta) > 0.0) | ((np.asarray(theta) == 0.0) & ties)).astype(float)


@njit
def _zeros(theta, vertex):
    vertex[:] = 0.0


class CompilesAnother(Hypercube):
    oracle_kernel = staticmethod(_zeros)


class RoundsUpTooLate(Hypercube):
    def nearest(self, mu):
        return (np.asarray(mu) > 0.7).astype(float)


class DecomposesTheNearest(Hypercube):
    def decompose(self, mu):
        return self.nearest(mu[None]), np.ones(1)


class WeighsTooMuch(Hypercube):
    def decompose(self, mu):
        vertices, weights = super().decompose(mu)
        return vertices, 1.1 * weights


class DrawsTheNearest(Hypercube):
    def sample(self, mu, random_state=None):
        return self.nearest(mu)


class DrawsWhatIsNotThere(Hypercube):
    """Draws a label of probability zero once in a while."""

    def sample(self, mu, random_state=None):
        drawn = super().sample(mu, random_state)
        drawn[100, 0] = 1.0 - drawn[100, 0]
        return drawn


class LosesTooMuch(Hypercube):
    def target_loss(self, y_pred, y_true):
        return 2.0 * super().target_loss(y_pred, y_true)


class LosesOnTheTruth(Hypercube):
    def target_loss(self, y_pred, y_true):
        return 0.5 + 0.5 * super().target_loss(y_pred, y_true)


class LosesSquares(Hypercube):
    """The square of the Hamming loss: not affine."""

    def expected_loss(self, mu, V):
        return super().expected_loss(mu, V) ** 2


class _OfGeometry(Hypercube):
    nu = diameter = gamma = 1.0

    def geometry(self, norm, dim=None):
        k = super().geometry(norm, dim)
        return Geometry(k.nu * self.nu, k.diameter * self.diameter, k.gamma * self.gamma)


class TooFarApart(_OfGeometry):
    nu = 1.1


class TooNarrow(_OfGeometry):
    diameter = 0.9


class TooFlat(_OfGeometry):
    gamma = 0.9


class HasNoConstantSum(Hypercube):
    constant_sum = True


class KnowsNoVertex(Hypercube):
    def vertex_proba(self, mu):
        return np.full((len(mu), 2**self.dim_), 0.5**self.dim_)


class StandsForMore(Hypercube):
    def mean_proba(self, mu):
        return 2.0 * mu


class HasAnotherTask(Hypercube):
    task = "regression"


class ScoresNoClasses(Hypercube):
    """Says that it scores its classes, and has one more of them."""

    scores_classes = True

    def fit(self, y):
        super().fit(y)
        self.classes_ = np.arange(self.dim_ + 1)
        return self


class TakesAnything(Hypercube):
    def encode(self, y):
        return np.array(y, dtype=float)


class PacksAnything(Hypercube):
    def pack(self, y):
        try:
            return super().pack(y)
        except ValueError:
            return np.zeros(len(y))


class GrowsInPickles(Hypercube):
    def __getstate__(self):
        state = dict(super().__getstate__())
        if "dim_" in state:
            state["dim_"] += 1
        return state


class ChangesItsSize(KSubsets):
    def fit(self, y):
        super().fit(y)
        self.k = np.int64(self.k)
        return self


#: A broken space -> example outputs, and the check that it fails.
BROKEN = {
    Shouts(): (LABELS, "check_encode_and_decode"),
    UnpacksBackwards(): (SETS, "check_pack_and_unpack"),
    FallsShort(): (SETS, "check_argmax"),
    FindsNoVertex(): (SETS, "check_argmax"),
    ForgetsWhatItFound(): (SETS, "check_argmax"),
    CompilesAnother(): (SETS, "check_oracle_kernel"),
    RoundsUpTooLate(): (SETS, "check_nearest"),
    DecomposesTheNearest(): (SETS, "check_decompose"),
    WeighsTooMuch(): (SETS, "check_decompose"),
    DrawsTheNearest(): (SETS, "check_sample"),
    DrawsWhatIsNotThere(): (SETS, "check_sample"),
    LosesTooMuch(): (SETS, "check_target_loss"),
    LosesOnTheTruth(): (SETS, "check_target_loss"),
    LosesSquares(): (SETS, "check_expected_loss_is_affine"),
    TooFarApart(): (SETS, "check_geometry"),
    TooNarrow(): (SETS, "check_geometry"),
    TooFlat(): (SETS, "check_geometry"),
    HasNoConstantSum(): (SETS, "check_constant_sum"),
    KnowsNoVertex(): (SETS, "check_vertex_proba"),
    StandsForMore(): (SETS, "check_mean_proba"),
    HasAnotherTask(): (SETS, "check_task"),
    ScoresNoClasses(): (SETS, "check_task"),
    TakesAnything(): (SETS, "check_wrong_outputs"),
    PacksAnything(): (SETS, "check_wrong_outputs"),
    GrowsInPickles(): (SETS, "check_copies"),
    ChangesItsSize(2): (SETS_OF_TWO, "check_parameters"),
}

#: Spaces whose decompositions are wrong as well, because they stand upon what is wrong.
DECOMPOSED_WRONGLY = (FallsShort, FindsNoVertex, CompilesAnother, HasNoConstantSum)
