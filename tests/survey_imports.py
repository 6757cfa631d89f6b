"""What the commands that carry out a survey import: loaded once, before processes are forked that run them."""

# ruff: noqa: F401
import cryptography.hazmat.primitives.ciphers
import cryptography.hazmat.primitives.kdf.hkdf
import duckdb
import opendp.measurements
import pandas  # which DuckDB looks for
import pyarrow.compute
import pyarrow.parquet
import rich.progress
import rich.table
import scipy.stats

import dpstrata.fielding.estimate
import dpstrata.fielding.privatize
import dpstrata.fielding.sample
import dpstrata.present.report.words
