"""Each of `programs` gives the same eagerly and compiled: by `jit`, in a Cell, in GRAPH_MODE.
"""

import importlib
import warnings

import pytest

import lamella as ms
from lamella import jit, nn

from .programs import PROGRAMS

for _name in ("outside", "settings", "containers", "attributes", "code", "results",
              "training", "rarer", "rarer_results", "aliases", "behind"):
    importlib.import_module(f".programs.{_name}", __package__)


def method(fn):
    class Net(nn.Cell):
        @jit
        def construct(self, *args, **kwargs):
            return fn(*args, **kwargs)

    return Net()


def graph_mode(fn):
    class Net(nn.Cell):
        def construct(self, *args, **kwargs):
            return fn(*args, **kwargs)

    net = Net()

    def call(*args, **kwargs):
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            return net(*args, **kwargs)
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)

    return call


def found(name, wrap):
    """The result of a program, or the error that it raises."""
    ms.set_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(PROGRAMS[name](wrap))
        except Exception as error:  # noqa: BLE001  (compared)
            return repr(error)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_mean_the_same_compiled(name):
    want = found(name, lambda fn: fn)
    assert "Error" not in want or name in ("exc_state", "kernel_error"), want
    number = list(PROGRAMS).index(name)
    for wrap in (jit, (method, graph_mode)[number % 2]):
        assert found(name, wrap) == want
