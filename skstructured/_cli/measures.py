"""Errors of a model and of simple answers as texts, and the columns that matter."""

import warnings
from collections.abc import Callable
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import diags, issparse

from skstructured._base.exceptions import GuaranteeError, GuaranteeWarning
from skstructured._cli.files import WIDE, load_pandas
from skstructured._cli.tables import make_space
from skstructured.items.metrics import ndcg

#: Characters of a line behind its first word.
WIDTH = 83

#: Places of a list that count; probabilities below this count as it.
PLACES, LEAST = 10, 1e-300

#: Of each space, how mean losses are written, and the best answer that is the same for all rows.
UNITS = {
    "multiclass": ("{} wrong", "the most frequent class"),
    "multilabel": ("{} of labels wrong", "the most frequent value of each label"),
    "ordinal": ("{} grades off of {}", "the median"),
    "assignment": ("{} of items misplaced", "the assignment nearest to the mean"),
    "ranking": ("{} of the largest (Spearman's) distance off", "the ranking by mean rank"),
    "real": ("off by {} on average", "the median"),
    "choices": ("{} wrong", ""),
    "lists": (f"NDCG@{PLACES} {{}}", ""),
}

#: Bounds and intervals fail once in twenty; this is the quantile of the normal distribution.
DELTA, QUANTILE = 0.05, 1.96

#: Of fewer rows no bound is below 1, whatever the errors are, or of no use.
FEW, TOO_FEW = 50, "no bound yet: there are too few {}."

#: A class is rare if it has less than this part of an equal share of the rows.
RARE = 0.2

#: Columns that are named because they matter, and rows by which this is seen: so many, or fewer if
#: all columns of so many would be more cells than this.
SHOWN, ROWS, CELLS = 3, 500, 50_000

#: Predictions rise or fall with a column if their correlation is at least this.
CLEAR = 0.2


class Unit(NamedTuple):
    """How mean losses are written.

    Attributes
    ----------
    text : str
        A text with a place for a number.
    write : function
        Returns the number as a text.
    order : int, 1 or -1
        Whether larger losses have larger numbers.
    """

    text: str
    write: Callable
    order: int = 1

    def tell(self, loss):
        """The text of a mean loss."""
        return self.text.format(self.write(loss))

    def tell_interval(self, losses):
        """The text of the mean of losses, and of its confidence interval.

        The interval is that of the normal approximation. For losses 0 and 1 it has two more of each
        (Agresti and Coull), so it has a width if all are equal.
        """
        observations = [*losses, 0, 0, 1, 1] if np.isin(losses, (0, 1)).all() else losses
        half = QUANTILE * np.std(observations) / np.sqrt(len(observations))
        ends = max(np.mean(observations) - half, 0.0), np.mean(observations) + half
        between = " to ".join(map(self.write, ends[:: self.order]))
        return f"{self.tell(np.mean(losses))} ({between}, with {1 - DELTA:.0%} confidence)"


def unit_of(table, order=None):
    """The `Unit` of the losses of a table, whose grades may have an order."""
    text = UNITS[table.space][0]
    if table.space == "ordinal":
        steps = len(order or np.unique(table.y)) - 1
        return Unit(text.format("{}", steps + 1), lambda loss: f"{steps * loss:.2f}")
    if table.space == "lists":
        return Unit(text, lambda loss: f"{1.0 - loss:.3f}", -1)
    return Unit(text, amount if table.space == "real" else "{:.1%}".format)


def amount(value):
    """An amount with four digits, or as a whole number if it has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**4 else f"{value:.4g}"


def wrapped(title, *texts):
    """Yield lines behind a title, or below it."""
    lines = [line for text in texts for line in wrap(text, WIDTH)]
    yield from (f"{'' if j else title:17}{line}" for j, line in enumerate(lines))


class Errors(NamedTuple):
    """The errors of a model, lines on them, and what else learning a table has shown.

    Attributes
    ----------
    losses : ndarray of shape (n,)
        Losses of rows, lists or choices; those of a chunk may be their mean.
    details : sequence of str
        Texts on the same errors.
    comparison : sequence of str
        Lines on a simple answer, and on a rare class.
    bound : function
        Returns the bound on losses of new rows, if there is a theorem.
    learner : OnlineLearner
        The learner, which has learned the rows.
    seconds : float
        How long it took.
    has_changed : bool
        Whether errors have risen in a stream.
    """

    losses: Any
    details: Any = ()
    comparison: Any = ()
    bound: Any = None
    learner: Any = None
    seconds: float = 0.0
    has_changed: bool = False

    @property
    def late(self):
        """The mean loss of the second half."""
        return self.losses[len(self.losses) // 2 :].mean()


def class_errors(table, losses, y=None, order=None, persistence=""):
    """`Errors` of outputs; with `y`, that of each row, a rare class has a line.

    An answer for all rows is better if its loss is below that of all rows and of the second half.
    """
    errors = Errors(losses)
    if table.y is None:
        return errors
    least = baseline_loss(make_space(table.space, order), table.y, table.counts)
    better = ", which is better" if least < min(losses.mean(), errors.late) else ""
    unit, always = unit_of(table, order), UNITS[table.space][1]
    lines = [
        f"Baseline         {unit.tell(least)} with {always} for every row{better}{persistence}."
    ]
    if y is not None and table.space == "multiclass":
        lines += rare_class(y, losses)
    return errors._replace(comparison=lines)


def baseline_loss(space, y, counts=None):
    """Mean target loss of the best simple guess: the vertex nearest to the mean output, always.

    With `counts`, each output counts for that many rows.
    """
    space = space.fit(y)
    V = space.encode(y)
    constant = space.nearest(np.average(V, axis=0, weights=counts)[None])
    losses = space.expected_loss(np.broadcast_to(constant, V.shape), V)
    return float(np.average(losses, weights=counts))


def rare_class(y, losses):
    """Yield the line on how many rows of a rare class were found, if there is one."""
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rare, share = counts.argmin(), counts.min() / len(y)
    if share < RARE / len(labels):
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
    random = ndcg(grades, [np.zeros(len(g)) for g in grades], k=PLACES)
    file_order = ndcg(grades, [-np.arange(len(g)) for g in grades], k=PLACES)
    values = np.array([ndcg([g], [s], k=PLACES) for g, s in zip(grades, scores, strict=True)])
    idle = np.isnan(values).sum()
    details = [f"{idle} with grades of 0 only are not counted."] if idle else []
    orders = f"{random:.3f} in random order; {file_order:.3f} in the order of the file"
    line = f"Baseline         NDCG@{PLACES} {orders}."
    return Errors(1.0 - values[~np.isnan(values)], details, [line])


def choice_errors(what, marks, proba):
    """`Errors` of choices, by the probability of each item, and marks of the chosen ones."""
    chosen = np.array([values.argmax() for values in marks])
    wrong = (np.array([values.argmax() for values in proba]) != chosen).astype(np.float64)
    shares = [values[place] for values, place in zip(proba, chosen, strict=True)]
    mean, equal = np.log(np.maximum(shares, LEAST)).mean(), -np.log(list(map(len, proba))).mean()
    detail = f"log-likelihood {mean:.3f} a {what}; with equal shares {equal:.3f}."
    counts = np.bincount(chosen)
    least, row = 1 - counts.max() / len(chosen), counts.argmax() + 1
    line = f"Baseline         {least:.1%} wrong with row {row} of each {what}."
    return Errors(wrong, [detail], [line])


def bound_text(errors, unit, what, model=""):
    """The text on new rows: a bound on their losses."""
    n = len(errors.losses)
    why = f"{n:,} {what} are too few for this error rate."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GuaranteeWarning)  # lines tell of order and changes
            bound = errors.bound()
    except GuaranteeError as error:
        bound, why = 1.0, error
    if bound >= 1.0:
        return f"no bound: {why}" if n >= FEW else TOO_FEW.format(what)
    most = "at least" if what == "lists" else "at most"
    return (
        f"{most} {unit.tell(bound)}{model}, with {1 - DELTA:.0%} confidence, if they come from the "
        "same distribution."
    )


def effects(model, table):
    """Yield the line that names the columns that predictions depend on most, if there are any.

    A column matters by how much predictions change if its values are permuted among rows, those of
    items within their round. The sign is that of its correlation with the predictions, of the
    second class if there are two.
    """
    method = "predict" if table.space in ("real", "lists") else "predict_mean"
    if table.encoder is None or not hasattr(model, method):
        return
    X = next(iter(table.chunks))[0] if table.chunks else table.X
    columns = table.encoder.columns_
    X = X[: max(SHOWN, min(ROWS, CELLS // len(columns)))]
    kwargs = {"qid": table.qid[: X.shape[0]]} if table.space == "choices" else {}
    predictions, shuffled = [], X[shuffled_within(table.qid, X.shape[0])]
    owners = np.repeat(np.arange(len(columns)), [column["outputs"] for column in columns])
    for j in range(-1, len(columns)):
        rows = _mixed(X, shuffled, owners == j)
        predictions.append(np.reshape(getattr(model, method)(rows, **kwargs), (X.shape[0], -1)))
    usual = predictions[0]
    sizes = np.abs(np.array(predictions[1:]) - usual).sum(axis=2).mean(axis=1)
    classes = getattr(model, "classes_", ()) if table.space == "multiclass" else ()
    towards = f", for {classes[1]}" if len(classes) == 2 else ""
    has_sign = towards or table.space not in ("multiclass", *WIDE)
    heights = usual[:, -1] if towards else usual.sum(axis=1)
    names, signs = [], []
    for j in np.argsort(-sizes, kind="stable")[: min(SHOWN, np.count_nonzero(sizes))]:
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


def _mixed(X, other, columns):
    """The rows X with some columns of other rows."""
    if issparse(X):
        return (X @ diags(1.0 - columns) + other @ diags(1.0 * columns)).tocsr()
    return np.where(columns, other, X)


def _sign(X, columns, heights):
    """Whether predictions rise or fall with a column of numbers, if this is clear."""
    x = X[:, np.flatnonzero(columns)[:1]]
    x = (x.toarray() if issparse(x) else x)[:, 0]
    is_present = ~np.isnan(x)
    with np.errstate(invalid="ignore", divide="ignore"):  # columns that are constant
        r = np.corrcoef(x[is_present], heights[is_present])[0, 1] if is_present.sum() > 1 else 0.0
    return f" ({'+' if r > 0 else '-'})" if abs(r) >= CLEAR else ""
