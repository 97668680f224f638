# make run   fetch the model and open the app        make test   everything that CI runs
# The rest is in README.md. Nothing outside .venv and the model's cache folder is touched,
# except that `make test` as root installs Chromium if it is missing.

# The first Python here that is new enough (a name may exist and not run).
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

bin := .venv/bin

.DEFAULT_GOAL := run
.DELETE_ON_ERROR:
.PHONY: run fetch test lint format bench bench-gpu screenshots messages chromium clean

run: fetch
	$(bin)/streamlit run app.py

fetch: .venv/runtime
	$(bin)/python -m specviz fetch

test: .venv/dev chromium fetch
	$(bin)/python -m pytest

lint: .venv/dev
	$(bin)/ruff check
	$(bin)/ruff format --check
	$(bin)/mypy

format: .venv/dev
	$(bin)/ruff check --fix
	$(bin)/ruff format

bench: fetch
	$(bin)/python -m scripts.speed

bench-gpu: fetch
	$(bin)/python -m scripts.speed --device cuda --max-new-tokens 256

# The texts of the pages: collect them, then bring every language's catalogue up to date.
messages: .venv/dev
	mkdir -p build
	$(bin)/pybabel extract --output-file build/specviz.pot --project specviz --no-location \
		--sort-output --add-comments Translators: app.py pages specviz
	for folder in specviz/ui/locales/*/; do test ! -d $$folder || \
		$(bin)/pybabel update --domain specviz --input-file build/specviz.pot \
			--output-dir specviz/ui/locales --locale $$(basename $$folder) || exit 1; done
	test -z "$$(ls specviz/ui/locales 2>/dev/null)" || \
		$(bin)/pybabel compile --domain specviz --directory specviz/ui/locales

screenshots: .venv/dev chromium fetch
	$(bin)/python -m scripts.screenshots

# An empty file each, newer than what it stands for, so that a second `make` is quick.
.venv/runtime: requirements.txt | .venv/made
	$(bin)/python -m pip install --disable-pip-version-check --requirement requirements.txt
	touch $@

.venv/dev: requirements-dev.txt .venv/runtime
	$(bin)/python -m pip install --disable-pip-version-check --requirement requirements-dev.txt
	touch $@

.venv/made:
	@test -n "$(PYTHON)" || { echo "specviz needs Python 3.11 or newer: install it, or name it, as in make PYTHON=/path/to/python3.12." >&2; exit 2; }
	$(PYTHON) -m venv .venv
	touch $@

chromium:
	@test -n "$$CHROMIUM" || command -v chromium >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update && apt-get install --yes --no-install-recommends chromium; \
		else \
			echo "The browser tests need Chromium: install it (on Debian: sudo apt-get install chromium), or set CHROMIUM to its path, and try again." >&2; \
			exit 2; \
		fi; }

clean:
	rm -rf .venv
