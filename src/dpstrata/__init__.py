"""dpstrata: exact, certified sample allocation for stratified surveys under differential privacy.

``import dpstrata as dps``. Names are loaded when they are first used, so that importing the package and
``dpstrata --help`` stay instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpstrata.version import __version__

if TYPE_CHECKING:
    from dpstrata.errors import (
        DpstrataError,
        DpstrataWarning,
        InfeasibleError,
        InputError,
        MissingExtraError,
        NotAvailableError,
        PrecisionError,
        StrataError,
    )
    from dpstrata.model.answers import Answers
    from dpstrata.model.bound import Bound
    from dpstrata.model.certificate import Certificate, certify
    from dpstrata.model.design_record import Design
    from dpstrata.model.problem import Problem
    from dpstrata.model.strata import Strata
    from dpstrata.planning import compare_trust, design, evaluate, sensitivity, sweep
    from dpstrata.planning.loading import load_design
    from dpstrata.privacy.amplification import central_epsilon, local_epsilon
    from dpstrata.report.charts import plot
    from dpstrata.reporting import report_html, write_report
    from dpstrata.simulation import simulate, synthetic_population
    from dpstrata.solvers import solve
    from dpstrata.survey.noising import noise_answer, noise_answers

_HOMES = {
    "Answers": "model.answers",
    "Bound": "model.bound",
    "Certificate": "model.certificate",
    "Design": "model.design_record",
    "DpstrataError": "errors",
    "DpstrataWarning": "errors",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "MissingExtraError": "errors",
    "NotAvailableError": "errors",
    "PrecisionError": "errors",
    "Problem": "model.problem",
    "Strata": "model.strata",
    "StrataError": "errors",
    "central_epsilon": "privacy.amplification",
    "certify": "model.certificate",
    "compare_trust": "planning",
    "design": "planning",
    "evaluate": "planning",
    "load_design": "planning.loading",
    "local_epsilon": "privacy.amplification",
    "noise_answer": "survey.noising",
    "noise_answers": "survey.noising",
    "plot": "report.charts",
    "report_html": "reporting",
    "sensitivity": "planning",
    "simulate": "simulation",
    "solve": "solvers",
    "sweep": "planning",
    "synthetic_population": "simulation",
    "write_report": "reporting",
}

__all__ = [
    "Answers",
    "Bound",
    "Certificate",
    "Design",
    "DpstrataError",
    "DpstrataWarning",
    "InfeasibleError",
    "InputError",
    "MissingExtraError",
    "NotAvailableError",
    "PrecisionError",
    "Problem",
    "Strata",
    "StrataError",
    "__version__",
    "central_epsilon",
    "certify",
    "compare_trust",
    "design",
    "evaluate",
    "load_design",
    "local_epsilon",
    "noise_answer",
    "noise_answers",
    "plot",
    "report_html",
    "sensitivity",
    "simulate",
    "solve",
    "sweep",
    "synthetic_population",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
