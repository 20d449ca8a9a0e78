# `make demo` and `make test` set up everything they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := tests/data/claude/agent_background/agent_background.stdout.jsonl

.PHONY: demo test lint types check laws expected docs bench clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

demo: $(VENV)/.ready ## show a recorded Claude Code run as events
	$(BIN)/steno events --from claude --profile extended --pretty $(DEMO)

test: lint types check ## everything that must hold

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

check: $(VENV)/.ready
	$(BIN)/pytest -n auto

laws: $(VENV)/.ready ## the law tests over your own recordings: make laws DATA=folder
	STENOGRAPH_EXTRA_DATA=$(abspath $(DATA)) $(BIN)/pytest tests/test_laws.py -n auto

expected: $(VENV)/.ready ## write the expected events and usage beside the recordings again; review the diff
	$(BIN)/python tests/recordings.py

docs: $(VENV)/.ready ## write help texts, tables and the output of snippets into the documentation again
	$(BIN)/python scripts/docs.py

bench: $(VENV)/.ready
	failed=0; for each in run streams usage; do $(BIN)/python bench/$$each.py || failed=1; done; exit $$failed

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
