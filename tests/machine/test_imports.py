"""Imports that leave the program's random numbers alone."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from lamella.machine.imports import own_generator, without_draws

MODULE = """
import threading
import numpy as np
DRAWN = np.random.rand(5), np.random.randint(0, 9), np.random.permutation(4)
KEPT = np.random.rand
IMPORTING.set()
GO_ON.wait(10)
DRAWN_LATER = np.random.randn(2)
"""


def test_an_import_that_draws_leaves_the_sequence_of_other_threads(tmp_path, monkeypatch):
    importing, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr("builtins.IMPORTING", importing, raising=False)
    monkeypatch.setattr("builtins.GO_ON", go_on, raising=False)
    (tmp_path / "draws_at_import.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    np.random.seed(3)
    wanted = np.random.rand(), np.random.randn(3), np.random.randint(0, 99, 4)
    functions = dict(vars(np.random))
    np.random.seed(3)
    thread = threading.Thread(target=without_draws, args=("draws_at_import",))
    thread.start()
    try:
        assert importing.wait(10)
        found = [np.random.rand(), np.random.randn(3)]  # while the module is being imported
        kept_meanwhile = np.random.randint
    finally:
        go_on.set()
        thread.join()
    found.append(kept_meanwhile(0, 99, 4))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    assert vars(np.random) == functions
    module = sys.modules.pop("draws_at_import")
    assert module.DRAWN[0].shape == (5,) and module.DRAWN_LATER.shape == (2,)
    np.random.seed(4)
    first = np.random.rand()
    np.random.seed(4)
    assert module.KEPT() == first  # what it has kept draws from NumPy's generator afterwards


def test_a_function_that_someone_else_replaces_meanwhile_stays(monkeypatch):
    monkeypatch.setattr(np.random, "rand", np.random.rand)  # which puts it back
    with own_generator():
        np.random.rand = replaced = lambda: 0.5
    assert np.random.rand is replaced


def test_what_is_there_already_is_returned():
    assert without_draws("numpy") is np


@pytest.mark.long("imports JAX in a process of its own: two seconds")
def test_the_client_of_xla_draws_none_of_the_programs_numbers():
    pytest.importorskip("jax")
    code = """
import numpy as np
from lamella.graph.xla import client
np.random.seed(1)
first = np.random.rand(4)
np.random.seed(1)
client.prepare()
assert client._clients and (np.random.rand(4) == first).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
