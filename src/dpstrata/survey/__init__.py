"""Fielding a design: frames, the secret draw, noise, estimates."""
