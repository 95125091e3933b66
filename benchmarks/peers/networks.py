"""Small networks of PyTorch with the losses of this package, compared with its learners.

Rankings of labels: the share of pairs of labels in the wrong order, in five folds; "digits" ranks
the ten classes by the posterior of a naive Bayes classifier. Two hidden layers of 200 units learn
standardized features by the loss of soft ranks, and by squared errors of ranks. Words: the share of
wrong letters, one fold of ten to learn and nine to test, for three folds. A convolution of 5 × 5
pixels and one hidden layer score each letter, and are learned with the scores of pairs of letters
by the loss of label sequences, and letter by letter by cross-entropy. All networks: Adam with
weight decay, a fixed number of epochs, nothing tuned, one thread. Means ± standard deviations.
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from torch import nn

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import ConditionalRandomField, OnlineStructuredPredictor, StructuredPredictor
from skstructured.metrics import kendall_tau
from skstructured.spaces import LabelSequence, Permutahedron
from skstructured.torch import FenchelYoungLoss, LabelSequenceLoss

RANKINGS = ("digits", "segment", "vehicle")


def floats(X):
    return torch.tensor(np.asarray(X), dtype=torch.float32)


def learned(parameters, loss_of, n, epochs, size):
    """Minimize the loss of rows, of which there are n, by Adam."""
    optimizer = torch.optim.AdamW(parameters, lr=2e-3, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for rows in torch.randperm(n).split(size):
            optimizer.zero_grad()
            loss_of(rows).backward()
            optimizer.step()
        schedule.step()


def ranking_network(criterion):
    """A function that predicts ranks of X_test by a network that has learned X and ranks."""

    def predicted(X, ranks, X_test):
        torch.manual_seed(0)
        d, scaler = ranks.shape[1], StandardScaler().fit(X)
        network = nn.Sequential(
            *(nn.Linear(X.shape[1], 200), nn.ReLU()),
            *(nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, d)),
        )
        A, loss = floats(scaler.transform(X)), criterion(ranks)
        learned(network.parameters(), lambda rows: loss(network(A[rows]), rows), len(A), 60, 64)
        with torch.no_grad():
            return Permutahedron().argmax(network(floats(scaler.transform(X_test))).numpy())

    return predicted


def soft_ranks(ranks):
    loss = FenchelYoungLoss(Permutahedron().fit(ranks))
    return lambda theta, rows: loss(theta, ranks[rows.numpy()])


def squared_errors(ranks):
    y = floats(ranks - ranks.mean())
    return lambda theta, rows: nn.functional.mse_loss(theta, y[rows])


def fitted(make):
    """A function that predicts by a learner of this package."""
    return lambda X, y, X_test: make(random_state=0).fit(X, y).predict(X_test)


RANKERS = {
    "network, loss of soft ranks": ranking_network(soft_ranks),
    "network, squared errors of ranks": ranking_network(squared_errors),
    "OnlineStructuredPredictor": fitted(lambda **k: OnlineStructuredPredictor("ranking", **k)),
    "StructuredPredictor": fitted(lambda **k: StructuredPredictor("ranking", **k)),
}


def rankings(name):
    """X, and ranks of which the largest is the best."""
    if name != "digits":
        arrays = load(f"ranking_{name}")
        return arrays["X"], arrays["rank"].shape[1] - arrays["rank"].astype(int)
    X, digit = load_digits(return_X_y=True)
    scores = GaussianNB(var_smoothing=0.1).fit(X, digit).predict_joint_log_proba(X)
    return X, scores.argsort(axis=1).argsort(axis=1) + 1


def add(out, data, n, method, errors):
    mean, std = np.mean(errors), np.std(errors)
    line = f"  {method:34} {mean:.4f} ± {std:.4f}"
    out.add(line, data=data, rows=n, method=method, error=mean, std=std)


def compare_rankings(out, name, folds):
    X, ranks = rankings(name)
    out.say(f"{name}: {len(X)} rows, {X.shape[1]} features, {ranks.shape[1]} labels")
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))[:folds]
    for method, predicted in RANKERS.items():
        errors = [
            0.5 - 0.5 * kendall_tau(predicted(X[learn], ranks[learn], X[test]), ranks[test]).mean()
            for learn, test in splits
        ]
        add(out, name, len(X), method, errors)


class LetterScores(nn.Module):
    """Scores of the letters of images, and of pairs of letters."""

    def __init__(self, k):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
            *(nn.Linear(16 * 8 * 4, 200), nn.ReLU(), nn.Dropout(0.3), nn.Linear(200, k)),
        )
        self.pair = nn.Parameter(torch.zeros(k, k))

    def forward(self, X):
        return self.layers(floats(X).reshape(-1, 1, 16, 8))


def word_network(in_chains):
    """A function that predicts words by a network, learned word by word or letter by letter."""

    def predicted(X, y, X_test):
        torch.manual_seed(0)
        space = LabelSequence().fit(y)
        network, chain_loss = LetterScores(space.dim_), LabelSequenceLoss(space)

        def loss_of(words):
            scores, labels = network(np.vstack([X[i] for i in words])), [y[i] for i in words]
            if in_chains:
                return chain_loss(scores, network.pair, labels)
            return nn.functional.cross_entropy(scores, torch.tensor(np.concatenate(labels)))

        learned(network.parameters(), loss_of, len(X), 40, 16)
        network.eval()
        with torch.no_grad():
            scores, lengths = network(np.vstack(X_test)), [len(x) for x in X_test]
            return chain_loss.predict(scores, network.pair, lengths)

    return predicted


READERS = {
    "network, loss of label sequences": word_network(True),
    "network, letter by letter": word_network(False),
    "OnlineStructuredPredictor": fitted(
        lambda **k: OnlineStructuredPredictor("sequence", max_iter=5, **k)
    ),
    "ConditionalRandomField": fitted(ConditionalRandomField),
    "StructuredPredictor": fitted(lambda **k: StructuredPredictor("sequence", **k)),
}


def compare_words(out, folds):
    z = load("ocr")
    cuts, fold = np.cumsum(z["lengths"])[:-1], z["fold"]
    X, y = np.split(z["X"].astype(float), cuts), np.split(z["y"].astype(int), cuts)
    out.say(f"words: {len(X)}, a tenth to learn; {X[0].shape[1]} pixels, 26 letters")
    found = {name: [] for name in READERS}
    for seed in range(folds):
        learn, test = np.flatnonzero(fold == seed), np.flatnonzero(fold != seed)
        parts = [X[i] for i in learn], [y[i] for i in learn], [X[i] for i in test]
        truth = np.concatenate([y[i] for i in test])
        for name, predicted in READERS.items():
            found[name].append((np.concatenate(predicted(*parts)) != truth).mean())
    for name, errors in found.items():
        add(out, "words", len(X), name, errors)


def main():
    args = arguments(__doc__)
    torch.set_num_threads(1)
    with Results(__file__, args) as out:
        out.say(f"PyTorch {torch.__version__}")
        for name in RANKINGS[: 1 if args.quick else None]:
            compare_rankings(out, name, 1 if args.quick else 5)
        compare_words(out, 1 if args.quick else 3)


if __name__ == "__main__":
    main()
