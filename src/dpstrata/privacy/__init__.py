"""The promise: budgets, what secret sampling does to them, and the mechanisms that keep them."""
