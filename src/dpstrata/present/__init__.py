"""Designs and results for the eye, beyond text: charts and reports."""
