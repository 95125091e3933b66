"""Formats of numbers and dates in texts, one for all values of a column."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from skstructured._base.table_files import NOTHING
from skstructured._engine.arrays import Array

#: Formats of numbers are examples; a unit may follow. The first is what Python reads.
PLAIN, ENGLISH, GERMAN = NUMBERS = "1234.5", "1,234.5", "1.234,5"

#: Formats of dates. The first is read with times and zones, the others with times only.
ISO = "%Y-%m-%d"
DATES = [f"%{a}{mark}%{b}{mark}%{y}" for mark in "/-" for y in "Yy" for a, b in ("dm", "md")]
DATES += ["%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y"]
DATES += ["%d-%b-%y", "%b %d, %Y", "%B %d, %Y"]

#: Formats of times by the number of colons, and whether they end with am or pm.
TIMES = {(0, False): "", (1, False): " %H:%M", (2, False): " %H:%M:%S"}
TIMES |= {(1, True): " %I:%M %p", (2, True): " %I:%M:%S %p"}

#: Whole numbers with leading zeros are codes.
CODE = re.compile(r"\s*[-+]?0\d+\s*", re.ASCII)

ISO_DATE = re.compile(r"\d{4}-\d\d-.*", re.ASCII | re.DOTALL)

#: Units before numbers, and after them; other words, such as kg, only stand after a number.
CURRENCY = r"[$€£¥₹%]|\b(?:EUR|USD|GBP|CHF)\b"
WORD = r"[A-Za-zÀ-ÿ°µ²³/]+"
UNIT = re.compile(rf"{CURRENCY}|(?<=\d)\s?{WORD}(?=\s*\Z)", re.ASCII)

#: Only formats of one of so many values are tried on all of them.
TRIED = 50

SECOND, SPANS = np.timedelta64(1, "s"), (timedelta, np.timedelta64)

#: Separators of thousands in every format.
SPACES = "'’ \u00a0\u202f"


def _number_pattern(separators: str, point: str) -> re.Pattern[str]:
    """Parentheses, signs, a unit before or after, and digits with equal separators."""
    sign, unit = r"([-+−]?)\s?", rf"({CURRENCY})?\s?"
    whole = rf"[1-9]\d{{0,2}}([{separators}])\d{{3}}(?:\6\d{{3}})*|\d+"
    digits = rf"((?:{whole})(?:{point}\d+)?|{point}\d+)\s?"
    unit_after = rf"({CURRENCY}|{WORD})?\s?"
    return re.compile(rf"(\()?{sign}{unit}{sign}{digits}{unit_after}(?(1)\))", re.ASCII)


#: Patterns, and what becomes of marks.
PATTERNS = {
    ENGLISH: (_number_pattern("," + SPACES, r"\."), str.maketrans("", "", "," + SPACES)),
    GERMAN: (_number_pattern("." + SPACES, ","), str.maketrans(",", ".", "." + SPACES)),
}


def is_missing(values: Array) -> Array:
    """Whether each value of a column is missing, booleans (n,)."""
    if values.dtype.kind in "fmMiub":
        return np.asarray(values != values)
    return np.array([str(value).strip() in NOTHING for value in values], dtype=bool)


def read_number(value: Any, form: str = PLAIN) -> float:
    """A value as a number; durations are seconds.

    Raises
    ------
    TypeError, ValueError, OverflowError
        If it does not have the format.
    """
    if isinstance(value, SPANS):
        return float(np.timedelta64(value) / SECOND)
    if isinstance(value, np.datetime64):
        raise TypeError("A date is not a number.")
    if form == PLAIN or not isinstance(value, str):
        return float(value)
    pattern, marks = PATTERNS[form[: len(ENGLISH)]]
    match, unit = pattern.fullmatch(value.strip()), form[len(ENGLISH) :].strip()
    if match is None or not {match[3], match[7]} <= {None, unit}:
        raise ValueError(f"{value!r} is not a number such as {form}.")
    number = float(match[5].translate(marks))
    return -number if match[1] or {match[2], match[4]} & {*"-−"} else number


def read_date(value: Any, form: str = ISO) -> datetime:
    """A value as a date; a ValueError if it does not have the format."""
    text = str(value).strip()
    if form != ISO and not isinstance(value, (date, np.datetime64)):
        clock = "" if ":" in form else TIMES.get((text.count(":"), text[-1:] in "mM"), "")
        return datetime.strptime(text, form + clock)
    if not ISO_DATE.fullmatch(text):
        raise ValueError(f"{text!r} is not a date such as 2024-05-31.")
    return datetime.fromisoformat(text)


#: Functions that read a value, by its kind, and the formats of all columns without another.
READERS: dict[str, Any] = {"number": read_number, "date": read_date}
USUAL = {"number": PLAIN, "date": ISO}


def try_to_read(value: Any, kind: str, form: str) -> Any:
    """A value as a finite number or a date of this format; None if it is not one."""
    try:
        read = READERS[kind](value, form)
    except (TypeError, ValueError, OverflowError):
        return None
    return read if kind == "date" or np.isfinite(read) else None


def unreadable(values: Array, kind: str, form: str | None = None) -> Array:
    """Which values are neither missing nor of a format, if their kind has formats; (n,)."""
    wrong, form = np.zeros(len(values), dtype=bool), form or USUAL.get(kind, "")
    there = np.flatnonzero(~is_missing(values) if kind in USUAL else wrong)
    wrong[there] = [try_to_read(value, kind, form) is None for value in values[there]]
    return wrong


def as_numbers(values: Array, missing: Array, form: str = PLAIN) -> Array | None:
    """A column as float64, NaN for missing values; None if some value is not a number.

    Durations are numbers of seconds.
    """
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    numbers = np.full(len(values), np.nan)
    try:
        numbers[~missing] = [read_number(value, form) for value in values[~missing]]
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers


def as_dates(values: Array, missing: Array, form: str = ISO) -> tuple[Array, set[bool]] | None:
    """A column as seconds since 1970, NaT for missing values; None if it has other values.

    Dates with a time zone are converted to UTC. The set contains whether dates have zones: it has
    two elements if some have and others have not, and is empty without a date.
    """
    if values.dtype.kind == "M":
        return values.astype("datetime64[s]"), set() if missing.all() else {False}
    dates = np.full(len(values), "NaT", dtype="datetime64[s]")
    try:
        read = [read_date(value, form) for value in values[~missing]]
        dates[~missing] = [d.astimezone(UTC).replace(tzinfo=None) if d.tzinfo else d for d in read]
    except (ValueError, OverflowError):
        return None
    return dates, {d.tzinfo is not None for d in read}


def are_codes(values: Array) -> bool:
    """Whether some value is a whole number with leading zeros, such as a postal code."""
    return any(isinstance(value, str) and CODE.fullmatch(value) for value in values)


def formats_of(values: Array, kind: str, share: float = 1.0, form: str | None = None) -> list[str]:
    """The formats of a kind that read most values, and at least this share of them.

    Several are returned if they read the values differently. With `form` they begin with it.
    """
    candidates = [form] if form else [ISO, *DATES]
    if kind == "number":
        if form and not form.startswith(NUMBERS):
            allowed = ", ".join(map(repr, NUMBERS))
            raise ValueError(f"The format of numbers must be one of {allowed}, got {form!r}.")
        units = sorted({unit.strip() for value in values for unit in UNIT.findall(str(value))})
        marked = [f"{marks} {unit}".strip() for marks in PATTERNS for unit in units or [""]]
        candidates = [
            candidate for candidate in [PLAIN, *marked] if candidate.startswith(form or "")
        ]
    reads: dict[str, list[Any]] = {}
    for candidate in candidates:
        if any(try_to_read(value, kind, candidate) is not None for value in values[:TRIED]):
            read = [try_to_read(value, kind, candidate) for value in values]
            if read not in reads.values():
                reads[candidate] = read
            if None not in read and candidate not in DATES:
                break
    shares = {candidate: 1.0 - read.count(None) / len(read) for candidate, read in reads.items()}
    best = max(shares.values(), default=-1.0)
    return [candidate for candidate in shares if shares[candidate] == best >= share]


def number_format(values: Array, form: str | None = None) -> str | None:
    """The format of numbers, none of them missing; None if they have no common one.

    With `form` it begins with it.
    """
    if form in (None, PLAIN) and as_numbers(values, np.zeros(len(values), dtype=bool)) is not None:
        return PLAIN
    return next(iter(formats_of(values, "number", form=form)), None)
