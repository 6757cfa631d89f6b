"""Questions in, designs out."""

from dpstrata.planning.choosing import TrustComparison, compare_trust
from dpstrata.planning.designing import design
from dpstrata.planning.doubts import Sensitivity, sensitivity
from dpstrata.planning.what_if import Evaluation, evaluate, sweep

__all__ = [
    "Evaluation",
    "Sensitivity",
    "TrustComparison",
    "compare_trust",
    "design",
    "evaluate",
    "sensitivity",
    "sweep",
]
