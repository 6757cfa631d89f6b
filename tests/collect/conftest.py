"""Surveys to collect, and a respondents' page in the test's own process, over a store that remembers what reached it."""

import pytest
from browser import chromium

from collecting import DATABASES, invited, serving
from dpstrata.collect.kit import respondent_kit


@pytest.fixture(params=DATABASES)
def made(request, tmp_path):
    """A survey to which everyone is invited, in each kind of database."""
    return invited(tmp_path, database=request.param)


@pytest.fixture(scope="module")
def browser():
    """Chromium, for the tests of one module."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def small_kit():
    from questionnaires import small_plan

    return respondent_kit(small_plan(), title="Health in three regions")


@pytest.fixture(scope="module")
def survey(small_kit):
    """A server for a questionnaire with every kind of question, on two forms."""
    with serving(small_kit) as served:
        yield served
