# Everything a user or a contributor types. Each target installs what it needs first.
.DEFAULT_GOAL := build
.PHONY: run build dist install uninstall test unit asan tsan golden bench bench-check bench-baseline fuzz sanitize lint tidy format clean

JOBS ?= $(shell nproc)
ARGS ?=
FUZZ_SECONDS ?= 30
FILES ?=
QUICK ?=
PREFIX ?= /usr/local
DESTDIR ?=
BINARY ?= build/release/envoy-initializer

build:
	@tools/install-packages
	@cmake --preset release -Wno-dev >/dev/null
	@cmake --build --preset release -j $(JOBS)

# Into dist/: tarball, Debian package, image, SBOM, krew manifest, chart, checksums.
DIST ?= dist
dist:
	@tools/install-packages dist
	@[ -x "$(BINARY)" ] || $(MAKE) --no-print-directory build
	@rm -rf "$(DIST)"
	@tools/dist "$(BINARY)" "$(DIST)"

run: build
	@tools/demo $(ARGS)

bin = $(DESTDIR)$(PREFIX)/bin
bash = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zsh = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fish = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
man = $(DESTDIR)$(PREFIX)/share/man/man1

# The link makes it a kubectl plugin: kubectl envoy-initializer. kubectl's own completion asks the script beside it.
install:
	@[ -x "$(BINARY)" ] || $(MAKE) --no-print-directory build
	@install -d "$(bin)" "$(bash)" "$(zsh)" "$(fish)" "$(man)"
	@install -s -m 755 "$(BINARY)" "$(bin)/envoy-initializer"
	@ln -sf envoy-initializer "$(bin)/kubectl-envoy_initializer"
	@install -m 755 tools/kubectl_complete-envoy_initializer "$(bin)/"
	@"$(BINARY)" completion bash >"$(bash)/envoy-initializer"
	@"$(BINARY)" completion zsh >"$(zsh)/_envoy-initializer"
	@"$(BINARY)" completion fish >"$(fish)/envoy-initializer.fish"
	@tools/man-page "$(BINARY)" >"$(man)/envoy-initializer.1"

uninstall:
	@rm -f "$(bin)/envoy-initializer" "$(bin)/kubectl-envoy_initializer" "$(bin)/kubectl_complete-envoy_initializer" \
	  "$(bash)/envoy-initializer" "$(zsh)/_envoy-initializer" "$(fish)/envoy-initializer.fish" \
	  "$(man)/envoy-initializer.1"

# Configures and builds the preset $(1); the tests come with it.
define configure
	@tools/install-packages test
	@cmake --preset $(1) -Wno-dev >/dev/null
	@cmake --build --preset $(1) -j $(JOBS)
endef

# Without a Kubernetes API server or kubectl (77: it cannot be had here, and why is on the screen) its tests are skipped.
test:
	$(call configure,dev)
	@tools/get-promtool >/dev/null || [ $$? = 77 ]
	@kubectl=$$(tools/get-kubectl) || [ $$? = 77 ] && \
	  bin=$$(tools/get-apiserver) || [ $$? = 77 ] && \
	  { tools/install-packages browser || echo "the page is not tested in a browser" >&2; } && \
	  INJ_KUBECTL_BIN="$$kubectl" INJ_APISERVER_BIN="$$bin" ctest --preset dev -j $(JOBS)

unit:
	$(call configure,dev)
	@ctest --preset dev -j $(JOBS) -LE apiserver

asan tsan:
	$(call configure,$@)
	@ctest --preset $@ -j $(JOBS) -LE apiserver

golden:
	$(call configure,dev)
	@GOLDEN_UPDATE=1 build/dev/tests/cli_tests 'golden*'

bench:
	@tools/install-packages bench
	@cmake --preset release -Wno-dev -DINJ_BENCH=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@QUICK=$(QUICK) bench/run

# Of the build that `make test` uses, as an optimized one would take minutes more: it guards the work that is done, not
# how fast it is. bench-baseline writes bench/baseline.json anew.
bench-check bench-baseline:
	@tools/install-packages test guard
	@cmake --preset dev -Wno-dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target cost_case
	@bench/check build/dev/tests/cost_case $(if $(filter bench-baseline,$@),--update)

fuzz:
	@tools/install-packages fuzz
	@cmake --preset fuzz -Wno-dev >/dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	@tests/fuzz/run build/fuzz $(FUZZ_SECONDS)

# For CI, one build for two: the unit tests under the address and undefined-behaviour sanitizers, and the fuzzers.
sanitize:
	@tools/install-packages fuzz test
	@cmake --preset fuzz -Wno-dev >/dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target unit_tests fuzzers
	@ctest --preset fuzz -j $(JOBS) -L unit
	@tests/fuzz/run build/fuzz $(FUZZ_SECONDS)

lint:
	@tools/install-packages lint
	@tools/lint

tidy:
	@tools/install-packages lint test
	@tools/tidy $(FILES)

format:
	@tools/install-packages lint
	@git ls-files -co --exclude-standard -- '*.h' '*.cpp' | xargs clang-format -i

clean:
	@rm -rf build dist
