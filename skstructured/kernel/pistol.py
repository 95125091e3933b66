"""PiSTOL: classifiers and regressors with nothing to tune, linear and with kernels."""

from skstructured.kernel._margin_base import MarginClassifier, ResidualRegressor
from skstructured.optimizers import PiSTOL

__all__ = ["PiSTOLClassifier", "PiSTOLRegressor"]


class _WithPiSTOL:
    """Parameters `a` and `b` of the optimiser."""

    def _optimizer(self):
        return PiSTOL(self.a, self.b)


class PiSTOLClassifier(_WithPiSTOL, MarginClassifier):
    def __init__(
        self,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        loss="logistic",
        a=0.08,
        b=10.0,
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
        self.a = a
        self.b = b
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


class PiSTOLRegressor(_WithPiSTOL, ResidualRegressor):
    def __init__(
        self,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1.0,
        loss="huber",
        epsilon=None,
        a=0.08,
        b=1.0,
        average=True,
        standardize="auto",
        fit_intercept="auto",
        max_iter=10,
        tol=None,
        shuffle=True,
        cache_size=200,
        verbose=0,
        random_state=None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.epsilon = epsilon
        self.a = a
        self.b = b
        self.average = average
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.cache_size = cache_size
        self.verbose = verbose
        self.random_state = random_state

    class_weight = None
