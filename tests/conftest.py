"""Makes `tests.contracts` importable; every test has the same seed and no cache folder."""

import gc
import os
import sys
import threading
from pathlib import Path

import hypothesis
import pytest
from _pytest.doctest import DoctestModule

if sys.dont_write_bytecode:  # else each process that a test starts compiles the package's files
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / "build" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
os.environ.setdefault("LAMELLA_CACHE", "0")  # no test depends on what an earlier run compiled
os.environ.setdefault("LAMELLA_COMPILE_SHARE", "1")  # all cores are busy with other tests
# these take the C++ compiler two thirds of its time: to optimize what calls Inductor's kernels,
# and to try whether it knows the processor's instructions
os.environ.setdefault("AOT_INDUCTOR_COMPILE_WRAPPER_OPT_LEVEL", "O0")
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: a thread each
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import lamella  # noqa: E402
from lamella.core.threads import own  # noqa: E402

from . import extensions  # noqa: E402

# a busy machine is no fault of a test
hypothesis.settings.register_profile(
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("busy")

if "PYTEST_XDIST_WORKER" in os.environ:
    # else a thread imports them during some test, and two threads can't use Python 3.11's `ast`
    import torch._dynamo.source
    import torch._subclasses.fake_tensor
    import torch.fx.experimental.symbolic_shapes  # noqa: F401


# the device that Tensors are made on in all tests: a GPU, or the simulated one
DEVICE = os.environ.get("LAMELLA_TEST_DEVICE")
if DEVICE == "simulated":
    from tests.device.simulated import building, torch_module

    torch_module.load(building.library())
if DEVICE:
    import torch

    lamella.set_device(DEVICE)  # for Tensors that test files make when they are imported
    torch.backends.cudnn.allow_tf32 = False  # results are compared with the CPU's


def pytest_sessionstart(session):
    gc.disable()  # while tests are collected, which stay


@pytest.fixture(scope="session", autouse=True)
def _extensions():
    extensions.load()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Who leaves a test out of `make test` says which cheaper ones show the same.

    Names of tests are the same in each process: else pytest can't share them between processes.
    """
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"{item.nodeid}: give its parameters names without addresses")
        for mark in item.iter_markers("long"):
            if len(mark.args) != 1 or mark.kwargs:
                raise pytest.UsageError(f"{item.nodeid}: write pytest.mark.long('the reason')")


def pytest_collection_finish(session):
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path, parent):
    """Few files of tests have examples in docstrings, which are sought in all others in vain."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)
            or b">>> " in file_path.read_bytes()]


_modules = 0  # how many were imported when the collector was last told of what stays


@pytest.fixture(scope="module", autouse=True)
def _what_stays_is_not_collected():
    """Else each full collection looks through all tests and all that is imported: for a second."""
    global _modules
    if "PYTEST_XDIST_WORKER" in os.environ and len(sys.modules) > _modules + 20:
        _modules = len(sys.modules)
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def _seeded():
    try:
        if DEVICE:
            lamella.set_device(DEVICE)
        lamella.set_seed(0)
    except RuntimeError:
        if DEVICE and "PYTEST_XDIST_WORKER" in os.environ:
            os._exit(1)  # an earlier test has lost the device: another process goes on
        raise


@pytest.fixture(autouse=True)
def threads_of_other_tests():
    """Threads that an earlier test has left behind are none of this test's program."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            own(thread)
