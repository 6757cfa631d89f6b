"""Charts, each one Vega-Lite definition for notebook, report and page."""
