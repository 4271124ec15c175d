# Every task of the project, each with its own set-up. `make help` lists them.

# Arguments for `make bench`, for example ARGS="--size 100000 --rounds 3 --only R1,R8".
ARGS ?=
# Seconds for each target of `make fuzz`.
SECONDS ?= 60

.PHONY: help demo test postgres-tests lint layers snippets refusals tool-docs examples articles docc
.PHONY: bench bench-instructions fuzz sanitize setup report-check

help: ## Lists these tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## Builds and runs the small address book on a fresh store
	@./Scripts/demo.sh

test: setup ## Runs the whole test suite, the library optimised
	@./Scripts/setup.sh --postgres
	@LARCH_OPTIMIZE=1 ./Scripts/test.sh

postgres-tests: setup ## Runs every test of logs on PostgreSQL, at length; fails where there is no server
	@./Scripts/setup.sh --postgres
	@LARCH_TESTS=LarchPostgresTests LARCH_POSTGRES=required LARCH_POSTGRES_CUTS=all \
		LARCH_POSTGRES_KILLS=20 LARCH_POSTGRES_SEEDS=40 LARCH_POSTGRES_LARGE=1 LARCH_FAILOVERS=3 ./Scripts/test.sh

lint: ## Checks the format and the rules of the house
	@./Scripts/lint.sh

layers: setup ## Checks that each folder of the library uses only the folders that it may use
	@./Tests/check-layers.sh
	@./Tests/check-layers-itself.sh

snippets: setup ## Checks that every example in the documents is part of a running test
	@./Scripts/snippets.sh

refusals: setup ## Checks that wrong uses do not compile, each with the error it should give
	@./Tests/check-refusals.sh

tool-docs: setup ## Checks that docs/tool.md shows what the commands print
	@./Scripts/tool-docs.sh --check

examples: setup ## Builds and runs the packages in Examples, as users of the library would
	@./Scripts/examples.sh

articles: ## Makes the articles of the documentation site from docs/
	@swift -swift-version 6 Scripts/articles.swift

docc: setup ## Builds the documentation site, API and articles; any warning fails
	@./Scripts/docc.sh

bench: ## Runs the benchmarks: make bench ARGS="--size 100000 --rounds 3 --only R1,R8 --json FILE"
	@./Scripts/bench.sh $(ARGS)

bench-instructions: ## Counts instructions of the main paths; ARGS=--record writes the baseline
	@./Scripts/bench-instructions.sh $(ARGS)

fuzz: setup ## Fuzzes keys, records and the catalog, SECONDS=60 each
	@./Scripts/fuzz.sh $(SECONDS)

sanitize: setup ## Runs the suite under the address sanitizer and then the thread sanitizer
	@./Scripts/sanitize.sh

report-check: setup ## Opens the page of `larch report` in a Chromium without a window
	@./Scripts/report-check.sh

setup: ## Installs LMDB where it is missing
	@./Scripts/setup.sh
