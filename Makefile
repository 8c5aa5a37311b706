# Two commands are enough: `make run` and `make test`. `make help` lists the rest.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c

PREFIX      ?= /usr/local
GO          ?= go
FUZZCOUNT   ?= 20000x
BIN         := bin
HOST_BIN    := $(BIN)

# Both modules, brig and brig/brigd. No go.work stands in the root, so that go list -m all there is what an embedder gets.
export GOWORK := $(CURDIR)/scripts/go.work

# No VCS stamp: it would need git, and fail in a checkout that another user owns. The tests build programs, too.
export GOFLAGS += -buildvcs=false

# Debian's ordinary users have no sbin on their PATH, and the tests want chroot(8).
export PATH := $(PATH):/usr/sbin:/sbin

# Static: one file that runs on any Linux and inside any root, with the libseccomp that it was tested with.
STATIC := GO='$(GO)' scripts/static.sh

.PHONY: help deps deps-test deps-vm build run test check fuzz bench bench-deps install uninstall clean package test-agents test-all test-arm64 test-docs test-egress test-guests test-long test-mcp test-net test-package test-ports test-systemd test-vm
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

deps: ## install what the build and the demo need (Debian packages, with sudo where not root)
	@GO='$(GO)' scripts/deps.sh build

deps-vm:
	@GO='$(GO)' scripts/deps.sh vm

deps-test: ## install what the tests need as well
	@GO='$(GO)' scripts/deps.sh test

build: deps ## build bin/brig, bin/brigd and bin/brigd-queue, each one static binary
	@mkdir -p bin
	$(STATIC) build -o bin/brig ./cmd/brig
	$(STATIC) build -o bin/brigd ./brigd/cmd/brigd
	$(STATIC) build -o bin/brigd-queue ./brigd/cmd/brigd-queue

run: build ## the demo: an agent's analysis of real data that then tries to break out
	@testdata/demo/run.sh bin/brig bin/demo-output

test: deps-test build ## every package as root and as an ordinary user: at most 7 minutes on two cores (test-all: the rest)
	@GO='$(GO)' scripts/test.sh

test-all: check test-long test-net test-mcp test-ports test-agents test-package test-docs ## what make test leaves out: half an hour more

test-long: deps-test build ## the tests that make test leaves out
	@GO='$(GO)' scripts/test.sh long
	$(GO) test -count=1 -tags otel ./brigd/internal/trace

# Apart from the packages: taking many network namespaces apart slows down whatever makes one. The attacks mostly wait,
# and the guests use the processors meanwhile.
test-net: deps-test build ## the attacks on a network by name, the fuzzers of what reads it, and Debian's kernels in guests
	@$(MAKE) --no-print-directory -j2 -Oline test-egress test-guests

test-egress: deps-test build
	@scripts/in-tmp.sh scripts/egress.sh '$(GO)' 100000x

test-guests:
	@nice -n 5 $(MAKE) --no-print-directory test-vm VM_SET=quick

test-docs: ## each command of README, docs and the manual pages, on a bare Debian 12 without a cache (root, or sudo)
	@GO='$(GO)' scripts/deps.sh docs
	@scripts/docs/test.sh

test-mcp: build ## the MCP inspector lists and calls every tool of brigd mcp, over stdio and HTTP (installs it from npm into bin)
	@GO='$(GO)' scripts/deps.sh mcp
	@scripts/mcp-inspector.sh bin/brigd

test-ports: build ## in Chromium, the page of a sandbox attacks brigd and another sandbox (installs Chromium)
	@GO='$(GO)' scripts/deps.sh ports
	@scripts/ports.sh bin/brigd

test-agents: build ## srt and Codex, unmodified, run commands with brig as their bubblewrap (installs them from npm into bin)
	@GO='$(GO)' scripts/deps.sh agents
	@scripts/agents.sh bin/brig

test-vm: deps-vm ## the suites under Debian's kernels 6.1 and 6.12, in guests (VM_SET=quick, VM_LANES, VM_RUN)
	@GO='$(GO)' scripts/vm/all.sh

test-arm64: deps-vm ## the guests' suites and seccomp's under Debian's arm64 kernel, emulated: an hour or more (VM_SET, VM_LANES, VM_RUN)
	@GO='$(GO)' scripts/deps.sh arm64
	@GO='$(GO)' VM_ARCH=arm64 VM_SET=$${VM_SET:-quick} VM_LANES="$${VM_LANES:-seccomp root user}" VM_KERNELS=$${VM_KERNELS:-6.1} \
	  VM_TIMEOUT=$${VM_TIMEOUT:-7200} scripts/vm/all.sh

check: deps-test ## gofmt, go vet, staticcheck
	@bad=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./... ./brigd/...)); \
	  if [ -n "$$bad" ]; then echo "gofmt: run gofmt -w on:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./... ./brigd/...
	@mkdir -p bin # staticcheck is pinned in a module of its own, so that it is no dependency of brig's
	@GOWORK=off $(GO) -C scripts/tools build -o ../../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./... ./brigd/...

fuzz: deps ## run FUZZCOUNT (20000x) inputs against every parser; make test runs the seeds only
	@scripts/fuzz.sh '$(GO)' '$(FUZZCOUNT)'

test-systemd: package ## delegation by systemd 252 and the package's units, told as stories in a guest with systemd as process 1
	@GO='$(GO)' scripts/deps.sh systemd
	@scripts/systemd/test.sh bin/brig dist/*_amd64.deb

package: build ## packages into dist: .deb, .rpm, .tar.gz, with SBOMs and checksums; reproducible (ARCH='amd64 arm64')
	@GO='$(GO)' ARCH='$(ARCH)' scripts/deps.sh package
	@GO='$(GO)' ARCH='$(ARCH)' scripts/package.sh

test-package: package ## install, upgrade, remove and purge the .deb in clean roots of Debian 12 and 13 (root, or sudo)
	@GO='$(GO)' scripts/deps.sh test-package
	@scripts/package-test.sh dist/*_"$$(dpkg --print-architecture)".deb

bench: build ## compare, on this machine, what isolation costs: with brig and with whatever else is installed (ARGS=--quick)
	$(STATIC) build -o bin/brig-bench ./cmd/brig-bench
	bin/brig-bench --brig bin/brig $(ARGS)

bench-deps: ## install what make bench compares brig with, as far as Debian has it
	@GO='$(GO)' scripts/deps.sh bench

install: build ## install the binaries, the manual pages and the completions under PREFIX (/usr/local)
	@# ISOLATE=1, BWRAP=1: under these names, too
	scripts/programs.sh install '$(DESTDIR)$(PREFIX)' $(BIN) $(if $(ISOLATE),isolate) $(if $(BWRAP),bwrap)
	install -d '$(DESTDIR)$(PREFIX)/share/man/man1' '$(DESTDIR)$(PREFIX)/share/man/man8'
	install -m 644 docs/brig.1 '$(DESTDIR)$(PREFIX)/share/man/man1/brig.1'
	install -m 644 docs/brigd.8 docs/brigd-queue.8 '$(DESTDIR)$(PREFIX)/share/man/man8/'
	scripts/docs/install.sh '$(DESTDIR)$(PREFIX)/share/doc/brig'
	@scripts/completions.sh $(HOST_BIN) '$(DESTDIR)$(PREFIX)/share'

uninstall: ## remove what install has put under PREFIX
	scripts/programs.sh remove '$(DESTDIR)$(PREFIX)'
	rm -f '$(DESTDIR)$(PREFIX)/share/man/man1/brig.1' '$(DESTDIR)$(PREFIX)/share/man/man8/'brigd.8 \
	  '$(DESTDIR)$(PREFIX)/share/man/man8/'brigd-queue.8
	@scripts/completions.sh -r '$(DESTDIR)$(PREFIX)/share'
	rm -rf '$(DESTDIR)$(PREFIX)/share/doc/brig'

clean: ## remove what make has made
	rm -rf bin dist
