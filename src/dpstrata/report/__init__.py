"""Designs for the eye: charts as Vega-Lite definitions, and pages that hold them."""
