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
    mover : Blocks or MirrorProx
        What moves them, they themselves or the oracle of the paper.
    average : bool, default=False
        Whether they end with the mean of all steps, the s-th of which counts s times.
    replace : bool, default=False
        Whether a pass draws its blocks with replacement.
    """

    def __init__(self, blocks, mover, average=False, replace=False):
        self.blocks, self.mover, self.replace = blocks, mover, replace
        self._late = [np.zeros_like(part) for part in blocks.means.point] if average else None

    def run(self, rule, max_iter, tol, rng, verbose=0):
        """Passes in random order until the duality gap is at most `tol`; their `Trace`.

        The gap is computed after each pass, of scores that were computed anew in the last one.
        """
        trace, blocks, counted = Trace([], []), self.blocks, self.blocks.counted
        for t in range(max_iter):
            n, here = len(counted), blocks.means
            order = counted[rng.randint(n, size=n) if self.replace else rng.permutation(n)]
            self._pass(order, t * n, rule)
            if self._late is not None:
                blocks.means = self._averaged((t + 1) * n)
            if t % REFRESH == REFRESH - 1 or self._late is not None:
                blocks.refresh()
            loss, gap = self.certificate(PART)
            if gap <= tol or t == max_iter - 1:
                blocks.refresh()
                loss, gap = self.certificate()
            trace.losses.append(float(loss))
            trace.gaps.append(float(gap))
            if verbose:
                print(f"pass {t + 1}: objective {loss:.6g}, duality gap {gap:.3g}")
            if gap <= tol or t == max_iter - 1:
                break
            if self._late is not None:
                blocks.means = here
                blocks.refresh()
        return trace

    def _pass(self, order, clock, rule):
        """Steps `clock` + 1 and on, which are 2n/(t + 2n) by the rule FIXED."""
        n, point = len(order), self.blocks.means.point
        fixed = 2.0 * n / (clock + np.arange(n) + 2.0 * n)
        if self._late is None:
            self.mover.move(order, fixed, rule)
            return
        for t, i in enumerate(order):
            at, s = self.blocks.at(i), clock + t + 1
            before = [part[j].copy() for part, j in zip(point, at, strict=True)]
            self.mover.move(order[t : t + 1], fixed[t : t + 1], rule)
            for late, part, j, old in zip(self._late, point, at, before, strict=True):
                late[j] += s * (s - 1.0) * (part[j] - old)

    def _averaged(self, steps):
        """Means ``Σ s μ^s / Σ s`` over the steps: a move at step s is missing from those before."""
        means = self.blocks.means
        parts = zip(means.point, self._late, strict=True)
        point = tuple(part - late / (steps * (steps + 1.0)) for part, late in parts)
        return means._replace(point=point)

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
