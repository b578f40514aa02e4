# `make` lists the targets. Everything happens in .venv; nothing else on the machine is touched.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Where torch comes from, if not from the package index that pip uses anyway:
# make setup TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=

.DEFAULT_GOAL := help
.PHONY: help setup grade practice test proof proof-full lint format docs release figures calibrate \
	seccomp doctor attacks soak bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY)  ## make .venv with everything that grading and testing need

$(READY): pyproject.toml constraints.txt hatch_build.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	    rm -rf $(VENV); \
	    echo "make: $(PYTHON) cannot make a virtual environment; on Debian or Ubuntu: apt-get install python3-venv" >&2; \
	    exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "make: Python 3.11 or later is needed; name one with PYTHON=python3.12" >&2; exit 1; }
	@echo "setting up $(VENV); the first time takes some minutes, most of them for torch"
ifneq ($(TORCH_INDEX),)
	$(BIN)/python -m pip install --quiet --index-url $(TORCH_INDEX) -c constraints.txt torch
endif
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,nbgrader,otter]'
	@touch $@

grade: $(READY)  ## grade the example class into results/
	$(BIN)/autograder grade examples/submissions --out results

# For those who learn by themselves and have the whole repository. Work that is there stays.
practice: $(READY)  ## a template of your own in practice/, graded by the hidden checks
	@test -e practice || $(BIN)/autograder release template --out practice >/dev/null
	$(BIN)/autograder check practice --show

PYTEST := $(BIN)/python -m pytest --quiet

# What looks at the whole machine (marked `alone`) comes first, by itself; the last line counts all
# the others.
test: lint  ## lint, types, and tests that guard every behaviour (some minutes)
	$(PYTEST) tests/test_attacks.py -m "not proof"
	$(PYTEST) -n 2 --dist loadfile -m "not alone and not proof"

# The last part is every test, since a line may be covered by any of them.
proof: $(READY)  ## what takes longer: attacks, calibration, platforms, browsers, coverage
	$(BIN)/python -m tests.attacks.table
	$(BIN)/autograder calibrate
	$(PYTEST) tests/test_attacks.py
	$(PYTEST) -n 2 --dist loadfile -m "not alone" --cov --cov-report=term --cov-report=html

# Whatever the inputs: each secret draws others.
SECRETS ?= one-term another-term an-exam

proof-full: $(READY)  ## by hand: calibration under several secrets, then the soak (an hour or so)
	@for secret in $(SECRETS); do \
	    file=$$(mktemp) && echo "$$secret" > "$$file" && echo "calibrating with the secret $$secret" && \
	    AUTOGRADER_SECRET_FILE="$$file" $(BIN)/autograder calibrate && rm "$$file" || exit 1; \
	done
	$(BIN)/python -m tests.soak

lint: $(READY)  ## style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(READY)  ## bring the code into the common format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(READY)  ## build the docs as a site, into build/site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open build/site/index.html; with its search: $(BIN)/python -m http.server --directory build/site"

release: $(READY)  ## build template, notebooks and bundles from the solutions
	$(BIN)/autograder release all

figures: $(READY)  ## draw the handouts' figures
	$(BIN)/autograder release figures

calibrate: $(READY)  ## prove that solutions, stubs, checks and misconceptions agree
	$(BIN)/autograder calibrate

seccomp: $(READY)  ## write the seccomp programs anew (needs libseccomp)
	$(BIN)/python -m autograder.sandbox.seccomp.generate

doctor: $(READY)  ## tell what this machine offers
	$(BIN)/autograder doctor

attacks: $(READY)  ## try every attack at both upper levels, as root and as an ordinary user
	$(BIN)/python -m tests.attacks.table

# Parts and sizes: make soak SOAK="--only frames --frames 1000000"
SOAK ?=

soak: $(READY)  ## hostile frames by the 100,000, kills at random moments (some minutes)
	$(BIN)/python -m tests.soak $(SOAK)

# What `make bench` compares with lives in an environment of its own, and stays out of git.
PEERS := .venv-bench
# Parts and sizes: make bench BENCH="--only ours,floor,memory,check --class-size 40"
BENCH ?=

bench: $(READY) $(PEERS)/.ready  ## time a class here and by graders of notebooks (some minutes)
	$(BIN)/python -m bench $(BENCH)

$(PEERS)/.ready: bench/requirements.txt bench/constraints.txt
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@echo '*' > $(PEERS)/.gitignore
	@echo "setting up $(PEERS), 1.6 GB; the first time takes some minutes"
ifneq ($(TORCH_INDEX),)
	$(PEERS)/bin/python -m pip install --quiet --index-url $(TORCH_INDEX) -c bench/constraints.txt torch
endif
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c bench/constraints.txt -r bench/requirements.txt
	@touch $@

clean:  ## remove what was built: .venv, results, caches
	rm -rf $(VENV) .venv-bench build results .mypy_cache .pytest_cache .ruff_cache .hypothesis \
	    .coverage .coverage.* htmlcov
