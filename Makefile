# The commands of this project: `make` alone lists them.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed.stamp
CLIENTS := .venv/clients.stamp

.DEFAULT_GOAL := help
.PHONY: help venv run demo servers clients test check proto soak bench bench-own bench-quick

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

venv: $(STAMP) ## make .venv, again whenever pyproject.toml or constraints.txt changes

# Debian ships venv apart from Python; without it `python3 -m venv` leaves half an environment behind.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || sh tests/install_packages.sh python3-venv
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv module is missing: install the package python3-venv, then run make again." >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,postgres,mysql,redis,spark]'
	@touch $@

run: $(STAMP) ## serve rowmq.db, and the dashboard, at http://127.0.0.1:9999
	@$(BIN)/rowmq serve

demo: $(STAMP) ## tell the whole story on SQLite: a broker, four ways in, failures, and everything in bulk on Spark
	@command -v java >/dev/null 2>&1 || sh tests/install_packages.sh default-jre-headless
	$(BIN)/python examples/demo.py

servers: ## install PostgreSQL, MariaDB, Redis, Java, Chromium and Node.js when they are missing (as root, on Debian)
	@sh tests/install_packages.sh

clients: servers $(CLIENTS) ## install the clients of other languages and ages that the server is tested with

$(CLIENTS): $(STAMP) tests/install_clients.sh tests/doors/http/sqs/javascript/package.json tests/doors/http/sqs/old_boto3.txt tests/doors/grpc/javascript/package.json
	@sh tests/install_clients.sh
	@touch $@

test: $(STAMP) servers clients ## run the tests, against private servers
	$(BIN)/pytest -n 4 --dist loadgroup

check: $(STAMP) ## format, lint, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

proto: $(STAMP) ## write the Python code of the .proto files
	$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. rowmq/doors/grpc/routeguide.proto rowmq/stores/grpc/rowmq.proto

soak: $(STAMP) servers ## run the long tests
	$(BIN)/pytest -m soak --timeout 0 tests

bench: $(STAMP) servers ## measure RowMQ beside every peer, for two hours; writes benchmarks/peers.md and its charts
	$(BIN)/python -m benchmarks.peers

bench-own: $(STAMP) servers ## measure RowMQ alone, for half an hour: crowded stores, drivers, workers, doors, Spark
	@sh tests/install_packages.sh wrk libpostgresql-jdbc-java
	$(BIN)/python -m benchmarks.publish claim_cost
	$(BIN)/python -m benchmarks.publish claim_cost --held
	$(BIN)/python -m benchmarks.publish engine
	$(BIN)/python -m benchmarks.publish worker
	$(BIN)/python -m benchmarks.publish latency
	$(BIN)/python -m benchmarks.publish http
	$(BIN)/python -m benchmarks.publish grpc
	$(BIN)/python -m benchmarks.publish dashboard
	$(BIN)/python -m benchmarks.publish spark

bench-quick: $(STAMP) servers ## measure RowMQ beside four peers, for minutes
	$(BIN)/python -m benchmarks.peers --quick
