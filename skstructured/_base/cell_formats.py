"""Formats of numbers, dates and missing values in texts, without imports that take long."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]  # that of the package imports numba

#: Texts of missing values, in addition to numpy's.
MISSING_TEXTS = ("", "nan", "NaN", "NA", "N/A", "<NA>", "null", "NULL", "None", "NaT")


class NumberFormats(NamedTuple):
    """Formats of numbers are examples; a unit may follow. Python reads plain ones."""

    plain: str = "1234.5"
    english: str = "1,234.5"
    german: str = "1.234,5"


NUMBER_FORMATS = NumberFormats()

#: Formats of dates. The first is read with times and zones, the others with times only.
ISO_FORMAT = "%Y-%m-%d"
DATE_FORMATS = [f"%{a}{m}%{b}{m}%{y}" for m in "/-" for y in "Yy" for a, b in ("dm", "md")]
DATE_FORMATS += ["%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y"]
DATE_FORMATS += ["%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y"]

#: Whole numbers with leading zeros are codes.
CODE_PATTERN = re.compile(r"\s*[-+]?0\d+\s*", re.ASCII)

ISO_DATE_PATTERN = re.compile(r"\d{4}-\d\d-.*", re.ASCII | re.DOTALL)

#: Units before numbers, and after them; other words, such as kg, only stand after a number.
CURRENCY = r"[$€£¥₹%]|\b(?:EUR|USD|GBP|CHF)\b"
UNIT_WORD = r"[A-Za-zÀ-ÿ°µ²³/]+"
UNIT_PATTERN = re.compile(rf"{CURRENCY}|(?<=\d)\s?{UNIT_WORD}(?=\s*\Z)", re.ASCII)


def _number_pattern(separator: str, point: str) -> tuple[re.Pattern[str], dict[int, int | None]]:
    """A pattern of signed numbers in parentheses or not, with units, and what marks become."""
    separators = f"{separator}'’ \u00a0\u202f"
    sign, unit, mark = r"([-+−]?)\s?", rf"({CURRENCY})?\s?", re.escape(point)
    whole = rf"[1-9]\d{{0,2}}([{separators}])\d{{3}}(?:\6\d{{3}})*|\d+"
    digits = rf"((?:{whole})(?:{mark}\d+)?|{mark}\d+)\s?"
    pattern = rf"(\()?{sign}{unit}{sign}{digits}({CURRENCY}|{UNIT_WORD})?\s?(?(1)\))"
    return re.compile(pattern, re.ASCII), str.maketrans(point, ".", separators)


NUMBER_PATTERNS = {
    NUMBER_FORMATS.english: _number_pattern(",", "."),
    NUMBER_FORMATS.german: _number_pattern(".", ","),
}


def is_missing(values: Array) -> Array:
    """Whether each value of a column is missing, booleans (n,)."""
    if values.dtype.kind in "fmMiub":
        return np.asarray(values != values)
    return np.array([str(value).strip() in MISSING_TEXTS for value in values], dtype=bool)


def read_number(value: Any, form: str = NUMBER_FORMATS.plain) -> float:
    """A value as a number, an error if it does not have the format; durations are seconds."""
    if isinstance(value, (timedelta, np.timedelta64)):
        return float(np.timedelta64(value) / np.timedelta64(1, "s"))
    if isinstance(value, np.datetime64):
        raise TypeError("A date is not a number.")
    if form == NUMBER_FORMATS.plain or not isinstance(value, str):
        return float(value)
    length = len(NUMBER_FORMATS.english)  # of the German one too
    (pattern, marks), unit = NUMBER_PATTERNS[form[:length]], form[length:].strip()
    match = pattern.fullmatch(value.strip())
    if match is None or not {match[3], match[7]} <= {None, unit}:
        raise ValueError(f"{value!r} is not a number such as {form}.")
    number = float(match[5].translate(marks))
    return -number if match[1] or {match[2], match[4]} & {*"-−"} else number


def read_date(value: Any, form: str = ISO_FORMAT) -> datetime:
    """A value as a date; a ValueError if it does not have the format."""
    text = str(value).strip()
    if form != ISO_FORMAT and not isinstance(value, (date, np.datetime64)):
        clock = "" if ":" in form else {1: " %H:%M", 2: " %H:%M:%S"}.get(text.count(":"), "")
        if clock and text[-1:] in "mM":  # am or pm
            clock = clock.replace("%H", "%I") + " %p"
        return datetime.strptime(text, form + clock)
    if not ISO_DATE_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not a date such as 2024-05-31.")
    return datetime.fromisoformat(text)


def try_to_read(value: Any, kind: str, form: str | None) -> Any:
    """A value as a finite number or a date of a format; None if it is not one."""
    try:
        if kind == "date":
            return read_date(value, form or ISO_FORMAT)
        number = read_number(value, form or NUMBER_FORMATS.plain)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def unreadable(values: Array, kind: str, form: str | None = None) -> Array:
    """Which values are neither missing nor of a format, if their kind has formats; (n,)."""
    wrong = np.zeros(len(values), dtype=bool)
    if kind in ("number", "date"):
        indices = np.flatnonzero(~is_missing(values))
        wrong[indices] = [try_to_read(value, kind, form) is None for value in values[indices]]
    return wrong


def as_numbers(values: Array, missing: Array, form: str = NUMBER_FORMATS.plain) -> Array | None:
    """A column as float64, NaN for missing values; None if some value is not a number."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    numbers = np.full(len(values), np.nan)
    try:
        numbers[~missing] = [read_number(value, form) for value in values[~missing]]
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers


def as_dates(
    values: Array, missing: Array, form: str = ISO_FORMAT
) -> tuple[Array, set[bool]] | None:
    """A column as seconds since 1970 in UTC, NaT for missing values; None for other values.

    The set contains whether dates have time zones: both if some have and others have not.
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
    return any(isinstance(value, str) and CODE_PATTERN.fullmatch(value) for value in values)


def possible_formats(
    values: Array, kind: str, share: float = 1.0, form: str | None = None, n_tried: int = 50
) -> list[str]:
    """The formats of a kind, beginning with `form`, that read most values, at least this share.

    Several are returned if they read the values differently. A format is only tried on all values
    if it reads one of the first `n_tried`.
    """
    candidates = [form] if form else [ISO_FORMAT, *DATE_FORMATS]
    if kind == "number":
        if form and not form.startswith(NUMBER_FORMATS):
            allowed = ", ".join(map(repr, NUMBER_FORMATS))
            raise ValueError(f"The format of numbers must be one of {allowed}, got {form!r}.")
        texts = map(str, values)
        units = sorted({unit.strip() for text in texts for unit in UNIT_PATTERN.findall(text)})
        marked = [f"{marks} {unit}".strip() for marks in NUMBER_PATTERNS for unit in units or [""]]
        candidates = [c for c in [NUMBER_FORMATS.plain, *marked] if c.startswith(form or "")]
    reads: dict[str, list[Any]] = {}
    for candidate in candidates:
        if any(try_to_read(value, kind, candidate) is not None for value in values[:n_tried]):
            read = [try_to_read(value, kind, candidate) for value in values]
            if read not in reads.values():
                reads[candidate] = read
            if None not in read and candidate not in DATE_FORMATS:
                break
    shares = {candidate: 1.0 - read.count(None) / len(read) for candidate, read in reads.items()}
    best = max(shares.values(), default=-1.0)
    return [candidate for candidate in shares if shares[candidate] == best >= share]


def number_format(values: Array, form: str | None = None) -> str | None:
    """The format of numbers, none of them missing, that begins with `form`; or None."""
    is_plain = form in (None, NUMBER_FORMATS.plain)
    if is_plain and as_numbers(values, np.zeros(len(values), dtype=bool)) is not None:
        return NUMBER_FORMATS.plain
    return next(iter(possible_formats(values, "number", form=form)), None)
