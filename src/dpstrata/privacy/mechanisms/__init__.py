"""The mechanisms, one file each; ``privacy/registry.py`` is the only other place that names them."""
