"""What becomes of a column of a table: numbers, indicators, or counts of words."""

from typing import Any, Self

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import OneHotEncoder

from skstructured._engine.arrays import Array, Floats
from skstructured.streaming._frames import as_dates, as_numbers, as_texts, is_missing

#: Texts of so many words on average, most of them different from each other, are long.
WORDS, DIFFERENT = 3.0, 0.5

#: Long texts have so many times the columns of short ones.
WIDER = 4

EPOCH, DAY, HOUR = np.datetime64(0, "s"), np.timedelta64(1, "D"), np.timedelta64(1, "h")

MONTHS, WEEKDAYS = 12, 7


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
            there = values[~missing]
            wrong = (v for v in there if as_numbers(np.array([v], object), NO) is None)
            raise ValueError(
                f"column {self.name!r} must hold numbers, got {next(wrong, there[0])!r}: if its "
                f"numbers are categories, use TableEncoder(categories=[{self.name!r}])."
            )
        if np.isinf(numbers).any():
            raise ValueError(f"column {self.name!r} holds infinity.")
        return np.column_stack([numbers, missing] if self.marked else [numbers]).astype(np.float64)


#: One value that is not missing.
NO = np.zeros(1, dtype=bool)


class Dates:
    """Days since 1970 with their fraction; indicators of month and weekday, all 0 for no date.

    All dates have a time zone, and are converted to UTC, or none has. The first one decides.
    """

    kind = "date"

    def __init__(self, name: Any, zones: Any = ()) -> None:
        self.name, self.zones = name, tuple(zones)
        parts = [f"month_{i}" for i in range(1, MONTHS + 1)]
        parts += [f"weekday_{i}" for i in range(1, WEEKDAYS + 1)]
        self.names = [f"{name}_{part}" for part in ("days", "hour", *parts)]

    def decided(self, values: Array) -> Self:
        """The same if it has seen a date, or one that has seen these values."""
        return self if self.zones else type(self)(self.name, self._read(values)[1])

    def _read(self, values: Array) -> tuple[Array, set[bool]]:
        read = as_dates(values, is_missing(values))
        if read is None:
            raise ValueError(f"column {self.name!r} must hold dates such as 2024-05-31.")
        if len(read[1].union(self.zones)) > 1:
            raise ValueError(
                f"column {self.name!r} must hold dates that all have a time zone, or none of them; "
                "got both. Convert them to UTC first."
            )
        return read

    def transform(self, values: Array) -> Floats:
        """Columns (n, 21): days, hour, twelve months, seven weekdays, Monday the first."""
        dates = self._read(values)[0]
        there, days = ~np.isnat(dates)[:, None], dates.astype("datetime64[D]")
        clock = [(dates - EPOCH) / DAY, (dates - days) / HOUR]
        months = dates.astype("datetime64[M]").astype(np.int64) % MONTHS
        weekdays = (days.astype(np.int64) + 3) % WEEKDAYS  # 1970 began with a Thursday
        parts = [np.eye(MONTHS)[months], np.eye(WEEKDAYS)[weekdays]]
        return np.column_stack([*clock, *(part * there for part in parts)])


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
    """Hashed counts of norm 1: of whole texts, or, for "words", of words and pairs of words."""

    def __init__(self, name: Any, buckets: int, kind: str = "hashed categories") -> None:
        self.name, self.buckets, self.kind = name, buckets, kind
        part = "words" if kind == "words" else "hash"
        self.names = [f"{name}_{part}_{i}" for i in range(buckets)]

    def transform(self, values: Array) -> Floats:
        """Counts, 0 for what is missing."""
        return self._hasher().transform(as_texts(values, is_missing(values))).toarray()

    def _hasher(self) -> HashingVectorizer:
        whole = {"analyzer": _whole} if self.kind != "words" else {"ngram_range": (1, 2)}
        return HashingVectorizer(n_features=self.buckets, alternate_sign=False, **whole)


def _whole(text: str) -> list[str]:
    return [text] if text else []


class Empty:
    """A column without values so far: `width` columns of 0, which are 0 also for later values.

    In a stream, the first values that are learned decide what the columns hold.
    """

    def __init__(self, name: Any, width: int, coder: Any = None) -> None:
        self.name, self.width, self.coder = name, width, coder
        self.names = [f"{name}_{i}" for i in range(width)]
        self.kind = coder.kind if coder else "undecided" if width else "empty, left out"

    def decided(self, values: Array) -> "Empty":
        """The same if it has seen a value, or one that has seen these."""
        coder = self.coder or coder_of(self.name, values, None, (self.width, self.width))
        if coder is self.coder or not self.width:
            return self
        if isinstance(coder, Numbers):
            coder = Numbers(self.name, True, coder.kind)
        return Empty(self.name, self.width, coder)

    def transform(self, values: Array) -> Floats:
        """Columns (n, width)."""
        part = self.coder.transform(values) if self.coder else np.empty((len(values), 0))
        return np.pad(part, ((0, 0), (0, self.width - part.shape[1])))


def coder_of(
    name: Any, values: Array, kind: str | None, buckets: tuple[int, int], most: int | None = None
) -> Any:
    """What encodes a column of this `kind`, by default of that of its values, None without a value.

    `buckets` are the numbers of hashed columns for short and for long texts. With `most`, each
    short text has an indicator, in sparse rows if there are more than that.
    """
    missing, unknown = is_missing(values), kind is None
    if unknown and missing.all():
        return None
    if kind == "numbers" or (unknown and as_numbers(values, missing) is not None):
        flags = not missing.all() and {*map(type, values[~missing])} <= {bool, np.bool_}
        return Numbers(name, bool(missing.any()), "flag" if flags else "number")
    read = as_dates(values, missing)
    if kind == "dates" or (unknown and read):
        return Dates(name, read[1] if read else ())
    texts = as_texts(values, missing)
    if kind == "texts" or (unknown and _are_long(texts[~missing])):
        return Hashed(name, buckets[1], "words")
    return Categories(name, texts, most) if most else Hashed(name, buckets[0])


def _are_long(texts: Array) -> bool:
    words = np.mean([len(text.split()) for text in texts[:1000]])
    return bool(words >= WORDS and len({*texts}) > DIFFERENT * len(texts))
