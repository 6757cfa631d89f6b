"""Reading a design document back, with everything in it checked: also that it is the best for its goal."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dpstrata.allocation.proof.bound import Bound
from dpstrata.designs.choice import Choice, valid_mechanisms
from dpstrata.designs.reading import first_difference
from dpstrata.designs.record import Design
from dpstrata.errors import DpstrataError, InputError
from dpstrata.planning.design import design_with_best_of
from dpstrata.planning.goal_search import design_for
from dpstrata.privacy.mechanisms import MECHANISMS


def load_design(path: str | Path) -> Design:
    """Read a design document, check its proof, and design again to compare.

    Parameters
    ----------
    path : path
        A file written by :meth:`Design.save` or ``dpstrata design --out``.

    Returns
    -------
    Design
        Equal to the one that was saved.

    Raises
    ------
    InputError
        If the file is not a design document, is of a newer version, does not agree with itself, or its
        design does not meet its goal.

    Notes
    -----
    What the planner stated cannot be checked: sizes, standard deviations and their sources, costs, and
    response rates.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dpstrata as dps
    >>> plan = dps.design(dps.Strata([700, 900], [0.3, 0.1]), epsilon=1, total=40)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plan.save(Path(folder, "design.json"))
    ...     again = dps.load_design(Path(folder, "design.json"))
    >>> again.sample_sizes.tolist() == plan.sample_sizes.tolist()
    True
    """
    plan = Design.read(path)
    try:
        again = design_for(plan.strata, plan.inputs, plan.problem)
    except DpstrataError as error:
        raise InputError(
            f"{path} does not describe a possible design: {error.sentence.marked}", where=str(path)
        ) from None
    if isinstance(plan.certificate, Bound):
        _check_bound(plan, again, path)
    elif plan.sample_sizes.tolist() != again.sample_sizes.tolist():
        raise InputError(
            f"{path}: the sample sizes do not meet the goal; the file was changed.", where=str(path)
        )
    told, right = (None if each.outcome is None else asdict(each.outcome) for each in (plan, again))
    if isinstance(plan.certificate, Bound) and right and right["cost"] is not None:
        right["cost"] = plan.cost  # another machine may find another design within the gap
    difference = first_difference(told, right, "outcome")
    if plan.choice is not None and not difference:
        difference = _difference_in_choice(plan, plan.choice)
    if difference:
        raise InputError(f"{path} contradicts itself at {difference}; the file was changed.", where=str(path))
    return plan


def _difference_in_choice(plan: Design, choice: Sequence[Choice]) -> str:
    """Find what is wrong with the mechanisms that a document compares, or return an empty text.

    They are those of the version that wrote it. Each that this version has too is tried again, and the one
    chosen must be the best of them; mechanisms that were added since do not count.
    """
    known = [row.mechanism for row in choice if row.mechanism in MECHANISMS]
    if plan.inputs.mechanism not in known or not valid_mechanisms(plan.inputs).keys() >= set(known):
        return "choice"
    best = design_with_best_of(known, plan.strata, plan.inputs, {})
    again = {row.mechanism: row for row in best.choice or ()}
    told, right = [asdict(row) for row in choice], [asdict(again.get(row.mechanism, row)) for row in choice]
    wrong_best = "" if best.inputs.mechanism == plan.inputs.mechanism else "choice"
    return first_difference(told, right, "choice") or wrong_best


def _check_bound(plan: Design, again: Design, path: str | Path) -> None:
    """Require that what a search has shown, and prices alone do not, is borne out by searching again."""
    proof, other = plan.certificate, again.certificate
    assert isinstance(proof, Bound)
    if not isinstance(other, Bound):
        raise InputError(
            f"{path}: the certificate is of the wrong kind for the goal; the file was changed.",
            where=str(path),
        )
    if proof.searched and not (other.optimal and proof.value <= other.value * (1 + 1e-12)):
        raise InputError(
            f"{path}: the design is not the best possible one; the file was changed.", where=str(path)
        )
