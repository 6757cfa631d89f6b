"""The columns of published files, as releases write them and results read them."""

STRATUM, COUNT = "stratum", "answers"
SUM = "sum"
COLUMN, GROUP, MEAN = "column", "group", "mean"
TABLE, ENTRY, VALUE = "table", "entry", "count"
