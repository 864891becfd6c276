# `make` lists the targets. CONTRIBUTING.md says more about each.
.DEFAULT_GOAL := help
.PHONY: help setup build release python demo test test-long matrix drills drills-random soak accept accept-clean accept-python coverage-spec verdicts traces validate guided bench packages accept-packages packages-memory release-check fuzz fuzz-canary swarm swarm-canary wifi wifi-faults fmt lint doc site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

setup: ## install what building and the live part need (Debian packages; nothing when all is there)
	@scripts/setup

build: setup ## build everything, debug profile
	cargo build --locked --workspace --all-targets

release: setup ## build target/release/airtcp
	cargo build --locked --release --package airtcp

python: ## build the Python package and test it in target/python-test (Python 3.9 or newer)
	@scripts/python --release

demo: ## the demo: simulator, then kernel TCP over a lossy link and one whose rate varies (live part: root), about 9 minutes
	@scripts/demo

test: ## every check and test; live tests when root (README.md says how long it takes)
	@scripts/setup test
	@scripts/test

test-long: ## the same with the long fault drills and matrices, clusters, the kernel's 802.11 stack and the Python package
	@scripts/setup test clusters python site wifi
	@scripts/wifi-kernel
	@scripts/test --long

matrix: setup ## file transfers through every impairment, live (root) and simulated, a line per cell; about 6 minutes
	AIRTCP_TEST_LONG=1 cargo test --quiet --locked --package airtcp-linux --test live_matrix -- --nocapture
	cargo test --quiet --locked --package airtcp-sim --test all matrix:: -- --nocapture

drills: setup ## kill and stop gateways under a file transfer, take their program, disk, link or rules away, 20 of each kind, a line per drill; half an hour, root
	AIRTCP_TEST_LONG=1 cargo test --quiet --locked --package airtcp-linux --test live_drills --test live_troubles -- --nocapture --test-threads=1

soak: setup ## twelve hours of a gateway's life in one: a hub and four spokes, a million connections, a fault each minute (root; SECONDS=3600, SEED, SCHEME)
	cargo build --quiet --locked --profile daemon --package airtcp --no-default-features --features bpf --bin airtcpd
	AIRTCP_SOAK_SECONDS=$(or $(SECONDS),3600) AIRTCP_SOAK_SEED=$(or $(SEED),1) AIRTCP_SOAK_SCHEME=$(or $(SCHEME),gsnoop) AIRTCPD=$(CURDIR)/target/daemon/airtcpd \
		cargo test --quiet --locked --package airtcp --test live_soak live_ -- --nocapture

drills-random: setup ## 300 random traces of our TCP's sender, given to the kernel's; fails unless 285 are equal (root, some minutes; SEED=1)
	cargo run --quiet --locked --release --package airtcp-drill -- --random 300 --seed $(or $(SEED),1) --equal 285

wifi: ## AS-TCP on the kernel's 802.11 stack: 20 MB uploads by simulated radios, a table beside the simulator's; about 20 minutes
	@scripts/wifi

wifi-faults: ## kill and stop both gateways of AS-TCP under uploads there: no cut stream ends cleanly; a minute
	@scripts/wifi --faults

accept: release ## our own demands on live and simulated runs, acceptance/*.toml; fails unless every one holds (root, two and a half hours)
	@status=0; for file in acceptance/*.toml; do target/release/airtcp reproduce $$file --strict || status=1; done; exit $$status

accept-clean: ## demo and test in a fresh Debian root (root, debootstrap)
	@scripts/accept-clean

accept-python: ## the Python package in a fresh Debian root with Python only: first result, sizes, times (root, debootstrap)
	@scripts/accept-python

coverage-spec: ## rules and claims of the specification without code or without test
	@cargo run --quiet --locked --package airtcp-tidy --bin coverage-spec

verdicts: release ## judge every claim of the papers in full, then under mutations; writes docs/verdicts.md (hours)
	@status=0; for paper in papers/*/; do for option in "" --mutations; do \
		target/release/airtcp reproduce "$$(basename $$paper)" $$option || status=1; done; done; \
	target/release/airtcp verdicts --output docs/verdicts.md; exit $$status

traces: ## is the simulator's behaviour what it was? the demo, the papers' quick runs and thirty scenarios, by hash
	@scripts/traces

validate: release ## compare with theory, ns-2, ns-3's figures and the Linux kernel; writes docs/validation.md (root)
	@scripts/setup validate
	cargo run --quiet --locked --release --package airtcp-validate

guided: setup ## build target/guided/airtcp, profile-guided: a sixth less CPU time for the demo; the build takes three times as long
	@scripts/setup guided
	@scripts/guided airtcp

bench: release ## speed against ns-2, ns-3 and a bare forwarder; writes docs/performance.md (half an hour, quiet machine)
	@scripts/setup bench guided
	@scripts/bench

packages: ## airtcpd as .deb and as static archive, for amd64 and arm64, with parts and licences; built and judged in a Debian root (root)
	@scripts/setup packages
	@scripts/packages-root scripts/packages
	@scripts/packages-root scripts/packages-check

packages-memory: setup ## the packaged airtcpd of this machine helps 1,000 connections: 16 MiB at most (root)
	@scripts/packages-memory

release-check: ## the release check-list: each step with its state; goes on where it was interrupted (root, hours)
	@scripts/release-check

accept-packages: packages ## that package on two Debian machines with systemd: install, restart, upgrade, reboot, purge (root, debootstrap)
	@scripts/setup machines
	@scripts/accept-packages

fuzz: ## 10 million executions of each fuzz target, 200,000 of `feedback` (nightly Rust)
	@scripts/setup fuzz
	@scripts/fuzz

fuzz-canary: ## each fuzz target must find a planted bug within a million executions
	@scripts/setup fuzz
	@scripts/fuzz --canary

swarm: ## 20,000 seeds of random operations and random networks, half of them from 0 and half from 1,000,000 on, on all cores
	cargo run --quiet --locked --release --package airtcp-swarm

swarm-canary: ## the swarm must find each planted bug within its budget, and nothing without it
	cargo run --quiet --locked --release --package airtcp-swarm -- --canary

fmt: ## format the source
	cargo fmt --all

lint: ## format check and clippy
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

doc: ## build the API documentation
	cargo doc --locked --workspace --no-deps

site: release ## all pages, reference, papers and APIs for a browser, in target/site; checked
	@scripts/setup site
	@scripts/site

clean: ## remove what was built
	cargo clean
	rm -rf fuzz/target
