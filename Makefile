# Helenus: `make run` starts a node, `make test` runs every test. `make help` lists the rest.

PREFIX ?= /usr/local
VENV := .venv
CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
BINARY := $(TARGET)/release/helenus

.PHONY: help run cqlsh demo test check fix soak bench install dist clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(BINARY) ## Build the release binary and start a node with ./data
	$(BINARY) start --data-dir ./data

$(BINARY): FORCE
	@command -v $(CARGO) >/dev/null || { echo "Rust is missing: install it from https://rustup.rs (curl https://sh.rustup.rs -sSf | sh)"; exit 1; }
	$(CARGO) build --release --locked -p helenus-helenus --target-dir $(TARGET)

FORCE:

cqlsh: $(VENV)/bin/cqlsh ## Open the unmodified cqlsh from PyPI against the running node
	$(VENV)/bin/cqlsh

$(VENV)/bin/cqlsh:
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement tests/drivers/python/requirements.txt

test: ## Run all tests, with one summary and the time of each suite
	python3 tests/run.py

check: ## The quick loop: format, clippy, unit tests; never rewrites
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --workspace --locked

fix: ## Format and apply clippy's suggestions
	$(CARGO) fmt --all
	$(CARGO) clippy --workspace --all-targets --fix --allow-dirty --allow-staged

soak: ## The long runs: crash loops, simulation and fuzzing for hours
	python3 tests/run.py --soak

demo: $(BINARY) ## The main job on real input, with a kill in the middle
	python3 tests/demo/run.py --binary $(BINARY)

bench: $(BINARY) ## Helenus beside Cassandra on this machine; prints a table like those of bench/RESULTS.md
	python3 bench/compare/run.py --binary $(BINARY)

install: $(BINARY) ## Install binary and configuration under PREFIX
	install -D -m 0755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/helenus
	install -D -m 0644 conf/helenus.yaml $(DESTDIR)$(PREFIX)/share/helenus/helenus.yaml
	install -D -m 0644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/helenus/LICENSE

dist: $(BINARY) ## A tarball in target/dist
	@version=$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1); name=helenus-$$version-$$(uname -m)-linux; \
	rm -rf target/dist/$$name && mkdir -p target/dist/$$name/bin target/dist/$$name/conf && \
	cp $(BINARY) target/dist/$$name/bin/ && cp conf/helenus.yaml target/dist/$$name/conf/ && \
	cp README.md LICENSE CHANGELOG.md target/dist/$$name/ && \
	tar -C target/dist -czf target/dist/$$name.tar.gz $$name && echo "target/dist/$$name.tar.gz"

clean: ## Remove build output, virtual environment and caches (not ./data)
	$(CARGO) clean
	rm -rf $(VENV) .cache
