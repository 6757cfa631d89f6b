"""Questions in, designs out."""

from dpstrata.planning.designing import design
from dpstrata.planning.what_if import Evaluation, Sensitivity, evaluate, sensitivity, sweep

__all__ = ["Evaluation", "Sensitivity", "design", "evaluate", "sensitivity", "sweep"]
