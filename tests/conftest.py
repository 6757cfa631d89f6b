"""Property tests see the same examples in every run of `make test`; `make slow` gives them new ones, and more."""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("new", max_examples=3000)
settings.load_profile(os.environ.get("DPSTRATA_EXAMPLES", "same"))
