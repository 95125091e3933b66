"""
Multilabel classification: the decoder fits the metric
======================================================

A text has several labels, and a photograph shows several things: a multilabel output is a row of
zeros and ones, and its space is ``"hypercube"``. The best prediction for given probabilities
depends on the metric. The decoder chooses it.
"""

# %%
# The data are simulated: counts of 60 words, with 3 of 12 labels on average.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured import OnlineStructuredPredictor

X, Y = make_multilabel_classification(
    3000, 60, n_classes=12, n_labels=3, length=100, random_state=0
)
X, X_new, Y, Y_new = train_test_split(X, Y, random_state=0)
model = OnlineStructuredPredictor("hypercube", random_state=0).fit(X, Y)

# %%
# The decoder does not change learning, and may be set after ``fit``. "nearest" predicts each label
# that is more likely than not, which gives the fewest wrong labels. "f1" predicts the set with the
# largest expected F1, which has more labels if no label is certain.


def tell(name, predicted):
    """Print wrong labels, F1 and the size of the sets."""
    wrong = hamming_loss(Y_new, predicted)
    f1 = f1_score(Y_new, predicted, average="samples", zero_division=1.0)
    print(f"{name:16} {wrong:.3f} of labels wrong, F1 {f1:.3f}, {predicted.sum(1).mean():.2f} tags")


for decoder in ("nearest", "f1"):
    tell(decoder, model.set_params(decoder=decoder).predict(X_new))
baseline = make_pipeline(StandardScaler(), OneVsRestClassifier(SGDClassifier(random_state=0)))
tell("one SGD a label", baseline.fit(X, Y).predict(X_new))

# %%
# The figure shows the probabilities for ten new texts: dark is likely, circles are the true labels,
# crosses are the predictions of "f1". Look at labels with middling probabilities that "f1"
# includes.

P, predicted = model.predict_proba(X_new[:10]), model.predict(X_new[:10])
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
image = ax.imshow(P, vmin=0, vmax=1, cmap="Blues")
ax.plot(*np.nonzero(Y_new[:10])[::-1], "o", ms=17, mfc="none", mec="tab:red", label="true")
ax.plot(*np.nonzero(predicted)[::-1], "x", ms=9, color="black", label="predicted for F1")
ax.set(xlabel="tag", ylabel="new text", xticks=range(12), yticks=range(10))
figure.legend(loc="outside upper right", ncols=2)
figure.colorbar(image, ax=ax, label="probability of the tag")

plt.show()

# %%
# What we see: "nearest" has the fewest wrong labels and "f1" the largest F1, from the same fitted
# model. Both are better than one `SGDClassifier` per label on their own metric.
