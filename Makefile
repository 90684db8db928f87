# Everything is built and tested with Go, make, gcc (for the race detector),
# curl and jq. `make` alone lists the targets.

SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
GO ?= go
# One way to build for all that is built here, or every dependency is compiled once
# for each way. The race detector alone needs cgo.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)
GO_RACE := CGO_ENABLED=1 $(GO) test -race
BIN := bin/berth
SOURCES := $(shell find cmd webhook certs -name '*.go' -not -name '*_test.go') go.mod go.sum
FUZZTIME ?= 60s
SOAK ?= 10m
PARTS ?=
HELM := $(GO) tool -modfile=test/tools/helm/go.mod helm
GOLANGCI_LINT := $(GO) tool -modfile=$(CURDIR)/test/tools/golangci-lint/go.mod golangci-lint
# The modules that hold code: the product's, and those of its tests.
MODULES := . test/deploy test/monitoring test/e2e test/bench test/bench/decoders

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: $(BIN) ## build bin/berth

# A file that changes when VERSION does, so that what is stamped with it is built again.
bin/version bin/image/version: FORCE
	@mkdir -p $(@D); test "$$(cat $@ 2>/dev/null)" = '$(VERSION)' || echo '$(VERSION)' > $@

.PHONY: FORCE
FORCE:

$(BIN): $(SOURCES) bin/version
	$(GO) build -ldflags '$(LDFLAGS)' -o $@ ./cmd/berth

.PHONY: demo
demo: $(BIN) ## see it decide: a real HTTPS webhook, reviews posted with curl, no cluster
	@test/demo/demo.sh $(BIN)

.PHONY: run
run: $(BIN) ## the demo's server, kept running, with the curl line to try
	@test/demo/demo.sh --keep $(BIN)

IMAGE ?= ghcr.io/berth-dev/berth
IMAGE_ARCHES ?= amd64 arm64

bin/image/%/berth: $(SOURCES) bin/image/version
	GOOS=linux GOARCH=$* $(GO) build -ldflags '$(LDFLAGS)' -o $@ ./cmd/berth

.PHONY: image
image: $(foreach arch,$(IMAGE_ARCHES),bin/image/$(arch)/berth) ## the image for each platform, as OCI archives in bin/image (needs buildah)
	@test/image/build.sh $(IMAGE):$(VERSION) $(IMAGE_ARCHES)

.PHONY: test
test: ## all tests that need no cluster, with the race detector
	$(GO_RACE) -timeout 15m ./...

.PHONY: cluster
cluster: ## a real cluster on this machine, with Berth installed (Linux, root; first build 12 minutes)
	cd test/e2e && $(GO) run ./cmd/cluster up

.PHONY: cluster-down
cluster-down: ## stop that cluster
	cd test/e2e && $(GO) run ./cmd/cluster down

.PHONY: e2e
e2e: cluster ## the roads that only a real cluster can prove, on that cluster, and the soak beside them
	SOAK=$(SOAK) test/e2e/run.sh

.PHONY: soak
soak: cluster ## SOAK (10m) of mixed load on a Berth of its own, which must not grow
	cd test/e2e && SOAK=$(SOAK) $(GO) test -tags e2e -count=1 -timeout 90m -run '^TestSoak$$' -v .

.PHONY: bench
bench: ## measure against every other way to do it, and write the README's table (PARTS="bytes https api scale daemonset storm")
	cd test/bench && $(GO) run ./cmd/bench $(PARTS)
	cd test/bench && $(GO) run ./cmd/report -results ../../bin/bench -svg growth.svg -into ../../README.md

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (60s)
	@set -e; for target in $$(grep -rhoE '^func Fuzz[A-Za-z]+' webhook --include '*_test.go' | awk '{print $$2}' | sort); do \
		dir=$$(dirname $$(grep -rlE "^func $$target\(" webhook --include '*_test.go')); \
		echo "$$target in $$dir"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) ./$$dir; \
	done

.PHONY: lint
lint: ## gofmt, vet and golangci-lint
	@unformatted=$$(gofmt -l cmd webhook certs test); test -z "$$unformatted" || { echo "not gofmt'ed: $$unformatted"; exit 1; }
	for module in $(MODULES); do (cd $$module && $(GO) vet -tags e2e ./... && $(GOLANGCI_LINT) run --build-tags e2e ./...); done

.PHONY: verify
verify: $(BIN) ## what is generated or repeated is up to date: go.mod, goldens, README, chart and berth.yaml
	for module in $(MODULES) test/tools/helm test/tools/golangci-lint; do (cd $$module && $(GO) mod tidy -diff); done
	$(GO) mod verify
	$(GO) test -count=1 -run 'Readme|Fixtures|Rooms' ./cmd/berth ./test/ ./test/rooms
	$(HELM) lint --strict deploy/chart
	cd test/deploy && BERTH=$(CURDIR)/$(BIN) $(GO_RACE) -count=1 -timeout 15m ./...
	cd test/monitoring && $(GO) test -timeout 15m ./...
	cd test/bench && $(GO) test ./...
	cd test/bench/decoders && $(GO) test ./...

deploy/berth.yaml: $(shell find deploy/chart -type f) $(BIN) ## render the chart again
	cd test/deploy && BERTH=$(CURDIR)/$(BIN) UPDATE_DEPLOY=1 $(GO) test -count=1 -run TestBerthYAML .

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
