"""The mechanisms, a file each. ``registry.py`` lists them; CONTRIBUTING says what else names them."""
