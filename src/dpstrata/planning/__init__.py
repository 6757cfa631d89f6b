"""Designs made: for a goal, with the best noise, and what else they could have been."""
