# Assay: `make run` starts everything, `make test` checks everything.
.DEFAULT_GOAL := help
.PHONY: help setup run docs screenshots format lint style types collected test nightly alone coverage fuzz audit pins kept stop clean
PYTHON := .venv/bin/python
# Tests start many processes of Assay: the compiled modules are kept.
unexport PYTHONDONTWRITEBYTECODE
# Biome starts through node, which may be the one in .venv.
BIOME := PATH="$(CURDIR)/.venv/bin:$$PATH" node_modules/.bin/biome

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

setup: ## Install what Assay needs into .venv and static/vendor
	@sh server/setup.sh

run: setup ## Start Assay with its demo campaign. PORT=8001: another port; DEMO=no: without the demo
	@$(PYTHON) -m server.run

docs: setup ## Build the documentation site in docs/_build/html; a warning is an error
	$(PYTHON) -m sphinx -c maintenance/docs -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html \
		|| { rm -rf docs/_build/doctrees; exit 1; }  # or the next build would be silent about the warning

screenshots: setup ## Take the pictures of the documentation from the demo campaign
	@sh server/setup.sh --browser
	$(PYTHON) -m maintenance.screenshots

format: setup ## Format Python, templates, scripts and styles
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	$(BIOME) check --write

lint: setup ## Check style, types, prose, import contracts, templates, and the settings of a deployment
	@$(MAKE) --no-print-directory -j 2 types style

types: setup
	$(PYTHON) -m mypy

style: setup
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	.venv/bin/lint-imports --no-cache
	$(PYTHON) maintenance/prose.py
	$(PYTHON) -m djlint templates assay_extensions --lint --quiet
	$(BIOME) ci
	.venv/bin/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml docker-compose.several.yml
	@echo "$(PYTHON) manage.py check --deploy"
	@HTTPS=true SITE_URL=https://assay.example.org SECURE_HSTS_SECONDS=31536000 $(PYTHON) manage.py check --deploy --fail-level WARNING

collected: setup  # once: the processes of the tests, which start together, would each compile all modules
	@tests=$$($(PYTHON) -m pytest --collect-only -q 2>&1) || { echo "$$tests"; exit 1; }

test: ## Run all checks, build the documentation, and run all tests, including those in a browser
	@sh server/setup.sh --browser --no-docs
	@$(MAKE) --no-print-directory -o setup -j 2 types docs style collected  # types, which take longest, first
	$(PYTHON) -m pytest -n 4 --dist worksteal

nightly: ## Run all tests, also the ones that take minutes, and those of the core without the extensions of Assay
	@sh server/setup.sh --browser
	$(PYTHON) -m pytest -n 3 --dist worksteal --nightly
	@$(MAKE) --no-print-directory -o setup alone

alone: setup ## Run the tests of the core without the extensions of Assay. Tests that need one are skipped
	ASSAY_EXTENSIONS=none $(PYTHON) -m pytest -n 3 --dist worksteal -p tests.alone -m "not browser" tests assay

coverage: setup ## Run all tests and name the lines that they do not reach. It takes half as long again as without
	$(PYTHON) -m pytest -n 3 --dist worksteal --cov --cov-report=term-missing:skip-covered

fuzz: setup ## Send the API many more made-up requests than the tests do. FUZZ_EXAMPLES=500: of each endpoint
	FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-100} $(PYTHON) -m pytest -q tests/test_api_fuzz.py

audit: setup ## Check the pinned packages for known vulnerabilities, as far as the advisories can be reached
	@$(PYTHON) -m maintenance.audit $(AUDIT)

pins: setup ## Renew the pins of the Python packages, then run all checks and tests with them
	@$(PYTHON) -m pip install --quiet -r requirements-maintenance.txt
	grep -hv '^-' requirements*.txt | .venv/bin/uv pip compile --quiet --upgrade --python-version 3.11 --all-extras \
		--strip-extras --no-emit-package pip --no-annotate --custom-compile-command "make pins" -o constraints.txt pyproject.toml -
	@git --no-pager diff -U0 constraints.txt
	@$(MAKE) --no-print-directory test

kept: setup ## Write the files of tests/kept again, and show what changed
	KEPT=write $(PYTHON) -m pytest -q tests/kept
	git diff --stat tests/kept

stop: ## Stop Assay, also the servers that a killed `make run` left behind
	@$(PYTHON) -m server.run --stop

clean: ## Remove what `make setup` makes again. The data in var/ stay
	rm -rf .venv node_modules static/vendor docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
