"""Where results lie in XLA's arrays, how inputs are imported, and when XLA is there at all."""

import os
import sys

import pytest
import torch

from lamella import ops
from lamella.graph.xla import client
from lamella.graph.xla.client import KEPT, Result, results_of
from lamella.machine.alignment import ALIGNED

from .forced import forced, run, tensor  # noqa: F401  (a fixture for all tests here)


@pytest.mark.parametrize("flag, offset", [(None, None), ([0, 6], 0), ([1, 10], None),
                                          ([2, 0], None)])
def test_results_lie_one_after_another_in_their_arrays(flag, offset):
    """One that is alone in its array is the array, unless the flag lies behind it."""
    shapes, strides = [[2, 3], [4], [], [5, 1]], [[3, 1], [2], [], [1, 1]]
    found = results_of([[0], [1, 2, 3]], shapes, strides, flag)
    assert found == [Result(0, offset, (2, 3), (3, 1)), Result(1, 0, (4,), (2,)),
                     Result(1, 4, (), ()), Result(1, 5, (5, 1), (1, 1))]


def test_results_in_any_order():
    found = results_of([[2], [1, 0]], [[3], [2], [7]], [[1]] * 3, None)
    assert [(each.array, each.offset) for each in found] == [(1, 2), (1, 0), (0, None)]


@pytest.fixture
def executable():
    compiled = run(lambda x: ops.exp(x.T) * 2 + 1, tensor(4, 3))
    (graph,) = compiled.graphs(tensor(4, 3))
    (stage,) = graph.execution.plan.stages
    made = stage.xla._run
    assert made._orders == [None]
    return made


def seen(executable, array):
    """An array of XLA's as a tensor."""
    return torch._C._from_dlpack(executable._export(array))


def aligned(size, dtype=torch.float32):
    """Memory that begins where XLA's code can read it, with an element before it."""
    room = torch.zeros(size + 2 * ALIGNED, dtype=dtype)
    start = 1 + -(room.data_ptr() // room.itemsize + 1) % (ALIGNED // room.itemsize)
    assert room[start:].data_ptr() % ALIGNED == 0
    return room[start - 1:start + size]


def test_how_inputs_are_imported(executable):
    """Those at an aligned place by their name; others are copied, to memory that is kept unless
    there is much of it."""
    room = aligned(12)
    room.copy_(torch.arange(13.0))
    whole = room[1:]
    for x, kind in ((whole, None), (whole.reshape(3, 4), None), (whole[:1], None),
                    (room[:-1], torch.Tensor), (whole.reshape(3, 4).T, torch.Tensor),
                    (whole[::2], torch.Tensor), (whole[:1].expand(4), torch.Tensor),
                    (aligned(4, torch.complex64)[1:], torch.Tensor), (whole[:0], False),
                    (aligned(KEPT // 4)[:-1], torch.Tensor), (aligned(KEPT // 4 + 1)[:-1], False)):
        array, copy = executable._imported(0, x)
        found = seen(executable, array)
        assert found.shape == x.shape and torch.equal(found, x)
        if kind is torch.Tensor:
            assert torch.equal(copy, x) and copy.data_ptr() == found.data_ptr() != x.data_ptr()
        else:
            assert copy is kind
            assert not x.numel() or (found.data_ptr() == x.data_ptr()) == (kind is None)


def test_inputs_are_imported_in_the_order_of_their_memory(executable):
    executable._orders = [[1, 0]]
    x = aligned(12)[1:].copy_(torch.arange(12.0)).reshape(3, 4).T
    array, copy = executable._imported(0, x)
    assert copy is None and torch.equal(seen(executable, array), x.T)


def test_numbers_that_are_kept_as_conjugates_or_negatives_are_copied_as_they_are(executable):
    z = torch.tensor([1 + 2j, 3 - 4j]).conj()
    for x in (z, z.imag, z.imag[:1], z[1:].imag):
        array, copy = executable._imported(0, x)
        assert torch.equal(seen(executable, array), x.resolve_conj().resolve_neg())
        assert copy.data_ptr() != x.data_ptr()


def test_variables_are_set_for_a_while(monkeypatch):
    monkeypatch.setenv("LAMELLA_ONE", "before")
    monkeypatch.delenv("LAMELLA_OTHER", raising=False)
    with pytest.raises(ValueError), client._variables(LAMELLA_ONE="1", LAMELLA_OTHER="2"):  # noqa: PT011
        assert [os.environ[name] for name in ("LAMELLA_ONE", "LAMELLA_OTHER")] == ["1", "2"]
        raise ValueError
    assert os.environ["LAMELLA_ONE"] == "before" and "LAMELLA_OTHER" not in os.environ


@pytest.mark.parametrize("missing", ["jax", "jaxlib"])
def test_both_packages_are_needed(monkeypatch, missing):
    available = client.available.__wrapped__
    assert available()
    monkeypatch.setitem(sys.modules, missing, None)
    assert not available()


@pytest.mark.parametrize("versions, known", [(("0.9.", "0."), True), (("0.9.",), False)])
def test_a_known_version_is_needed(monkeypatch, versions, known):
    monkeypatch.setattr(client, "VERSIONS", versions)
    monkeypatch.setattr(client, "version", lambda: "0.10.1")
    assert client.available.__wrapped__() is known


def test_there_is_one_client():
    assert client.client() is client.client()
    assert len(client._clients) == 1
