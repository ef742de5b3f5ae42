"""Stages run by XLA give what the program gives eagerly: types, layouts, memory, threads."""

import gc
import operator
import os
import threading
import weakref

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.graph.ir.operations import bases_of
from lamella.graph.ir.stages import Part
from lamella.graph.ir.text import metas_of, name_of, to_text
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.tracing.symbolic import preparation
from lamella.graph.xla.text import described
from lamella.tensors.tensor import wrap
from tests.graph.xla.forced import engine, forced, parts, run, tensor  # noqa: F401

aten = torch.ops.aten


@pytest.mark.parametrize("dtype", [ms.float32, ms.float64, ms.int32, ms.int64, ms.uint8, ms.int8,
                                   ms.bool_], ids=str)
def test_types(dtype):
    def fn(x, y):
        return ops.abs(x.astype(ms.float32)) * y, x == y, (x.astype(ms.int64) // 2 + 1) % 3

    compiled = run(fn, tensor(4, 5, dtype=dtype), tensor(4, 5, dtype=dtype, seed=1))
    assert engine(compiled) == ["xla"]


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
def test_sixteen_bits(dtype):
    def fn(x):
        return (x * 1.1 + 0.3) * x, ops.tanh(x) - x

    assert engine(run(fn, tensor(64, dtype=dtype))) == ["xla"]


def test_nothing_is_computed_less_exactly_than_by_kernels():
    """Missing numbers are kept by comparisons and extremes, and sums of 16 bits are rounded."""
    odd = Tensor(np.array([[np.nan, 1, -1], [2, np.inf, np.nan], [0, -np.inf, 3]], np.float32))

    def fn(x, h):
        return (x != x, ops.where(x == x, x, -x * 0 + 7), ops.amax(x, 0), ops.maximum(x, -x),
                x - x, (h + 256) - 256, (h * 1.1) * 3)

    compiled, h = Compiled(fn), Tensor(np.arange(8)).astype(ms.bfloat16)
    for _ in range(4):
        for a, b in zip(compiled(odd, h), fn(odd, h), strict=True):
            np.testing.assert_array_equal(a.float().asnumpy(), b.float().asnumpy())
    assert engine(compiled) == ["xla"]


def test_numbers_of_python_keep_the_type_of_tensors():
    def fn(x, n):
        return n + 1, n * 2.5, x * 2, x.astype(ms.float64) / 3, n / 2, (n + 0.5).sum()

    run(fn, tensor(3), Tensor([1, 2, 3], ms.int32))


def test_results_have_the_layouts_of_the_replay():
    def fn(x, y):
        product = x @ y
        return product.T * 1.0, ops.transpose(product + 1, (1, 0)), (x.sum(0) + 1).expand(
            (3, 4)), x.permute(1, 0) + 0.5

    compiled = Compiled(fn)
    x, y = tensor(3, 4), tensor(4, 5)
    wanted = [r.stride() for r in parts(compiled(x, y))]
    for _ in range(3):
        assert [r.stride() for r in parts(compiled(x, y))] == wanted
    assert engine(compiled) == ["xla"]


def test_arguments_of_any_layout():
    def fn(x):
        return (ops.exp(x) + x).sum(0), x.T * 2 - 1

    for x in (tensor(4, 4).T, tensor(8, 4)[::2], tensor(9)[1:].reshape(2, 4),
              tensor(1, 4).expand((3, 4)), tensor(3, 0), tensor(2, 3, 4).permute(2, 0, 1)[0]):
        assert engine(run(fn, x)) == ["xla"]


def test_weights_are_read_anew_in_each_call():
    weight = ms.Parameter(tensor(4, 4), name="weight")
    compiled = Compiled(lambda x: ops.tanh(x @ weight) * 2 + x)
    x = tensor(4, 4, seed=2)
    for call in range(6):
        found = compiled(x)
        np.testing.assert_allclose(
            found.asnumpy(), np.tanh(x.asnumpy() @ weight.asnumpy()) * 2 + x.asnumpy(), 1e-5, 1e-6)
        if call % 2:
            weight.set_data(tensor(4, 4, seed=call + 5))  # other values, perhaps in other memory
        else:
            weight.add_(1)
            x.mul_(0.5)
    assert engine(compiled) == ["xla"]


def test_a_result_is_memory_of_its_own():
    compiled = Compiled(lambda x: (ops.exp(x) + x) * 2)
    x = tensor(50)
    first = compiled(x)
    for _ in range(3):
        first = compiled(x)
    kept = first.asnumpy().copy()
    second = compiled(x)
    second.add_(5)
    x.mul_(0)
    np.testing.assert_array_equal(first.asnumpy(), kept)
    assert engine(compiled) == ["xla"]


def test_what_is_written_in_place():
    """Memory of the stage itself: whole tensors and parts of them."""
    def fn(x):
        y = ops.zeros_like(x) + 1
        row = y[1]
        row.mul_(x[0])
        y[:, 2:].add_(x[:, 2:])
        z = y.T
        z.sub_(0.5)
        return y, row + z[:, 0], z.sum()

    run(fn, tensor(4, 4))


def test_gradients_and_an_optimizer():
    """The update writes the weights, and stays with PyTorch's kernels."""
    def made():
        ms.set_seed(1)
        net = nn.SequentialCell(nn.Dense(5, 8), nn.GELU(), nn.LayerNorm((8,)), nn.Dense(8, 3))
        optimizer = nn.Adam(net.trainable_params(), 0.01)
        loss = nn.CrossEntropyLoss()
        gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

        def step(x, y):
            value, gradients = gradient(x, y)
            optimizer(gradients)
            return value
        return net, step

    x, y = tensor(7, 5), Tensor(np.arange(7) % 3, ms.int32)
    (net, step), (other, eager) = made(), made()
    compiled = Compiled(step)
    for _ in range(8):
        np.testing.assert_allclose(compiled(x, y).asnumpy(), eager(x, y).asnumpy(), 1e-4)
    for a, b in zip(net.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-3, 1e-5)
    assert engine(compiled) == ["xla"]


def test_random_numbers_stay_with_pytorch():
    def fn(x):
        return ops.dropout(ops.exp(x), 0.5) + x * 2

    compiled = Compiled(fn)
    x = tensor(100)
    for seed in range(4):
        ms.set_seed(seed)
        found = compiled(x)
        ms.set_seed(seed)
        np.testing.assert_allclose(found.asnumpy(), fn(x).asnumpy(), 1e-5)
    assert engine(compiled) == ["replay"]


def test_threads_call_at_once(executor):
    weights = [ms.Parameter(tensor(6, 6, seed=s), name=f"w{s}") for s in range(3)]
    compiled = Compiled(lambda x: ops.tanh(x @ weights[0]) @ weights[1] + weights[2])
    x = tensor(6, 6, seed=9)
    for _ in range(3):
        wanted = compiled(x)
    assert engine(compiled) == ["xla"]
    wrong = []

    def call(seed):
        own = tensor(6, 6, seed=seed)
        before = compiled(own).asnumpy()
        for _ in range(50):
            if not np.allclose(compiled(own).asnumpy(), before, 1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=call, args=(s,)) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and np.allclose(compiled(x).asnumpy(), wanted.asnumpy())


def test_a_forked_process_replays(executor):
    compiled = Compiled(lambda x: ops.exp(x) * 2 + ops.sin(x))
    x = tensor(30)
    for _ in range(3):
        wanted = compiled(x).asnumpy()
    assert engine(compiled) == ["xla"]
    child = os.fork()
    if child == 0:
        os._exit(0 if np.allclose(compiled(x).asnumpy(), wanted, 1e-5) else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_allclose(compiled(x).asnumpy(), wanted, 1e-5)


def test_arguments_in_other_memory_in_each_call(executor):
    """XLA's names of memory are kept by address: what lies there now is read."""
    def fn(x):
        return ops.tanh(x) * 2 + ops.exp(x).sum()

    compiled = Compiled(fn)
    kept = [tensor(6, seed=seed) for seed in range(40)]
    for x in (*kept, *reversed(kept)):
        np.testing.assert_allclose(compiled(x).asnumpy(), fn(x).asnumpy(), 1e-5, 1e-5)
    for seed in range(40):  # freed and taken again
        x = tensor(6, seed=seed)
        np.testing.assert_allclose(compiled(x).asnumpy(), fn(x).asnumpy(), 1e-5, 1e-5)
        x.add_(1)
        np.testing.assert_allclose(compiled(x).asnumpy(), fn(x).asnumpy(), 1e-5, 1e-5)
    assert engine(compiled) == ["xla"]


@pytest.mark.parametrize("size", [6, 2**18 + 6, 2**22 + 6])  # of 4 bytes: 16 MiB are kept
def test_arguments_that_begin_at_odd_addresses(executor, size):
    """The memory of their copies is used again, and holds what is given."""
    def fn(x):
        return ops.tanh(x) * 2 + ops.exp(x).mean()

    compiled = Compiled(fn)
    one = tensor(size + 20)
    for start in range(20 if size < 2**20 else 3):
        x = one[start:start + size]
        np.testing.assert_allclose(compiled(x).asnumpy(), fn(x).asnumpy(), 1e-5, 1e-5)
    assert engine(compiled) == ["xla"]


def test_arguments_that_are_kept_as_their_negatives(executor):
    """Imaginary parts of conjugates, such as those of gradients, are negative in their memory."""
    def fn(x):
        return ops.tanh(x) * 2 + ops.exp(x)

    compiled = Compiled(fn)
    for number in range(6):
        raw = torch.tensor([1 + 0.25j * number]).conj().imag
        x = wrap(raw if number else raw.clone())
        assert raw.is_neg() and raw.is_contiguous()
        np.testing.assert_allclose(compiled(x).asnumpy(), fn(x).asnumpy(), 1e-5, 1e-5)
    assert engine(compiled) == ["xla"]


def test_an_argument_is_not_kept_alive():
    compiled = Compiled(lambda x: ops.tanh(x) * 2 + ops.exp(x))
    x = tensor(64)
    for _ in range(3):
        compiled(x)
    assert engine(compiled) == ["xla"]
    memory = weakref.ref(x._raw.untyped_storage())
    del x
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize("kind", [ms.float32, ms.int64, ms.bool_], ids=str)
def test_writes_through_views_of_views(kind):
    def fn(x):
        y = ops.zeros_like(x)
        y[0] = x[1]
        y[1:, 2] = x[1:, 0]
        a, b = ops.split(y, 2, 1)
        b[0, 0] = x[2, 2]
        c = y.reshape(2, 8)[1]
        c[2:4] = x[0, :2]
        z = y.T.copy()
        z[3] = a[:, 1]
        y.permute(1, 0)[1] = x[3]
        return tuple([part.copy() for part in (y, a, b, c, z)])

    compiled = run(fn, (tensor(4, 4) * 3).astype(kind))
    assert engine(compiled) == ["xla"]


def test_a_loop_that_writes_in_place():
    def fn(x):
        out = ops.zeros((12, 5), x.dtype)
        for t in range(12):
            x = ops.tanh(x * 1.1 + 0.1)
            out[t] = x
        return out, x

    compiled = run(fn, tensor(5))
    assert engine(compiled) == ["xla"]


def test_matrices_are_factorized_and_checked():
    def fn(x, b):
        m = x @ x.T + 2 * ops.eye(4, 4, ms.float32)
        return ops.inverse(m) @ ops.tanh(m) @ ops.cholesky(m) @ b, ops.logdet(m) * 2

    x, b = tensor(4, 4), tensor(4, 2)
    compiled = run(lambda x: fn(x, b)[0].sum() + fn(x, b)[1], x)
    assert engine(compiled) == ["xla"]
    inverse = Compiled(lambda x: ops.inverse(x * 2 + 1) * 3 - x)
    for _ in range(3):
        inverse(tensor(3, 3))
    assert engine(inverse) == ["xla"]
    with pytest.raises(RuntimeError, match="singular"):
        inverse(ops.zeros((3, 3)))
    np.testing.assert_allclose(inverse(tensor(3, 3)).asnumpy(), (
        ops.inverse(tensor(3, 3) * 2 + 1) * 3 - tensor(3, 3)).asnumpy(), 1e-3, 1e-4)


@pytest.mark.usefixtures("executor")
def test_checks_are_one_flag_beside_the_results_or_alone():
    matrix, vector = tensor(3, 3), tensor(3)

    def solved(m, b):  # in a loop, with small results of other types before the flag
        for _ in range(6):
            b = ops.tanh(ms.scipy.linalg.solve(m, b)) + 1
        return b > 0, b

    def large(m):  # no small result
        return ops.broadcast_to(ops.inverse(m).reshape(9, 1), (9, 1000)) * 2 + 1

    for fn, args in ((solved, (matrix, vector)), (large, (matrix,)),
                     (lambda m: ops.inverse(ops.stack([m, m + 1])) * 2, (matrix,))):
        compiled = run(fn, *args)
        assert engine(compiled) == ["xla"]
        singular = [ops.zeros_like(matrix), *args[1:]]
        with pytest.raises(RuntimeError) as eager:
            fn(*singular)
        with pytest.raises(RuntimeError) as found:
            compiled(*singular)
        assert str(found.value) == str(eager.value)
        wanted, now = parts(fn(*args)), parts(compiled(*args))  # nothing of the error is left
        np.testing.assert_allclose(now[-1].asnumpy(), wanted[-1].asnumpy(), 1e-4, 1e-4)


@pytest.mark.parametrize("fn", [
    lambda x, w: ms.vmap(lambda x: x @ w)(x),
    lambda x, w: ms.vmap(lambda x: w @ x.T)(x),
    lambda x, w: ops.bmm(x, ops.broadcast_to(w[None], (5, 4, 4))),
    lambda x, w: ops.bmm(ops.broadcast_to(w, (5, 4, 4)), ops.tanh(x).swapaxes(1, 2)),
    lambda x, w: ops.bmm(ops.broadcast_to(w, (5, 4, 4)), ops.broadcast_to(w + 1, (5, 4, 4))),
    lambda x, w: ops.bmm(x, ops.broadcast_to(w[:1], (5, 4, 4))),  # repeats within a matrix, too
], ids=["the second", "the first", "of a batch of one", "the first, expanded", "both", "rows"])
def test_a_factor_that_a_batch_shares(fn):
    compiled = run(lambda x, w: ops.tanh(fn(x * 0.3, w * 0.3)) * 2 + 1,
                   tensor(5, 3, 4), tensor(4, 4))
    assert engine(compiled) == ["xla"]


def test_complex_numbers_and_fourier_transforms():
    def fn(x, w):
        spectrum = ops.rfft(x) * w
        back = ops.irfft(spectrum, 8)
        return (back * ops.tanh(x)).sum(), back, spectrum.conj() * (1 + 2j), spectrum.abs()

    x = tensor(3, 8)
    w = (tensor(5, seed=3) + 2j * tensor(5, seed=4)).astype(ms.complex64)
    compiled = Compiled(fn)
    for _ in range(3):
        for a, b in zip(compiled(x, w), fn(x, w), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-4, 1e-4)
    for a, b in zip(compiled(x, w.conj()), fn(x, w.conj()), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-4, 1e-4)
    assert engine(compiled) == ["xla"]

def test_a_graph_for_many_sizes_has_no_code_for_one():
    preparation.begin()
    preparation.finished.wait()
    compiled = Compiled(lambda x: ops.exp(ops.sin(x * 2 + 1)))
    # the same number of bytes in other shapes, which XLA itself doesn't notice
    for shape in [(2, 3), (4, 3), (6, 2), (3, 4), (6, 2), (2, 6), (5, 4), (3, 4)]:
        found, x = compiled(tensor(*shape)), tensor(*shape).asnumpy()
        assert found.shape == shape
        np.testing.assert_allclose(found.asnumpy(), np.exp(np.sin(x * 2 + 1)), 2e-5)
    assert "replay" in engine(compiled)


def test_results_that_lie_together_have_memory_of_their_own(executor):
    """Small results come from XLA in one array."""
    def fn(x):
        y = ops.exp(x)
        return (y, y.sum(), [x.T * 2, y > 1], (y.astype(ms.float64), x[:0] + 1, y.sum(0) + 1),
                ops.arange(3) + 2, ops.ones((5000,)) * y.sum())

    compiled, x = Compiled(fn), tensor(4, 6)
    for call in range(4):
        found, wanted = leaves(compiled(x * call)), leaves(fn(x * call))
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-5)
        assert a._raw.untyped_storage().nbytes() == a.nbytes
    before = [a.asnumpy().copy() for a in found]
    compiled(x)
    found[0].add_(1)
    for a, b in list(zip(found, before, strict=True))[1:]:
        np.testing.assert_array_equal(a.asnumpy(), b)
    assert engine(compiled) == ["xla"]


def leaves(value):
    return [x for v in value for x in leaves(v)] if isinstance(value, (tuple, list)) else [value]


def test_a_step_of_a_program_is_one_call_in_cpp(executor, monkeypatch):
    """Its arguments and results are in lists; all guards hold as on the long path."""
    scale = [2.0]

    def fn(weights, x):
        y = ops.tanh(x @ weights[0] + weights[1]) * scale[0]
        return y.sum(), [y * w.sum() for w in weights]

    weights = [tensor(3, 4), tensor(4, seed=1)]
    compiled = Compiled(fn)
    for seed in range(4):
        compiled(weights, tensor(5, 3, seed=seed))
    assert (compiled._direct is not None) == (executor == "C++")
    seen, whole = [], compiled._replayed
    monkeypatch.setattr(compiled, "_replayed", lambda *args: seen.append(1) or whole(*args))

    def agree(weights, x):
        found, wanted = compiled(weights, x), fn(weights, x)
        assert type(found) is tuple and type(found[1]) is list
        for a, b in zip(leaves(found), leaves(wanted), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-5)

    for seed in range(5):
        agree(weights, tensor(5, 3, seed=seed))
    assert executor == "Python" or not seen
    weights[1].add_(1)
    agree(weights, tensor(5, 3))
    agree([w + 1 for w in weights], tensor(5, 3))
    assert executor == "Python" or not seen
    agree(tuple(weights), tensor(5, 3))
    agree(weights, tensor(7, 3))
    agree([weights[0], weights[1][None]], tensor(5, 3))
    scale[0] = 3.0
    agree(weights, tensor(5, 3))


def test_a_network_that_xla_runs_is_freed(executor):
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 2))
    compiled = net.run = Compiled(net.construct)
    for _ in range(5):
        compiled(tensor(2, 3))
    assert engine(compiled) == ["xla"]
    gone = weakref.ref(net)
    del net, compiled
    gc.collect()
    assert gone() is None


def test_a_stage_may_take_one_of_several_results_of_another():
    """For it that is an input like any other, whatever computes it."""
    graph, alone = torch.fx.Graph(), torch.fx.Graph()
    several = graph.call_function(aten.topk.default, (graph.placeholder("x"), 2))
    first = graph.call_function(operator.getitem, (several, 0))
    last = graph.call_function(aten.mul.Tensor, (first, 2))
    graph.output([last])
    part = Part(torch.fx.GraphModule(torch.nn.Module(), graph), [last], [first], [last],
                bases_of(graph.nodes))
    alone.output([alone.call_function(aten.mul.Tensor, (alone.placeholder("x"), 2))])
    whole, x = torch.fx.GraphModule(torch.nn.Module(), alone), torch.ones(2)
    assert described(part, [x]) == described(whole, [x])
    assert name_of(part, metas_of([x])) == name_of(whole, metas_of([x]))
    assert to_text(part, metas_of([x])) == to_text(whole, metas_of([x]))
