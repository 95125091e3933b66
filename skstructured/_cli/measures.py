"""Errors of a model and of simple answers as texts, and the columns that matter."""

import warnings
from collections.abc import Callable
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import diags, issparse

from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured._cli.files import MULTI_COLUMN_SPACES, load_pandas
from skstructured._cli.tables import make_space
from skstructured.items.metrics import ndcg

#: Places of a list that count.
NDCG_PLACES = 10

#: Of each space, how mean losses are written, and the best answer that is the same for all rows.
LOSS_UNITS = {
    "multiclass": ("{} wrong", "the most frequent class"),
    "multilabel": ("{} of labels wrong", "the most frequent value of each label"),
    "ordinal": ("{} grades off of {}", "the median"),
    "assignment": ("{} of items misplaced", "the assignment nearest to the mean"),
    "ranking": ("{} of the largest (Spearman's) distance off", "the ranking by mean rank"),
    "real": ("off by {} on average", "the median"),
    "choices": ("{} wrong", ""),
    "lists": (f"NDCG@{NDCG_PLACES} {{}}", ""),
}

#: Bounds and intervals fail with this probability.
REPORT_DELTA = 0.05


class Unit(NamedTuple):
    """How mean losses are written: a text with a place for what `write` makes of a number."""

    text: str
    write: Callable
    order: int = 1  # -1 if larger losses have smaller numbers

    def tell(self, loss):
        """The text of a mean loss."""
        return self.text.format(self.write(loss))

    def tell_interval(self, losses):
        """The mean of losses, and its interval by the normal approximation."""
        # Two more losses 0 and 1 (Agresti and Coull) keep the width above 0.
        observations = [*losses, 0, 0, 1, 1] if np.isin(losses, (0, 1)).all() else losses
        half = 1.96 * np.std(observations) / np.sqrt(len(observations))
        ends = max(np.mean(observations) - half, 0.0), np.mean(observations) + half
        between = " to ".join(map(self.write, ends[:: self.order]))
        return f"{self.tell(np.mean(losses))} ({between}, with {1 - REPORT_DELTA:.0%} confidence)"


def unit_of(table, order=None):
    """The `Unit` of the losses of a table, whose grades may have an order."""
    text = LOSS_UNITS[table.space][0]
    if table.space == "ordinal":
        steps = len(order or np.unique(table.y)) - 1
        return Unit(text.format("{}", steps + 1), lambda loss: f"{steps * loss:.2f}")
    if table.space == "lists":
        return Unit(text, lambda loss: f"{1.0 - loss:.3f}", -1)
    return Unit(text, amount if table.space == "real" else "{:.1%}".format)


def amount(value):
    """An amount with four digits, or as a whole number if it has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"


def wrapped(title, *texts, width=83):
    """Yield lines behind a title, or below it."""
    lines = [line for text in texts for line in wrap(text, width)]
    yield from (f"{'' if j else title:17}{line}" for j, line in enumerate(lines))


class Errors(NamedTuple):
    """The losses (n,) of rows, lists or choices, and what else learning a table has shown."""

    losses: Any
    details: Any = ()  # texts on the same errors
    comparison: Any = ()  # lines on a simple answer, and on a rare class
    bound: Any = None  # a function that returns the bound on losses of new rows
    learner: Any = None
    seconds: float = 0.0
    has_changed: bool = False  # whether errors have risen in a stream

    @property
    def late(self):
        """The mean loss of the second half."""
        return self.losses[len(self.losses) // 2 :].mean()


def class_errors(table, losses, y=None, order=None, persistence=""):
    """`Errors` of outputs; with the outputs `y` of all rows, a rare class has a line."""
    errors = Errors(losses)
    if table.y is None:
        return errors
    least = baseline_loss(make_space(table.space, order), table.y, table.counts)
    better = ", which is better" if least < min(losses.mean(), errors.late) else ""
    loss, always = unit_of(table, order).tell(least), LOSS_UNITS[table.space][1]
    lines = [f"Baseline         {loss} with {always} for every row{better}{persistence}."]
    if y is not None and table.space == "multiclass":
        lines += rare_class(y, losses)
    return errors._replace(comparison=lines)


def baseline_loss(space, y, counts=None):
    """Mean target loss of the vertex nearest to the mean of outputs that occur so often."""
    space = space.fit(y)
    V = space.encode(y)
    constant = space.nearest(np.average(V, axis=0, weights=counts)[None])
    losses = space.expected_loss(np.broadcast_to(constant, V.shape), V)
    return float(np.average(losses, weights=counts))


def rare_class(y, losses, equal_share=0.2):
    """Yield the line on a class with less than this part of an equal share, if there is one."""
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rare, share = counts.argmin(), counts.min() / len(y)
    if share < equal_share / len(labels):
        recall = f"recall {np.mean(1.0 - losses[codes == rare]):.1%}"
        yield f"Rare class       {labels[rare]}, {share:.1%} of the rows: {recall}."


def amount_errors(y, missed):
    """`Errors` of amounts, which were missed by so much."""
    always = amount(np.abs(y - np.median(y)).mean())
    most = amount(np.quantile(missed[len(missed) // 2 :], 0.9))
    line = f"Baseline         off by {always} with the median for every row."
    return Errors(missed, [f"nine of ten were off by {most} at most."], [line])


def list_errors(grades, scores):
    """`Errors` of rankings of lists; lists with grades of 0 only do not count."""
    random = ndcg(grades, [np.zeros(len(g)) for g in grades], k=NDCG_PLACES)
    file_order = ndcg(grades, [-np.arange(len(g)) for g in grades], k=NDCG_PLACES)
    values = np.array([ndcg([g], [s], k=NDCG_PLACES) for g, s in zip(grades, scores, strict=True)])
    idle = np.isnan(values).sum()
    details = [f"{idle} with grades of 0 only are not counted."] if idle else []
    orders = f"{random:.3f} in random order; {file_order:.3f} in the order of the file"
    line = f"Baseline         NDCG@{NDCG_PLACES} {orders}."
    return Errors(1.0 - values[~np.isnan(values)], details, [line])


def choice_errors(what, marks, proba):
    """`Errors` of choices, by the probability of each item, and marks of the chosen ones."""
    chosen = np.array([values.argmax() for values in marks])
    wrong = (np.array([values.argmax() for values in proba]) != chosen).astype(np.float64)
    shares = [values[place] for values, place in zip(proba, chosen, strict=True)]
    mean = np.log(np.maximum(shares, 1e-300)).mean()  # probabilities may be 0
    equal = -np.log(list(map(len, proba))).mean()
    detail = f"log-likelihood {mean:.3f} a {what}; with equal shares {equal:.3f}."
    counts = np.bincount(chosen)
    least, row = 1 - counts.max() / len(chosen), counts.argmax() + 1
    line = f"Baseline         {least:.1%} wrong with row {row} of each {what}."
    return Errors(wrong, [detail], [line])


def bound_text(errors, unit, what, model="", min_losses=50):
    """The text on new rows: a bound on their losses, of use if there are enough losses."""
    n = len(errors.losses)
    why = f"{n:,} {what} are too few for this error rate."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)  # lines tell of order and changes
            bound = errors.bound()
    except GuaranteeError as error:
        bound, why = 1.0, error
    if bound >= 1.0:
        return f"no bound: {why}" if n >= min_losses else f"no bound yet: there are too few {what}."
    most = "at least" if what == "lists" else "at most"
    terms = f"with {1 - REPORT_DELTA:.0%} confidence, if they come from the same distribution"
    return f"{most} {unit.tell(bound)}{model}, {terms}."


def effects(model, table, n_shown=3, max_rows=500, max_cells=50_000):
    """Yield the line that names the columns that predictions depend on most, if there are any.

    A column matters by how much predictions change if its values are permuted among rows. The sign
    is that of its correlation with the predictions, of the second class if there are two.
    """
    method = "predict" if table.space in ("real", "lists") else "predict_mean"
    if table.encoder is None or not hasattr(model, method):
        return
    X = next(iter(table.chunks))[0] if table.chunks else table.X
    columns = table.encoder.columns_
    X = X[: max(n_shown, min(max_rows, max_cells // len(columns)))]
    kwargs = {"qid": table.qid[: X.shape[0]]} if table.space == "choices" else {}
    predictions, shuffled = [], X[shuffled_within(table.qid, X.shape[0])]
    owners = np.repeat(np.arange(len(columns)), [column["outputs"] for column in columns])
    for j in range(-1, len(columns)):
        rows = _replace_columns(X, shuffled, owners == j)
        predictions.append(np.reshape(getattr(model, method)(rows, **kwargs), (X.shape[0], -1)))
    usual = predictions[0]
    sizes = np.abs(np.array(predictions[1:]) - usual).sum(axis=2).mean(axis=1)
    classes = getattr(model, "classes_", ()) if table.space == "multiclass" else ()
    towards = f", for {classes[1]}" if len(classes) == 2 else ""
    has_sign = towards or table.space not in ("multiclass", *MULTI_COLUMN_SPACES)
    heights = usual[:, -1] if towards else usual.sum(axis=1)
    names, signs = [], []
    for j in np.argsort(-sizes, kind="stable")[: min(n_shown, np.count_nonzero(sizes))]:
        is_number = has_sign and columns[j]["taken for"] in ("number", "flag")
        signs.append(_sign(X, owners == j, heights) if is_number else "")
        names.append(columns[j]["column"] + signs[-1])
    if names:
        yield from wrapped("Matters most", f"{', '.join(names)}{towards * any(signs)}.")


def shuffled_within(qid, n):
    """A permutation of n rows, within their rounds if there are any."""
    codes = np.zeros(n) if qid is None else load_pandas().factorize(qid[:n])[0]
    order = np.empty(n, dtype=np.intp)
    order[np.argsort(codes, kind="stable")] = np.lexsort((np.random.RandomState(0).rand(n), codes))
    return order


def _replace_columns(X, other, columns):
    """The rows X with some columns of other rows."""
    if issparse(X):
        return (X @ diags(1.0 - columns) + other @ diags(1.0 * columns)).tocsr()
    return np.where(columns, other, X)


def _sign(X, columns, heights, min_correlation=0.2):
    """Whether predictions rise or fall with a column of numbers, if this is clear."""
    x = X[:, np.flatnonzero(columns)[:1]]
    x = (x.toarray() if issparse(x) else x)[:, 0]
    is_present = ~np.isnan(x)
    with np.errstate(invalid="ignore", divide="ignore"):  # columns that are constant
        r = np.corrcoef(x[is_present], heights[is_present])[0, 1] if is_present.sum() > 1 else 0.0
    return f" ({'+' if r > 0 else '-'})" if abs(r) >= min_correlation else ""
