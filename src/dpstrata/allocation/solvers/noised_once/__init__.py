"""One draw of noise for each figure: the solvers."""
