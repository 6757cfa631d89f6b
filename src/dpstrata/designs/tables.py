"""The table of strata of a design: as columns, and as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpstrata.designs.record import Design


def design_columns(plan: Design) -> dict[str, list[Any]]:
    """Return one list per column, as in the design document."""
    strata = plan.strata
    local = plan.local_epsilons.tolist() if plan.inputs.promise.amplified else [None] * len(strata)
    columns: dict[str, list[Any]] = {
        "stratum": list(strata.names),
        "size": strata.sizes.tolist(),
        "sd": plan.sds.tolist(),
        "sd_source": [strata.sd_source(row) for row in range(len(strata))],
        "sample_size": plan.sample_sizes.tolist(),
        "relaxed_size": plan.relaxed_sizes.tolist(),
        "local_epsilon": local,
        "noise_sd": plan.noise_sds.tolist(),
    }
    for column, values in (
        ("coefficient", strata.coefficients),
        ("cost", strata.costs),
        ("min", strata.mins),
        ("max", strata.maxs),
        ("response_rate", strata.response_rates),
        ("sd_epsilon", strata.sd_epsilons),
    ):
        if values is not None:
            columns[column] = values.tolist()
    if plan.inputs.local_epsilon_cap is not None:
        columns["capped"] = plan.capped.tolist()
        columns["central_epsilon"] = plan.central_epsilons.tolist()
    return columns


def design_table(plan: Design) -> dict[str, list[Any]]:
    """Return the columns, then those of the strata that dpstrata does not know."""
    columns = plan.columns()
    for number, form in enumerate(plan.forms if plan.problem.forms.dealt_out else (), start=1):
        columns[f"form_{number}"] = form.sample_sizes.tolist()
    for name, cells in plan.strata.extra.items():
        columns[f"{name}_given" if name in columns else name] = list(cells)
    return columns
