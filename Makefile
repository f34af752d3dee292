# Everything a user or a contributor types. Each target installs what it needs first.
.DEFAULT_GOAL := build
.PHONY: run build test unit asan tsan bench fuzz lint tidy format clean

JOBS ?= $(shell nproc)
ARGS ?=
FUZZ_SECONDS ?= 30

build:
	@tools/install-packages
	@cmake --preset release -Wno-dev >/dev/null
	@cmake --build --preset release -j $(JOBS)

run: build
	@tools/demo $(ARGS)

# Configures and builds the preset $(1); the tests come with it.
define configure
	@tools/install-packages test
	@cmake --preset $(1) -Wno-dev >/dev/null
	@cmake --build --preset $(1) -j $(JOBS)
endef

# Without a Kubernetes API server (77: it cannot be had here, and why is on the screen) its tests are skipped.
test:
	$(call configure,dev)
	@bin=$$(tools/get-apiserver) || [ $$? = 77 ] && INJ_APISERVER_BIN="$$bin" ctest --preset dev -j $(JOBS)

unit:
	$(call configure,dev)
	@ctest --preset dev -j $(JOBS) -LE apiserver

asan tsan:
	$(call configure,$@)
	@ctest --preset $@ -j $(JOBS) -LE apiserver

bench:
	@tools/install-packages bench
	@cmake --preset release -Wno-dev -DINJ_BENCH=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@bench/run

fuzz:
	@tools/install-packages fuzz
	@cmake --preset fuzz -Wno-dev >/dev/null
	@cmake --build --preset fuzz -j $(JOBS)
	@tests/fuzz/run build/fuzz $(FUZZ_SECONDS)

lint:
	@tools/install-packages lint
	@tools/lint

tidy:
	@tools/install-packages lint test
	@tools/tidy

format:
	@tools/install-packages lint
	@git ls-files -co --exclude-standard -- '*.h' '*.cpp' | xargs clang-format -i

clean:
	@rm -rf build
