"""The survey as it is asked for: strata, options, goals and forms of release."""
