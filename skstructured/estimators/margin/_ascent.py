"""Block-coordinate ascent of the dual, until its gap is small."""

from typing import NamedTuple

import numpy as np

#: Scores that follow the moves are computed anew after so many passes.
REFRESH = 10

#: Most visits to a max-min game, in passes before the last and in the last; and what is rounding.
FEW_GAMES, GAMES, ROUNDING = 1, 20, 1e-12

#: A game is left where a visit does not take the distance of its bounds down to this part.
PROGRESS = 0.9

#: Part of a block's gap by which its loss may be off in passes before the last.
PART = 0.1


class Trace(NamedTuple):
    """What is left of a run: the objective and the gap after each pass."""

    losses: list
    gaps: list


class Ascent:
    """Passes over `Blocks`, and what they are away from the best.

    Parameters
    ----------
    blocks : Blocks
        They have begun.
    """

    def __init__(self, blocks):
        self.blocks = blocks

    def run(self, rule, max_iter, tol, rng, verbose=0):
        """Passes in random order until the duality gap is at most `tol`; their `Trace`.

        The gap is computed after each pass, of scores that were computed anew in the last one.
        """
        trace, blocks, counted = Trace([], []), self.blocks, self.blocks.counted
        for t in range(max_iter):
            blocks.move(counted[rng.permutation(len(counted))], t * len(counted), rule)
            if t % REFRESH == REFRESH - 1:
                blocks.refresh()
            loss, gap = self.certificate(PART)
            if gap <= tol or t == max_iter - 1:
                blocks.refresh()
                loss, gap = self.certificate()
            trace.losses.append(float(loss))
            trace.gaps.append(float(gap))
            if verbose:
                print(f"pass {t + 1}: objective {loss:.6g}, duality gap {gap:.3g}")
            if gap <= tol:
                break
        return trace

    def certificate(self, part=0.0):
        r"""The objective and the gap ``Σ share_i (max_μ H_i(μ) − H_i(μ_i))``, both at most.

        Upper bounds on max H make it a gap of suboptimality whether they are exact or not; they may
        be too large by a `part` of the gap. As ``α‖w‖² = Σ share_i <v_i, φ(y_i) − μ_i>``, it is the
        objective less the dual one.
        """
        blocks, V, share = self.blocks, self.blocks.scores(), self.blocks.inputs.share
        bounds, reached = blocks.bound(V, blocks.means, np.arange(len(share)))
        if blocks.plays:
            bounds = self._play(V, bounds, reached, part)
        bounds = np.maximum(bounds, reached)
        losses = bounds + blocks.constant - blocks.inner(V, *blocks.truth)
        norm = share @ blocks.inner(V, *blocks.moved())
        return share @ losses + 0.5 * norm, share @ (bounds - reached)

    def _play(self, V, bounds, reached, part):
        """Upper bounds on max H, moved to what is reached by playing the games of blocks."""
        blocks, lower, left, apart = self.blocks, reached.copy(), self.blocks.counted, np.inf
        for turn in range(1 + (FEW_GAMES if part > 0.0 else GAMES)):
            if turn > 0:
                blocks.visit(V, blocks.games, left)
            upper, found = blocks.bound(V, blocks.games, left)
            bounds[left] = np.minimum(bounds[left], upper)
            lower[left] = np.maximum(lower[left], found)
            left = left[_not_told(bounds, lower, reached, blocks.slack, part, apart)[left]]
            apart = bounds - lower
            if len(left) == 0:
                break
        return bounds


def _not_told(bounds, lower, reached, slack, part, before):
    """Which games are to be visited: bounds apart, and nearer than `before` the last visit.

    Upper bounds may be too large by `slack`, and by a `part` of the gap from what is `reached`.
    """
    room = np.maximum(part * (bounds - reached), slack)
    apart = bounds - lower
    return (apart > np.maximum(room, ROUNDING * (1.0 + np.abs(bounds)))) & (
        apart <= PROGRESS * before
    )
