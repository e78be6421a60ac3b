# The front door. Every target brings its own prerequisites and is quiet on success.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Node 24 from npm runs everything; the machine's own Node only has to start npm.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

SEEDS ?= 2000
ROUNDS ?= 5
VOLUMES ?= 500
stamp := build/.setup

.PHONY: help
help: ## show this
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | \
	  awk -F '\t' '{ printf "  make %-15s %s\n", $$1, $$2 }'

.PHONY: setup
setup: $(stamp) ## install what the project needs from npm

$(stamp): package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer" >&2; exit 1; }
	@echo "installing packages from npm ..."
	@npm install --no-save --silent --no-progress
	@mkdir -p build && touch $@

.PHONY: check
check: $(stamp) ## format, lint, types, layers, tidy, unit, flow and a short simulation (under 60 s)
	@node tools/test.ts check

.PHONY: format
format: $(stamp) ## format the sources
	@biome check --write --log-level=error .

.PHONY: test
test: $(stamp) ## what CI runs: check, then real LVM in guests, and Quarry on a real Kubernetes
	@node tools/test.ts test

.PHONY: test-all
test-all: $(stamp) ## every suite, whatever it takes
	@node tools/test.ts all

.PHONY: sim
sim: $(stamp) ## explore random hosts, clusters, LVMClusters: make sim SEEDS=2000, or SEED=17 to replay a host
	@node test/sim/main.ts --seeds $(SEEDS) $(if $(SEED),--seed $(SEED))
	@$(if $(SEED),,node test/sim/cluster-main.ts --seeds $(SEEDS))
	@$(if $(SEED),,node test/sim/cluster-main.ts --of lvms --seeds $(SEEDS))

.PHONY: sim-cluster
sim-cluster: $(stamp) ## clusters alone: make sim-cluster SEEDS=400, or SEED=17 to replay one
	@node test/sim/cluster-main.ts --seeds $(SEEDS) $(if $(SEED),--seed $(SEED))

.PHONY: sim-lvms
sim-lvms: $(stamp) ## LVMClusters alone: make sim-lvms SEEDS=400, or SEED=17 to replay one
	@node test/sim/cluster-main.ts --of lvms --seeds $(SEEDS) $(if $(SEED),--seed $(SEED))

.PHONY: mutants
mutants: $(stamp) ## prove that the simulators catch deliberately broken cores and roles
	@node test/sim/mutants.ts
	@node test/sim/cluster-mutants.ts

.PHONY: sanity
sanity: $(stamp) ## CSI's conformance suite on real LVM: make sanity ARGS="--block thin", or all classes
	@node lab/sanity/main.ts $(ARGS)

.PHONY: demo
demo: $(stamp) ## one host, then a real Kubernetes: volumes, snapshots, a power cut; KEEP=1 leaves it running
	@node lab/demo/main.ts $(if $(filter-out 0 no,$(KEEP)),--keep)

.PHONY: demo-standalone
demo-standalone: $(stamp) ## only the first part of it, which needs no Go and no Kubernetes
	@node lab/demo/main.ts --only standalone

.PHONY: e2e
e2e: $(stamp) ## claims on a real Kubernetes with two nodes, installed by our own manifests
	@node tools/suites.ts e2e

.PHONY: lab
lab: $(stamp) ## boot guests with real LVM and stay: make lab ARGS="--guests 2 --disks 4"
	@node lab/main.ts up $(ARGS)

.PHONY: lab-kube
lab-kube: $(stamp) ## a real Kubernetes with two nodes: brings it up, shows it, stops it
	@node lab/cluster/main.ts check

.PHONY: bundle
bundle: $(stamp) ## the program as one file, build/quarry.cjs
	@node tools/bundle.ts build/quarry.cjs

.PHONY: bench
bench: $(stamp) ## the driver beside bare lvm and TopoLVM's lvmd: make bench ROUNDS=3 VOLUMES=50 is short
	@node bench/main.ts --rounds $(ROUNDS) --volumes $(VOLUMES)

.PHONY: bench-kube
bench-kube: $(stamp) ## claims and pods on a real Kubernetes: make bench-kube ARGS="--claims 1x5,20" is short
	@node bench/kube/main.ts $(ARGS)

.PHONY: scale
scale: $(stamp) ## 500 agents and 5,000 volumes at a real API server, without machines
	@node bench/scale/main.ts $(ARGS)

.PHONY: fixtures
fixtures: $(stamp) ## record real lvm2 output again, from Debian 12 and 13
	@node lab/fixtures/main.ts

.PHONY: generate
generate: $(stamp) ## make generated docs and the bill of materials again
	@node tools/generate.ts

.PHONY: image
image: $(stamp) ## OCI images for amd64 and arm64 in build/image, and manifests that pin them in build/manifests
	@node tools/image.ts $(ARGS)

.PHONY: manifests
manifests: $(stamp) ## make deploy/ and charts/ again, for the images of deploy/release.json
	@node tools/manifests.ts

.PHONY: clean
clean: ## remove what was built in the tree (the lab's cache stays)
	@rm -rf build node_modules
