# make         builds the programs in bin, and says so, since Go compiles silently
# make test    the tests, as .ci/run and a user run them
# make lint    gofmt, vet, staticcheck, deadcode
# make race    the packages of .ci/race-packages under the race detector
# make bench   the Go benchmarks of all packages
# make benchstat  the benchmarks of BENCHED now, compared with benchmarks/baseline
# make baseline   writes benchmarks/baseline anew
# make fuzz    each fuzz target for FUZZTIME
# make profile a CPU profile of a large search: MODE=cpu|mem|mutex|block|trace
# make release in dist, for PLATFORMS: archives, Debian packages, a Homebrew formula for URL, checksums
# make generate  the methods of syntax trees, from the declarations of their nodes
# make module  renames the module to MODULE, everywhere
# make ci      all that the continuous integration does

GO ?= go
FUZZTIME ?= 30s
MODE ?= cpu
MODEL ?= -por none -D R=3 benchmarks/robots.model

BASELINE := benchmarks/baseline/go.txt
BENCHED := ./cartesian ./engine/search ./engine/stateless ./frontend/model/machine ./statestore ./workers
MEASURE := $(GO) test -run '^$$' -bench . -benchmem -benchtime 100ms -count 5 -p 1 $(BENCHED)

PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Where the archives will be; by default, dist.
URL ?=
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: build test lint race bench benchstat baseline fuzz profile release generate module ci clean

build:
	@echo 'compiling cpor; the first time, this takes up to a minute'
	@$(GO) build -o bin/ ./cmd/cpor
	@echo 'bin/cpor is ready; compiling the programs behind cpor bench and cpor mcp'
	@$(GO) build -o bin/ ./cmd/...

test:
	$(GO) test ./...

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "gofmt -w $$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	@dead=$$($(GO) tool deadcode -test ./...); if [ -n "$$dead" ]; then echo "$$dead"; exit 1; fi

race:
	.ci/run race

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

benchstat:
	@now=$$(mktemp) && $(MEASURE) > $$now && $(GO) tool benchstat $(BASELINE) $$now; rm -f $$now

baseline:
	$(MEASURE) > $(BASELINE)

# A package can have several fuzz targets, and Go runs one at a time.
fuzz:
	@$(GO) list ./... | while read -r pkg; do \
		for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz'); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
		done; \
	done

profile: build
	bin/cpor run -profile $(MODE) $(MODEL)

release:
	$(GO) run ./internal/release -version '$(VERSION)' -url '$(URL)' -out dist $(PLATFORMS)

generate:
	$(GO) generate ./frontend/...

module:
	.ci/module $(MODULE)

ci:
	.ci/run

clean:
	rm -rf bin dist *.pprof trace.out
