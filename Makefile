# make setup   a virtual environment in .venv with everything (once; again when a pin changes)
# make demo    train LeNet-5 on real digits; installs only what that needs
# make test    the tests, the examples in docstrings, the program and the snippets in README.md
# make test-long   these and the tests that are marked `long`, with the reason why (CONTRIBUTING.md)
# make lint    ruff and pyright
# make bench   Lamella against PyTorch, torch.compile, JAX and, where MINDSPORE is a Python interpreter
#              that has it, MindSpore; writes docs/benchmarks.md and its picture (about half an hour)
# make bench-gpu   ResNet-50 and GPT-2 (124 million weights) in bfloat16 on this machine's GPU, beside
#              PyTorch eager and torch.compile, without and with CUDA graphs
# make test-gpu    the tests of devices on this machine's GPU; ARGS="tests/ops tests/nn" for others, with Tensors there
# make fuzz    random calls of everything, ARGS="--calls 1000000 --seed 7" (docs/reliability.md)
# make faults  kills, damaged files, threads, forks, signals, full disks, ARGS="--kills 120"
# make mutations   lines changed at random: do the tests that run them notice? ARGS="--count 300 --seed 35";
#              a run of all tests first, then seconds for each
# make test-with NUMPY=numpy==1.26.4   the core of the tests in an environment of its own, with other versions;
#              also PYTHON=python3.12 TORCH=torch==2.14.1 CONSTRAINTS=FILE WHAT=everything (docs/reliability.md)
# make test-processors   what computes, with other processors' kernels, in turn; ARGS="avx2 tests/numpy" for a part
# make conformance   Lamella beside recorded results of MindSpore 2.10; where MINDSPORE is a Python
#              interpreter that has it, what isn't recorded yet is recorded first
# make programs   programs of other packages, as docs/conformance.md has them, installed from the package index
#              and run (hours); ARGS="mindcv mindone" for some; MINDSPORE and ALONE as tests/conformance/programs.py says
# make docs    the pages as a site, in build/docs; SITE_URL=https://... writes addresses into its sitemap
# make pictures   the pictures of the examples, made by running them
# make notebooks  the tutorial as notebooks in build/notebooks, each run; ARGS=quickstart for one
# make screenshots   the site's pages as a browser shows them, in build/screenshots
# make wheel   a source archive and the wheel that is built from it, in dist
# make rooms   the picture of the rooms, docs/rooms.svg, drawn from the order that the tests hold
# make lines   lines by room: code, docstrings, tests
# make stubs   what type checkers know of Tensor's methods and of packages whose names are imported late (*.pyi)
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
STAMP := .venv/.installed
DEMO_STAMP := .venv/.installed-demo
BENCH_STAMP := .venv/.installed-bench
DOCS_STAMP := .venv/.installed-docs

.PHONY: setup demo test test-long lint bench bench-gpu test-gpu fuzz faults mutations test-with test-processors conformance programs docs pictures notebooks screenshots rooms lines stubs wheel clean

setup: $(STAMP)

# torch alone first: see constraints.txt
$(DEMO_STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) $$(grep '^torch==' constraints.txt)
	$(PIP) -c constraints.txt -e '.[demo]'
	touch $(DEMO_STAMP)

$(STAMP): $(DEMO_STAMP)
	$(PIP) -c constraints.txt -e '.[test,demo]'
	touch $(STAMP)

demo: $(DEMO_STAMP)
	$(BIN)/python examples/mnist_lenet.py

# in as many processes as there are cores; WORKERS=0 runs them in this one
PYTEST := $(BIN)/python -m pytest -n $(or $(WORKERS),auto) --dist worksteal
test: setup
	$(PYTEST) -m "not long" $(ARGS)

test-long: setup
	$(PYTEST) $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/pyright

$(BENCH_STAMP): $(STAMP)
	$(PIP) -c constraints.txt -e '.[bench]'
	touch $(BENCH_STAMP)

bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks $(if $(MINDSPORE),--mindspore $(MINDSPORE)) $(ARGS)

bench-gpu: setup
	$(BIN)/python -m benchmarks.real --device cuda --large --only gpt2-bf16 --only resnet50-bf16 $(ARGS)

test-gpu: setup
	LAMELLA_TEST_DEVICE=GPU $(BIN)/python -m pytest -n 6 $(or $(ARGS),tests/device)

fuzz: setup
	$(BIN)/python -m tests.fuzz $(ARGS)

faults: setup
	$(BIN)/python -m tests.fuzz.faults $(ARGS)

# torch alone first (see constraints.txt); WHAT=everything runs the whole suite, ARGS adds options of pytest's
TORCH ?= $(shell grep '^torch==' constraints.txt)
NUMPY ?= numpy
ENV ?= .venv-with-$(notdir $(PYTHON))-$(TORCH)-$(NUMPY)
INDEX ?= https://download.pytorch.org/whl/cpu
WHAT ?= core
CORE := tests/core tests/common tests/tensors tests/ops tests/numpy tests/scipy tests/sparse tests/mint \
	tests/nn tests/autodiff tests/amp tests/graph/guards tests/dataset/test_dataset.py
test-with:
	test -x $(ENV)/bin/python || $(PYTHON) -m venv $(ENV)
	$(ENV)/bin/python -m pip install --quiet --extra-index-url $(INDEX) '$(TORCH)' '$(NUMPY)'
	$(ENV)/bin/python -m pip install --quiet $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[$(if $(filter core,$(WHAT)),test-core,test)]' '$(NUMPY)'
	$(ENV)/bin/python -c "import platform, numpy, torch; print('Python', platform.python_version(), 'torch', torch.__version__, 'NumPy', numpy.__version__)"
	$(ENV)/bin/python -m pytest -p no:cacheprovider -n $(or $(WORKERS),auto) $(if $(filter core,$(WHAT)),$(CORE)) $(ARGS)

mutations: setup
	$(BIN)/python -m tests.mutations $(ARGS)

test-processors: setup
	$(BIN)/python -m tests.processors $(ARGS)

conformance: setup
	$(BIN)/python -m tests.conformance $(if $(MINDSPORE),--mindspore $(MINDSPORE)) $(ARGS)

programs: setup
	$(BIN)/python -m tests.conformance.programs $(ARGS)

rooms: setup
	$(BIN)/python docs/rooms.py

lines: setup
	$(BIN)/python docs/lines.py

stubs: setup
	$(BIN)/python docs/method_types.py
	$(BIN)/python docs/package_types.py

$(DOCS_STAMP): $(STAMP)
	$(PIP) -c constraints.txt -e '.[docs]'
	touch $(DOCS_STAMP)

# the variable: no advertisement for MkDocs' successors
docs: $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 SITE_URL=$(SITE_URL) REPO_URL=$(REPO_URL) $(BIN)/python -m mkdocs build --strict

# the pictures of the examples, made by running them (some minutes); ARGS=spiking for one
pictures: setup
	$(BIN)/python docs/pictures.py $(ARGS)

# installs the kernel beside this Python; each page has to print what stands on it (some minutes)
notebooks: setup
	$(BIN)/python -m lamella jupyter install --prefix $(abspath .venv)
	$(BIN)/python docs/notebooks.py $(ARGS)

# the site's pages in a browser, at two widths, light and dark, in OUT
screenshots: docs
	$(BIN)/python docs/screenshots.py --out $(or $(OUT),build/screenshots)

# the wheel is made of the archive, so that both are complete; no network is needed
wheel: setup
	$(BIN)/python -c "from setuptools.build_meta import build_sdist; build_sdist('dist')" >build.log 2>&1 \
		|| { cat build.log; exit 1; }
	rm build.log
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist \
		dist/lamella-$$($(BIN)/python -c "from lamella.core.versions import __version__ as v; print(v)").tar.gz
	ls dist

clean:
	rm -rf .venv build dist demo_out *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
