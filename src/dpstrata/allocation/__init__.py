"""How many people to invite in each stratum: the terms, the problem, its solvers and proofs."""
