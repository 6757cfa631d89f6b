"""The kinds of answers, a file each. ``base.py`` lists them."""
