"""Surrogate losses of comparators, and the bounds of the theorems as numbers."""

import math

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.pipeline import Pipeline
from sklearn.utils.extmath import safe_sparse_dot

from skstructured._validation import weighted_mean
from skstructured.certificates import Certificate

__all__ = [
    "Certificate",
    "best_comparator",
    "comparator_for",
    "comparator_losses",
    "expected_target_loss_scorer",
    "kendall_tau",
    "kendall_tau_scorer",
    "ndcg",
    "spearman_rho",
    "spearman_rho_scorer",
]

#: How near ‖U‖ must come to the radius of a ball, and the share of the largest penalty that could
#: put it there below which no penalty is tried.
ON_SPHERE, NEGLIGIBLE = 1e-3, 1e-12


def comparator_losses(loss, U, X, V, fit_intercept=True):
    """Surrogate losses S(U x_t; y_t) of a fixed comparator, of shape (n,).

    Parameters
    ----------
    loss : FenchelYoung
        The loss, scale included.
    U : array-like of shape (dim, p) or, with an intercept, (dim, p + 1)
        The comparator; the intercept is the last column.
    X : {ndarray, sparse matrix} of shape (n, p)
        Features.
    V : ndarray of shape (n, dim)
        Encoded outputs.
    fit_intercept : bool, default=True
        Whether U has an intercept column.

    Raises
    ------
    ValueError
        If U has another shape.
    """
    U = np.asarray(U, dtype=np.float64)
    expected = (V.shape[1], X.shape[1] + bool(fit_intercept))
    if U.shape != expected:
        raise ValueError(
            f"U must have shape {expected} (outputs, features"
            f"{' and the intercept last' if fit_intercept else ''}), got {U.shape}."
        )
    return loss.value(_scores(U, X), V)


def _scores(U, X):
    p = X.shape[1]
    theta = safe_sparse_dot(X, U[:, :p].T, dense_output=True)
    return theta + U[:, p] if U.shape[1] > p else theta


def best_comparator(
    loss, X, V, quadratic, fit_intercept=True, radius=math.inf, max_iter=500, tol=1e-6
):
    """The U that minimises ``Σ_t S(U x_t; y_t) + quadratic · ‖U‖_F²`` (in a ball, where given).

    Any U makes a valid bound; this one makes it (nearly) the smallest. Solved by L-BFGS on the
    convex objective; where its minimum lies outside the ball, the penalty is sought whose minimum
    lies on the sphere: the multiplier of the constraint is what must be added to `quadratic`.

    Parameters
    ----------
    loss : FenchelYoung
        The loss, scale included.
    X : {ndarray, sparse matrix} of shape (n, p)
        Features.
    V : ndarray of shape (n, dim)
        Encoded outputs.
    quadratic : float
        Coefficient of the penalty; with 0 and no ball the minimum diverges on separable data.
    fit_intercept : bool, default=True
        Whether U gets an intercept column, penalised as the rest.
    radius : float, default=inf
        Bound on ‖U‖_F.
    max_iter : int, default=500
        Iterations of L-BFGS.
    tol : float, default=1e-6
        Its relative tolerance on the objective (in units of 1e-6 of it).

    Returns
    -------
    U : ndarray of shape (dim, p [+ 1])
    """
    U = np.zeros((V.shape[1], X.shape[1] + bool(fit_intercept)))
    U = _ridge_fit(loss, X, V, quadratic, U, max_iter, tol)
    if np.linalg.norm(U) <= radius:
        return U
    return _fit_on_sphere(loss, X, V, quadratic, U, radius, max_iter, tol)


def _fit_on_sphere(loss, X, V, penalty, U, radius, max_iter, tol):
    """The minimiser on the sphere, given U outside it, the minimiser with `penalty`.

    A larger penalty makes ‖U‖ smaller, but penalty · ‖U‖ larger, and ``penalty · ‖U‖²`` never
    exceeds the loss of 0: so the penalty lies between `low` and `high`. Every fit, scaled onto the
    sphere, is a candidate; for smooth losses its excess is of second order in how far off it was.
    """
    norm, zero = np.linalg.norm(U), np.zeros_like(U)
    best = _scaled(loss, X, V, U, radius)
    high = max(loss.value(_scores(zero, X), V).sum() / radius**2, penalty)
    low = max(penalty * norm / radius, NEGLIGIBLE * high)
    while abs(norm - radius) > ON_SPHERE * radius and high > low * (1.0 + ON_SPHERE):
        middle = math.sqrt(low * high)
        U = _ridge_fit(loss, X, V, middle, zero, max_iter, tol)  # from elsewhere, hinges stall
        norm = np.linalg.norm(U)
        best = min(best, _scaled(loss, X, V, U, radius), key=lambda found: found[0])
        low, high = (middle * norm / radius, high) if norm > radius else (low, middle)
    return best[1]


def _scaled(loss, X, V, U, radius):
    """U scaled to norm `radius`, behind its loss Σ S_t."""
    U = U * (radius / max(np.linalg.norm(U), 1e-300))
    return loss.value(_scores(U, X), V).sum(), U


def comparator_for(certificate, loss, X, V, fit_intercept=True, max_iter=500, tol=1e-6):
    """The U that makes the bound of a certificate (nearly) the smallest.

    Where the regret is quadratic in ‖U‖_F, or the same all over a ball, this is `best_comparator`.
    Otherwise it is the best of a path of ridge fits, each scaled into the ball of the certificate:
    for a regret that depends on ‖U‖_F alone the minimiser lies on that path.

    Parameters
    ----------
    certificate : Certificate
        The bound.
    loss, X, V, fit_intercept, max_iter, tol
        As for `best_comparator`.

    Returns
    -------
    U : ndarray of shape (dim, p [+ 1])
    """
    if certificate.quadratic or (certificate.quadratic == 0.0 and certificate.radius < math.inf):
        rest = (fit_intercept, certificate.radius, max_iter, tol)
        return best_comparator(loss, X, V, certificate.quadratic, *rest)
    U = best = np.zeros((V.shape[1], X.shape[1] + bool(fit_intercept)))
    smallest = math.inf
    start = max(len(V) * certificate.constants["b"], 1e-12)
    for penalty in start * np.logspace(0, -8, 17):
        U = _ridge_fit(loss, X, V, penalty, U, max_iter, tol)
        inside = U * min(1.0, certificate.radius / max(np.linalg.norm(U), 1e-300))
        value = loss.value(_scores(inside, X), V).sum() + certificate.regret(np.linalg.norm(inside))
        if value < smallest:
            best, smallest = inside, value
    return best


def _ridge_fit(loss, X, V, penalty, start, max_iter, tol):
    from scipy.optimize import minimize

    shape, p = start.shape, X.shape[1]

    def objective(u):
        U = u.reshape(shape)
        value, g = loss.value_and_gradient(_scores(U, X), V)
        gradient = 2.0 * penalty * U
        gradient[:, :p] += safe_sparse_dot(X.T, g, dense_output=True).T
        if shape[1] > p:
            gradient[:, p] += g.sum(axis=0)
        return value.sum() + penalty * float(u @ u), gradient.ravel()

    options = {"maxiter": max_iter, "maxcor": 20, "ftol": tol * 1e-3, "gtol": tol}

    def fit(u):
        return minimize(objective, u.ravel(), jac=True, method="L-BFGS-B", options=options)

    best = fit(start)
    if not best.x.any():  # hinges are not smooth at 0, where all scores tie
        others = [fit(length * _class_means(X, V, shape)) for length in (0.1, 1.0, 10.0)]
        best = min([best, *others], key=lambda found: found.fun)
    return best.x.reshape(shape)


def _class_means(X, V, shape):
    """Σ (y_t − ȳ) x_tᵀ, scaled to norm 1: a direction that tells outputs apart."""
    means = np.zeros(shape)
    means[:, : X.shape[1]] = safe_sparse_dot(X.T, V - V.mean(axis=0), dense_output=True).T
    return means / max(np.linalg.norm(means), 1e-300)


def kendall_tau(y_pred, y_true, average=False):
    """Kendall's τ of each pair of rankings without ties.

    The share of pairs of items in the same order less the share in the other.

    Parameters
    ----------
    y_pred, y_true : array-like of shape (n, m)
        Positions or ranks, both in the same sense.
    average : bool, default=False
        Whether to return the mean over the pairs, a number, as scorers of scikit-learn need it:
        ``make_scorer(kendall_tau, average=True)`` is `kendall_tau_scorer`.

    Returns
    -------
    ndarray of shape (n,) or float, in [−1, 1]
    """
    a, b = _two_rankings(y_pred, y_true)
    i, j = np.triu_indices(a.shape[1], 1)
    tau = (np.sign(a[:, i] - a[:, j]) * np.sign(b[:, i] - b[:, j])).mean(axis=1)
    return float(tau.mean()) if average else tau


def spearman_rho(y_pred, y_true, average=False):
    """Spearman's ρ = 1 − 6 Σ (a − b)²/(m(m²−1)) of each pair of rankings without ties.

    It equals 1 − 2L for the target loss L of `Permutahedron`.

    Parameters
    ----------
    y_pred, y_true : array-like of shape (n, m)
        Positions or ranks, both in the same sense.
    average : bool, default=False
        Whether to return the mean over the pairs, a number, as scorers of scikit-learn need it:
        ``make_scorer(spearman_rho, average=True)`` is `spearman_rho_scorer`.

    Returns
    -------
    ndarray of shape (n,) or float, in [−1, 1]
    """
    a, b = _two_rankings(y_pred, y_true)
    m = a.shape[1]
    rho = 1.0 - 6.0 * ((a - b) ** 2).sum(axis=1) / (m * (m**2 - 1))
    return float(rho.mean()) if average else rho


def _two_rankings(a, b):
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape or a.shape[1] < 2:
        raise ValueError(
            f"rankings must have the same shape (n, m) with m ≥ 2, got {a.shape} and {b.shape}."
        )
    return a, b


def gains(relevance, gain):
    """Gains of relevances: 2^relevance − 1 ("exponential") or the relevance ("linear")."""
    if gain not in ("exponential", "linear"):
        raise ValueError(f'gain must be "exponential" or "linear", got {gain!r}.')
    relevance = np.asarray(relevance, dtype=np.float64)
    return relevance if gain == "linear" else np.exp2(relevance) - 1.0


def ndcg(y_pred, relevance, gain="exponential"):
    """Normalised discounted cumulative gain of each predicted ranking.

    ``Σ_j gain_j / log2(2 + position_j)``, divided by its largest value; 1 where no item is
    relevant. In the permutation matrix P of the prediction it is affine, ``<P, gain ⊗ discount>``.

    Parameters
    ----------
    y_pred : array-like of shape (n, m)
        Position of each item, 0 = first.
    relevance : array-like of shape (n, m)
        Non-negative relevance of each item.
    gain : {"exponential", "linear"}, default="exponential"
        Whether an item gains 2^relevance − 1 or its relevance.

    Returns
    -------
    ndarray of shape (n,), in [0, 1]

    Notes
    -----
    Its second argument is no ranking, so that ``make_scorer(ndcg)`` would mix its arguments up.
    Where y holds positions and the relevance of an item is the number of items behind it:
    ``make_scorer(lambda y, y_pred: ndcg(y_pred, y.shape[1] - 1 - y).mean())``.

    References
    ----------
    Järvelin, Kekäläinen (2002); Blondel (2019), "Structured prediction with projection oracles",
    for the affine form.
    """
    worth, discount = gains(relevance, gain), 1.0 / np.log2(np.arange(np.shape(y_pred)[1]) + 2.0)
    reached = (worth * discount[np.asarray(y_pred, dtype=np.intp)]).sum(axis=1)
    best = (-np.sort(-worth, axis=1) * discount).sum(axis=1)
    return np.divide(reached, best, out=np.ones_like(best), where=best > 0)


#: Mean Kendall's τ and Spearman's ρ of predicted rankings.
kendall_tau_scorer = make_scorer(kendall_tau, average=True)
spearman_rho_scorer = make_scorer(spearman_rho, average=True)


def expected_target_loss_scorer(estimator, X, y, sample_weight=None):
    """Minus the mean exact expected target loss of `sample`: ``scoring=`` of a search.

    `score` is about `predict`, which is the same for every decoder where the vertex nearest to
    ŷ_Ω(θ) is the linear oracle's too, as on the simplex; a search over ``decoder`` needs this one.

    Parameters
    ----------
    estimator : estimator
        A fitted learner with `expected_target_loss`, or a pipeline or search that ends in one.
    X : {array-like, sparse matrix} of shape (n, p)
        Features.
    y : array-like
        Outputs in the form of the learner's space.
    sample_weight : array-like of shape (n,) or None, default=None
        Non-negative weights of the rows.

    Returns
    -------
    float in [−1, 0]

    Raises
    ------
    TypeError
        If the estimator has no `expected_target_loss`.
    ValueError
        For weights that are negative or all zero, and as ``estimator.expected_target_loss``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.metrics import expected_target_loss_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineStructuredPredictor(shuffle=True, random_state=0)
    >>> grid = {"decoder": ["randomized", "sampled"]}
    >>> search = GridSearchCV(model, grid, scoring=expected_target_loss_scorer).fit(X, y)
    >>> search.best_params_
    {'decoder': 'randomized'}
    """
    learner, X = _learner_behind(estimator, X)
    if not hasattr(learner, "expected_target_loss"):
        raise TypeError(f"{type(learner).__name__} has no expected_target_loss.")
    return -weighted_mean(learner.expected_target_loss(X, y), sample_weight)


def _learner_behind(estimator, X):
    """The learner at the end of searches and pipelines, and X as it is handed to it."""
    if hasattr(estimator, "best_estimator_"):
        return _learner_behind(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return _learner_behind(estimator[-1], X)
    return estimator, X
