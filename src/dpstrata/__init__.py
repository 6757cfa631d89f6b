"""dpstrata: exact, certified sample allocation for stratified surveys under differential privacy.

``import dpstrata as dps``. Names are loaded when they are first used, so that importing the package and
``dpstrata --help`` stay instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpstrata.version import __version__

if TYPE_CHECKING:
    from dpstrata.allocation.problem import Problem
    from dpstrata.allocation.proof.bound import Bound
    from dpstrata.allocation.proof.certificate import Certificate, certify
    from dpstrata.allocation.solvers.solve import solve
    from dpstrata.collect.closing import close_survey
    from dpstrata.collect.invitations import invite
    from dpstrata.collect.kit import Kit, respondent_kit
    from dpstrata.collect.letters import Letters
    from dpstrata.collect.overseeing import back_up, remind, restore, survey_status
    from dpstrata.collect.serving import collect_survey
    from dpstrata.designs.record import Design
    from dpstrata.errors import (
        DpstrataError,
        DpstrataWarning,
        InfeasibleError,
        InputError,
        MissingExtraError,
        NotAvailableError,
        PrecisionError,
        QuestionnaireError,
        StrataError,
    )
    from dpstrata.fielding.draw import draw, verify_draw
    from dpstrata.fielding.estimate import estimate
    from dpstrata.fielding.frames import frame_strata, open_frame
    from dpstrata.fielding.frames.base import Frame
    from dpstrata.fielding.publish import privatize, publish
    from dpstrata.fielding.randomize import randomize
    from dpstrata.fielding.results.microdata import estimate_means
    from dpstrata.fielding.results.results import Results
    from dpstrata.fielding.sample import draw_sample
    from dpstrata.pilots.pilot import combine_waves, main_design, pilot
    from dpstrata.planning.choose_range import choose_range
    from dpstrata.planning.compare_releases import compare_releases
    from dpstrata.planning.design import design
    from dpstrata.planning.evaluate import evaluate, sweep
    from dpstrata.planning.load import load_design
    from dpstrata.planning.sensitivity import sensitivity
    from dpstrata.planning.solve_epsilon import solve_epsilon
    from dpstrata.present.charts.plot import plot
    from dpstrata.present.report.page import report_html, write_report
    from dpstrata.present.report.results import Published, find_published, results_html, write_results
    from dpstrata.privacy.amplification import central_epsilon, local_epsilon
    from dpstrata.simulation.pilot import simulate_pilot
    from dpstrata.simulation.survey import simulate, synthetic_population
    from dpstrata.survey.questionnaires.question import Question, Translation
    from dpstrata.survey.questionnaires.questionnaire import Questionnaire
    from dpstrata.survey.questionnaires.spreads import Spreads
    from dpstrata.survey.strata import Strata
    from dpstrata.survey.targets import CV, SE, Margin

_HOMES = {
    "Bound": "allocation.proof.bound",
    "CV": "survey.targets",
    "Certificate": "allocation.proof.certificate",
    "Design": "designs.record",
    "DpstrataError": "errors",
    "DpstrataWarning": "errors",
    "Frame": "fielding.frames.base",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "Kit": "collect.kit",
    "Letters": "collect.letters",
    "Margin": "survey.targets",
    "MissingExtraError": "errors",
    "NotAvailableError": "errors",
    "PrecisionError": "errors",
    "Problem": "allocation.problem",
    "Published": "present.report.results",
    "Question": "survey.questionnaires.question",
    "Questionnaire": "survey.questionnaires.questionnaire",
    "QuestionnaireError": "errors",
    "Results": "fielding.results.results",
    "SE": "survey.targets",
    "Spreads": "survey.questionnaires.spreads",
    "Strata": "survey.strata",
    "StrataError": "errors",
    "Translation": "survey.questionnaires.question",
    "back_up": "collect.overseeing",
    "central_epsilon": "privacy.amplification",
    "certify": "allocation.proof.certificate",
    "choose_range": "planning.choose_range",
    "close_survey": "collect.closing",
    "collect_survey": "collect.serving",
    "combine_waves": "pilots.pilot",
    "compare_releases": "planning.compare_releases",
    "design": "planning.design",
    "draw": "fielding.draw",
    "draw_sample": "fielding.sample",
    "estimate": "fielding.estimate",
    "estimate_means": "fielding.results.microdata",
    "evaluate": "planning.evaluate",
    "find_published": "present.report.results",
    "frame_strata": "fielding.frames",
    "invite": "collect.invitations",
    "load_design": "planning.load",
    "local_epsilon": "privacy.amplification",
    "main_design": "pilots.pilot",
    "open_frame": "fielding.frames",
    "pilot": "pilots.pilot",
    "plot": "present.charts.plot",
    "privatize": "fielding.publish",
    "publish": "fielding.publish",
    "randomize": "fielding.randomize",
    "remind": "collect.overseeing",
    "report_html": "present.report.page",
    "respondent_kit": "collect.kit",
    "restore": "collect.overseeing",
    "results_html": "present.report.results",
    "sensitivity": "planning.sensitivity",
    "simulate": "simulation.survey",
    "simulate_pilot": "simulation.pilot",
    "solve": "allocation.solvers.solve",
    "solve_epsilon": "planning.solve_epsilon",
    "survey_status": "collect.overseeing",
    "sweep": "planning.evaluate",
    "synthetic_population": "simulation.survey",
    "verify_draw": "fielding.draw",
    "write_report": "present.report.page",
    "write_results": "present.report.results",
}

__all__ = [
    "CV",
    "SE",
    "Bound",
    "Certificate",
    "Design",
    "DpstrataError",
    "DpstrataWarning",
    "Frame",
    "InfeasibleError",
    "InputError",
    "Kit",
    "Letters",
    "Margin",
    "MissingExtraError",
    "NotAvailableError",
    "PrecisionError",
    "Problem",
    "Published",
    "Question",
    "Questionnaire",
    "QuestionnaireError",
    "Results",
    "Spreads",
    "Strata",
    "StrataError",
    "Translation",
    "__version__",
    "back_up",
    "central_epsilon",
    "certify",
    "choose_range",
    "close_survey",
    "collect_survey",
    "combine_waves",
    "compare_releases",
    "design",
    "draw",
    "draw_sample",
    "estimate",
    "estimate_means",
    "evaluate",
    "find_published",
    "frame_strata",
    "invite",
    "load_design",
    "local_epsilon",
    "main_design",
    "open_frame",
    "pilot",
    "plot",
    "privatize",
    "publish",
    "randomize",
    "remind",
    "report_html",
    "respondent_kit",
    "restore",
    "results_html",
    "sensitivity",
    "simulate",
    "simulate_pilot",
    "solve",
    "solve_epsilon",
    "survey_status",
    "sweep",
    "synthetic_population",
    "verify_draw",
    "write_report",
    "write_results",
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
