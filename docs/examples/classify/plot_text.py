"""
Classify text out of core
=========================

Sparse rows with tens of thousands of words as features, learned in chunks as if they came from a
disk. The texts are simulated: 60 words each, a fifth of which depend on the topic.
"""

# %%
# X is a CSR matrix of word counts, y has the topics. Texts are divided by their lengths, as is
# usual for words; features that occur in one text only are left out.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import ComplementNB
from sklearn.preprocessing import normalize

from skstructured import OnlineStructuredPredictor

rng, old = np.random.RandomState(0), np.arange(6000) < 4000
topic, word = rng.randint(8, size=(6000, 1)), (20_000 * rng.rand(6000, 60) ** 3).astype(int)
word = np.where(rng.rand(6000, 60) < 0.2, word // 8 * 8 + topic, word)
X = csr_matrix((np.ones(360_000), word.ravel(), np.arange(0, 360_001, 60)))
y = np.array(list("abcdefgh"))[topic[:, 0]]
X = normalize(X[:, X[old].getnnz(axis=0) > 1])
chunks = np.array_split(np.random.RandomState(0).permutation(np.flatnonzero(old)), 8)

# %%
# All topics must be passed in the first call of ``partial_fit``. After each chunk we compute the
# accuracy on test texts. The baseline is a naive Bayes classifier, whose assumption (independent
# words given the topic) is nearly true here, so it is hard to beat, above all after few texts.

models = {
    "OnlineStructuredPredictor": OnlineStructuredPredictor(random_state=0),
    "ComplementNB": ComplementNB(),
}
accuracy = {name: [] for name in models}
for rows in chunks:
    for name, model in models.items():
        model.partial_fit(X[rows], y[rows], classes=np.unique(y))
        accuracy[name].append(model.score(X[~old], y[~old]))
print(
    f"{X.shape[1]} features, {np.sum(~old)} new texts:",
    {k: f"{a[-1]:.1%}" for k, a in accuracy.items()},
)

# %%
# The left panel shows the accuracy by the number of learned texts. The right panel shows the
# accuracy among the most confident predictions; the left end are the texts with the highest
# confidence.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for name, model in models.items():
    axes[0].plot(np.cumsum([len(rows) for rows in chunks]), accuracy[name], "o-", label=name)
    right, P = model.predict(X[~old]) == y[~old], model.predict_proba(X[~old])
    rows = np.arange(1, len(P) + 1)
    axes[1].plot(rows / len(P), np.cumsum(right[np.argsort(-P.max(axis=1))]) / rows)
axes[0].set(xlabel="texts learned", ylabel="accuracy on new texts")
axes[0].legend()
axes[1].set(
    xlabel="share of new texts, most confident first", ylabel="accuracy among them", ylim=(0.5, 1)
)
plt.show()

# %%
# What we see: naive Bayes is more accurate on these texts, whose words are nearly independent given
# the topic. Both models make few errors among the most confident half of the texts, so the rest can
# be passed to people.
