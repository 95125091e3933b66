"""What becomes of a column of a table: numbers, indicators, or counts of words."""

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import OneHotEncoder

from skstructured._engine.arrays import Array, Floats
from skstructured.streaming._frames import as_dates, as_numbers, as_texts, is_missing

#: Texts of so many words on average, most of them different from each other, are long.
WORDS, DIFFERENT = 3.0, 0.5

#: Long texts have so many times the columns of short ones.
WIDER = 4

DAY = 86_400.0

MONTHS, WEEKDAYS = 12, 7


class Units:
    """Means and deviations of columns, for tables that become sparse rows, which have no gaps."""

    def __init__(self, columns: Floats) -> None:
        there = np.isfinite(columns)
        count = np.maximum(there.sum(axis=0), 1)
        self.mean = np.where(there, columns, 0.0).sum(axis=0) / count
        square = np.where(there, columns - self.mean, 0.0) ** 2
        self.deviation = np.sqrt(square.sum(axis=0) / count)

    def applied(self, columns: Floats) -> Floats:
        """Columns less their means over their deviations, 0 for NaN."""
        scale = np.where(self.deviation > 0.0, self.deviation, 1.0)
        return np.nan_to_num((columns - self.mean) / scale, nan=0.0)


class Numbers:
    """Numbers as they are, NaN where there is none; and whether there is none, where that was so.

    ``kind`` "number" is of any numbers, "flag" of booleans.
    """

    def __init__(self, name: Any, marked: bool, kind: str) -> None:
        self.name, self.marked, self.kind = name, marked, kind
        self.names = [f"{name}"] + [f"{name}_missing"] * marked

    def transform(self, values: Array) -> Floats:
        """Columns (n, 1) or (n, 2)."""
        missing = is_missing(values)
        numbers = as_numbers(values, missing)
        if numbers is None:
            wrong = next(
                v for v in values[~missing] if as_numbers(np.array([v], object), NO) is None
            )
            raise ValueError(f"column {self.name!r} must hold numbers, got {wrong!r}.")
        if np.isinf(numbers).any():
            raise ValueError(f"column {self.name!r} holds infinity.")
        return np.column_stack([numbers, missing] if self.marked else [numbers]).astype(np.float64)


#: One value that is not missing.
NO = np.zeros(1, dtype=bool)


class Dates:
    """Days since 1970 with their fraction; indicators of month and weekday, all 0 for no date."""

    kind = "date"

    def __init__(self, name: Any) -> None:
        self.name = name
        parts = [f"month_{i}" for i in range(1, MONTHS + 1)]
        parts += [f"weekday_{i}" for i in range(1, WEEKDAYS + 1)]
        self.names = [f"{name}_{part}" for part in ("days", "hour", *parts)]

    def transform(self, values: Array) -> Floats:
        """Columns (n, 21): days, hour, twelve months, seven weekdays, Monday the first."""
        dates = as_dates(values, is_missing(values))
        if dates is None:
            raise ValueError(f"column {self.name!r} must hold dates such as 2024-05-31.")
        gone = np.isnat(dates)
        seconds = np.where(gone, 0, dates.astype(np.int64)).astype(np.float64)
        days = np.floor(seconds / DAY)
        months = np.where(gone, 0, dates.astype("datetime64[M]").astype(np.int64)) % MONTHS
        weekdays = (days.astype(np.int64) + 3) % WEEKDAYS  # 1970 began with a Thursday
        clock = np.column_stack([seconds / DAY, (seconds - DAY * days) / 3600.0])
        clock[gone] = np.nan
        parts = [np.eye(MONTHS)[months], np.eye(WEEKDAYS)[weekdays]]
        return np.hstack([clock, *(part * ~gone[:, None] for part in parts)])


class Categories:
    """One column for each value, and one for none.

    More values than `most` make the table sparse rows; then those that are there once share one,
    with those that come later.
    """

    def __init__(self, name: Any, values: Array, most: int) -> None:
        self.name, distinct = name, len(set(values.tolist()))
        self.is_wide = distinct > most
        self.kind = "many categories" if self.is_wide else "categories"
        self.encoder = OneHotEncoder(
            sparse_output=self.is_wide,
            handle_unknown="infrequent_if_exist",
            min_frequency=2 if self.is_wide else None,
        ).fit(values[:, None])
        outputs = self.encoder.get_feature_names_out([str(name)])
        self.names = [f"{name}_missing" if out == f"{name}_" else str(out) for out in outputs]

    def transform(self, values: Array) -> Floats:
        """Indicators."""
        return self.encoder.transform(as_texts(values, is_missing(values))[:, None])


class Hashed:
    """One column for each of so many buckets, which each value falls into; what is missing is 0."""

    kind = "hashed categories"

    def __init__(self, name: Any, buckets: int) -> None:
        self.name, self.buckets = name, buckets
        self.names = [f"{name}_hash_{i}" for i in range(buckets)]

    def transform(self, values: Array) -> Floats:
        """Indicators."""
        texts = as_texts(values, is_missing(values))
        hasher = FeatureHasher(self.buckets, input_type="string", alternate_sign=False)
        return hasher.transform([[text] if text else [] for text in texts]).toarray()


class Words:
    """Hashed counts of words and of pairs of them, of Euclidean norm 1."""

    kind = "words"

    def __init__(self, name: Any, buckets: int) -> None:
        self.name, self.buckets = name, buckets
        self.names = [f"{name}_words_{i}" for i in range(buckets)]

    def transform(self, values: Array) -> Floats:
        """Counts."""
        return self._hasher().transform(as_texts(values, is_missing(values))).toarray()

    def most_frequent(self, values: Array, bucket: int, most: int = 10_000) -> str:
        """Of the words and pairs of words that a bucket counts, the most frequent of some texts."""
        texts = as_texts(values[:most], is_missing(values[:most]))
        split = self._hasher().build_analyzer()
        counts = Counter(chain.from_iterable(map(split, texts)))
        terms = list(counts)
        hasher = FeatureHasher(self.buckets, input_type="string", alternate_sign=False)
        buckets = hasher.transform([[term] for term in terms]).indices
        there = [term for term, found in zip(terms, buckets, strict=True) if found == bucket]
        return max(there, key=counts.__getitem__, default=self.names[bucket])

    def _hasher(self) -> HashingVectorizer:
        return HashingVectorizer(n_features=self.buckets, ngram_range=(1, 2), alternate_sign=False)


class Constant:
    """A column without any value, which is left out."""

    kind, names = "empty, left out", ()

    def __init__(self, name: Any) -> None:
        self.name = name

    def transform(self, values: Array) -> Floats:
        """No columns, (n, 0)."""
        return np.empty((len(values), 0))


def coder_of(name: Any, values: Array, most: int, buckets: int, stream: bool) -> Any:
    """What encodes a column, by its values; of a `stream` they are not all that will come."""
    missing = is_missing(values)
    if missing.all() and not stream:
        return Constant(name)
    numbers = as_numbers(values, missing)
    if numbers is not None:
        flags = values.dtype.kind == "b" or {*map(type, values[~missing])} <= {bool, np.bool_}
        return Numbers(name, bool(missing.any()), "flag" if flags else "number")
    if as_dates(values, missing) is not None:
        return Dates(name)
    texts = as_texts(values, missing)
    there, distinct = texts[~missing], len(set(texts.tolist()))
    words = np.mean([len(text.split()) for text in there[:1000]])
    if words >= WORDS and distinct > DIFFERENT * len(there):
        return Words(name, WIDER * buckets)
    if stream:
        return Hashed(name, buckets)
    return Categories(name, texts, most)
