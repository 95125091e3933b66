"""Fenchel–Young losses over an output space."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from skstructured._base.component import Component, parameters
from skstructured._base.exceptions import GuaranteeWarning
from skstructured._base.validation import LARGEST_SIZE, check_choice, check_real, is_builtin
from skstructured.extend._types import Floats, Kernel
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Regularizer, run_gradient_rows
from skstructured.regularizers import (
    find_oracle,
    resolve_regularizer,
    warn_of_residual,
)
from skstructured.spaces import resolve_space


class LossConstants(NamedTuple):
    """Numbers that enter the guarantees of a `FenchelYoung` loss (Sakaue et al. 2024).

    Attributes
    ----------
    a : float
        Surrogate gap ``1 − 4γ/(λνc)``; the finite-regret theorems need a in (0, 1).
    c : float
        Scale of the loss, which multiplies ``Ω*(θ) + Ω(y) − <θ, y>``.
    kappa : float
        κ with ``‖v‖_2 ≤ κ‖v‖``; 1 for ℓ1 and ℓ2.
    lam : float
        λ, the strong convexity of Ω in `norm`.
    nu, diameter, gamma : float
        ν, D and γ of the space in `norm`; see `skstructured.extend.Geometry`.
    smoothness : float
        b/C², with ``‖∇S(W)‖_F² ≤ b S(W)``: ``2cκ²/λ``.
    norm : {"l1", "l2"}
        The norm of the oracle.

    See Also
    --------
    FenchelYoung : Returns them by `constants_of`.
    skstructured.extend.Geometry : The constants of a space.
    """

    a: float
    c: float
    kappa: float
    lam: float
    nu: float
    diameter: float
    gamma: float
    smoothness: float
    norm: str


@parameters
class FenchelYoung(Component):
    r"""The loss ``S(θ; y) = c (Ω*(θ) + Ω(y) − <θ, y>)`` of an output space and a regularizer.

    Parameters
    ----------
    space : str, OutputSpace or None, default=None
        "simplex", "hypercube", "ordinal", "birkhoff" or "permutahedron", or a space. None is that
        of the learner whose `loss` it is; such a learner accepts no other.
    regularizer : str, Regularizer or None, default=None
        "shannon", "squared" or "tsallis", or a regularizer. None is that of the learner whose
        `loss` it is, or the space's default.
    scale : "theory" or float, default="theory"
        The loss scale c > 0. "theory" is ``c = 4γ/(λν ln 2)``, which makes the surrogate gap
        ``a = 1 − ln 2`` in every space; on the simplex with `Shannon` it gives the base-2 logistic
        loss.
    constants : {"paper", "sharp"}, default="paper"
        Which λ determines c and the step size. "paper" is the printed one. "sharp" uses that the
        true output is a vertex, which gives larger steps and smaller bounds. With
        ``κ₀ = min −2 ln(1−q)/q² ≈ 4.91``, λ grows to κ₀/4 (simplex), κ₀ (hypercube) and κ₀/d²
        (ordinal) for `Shannon`.

    Raises
    ------
    ValueError
        When used, if a name is unknown, if a pair has no oracle, or if a scale is not positive.
    sklearn.exceptions.NotFittedError
        By `scale_`, if the space has not been fitted and its size is needed.

    See Also
    --------
    skstructured.regularizers.Shannon, skstructured.regularizers.SquaredNorm : Regularizers.
    skstructured.losses.GapSurrogate : The losses of Gaptron.
    skstructured.losses.IndicatorMargins : Margin losses of labels and ordinal classes.
    skstructured.losses.LossConstants : The constants of the bounds.

    Notes
    -----
    Such losses are defined in [2]_. Two facts hold for every θ and every vertex y:
    ``S/c ≥ (λ/2)‖y − ŷ_Ω(θ)‖²`` (Prop. 2.3 of [1]_), and the randomized decoding ψ has
    ``E[L(ψ(θ); y)] ≤ 4γ/(λνc) · S(θ; y)`` (Lemma 3.1 of [1]_).

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young
       losses and improved surrogate regret for online multiclass classification with logistic
       loss", sections 2–4.
    .. [2] Blondel, Martins, Niculae (2020), "Learning with Fenchel–Young losses".

    Examples
    --------
    >>> from skstructured.losses import FenchelYoung
    >>> from skstructured.spaces import Simplex
    >>> loss = FenchelYoung(Simplex().fit(["a", "b"]))
    >>> round(float(loss.value([[0.0, 0.0]], [[1.0, 0.0]])[0]), 6)  # one bit
    1.0
    """

    #: Whether means are probabilities where the space says what of.
    has_probabilities = True
    #: Whether the loss of a mean of outputs is the mean loss, but for a constant.
    linear_in_outputs = True

    space: str | OutputSpace | None = None
    regularizer: str | Regularizer | None = None
    scale: str | float = "theory"
    constants: str = "paper"

    def terms(self, space, regularizer=None):
        """Regularizer, scale and constants of this loss for a learner over a space.

        Parameters
        ----------
        space : OutputSpace
            The learner's space.
        regularizer : Regularizer, str or None, default=None
            The learner's regularizer; None is that of the loss, or the space's default.

        Returns
        -------
        regularizer, scale, constants
            As `FenchelYoung` accepts them.

        Raises
        ------
        ValueError
            If learner and loss have different spaces, or each has a regularizer.
        """
        if self.space is not None and repr(resolve_space(self.space)) != repr(space):
            raise ValueError(
                f"The loss is over {self.space!r} and the learner over {space!r}: leave out the "
                "space of FenchelYoung."
            )
        if self.regularizer is not None and regularizer is not None:
            raise ValueError(
                f"regularizer is given twice: {self.regularizer!r} in the loss and "
                f"{regularizer!r} in the learner. Set one of them to None."
            )
        chosen = self.regularizer if regularizer is None else regularizer
        return clone(resolve_regularizer(chosen, space)), self.scale, self.constants

    def _terms(self):
        space = resolve_space(self.space)
        regularizer = resolve_regularizer(self.regularizer, space)
        return space, regularizer, find_oracle(space, regularizer)

    @property
    def has_margin(self) -> bool:
        """Whether finite scores of an output have no loss; see `Regularizer`."""
        return self._terms()[1].has_margin

    @property
    def kernel(self) -> Kernel:
        """The compiled function of the pair; see `skstructured.extend.Oracle`."""
        space, _, oracle = self._terms()
        return oracle.kernel_for(space)

    @property
    def calls_python(self) -> bool:
        """Whether `kernel` calls ``argmax`` of a custom space for every row."""
        space, _, oracle = self._terms()
        return oracle.kernel is None and space.oracle_kernel is None

    def kernel_arguments(self, dim: int) -> tuple[Floats, Floats]:
        """Vectors (params, work) of the compiled function for scores of length `dim`."""
        _, regularizer, oracle = self._terms()
        return regularizer.kernel_params(), np.zeros(oracle.work(dim))

    def constants_of(self, dim: int | None = None) -> LossConstants:
        """The `LossConstants` for scores of length `dim` (default: the fitted space's)."""
        space, _, oracle = self._terms()
        dim = space._dimension(dim)
        nu, diameter, gamma = space.geometry(oracle.norm, dim)
        lam, lam2 = self._convexity(oracle, dim)
        needed = 4.0 * gamma / (lam * nu)
        c = self._check_scale(needed / math.log(2))
        a, smooth = 1.0 - needed / c, 2.0 * c / lam2
        return LossConstants(a, c, 1.0, lam, nu, diameter, gamma, smooth, oracle.norm)

    def _convexity(self, oracle, dim):
        """λ for the scale and for the smoothness."""
        self._check_constants()
        if self.constants == "sharp" and oracle.sharp is not None:
            return oracle.sharp(dim)
        return (oracle.convexity(dim),) * 2

    def _check_constants(self):
        check_choice("constants", self.constants, ("paper", "sharp"))

    def _check_scale(self, theory):
        if isinstance(self.scale, str) and self.scale == "theory":
            return theory
        least, most = 1.0 / LARGEST_SIZE, LARGEST_SIZE
        allowed = f'be "theory" or a positive number from {least:g} to {most:g}'
        return check_real("scale", self.scale, lambda v: least <= v <= most, allowed)

    @property
    def norm(self) -> str:
        """The norm in which Ω is strongly convex: "l1" or "l2"."""
        return self._terms()[2].norm

    @property
    def scale_(self) -> float:
        """The loss scale c; needs a fitted space."""
        return self.constants_of().c

    def warn_without_gap(self):
        """Warn (GuaranteeWarning) if the loss has no surrogate gap, so a learner has no bound."""
        constants = self.constants_of()
        if constants.a <= 0:
            threshold = (1.0 - constants.a) * constants.c
            warnings.warn(
                f"scale={self.scale!r} leaves no surrogate gap (a = {constants.a:.4g}), so there "
                f"is no regret bound; set the scale to more than {threshold:.4g} to get one.",
                GuaranteeWarning,
                stacklevel=6,
            )

    @property
    def lipschitz(self) -> float:
        """D_2, the largest ‖ŷ_Ω(θ) − y‖_2: the Lipschitz constant of the loss without c."""
        return resolve_space(self.space).geometry("l2").diameter

    @property
    def surrogate_gap(self) -> float:
        """a = 1 − 4γ/(λνc); with the theory scale 1 − ln 2."""
        if isinstance(self.scale, str) and self.scale == "theory":
            return 1.0 - math.log(2)
        return self.constants_of().a

    def mean(self, theta: ArrayLike) -> Floats:
        """Regularized prediction ŷ_Ω(θ) = argmax over conv(Y) of <θ,μ> − Ψ(μ).

        Parameters
        ----------
        theta : array-like of shape (n, dim)
            Scores. NaN and +inf raise an error, and so does −inf if a space has only an oracle.

        Returns
        -------
        ndarray of shape (n, dim)
        """
        return self._mean_and_conjugate(theta)[0]

    def log_proba(self, theta: ArrayLike) -> Floats:
        """Logarithms of the space's `mean_proba` of ŷ_Ω(θ), in its shape.

        For "shannon" on "simplex", "hypercube" and "ordinal" they are computed from the scores, to
        full precision even if probabilities underflow. Else they are the logarithms of
        probabilities, −inf for 0.
        """
        terms = space, _, oracle = self._terms()
        theta = self._check_scores(theta, terms)
        if oracle.log_proba is not None and is_builtin(space, "mean_proba"):
            return oracle.log_proba(theta)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(space.mean_proba(self.mean(theta)), 0.0))

    def conjugate(self, theta: ArrayLike) -> Floats:
        """Ω*(θ) = max over conv(Y) of <θ,μ> − Ψ(μ), of shape (n,), without the scale."""
        return self._mean_and_conjugate(theta)[1]

    def _mean_and_conjugate(self, theta):
        terms = self._terms()
        return self._solve(self._check_scores(theta, terms), terms)

    def value(self, theta: ArrayLike, V: ArrayLike) -> Floats:
        """S(θ; y) = c (Ω*(θ) + Ω(y) − <θ, y>) ≥ 0.

        Computed as ``c (<θ, μ − y> − Ω(μ) + Ω(y))`` with μ = ŷ_Ω(θ), which does not lose a small
        loss to cancellation at large scores. It has the shape (n,).
        """
        return self.mean_and_value(theta, V)[1]

    def omega(self, mu: ArrayLike) -> Floats:
        """Ω(μ) of points (n, dim) of conv(Y), of shape (n,), without the scale."""
        _, regularizer, oracle = self._terms()
        return oracle.omega(np.asarray(mu, dtype=np.float64), regularizer)

    def link(self, mu: ArrayLike, inside: float = 0.01) -> Floats:
        """Scores ∇Ω(μ) whose mean prediction is near μ.

        Parameters
        ----------
        mu : array-like of shape (n, dim)
            Points of conv(Y).
        inside : float, default=0.01
            Share of ŷ_Ω(0) that is mixed with μ first: scores are infinite at vertices.

        Returns
        -------
        ndarray of shape (n, dim)
        """
        _, regularizer, oracle = self._terms()
        mu = np.asarray(mu, dtype=np.float64)
        center = self.mean(np.zeros((1, mu.shape[1])))
        return oracle.link((1.0 - inside) * mu + inside * center, regularizer)

    def gradient(self, theta: ArrayLike, V: ArrayLike) -> Floats:
        """∇_θ S(θ; y) = c (ŷ_Ω(θ) − y), of shape (n, dim)."""
        mu = self.mean(theta)
        return self.constants_of(mu.shape[1]).c * (mu - np.asarray(V))

    def value_and_gradient(self, theta: ArrayLike, V: ArrayLike) -> tuple[Floats, Floats]:
        """`value` and `gradient` from one solve."""
        mu, value = self.mean_and_value(theta, V)
        return value, self.constants_of(mu.shape[1]).c * (mu - np.asarray(V))

    def objective(self, theta: ArrayLike, V: ArrayLike) -> tuple[Floats, Floats]:
        """c (Ω*(θ) − <θ, y>), the `value` less cΩ(y), and its gradient."""
        theta, V = np.asarray(theta), np.asarray(V)
        (mu, conjugate), c = self._mean_and_conjugate(theta), self.constants_of(theta.shape[1]).c
        mu -= V
        mu *= c
        return c * (conjugate - np.einsum("nk,nk->n", theta, V)), mu

    def curvature(self, theta: ArrayLike, V: ArrayLike, slopes: Floats) -> Floats:
        """Second derivatives in each score, or bounds of them.

        They are c μ(1 − μ) for "shannon" on "hypercube" and "ordinal", of which they are equal to
        the second derivatives; and on "birkhoff", of which they are bounds. On "simplex" they are
        K/(K − 1) times as large, because scores of K classes only matter by their differences. For
        other regularizers they are the bound c.

        Parameters
        ----------
        theta, V : array-like of shape (n, dim)
            Scores and encoded outputs.
        slopes : ndarray of shape (n, dim)
            The `gradient` there.

        Returns
        -------
        ndarray of shape (n, dim)
        """
        c = self.constants_of(slopes.shape[1]).c
        return c * self._terms()[2].curvature(np.asarray(V) + slopes / c)

    def mean_and_value(self, theta: ArrayLike, V: ArrayLike) -> tuple[Floats, Floats]:
        """`mean` and `value` from one solve."""
        terms = space, regularizer, oracle = self._terms()
        scores, truth = self._check_scores(theta, terms), np.asarray(V, dtype=np.float64)
        mu = self._solve(scores, terms)[0]
        products = _inner_rows(scores, mu - truth, bool(space.constant_sum))
        gap = products - oracle.omega(mu, regularizer) + oracle.omega(truth, regularizer)
        return mu, self.constants_of(mu.shape[1]).c * np.maximum(gap, 0.0)

    def _solve(self, theta, terms):
        space, regularizer, oracle = terms
        if oracle.batch is not None:
            return oracle.batch(theta)
        params, work = regularizer.kernel_params(), np.zeros(oracle.work(theta.shape[1]))
        kernel, at_zero = oracle.kernel_for(space), np.zeros(theta.shape)
        solved = run_gradient_rows(kernel, theta, at_zero, params, work)
        warn_of_residual(oracle, work)
        return solved

    def check_residual(self, work: Floats) -> None:
        """Warn (ConvergenceWarning) if the compiled function left a residual."""
        warn_of_residual(self._terms()[2], work)

    def _check_scores(self, theta, terms):
        theta = np.array(theta, dtype=np.float64, order="C", ndmin=1)
        space, _, oracle = terms
        expected = getattr(space, "dim_", None)
        if theta.ndim != 2 or (expected is not None and theta.shape[1] != expected):
            dim = "dim" if expected is None else expected
            raise ValueError(f"theta must have shape (n, {dim}), got {theta.shape}.")
        if not theta.max(initial=-np.inf) < np.inf:  # no BLAS: its threads may wait for cores
            raise ValueError("theta must not contain NaN or +inf.")
        if oracle.kernel is None and not np.isfinite(theta).all():
            raise ValueError("theta must be finite if the space only has a linear oracle.")
        return theta


def _inner_rows(theta: Floats, difference: Floats, centered: bool) -> Floats:
    """<θ, d> of every row, over the entries with d ≠ 0.

    If `centered`, for rows d that sum to 0, the finite entry of θ nearest to 0 is taken off first:
    scores that differ by little keep their digits.
    """
    theta = np.where(difference == 0.0, 0.0, theta)
    if centered:
        sizes = np.where(difference == 0.0, np.inf, np.abs(theta))
        offset = np.take_along_axis(theta, sizes.argmin(axis=1)[:, None], axis=1)
        theta = theta - np.where(np.isfinite(offset), offset, 0.0)
    return np.einsum("nk,nk->n", theta, difference)
