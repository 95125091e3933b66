"""AdaHedge and advice with abstention, literally: every sum from the definition, in every round."""

import math


def mixed(losses, eta):
    """M_η(L) = min L − (1/η) ln mean_i exp(−η(L_i − min L)); min L for η = ∞."""
    least = min(losses)
    if eta == math.inf:
        return least
    mean = math.fsum(math.exp(-eta * (loss - least)) for loss in losses) / len(losses)
    return least - math.log(mean) / eta


def distribution(totals, eta):
    """p̂ ∝ exp(−η L); uniform over the least for η = ∞."""
    least = min(totals)
    raised = [
        math.exp(-eta * (t - least)) if eta < math.inf else 1.0 * (t == least) for t in totals
    ]
    return [value / math.fsum(raised) for value in raised]


class AdaHedge:
    """One list of losses a round; `told` has what was known before each."""

    def __init__(self, n_experts):
        self.totals, self.gap, self.total_loss, self.variance = [0.0] * n_experts, 0.0, 0.0, 0.0
        self.widest = 0.0

    def rate(self):
        d = len(self.totals)
        return math.log(d) / self.gap if self.gap > 0.0 and d > 1 else math.inf

    def weights(self):
        return distribution(self.totals, self.rate())

    def update(self, losses):
        eta, p = self.rate(), self.weights()
        hedged = math.fsum(w * loss for w, loss in zip(p, losses, strict=True))
        after = [total + loss for total, loss in zip(self.totals, losses, strict=True)]
        gap = max(0.0, hedged - (mixed(after, eta) - mixed(self.totals, eta)))
        squares = [w * (loss - hedged) ** 2 for w, loss in zip(p, losses, strict=True)]
        self.totals, self.gap, self.total_loss = after, self.gap + gap, self.total_loss + hedged
        self.variance += math.fsum(squares)
        self.widest = max(self.widest, max(losses) - min(losses))
        return hedged

    def bound(self):
        """What Theorem 6 adds to the loss of the best expert: 2√(V ln d) + S(4/3 ln d + 2)."""
        price = math.log(len(self.totals))
        return 2.0 * math.sqrt(self.variance * price) + self.widest * (4.0 / 3.0 * price + 2.0)


class Abstaining:
    """Rounds of opinions in [−1, 1] and a truth −1 or 1; expected losses with the given cost."""

    def __init__(self, n_experts, cost):
        self.hedge, self.cost = AdaHedge(n_experts), cost

    def play(self, opinions):
        """ŷ, y* and b."""
        told = math.fsum(w * u for w, u in zip(self.hedge.weights(), opinions, strict=True))
        return told, 1 if told > 0.0 else -1, 1.0 - abs(told)

    def round(self, opinions, truth):
        """The expected loss of a round that is then learned."""
        _, best, b = self.play(opinions)
        self.hedge.update([(1.0 - truth * u) / 2.0 for u in opinions])
        return (1.0 - b) * (best != truth) + b * self.cost

    def bound(self):
        """The right side of Theorem 7."""
        hedge, price = self.hedge, math.log(len(self.hedge.totals))
        spread = 2.0 * math.sqrt(price * hedge.variance)
        grown = min(price / (1.0 - 2.0 * self.cost), spread)
        return min(hedge.totals) + grown + 4.0 / 3.0 * price + 2.0
