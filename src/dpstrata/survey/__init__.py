"""Fielding a design: noising answers (drawing and estimating are to come)."""
