"""Cases of the fuzzer that are no calls of one learner: chunks, files, checkpoints, monitors.

Each plays some inputs of one kind and returns how many, or raises a `Finding`.
"""

import atexit
import functools
import io
import shutil
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
from fuzz_inputs import WRONG_WEIGHTS, Finding, chance, features, is_a_gap, pick
from fuzz_more import sequence_features
from fuzz_play import Case, check_numbers, frozen, refused
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler

import skstructured as sk
from skstructured.checkpoints import load_checkpoint, save_checkpoint
from skstructured.evaluation import progressive_validate
from skstructured.guarantees.risk import risk_bound, risk_curve
from skstructured.streaming import array_chunks, fit_chunks, parquet_chunks, svmlight_chunks

#: Inputs of a case.
INPUTS = 20


@functools.cache
def folder():
    """A folder of this process, on a disk in memory where there is one."""
    shared = Path("/dev/shm")
    made = tempfile.mkdtemp(dir=shared if shared.is_dir() else None)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def flipped(rng, data):
    """A few bytes changed."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        data[rng.randint(len(data))] = rng.randint(256)
    return bytes(data)


def cut(rng, data):
    """The end, the beginning, or a part in the middle left out."""
    start, stop = sorted(rng.randint(len(data) + 1, size=2))
    return pick(rng, (data[:start], data[stop:], data[:start] + data[stop:]))


def spliced(rng, data):
    """A part of it written over, or put between, at another place."""
    start, length, to = rng.randint(len(data)), rng.randint(1, 64), rng.randint(len(data))
    part = data[start : start + length]
    return data[:to] + part + data[to + (len(part) if chance(rng, 0.5) else 0) :]


def words(rng, data):
    """A word that means something to readers of numbers put in the place of a few bytes."""
    told = (
        b"nan",
        b"-inf",
        b"1e999",
        b"0",
        b"-1",
        b"9" * 20,
        b"\n",
        b"\0",
        b":",
        b"null",
        b"{}",
        b"#",
    )
    to = rng.randint(len(data) + 1)
    return data[:to] + pick(rng, told) + data[to + rng.randint(4) :]


MUTATIONS = (flipped, cut, spliced, words)


def mutated(rng, data):
    """Bytes with one to three things changed."""
    for _ in range(rng.randint(1, 4)):
        data = pick(rng, MUTATIONS)(rng, data) if data else data
    return data


def must_be_refused_well(error, name=None):
    """A `Finding` for an error that is not on purpose, or does not tell the file's name."""
    refused(error)
    if name is not None and name not in str(error):
        raise Finding(f"{type(error).__name__} without the name of the file: {error}") from error


def svmlight(rng, areas, tell):
    """Damaged svmlight text, read in chunks and learned."""
    path, width = folder() / "rows.svm", rng.randint(1, 8)
    for _ in range(INPUTS):
        text = svmlight_text(rng, width)
        path.write_bytes(text if chance(rng, 0.1) else mutated(rng, text))
        size = pick(rng, (1, 7, 40, 1 << 20))
        tell(f"svmlight_chunks({path.read_bytes()!r}, {width}, chunk_bytes={size})")
        try:
            for X, y in svmlight_chunks(
                path, width, chunk_bytes=size, zero_based=bool(rng.randint(2))
            ):
                check_rows(X, y, width)
        except Exception as error:
            must_be_refused_well(error, path.name)
    return INPUTS


def svmlight_text(rng, width):
    """Some lines of svmlight text, as they should be."""
    lines = []
    for _ in range(rng.randint(1, 8)):
        columns = 1 + np.flatnonzero(rng.random_sample(width) < 0.6)
        pairs = " ".join(f"{j}:{rng.randn():.3g}" for j in columns)
        lines.append(f"{rng.randint(3)} {pairs}" + pick(rng, ("", " # a note")))
    return "\n".join(lines).encode() + pick(rng, (b"", b"\n"))


def check_rows(X, y, width):
    """A `Finding` unless X and y are rows and outputs that fit together."""
    if X.shape != (len(y), width):
        raise Finding(f"rows of shape {X.shape} and {len(y)} outputs, for {width} features")
    if hasattr(X, "indices") and not ((X.indices >= 0) & (X.indices < width)).all():
        raise Finding("columns out of range")


@functools.cache
def parquet_bytes():
    """A Parquet file of three columns."""
    import pyarrow
    from pyarrow import parquet

    rng, buffer = np.random.RandomState(0), io.BytesIO()
    columns = {"a": rng.randn(9), "b": rng.randint(9, size=9), "y": rng.randint(2, size=9)}
    parquet.write_table(pyarrow.table(columns), buffer, row_group_size=4)
    return buffer.getvalue()


def parquet(rng, areas, tell):
    """A damaged Parquet file, read in chunks."""
    path, whole = folder() / "rows.parquet", parquet_bytes()
    for _ in range(INPUTS):
        path.write_bytes(whole if chance(rng, 0.05) else mutated(rng, whole))
        shutil.copy(path, folder() / "last.parquet")
        tell(f"parquet_chunks of {path}")
        try:
            for X, y in parquet_chunks(path, "y", chunk_size=pick(rng, (1, 3, 100))):
                check_rows(X, y, 2)
        except Exception as error:
            must_be_refused_well(error, path.name)
    return INPUTS


@functools.cache
def checkpoint_bytes():
    """Checkpoints of a few estimators."""
    rng, path = np.random.RandomState(0), folder() / "whole.skops"
    X, found = rng.randn(30, 3), []
    y, words_ = (X[:, 0] > 0).astype(int), [X[i : i + 3] for i in range(0, 30, 3)]
    for model in (
        sk.OnlineStructuredPredictor(max_iter=1, random_state=0).fit(X, y),
        sk.KernelStructuredPredictor(max_iter=1, random_state=0).fit(X, y),
        sk.AdaBoostOLMClassifier(n_estimators=2, random_state=0).fit(X, y),
        sk.FolkloreClassifier(random_state=0).fit(X, y),
        sk.QuadraticSurrogate("hypercube").fit(X, np.eye(2, dtype=int)[y]),
        sk.OnlineStructuredPredictor("sequence", max_iter=1, random_state=0).fit(
            words_, [y[i : i + 3] for i in range(0, 30, 3)]
        ),
        sk.RiskMonitor().update([0.5, 0.1]),
    ):
        save_checkpoint(model, path)
        found.append(path.read_bytes())
    return found


def repacked(rng, data):
    """A checkpoint in which one member is changed, and the sums that guard it are right."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = {name: file.read(name) for name in file.namelist()}
    name = pick(rng, ("schema.json", "schema.json", *sorted(members)))
    members[name] = mutated(rng, members[name])
    if chance(rng, 0.05):
        del members[name]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def checkpoint(rng, areas, tell):
    """Damaged checkpoints: what is read at all is of the package."""
    path = folder() / "model.skops"
    for _ in range(INPUTS):
        whole = pick(rng, checkpoint_bytes())
        path.write_bytes(pick(rng, (mutated, repacked))(rng, whole))
        tell(f"load_checkpoint of {path}")
        try:
            load_checkpoint(path)
        except Exception as error:
            must_be_refused_well(error, path.name)
    return INPUTS


def chunks(rng, areas, tell):
    """Chunks, good and bad, for fit_chunks: what came before a bad one is learned, and no more."""
    case = Case(rng, areas)
    while not hasattr(case.learner, "partial_fit"):
        case = Case(rng, areas)
    given = [case.arguments("partial_fit") for _ in range(rng.randint(0, 4))]
    weights = [keywords.get("sample_weight") for _, keywords, _ in given]
    parts = [
        pair if w is None else (*pair, w) for (pair, _, _), w in zip(given, weights, strict=True)
    ]
    wrong = next((w for pair, kw, w in given if w), None)
    if chance(rng, 0.1):
        parts, wrong = (
            [*parts, pick(rng, (None, 3, (), np.zeros((2, 2)), "ab"))],
            wrong or "no tuple",
        )
    classes = next((kw.get("classes") for _, kw, _ in given), None)
    tell(f"fit_chunks({case.learner!r}, {len(parts)} chunks), {wrong or 'nothing wrong'}")
    seen = [frozen(case.learner)]
    try:
        fit_chunks(case.learner, iter(parts), classes, lambda n: seen.append(frozen(case.learner)))
    except Exception as error:
        refused(error)
        if frozen(case.learner) != seen[-1]:
            raise Finding(f"refused, and changed: {error}") from error
    else:
        if not parts or (wrong and not is_a_gap(case.learner, wrong)):
            raise Finding(f"accepted {wrong or 'no chunks'}")
        check_numbers(case.learner, type(case.learner).__name__)
    pairs = [part[:2] if isinstance(part, tuple) and len(part) == 3 else part for part in parts]
    return 1 + validated(case, pairs, classes, None if wrong in WRONG_WEIGHTS else wrong, tell)


def validated(case, parts, classes, wrong, tell):
    """Progressive validation over the same chunks; the learner is not changed."""
    if not isinstance(case.learner, sk.OnlineLearner) or case.kind == "sequences":
        return 0
    before = frozen(case.learner)
    tell(f"progressive_validate({case.learner!r}, {len(parts)} chunks), {wrong or 'nothing wrong'}")
    try:
        result = progressive_validate(case.learner, iter(parts), classes=classes, random_state=0)
    except Exception as error:
        refused(error)
    else:
        if not parts or (wrong and not is_a_gap(case.learner, wrong)):
            raise Finding(f"accepted {wrong or 'no chunks'}")
        losses = result.target_loss, result.expected_target_loss, result.chunks[:, :3]
        check_numbers(losses, "the result")  # surrogate losses are NaN where none is stated
    if frozen(case.learner) != before:
        raise Finding("validation changed the learner")
    return 1


def arrays(rng, areas, tell):
    """array_chunks of arrays and sizes, good and bad."""
    for _ in range(INPUTS):
        X, wrong = features(rng, rng.randint(1, 9), 2, ())
        n = X.shape[0] if getattr(X, "shape", ()) else 3
        y, size = (
            rng.randint(3, size=n + rng.randint(2) * chance(rng, 0.1)),
            pick(rng, (1, 2, 100, 0, -1, 1.5, None)),
        )
        tell(f"array_chunks({type(X).__name__}, chunk_size={size!r}), {wrong or 'nothing wrong'}")
        try:
            parts = list(array_chunks(X, y, size))
        except Exception as error:
            refused(error)
            continue
        if sum(len(part) for _, part in parts) != len(y):
            raise Finding("rows are missing")
    return INPUTS


def monitors(rng, areas, tell):
    """Losses, good and bad, for a risk monitor: the bound is a number, and chunks do not matter."""
    monitor = sk.RiskMonitor(
        pick(rng, (0.05, 0.5, 1e-12, 1.0 - 1e-12, 1e-300, 0.0, 1.0, np.nan, "x"))
    )
    for _ in range(INPUTS):
        losses = rng.random_sample(rng.randint(0, 9)) * pick(rng, (1.0, 1.0, 1e-200, 0.0))
        odd = (-losses, losses + 1.0, losses * np.nan, "ab", None, [[0.5]], 0.5, 1j)
        losses = pick(rng, (losses, losses, losses.tolist(), *odd))
        before = frozen(monitor)
        tell(f"{monitor!r}.update({losses!r})")
        try:
            monitor.update(losses)
            check_numbers((monitor.bound_, risk_curve(losses, monitor.delta)), "the bound")
            if np.size(losses):
                check_numbers(risk_bound(losses, monitor.delta), "the bound")
        except Finding:
            raise
        except Exception as error:
            refused(error)
            if frozen(monitor) != before:
                raise Finding(f"refused, and changed: {error}") from error
    return INPUTS


METHODS = ("fit", "partial_fit", "transform", "fit_transform", "inverse_transform")


def transformers(rng, areas, tell):
    """A transformer of sequences: any features, any methods in a row."""
    step, width = sk.SequenceTransformer(StandardScaler()), rng.randint(1, 4)
    for _ in range(INPUTS // 4):
        X, wrong = sequence_features(rng, rng.randint(1, 4), width, areas)
        method, before = pick(rng, METHODS), frozen(step)
        tell(f"{step!r}.{method}, {wrong or 'nothing wrong'}")
        try:
            getattr(step, method)(X)
        except Exception as error:
            refused(error)
            if method in ("transform", "inverse_transform") and frozen(step) != before:
                raise Finding(f"refused, and changed: {error}") from error
    return INPUTS // 4


CELLS = (
    None,
    "",
    "a",
    "b",
    " ",
    "1",
    "-2.5e3",
    "1e999",
    "nan",
    "inf",
    0,
    1.5,
    10**400,
    True,
    float("nan"),
)
CELLS += (
    "2024-05-31",
    "2024-13-01",
    "2024-05-31T25:00",
    "0000-00-00",
    "word and word and word",
    b"x",
)
CELLS += (np.datetime64("NaT", "D"), np.datetime64("2020-01-01"), [1], {}, 1j, "\x00", "é" * 300)


def tables(rng, areas, tell):
    """A table of any cells, seen whole or in a stream, and rows that are like it or not."""
    encoder = sk.TableEncoder(pick(rng, (1, 2, 50)), pick(rng, (1, 8)))
    width, method = rng.randint(1, 4), pick(rng, ("fit", "partial_fit"))
    for _ in range(INPUTS // 4):
        few = [pick(rng, CELLS) for _ in range(rng.randint(1, 6))]
        n, now = rng.randint(0, 8), width + int(chance(rng, 0.1))
        X = [[pick(rng, few) for _ in range(now)] for _ in range(n)]
        tell(f"{encoder!r}.{method}, then transform: {X!r:.200}")
        before = frozen(encoder)
        try:
            getattr(encoder, method)(X)
            before = frozen(encoder)
            Z = encoder.transform(X)
        except Exception as error:
            refused(error)
            if frozen(encoder) != before:
                raise Finding(f"refused, and changed: {error}") from error
        else:
            entries = Z.data if issparse(Z) else Z
            if Z.shape != (n, len(encoder.get_feature_names_out())) or np.isinf(entries).any():
                raise Finding(f"{Z.shape} or infinity")
    return INPUTS // 4


def quietly(target):
    """A target that warns of nothing."""

    @functools.wraps(target)
    def played(rng, areas, tell):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return target(rng, areas, tell)

    return played


TARGETS = {
    target.__name__: quietly(target)
    for target in (svmlight, parquet, checkpoint, chunks, arrays, monitors, transformers, tables)
}
