"""Questionnaires in the field: rows of answers, counts of them, and estimates from these."""
