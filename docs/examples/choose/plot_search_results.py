"""
Learning to rank: search results, one query at a time
=====================================================

Each query has its own results, and a grade for each. ``ListwiseRanker`` ranks a query, sees the
grades and learns. A ridge regression on single grades, fitted again after every ten queries,
ignores that only results of one query compete.
"""

# %%
# The data are simulated. Results have a match with the query, clicks and an age. The overall level
# of grades depends on the query: easy queries have many results with high grades and many clicks,
# hard ones have few. That level has no information on the order within a query.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured import ListwiseRanker
from skstructured.guarantees import risk_bound
from skstructured.items.metrics import ndcg

rng = np.random.default_rng(0)
QUERIES, FIRST = 400, 10
queries, grades = [], []
for m in rng.integers(8, 25, size=QUERIES):
    easy, match, age = rng.normal(), rng.random(m), rng.gamma(2.0, 200.0, m)
    clicks = np.exp(1.5 * easy + match + 0.5 * rng.normal(size=m))
    liked = 3.0 * match - age / 500.0 + 1.5 * easy + 0.7 * rng.normal(size=m)
    queries.append(np.column_stack([match, clicks, age]))
    grades.append(np.clip(np.round(liked), 0.0, 4.0))

# %%
# Every query is ranked before it is learned. If all grades are 0, there is no order to find, and
# the query is left out.

ranker = ListwiseRanker(random_state=0)
ridge = make_pipeline(StandardScaler(), Ridge())
found = {"ListwiseRanker": [], "ridge on grades": [], "random order": []}
for t, (x, y) in enumerate(zip(queries, grades, strict=True)):
    if t and t % FIRST == 0:
        ridge.fit(np.concatenate(queries[:t]), np.concatenate(grades[:t]))
    if t >= FIRST and y.any():
        scores = ranker.predict([x])[0], ridge.predict(x), np.zeros(len(x))
        for values, s in zip(found.values(), scores, strict=True):
            values.append(ndcg([y], [s], k=5))
    ranker.partial_fit([x], [y])

# %%
# The left panel shows the mean NDCG@5 of the queries so far; look at the gap between the ranker and
# the ridge. The dotted line is a lower bound for new queries, from the losses 1 − NDCG of the
# second half. It needs no test set, because each loss was computed before its query was learned.

late = 1.0 - np.array(found["ListwiseRanker"])[len(found["ListwiseRanker"]) // 2 :]
bound = 1.0 - risk_bound(np.clip(late, 0.0, 1.0), delta=0.05)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for name, values in found.items():
    print(f"{name:16} NDCG@5 {np.mean(values):.3f}")
    left.plot(np.cumsum(values) / np.arange(1, len(values) + 1), label=name)
print(f"new queries: at least {bound:.3f}, with 95% confidence")
left.axhline(bound, color="C0", ls=":", label="new queries, at least")
left.set(xlabel="query", ylabel="NDCG@5, mean so far", ylim=(None, 1.0))
left.legend(fontsize=8)

# %%
# The right panel compares the weights, in units of standard deviations within queries. Look at the
# clicks: the ridge gives them a large weight, because they are a sign of easy queries.

within = np.std(np.concatenate([x - x.mean(axis=0) for x in queries]), axis=0)
sizes = {"ListwiseRanker": ranker.coef_, "ridge on grades": ridge[-1].coef_ / ridge[0].scale_}
for shift, (name, weights) in zip((-0.2, 0.2), sizes.items(), strict=True):
    effect = weights * within
    right.bar(np.arange(3) + shift, effect / np.abs(effect).max(), 0.4, label=name)
right.set_xticks(range(3), ("match", "clicks", "age"))
right.axhline(0.0, color="k", linewidth=0.8)
right.set_title("weights, the largest 1")
right.legend(fontsize=8)
plt.show()

# %%
# What we see: the ranker has the higher NDCG@5, and reaches it early. The ridge spends weight on
# clicks, which separate queries but do not order the results within one.
