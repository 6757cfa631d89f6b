"""The mechanisms: a file each, and a line in ``privacy/registry.py``. CONTRIBUTING lists what else names them."""
