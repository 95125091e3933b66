"""Spaces broken in one place each."""

import numpy as np
from breaking import broken, told
from example_spaces import KSubsets
from numba import njit

from skstructured.spaces import Hypercube, Simplex

SETS = [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
SETS_OF_TWO = [[0, 1, 1, 0], [1, 0, 0, 1]]
LABELS = ["ham", "spam", "eggs"]


class Shouts(Simplex):
    """Decodes in capitals, and reads them."""

    def fit(self, y):
        return super().fit([str(label).lower() for label in y])

    def pack(self, y, accepts_unseen=False):
        return super().pack([str(label).lower() for label in y], accepts_unseen)

    def decode(self, V):
        return np.char.upper(super().decode(V))


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


class DrawsWhatIsNotThere(Hypercube):
    """Draws a label of probability zero once in a while."""

    def sample(self, mu, random_state=None):
        drawn = super().sample(mu, random_state)
        drawn[100, 0] = 1.0 - drawn[100, 0]
        return drawn


class HasNoConstantSum(Hypercube):
    constant_sum = True


class HasAnotherTask(Hypercube):
    task = "regression"


class ScoresNoClasses(Hypercube):
    """Says that it scores its classes, and has one more of them."""

    scores_classes = True

    def fit(self, y):
        super().fit(y)
        self.classes_ = np.arange(self.dim_ + 1)
        return self


class PacksAnything(Hypercube):
    def pack(self, y):
        try:
            return super().pack(y)
        except ValueError:
            return np.zeros(len(y))


class ChangesItsSize(KSubsets):
    def fit(self, y):
        super().fit(y)
        self.k = np.int64(self.k)
        return self


class KnowsNoVertex(Hypercube):
    def vertex_proba(self, mu):
        return np.full((len(mu), 2**self.dim_), 0.5**self.dim_)


#: A broken space -> example outputs, and the check that it fails.
BROKEN = {
    Shouts(): (LABELS, "check_encode_and_decode"),
    ForgetsWhatItFound(): (SETS, "check_argmax"),
    CompilesAnother(): (SETS, "check_oracle_kernel"),
    DrawsWhatIsNotThere(): (SETS, "check_sample"),
    HasNoConstantSum(): (SETS, "check_constant_sum"),
    HasAnotherTask(): (SETS, "check_task"),
    ScoresNoClasses(): (SETS, "check_task"),
    PacksAnything(): (SETS, "check_wrong_outputs"),
    KnowsNoVertex(): (SETS, "check_vertex_proba"),
    ChangesItsSize(2): (SETS_OF_TWO, "check_parameters"),
}

#: A method of `Hypercube` and the check that fails -> what spaces do instead that are broken there.
CHANGED = {
    ("unpack", "check_pack_and_unpack"): {
        "UnpacksBackwards": lambda _, unpack, packed: packed[::-1]
    },
    ("argmax", "check_argmax"): {
        "FallsShort": lambda _, argmax, theta: argmax(np.asarray(theta) - 0.1),
        "FindsNoVertex": lambda _, argmax, theta: 2.0 * argmax(theta),
    },
    ("nearest", "check_nearest"): {
        "RoundsUpTooLate": lambda _, nearest, mu: (np.asarray(mu) > 0.7).astype(float),
    },
    ("decompose", "check_decompose"): {
        "DecomposesTheNearest": lambda self, _, mu: (self.nearest(mu[None]), np.ones(1)),
        "WeighsTooMuch": lambda _, decompose, mu: (decompose(mu)[0], 1.1 * decompose(mu)[1]),
    },
    ("sample", "check_sample"): {"DrawsTheNearest": lambda self, _, mu, seed: self.nearest(mu)},
    ("target_loss", "check_target_loss"): {
        "LosesTooMuch": lambda _, loss, y_pred, y_true: 2.0 * loss(y_pred, y_true),
        "LosesOnTheTruth": lambda _, loss, y_pred, y_true: 0.5 + 0.5 * loss(y_pred, y_true),
    },
    ("expected_loss", "check_expected_loss_is_affine"): {
        "LosesSquares": lambda _, loss, mu, V: loss(mu, V) ** 2,
    },
    ("geometry", "check_geometry"): {
        "TooFarApart": told(nu=lambda nu: 1.1 * nu),
        "TooNarrow": told(diameter=lambda D: 0.9 * D),
        "TooFlat": told(gamma=lambda gamma: 0.9 * gamma),
    },
    ("mean_proba", "check_mean_proba"): {"StandsForMore": lambda _, proba, mu: 2.0 * mu},
    ("encode", "check_wrong_outputs"): {"TakesAnything": lambda _, encode, y: np.array(y, float)},
    ("__getstate__", "check_copies"): {
        "GrowsInPickles": lambda _, state: {
            k: v + 1 if k == "dim_" else v for k, v in state().items()
        },
    },
}

for (method, check), kinds in CHANGED.items():
    for name, change in kinds.items():
        globals()[name] = broken(__name__, name, Hypercube, method, change)
        BROKEN[globals()[name]()] = (SETS, check)

#: Spaces whose decompositions are wrong as well, because they stand upon what is wrong.
DECOMPOSED_WRONGLY = tuple(
    globals()[name]
    for name in ("FallsShort", "FindsNoVertex", "CompilesAnother", "HasNoConstantSum")
)
