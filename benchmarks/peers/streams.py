"""Streams of classes, generated and real: ours and river's ensembles, at their defaults.

Every row is predicted before it is learned; of 10,000 rows each. Accuracy in % and log-loss in
nats. "late": labels come in chunks of 50 and of 500 rows, which are predicted before any of them is
learned. river's adaptive random forest, streaming random patches and leveraging bagging have their
ten models of Hoeffding trees. At the end means, and on how many streams the log-loss of
StructuredPredictor is the smaller one. Needs river. Two processes.
"""

import numpy as np
from joblib import Parallel, delayed

from benchmarks._common import Results, arguments
from benchmarks.data import load
from benchmarks.defaults._streams import moving
from benchmarks.defaults.streams import row_by_row
from skstructured import OnlineStructuredPredictor, StructuredPredictor
from skstructured.evaluation import progressive_validate

MOST = 10_000

#: Functions of river's Agrawal generator, of the ten there are.
AGRAWAL = (0, 2, 4, 6)


def generated():
    """Streams of river's generators: name and the generator."""
    from river.datasets import synth

    for number in AGRAWAL:
        yield f"Agrawal {number}", synth.Agrawal(classification_function=number, seed=1)
    parts = (synth.Agrawal(classification_function=k, seed=1 + k) for k in (0, 4))
    drift = {"position": MOST // 2, "width": 1000, "seed": 1}
    yield "Agrawal, drift", synth.ConceptDriftStream(*parts, **drift)
    shape = {"n_classes": 4, "n_features": 10, "n_centroids": 50}
    yield "RBF", synth.RandomRBF(seed_model=1, seed_sample=1, **shape)
    moves = {"change_speed": 5e-4, "n_drift_centroids": 20}
    yield "RBF, drift", synth.RandomRBFDrift(seed_model=1, seed_sample=1, **shape, **moves)
    yield "random tree", synth.RandomTree(seed_tree=1, seed_sample=1, n_classes=3)
    noise = {"noise_percentage": 0.1, "irrelevant_features": True, "n_drift_features": 4}
    yield "LED, drift", synth.LEDDrift(seed=1, **noise)
    yield "waveform", synth.Waveform(seed=1)
    yield "sine", synth.Sine(seed=1)
    yield "mixed", synth.Mixed(seed=1)


def streams():
    """Name, X and y."""
    for name, stream in generated():
        rows = [(list(map(float, x.values())), int(label)) for x, label in stream.take(MOST)]
        yield name, np.array([x for x, _ in rows]), np.array([label for _, label in rows])
    for name, X, y in moving():
        yield name, X[:MOST], y[:MOST]
    for name in ("phishing", "bananas"):
        arrays = load(f"river_{name}")
        yield name, arrays["X"].astype(float)[:MOST], arrays["y"][:MOST]


def ours(chunk, X, y):
    """Probabilities (n, K) of rows before they were learned, so many at a time."""
    model, found = StructuredPredictor(random_state=0), []
    rounds = model.begin(X, y)
    if chunk == 1:
        return model._learn_stream(rounds)
    for start in range(0, len(y), chunk):
        found.append(model.predict_proba(X[start : start + chunk]))
        model.learn(rounds, np.arange(start, min(start + chunk, len(y))))
    return np.concatenate(found)


def line(X, y):
    """Error and log-loss of the mixture of steps over a line, before each row."""
    model = OnlineStructuredPredictor(decoder="nearest", random_state=0)
    run = progressive_validate(model, X, y, play="randomized")
    return run.target_loss.mean(), run.surrogate_loss.mean() / run.estimator.loss_.scale_


def forest():
    from river.forest import ARFClassifier

    return ARFClassifier(seed=0)


def patches():
    from river.ensemble import SRPClassifier

    return SRPClassifier(seed=0)


def bagging():
    from river import ensemble, tree

    return ensemble.LeveragingBaggingClassifier(tree.HoeffdingTreeClassifier(), seed=0)


def judged(proba, y):
    """Error and log-loss of probabilities."""
    codes = np.unique(y, return_inverse=True)[1]
    told = proba[np.arange(len(y)), codes]
    return np.mean(proba.argmax(axis=1) != codes), -np.log(np.maximum(told, 1e-9)).mean()


RUNS = {
    "OnlineStructuredPredictor": line,
    "StructuredPredictor": lambda X, y: judged(ours(1, X, y), y),
    "late, 50": lambda X, y: judged(ours(50, X, y), y),
    "late, 500": lambda X, y: judged(ours(500, X, y), y),
    "adaptive forest": lambda X, y: row_by_row(forest(), X, y),
    "random patches": lambda X, y: row_by_row(patches(), X, y),
    "leveraging bagging": lambda X, y: row_by_row(bagging(), X, y),
}


def measured(name, X, y):
    """Name, rows and features, and the error and log-loss of each run."""
    return name, X.shape, {run: play(X, y) for run, play in RUNS.items()}


def main():
    """Print the table."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        out.say(f"{'accuracy/log-loss':18}" + "".join(f"{run[-16:]:>17}" for run in RUNS))
        every, most = list(streams())[: 2 if args.quick else None], 500 if args.quick else MOST
        runs = (delayed(measured)(name, X[:most], y[:most]) for name, X, y in every)
        losses = {run: [] for run in RUNS}
        for name, (n, p), found in Parallel(n_jobs=2, return_as="generator")(runs):
            cells = [f"{100 - 100 * error:9.2f}/{loss:5.3f}  " for error, loss in found.values()]
            row = {f"{run}: log-loss": loss for run, (_, loss) in found.items()}
            row |= {f"{run}: accuracy": 1.0 - error for run, (error, _) in found.items()}
            out.add(f"{name:18}" + "".join(cells), stream=name, rows=n, features=p, **row)
            for run, (_, loss) in found.items():
                losses[run].append(loss)
        mine = np.array(losses["StructuredPredictor"])
        out.say("\nmean log-loss; StructuredPredictor's is smaller on")
        for run, values in losses.items():
            out.say(f"   {run:28}{np.mean(values):7.3f}   {np.sum(mine < values)} of {len(mine)}")


if __name__ == "__main__":
    main()
