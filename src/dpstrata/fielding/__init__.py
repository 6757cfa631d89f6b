"""Carrying a design out: frames, the secret draw, noise, releases, the ledger, estimates."""
