"""The kinds of questions, a file each. ``base.py`` lists them."""
