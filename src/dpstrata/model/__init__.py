"""What is being designed: strata, answers, the problem and its terms, certificate, baselines, the design."""
