"""
Multilabel classification of text with the largest F1
=====================================================

Simulated texts, counts of 300 words, with some of 20 labels, a few of which are rare. Which decoder
has the best F1, per text and per label, compared with one linear classifier per label?
"""

# %%
# Both X and Y may be sparse.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

from skstructured import OnlineStructuredPredictor

X, Y = make_multilabel_classification(4000, 300, n_classes=20, length=100, random_state=0)
X = csr_matrix(X)
X, X_new, Y, Y_new = train_test_split(X, Y, random_state=0)

# %%
# The metric is F1, so the decoder is "f1". It can be compared with others after one fit.

model, result = OnlineStructuredPredictor("multilabel", random_state=0).fit(X, Y), {}
for decoder in ("nearest", "f1"):
    result[f"decoder={decoder!r}"] = model.set_params(decoder=decoder).predict(X_new)
baseline = OneVsRestClassifier(SGDClassifier(random_state=0)).fit(X, Y)
result["SGDClassifier per label"] = baseline.predict(X_new)
scores = {
    name: [f1_score(Y_new, Z, average=kind, zero_division=0.0) for kind in ("samples", "macro")]
    for name, Z in result.items()
}
for name, (samples, macro) in scores.items():
    size = result[name].sum(axis=1).mean()
    print(f"{name:24} F1 per text {samples:.3f}, per label {macro:.3f}; {size:.1f} labels each")

# %%
# The figure shows F1 by the frequency of a label. Look at the right end, the rare labels.

order = np.argsort(-Y.sum(axis=0))
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for name, Z in result.items():
    f1 = f1_score(Y_new, Z, average=None, zero_division=0.0)[order]
    ax.plot(np.convolve(f1, np.full(10, 0.1), "valid"), label=name)
ax.set(xlabel="labels, the most frequent first (means of ten)", ylabel="F1")
ax.legend()
plt.show()

# %%
# What we see: the decoder "f1" has the largest F1, per text and per label. Its advantage is largest
# for the rare labels, which "nearest" seldom predicts.
