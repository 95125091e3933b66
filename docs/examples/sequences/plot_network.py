"""
Label sequences scored by a network of PyTorch
==============================================

A network computes scores of the characters of a word, and `LabelSequenceLoss` learns it together
with scores of neighboring labels. On noisy digits it makes fewer errors than a linear chain.
"""

# %%
# The words are numbers made of scikit-learn's digits, with noise. A digit is mostly the same as the
# one before, or the next one. X has one matrix per word, and y the digits.

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

from skstructured import OnlineStructuredPredictor
from skstructured.spaces import LabelSequence
from skstructured.torch import LabelSequenceLoss

rng, (images, digit) = np.random.RandomState(0), load_digits(return_X_y=True)
y = [(rng.randint(10) + (rng.rand(8) < 0.6).cumsum()) % 10 for _ in range(1500)]
X = [images[[rng.choice(np.flatnonzero(digit == k)) for k in word]] for word in y]
X = [x + 4 * rng.randn(*x.shape) for x in X]
X, X_new, y, y_new = X[:500], X[500:], y[:500], y[500:]


def wrong(words):
    """Share of wrong digits."""
    return (np.concatenate(words) != np.concatenate(y_new)).mean()


linear = wrong(OnlineStructuredPredictor("sequence", random_state=0).fit(X, y).predict(X_new))
print(f"linear chain: {linear:.1%} of the digits are wrong")

# %%
# The loss gets the scores of all positions, one word after the other, and the scores of pairs. It
# computes them on the CPU and returns gradients to the network, which may be on another device.

torch.manual_seed(0)
layers = (torch.nn.Linear(64, 200), torch.nn.ReLU(), torch.nn.Dropout(0.5))
network = torch.nn.Sequential(torch.nn.BatchNorm1d(64), *layers, torch.nn.Linear(200, 10))
pair = torch.nn.Parameter(torch.zeros(10, 10))
loss = LabelSequenceLoss(LabelSequence().fit(y))
optimizer = torch.optim.Adam([*network.parameters(), pair], lr=0.003)


def scores(words):
    return network(torch.tensor(np.vstack(words), dtype=torch.float32))


curve = []
for _epoch in range(20):
    for which in torch.randperm(len(X)).split(20):
        optimizer.zero_grad()
        loss(scores([X[i] for i in which]), pair, [y[i] for i in which]).backward()
        optimizer.step()
    network.eval()
    with torch.no_grad():
        curve.append(wrong(loss.predict(scores(X_new), pair, [len(x) for x in X_new])))
    network.train()
print(f"network: {curve[-1]:.1%} of the digits are wrong")

# %%
# The figure shows the error on new words after each epoch, and the learned scores of pairs.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axes[0].plot(np.arange(1, 21), curve, label="network")
axes[0].axhline(linear, color="C1", ls="--", label="linear chain")
axes[0].set(xlabel="epochs", ylabel="share of wrong digits", ylim=(0, None))
axes[0].legend()
image = axes[1].imshow(pair.detach().numpy(), cmap="Blues")
axes[1].set(xlabel="next digit", ylabel="digit", xticks=range(10), yticks=range(10))
figure.colorbar(image, ax=axes[1], label="score")
plt.show()

# %%
# What we see: after about ten epochs the network is more accurate than the linear chain. Scores of
# pairs are large for equal digits and for the next digit, which is how the numbers were made.
