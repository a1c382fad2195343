# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# A thin front over CMake. `make demo` and `make test` are all a newcomer needs: both install what is missing
# (tools/install-deps), build, and run. Everything made lies in build/.
.DEFAULT_GOAL := help
.PHONY: help deps build demo test check bench programs verify fuzz soak tidy model install clean format
SHELL := /bin/bash
PREFIX ?= /usr/local

help:
	@echo "make demo     build, place a nested OpenMP program on this machine, show it: build/report.html"
	@echo "make test     every test, as CI runs them (under 30 minutes on 2 cores)"
	@echo "make build    commands in build/bin, libraries in build/lib"
	@echo "make bench    the benchmarks against their peers, full size"
	@echo "make programs real MPI programs with and without nigh, by turns (installs them; hours)"
	@echo "make verify   three short ones of these; fails if a result differs or nigh is surely slower"
	@echo "make fuzz     10 million random inputs through the planner and the parsers; damaged files of every format, sanitized"
	@echo "make soak     the long forms of the guest and trap suites"
	@echo "make tidy     clang's build of everything, and clang-tidy with clang's analyzer"
	@echo "make model    the model of the transpose against what is measured between hosts of namespaces"
	@echo "make install  to PREFIX=$(PREFIX) (DESTDIR is honoured)"
	@echo "make format   clang-format over our sources      make clean    remove build/"

deps:
	@tools/install-deps

build: deps
	@cmake --preset release >build.configure.log 2>&1 || { cat build.configure.log; rm -f build.configure.log; exit 1; }
	@rm -f build.configure.log
	@cmake --build build

demo: build
	@tools/demo

test: deps
	@tools/test

bench: build
	@tools/bench

programs: build
	@bench/programs/programs.py --install --json build/programs.json

verify: build
	@bench/programs/programs.py --short --install --rounds 9 --most 1.05

fuzz: build
	@build/tests/nigh_fuzz --count 10000000
	@cmake --preset asan && cmake --build --preset asan --target nigh_command nigh_fuzz nigh_fuzz_checkpoint
	@build/asan/tests/nigh_fuzz --count 200000
	@python3 tests/fuzz/formats.py build/asan/bin/nigh build/asan/tests/nigh_fuzz_checkpoint 400

soak: build
	@NIGH_SOAK=1 ctest --test-dir build --output-on-failure -L 'vm|openmp|soak|long'

tidy: deps
	@cmake --preset asan && cmake --build --preset asan && tools/tidy --analyzer

model: build
	@NIGH_SOAK=1 ctest --test-dir build --verbose -R '^hosts.model.long'

install: build
	@cmake --install build --prefix $(PREFIX)

format:
	@git ls-files '*.c' '*.cpp' '*.h' '*.hpp' | xargs clang-format-19 -i

clean:
	@rm -rf build
