"""Regret bounds of the theorems as numbers, with what went into them."""

import math

import numpy as np

from skstructured.exceptions import GuaranteeError

__all__ = ["Certificate", "CoinBettingCertificate", "PiSTOLCertificate", "gap_constants"]


class Certificate:
    """A regret bound ``Σ_t S_t(U) + quadratic · ‖U‖_F² + offset``, with what went into it.

    Parameters
    ----------
    theorem : str
        The theorem it is from.
    quadratic, offset : float
        Coefficients of the bound.
    radius : float, default=inf
        Largest ‖U‖_F the theorem allows; inf without a ball.
    constants : dict, default={}
        The numbers ``a, b, c, C, kappa, lam, nu, gamma, D, …`` that went in.
    """

    def __init__(self, theorem, quadratic, offset, radius=math.inf, constants=None):
        self.theorem = theorem
        self.quadratic = quadratic
        self.offset = offset
        self.radius = radius
        self.constants = {} if constants is None else constants

    def regret(self, norm):
        """The regret against a comparator with ‖U‖_F = norm: quadratic · norm² + offset."""
        return self.quadratic * norm**2 + self.offset

    def bound(self, comparator_loss, norm):
        """The bound for a comparator.

        Parameters
        ----------
        comparator_loss : float
            Σ_t S_t(U).
        norm : float
            ‖U‖_F, the intercept included.

        Returns
        -------
        float

        Raises
        ------
        GuaranteeError
            If U lies outside the ball of the theorem.
        """
        if norm > self.radius * (1 + 1e-9):
            raise GuaranteeError(
                f"{self.theorem} holds for comparators with ‖U‖_F ≤ {self.radius:g}, got {norm:g}."
            )
        return comparator_loss + self.regret(norm)

    def __repr__(self):
        numbers = ", ".join(f"{name}={value:.6g}" for name, value in self.constants.items())
        return f"{type(self).__name__}({self.theorem!r}, {numbers})"


class CoinBettingCertificate(Certificate):
    r"""The regret of `ParameterFree`, with the constants of its proof.

    For V = Σ‖G_t‖²/(cD_2)², the linear regret against U is at most

    .. math:: R(V) = c D_2 \Big(\tfrac52\sqrt{2V}\|U\|_F + ε
        + \sup_{y ≥ 0} \{\|U\|_F (2\sqrt{Vy} + 2Ny) - ε e^{y - r(V)}\}\Big),

    with ``r(V) = β/8 + β ln(N/N_1) + ln(1 + 4V/N_1²)/(2β)``, β = (2 − ln 3)/2: the adaptive descent
    of the direction, and the bettor's wealth, at least ``ε exp(vS − v²V − r)`` for every
    v ≤ 1/(2N) after coins that sum to S. Since ``‖G_t‖² ≤ b S_t(W_t)`` the target loss is at most
    ``Σ S_t(U) + sup_V {R(V) − a (cD_2)² V/b}``, which does not grow with the rounds.

    References
    ----------
    Sakaue et al. (2024), appendix E.2; Cutkosky, Orabona (2018), Theorems 1 to 3.
    """

    def __init__(self, constants):
        super().__init__("Appendix E.2", None, None, math.inf, constants)

    def regret(self, norm):
        """sup over V of R(V) − a (cD_2)² V/b, from above: R grows, so cells of a grid bound it."""
        if not math.isfinite(norm):
            return math.inf
        k = self.constants
        unit = k["c"] * k["D_2"]
        price = k["a"] * unit**2 / k["b"] if k["b"] > 0 else math.inf
        if not math.isfinite(price):
            return unit * k["wealth"]
        grid = np.concatenate([[0.0], k["N"] ** 2 * np.logspace(-6, 2, 400)])
        while True:
            values = unit * self._linear(norm, grid)
            best = np.max(values[1:] - price * grid[:-1])
            # Past its maximum the difference falls: R grows like √V ln V.
            if values[-1] - price * grid[-2] < 0.5 * best:
                return float(best)
            grid = np.concatenate([[0.0], grid[1:] * 100.0])

    def _linear(self, norm, V):
        """R(V)/(c D_2) from above for a vector of V; the supremum over y by cells too."""
        k, beta = self.constants, (2.0 - math.log(3.0)) / 2.0
        r = beta / 8.0 + beta * math.log(k["N"] / k["N_1"])
        r = (r + np.log1p(4.0 * V / k["N_1"] ** 2) / (2.0 * beta))[:, None]
        wealth, V = k["wealth"], V[:, None]
        # Beyond `largest` the exponential outweighs what is gained.
        largest = r + 2.0 * np.log1p(norm * (k["N"] + np.sqrt(V)) / wealth) + 10.0
        y = largest * np.linspace(0.0, 1.0, 300)
        gained = norm * (2.0 * np.sqrt(V * y) + 2.0 * k["N"] * y)
        cells = gained[:, 1:] - wealth * np.exp(y[:, :-1] - r)
        bet = np.maximum(cells.max(axis=1), 0.0)
        return 2.5 * np.sqrt(2.0 * V[:, 0]) * norm + wealth + bet


class PiSTOLCertificate(Certificate):
    r"""The regret of `PiSTOL` after T rounds in which ``Σ‖g_t‖‖x_t‖`` was P.

    With L the Lipschitz constant D_2 times the bound N on features, and the parameters α ≥ 2.25
    (in units of L) and β,

    .. math:: (1-a)\,c\,\Big(\|U\|_F \sqrt{2 α L (L + P) \ln(1 + \|U\|_F L\sqrt{α(T+1)}/β)}
        + β φ(1/α) \ln(1+T)\Big),

    ``φ(x) = (x/2) (e^{x/2}(x+1) + 2)²/(1 − x e^{x/2} − x)``. It grows like √T.

    References
    ----------
    Orabona (2014), Theorem 1, with the sum and the factor T + 1 that its proof gives.
    """

    def __init__(self, constants):
        super().__init__("PiSTOL, Theorem 1", None, None, math.inf, constants)

    def regret(self, norm):
        """The regret against a comparator with ‖U‖_F = norm."""
        k = self.constants
        L, T, x = k["L"] * k["N"], k["rounds"], 1.0 / k["alpha"]
        reach = norm * L * math.sqrt(k["alpha"] * (T + 1.0)) / k["beta"]
        spread = 2.0 * k["alpha"] * L * (L + k["path"]) * math.log1p(reach)
        top = math.exp(x / 2.0) * (x + 1.0) + 2.0
        phi = 0.5 * x * top**2 / (1.0 - x * math.exp(x / 2.0) - x)
        linear = norm * math.sqrt(spread) + k["beta"] * phi * math.log1p(T)
        return (1.0 - k["a"]) * k["c"] * linear


def gap_constants(loss, norm):
    """Numbers of a loss that enter bounds, for features of norm at most C = `norm`.

    Raises
    ------
    GuaranteeError
        If the loss leaves no surrogate gap.
    """
    k = loss.constants_of()
    if k.a <= 0:
        raise GuaranteeError(f"There is no surrogate gap: a = {k.a:.4g}; raise loss_scale.")
    numbers = {name: getattr(k, name) for name in ("a", "c", "kappa", "lam", "nu", "gamma")}
    return numbers | {"D": k.diameter, "C": float(norm), "b": k.smoothness * float(norm) ** 2}
