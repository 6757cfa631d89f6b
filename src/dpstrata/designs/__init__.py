"""The result: the design, its document and what holds for them in every version."""
