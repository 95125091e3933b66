"""What tables have, without imports that take long."""

#: Cells that are no value, besides what numpy takes for one.
NOTHING = ("", "nan", "NaN", "NA", "N/A", "<NA>", "null", "NULL", "None", "NaT")
