"""Intervals around shares and means that stay within the range of the answers and hold for few answers."""
