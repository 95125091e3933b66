"""The state of PiSTOL, of the whole matrix or per coordinate: its bound and its warning."""

import math
from typing import Any

from skstructured._base.exceptions import GuaranteeError
from skstructured._engine.state import OWN
from skstructured.extend._types import Floats, Loss
from skstructured.extend.optimizer import no_high_probability
from skstructured.guarantees.certificates import PiSTOLCertificate, gap_constants

# The state vector, after the epoch's own entries.
PARAMETER_A, PARAMETER_B, NORM, CAPPED, PATH, LIPSCHITZ = range(OWN, OWN + 6)
THETA_SQ, LARGEST_SQ, ROUNDS, FLUSHED_SQ = range(OWN + 6, OWN + 10)

#: Exponents are cut off here, so scores stay finite.
LARGEST_EXPONENT = 300.0


def certificate_of(
    optimizer: Any,
    loss: Loss,
    state: Floats,
    delta: float | None,
    theorem: str,
    norm: float,
    shape: dict[str, float],
) -> PiSTOLCertificate:
    """The certificate by a theorem of PiSTOL, of rounds whose features have norms up to `norm`.

    A GuaranteeError unless a ≥ 2.25, no exponent was cut off and ``norm <= feature_norm``.
    """
    no_high_probability(optimizer, delta)
    a, bound = optimizer.a, optimizer.feature_norm
    if a < 2.25:
        raise GuaranteeError(
            f"{theorem} of PiSTOL needs a ≥ 2.25, got a={a!r} (which learns faster)."
        )
    if state[CAPPED] > 0.0:
        raise GuaranteeError(
            f"PiSTOL's exponent was cut off {state[CAPPED]:.0f} times, which its {theorem} "
            "does not allow for."
        )
    if bound is None or norm > bound * (1.0 + 1e-9):
        raise GuaranteeError(
            f"{theorem} of PiSTOL needs a bound on the features: give feature_norm, at least "
            f"{norm:.6g} for the rows so far."
        )
    numbers = gap_constants(loss, math.sqrt(state[LARGEST_SQ])) | shape
    numbers |= {"L": float(loss.lipschitz), "N": float(max(norm, bound))}
    numbers |= {"alpha": float(a), "beta": float(optimizer.b)}
    numbers |= {"path": float(state[PATH]), "rounds": float(state[ROUNDS])}
    return PiSTOLCertificate(numbers)


def message_of_caps(optimizer: Any, state: Floats) -> str | None:
    """A sentence on exponents that were cut off in the rounds that made `state`, or None."""
    if state[CAPPED] == 0.0:
        return None
    return (
        f"PiSTOL's exponent exceeded {LARGEST_EXPONENT:g} {state[CAPPED]:.0f} times "
        f"and was cut off there: a={optimizer.a!r} is too small for these data."
    )
