.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install -qq --disable-pip-version-check -c constraints.txt
# several threads of BLAS in each of several processes only wait for each other
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
PARALLEL := -n 2 --dist loadfile

.PHONY: help demo test quick check system docs slow interop figures screenshots web web-check load bench release clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "dpstrata needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv $(VENV) || { echo "Python's venv is missing: apt-get install python3-venv (Debian, Ubuntu)"; exit 1; }

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing dpstrata and its tools into $(VENV) ..."
	@$(INSTALL) -e ".[all,dev,docs]"
	@touch $@

$(VENV)/.spark: $(VENV)/.installed
	@echo "Installing Spark into $(VENV) ..."
	@$(INSTALL) -e ".[spark]"
	@touch $@

system: | $(BIN)/python
	@scripts/system.sh

demo: $(VENV)/.installed ## Design the paper's survey of four strata, then carry out a real one, and collect one from devices
	$(BIN)/dpstrata design src/dpstrata/examples/four-strata.csv --epsilon 1 --total 200 --mechanism laplace
	$(BIN)/python examples/fair1978.py
	$(BIN)/python examples/collect.py

test: $(VENV)/.spark system check ## Install everything, check the code and run all tests
	$(PYTEST) $(PARALLEL)

quick: $(VENV)/.installed system ## Run the tests that need no browser, server, Spark or patience (under two minutes)
	$(PYTEST) $(PARALLEL) -m "not slow and not browser and not spark and not postgresql"

check: $(VENV)/.installed ## Check formatting, lint, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor -q --offline .github/workflows

slow: $(VENV)/.spark system ## Run the long tests: full statistics, new property cases, a crash at every line (two hours or more)
	DPSTRATA_EXAMPLES=new $(PYTEST) $(PARALLEL)
	DPSTRATA_DRAWS=1000000 $(PYTEST) -n 2 tests/privacy/test_grid.py -k sampler
	DPSTRATA_REPEATS=10000 $(PYTEST) -n 2 tests/fielding/test_end_to_end.py tests/fielding/test_two_layers.py tests/fielding/test_mean.py
	DPSTRATA_REPEATS=25000 $(PYTEST) -n 2 tests/fielding/test_repeated_rows.py
	DPSTRATA_KEYS=20000 $(PYTEST) -n 2 tests/fielding/test_sample.py -k every_subset
	DPSTRATA_STRIDE=1 $(PYTEST) -n 2 tests/fielding/test_interruptions.py tests/fielding/test_publish.py tests/fielding/test_row_interruptions.py tests/collect/test_closing_killed.py -k killed
	$(MAKE) docs

docs: $(VENV)/.spark ## Build the documentation site: run the tutorials, treat warnings as errors
	$(BIN)/sphinx-build -W --keep-going -n -q -b html docs docs/_build/html
	@$(BIN)/python docs/check_site.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

figures: $(VENV)/.installed ## Redraw the charts of the documentation
	$(BIN)/python docs/figures.py

screenshots: $(VENV)/.installed system ## Retake the screenshots of the planner and of the respondents' page
	$(BIN)/python docs/screenshots.py
	$(BIN)/python docs/screenshots_respond.py
	$(BIN)/python docs/screenshots_collect.py

web: $(VENV)/.installed ## Build the planner's and the respondents' page from web/ (needs Node 20 or newer)
	$(BIN)/python -m dpstrata.designs.document_shape options > web/src/options.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund && node build.mjs

web-check: web ## Rebuild both pages and compare them with the committed ones
	git diff --exit-code -- src/dpstrata/web/static src/dpstrata/collect/static
	@test -z "$$(git status --porcelain -- src/dpstrata/web/static src/dpstrata/collect/static)" || { echo "the built page is not committed"; exit 1; }

bench: $(VENV)/.spark ## Measure speed, as ratios within one run (several minutes)
	@$(INSTALL) -e ".[bench]"
	$(BIN)/python benchmarks/run.py

load: $(VENV)/.installed ## Measure the planner while 50 clients move sliders, and the collector with 10,000 respondents (about three minutes)
	$(BIN)/python benchmarks/web_load.py
	$(BIN)/python benchmarks/collect_load.py

interop: $(VENV)/.installed ## Hand estimates over to R, and design from there (installs Debian's r-cran-survey and r-cran-reticulate where it may)
	@scripts/r.sh
	$(PYTEST) tests/interop/test_r.py

release: $(VENV)/.installed ## Build the wheel and the sdist, and test every command from the wheel alone (a few minutes)
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d dist
	$(BIN)/python scripts/smoke.py dist/*.whl constraints.txt

clean: ## Remove the environment, caches and builds
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist docs/_build web/node_modules
