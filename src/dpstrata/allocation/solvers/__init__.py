"""Ways to solve a problem: the exact solver, its relaxation, the paper's algorithm, exhaustive search."""
