# A thin front for Meson and Ninja: every target works on a fresh checkout.
#
#   make            build/emberbox and libemberbox
#   make run        the program, then a demonstration, and the service at
#                   http://127.0.0.1:7320 until Ctrl-C
#   make check      for the time while you work, under two minutes: unit tests,
#                   one language, one door, the documents, lint
#   make test       the tests, each in the release build or in one with
#                   sanitizers and fault injection
#   make test-all   every test, also the nightly ones, in both builds; 200
#                   programs in ten languages, Go's and CPython's own tests,
#                   bare and in boxes
#   make bench      speed and memory against bare interpreters and other
#                   sandboxes; writes bench/RESULTS.md
#   make install    into $(DESTDIR)$(PREFIX)
#   make dist       an archive of the sources of the last commit, in build-dist/
#   make deb        Debian packages of it, checked by lintian, in build-deb/
#   make uninstall  remove what the last `make install` put there
#   make fuzz       each fuzz target for TIME seconds
#   make soak       every test, none of them twice; many runs: cold, SOAK_RUNS
#                   through the service, and by 200 clients over HTTP, then
#                   nothing may be left behind; CPython's own tests
#   make coverage   which lines of src/ the tests reach; fails below 89 of a
#                   hundred
#   make lint       clang-format and clang-tidy
#   make clean
#   make help       these lines

PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?=
TIME ?= 60
RUNS ?=
BUILD = build
ASAN = build-asan
FUZZ = build-fuzz

# Sanitizers are never in the static release; the flags are those of both builds of `make test`.
ASAN_OPTIONS_MESON = --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dfaults=true
FUZZ_OPTIONS_MESON = --buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true

# Debian's ld.so and pkg-config look below lib/TRIPLET. Meson asks dpkg-dev for that, which a small Debian has not.
LIBDIR_MESON = `triplet=$$(cc -print-multiarch 2>/dev/null); \
	test -z "$(LIBDIR)$$triplet" || echo -Dlibdir=$(or $(LIBDIR),lib/$$triplet)`

.PHONY: all run check test test-all bench install uninstall fuzz soak lint clean asan help dist deb coverage
.DEFAULT_GOAL = all
# The targets share build directories; Ninja does what can be done in parallel.
.NOTPARALLEL:

# Without the playground's packages the program is whole but for the page, and says so. A program that is the same as
# before was not linked again.
build = tools/setup build && { tools/setup page || true; } && \
	{ test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release $(LIBDIR_MESON) >$(BUILD).log || { cat $(BUILD).log; exit 1; }; } && \
	rm -f $(BUILD).log && before=`stat -c %y $(BUILD)/emberbox 2>/dev/null; true` && \
	ninja -C $(BUILD) $(1) && \
	if [ "`stat -c %y $(BUILD)/emberbox`" = "$$before" ]; then echo "$(BUILD)/emberbox is up to date"; \
	else echo "$(BUILD)/emberbox is built"; fi

help:
	@sed -n 's/^#   //p' $(firstword $(MAKEFILE_LIST))

all:
	@$(call build,all)

asan:
	@tools/setup build
	@test -f $(ASAN)/build.ninja || meson setup $(ASAN) $(ASAN_OPTIONS_MESON)
	@ninja -C $(ASAN)

# Only the program: tests and benchmarks are most of a build.
run:
	@tools/setup build run
	@$(call build,emberbox)
	@tools/demo --serve $(BUILD)/emberbox

check:
	@tools/setup build test lint
	@$(call build,all)
	@tools/lint --quick $(BUILD)
	@tests/run --quick --build $(BUILD)

test:
	@tools/setup build test
	@$(MAKE) --no-print-directory all asan
	@tests/run --build $(BUILD) --asan $(ASAN)

test-all:
	@tools/setup build test
	@$(MAKE) --no-print-directory all asan
	@tests/run --all --deadline 5400 --build $(BUILD) --asan $(ASAN)
	@tests/corpus/run --build $(BUILD) --go-tests 40
	@tests/cpython/run --build $(BUILD)
	@tools/setup build page deb
	@tests/package/run

bench:
	@tools/setup build bench
	@$(MAKE) --no-print-directory all
	@bench/run $(if $(RUNS),--runs $(RUNS))

# The prefix is set each time, because it is written into the pkg-config file.
install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX) $(LIBDIR_MESON)
	@ninja -C $(BUILD)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild
	@test -n "$(DESTDIR)" || PATH=$$PATH:/usr/sbin:/sbin ldconfig

dist:
	@mkdir -p build-dist
	@version=`sed -n "s/^  version: '\(.*\)',/\1/p" meson.build` && \
		git archive --prefix=emberbox-$$version/ HEAD | xz -6 >build-dist/emberbox-$$version.tar.xz && ls build-dist/emberbox-$$version.tar.xz

deb:
	@tools/setup build page deb
	@tools/deb build-deb

uninstall:
	@test -f $(BUILD)/meson-logs/install-log.txt || { echo "make: nothing was installed from $(BUILD)" >&2; exit 1; }
	@ninja -C $(BUILD) uninstall
	@test "`id -u`" != 0 || PATH=$$PATH:/usr/sbin:/sbin ldconfig

fuzz:
	@tools/setup build fuzz
	@test -f $(FUZZ)/build.ninja || CC=clang meson setup $(FUZZ) $(FUZZ_OPTIONS_MESON)
	@ninja -C $(FUZZ)
	@tools/fuzz $(FUZZ) $(TIME)

soak:
	@tools/setup build test
	@$(MAKE) --no-print-directory all asan
	@tests/run --all --deadline 5400 --strict --build $(BUILD) --asan $(ASAN)
	@tests/soak/cold $(if $(RUNS),--runs $(RUNS))
	@tests/soak/service --build $(BUILD)
	@tests/soak/http --build $(BUILD)
	@tests/cpython/run --build $(BUILD)

coverage:
	@tools/setup build page test coverage
	@tools/coverage

lint:
	@tools/setup build lint
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) --buildtype=release $(LIBDIR_MESON)
	@tools/lint $(BUILD)

clean:
	rm -rf $(BUILD) $(ASAN) $(FUZZ) build-coverage build-deb build-dist
