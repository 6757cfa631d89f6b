"""What only documents of earlier versions ask for."""

from dataclasses import replace

from dpstrata.planning.best import design_as_asked
from dpstrata.planning.design import read_survey


def design_of_document(strata, *, questions=1, **options):
    """Design for several questions that share a budget, as documents do; ``dps.design`` refuses it."""
    strata, inputs = read_survey(strata, options)
    return design_as_asked(strata, replace(inputs, questions=questions))
