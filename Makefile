# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# A thin front over CMake. `make demo` and `make test` are all a newcomer needs: both install what is missing
# (tools/install-deps), build, and run. `make build` installs nothing. Everything made lies in build/.
.DEFAULT_GOAL := help
PACKAGES ?= test
.PHONY: help deps configure build demo show test check bench programs verify fuzz soak tidy model install uninstall docs clean format
SHELL := /bin/bash
PREFIX ?= /usr/local

help:
	@echo "make demo     three real programs on this machine with and without nigh, and the page: build/report.html"
	@echo "make test     a test of every room and every product (12 minutes on 2 cores, the build among them)"
	@echo "make check ROOM=message    builds and runs the tests of a room (a folder of src), and only those"
	@echo "make build    commands in build/bin, libraries in build/lib; of what the packages that are there allow"
	@echo "make deps     installs what building, testing and measuring need (PACKAGES=build or demo: only that)"
	@echo "make show     everything that nigh can do, short, on this machine (takes minutes once built)"
	@echo "make bench    the benchmarks against their peers, full size"
	@echo "make programs real MPI programs with and without nigh, by turns (installs them; hours)"
	@echo "make verify   all other tests, sanitizers, clang-tidy (half an hour), and three short ones of these programs: fails"
	@echo "              if a result differs or nigh is surely slower. CI: make test, and the first part of make verify"
	@echo "make fuzz     10 million random inputs through the planner and the parsers; damaged files of every format, sanitized"
	@echo "make soak     the long forms of the guest and trap suites"
	@echo "make tidy     clang's build of everything, and clang-tidy with clang's analyzer"
	@echo "make model    the model of the transpose against what is measured between hosts of namespaces"
	@echo "make install  to PREFIX=$(PREFIX) (DESTDIR is honoured); make uninstall takes it away again"
	@echo "make docs     the documentation as a site with search: build/site/index.html"
	@echo "make format   clang-format over our sources      make clean    remove build/"

deps:
	@tools/install-deps $(PACKAGES)

configure:
	@for tool in g++ cmake ninja pkg-config; do command -v $$tool >/dev/null || { echo "make: $$tool is missing; tools/install-deps build installs what building needs (root or sudo)" >&2; exit 1; }; done
	@cmake --preset release -DNIGH_LEAVE_OUT=ON >build.configure.log 2>&1 || { cat build.configure.log; rm -f build.configure.log; exit 1; }
	@rm -f build.configure.log

build: configure
	@cmake --build build
	@! test -s build/left-out.txt || { echo "Left out, and the packages that would bring it:"; cat build/left-out.txt; }

demo:
	@tools/install-deps demo
	@$(MAKE) --no-print-directory configure
	@echo "Building (3 minutes on 2 cores, the first time)"
	@cmake --build build --target nigh_command nigh_feed nigh_openmp nigh_mpi nigh_space -- $$(test -t 1 || echo --quiet)
	@tools/demo

show: deps build
	@tools/show

test: deps
	@tools/test

# The loop of a developer: ROOM=message, or several.
check:
	@tools/check $(ROOM)

bench: deps build
	@tools/bench

programs: deps build
	@bench/programs/programs.py --install --json build/programs.json

verify: deps
	@tools/test --rest
	@bench/programs/programs.py --short --install --rounds 9 --most 1.05

fuzz: deps build
	@build/tests/nigh_fuzz --count 10000000
	@cmake --preset asan && cmake --build --preset asan --target nigh_command nigh_fuzz nigh_fuzz_checkpoint
	@build/asan/tests/nigh_fuzz --count 200000
	@python3 tests/fuzz/formats.py build/asan/bin/nigh build/asan/tests/nigh_fuzz_checkpoint 400

soak: build
	@NIGH_SOAK=1 ctest --test-dir build --output-on-failure -L 'vm|openmp|soak|long'

tidy: deps
	@cmake --preset asan && cmake --build --preset asan && tools/tidy --analyzer

model: deps build
	@NIGH_SOAK=1 ctest --test-dir build --verbose -R '^hosts.model.long'

install: build
	@cmake --install build --prefix $(PREFIX)

# What the last make install of this folder has put there, and folders of nigh that are empty then.
uninstall:
	@test -f build/install_manifest.txt || { echo "make: build/install_manifest.txt is missing: nothing was installed from here" >&2; exit 1; }
	@sed "s|^|$(DESTDIR)|" build/install_manifest.txt | tr '\n' '\0' | xargs -0 rm -f
	@sed "s|^|$(DESTDIR)|" build/install_manifest.txt | xargs -d '\n' -n 1 dirname | sort -ru | grep nigh | xargs -d '\n' rmdir -p --ignore-fail-on-non-empty 2>/dev/null || true
	@rm build/install_manifest.txt

docs:
	@tools/install-deps docs
	@tools/docs

format:
	@git ls-files '*.c' '*.cpp' '*.h' '*.hpp' | xargs clang-format-19 -i

clean:
	@rm -rf build
