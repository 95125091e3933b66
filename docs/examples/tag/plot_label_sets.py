"""
Multilabel classification: the decoder fits the metric
======================================================

A patient may have several high blood values, and a photograph shows several things: a multilabel
output is a row of zeros and ones, and its space is ``"multilabel"``. The best prediction for given
probabilities depends on the metric. The decoder chooses it.
"""

# %%
# Scikit-learn's diabetes data have six blood values of 442 patients. Those among the highest 30%
# are the labels of a patient; they are predicted from age, sex, body mass index and blood pressure.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstructured import OnlineStructuredPredictor

labels = ["cholesterol", "LDL", "HDL", "cholesterol/HDL", "triglycerides", "glucose"]
data = load_diabetes(scaled=False).data
X, values = data[:, :4], data[:, 4:]
Y = (values > np.quantile(values, 0.7, axis=0)).astype(int)
X, X_new, Y, Y_new = train_test_split(X, Y, random_state=0)
model = OnlineStructuredPredictor("multilabel", random_state=0).fit(X, Y)

# %%
# The decoder does not change learning, and may be set after ``fit``. "nearest" predicts each label
# that is more likely than not, which gives the fewest wrong labels. "f1" predicts the set with the
# largest expected F1, which has more labels if no label is certain.


def report(name, predicted):
    """Print wrong labels, F1 and the size of the sets."""
    wrong = hamming_loss(Y_new, predicted)
    f1 = f1_score(Y_new, predicted, average="samples", zero_division=1.0)
    print(f"{name:23} {wrong:.3f} of labels wrong, F1 {f1:.3f}, {predicted.sum(1).mean():.1f} each")


for decoder in ("nearest", "f1"):
    report(f"decoder={decoder!r}", model.set_params(decoder=decoder).predict(X_new))
baseline = make_pipeline(StandardScaler(), OneVsRestClassifier(SGDClassifier(random_state=0)))
report("SGDClassifier per label", baseline.fit(X, Y).predict(X_new))

# %%
# The figure shows the probabilities for ten new patients: dark is likely, circles are the true
# labels, crosses are the predictions of "f1". Look at labels with middling probabilities that "f1"
# includes.

P, predicted = model.predict_proba(X_new[:10]), model.predict(X_new[:10])
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
image = ax.imshow(P, vmin=0, vmax=1, cmap="Blues", aspect="auto")
ax.plot(*np.nonzero(Y_new[:10])[::-1], "o", ms=17, mfc="none", mec="tab:red", label="true")
ax.plot(*np.nonzero(predicted)[::-1], "x", ms=9, color="black", label="predicted for F1")
ax.set(xlabel="high value", ylabel="new patient", yticks=range(10))
ax.set_xticks(range(6), labels, fontsize=8)
figure.legend(loc="outside upper right", ncols=2)
figure.colorbar(image, ax=ax, label="probability of the label")

plt.show()

# %%
# What we see: "nearest" has the fewest wrong labels and "f1" the largest F1, from the same fitted
# model. Both are better than one `SGDClassifier` per label on their own metric.
