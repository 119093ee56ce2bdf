# Assay: `make run` starts everything, `make test` checks everything.
.DEFAULT_GOAL := help
.PHONY: help setup run lint test stop clean
PYTHON := .venv/bin/python

help: ## Show what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' Makefile

setup: ## Install what Assay needs into .venv and static/vendor
	@sh server/setup.sh

run: setup ## Start Assay with its demo campaign. PORT=8001: another port; DEMO=no: without the demo
	@$(PYTHON) -m server.run

lint: setup ## Check style, types, the direction of imports, and the settings of a deployment
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	.venv/bin/lint-imports --no-cache
	@echo "$(PYTHON) manage.py check --deploy"
	@HTTPS=true SECURE_HSTS_SECONDS=31536000 $(PYTHON) manage.py check --deploy --fail-level WARNING

test: ## Run all checks and all tests, those in the browser included
	@sh server/setup.sh --browser
	@$(MAKE) --no-print-directory lint
	$(PYTHON) -m pytest -n 2

stop: ## Stop the servers that a killed `make run` left behind
	@$(PYTHON) -m server.run --stop

clean: ## Remove what `make setup` makes again. The data in var/ stay
	rm -rf .venv node_modules static/vendor .mypy_cache .ruff_cache .pytest_cache .hypothesis
