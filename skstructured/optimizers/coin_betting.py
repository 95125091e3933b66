"""Parameter-free online learning: a coin bettor chooses the length, descent the direction."""

import math
from enum import IntEnum

from skstructured._base.component import parameters
from skstructured._base.validation import check_positive, check_size
from skstructured._engine.compiled import kernel, plain_integers
from skstructured._engine.state import OWN, SMALLEST_SCALE, LoopState, flush_if_grown, new_state
from skstructured.extend._types import Floats, Loss
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.guarantees.certificates import Certificate, CoinBettingCertificate, gap_constants


@plain_integers
class BettingState(IntEnum):
    """The state vector, after the loop's own entries."""

    NORM, FIRST, BET, Z_SQ, LOG_WEALTH = range(OWN, OWN + 5)
    SHRINK, THETA_SQ, SUM_SQ, LARGEST_SQ, DIAMETER, FLUSHED_SQ = range(OWN + 5, OWN + 11)


@kernel
def bet_scale(state, bound, weight):
    """s = v Wealth · s_direction; first N ← max(N, w‖x‖) and v ← clip(v, ±1/(2N))."""
    state[BettingState.LARGEST_SQ] = max(state[BettingState.LARGEST_SQ], weight * bound)
    norm = max(state[BettingState.NORM], weight * math.sqrt(bound))
    state[BettingState.NORM] = norm
    if norm == 0.0:
        return 0.0
    flush_if_grown(state, norm * norm, BettingState.FLUSHED_SQ)
    if state[BettingState.FIRST] == 0.0:
        state[BettingState.FIRST] = norm
    bet, most = state[BettingState.BET], 0.5 / norm
    state[BettingState.BET] = min(max(bet, -most), most)
    wealth = math.exp(min(state[BettingState.LOG_WEALTH], 400.0))  # a bet is divided by N
    return state[BettingState.BET] * wealth * state[BettingState.SHRINK]


@kernel
def bet_step(state, inner, square, bound, weight):
    """Settle the bet on −<G, direction>, take the Newton step, and move the direction.

    With gradients in units of c·D_2: ``Wealth ← Wealth (1 − gv)``, ``z = g/(1 − gv)``,
    ``v ← clip(v − 2/(2 − ln 3) z/(N² + Σz²), ±1/(2N))``; ``D ← Π(D − η_t G_t)`` on the unit ball.
    """
    unit, norm = weight / state[BettingState.DIAMETER], state[BettingState.NORM]
    length = unit * math.sqrt(square)
    state[BettingState.SUM_SQ] += length * length
    if length == 0.0 or state[BettingState.SUM_SQ] == 0.0:
        return 0.0
    s = state[BettingState.SHRINK]
    coin = min(max(unit * s * inner, -length), length)
    growth = 1.0 - coin * state[BettingState.BET]
    z = coin / growth
    state[BettingState.LOG_WEALTH] += math.log(growth)
    state[BettingState.Z_SQ] += z * z
    newton, most = 2.0 / (2.0 - math.log(3.0)), 0.5 / norm
    bet = state[BettingState.BET] - newton * z / (norm * norm + state[BettingState.Z_SQ])
    state[BettingState.BET] = min(max(bet, -most), most)
    step = 1.0 / (s * math.sqrt(2.0 * state[BettingState.SUM_SQ]))
    u, reach = -step * unit, step * length
    moved = max(state[BettingState.THETA_SQ] + 2.0 * u * inner + reach * reach, 0.0)
    if s * math.sqrt(moved) > 1.0:
        s = 1.0 / math.sqrt(moved)
    if s < SMALLEST_SCALE:
        state[LoopState.RESCALE] = s
        u, moved, s = u * s, moved * s * s, 1.0
    state[BettingState.SHRINK], state[BettingState.THETA_SQ] = s, moved
    return u


@parameters
class ParameterFree(OnlineOptimizer):
    r"""Parameter-free online learning by coin betting: no step size and no norm bound.

    The weights are ``W_t = v_t Wealth_{t−1} D_t`` [1]_, [2]_. The direction D_t is learned on the
    unit Frobenius ball by adaptive descent, ``η_t = 1/√(2 Σ‖G_s‖²)``. Its length is a bet on the
    coin ``−<G_t, D_t>`` by the online Newton method,
    ``Wealth_t = Wealth_{t−1} (1 − <G_t, D_t> v_t)``.

    Gradients are measured in units of c·D_2. Their largest norm N is learned: x_t is seen before
    W_t is played, so N_t = max_{s ≤ t} w_s ‖x_s‖ is known in time [3]_, and v_t is kept within
    ±1/(2N_t). Then Wealth stays positive without restarts. Predictions do not change when all
    features are multiplied by a number (an intercept's constant feature included).

    Parameters
    ----------
    wealth : float, default=100.0
        Initial wealth ε of the bettor. The regret against U = 0 is at most c·D_2·ε, and first bets
        reach ‖W‖ N = ε/2. Rows of real data are often ten times shorter than the longest, and
        separating them needs scores of several units. With ε = 1 the bettor needs hundreds of
        rounds to reach them; with large samples ε is nearly irrelevant.
    feature_norm : float or None, default=None
        Initial value of N, a bound C on ``w ‖x‖_2`` if one is known. Rows beyond it are learned.

    Raises
    ------
    ValueError
        At the first ``fit`` or ``partial_fit``, if a parameter is not a positive number.

    See Also
    --------
    StepMixture : An ensemble of step sizes, for drifting streams.
    PiSTOL : Another parameter-free optimizer.
    GradientDescent : A constant step.
    skstructured.guarantees.CoinBettingCertificate : The regret bound.

    Notes
    -----
    η_t is half of the step that minimizes the worst case of the direction's regret, which makes
    that regret 5/4 times as large. Comparators are nearer to the first direction, 0, than the ball
    is wide, and errors on real data were lower with it on most data sets tried.

    The domain of v only shrinks, so the analysis of the online Newton method holds for every v* in
    the last domain: with β = (2 − ln 3)/2 its regret is at most
    ``β/8 + β ln(N_T/N_1) + Σ z_t²/(N_t² + Σ_{s≤t} z_s²)/(2β)``.

    References
    ----------
    .. [1] Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young
       losses and improved surrogate regret for online multiclass classification with logistic
       loss", appendix E.2.
    .. [2] Cutkosky, Orabona (2018), "Black-box reductions for parameter-free online learning in
       Banach spaces", Algorithms 1 and 2.
    .. [3] Cutkosky (2019), "Artificial constraints and hints for unbounded online learning".
    """

    scale_kernel = staticmethod(bet_scale)
    step_kernel = staticmethod(bet_step)
    entries = len(BettingState)

    wealth: float = 100.0
    feature_norm: float | None = None

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        state = new_state(self.entries, BettingState.THETA_SQ)
        state[BettingState.SHRINK] = 1.0
        state[BettingState.LOG_WEALTH] = math.log(check_positive("wealth", self.wealth))
        state[BettingState.NORM] = check_size("feature_norm", self.feature_norm, 0.0)
        state[BettingState.DIAMETER] = loss.lipschitz
        return state

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """Return a regret bound from appendix E.2 of Sakaue et al. (2024), with its constants."""
        numbers = gap_constants(loss, math.sqrt(state[BettingState.LARGEST_SQ]), delta)
        numbers |= {"D_2": float(state[BettingState.DIAMETER]), "wealth": float(self.wealth)}
        numbers |= {"N_1": float(state[BettingState.FIRST]), "N": float(state[BettingState.NORM])}
        return CoinBettingCertificate(numbers)
