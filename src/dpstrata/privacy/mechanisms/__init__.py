"""The mechanisms, a file each. ``privacy/registry.py`` lists them; CONTRIBUTING says what else names them."""
