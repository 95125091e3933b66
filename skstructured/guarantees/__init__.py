"""Guarantees as numbers: regret bounds, their comparators, and bounds on risks."""

from skstructured.guarantees.certificates import (
    AbstentionCertificate,
    Certificate,
    CoinBettingCertificate,
    MixtureCertificate,
    PiSTOLCertificate,
    gap_constants,
)
from skstructured.guarantees.comparators import (
    best_comparator,
    comparator_for,
    comparator_losses,
    separable_risk,
)
from skstructured.guarantees.risk import RiskMonitor, risk_bound, risk_curve

__all__ = [
    "AbstentionCertificate",
    "Certificate",
    "CoinBettingCertificate",
    "MixtureCertificate",
    "PiSTOLCertificate",
    "RiskMonitor",
    "best_comparator",
    "comparator_for",
    "comparator_losses",
    "gap_constants",
    "risk_bound",
    "risk_curve",
    "separable_risk",
]
