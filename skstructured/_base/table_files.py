"""What files of tables have, without imports that take long."""

import contextlib
from collections import Counter

#: Cells that are no value, besides what numpy takes for one.
NOTHING = ("", "nan", "NaN", "NA", "N/A", "<NA>", "null", "NULL", "None", "NaT")


@contextlib.contextmanager
def opened_parquet(path):
    """A Parquet file; a ValueError if it is damaged, or has two columns of one name."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise ImportError(
            "Parquet files need pyarrow: pip install skstructured[parquet]."
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            for name, times in Counter(file.schema_arrow.names).most_common(1):
                if times > 1:
                    raise ValueError(f"{path} has {times} columns {name!r}: names must differ.")
            yield file
    except FileNotFoundError:
        raise
    except (ArrowException, OSError, OverflowError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a Parquet file, damaged or cut off: {error}") from None
