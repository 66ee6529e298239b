# Everything a newcomer needs is `make demo` and `make test`; both set up what they use and say so.
PY := .venv/bin/python
.PHONY: setup demo test quick soak lint docs bench clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	@echo "== setting up .venv with Holdfast and its development tools"
	@test -x $(PY) || python3 -m venv .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

quick: setup
	$(PY) -m pytest -m "not slow and not soak" -n 2

test: setup lint
	$(PY) -m pytest -m "not soak"

soak: setup
	$(PY) -m pytest

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
