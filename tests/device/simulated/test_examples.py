"""The examples of docstrings give the same on the simulated device as on the CPU."""

import doctest
import importlib
import io
import pkgutil
import re
import warnings

import numpy as np
import pytest

import lamella as ms
from tests.device.simulated import target
from tests.device.simulated.rooms import DIFFERENT, ROOMS, on_the_cpu


class Nearly(doctest.OutputChecker):
    """Numbers may differ in their last digits, as those of other kernels do."""

    NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        numbers = [[float(text) for text in self.NUMBER.findall(each)] for each in (want, got)]
        texts = ["".join(self.NUMBER.sub("", each).split()) for each in (want, got)]
        return texts[0] == texts[1] and len(numbers[0]) == len(numbers[1]) and np.allclose(
            *numbers, rtol=1e-5, atol=1e-6)


def modules_of(room):
    found = importlib.import_module(f"lamella.{room}")
    yield found
    for part in pkgutil.walk_packages(getattr(found, "__path__", []), f"{found.__name__}."):
        yield importlib.import_module(part.name)


def examples_of(room):
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in modules_of(room):
        for test in finder.find(module, module.__name__):
            if test.examples and test.name.removeprefix("lamella.") not in DIFFERENT:
                yield test


# their examples run operators and layers, whose own are compared in test_layers.py and as 'ops'
DEAR = {"dataset": "rows are made on the CPU", "nn": "test_layers.py", "train": "test_training.py"}


@pytest.mark.parametrize("room", [
    pytest.param(room, marks=pytest.mark.long(DEAR[room]) if room in DEAR else ())
    for room in ROOMS])
def test_examples_give_the_same_on_the_device(room):
    failures = []
    warnings.simplefilter("ignore")  # of modules that are imported for the first time
    for test in examples_of(room):
        target.warn_as_errors()
        ms.set_seed(0)
        ms.set_device(target.NAME, target.INDEX)
        ms.set_context(mode=ms.PYNATIVE_MODE)
        found = io.StringIO()
        runner = doctest.DocTestRunner(Nearly() if target.IS_REAL else None, verbose=False,
                                       optionflags=doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=found.write, clear_globs=False)
        elsewhere = on_the_cpu(test.globs)
        test.globs.clear()
        if runner.failures or elsewhere:
            failures.append(f"{found.getvalue()}{test.name}: {elsewhere} on the CPU\n")
        warnings.simplefilter("ignore")
    assert not failures, f"{len(failures)} differ\n" + "\n".join(failures)
