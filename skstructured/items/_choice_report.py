"""The table of a fitted conditional logit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from skstructured._base.validation import check_real
from skstructured.extend._types import Array, Floats


@dataclass(eq=False, repr=False)
class ChoiceSummary:
    """The table of a fitted conditional logit: ``print(model.summary())``.

    Parameters
    ----------
    names : ndarray of shape (p,)
        Names of features.
    coef : ndarray of shape (p,)
        Weights.
    standard_errors : ndarray of shape (p,)
        Standard errors of the weights, NaN if not available.
    log_likelihood : float
        Log-likelihood ``Σ_t w_t ln p(chosen item of t)``.
    null_log_likelihood : float
        The same with equal shares of available items, ``−Σ_t w_t ln m_t``.
    n_rounds : float
        Number of rounds: the sum of their weights.
    rank : int
        Number of weights that the choices determine.
    level : float, default=0.95
        Confidence level of the intervals, between 0 and 1.

    Attributes
    ----------
    z, p_values : ndarray of shape (p,)
        Statistics ``coef/standard_errors``, and their two-sided p-values under the normal law.
    intervals : ndarray of shape (p, 2)
        Confidence intervals ``coef ± quantile × standard_errors``.
    mcfadden_r2, adjusted_r2 : float
        Pseudo R² ``1 − L/L₀`` and ``1 − (L − rank)/L₀`` (McFadden 1974), NaN if L₀ = 0.
    aic, bic : float
        Information criteria ``2 rank − 2L`` and ``rank ln n − 2L``.
    likelihood_ratio, likelihood_ratio_p : float
        Statistic ``2(L − L₀)`` of the test that all weights are 0, and its p-value under χ² with
        `rank` degrees of freedom.

    See Also
    --------
    skstructured.ConditionalLogit : The estimator whose method `summary` returns it.
    """

    names: Array
    coef: Floats
    standard_errors: Floats
    log_likelihood: float
    null_log_likelihood: float
    n_rounds: float
    rank: int
    level: float = 0.95

    def __post_init__(self) -> None:
        level, coef = self.level, self.coef
        self.level = check_real("level", level, lambda v: 0.0 < v < 1.0, "lie between 0 and 1")
        with np.errstate(divide="ignore", invalid="ignore"):
            self.z = coef / self.standard_errors
        self.p_values = 2.0 * norm.sf(np.abs(self.z))
        reach = norm.ppf(0.5 + 0.5 * level) * self.standard_errors
        self.intervals = np.column_stack([coef - reach, coef + reach])
        likelihood, null, k = self.log_likelihood, self.null_log_likelihood, self.rank
        self.mcfadden_r2 = 1.0 - likelihood / null if null else np.nan
        self.adjusted_r2 = 1.0 - (likelihood - k) / null if null else np.nan
        self.aic = 2.0 * k - 2.0 * likelihood
        self.bic = k * np.log(self.n_rounds) - 2.0 * likelihood
        self.likelihood_ratio = 2.0 * (likelihood - null)
        self.likelihood_ratio_p = float(chi2.sf(self.likelihood_ratio, k)) if k else np.nan

    def to_dict(self) -> dict[str, Array]:
        """Columns of the table by their names, arrays (p,)."""
        low, high = self.intervals.T
        return {
            "feature": self.names,
            "coef": self.coef,
            "std err": self.standard_errors,
            "z": self.z,
            "P>|z|": self.p_values,
            f"{0.5 - 0.5 * self.level:.3g}": low,
            f"{0.5 + 0.5 * self.level:.3g}": high,
        }

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, its index the features; needs pandas."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()).set_index("feature")

    def __repr__(self) -> str:
        return "\n".join([*self._head(), "", *self._rows()])

    def _head(self):
        ratio, chance = f"{self.likelihood_ratio:.2f}", f"{self.likelihood_ratio_p:.4f}"
        pairs = [
            ("log-likelihood", f"{self.log_likelihood:.3f}", "choice sets", f"{self.n_rounds:g}"),
            ("at equal shares", f"{self.null_log_likelihood:.3f}", "parameters", f"{self.rank}"),
            ("McFadden's R²", f"{self.mcfadden_r2:.4f}", "adjusted", f"{self.adjusted_r2:.4f}"),
            ("AIC", f"{self.aic:.2f}", "BIC", f"{self.bic:.2f}"),
            ("likelihood ratio", ratio, "P>χ²", chance),
        ]
        return [f"{a:17}{b:>14}    {c:14}{d:>12}" for a, b, c, d in pairs]

    def _rows(self):
        columns = self.to_dict()
        names = columns.pop("feature")
        width = max(12, *(len(str(name)) for name in names))
        yield " " * width + "".join(f"{title:>11}" for title in columns)
        for name, coef, error, z, p, *interval in zip(names, *columns.values(), strict=True):
            shown = [_short(coef), _short(error), f"{z:.2f}", f"{p:.4f}", *map(_short, interval)]
            yield f"{name!s:{width}}" + "".join(f"{number:>11}" for number in shown)


def _short(value):
    """Four decimals, or three significant digits of small and large numbers."""
    return f"{value:.4f}" if value == 0.0 or 1e-2 <= abs(value) < 1e5 else f"{value:.3g}"
