"""What PiSTOL is compared with: kernel descent with a fixed step, and the kernel Perceptron."""

from skstructured._engine.compiled import kernel
from skstructured._engine.state import OWN, new_state
from skstructured._validation import check_positive
from skstructured.exceptions import GuaranteeError
from skstructured.kernel._margin_base import MarginClassifier
from skstructured.optimizers._base import OnlineOptimizer

__all__ = ["AveragedKernelSGDClassifier", "KernelPerceptronClassifier"]


@kernel
def plain_scale(state, x_sq, weight):
    """s = 1."""
    return 1.0


@kernel
def fixed_step(state, raw, g, x_sq, weight):
    """u = −η w."""
    return -state[OWN] * weight


class FixedStep(OnlineOptimizer):
    """f ← f − η s k(x, ·)."""

    scale_kernel = staticmethod(plain_scale)
    step_kernel = staticmethod(fixed_step)
    entries = 1

    def __init__(self, eta=1.0):
        self.eta = eta

    def init(self, loss):
        """The initial state, with η behind the epoch's own entries."""
        state = new_state(self.entries)
        state[OWN] = check_positive("eta", self.eta)
        return state


class AveragedKernelSGDClassifier(MarginClassifier):
    def __init__(
        self,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1.0,
        loss="smooth_hinge",
        eta=0.3,
        average=True,
        standardize="auto",
        fit_intercept="auto",
        max_iter=10,
        tol=None,
        shuffle=True,
        class_weight=None,
        cache_size=200,
        verbose=0,
        random_state=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.eta = eta
        self.average = average
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.verbose = verbose
        self.random_state = random_state

    def _margin_kind(self):
        return self.loss

    def _optimizer(self):
        return FixedStep(self.eta)


class KernelPerceptronClassifier(MarginClassifier):
    def __init__(
        self,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1.0,
        average=True,
        standardize="auto",
        fit_intercept="auto",
        max_iter=10,
        tol=None,
        shuffle=True,
        class_weight=None,
        cache_size=200,
        verbose=0,
        random_state=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.average = average
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.verbose = verbose
        self.random_state = random_state

    def _margin_kind(self):
        return "perceptron"

    def _optimizer(self):
        return FixedStep(1.0)

    def certificate(self, delta=None):
        """No theorem: a GuaranteeError."""
        raise GuaranteeError("No bound against a linear surrogate is stated for the Perceptron.")
