"""What tables have, without imports that take long."""

#: Cells that are missing values, in addition to numpy's.
MISSING_TEXTS = ("", "nan", "NaN", "NA", "N/A", "<NA>", "null", "NULL", "None", "NaT")
