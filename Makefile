# make demo    set up, run the study `quick`, write the report and print its path
# make test-unit    set up, run the tests of pure code: no lab, no root, a minute or two
# make test    set up, install VPNs from packages, run the tests but the long ones
# make test-all    the same, then compile the other VPNs, and run what remains: theirs, those in a
#                  guest and a cluster, ten rounds of each VPN, kills at random moments
# make setup   build; then .venv/bin/culvert runs
# make lint    formats, types, warnings
# make bench   goals beside peers; ONLY=name runs one
# make docs    write the tables of the documentation
# make site    build the documentation as a site in build/site
# make dist    source, wheels for amd64 and arm64, bill of materials, in dist/; ARCH=amd64 builds one
# make deb     the same, and Debian packages of the wheels
# make image   a container image for this architecture, from its Debian package
# make fuzz    journals and the parsers of foreign bytes, FUZZ_SECONDS each
# make soak    trials with random faults, 30 minutes; SOAK_SECONDS=60 is shorter and keeps no figure
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash

UV := $(or $(shell command -v uv),.tools/uv/bin/uv)
BIN := .venv/bin
CULVERT := $(BIN)/culvert
RUST := $(shell find crates -name '*.rs') $(wildcard crates/*/Cargo.toml) Cargo.toml Cargo.lock
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
STUDY ?= quick
PROFILE ?= quick
OUT := $(or $(OUT), results/$(STUDY)-$(shell date +%Y%m%d-%H%M%S))
APT := iproute2 nftables iputils-ping $(if $(shell command -v cc),,gcc libc6-dev) \
  $(if $(shell python3 -c 'import ensurepip' 2>/dev/null && echo yes),,python3-venv)

# Tests that measure run one by one on one worker, and come first: tests/conftest.py.
# A worker that is lost ends the run: xdist cannot hand on the rest of its group.
WORKERS := --numprocesses 4 --dist loadgroup --no-loadscope-reorder --max-worker-restart 0

# VPNs that are installed in seconds, and those that take minutes to compile; all others (easytier,
# innernet, wesher, vendors') are tested where they are installed.
VPNS := wireguard/go wireguard/go-debian wireguard/kernel openvpn strongswan fastd tinc ssh ocserv softether
COMPILED := wireguard vpncloud yggdrasil nebula headscale sing-box quincy

# Names of the tests that have passed: `make test-all` does not repeat them.
PASSED := build/tests-passed

# What fails runs once more, alone.
PYTEST_TWICE = $(SUDO) $(BIN)/python -m tests.twice $(WORKERS) --passed=$(PASSED)

# To build a guest kernel from source, libFuzzer, the ways to become root on a host, and what packs and signs.
TEST_APT := sudo opendoas gcc g++ libc6-dev make flex bison bc libelf-dev xz-utils gnupg

# No file that the environment names decides which packages are trusted.
APT_GET := $(SUDO) env -u APT_CONFIG DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300

# Debian packages that are not there yet; $(1) names them.
define install-packages
	@missing=$$(for package in $(1); do \
	    dpkg-query -Wf '$${Status}' $$package 2>/dev/null | grep -q ' installed' || echo $$package; \
	  done); \
	  [ -z "$$missing" ] || { echo "installing" $$missing; $(APT_GET) update && \
	    $(APT_GET) install --yes --no-install-recommends $$missing >/dev/null; }
endef

# A package whose service is neither started nor enabled: tests start the program themselves.
POLICY := /usr/sbin/policy-rc.d
define without-services
[ -e $(POLICY) ] || { printf '#!/bin/sh\nexit 101\n' | $(SUDO) tee $(POLICY) >/dev/null \
	  && $(SUDO) chmod 755 $(POLICY) && trap '$(SUDO) rm -f $(POLICY)' EXIT; }; \
	$(APT_GET) update && $(APT_GET) install --yes --no-install-recommends $(1) >/dev/null \
	  && { $(SUDO) systemctl disable ssh.service ssh.socket >/dev/null 2>&1 || true; }
endef

# How long a command took, after its output.
timed = TIMEFORMAT='$(1): %0lR'; time

# The name of what is built, the Python expression that is None if it is not, and the command.
define unless-built
	@$(SUDO) $(BIN)/python -c 'from $(2) import built; raise SystemExit(built() is None)' || { echo "building $(1)"; \
	  $(call timed,$(1)) $(SUDO) $(CULVERT) $(3); } || echo "no $(1): its tests are skipped"
endef

.PHONY: help setup demo test-unit test test-all lint fmt bench docs site dist deb image fuzz soak probe-static clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

# An editable package has byte code of what was run, and none where PYTHONDONTWRITEBYTECODE is set:
# each start would compile whatever was edited since. What root compiled stays as it is.
setup: .venv/.set-up
	@$(BIN)/python -m compileall -qq src bench || :

# Only packages need root; where the kernel gives a user no namespaces, run says how it would.
# Exit code 1 of a run (measured, but some trials do not count) is for scripts: here it is a sentence.
demo: setup
	$(SUDO) $(CULVERT) install --study $(STUDY)
	@$(CULVERT) run $(STUDY) --out $(OUT); code=$$?; \
	  case $$code in 0|1|3) [ ! -e $(OUT) ] || $(CULVERT) report $(OUT) || exit $$?;; esac; \
	  [ $$code -eq 1 ] && [ -e $(OUT)/report.html ] || exit $$code; \
	  echo "The report is complete. Some trials do not count: it names each one's reason and remedy."

# From a study to a page. Tests that draw in a browser, repeat a bench or take ten seconds are of `make test`.
UNIT := study plan statistics decide analysis compare journal history topology report metrics
test-unit: setup
	@$(call timed,pytest) $(BIN)/python -m pytest $(WORKERS) -m "not lab and not vpn and not guest and not slow \
	  and not long" $(wildcard $(UNIT:%=tests/%)) $(PYTEST)

test: setup .venv/.set-up-tests
	@$(call timed,cargo test) cargo test --workspace --locked
	@$(call timed,fuzzing) crates/fuzz 5
	@$(SUDO) rm -f $(PASSED)
	@$(call timed,pytest) $(PYTEST_TWICE) -m "not long and not guest" $(PYTEST)

test-all: test .venv/.set-up-compiled
	$(call unless-built,guest kernel,culvert.labs.vm.build,vm build)
	$(call unless-built,embedded cluster,culvert.labs.kubernetes.embedded.programs.built,kubernetes build)
	@$(call timed,pytest) $(PYTEST_TWICE) --rest $(PYTEST)

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --persona auditor .github/workflows action.yml
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

fmt: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	cargo fmt --all

bench: setup
	$(SUDO) $(BIN)/python -m bench $(if $(ONLY),--only $(ONLY))

docs: setup
	$(BIN)/python -m tests.docs.tables

site: setup
	$(BIN)/mkdocs build --strict

# With uv on PATH.
dist deb image: setup
	$(if $(filter image,$@),$(call install-packages,mmdebstrap))
	$(UV) sync --locked --inexact --no-install-project --group dist
	PATH="$(abspath $(dir $(UV))):$$PATH" $(BIN)/python -m release --out $(or $(DIST),dist) \
	  $(if $(filter image,$@),--only $(shell dpkg --print-architecture),$(if $(ARCH),--only $(ARCH))) \
	  $(if $(filter deb image,$@),--$@)

fuzz: setup
	$(BIN)/python -m tests.journal.readers.fuzz $(or $(FUZZ_SECONDS),300)
	$(BIN)/python -m tests.journal.fuzz $(or $(FUZZ_SECONDS),300)
	crates/fuzz $(or $(FUZZ_SECONDS),300)

soak: setup
	$(SUDO) $(BIN)/python -m tests.soak $(or $(SOAK_SECONDS),1800 --keep)

# One file for a router or a remote host, in Culvert's tools: the lab hosts copies it from there.
# PROFILE=release makes a smaller one, in minutes. TARGET is one of rustc's, such as
# aarch64-unknown-linux-musl; its standard library must be there.
HOST := $(shell rustc -vV | sed -n 's/^host: //p')
TARGET ?= $(HOST)
CROSS := $(if $(filter-out $(HOST),$(TARGET)),--target $(TARGET))
TOOLS ?= $(or $(CULVERT_TOOLS),$(if $(filter 0,$(shell id -u)),/var/lib/culvert/tools,$(HOME)/.local/share/culvert/tools))
STATIC := $(TOOLS)/probes/culvert-probe-$(firstword $(subst -, ,$(TARGET)))
# Only the program is linked statically: what it depends on is the same that `make setup` has compiled.
probe-static:
	@echo "compiling the static probe to $(STATIC): about 1 CPU-minute if its sources have changed," \
	  "another 2 for the libraries without a \`make setup\` before"
	@$(call timed,static probe) cargo rustc --profile $(PROFILE) --locked -p culvert-probe --bin culvert-probe \
	  --target-dir target $(CROSS) -- -C target-feature=+crt-static
	install -D -m 755 target/$(if $(CROSS),$(TARGET)/)$(PROFILE)/culvert-probe $(STATIC)

clean:
	$(SUDO) $(CULVERT) clean
	rm -rf build dist target .venv

.tools/uv/bin/uv: uv-requirements.txt
	$(call install-packages,$(APT))
	python3 -m venv .tools/uv
	.tools/uv/bin/pip install --quiet --only-binary :all: --require-hashes --requirement $<
	@touch $@

# --inexact: drivers and measurements of third parties stay. Built with the group `build`, whose
# checksums are in uv.lock: an isolated build has none.
.venv/.set-up: $(if $(filter .tools/%,$(UV)),$(UV)) pyproject.toml uv.lock $(RUST)
	@for program in python3 cargo; do command -v $$program >/dev/null \
	  || { echo "culvert: $$program is missing: install it first (README.md says which version)"; exit 3; }; done
	$(call install-packages,$(APT))
	SETUPTOOLS_RUST_CARGO_PROFILE=$(PROFILE) $(UV) sync --locked --inexact --no-build-isolation-package culvert \
	  --extra kubernetes --compile-bytecode
	@touch $@

.venv/.set-up-tests: .venv/.set-up $(shell find ansible -type f)
	@command -v chromium chromium-browser google-chrome >/dev/null || { echo "installing chromium"; \
	  $(APT_GET) update && $(APT_GET) install --yes --no-install-recommends chromium >/dev/null; } \
	  || echo "no chromium to be had: the tests that look at the report in a browser are skipped"
	$(SUDO) $(CULVERT) install $(VPNS) \
	  || echo "not every VPN could be installed: the tests of the others are skipped"
	$(call install-packages,$(TEST_APT))
	@command -v sshd >/dev/null || [ -x /usr/sbin/sshd ] \
	  || { echo "installing sshd"; $(call without-services,openssh-server); } \
	  || echo "no sshd to be had: the tests of the lab hosts are skipped"
	@touch $@

.venv/.set-up-compiled: .venv/.set-up-tests
	$(SUDO) $(CULVERT) install $(COMPILED) \
	  || echo "not every VPN could be installed: the tests of the others are skipped"
	@touch $@
