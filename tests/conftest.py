"""Property tests see the same examples in every run of `make test`; `make slow` gives them new ones, and more."""

import os

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("new", max_examples=3000)
settings.load_profile(os.environ.get("DPSTRATA_EXAMPLES", "same"))


@pytest.fixture
def tmp_path(tmp_path):
    """A folder without neighbours: what other tests left beside it must not keep a design from being replaced."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder
