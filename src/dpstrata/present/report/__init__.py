"""The report of a design: one page for a methodologist and a privacy officer."""
