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
    from dpstrata.model.bound import Bound
    from dpstrata.model.certificate import Certificate, certify
    from dpstrata.model.design_record import Design
    from dpstrata.model.problem import Problem
    from dpstrata.model.strata import Strata
    from dpstrata.pilot_simulation import simulate_pilot
    from dpstrata.piloting import combine_waves, main_design, pilot
    from dpstrata.planning import compare_trust, design, evaluate, sensitivity, sweep
    from dpstrata.planning.loading import load_design
    from dpstrata.privacy.amplification import central_epsilon, local_epsilon
    from dpstrata.privacy.answers.base import Answers
    from dpstrata.report.charts import plot
    from dpstrata.reporting import report_html, write_report
    from dpstrata.simulation import simulate, synthetic_population
    from dpstrata.solvers import solve
    from dpstrata.survey.drawing import draw_sample
    from dpstrata.survey.estimating import Estimation
    from dpstrata.survey.frames import frame_strata, open_frame
    from dpstrata.survey.frames.base import Frame
    from dpstrata.survey.noised import estimate
    from dpstrata.survey.noising import noise_answer, noise_answers
    from dpstrata.survey.records import draw, verify_draw
    from dpstrata.survey.releases.microdata import estimate_means
    from dpstrata.survey.releasing import privatize

_HOMES = {
    "Answers": "privacy.answers.base",
    "Bound": "model.bound",
    "Certificate": "model.certificate",
    "Design": "model.design_record",
    "DpstrataError": "errors",
    "DpstrataWarning": "errors",
    "Estimation": "survey.estimating",
    "Frame": "survey.frames.base",
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
    "combine_waves": "piloting",
    "compare_trust": "planning",
    "design": "planning",
    "draw": "survey.records",
    "draw_sample": "survey.drawing",
    "estimate": "survey.noised",
    "estimate_means": "survey.releases.microdata",
    "evaluate": "planning",
    "frame_strata": "survey.frames",
    "load_design": "planning.loading",
    "local_epsilon": "privacy.amplification",
    "main_design": "piloting",
    "noise_answer": "survey.noising",
    "noise_answers": "survey.noising",
    "open_frame": "survey.frames",
    "pilot": "piloting",
    "plot": "report.charts",
    "privatize": "survey.releasing",
    "report_html": "reporting",
    "sensitivity": "planning",
    "simulate": "simulation",
    "simulate_pilot": "pilot_simulation",
    "solve": "solvers",
    "sweep": "planning",
    "synthetic_population": "simulation",
    "verify_draw": "survey.records",
    "write_report": "reporting",
}

__all__ = [
    "Answers",
    "Bound",
    "Certificate",
    "Design",
    "DpstrataError",
    "DpstrataWarning",
    "Estimation",
    "Frame",
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
    "combine_waves",
    "compare_trust",
    "design",
    "draw",
    "draw_sample",
    "estimate",
    "estimate_means",
    "evaluate",
    "frame_strata",
    "load_design",
    "local_epsilon",
    "main_design",
    "noise_answer",
    "noise_answers",
    "open_frame",
    "pilot",
    "plot",
    "privatize",
    "report_html",
    "sensitivity",
    "simulate",
    "simulate_pilot",
    "solve",
    "sweep",
    "synthetic_population",
    "verify_draw",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Only what is public: modules that were loaded meanwhile are no part of it.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
