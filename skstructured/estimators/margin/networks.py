"""Max-min margin networks and structural SVMs."""

from skstructured.estimators.margin._dual import DualLearner

__all__ = ["MaxMinMarginNetwork", "StructuralSVM"]


class MaxMinMarginNetwork(DualLearner):
    r"""Predict classes, label sets or rankings by max-min margins, which are consistent.

    It minimises ``(1/n) Σ S(g(x_i), y_i) + (α/2)‖w‖²`` with the loss

    .. math:: S(v, y) = \max_{μ ∈ \mathrm{conv}(Y)} \min_{y'} L(y', μ) + \langle v, μ − φ(y)\rangle.

    Its predictions ``argmax_y <g(x), φ(y)>`` become the best there are for the loss L as n grows,
    also where no output has a majority; those of `StructuralSVM` need not.

    Parameters
    ----------
    space : str or OutputSpace, default="simplex"
        What an output is: "simplex", a class (0–1 loss); "ordinal", an ordered class (|i − j|, with
        a score a class); "hypercube", a label set (share of wrong labels); "birkhoff", a
        permutation (share of misplaced items); "permutahedron", a rank vector (Spearman's loss);
        "sequence", a label sequence (share of wrong positions); or any space whose target loss is
        affine in the mean.
    kernel : str or callable, default="linear"
        As in scikit-learn's ``pairwise_kernels``, or "precomputed"; a callable returns the kernels
        (n, m) of two arrays of rows. "linear" is learned in weights, all others over the matrix of
        kernels of all rows.
    gamma : float, "scale" or None, default=None
        Of the kernel; None is "scale", ``1/(p Var X)`` of standardised rows.
    degree, coef0 : float, default=3 and 1
        Of "poly" and "sigmoid".
    alpha : float, "auto" or "path", default="auto"
        α > 0, the λ of the paper. "auto" is 5e-4 divided by the cost of one mistake: 1 for classes
        and grades, 1/d for d labels, 1/m for m items, 1/M for sequences of mean length M. "path"
        tries 2⁻¹ … 2⁻¹⁰, and on to 2⁻²⁰ until three in turn are no better, on a fifth of the
        outputs, each fit going on from the one before, and learns all with the best.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [predicted, true] of classes, or of positions of sequences: not negative, 0 on the
        diagonal. It need not be symmetric.
    standardize : bool, default=True
        Whether dense features are centred and divided by their deviation, and CSR ones divided by
        their largest entry; `coef_` is in units of X.
    fit_intercept : bool, default=True
        Whether there is a feature 1, which is regularised too: kernels are k(x, z) + 1.
    solver : {"auto", "frank_wolfe"}, default="auto"
        "auto" moves a row's mean to its best, given all others; "frank_wolfe" by a step towards
        what the oracle returns (Algorithm 1 of the paper).
    line_search : bool, default=True
        Whether such a step is the best one; False is ``2n/(t + 2n)`` of the paper, and implies
        "frank_wolfe".
    max_iter : int, default=1000
        Most passes.
    tol : float, default=1e-3
        The duality gap, in units of the objective, to stop at.
    cache_size : float, default=4096
        MiB that the matrix of kernels may take.
    warm_start : bool, default=False
        Whether `fit` begins with the means of the last one, of the same rows and classes.
    verbose : bool or int, default=0
        Whether a line is printed for each pass.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of rows.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (dim, n_features_in_) and (dim,)
        Weights of features, for the linear kernel alone.
    start_, end_, transitions_ : ndarray of shape (k,), (k,) and (k, k)
        Scores of first and last labels, and of labels beside each other, for "sequence" alone.
    alpha_ : float
        The α of the fit.
    alpha_losses_ : ndarray of shape (10,) to (20,)
        Mean target losses of the rows held out, for alpha="path" alone.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients ``(φ(y_i) − μ_i)/(αn)`` of the rows of `fit`, or of positions.
    support_ : ndarray
        Rows whose coefficients are not 0.
    classes_ : ndarray
        Labels, where the space has some.
    space_ : OutputSpace
        Fitted.
    duality_gap_ : float
        At most so far is the objective from its least value.
    gap_curve_, loss_curve_ : ndarray of shape (n_iter_,)
        The gap and the objective after each pass. For matchings, rank vectors,
        sequences and spaces of one's own, losses are the values of games: both may be too large, by
        a tenth of the gap mostly, and after the last pass by `tol`/100.
    n_iter_ : int
        Passes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, where X had string names.

    Warns
    -----
    ConvergenceWarning
        Where the gap is above `tol` at the end, with the gap.

    References
    ----------
    Nowak-Vila, Bach, Rudi (2020), "Consistent structured prediction with max-min margin Markov
    networks"; Fathony, Liu, Asif, Ziebart (2016), "Adversarial multiclass classification: a risk
    minimization perspective"; McMahan, Gordon, Blum (2003), "Planning in the presence of cost
    functions controlled by an adversary", for the oracles of matchings and sequences; Lemke (1965),
    "Bimatrix equilibrium points and mathematical programming".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import MaxMinMarginNetwork
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MaxMinMarginNetwork(kernel="rbf", random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95 and model.duality_gap_ <= 1e-3)
    True
    """

    is_max_min = True


class StructuralSVM(DualLearner):
    r"""Predict classes, label sets or rankings by the structural support vector machine (M3N).

    It minimises ``(1/n) Σ S(g(x_i), y_i) + (α/2)‖w‖²`` with the loss

    .. math:: S(v, y) = \max_{y'} L(y', y) + \langle v, φ(y') − φ(y)\rangle,

    on classes that of Crammer and Singer. Where no output has a majority, its predictions need not
    become the best ones, however many rows there are; see `MaxMinMarginNetwork`.

    Parameters
    ----------
    space : str or OutputSpace, default="simplex"
        What an output is: "simplex", a class (0–1 loss); "ordinal", an ordered class (|i − j|, with
        a score a class); "hypercube", a label set (share of wrong labels); "birkhoff", a
        permutation (share of misplaced items); "permutahedron", a rank vector (Spearman's loss);
        "sequence", a label sequence (share of wrong positions); or any space whose target loss is
        affine in the mean.
    kernel : str or callable, default="linear"
        As in scikit-learn's ``pairwise_kernels``, or "precomputed"; a callable returns the kernels
        (n, m) of two arrays of rows. "linear" is learned in weights, all others over the matrix of
        kernels of all rows.
    gamma : float, "scale" or None, default=None
        Of the kernel; None is "scale", ``1/(p Var X)`` of standardised rows.
    degree, coef0 : float, default=3 and 1
        Of "poly" and "sigmoid".
    alpha : float, "auto" or "path", default="auto"
        α > 0, the λ of the paper. "auto" is 5e-4 divided by the cost of one mistake: 1 for classes
        and grades, 1/d for d labels, 1/m for m items, 1/M for sequences of mean length M. "path"
        tries 2⁻¹ … 2⁻¹⁰, and on to 2⁻²⁰ until three in turn are no better, on a fifth of the
        outputs, each fit going on from the one before, and learns all with the best.
    cost_matrix : array-like of shape (k, k) or None, default=None
        Costs [predicted, true] of classes, or of positions of sequences: not negative, 0 on the
        diagonal. It need not be symmetric.
    standardize : bool, default=True
        Whether dense features are centred and divided by their deviation, and CSR ones divided by
        their largest entry; `coef_` is in units of X.
    fit_intercept : bool, default=True
        Whether there is a feature 1, which is regularised too: kernels are k(x, z) + 1.
    solver : {"auto", "frank_wolfe"}, default="auto"
        "auto" moves a row's mean to its best, given all others; "frank_wolfe" by a step towards
        what the oracle returns (Algorithm 1 of the paper).
    line_search : bool, default=True
        Whether such a step is the best one; False is ``2n/(t + 2n)`` of the paper, and implies
        "frank_wolfe".
    max_iter : int, default=1000
        Most passes.
    tol : float, default=1e-3
        The duality gap, in units of the objective, to stop at.
    cache_size : float, default=4096
        MiB that the matrix of kernels may take.
    warm_start : bool, default=False
        Whether `fit` begins with the means of the last one, of the same rows and classes.
    verbose : bool or int, default=0
        Whether a line is printed for each pass.
    random_state : int, RandomState instance or None, default=None
        Seeds the order of rows.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (dim, n_features_in_) and (dim,)
        Weights of features, for the linear kernel alone.
    start_, end_, transitions_ : ndarray of shape (k,), (k,) and (k, k)
        Scores of first and last labels, and of labels beside each other, for "sequence" alone.
    alpha_ : float
        The α of the fit.
    alpha_losses_ : ndarray of shape (10,) to (20,)
        Mean target losses of the rows held out, for alpha="path" alone.
    dual_coef_ : ndarray of shape (n, dim)
        Coefficients ``(φ(y_i) − μ_i)/(αn)`` of the rows of `fit`, or of positions.
    support_ : ndarray
        Rows whose coefficients are not 0.
    classes_ : ndarray
        Labels, where the space has some.
    space_ : OutputSpace
        Fitted.
    duality_gap_ : float
        At most so far is the objective from its least value.
    gap_curve_, loss_curve_ : ndarray of shape (n_iter_,)
        The gap and the objective after each pass.
    n_iter_ : int
        Passes.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, where X had string names.

    Warns
    -----
    ConvergenceWarning
        Where the gap is above `tol` at the end, with the gap.

    References
    ----------
    Taskar, Guestrin, Koller (2003), "Max-margin Markov networks"; Tsochantaridis, Joachims,
    Hofmann, Altun (2005), "Large margin methods for structured and interdependent output
    variables"; Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013), "Block-coordinate Frank–Wolfe
    optimization for structural SVMs".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import StructuralSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(StructuralSVM(kernel="rbf", random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    is_max_min = False
