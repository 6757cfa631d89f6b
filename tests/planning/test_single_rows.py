"""A single question whose answers are rows on a form: what is known of it counts, and other releases compare."""

import numpy as np
import pytest

import dpstrata as dps

SIZES = [3000, 5000]


@pytest.mark.parametrize(
    ("questions", "told"),
    [((0, 10), {"sds": {"answer": [1.0, 1.2]}}), ("yes_no", {"proportions": {"answer": [0.1, 0.2]}})],
)
def test_spreads_of_the_strata_are_those_of_the_only_question(questions, told):
    (values,) = next(iter(told.values())).values()
    frame = {"stratum": ["n", "s"], "size": SIZES, "sd" if "sds" in told else "proportion": values}
    import pandas as pd

    strata = dps.Strata.from_frame(pd.DataFrame(frame))
    bare = dps.Strata(SIZES, names=["n", "s"])
    options = {"epsilon": 1, "total": 300, "questions": questions, "forms": "one"}
    plan = dps.design(strata, **options)
    same = dps.design(bare, spreads=dps.Spreads(bare, questions, **told), **options)
    assert np.array_equal(plan.sample_sizes, same.sample_sizes)
    assert plan.variance == pytest.approx(same.variance, rel=1e-12)
    assert plan.variance < 0.8 * dps.design(bare, **options).variance


@pytest.mark.parametrize(
    "question", [dps.Question("q", "yes_no"), dps.Question("q", "scale", lower=1, upper=5)]
)
@pytest.mark.parametrize("options", [{}, {"forms": "one"}, {"release": "sums", "device_epsilon": 3}])
def test_releases_are_compared_whatever_the_question(question, options):
    plan = dps.design(dps.Strata(SIZES), questions=question, epsilon=1, total=400, **options)
    compared = dps.compare_releases(plan, device_epsilon=3)
    assert {each.release for each in compared.options} >= {"microdata", "sums"}


def test_an_empty_cell_is_no_noised_answer(tmp_path):
    plan = dps.design(
        dps.Strata([300, 500], names=["n", "s"]), questions=dps.Question("q", "yes_no"), epsilon=1, total=90
    )
    path = tmp_path / "noised.csv"
    path.write_text("stratum,q\nn,yes\ns,no answer\nn,\n")
    with pytest.raises(dps.InputError, match="column 'q', line 4: no noised answer"):
        dps.estimate(plan, path)


def test_the_na_of_pandas_is_no_answer():
    import pandas as pd

    plan = dps.design(dps.Strata([300, 500]), questions="yes_no", epsilon=1, total=90)
    with pytest.raises(dps.InputError, match="yes or no"):
        dps.randomize(plan, "1", pd.NA)
